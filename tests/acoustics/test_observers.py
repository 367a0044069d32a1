"""What the sound itself gives away: with the source at hand nearly everything."""

import numpy as np
import pytest
from real_speech import OWN_AND_REAL, needs_real_speech, own_speech, real_speech
from synthetic_speech import speech_pcm

from otoscope.acoustics.design import CONDITIONS, LABELS, Condition
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import ClipAnalysis, Track
from otoscope.acoustics.measures.differences import (
    difference,
    rise_by_added_power,
    within_half_an_octave,
)
from otoscope.acoustics.observers import (
    SlopeObserver,
    cue_slope,
    direction_with_source,
    fit_slope_observer,
    slope,
)
from otoscope.acoustics.rendering import SourceRenderer
from otoscope.acoustics.spans import Span
from otoscope.statistics.intervals import clustered_interval

RATE = 16_000
HIGH = [condition for condition in CONDITIONS if condition.tier == "high"]


def track(*values):
    n = len(values)
    return Track((np.arange(n) + 0.5) / n, np.array(values, float))


def ramped(db, seed=0, n=RATE):
    """Noise whose level rises by `db` over the clip."""
    steady = 0.01 * np.random.default_rng(seed).standard_normal(n)
    return steady * 10 ** (np.linspace(0, db, n) / 20), RATE, Span(0, n)


def test_slope_of_three_points_worked_by_hand():
    # places 1/6, 1/2, 5/6, values 0, 3, 3: Σ(p·v) = 1/3·3, Σ(p²) = 2/9
    assert slope(track(0, 3, 3)) == pytest.approx(4.5)


def test_slope_passes_over_what_was_not_measured():
    assert slope(track(1, np.nan, 3, np.nan)) == pytest.approx(4)


@pytest.mark.parametrize("values", [(), (1,), (np.nan, 2), (np.nan, np.nan)])
def test_less_than_two_windows_have_no_slope(values):
    assert np.isnan(slope(track(*values)))


def test_constant_is_the_median_of_the_sources():
    observer = fit_slope_observer([ramped(-4), ramped(1), ramped(30)], ["volume"])
    assert observer.constants == {"volume": pytest.approx(1, abs=0.5)}


def test_answers_compare_with_the_constant_and_not_with_zero():
    observer = SlopeObserver({"volume": -5.0})
    assert observer.answer(*ramped(-2), "volume") == "increase"
    assert observer.answer(*ramped(-8), "volume") == "decrease"


def test_no_answer_where_nothing_can_be_measured():
    silence = np.zeros(RATE), RATE, Span(0, RATE)
    assert SlopeObserver({"voice_pitch": 0.0}).answer(*silence, "voice_pitch") is None
    constants = fit_slope_observer([silence], ["volume"]).constants
    assert np.isnan(constants["volume"])
    assert SlopeObserver(constants).answer(*ramped(9), "volume") is None


def test_unmeasurable_sources_do_not_move_the_constant():
    silence = np.zeros(RATE), RATE, Span(0, RATE)
    with_silence = fit_slope_observer([silence, ramped(3), silence], ["volume"])
    assert with_silence == fit_slope_observer([ramped(3)], ["volume"])


def test_an_unknown_category_is_named():
    with pytest.raises(LookupError, match="did you mean 'volume'"):
        cue_slope(*ramped(1), "volumes")


def test_difference_takes_the_nearest_window_of_the_source():
    source, clip = track(10, 20), track(11, 12, 23, 24)
    np.testing.assert_array_equal(difference(clip, source).value, [1, 2, 3, 4])


def test_only_windows_measured_in_both_count():
    source, clip = track(0, 0, 9, np.nan), track(1, 2, np.nan, 99)
    np.testing.assert_array_equal(difference(clip, source).value, [1, 2, np.nan, np.nan])
    assert direction_with_source(clip, source, "volume") == "up"


@pytest.mark.parametrize("category", ["volume", "background_noise", "voice_pitch"])
@pytest.mark.parametrize(
    ("clip", "source"),
    [
        (track(), track(1, 2)),
        (track(1, 2), track()),
        (track(1, 2), track(np.nan, 1)),
        (track(5, 7, 6), track(5, 7, 6)),
    ],
)
def test_no_direction_where_nothing_moved_or_nothing_was_measured(clip, source, category):
    assert direction_with_source(clip, source, category) is None


def test_powers_are_subtracted_where_noise_is_added():
    # the source's floor falls from -73 to -122 dB, the noise from -70 to -90 dB
    source_power, noise_power = 10 ** np.array([-7.3, -12.2]), 10 ** np.array([-7.0, -9.0])
    source = track(*10 * np.log10(source_power))
    clip = track(*10 * np.log10(source_power + noise_power))
    # in dB the clip is 4.8 dB above its source first, and 32 dB last: as if noise rose
    assert difference(clip, source).value == pytest.approx([4.76, 32.00], abs=0.01)
    # with the mean added power, (1e-7 + 1e-9) / 2 = 5.05e-8, in both powers:
    # (1.501e-7 + 5.05e-8) / (5.01e-8 + 5.05e-8) = 1.994, and (1e-9 + 5.05e-8) / 5.05e-8 = 1.0198
    assert rise_by_added_power(clip, source).value == pytest.approx([2.997, 0.0851], abs=1e-3)
    assert direction_with_source(clip, source, "background_noise") == "down"


def test_octave_errors_do_not_count():
    # F0 fell by up to 3 semitones; the last window of the source was taken an octave too low
    source, clip = track(0, 0, 0, -12), track(-1, -2, -3, -3)
    np.testing.assert_array_equal(within_half_an_octave(clip, source).value, [-1, -2, -3, np.nan])
    assert direction_with_source(clip, source, "voice_pitch") == "down"


def profile_of(category):
    """`paper` for the published ones."""
    return next(iter(GRADIENTS[category].profiles))


def named(source, category, condition, name, before):
    """The direction named by the cue after encoding; None also for a condition without effect."""
    clip_id = condition.clip_id(name, name)
    rendering = source.render(category, condition, clip_id=clip_id, profile=profile_of(category))
    if rendering.no_effect:
        return None
    pcm = rendering.to_pcm().pcm
    after = GRADIENTS[category].cue(ClipAnalysis(pcm, source.sampling_rate, rendering.span))
    return direction_with_source(after, before, category) or "none"


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("category", sorted(GRADIENTS))
def test_direction_of_a_gradient_on_synthetic_speech(category, direction):
    pcm = speech_pcm(RATE, duration_s=3.0)
    source = SourceRenderer(pcm, RATE, Span(4000, 45_000))
    before = GRADIENTS[category].cue(ClipAnalysis(pcm, RATE, source.span))
    assert named(source, category, Condition("high", "linear", direction), "s", before) == direction


def measured(clips, category, conditions):
    """Whether each direction was named, for every clip and condition with an effect."""
    right = []
    for name, pcm, rate, span in clips:
        source = SourceRenderer(pcm, rate, span)
        before = GRADIENTS[category].cue(ClipAnalysis(pcm, rate, span))
        answers = [named(source, category, condition, name, before) for condition in conditions]
        right += [
            a == c.direction for a, c in zip(answers, conditions, strict=True) if a is not None
        ]
    return np.array(right, bool)


@pytest.mark.parametrize(
    ("speech", "names"),
    [
        pytest.param(own_speech, {"tebukuro_001", "espeak_001"}, id="own clips"),
        pytest.param(
            real_speech, {"p225_002", "1988-24833-0000"}, id="real", marks=needs_real_speech
        ),
    ],
)
@pytest.mark.parametrize("category", sorted(GRADIENTS))
def test_direction_of_a_gradient_on_two_clips(category, speech, names):
    few = [clip for clip in speech() if clip[0] in names]
    assert len(few) == 2
    conditions = [condition for condition in HIGH if condition.curve in {"linear", "jump"}]
    assert measured(few, category, conditions).all()


@pytest.mark.slow
@pytest.mark.parametrize("speech", OWN_AND_REAL)
@pytest.mark.parametrize("category", sorted(GRADIENTS))
def test_direction_of_a_gradient_on_all_speech(category, speech):
    by_clip = [measured([clip], category, HIGH) for clip in speech()]
    right = np.concatenate(by_clip)
    assert right.size >= (400 if speech is real_speech else 48)
    clip = np.repeat(np.arange(len(by_clip)), [each.size for each in by_clip])
    interval = clustered_interval(right, clip)
    assert interval.high >= 0.99, (
        interval
    )  # a target on real speech holds when its interval reaches it
    assert right.mean() >= 0.98, interval


@pytest.mark.slow
@pytest.mark.parametrize("speech", OWN_AND_REAL)
@pytest.mark.parametrize("category", sorted(GRADIENTS))
def test_without_the_source_three_in_four_are_identified_at_the_high_tier(category, speech):
    clips = speech()
    fitted_on = [[clip[1:] for clip in clips[half::2]] for half in (0, 1)]
    observers = [fit_slope_observer(sources, [category]) for sources in fitted_on]
    right = []
    for i, (name, pcm, rate, span) in enumerate(clips):
        source = SourceRenderer(pcm, rate, span)
        for condition in HIGH:
            clip_id = condition.clip_id(name, name)
            made = source.render(category, condition, clip_id=clip_id, profile=profile_of(category))
            if not made.no_effect:
                answer = observers[1 - i % 2].answer(made.to_pcm().pcm, rate, made.span, category)
                right.append(answer == LABELS[condition.direction])
    assert np.mean(right) > 0.75
