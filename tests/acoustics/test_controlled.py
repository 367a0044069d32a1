"""Profile `controlled`: the named factor moves as it should, and what must stay stays."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_gradients import MIRROR
from scipy import integrate
from synthetic_speech import speech_like as loud_speech

from otoscope.acoustics.codec import CEILING, round_within_scale, to_float
from otoscope.acoustics.design import CONDITIONS, TIERS, Condition
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.gradients.audio_roughness import BLOCK_S, NOMINAL_RMS
from otoscope.acoustics.gradients.speaking_speed import elapsed
from otoscope.acoustics.grains import PitchMarks, pitch_marks, shift_pitch
from otoscope.acoustics.loudness import level_gain
from otoscope.acoustics.measures import MEASURES, ClipAnalysis
from otoscope.acoustics.rendering import NotApplicable, SourceRenderer
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.spans import Span
from otoscope.acoustics.trajectories import CURVES, Trajectory, glide

RATE = 16_000
SPAN = Span(4_000, 14_100)
CONTROLLED = [name for name, gradient in GRADIENTS.items() if "controlled" in gradient.profiles]
LEVEL_KEPT = ("background_noise", "audio_distortion", "audio_roughness", "voice_clarity")


def speech_like(*args, **kwargs):
    """Soft enough (peak 0.28) for no headroom to be needed save for volume."""
    return np.float32(0.4) * loud_speech(*args, **kwargs)


def rendered(category, tier="high", curve="linear", direction="up", samples=None, span=SPAN, **kw):
    x = speech_like(RATE) if samples is None else samples
    source = SourceRenderer(x, kw.pop("rate", RATE), Span(*span))
    condition = Condition(tier, curve, direction)
    return source.render(
        category, condition, clip_id=condition.clip_id("a", "a"), profile="controlled", **kw
    )


def rms_db(x):
    return 10 * np.log10(np.mean(np.square(x, dtype=np.float64)))


def noise(n, rms=0.05, seed=0):
    return (rms * np.random.default_rng(seed).standard_normal(n)).astype(np.float32)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(CURVES)),
    st.integers(1, 400),
    st.integers(0, 50),
    st.integers(0, 50),
    st.booleans(),
)
def test_down_is_up_backwards_along_the_mirrored_curve(curve, n, head, tail, in_octaves):
    n_all = head + n + tail
    up, down = (
        Trajectory(2.0, 7.0, curve, in_octaves),
        Trajectory(7.0, 2.0, MIRROR[curve], in_octaves),
    )
    forth = up.at(glide(curve, n_all, head, head + n, 8))
    back = down.at(glide(MIRROR[curve], n_all, tail, tail + n, 8))
    np.testing.assert_allclose(forth, back[::-1], rtol=2e-6)


def test_a_glide_takes_its_values_in_the_middle_of_samples():
    # four samples at t = 1/8, 3/8, 5/8, 7/8
    steady = Trajectory(0.0, 8.0, "linear")
    assert steady.at(glide("linear", 6, 1, 5, 0)).tolist() == [0, 1, 3, 5, 7, 8]
    assert (64 * glide("quad_first_flat", 4, 0, 4, 0)).tolist() == [1, 9, 25, 49]
    assert glide("jump", 4, 0, 4, 0).tolist() == [0, 0, 1, 1]
    # over a ramp of 4: a raised cosine at 1/8, 3/8, 5/8, 7/8 of its way
    np.testing.assert_allclose(
        glide("jump", 4, 0, 4, 4),
        0.5 - 0.5 * np.cos(np.pi * np.array([1, 3, 5, 7]) / 8),
        rtol=1e-6,
    )
    octaves = Trajectory(1.0, 256.0, "linear", in_octaves=True).at(glide("linear", 4, 0, 4, 0))
    np.testing.assert_allclose(octaves, [2, 8, 32, 128], rtol=1e-6)


def test_volume_moves_by_so_many_decibels():
    x = noise(SPAN.end + 2_000)
    made = rendered("volume", samples=x).samples
    scale = min(1, CEILING / (np.abs(x).max() * 10 ** (18 / 20)))
    gain_db = 20 * np.log10(made / x / scale)
    np.testing.assert_allclose(gain_db[: SPAN.start], -18, atol=1e-3)
    np.testing.assert_allclose(gain_db[SPAN.end :], 18, atol=1e-3)
    assert gain_db[(SPAN.start + SPAN.end) // 2] == pytest.approx(0, abs=0.01)
    steps = np.diff(gain_db)
    assert steps.max() < 0.005, "36 dB in 10,100 samples, without a step"


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("curve", sorted(CURVES))
def test_the_span_of_speech_lasts_as_long_as_its_rate_says(curve, direction):
    ends = (0.6, 1.4) if direction == "up" else (1.4, 0.6)
    trajectory = Trajectory(*ends, curve)
    progress = CURVES[curve]
    # by quadrature, in two halves because of the jump
    expected = sum(
        integrate.quad(lambda u: 1 / (ends[0] + (ends[1] - ends[0]) * float(progress(u))), *half)[0]
        for half in ((0, 0.5), (0.5, 1))
    )
    assert elapsed(trajectory, np.ones(1))[0] == pytest.approx(expected, rel=1e-7)
    made = rendered("speaking_speed", curve=curve, direction=direction)
    assert made.span == (4_000, 4_000 + round(10_100 * expected))


def test_the_linear_factor_by_hand():
    # ln(1.4 / 0.6) / 0.8
    assert elapsed(Trajectory(0.6, 1.4, "linear"), np.ones(1))[0] == pytest.approx(
        1.059122, abs=1e-6
    )


def test_bursts_come_when_the_rate_says():
    n, rate = 48_000, 16_000
    x = noise(n, 1e-4)
    at = np.arange(6_000, 44_000, 4_000)
    for t in at:
        x[t : t + 800] += noise(800, 0.3, seed=t)
    span = Span(4_000, 46_000)
    made = rendered("speaking_speed", samples=x, span=span)
    envelope = np.convolve(made.samples**2, np.ones(160) / 160, mode="same")
    loud = np.flatnonzero((envelope > 1e-3) & (np.roll(envelope, 160) < 1e-3))
    starts = loud[np.diff(loud, prepend=-4_000) > 1_600]
    u = (at - span.start) / 42_000
    expected = span.start + 42_000 * np.log1p(u * 0.8 / 0.6) / 0.8
    np.testing.assert_allclose(starts, expected, atol=0.015 * rate)


def test_speed_leaves_pitch_head_and_tail_alone():
    t = np.arange(3 * RATE) / RATE
    x = sum(np.cos(2 * np.pi * 140 * k * t) / k for k in range(1, 20)).astype(np.float32) * 0.1
    made = rendered("speaking_speed", samples=x, span=(8_000, 40_000))
    track = MEASURES["pitch"](ClipAnalysis(made.samples, RATE, made.span))
    known = np.isfinite(track.value)
    assert known.mean() > 0.95
    np.testing.assert_allclose(track.value[known], 12 * np.log2(1.4), atol=0.15)
    assert (made.samples[:8_000] == x[:8_000]).all()
    assert (made.samples[made.span.end :] == x[40_000:]).all()


class TestPitch:
    """A vowel of 120 Hz with a formant at 700 Hz, in noise."""

    rate = 16_000

    def vowel(self, f0=120.0, seconds=2.0):
        t = np.arange(round(seconds * self.rate)) / self.rate
        harmonics = np.arange(1, int(6_000 / f0))
        strength = np.exp(-(((harmonics * f0 - 700) / 250) ** 2)) + 0.02
        phase = 2 * np.pi * f0 * t[:, None] * harmonics
        return (0.05 * np.cos(phase) @ strength).astype(np.float32)

    def test_f0_glides_over_six_semitones(self):
        made = rendered("voice_pitch", samples=self.vowel(), span=(0, 32_000))
        track = MEASURES["pitch"](ClipAnalysis(made.samples, self.rate, made.span))
        expected = 12 * np.log2(1.2) - 3 + 6 * track.place
        known = np.isfinite(track.value)
        assert known.mean() > 0.9
        np.testing.assert_allclose(track.value[known], expected[known], atol=0.35)

    @pytest.mark.parametrize("semitones", [-3, 3])
    def test_the_formant_stays(self, semitones):
        x = self.vowel()
        ratio = np.full(x.size, 2 ** (semitones / 12))
        made = shift_pitch(x, pitch_marks(x, self.rate), ratio)
        power = np.abs(np.fft.rfft(made[4_000:-4_000] * np.hanning(made.size - 8_000))) ** 2
        hz = np.fft.rfftfreq(made.size - 8_000, 1 / self.rate)
        near = (hz > 300) & (hz < 1_400)
        centre = (hz[near] * power[near]).sum() / power[near].sum()
        # without care it would move by a factor of 1.19, to 833 or 589 Hz
        assert centre == pytest.approx(700, rel=0.05)

    def test_the_level_stays(self):
        x = self.vowel()
        made = rendered("voice_pitch", samples=x, span=(2_000, 30_000)).samples
        for part in np.array_split(np.arange(2_000, 30_000), 10):
            assert rms_db(made[part]) == pytest.approx(rms_db(x[part]), abs=0.5)

    def test_what_is_not_voiced_stays_as_it_is(self):
        x = np.concatenate([noise(8_000), self.vowel(seconds=1.0), noise(8_000, seed=1)])
        marks = pitch_marks(x, self.rate)
        made = shift_pitch(x, marks, np.full(x.size, 1.19))
        np.testing.assert_allclose(made[:7_000], x[:7_000], atol=1e-5)
        np.testing.assert_allclose(made[-7_000:-200], x[-7_000:-200], atol=1e-5)

    @pytest.mark.parametrize("ratio", [0.84, 0.9, 1.1, 1.19])
    def test_no_hole_where_a_deep_voice_ends(self, ratio):
        """100 Hz in grains of 10 ms, then hiss in grains of 5 ms.

        At 1.19 the last grain up to the last mark of the voice is centred on 11 · 134 = 1479; it
        ends at 1639, and the first of the hiss begins at 1760 - 80 = 1680.
        """
        at = np.concatenate([np.arange(0, 1_601, 160), np.arange(1_760, 3_281, 80)])
        voiced = at <= 1_600
        marks = PitchMarks(at, np.where(voiced, 160, 80), voiced)
        x = np.full(3_200, 0.5, np.float32)
        np.testing.assert_allclose(shift_pitch(x, marks, np.full(x.size, ratio)), x, atol=1e-3)

    @pytest.mark.parametrize("what", ["noise", "silence"])
    def test_a_clip_without_voice_is_rejected_and_says_why(self, what):
        x = noise(32_000) if what == "noise" else np.zeros(32_000, np.float32)
        with pytest.raises(NotApplicable, match="voice_pitch: no voiced frame in the span"):
            rendered("voice_pitch", samples=x, span=(2_000, 30_000))
        assert (
            SourceRenderer(x, self.rate, Span(2_000, 30_000)).not_applicable(
                "volume", "low", "controlled"
            )
            is None
        )


def test_both_directions_of_a_pair_have_the_same_noise():
    x = speech_like(RATE)
    added = {d: rendered("background_noise", direction=d).samples - x for d in ("up", "down")}
    t = (np.arange(10_100) + 0.5) / 10_100
    inner = slice(SPAN.start + 400, SPAN.end - 400)  # without the 20 ms at either end
    unit = {
        "up": added["up"][inner] / t[400:-400],
        "down": added["down"][inner] / t[::-1][400:-400],
    }
    np.testing.assert_allclose(unit["up"], unit["down"], atol=2e-6)
    speech_rms = np.sqrt(np.mean(np.square(x[SPAN.start : SPAN.end], dtype=float)))
    assert np.std(unit["up"]) == pytest.approx(0.12 * speech_rms, rel=0.02)
    for d in added:
        assert not added[d][: SPAN.start].any()
        assert not added[d][SPAN.end :].any()


def test_another_tier_or_curve_has_other_noise():
    x = speech_like(RATE)
    first, other = (rendered("background_noise", tier=tier).samples - x for tier in ("mid", "high"))
    assert abs(np.corrcoef(first[SPAN.start : SPAN.end], other[SPAN.start : SPAN.end])[0, 1]) < 0.05


@pytest.mark.parametrize(("hold", "lengths"), [(2.0, {2}), (2.5, {2, 3}), (1.5, {1, 2})])
def test_a_hold_may_last_any_number_of_samples(hold, lengths):
    x = noise(RATE, 0.1)
    clip = SourceChannel(x, RATE, Span(0, RATE))
    steady = Trajectory(RATE / hold, RATE / hold, "linear")
    made = GRADIENTS["audio_distortion"].profiles["controlled"].render(clip, steady, "high", "a")
    fresh = np.flatnonzero(np.diff(made.speech) != 0)
    assert set(np.diff(fresh)) == lengths
    assert np.diff(fresh).mean() == pytest.approx(hold, rel=1e-3)


def test_the_hold_glides_in_octaves():
    made = rendered("audio_distortion", samples=noise(96_000), span=(0, 96_000), rate=48_000)
    track = MEASURES["holding"](ClipAnalysis(made.to_pcm().pcm, 48_000, made.span))
    # from 1 to 8 samples: three octaves, half way at half time
    np.testing.assert_allclose(track.value, 3 * track.place, atol=0.2)


@pytest.mark.parametrize(
    ("category", "tier", "rate", "bit_depth"),
    [
        ("audio_distortion", "low", 16_000, 16),
        ("audio_distortion", "low", 8_000, 16),
        ("audio_distortion", "mid", 8_000, 16),
        ("voice_clarity", "low", 8_000, 16),
        ("audio_roughness", "low", 16_000, 8),
    ],
)
def test_a_condition_without_effect_is_rejected(category, tier, rate, bit_depth):
    source = SourceRenderer(speech_like(rate), rate, Span(rate // 4, rate), bit_depth=bit_depth)
    with pytest.raises(NotApplicable, match=rf"{category} \({tier}\) does nothing at {rate} Hz"):
        source.render(category, Condition(tier, "linear", "up"), clip_id="a", profile="controlled")
    made = {
        condition.tier
        for condition, _, _ in source.variants(category, "a", "a", profile="controlled")
    }
    assert made == {t for t in TIERS if not source.not_applicable(category, t, "controlled")}
    assert tier not in made
    assert source.not_applicable(category, tier, "paper") is None


def test_roughness_has_the_step_of_its_bits_at_nominal_level():
    # 4 bits: 7 steps to full scale, 1/7 each; relative to -26 dB that is 2.85 times the RMS
    n = 200
    x = np.random.default_rng(0).laplace(size=n).astype(np.float32)  # peaks well above one step
    x *= NOMINAL_RMS / np.sqrt(np.mean(x**2))
    clip = SourceChannel(x, RATE, Span(0, n))
    assert round(BLOCK_S * RATE) == n, "one block"
    render = GRADIENTS["audio_roughness"].profiles["controlled"].render
    made = render(clip, Trajectory(4.0, 4.0, "linear"), "high", "a").speech
    levels = np.rint(x * 7)
    expected = levels * NOMINAL_RMS / np.sqrt(np.mean(levels**2))
    np.testing.assert_allclose(made, expected, atol=1e-6)


def test_roughness_never_silences_a_block_that_was_not_silent():
    t = np.arange(RATE) / RATE
    quiet = speech_like(RATE)[:RATE] * np.float32(0.01) + (
        1e-4 * np.sin(2 * np.pi * 50 * t)
    ).astype(np.float32)
    made = rendered("audio_roughness", samples=quiet, span=(2_000, 15_000)).samples
    block = round(BLOCK_S * RATE)
    power = np.add.reduceat(made**2, np.arange(0, RATE, 2 * block))
    assert power.min() > 0
    still = np.diff(np.flatnonzero(np.diff(made) != 0), prepend=0)
    assert still.max() < 2 * block, "no stretch of one value"


def test_clarity_lets_all_pass_at_its_bright_end_and_nothing_far_above_its_dark_end():
    x = noise(48_000)
    made = rendered("voice_clarity", samples=x, span=(12_000, 36_000)).samples
    np.testing.assert_allclose(made[37_500:-500], x[37_500:-500], atol=2e-3)
    dark = np.abs(np.fft.rfft(made[:11_000] * np.hanning(11_000))) ** 2
    hz = np.fft.rfftfreq(11_000, 1 / RATE)
    # high tier: 1,200 Hz, and a third of an octave above that nothing
    assert dark[hz > 1_200 * 2 ** (1 / 3) + 100].sum() < 1e-4 * dark.sum()
    assert rms_db(made[:12_000]) == pytest.approx(rms_db(x[:12_000]), abs=1e-3)


def test_the_tremor_takes_no_power_away():
    x = np.full(5 * RATE, 0.1, np.float32)
    made = rendered("voice_vibration", samples=x, span=(RATE, 4 * RATE)).samples / 0.1
    whole_cycles = made[4 * RATE : 4 * RATE + 10 * RATE // 20]  # ten cycles of 20 Hz
    assert np.mean(whole_cycles**2) == pytest.approx(1, abs=1e-3)
    # 1 - d to 1 over the RMS √((1 - d/2)² + d²/8) with d = 0.9
    rms = np.sqrt(0.55**2 + 0.81 / 8)
    assert whole_cycles.max() == pytest.approx(1 / rms, rel=1e-3)
    assert whole_cycles.min() == pytest.approx(0.1 / rms, rel=1e-3)


@pytest.mark.parametrize("curve", sorted(CURVES))
def test_the_tremor_down_is_the_tremor_up_backwards(curve):
    x = np.full(20_001, 0.1, np.float32)
    up = rendered("voice_vibration", curve=curve, samples=x, span=(3_000, 18_001))
    down = rendered(
        "voice_vibration", curve=MIRROR[curve], direction="down", samples=x, span=(2_000, 17_001)
    )
    np.testing.assert_allclose(up.samples, down.samples[::-1], atol=2e-5)


@pytest.mark.parametrize("category", [*LEVEL_KEPT, "voice_vibration", "voice_pitch", "echo"])
@pytest.mark.parametrize("curve", sorted(CURVES))
def test_the_halves_are_as_loud_as_they_were(category, curve):
    x = speech_like(48_000, 3.0)
    span = Span(12_000, 135_000)
    halves = (slice(span.start, 73_500), slice(73_500, span.end))
    source = SourceRenderer(x, 48_000, span)
    for direction in ("up", "down"):
        condition = Condition("high", curve, direction)
        made = source.render(category, condition, clip_id="a__up", profile="controlled").samples
        moved = [rms_db(made[half]) - rms_db(x[half]) for half in halves]
        assert abs(moved[1] - moved[0]) < 0.35, (direction, moved)


@pytest.mark.parametrize("category", [*LEVEL_KEPT, "speaking_speed", "voice_pitch"])
@pytest.mark.parametrize("direction", ["up", "down"])
def test_head_and_tail_keep_their_level(category, direction):
    x = speech_like(48_000, 3.0)
    span = Span(12_000, 135_000)
    made = rendered(category, direction=direction, samples=x, span=span, rate=48_000)
    for before, after in (
        (x[: span.start], made.samples[: made.span.start]),
        (x[span.end :], made.samples[made.span.end :]),
    ):
        assert rms_db(after) == pytest.approx(rms_db(before), abs=0.02)


def test_pcm_is_rounded_not_cut():
    samples = np.array([[0.6, -0.6, 1.5, -1.5, 2.5]]) / 32768
    assert round_within_scale(samples).pcm.tolist() == [[1, -1, 2, -2, 2]]


def test_a_peak_beyond_full_scale_scales_the_clip_and_clips_nothing():
    made = round_within_scale(np.array([[0.5, -2.0]]))
    assert made.clipped_fraction == 0
    np.testing.assert_allclose(to_float(made.pcm), [[CEILING / 4, -CEILING]], atol=1e-4)


def test_all_variants_of_a_tier_are_scaled_alike():
    x = speech_like(RATE)
    x = (x / np.abs(x).max()).astype(np.float32)
    source = SourceRenderer(x, RATE, SPAN)
    # up to 18 dB more: the source is taken down by as much, whatever curve and direction
    for condition, _, made in source.variants("volume", "a", "a", profile="controlled"):
        loud_end = (
            made.samples[: SPAN.start]
            if condition.direction == "down"
            else made.samples[SPAN.end :]
        )
        before = x[: SPAN.start] if condition.direction == "down" else x[SPAN.end :]
        assert rms_db(loud_end) - rms_db(before) == pytest.approx(20 * np.log10(CEILING), abs=1e-3)


@pytest.mark.parametrize("category", CONTROLLED)
def test_nothing_exceeds_full_scale_even_from_a_full_scale_source(category):
    x = speech_like(48_000, 2.0)
    source = SourceRenderer((x / np.abs(x).max()).astype(np.float32), 48_000, Span(12_000, 88_000))
    for condition in CONDITIONS[-8:]:
        made = source.render(category, condition, clip_id="a__up", profile="controlled")
        assert np.abs(made.samples).max() <= CEILING * 1.0001, "the headroom was enough"
        assert made.to_pcm().clipped_fraction == 0


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 44_100, 96_000])
@pytest.mark.parametrize("n_channels", [1, 2])
def test_any_rate_and_stereo(rate, n_channels):
    x = np.stack([speech_like(rate, 1.0, seed=c) for c in range(n_channels)])
    source = SourceRenderer(x, rate, Span(rate // 4, round(0.85 * rate)))
    for category, tier in itertools.product(CONTROLLED, ("high",)):
        if source.not_applicable(category, tier, "controlled"):
            continue
        made = source.render(
            category, Condition(tier, "jump", "down"), clip_id="a", profile="controlled"
        )
        assert made.samples.shape[0] == n_channels
        assert np.isfinite(made.samples).all()
        assert made.to_pcm().pcm.any()


@pytest.mark.parametrize("span", [(0, 1), (5, 9), (0, 3_200), (0, 19_200), (19_199, 19_200)])
def test_spans_of_any_length_and_place(span):
    source = SourceRenderer(speech_like(RATE), RATE, Span(*span))
    for category in CONTROLLED:
        if source.not_applicable(category, "high", "controlled"):
            continue
        made = source.render(
            category, Condition("high", "linear", "up"), clip_id="a", profile="controlled"
        )
        assert np.isfinite(made.samples).all()
        if category != "speaking_speed":
            assert made.samples.size == 19_200


def test_silence_stays_silence():
    source = SourceRenderer(np.zeros(8_000, np.float32), RATE, Span(1_000, 7_000))
    for category in set(CONTROLLED) - {"voice_pitch"}:
        for condition in CONDITIONS[-2:]:
            made = source.render(category, condition, clip_id="a", profile="controlled").samples
            assert np.abs(made).max() < 1e-6, category


def test_level_gain_gives_back_the_level():
    x = noise(RATE)
    swell = (1 + np.linspace(0, 3, RATE)).astype(np.float32)
    got = x * swell * level_gain(x * swell, x, RATE, 0.05)
    for part in range(0, RATE, RATE // 8):
        half = slice(part, part + RATE // 8)
        assert rms_db(got[half]) == pytest.approx(rms_db(x[half]), abs=0.1)
