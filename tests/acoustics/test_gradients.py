"""What every gradient promises, and each one's physical property worked by hand."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from synthetic_speech import speech_like

from otoscope.acoustics.confounds import ClipContrasts, intends, measure_confounds, measured_in
from otoscope.acoustics.design import CONDITIONS, PUBLISHED_CATEGORIES, TIERS, Condition
from otoscope.acoustics.gradients import GRADIENTS, beep_categories
from otoscope.acoustics.gradients.audio_distortion import hold, hold_of
from otoscope.acoustics.gradients.audio_roughness import bits_of, crush
from otoscope.acoustics.gradients.background_noise import noise_seed
from otoscope.acoustics.gradients.echo import (
    ALL_PASS_MS,
    COMB_MS,
    ROOM,
    delay_of,
    impulse_response,
)
from otoscope.acoustics.gradients.voice_clarity import mask
from otoscope.acoustics.observers import cue_slope
from otoscope.acoustics.rendering import SourceRenderer
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.spans import Span
from otoscope.acoustics.trajectories import Trajectory

PROFILES_OF = [(name, profile) for name, g in GRADIENTS.items() for profile in g.profiles]
SHORTENED = {"voice_pitch", "audio_distortion", "audio_roughness", "voice_clarity"}
STRETCHED = "speaking_speed"


def db(ratio):
    return 20 * math.log10(ratio)


def level(x):
    return float(np.sqrt(np.mean(np.square(x, dtype=np.float64))))


def test_nine_categories_in_the_order_of_generation():
    assert PUBLISHED_CATEGORIES == (
        "volume",
        "speaking_speed",
        "voice_pitch",
        "background_noise",
        "audio_distortion",
        "audio_roughness",
        "voice_clarity",
        "voice_vibration",
        "echo",
    )
    assert [name for name in GRADIENTS if name in PUBLISHED_CATEGORIES] == [*PUBLISHED_CATEGORIES]
    for name in PUBLISHED_CATEGORIES:
        assert {"paper", "controlled"} <= GRADIENTS[name].profiles.keys()


def test_a_new_gradient_needs_its_entry_alone(monkeypatch):
    toy = replace(GRADIENTS["volume"], intended=frozenset({"snr"}), unavoidable={"pitch": "why"})
    monkeypatch.setitem(GRADIENTS, "toy", toy)
    rate, samples, span = 16_000, speech_like(16_000), Span(4_000, 14_100)
    (condition, _, made), *_ = SourceRenderer(samples, rate, span).variants("toy", "i", "s")
    assert condition == CONDITIONS[0]
    pcm = made.to_pcm().pcm
    assert cue_slope(pcm, rate, made.span, "toy") == cue_slope(pcm, rate, made.span, "volume")
    assert {n for n in measured_in("toy") if intends("toy", n)} == {"level", "snr"}
    clips = [
        ClipContrasts("toy", "low", "jump", d, f"s{k}", dict.fromkeys(measured_in("toy"), 1.0), {})
        for d in ("up", "down") for k in range(2)
    ]  # fmt: skip
    rows = {row.name: row for row in measure_confounds(clips).rows}
    assert rows["pitch"].unavoidable == "why"
    assert "toy" in beep_categories("paper")


@pytest.mark.parametrize(("category", "profile"), PROFILES_OF)
class TestEveryGradient:
    rate = 16_000
    condition = Condition("high", "quad_last_flat", "down")

    def test_has_a_description_that_names_both_directions(self, category, profile):
        description = GRADIENTS[category].description_in(profile)
        assert "up clip" in description
        assert "down clip" in description
        assert description.endswith(".")

    def source(self, **kwargs):
        return SourceRenderer(speech_like(self.rate), self.rate, Span(4_000, 14_100), **kwargs)

    def render(self, category, profile, clip_id="a"):
        return self.source().render(category, self.condition, clip_id=clip_id, profile=profile)

    def test_is_a_known_profile_and_says_its_unit(self, category, profile):
        assert GRADIENTS[category].parameter

    def test_has_the_published_dtype(self, category, profile):
        wide = (category, profile) == ("volume", "paper")
        dtype = np.float64 if wide else np.float32
        assert self.render(category, profile).samples.dtype == dtype

    def test_keeps_the_length_or_loses_what_the_rule_says(self, category, profile):
        made = self.render(category, profile)
        assert made.samples.ndim == 1
        n_speech = made.span.end - made.span.start
        assert made.span.start == 4_000
        assert made.samples.size - 19_200 == n_speech - 10_100, "only speech changes its length"
        # 10,100 samples are 13 segments of 800, and have 12 joints of 80 samples each
        if profile == "paper" and category in SHORTENED:
            assert n_speech == 10_100 - 12 * 80
        elif category != STRETCHED:
            assert n_speech == 10_100

    def test_same_input_same_bytes(self, category, profile):
        first, second = (self.render(category, profile).samples for _ in range(2))
        assert first.tobytes() == second.tobytes()

    def test_only_noise_depends_on_the_id(self, category, profile):
        first, second = (self.render(category, profile, clip_id).samples for clip_id in "ab")
        assert np.array_equal(first, second) == (category != "background_noise")

    def test_leaves_its_input_alone(self, category, profile):
        samples = speech_like(self.rate)
        before = samples.copy()
        source = SourceRenderer(samples, self.rate, Span(4_000, 14_100))
        for condition in CONDITIONS[::5]:
            if not source.not_applicable(category, condition.tier, profile):
                source.render(category, condition, clip_id="a", profile=profile)
        assert (samples == before).all()

    def test_later_variants_leave_earlier_ones_alone(self, category, profile):
        source = self.source()
        first = source.render(category, CONDITIONS[-1], clip_id="a", profile=profile).samples
        before = first.copy()
        for _ in source.variants(category, "a", "a", profile=profile):
            pass
        assert (first == before).all()

    def test_is_finite_and_moves_something(self, category, profile):
        made = self.render(category, profile).samples
        assert np.isfinite(made).all()
        n = min(made.size, 19_200)
        assert not np.array_equal(made[:n], speech_like(self.rate)[:n])

    @pytest.mark.parametrize("tier", TIERS)
    def test_down_is_up_with_its_ends_swapped(self, category, profile, tier):
        source = self.source()
        if source.not_applicable(category, tier, profile):
            pytest.skip("does nothing at this rate")
        up, down = (
            source.render(category, Condition(tier, "linear", d), clip_id="a", profile=profile)
            for d in ("up", "down")
        )
        assert (up.trajectory.start, up.trajectory.end) == down.trajectory[1::-1]
        assert up.parameter[0] == up.trajectory.start
        assert down.parameter[0] == up.trajectory.end
        assert up.parameter_s[0] == down.parameter_s[0] == 0.25


# holds: 24,000/18,000 rounds to 1, 16,000/12,000 to 1, 8,000/6,000 to 1; a cutoff of 5,000 Hz is
# above the 4,000 Hz that 8 kHz audio has
NOTHING_HAPPENS = {
    8_000: {("audio_distortion", t) for t in TIERS} | {("voice_clarity", "low")},
    16_000: {("audio_distortion", "low"), ("audio_distortion", "mid")},
    24_000: {("audio_distortion", "low")},
    48_000: set(),
}


@pytest.mark.parametrize(("rate", "bit_depth"), [*((r, 16) for r in NOTHING_HAPPENS), (48_000, 8)])
def test_no_effect_is_flagged_where_nothing_can_happen(rate, bit_depth):
    expected = NOTHING_HAPPENS[rate] | ({("audio_roughness", "low")} if bit_depth == 8 else set())
    source = SourceRenderer(np.ones(100, np.float32) / 4, rate, Span(0, 100), bit_depth=bit_depth)
    flagged = {
        (category, condition.tier, condition.direction)
        for category, condition in itertools.product(PUBLISHED_CATEGORIES, CONDITIONS)
        if source.render(category, condition, clip_id="a").no_effect
    }
    assert flagged == {(c, t, d) for c, t in expected for d in ("up", "down")}


@pytest.mark.parametrize(("tier", "step_db"), [("low", 6), ("mid", 12), ("high", 18)])
def test_volume_goes_from_minus_to_plus_and_is_unity_half_way(tier, step_db):
    samples = np.full(9 * 800, 0.01, np.float32)
    made = SourceRenderer(samples, 16_000, Span(800, 8 * 800)).render(
        "volume", Condition(tier, "linear", "up"), clip_id="a"
    )
    gains_db = 20 * np.log10(made.samples.reshape(9, 800) / samples.reshape(9, 800))
    steps = [-step_db, *np.linspace(-step_db, step_db, 7), step_db]
    assert gains_db == pytest.approx(np.repeat(steps, 800).reshape(9, 800), abs=1e-9)
    assert (made.samples[4 * 800 : 5 * 800] == samples[0]).all(), "0 dB is exactly no change"


def test_distortion_breakpoints_at_48_khz():
    # the hold h becomes h + 1 where 48,000 / rate passes h + 1/2 (2.5 rounds to 2: just after it)
    expected = {
        "low": [0.534, 0.961],
        "mid": [0.445, 0.801, 0.953],
        "high": [0.381, 0.686, 0.817, 0.889, 0.936, 0.968, 0.991],
    }
    lowest = {"low": 18_000, "mid": 12_000, "high": 6_000}
    for tier, breakpoints in expected.items():
        rate = (48_000 + (lowest[tier] - 48_000) * p / 1000 for p in range(1001))
        holds = [hold_of(value, 48_000) for value in rate]
        passed = [p / 1000 for p in range(1, 1001) if holds[p] != holds[p - 1]]
        assert passed == breakpoints
        assert holds[-1] == len(passed) + 1


def test_hold_repeats_from_the_first_sample_and_cuts_the_rest():
    assert hold(np.arange(7.0), 3).tolist() == [0, 0, 0, 3, 3, 3, 6]


def test_hold_is_never_below_1000_hz():
    assert hold_of(10.0, 8_000) == 8


def test_crusher_levels_and_ties():
    # two bits have the levels −1, 0, 1; 0.5 is a tie and goes to the even one
    values = np.float32([-1.2, -0.6, -0.5, 0.5, 0.6])
    assert crush(values, 2).tolist() == [-1, -1, 0, 0, 1]
    # three bits have steps of 1/3: 0.5 is 1.5 steps, and goes to 2
    assert crush(np.float32([0.5]), 3)[0] == np.float32(2 / 3)
    assert [bits_of(b) for b in (4.5, 5.5, 0.0)] == [4, 6, 2]


@pytest.mark.parametrize(
    ("clip_id", "seed"),
    [
        ("p226_01__p226_106__linear__low__up", 13343333742180067291),
        ("beep_01__beep_01__jump__high__down", 7600010380002495123),
    ],
)
def test_published_noise_seeds(clip_id, seed):
    assert noise_seed(clip_id) == seed


@pytest.mark.parametrize(("tier", "snr_db"), [("low", 30.5), ("mid", 23.1), ("high", 18.4)])
def test_full_noise_has_the_published_snr(tier, snr_db):
    samples = speech_like(48_000, 3.0)
    span = Span(12_000, 130_000)
    made = SourceRenderer(samples, 48_000, span).render(
        "background_noise", Condition(tier, "jump", "up"), clip_id="a"
    )
    noise = made.samples - samples
    assert (noise[:12_000] == 0).all(), "no noise before an upward jump"
    assert db(level(samples[slice(*span)]) / level(noise[80_000:])) == pytest.approx(
        snr_db, abs=0.1
    )


def test_noise_differs_between_variants_of_a_source():
    source = SourceRenderer(speech_like(16_000), 16_000, Span(4_000, 14_100))
    ids = [Condition("low", curve, "up").clip_id("i", "c") for curve in ("linear", "jump")]
    tails = [
        source.render("background_noise", Condition("low", "jump", "up"), clip_id=i).samples[
            15_000:
        ]
        for i in ids
    ]
    assert abs(np.corrcoef(*(tail - speech_like(16_000)[15_000:] for tail in tails))[0, 1]) < 0.1


@pytest.mark.parametrize(("tier", "loss_db"), [("low", -2.7), ("mid", -3.4), ("high", -3.9)])
def test_vibration_costs_level(tier, loss_db):
    # at depth d the mean square gain is (1 − d/2)² + d²/8
    samples = np.full(48_000, 0.5, np.float32)
    made = SourceRenderer(samples, 16_000, Span(0, 16_000)).render(
        "voice_vibration", Condition(tier, "jump", "up"), clip_id="a"
    )
    assert db(level(made.samples[16_000:]) / 0.5) == pytest.approx(loss_db, abs=0.05)


def test_vibration_at_full_depth_has_20_cycles_a_second_and_starts_at_phase_0():
    samples = np.full(32_000, 0.5, np.float32)
    made = SourceRenderer(samples, 16_000, Span(31_998, 32_000)).render(
        "voice_vibration", Condition("high", "jump", "down"), clip_id="a"
    )
    spectrum = np.abs(np.fft.rfft(made.samples[:16_000] - made.samples[:16_000].mean()))
    assert spectrum.argmax() == 20
    assert made.samples[0] == np.float32(0.5) * np.float32(1 - 0.9 / 2)


@pytest.mark.parametrize(
    ("rate", "delays"),
    [(48_000, [1426, 1781, 1973, 2098, 240, 82]), (16_000, [475, 594, 658, 699, 80, 27])],
)
def test_reverberator_delays(rate, delays):
    assert [delay_of(ms, rate) for ms in COMB_MS + ALL_PASS_MS] == delays


@pytest.mark.parametrize(("tier", "gain"), [("low", 0.148), ("mid", 0.276), ("high", 0.397)])
def test_direct_path_of_the_echo(tier, gain):
    response = impulse_response(48_000, ROOM[tier])
    assert response[0] == pytest.approx(gain, abs=5e-4)  # (0.7 · room)²
    assert response.size == 72_000
    assert not response[1:82].any(), "nothing comes before the shortest all-pass delay"
    assert response[82] != 0


def test_echo_keeps_what_came_before_an_upward_jump():
    samples = speech_like(16_000)
    made = SourceRenderer(samples, 16_000, Span(4_000, 14_100)).render(
        "echo", Condition("high", "jump", "up"), clip_id="a"
    )
    assert (made.samples[:9_000] == samples[:9_000]).all()
    assert not np.array_equal(made.samples[9_100:], samples[9_100:])


def test_low_pass_mask_is_half_at_its_cutoff_and_800_hz_wide():
    gains = mask(np.array([2500.0]), np.array([0.0, 2100.0, 2300.0, 2500.0, 2900.0, 8000.0]))
    # 2,300 Hz lies a quarter of the way: (1 + cos 45°)/2
    assert gains[0] == pytest.approx([1, 1, (1 + math.sqrt(0.5)) / 2, 0.5, 0, 0], abs=1e-7)


@pytest.mark.parametrize(
    ("rate", "effective"), [(0.6, 0.64), (1.0, 1.11), (1.4, 1.63), (1.2, 1.36)]
)
def test_crossfades_make_speech_faster_than_the_rate_says(rate, effective):
    # a segment of S samples becomes S/rate, of which 240 overlap with the next
    samples = speech_like(48_000, 2.0)
    clip = SourceChannel(samples, 48_000, Span(0, samples.size))
    made = (
        GRADIENTS["speaking_speed"]
        .profiles["paper"]
        .render(clip, Trajectory(rate, rate, "linear"), "low", "a")
    )
    assert samples.size / (made.speech.size - 240) == pytest.approx(effective, abs=0.006)
