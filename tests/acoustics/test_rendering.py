"""The product against the plain reference, and what `render` and `SourceRenderer` promise."""

import hashlib

import numpy as np
import plain_gradients
import pytest
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st
from real_speech import DATA, REAL, needs_real_speech
from synthetic_speech import speech_like, speech_pcm

from builders.corpora.vctk.frozen import read_vctk_list
from otoscope.acoustics import codec
from otoscope.acoustics.design import CONDITIONS, PUBLISHED_CATEGORIES, Condition
from otoscope.acoustics.gradients import GRADIENTS, beep_categories
from otoscope.acoustics.rendering import SourceRenderer, render
from otoscope.acoustics.spans import Span, decide

BY_SPECTRUM = {"speaking_speed", "voice_pitch", "voice_clarity"}
PAPER = tuple(name for name, gradient in GRADIENTS.items() if "paper" in gradient.profiles)
LIMIT_DB = -70.0
FEW = [CONDITIONS[0], CONDITIONS[11], CONDITIONS[20], CONDITIONS[23]]
"""Every curve, every tier, both directions."""


def test_few_conditions_have_one_of_everything():
    assert [set(names) for names in zip(*FEW, strict=True)] == [
        set(names) for names in zip(*CONDITIONS, strict=True)
    ]


def difference(pcm, sampling_rate, span, category, condition, bit_depth=16, source=None):
    """Largest difference in PCM steps, and its RMS in dB of the reference's; lengths are equal."""
    source = source or SourceRenderer(pcm, sampling_rate, Span(*span), bit_depth=bit_depth)
    made = source.render(category, condition, clip_id="a_01__a_1").to_pcm()
    wanted, clipped = plain_gradients.render(
        pcm, sampling_rate, span, category, *condition, "a_01__a_1", bit_depth
    )
    assert made.pcm.shape == wanted.shape
    assert made.clipped_fraction == pytest.approx(clipped, abs=2 / made.pcm.size)
    error = made.pcm.astype(float) - wanted
    power, reference = np.mean(error**2), np.mean(wanted.astype(float) ** 2)
    return np.abs(error).max(), -np.inf if power == 0 else 10 * np.log10(power / reference)


def assert_agrees(pcm, sampling_rate, span, categories=PAPER, conditions=FEW, bit_depth=16):
    """Within 1 PCM step, or within −70 dB where a spectrum is in between."""
    source = SourceRenderer(pcm, sampling_rate, Span(*span), bit_depth=bit_depth)
    for category in categories:
        for condition in conditions:
            steps, db = difference(pcm, sampling_rate, span, category, condition, bit_depth, source)
            close = db <= LIMIT_DB if category in BY_SPECTRUM else steps <= 1
            assert close, f"{category} {tuple(condition)}: {steps:.0f} steps, {db:.1f} dB"


@pytest.mark.parametrize("category", PAPER)
def test_all_conditions_agree_with_the_reference_at_16_khz(category):
    assert_agrees(speech_pcm(16_000), 16_000, (4_000, 14_100), [category], CONDITIONS)


@pytest.mark.parametrize("category", PAPER)
def test_some_conditions_agree_with_the_reference_at_48_khz(category):
    assert_agrees(speech_pcm(48_000), 48_000, (12_000, 42_300), [category])


@pytest.mark.parametrize("rate", [8_000, 22_050, 44_100])
def test_other_rates_agree_with_the_reference(rate):
    categories = [c for c in PAPER if c != "echo"]  # its plain response takes seconds a rate
    span = (round(0.25 * rate), round(0.9 * rate) + 7)
    for category in categories:
        for condition in FEW:
            steps, db = difference(speech_pcm(rate), rate, span, category, condition)
            # a filter open to the top gives back whole PCM values, and cutting toward zero then
            # turns the last bit of a float into a step: there, one step is what agreement means
            open_filter = category == "voice_clarity" and rate == 8_000 and condition.tier == "low"
            by_db = category in BY_SPECTRUM and not open_filter
            assert db <= LIMIT_DB if by_db else steps <= 1, (category, condition, steps, db)


@pytest.mark.parametrize("category", PAPER)
def test_stereo_agrees_with_the_reference(category):
    pcm = np.concatenate([speech_pcm(16_000), speech_pcm(16_000, seed=1) // 3])
    assert_agrees(pcm, 16_000, (4_000, 14_100), [category], [CONDITIONS[17], CONDITIONS[22]])


@pytest.mark.parametrize("category", PAPER)
@pytest.mark.parametrize(
    "span",
    [
        pytest.param((8_000, 8_001), id="1 sample"),
        pytest.param((8_000, 8_031), id="under 32 samples"),
        pytest.param((8_000, 8_320), id="20 ms"),
        pytest.param((8_000, 8_800), id="50 ms"),
        pytest.param((8_000, 8_816), id="51 ms"),
        pytest.param((0, 19_200), id="whole clip"),
        pytest.param((0, 9_000), id="no head"),
        pytest.param((9_000, 19_200), id="no tail"),
        pytest.param((1, 19_199), id="head and tail of 1 sample"),
    ],
)
def test_every_span_agrees_with_the_reference(category, span):
    assert_agrees(speech_pcm(16_000), 16_000, span, [category], [CONDITIONS[17], CONDITIONS[20]])


@pytest.mark.parametrize("category", PAPER)
def test_silence_in_places_agrees_with_the_reference(category):
    pcm = speech_pcm(16_000)
    pcm[:, :5_000] = pcm[:, 8_000:10_500] = pcm[:, 16_000:] = 0
    assert_agrees(pcm, 16_000, (4_000, 16_500), [category], [CONDITIONS[17], CONDITIONS[22]])


@pytest.mark.parametrize("category", PAPER)
def test_silence_stays_silence(category):
    made = SourceRenderer(np.zeros((1, 9_000), np.int16), 16_000, Span(1_000, 8_000)).render(
        category, CONDITIONS[17], clip_id="a"
    )
    # the published floor of the speech level is 1e-6, far below a PCM step
    assert not made.to_pcm().pcm.any()


@pytest.mark.parametrize("frequency_hz", [1_000, 1_300, 2_050])
def test_pure_tones_agree_with_the_reference(frequency_hz):
    # bins that a tone leaves empty hold rounding noise, whose phase is heard where the tone ends
    t = np.arange(round(0.7 * 48_000)) / 48_000
    tone = np.rint(0.65 * 32_767 * np.sin(2 * np.pi * frequency_hz * t)).astype(np.int16)
    pcm = np.pad(tone, 9_600)[None]
    assert_agrees(pcm, 48_000, (9_600, 9_600 + t.size), beep_categories("paper"))


def test_8_bit_sources_agree_with_the_reference():
    pcm = speech_pcm(16_000) // 256 * 256
    assert_agrees(pcm, 16_000, (4_000, 14_100), ["audio_roughness"], CONDITIONS[::3], bit_depth=8)


def test_loud_sources_agree_with_the_reference():
    pcm = np.clip(speech_pcm(16_000).astype(int) * 3, -32768, 32767).astype(np.int16)
    assert_agrees(pcm, 16_000, (4_000, 14_100), ["volume", "audio_distortion"], FEW)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(DATA / "kumo_001.wav", id="own clip"),
        pytest.param(REAL / "vctk/other_rate/p225_038_16k.wav", id="real", marks=needs_real_speech),
    ],
)
@pytest.mark.parametrize("category", PAPER)
def test_speech_agrees_with_the_reference(category, path):
    recording = codec.read(path)
    span = decide(codec.to_float(recording.pcm), 16_000).span
    assert_agrees(recording.pcm, 16_000, span, [category])


REAL_CLIPS = [
    "vctk/VCTK-Corpus-0.80/wav48/p225/p225_002.wav",
    "vctk/VCTK-Corpus-0.80/wav48/p228/p228_001.wav",
    "vctk/other_rate/p361_026_22k.wav",
    "librispeech/libritts_test-clean/8455_210777_000067_000000.wav",
    "librispeech/dev-clean/2412/153948/2412-153948-0002.flac",
]


OWN_CLIPS = ["alpha_001.flac", "nezumi_001.flac", "tebukuro_001.flac", "espeak_001.flac"]
OWN_AND_REAL_PATHS = [
    *(pytest.param(DATA / name, id=name) for name in OWN_CLIPS),
    *(pytest.param(REAL / name, id=name, marks=needs_real_speech) for name in REAL_CLIPS),
]


@pytest.mark.slow
@pytest.mark.parametrize("path", OWN_AND_REAL_PATHS)
def test_all_conditions_of_speech_agree_with_the_reference(path):
    recording = codec.read(path)
    rate = recording.sampling_rate
    pcm = recording.pcm[:, : 5 * rate]
    span = decide(codec.to_float(pcm), rate).span
    assert_agrees(pcm, rate, span, conditions=CONDITIONS)


@pytest.mark.slow
@pytest.mark.parametrize("path", [OWN_AND_REAL_PATHS[0], OWN_AND_REAL_PATHS[-4]])
@pytest.mark.parametrize("rate", [8_000, 16_000])
def test_all_conditions_of_a_resampled_clip_agree_with_the_reference(rate, path):
    recording = codec.read(path)
    low = soxr.resample(recording.pcm[0], recording.sampling_rate, rate)[None]
    span = decide(codec.to_float(low), rate).span
    conditions = [
        condition for condition in CONDITIONS if rate > 8_000 or condition.tier != "low"
    ]  # see other rates above
    assert_agrees(low, rate, span, conditions=conditions)


def test_variants_do_not_depend_on_the_order_in_which_they_are_made():
    def made(category, conditions):
        source = SourceRenderer(speech_like(22_050), 22_050, Span(5_000, 20_011))
        return {c: source.render(category, c, clip_id="a").samples.tobytes() for c in conditions}

    for category in PAPER:
        forward = made(category, CONDITIONS)
        assert made(category, CONDITIONS[::-1]) == forward
        for condition in FEW:
            assert made(category, [condition])[condition] == forward[condition]


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(sorted(PAPER)),
    st.sampled_from(CONDITIONS),
    st.integers(1, 4_000),
    st.integers(0, 3_999),
    st.sampled_from([8_000, 16_000, 22_050]),
)
def test_render_is_one_variant_of_a_source(category, condition, n_span, start, rate):
    samples = speech_like(rate, 1.0)[:8_000]
    span = Span(start, start + n_span)
    once = render(samples, rate, span, category=category, **condition._asdict(), clip_id="a")
    again = SourceRenderer(samples, rate, span).render(category, condition, clip_id="a")
    assert once.samples.tobytes() == again.samples.tobytes()
    assert once.span == again.span
    assert 0 <= once.span.start < once.span.end <= once.samples.size
    assert np.isfinite(once.samples).all()


def test_int16_and_the_floats_it_stands_for_are_the_same_clip():
    pcm = speech_pcm(16_000)
    span = Span(4_000, 14_100)
    for category in PAPER:
        whole, floating = (
            SourceRenderer(x, 16_000, span).render(category, CONDITIONS[17], clip_id="a").samples
            for x in (pcm, codec.to_float(pcm))
        )
        assert (whole == floating).all()


def test_one_dimension_in_one_dimension_out():
    samples = speech_like(16_000)
    for shape in ((19_200,), (1, 19_200), (2, 9_600)):
        made = SourceRenderer(samples.reshape(shape), 16_000, Span(100, 9_000)).render(
            "volume", CONDITIONS[0], clip_id="a"
        )
        assert made.samples.shape == shape


def test_parameter_curve_is_in_source_time():
    made = SourceRenderer(speech_like(16_000), 16_000, Span(4_000, 5_700)).render(
        "volume", Condition("low", "linear", "up"), clip_id="a"
    )
    assert made.parameter_s.tolist() == [0.25, 0.3, 0.35]
    assert made.parameter.tolist() == [-6, 0, 6]


def test_variants_come_in_manifest_order_with_published_ids():
    source = SourceRenderer(np.ones(800, np.float32) / 2, 16_000, Span(0, 800))
    made = list(source.variants("volume", "p226_01", "p226_106"))
    assert [condition for condition, _, _ in made] == list(CONDITIONS)
    assert len(made) == len({clip_id for _, clip_id, _ in made}) == 24
    assert made[0][1] == "p226_01__p226_106__linear__low__up"
    assert made[1][1] == "p226_01__p226_106__linear__low__down"
    assert made[-1][1] == "p226_01__p226_106__jump__high__down"
    assert made[8][0] == Condition("mid", "linear", "up")


def test_ids_are_the_published_ones():
    ids = [c.clip_id(row.item_id, row.clip_id) for row in read_vctk_list() for c in CONDITIONS]
    digest = hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()
    assert len(set(ids)) == 2_400
    assert (digest[:8], digest[-5:]) == ("0ed4dd64", "114e8")


def test_ids_of_the_beeps_are_the_published_ones():
    assert len(set(beep_categories("paper")) & set(PUBLISHED_CATEGORIES)) == 4
    names = [f"beep_{i:02d}" for i in range(1, 11)]
    ids = sorted(condition.clip_id(name, name) for name in names for condition in CONDITIONS)
    digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
    assert (digest[:8], digest[-4:]) == ("74b5ce1f", "9b77")


@pytest.mark.parametrize(
    ("samples", "rate", "span", "message"),
    [
        (np.zeros(0, np.float32), 16_000, (0, 1), r"got \(0,\)"),
        (np.zeros((1, 1, 9), np.float32), 16_000, (0, 1), r"got \(1, 1, 9\)"),
        (np.zeros(9, np.float32), 0, (0, 1), "sampling_rate must be positive, got 0"),
        (np.zeros(9, np.float32), 16_000, (0, 10), r"span \(0, 10\) is not within .* 9 samples"),
        (np.zeros(9, np.float32), 16_000, (5, 5), r"span \(5, 5\)"),
        (np.zeros(9, np.float32), 16_000, (-1, 5), r"span \(-1, 5\)"),
        (np.full(9, np.nan, np.float32), 16_000, (0, 9), "9 samples are NaN or infinite"),
    ],
)
def test_bad_input_is_rejected_with_its_value(samples, rate, span, message):
    with pytest.raises(ValueError, match=message):
        SourceRenderer(samples, rate, Span(*span))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"category": "volum"}, "did you mean 'volume'"),
        ({"tier": "medium"}, "no tier named 'medium'"),
        ({"curve": "jmp"}, "did you mean 'jump'"),
        ({"direction": "left"}, "no direction 'left'"),
        ({"profile": "plain"}, "no profile of volume named 'plain'"),
    ],
)
def test_unknown_names_are_rejected(names, message):
    given = {"category": "volume", "tier": "low", "curve": "jump", "direction": "up"} | names
    with pytest.raises(LookupError, match=message):
        render(np.ones(9, np.float32), 16_000, (0, 9), **given, clip_id="a")
