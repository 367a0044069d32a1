"""The published detector on signals whose frames are known, and the policies around it."""

import numpy as np
import pytest
from scipy import signal
from synthetic_speech import speech_like

from otoscope.acoustics.spans import (
    Policy,
    Problem,
    Span,
    decide,
    detect,
    frame_rms,
)


def frames(levels, rate=48_000, extra=0):
    """A waveform whose 10 ms frames have, once pre-emphasised, the RMS levels asked for."""
    hop = round(rate * 0.01)
    emphasised = np.append(np.repeat(levels, hop), np.full(extra, levels[-1]))
    emphasised *= (-1.0) ** np.arange(emphasised.size)
    return signal.lfilter([1], [1, -0.97], emphasised)[None]


def test_frames_have_the_levels_they_were_made_with():
    assert frame_rms(frames([1e-3, 0.1, 0.2]), 48_000) == pytest.approx([1e-3, 0.1, 0.2])


@pytest.mark.parametrize("rate", [48_000, 44_100, 22_050, 16_000, 8_000])
def test_the_noise_floor_is_the_median_of_20_frames(rate):
    # 10 at 1 and 10 at 3 give 2; one frame fewer would give 1 and one more 3
    levels = [1e-3] * 10 + [3e-3] * 11
    assert detect(frames(levels, rate), rate).noise_floor == pytest.approx(2e-3)


@pytest.mark.parametrize(
    ("floor", "peak", "threshold"),
    [(1e-2, 1.0, 1.8e-2), (1e-4, 0.5, 1.5e-3), (1e-6, 1e-3, 5e-5)],
    ids=["1.8 x floor", "0.003 x peak", "least"],
)
def test_threshold_is_the_largest_of_three(floor, peak, threshold):
    seen = detect(frames([floor] * 25 + [peak] * 5), 48_000)
    assert seen.threshold == pytest.approx(threshold)


@pytest.mark.parametrize(("n_frames", "found"), [(9, False), (10, True)])
def test_ten_frames_make_a_run_and_nine_do_not(n_frames, found):
    seen = detect(frames([1e-4] * 30 + [0.1] * n_frames + [1e-4] * 5), 48_000)
    assert (seen.span is not None) == found
    assert seen.n_segments == found


@pytest.mark.parametrize(("above", "found"), [(1.79, False), (1.81, True)])
def test_speech_is_what_exceeds_1_8_floors(above, found):
    seen = detect(frames([1e-2] * 30 + [above * 1e-2] * 20 + [1e-2] * 5), 48_000)
    assert (seen.span is not None) == found


def test_span_runs_from_the_first_run_to_the_last_and_ignores_short_ones():
    quiet, loud = [1e-4], [0.1]
    levels = (
        quiet * 25 + loud * 5 + quiet * 5 + loud * 12 + quiet * 20 + loud * 15 + quiet + loud * 3
    )
    seen = detect(frames(levels), 48_000)
    assert seen.span == Span(35 * 480, (35 + 12 + 20 + 15) * 480)
    assert seen.n_segments == 2


def test_speech_to_the_end_stops_at_the_last_whole_frame():
    samples = frames([1e-4] * 30 + [0.1] * 20, extra=479)
    assert detect(samples, 48_000).span == Span(30 * 480, 50 * 480)
    assert samples.shape[1] == 50 * 480 + 479


@pytest.mark.parametrize(
    ("rate", "hop"), [(22_050, 220), (44_100, 441), (11_025, 110), (48_000, 480), (20, 1)]
)
def test_a_frame_is_10_ms_with_ties_to_even(rate, hop):
    # 22,050 Hz: 220.5 → 220
    assert frame_rms(np.zeros((1, 10 * hop)), rate).size == 10
    assert frame_rms(np.zeros((1, 11 * hop - 1)), rate).size == 10


def test_bounds_at_22050_hz_are_multiples_of_220_samples():
    seen = detect(frames([1e-4] * 30 + [0.1] * 20 + [1e-4] * 3, 22_050), 22_050)
    assert seen.span == Span(6600, 11_000)


def test_a_clip_shorter_than_a_frame_is_padded():
    seen = detect(np.full((1, 120), 0.5), 48_000)
    # first sample 0.5, the others 0.5 - 0.485 = 0.015, over 480
    assert seen.peak_rms == pytest.approx(np.sqrt((0.25 + 119 * 0.015**2) / 480))
    assert seen.span is None


def test_channels_are_averaged():
    left = frames([1e-4] * 30 + [0.1] * 20)
    seen = detect(np.concatenate([left, -left]), 48_000)
    assert seen.peak_rms == 0
    assert seen.span is None


def policies(first=Policy.QUIETEST_FLOOR, nothing=Policy.REJECT, short=Policy.KEEP):
    return {
        Problem.FROM_FIRST_FRAME: first,
        Problem.NOTHING_FOUND: nothing,
        Problem.SHORT: short,
    }


LONG = frames([1e-4] * 30 + [0.1] * 150 + [1e-4] * 20)
SHORT = frames([1e-4] * 30 + [0.1] * 50 + [1e-4] * 20)
SILENT = np.zeros((1, 96_000))
FIRST = frames([0.1] * 150 + [1e-4] * 50)  # the floor is speech: nothing exceeds it
FIRST_SHORT = frames([0.1] * 50 + [1e-4] * 50)
BOTH, NONE = Problem.FROM_FIRST_FRAME, Problem.NOTHING_FOUND
WHOLE = Span(0, 96_000)


@pytest.mark.parametrize(
    ("clip", "chosen", "span", "origin", "problems"),
    [
        (LONG, {}, Span(14_400, 86_400), "detected", []),
        (SHORT, {}, Span(14_400, 38_400), "kept", [Problem.SHORT]),
        (SHORT, {"short": Policy.REJECT}, None, "reject", [Problem.SHORT]),
        (SHORT, {"short": Policy.WHOLE_CLIP}, Span(0, 48_000), "whole_clip", [Problem.SHORT]),
        (SILENT, {}, None, "reject", [NONE]),
        (SILENT, {"nothing": Policy.KEEP}, None, "reject", [NONE]),
        (SILENT, {"nothing": Policy.WHOLE_CLIP}, WHOLE, "whole_clip", [NONE]),
        (FIRST, {}, Span(0, 72_000), "quietest_floor", [BOTH]),
        (FIRST, {"first": Policy.REJECT}, None, "reject", [BOTH, NONE]),
        (FIRST, {"first": Policy.WHOLE_CLIP}, WHOLE, "whole_clip", [BOTH, NONE]),
        (FIRST, {"first": Policy.KEEP}, None, "reject", [BOTH, NONE]),
        (FIRST_SHORT, {}, Span(0, 24_000), "quietest_floor", [BOTH, Problem.SHORT]),
        (
            FIRST_SHORT,
            {"short": Policy.WHOLE_CLIP},
            Span(0, 48_000),
            "whole_clip",
            [BOTH, Problem.SHORT],
        ),
        (
            FIRST,
            {"first": Policy.REJECT, "nothing": Policy.WHOLE_CLIP},
            None,
            "reject",
            [BOTH, NONE],
        ),
    ],
)
def test_a_policy_decides_and_is_recorded(clip, chosen, span, origin, problems):
    assert decide(clip, 48_000, policies(**chosen)) == (span, origin, problems)


def test_the_published_detector_misses_speech_from_the_first_frame():
    assert detect(FIRST, 48_000).span is None


def test_quietest_floor_answers_no_other_problem():
    with pytest.raises(ValueError, match="quietest_floor"):
        decide(LONG, 48_000, policies(short=Policy.QUIETEST_FLOOR))


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 48_000])
def test_something_like_speech_is_found_where_it_is(rate):
    samples = speech_like(rate, 2.4)[None]
    span, origin, _ = decide(samples, rate)
    assert origin == "detected"
    assert span.start / rate == pytest.approx(0.25, abs=0.03)
    assert span.end / rate == pytest.approx(2.12, abs=0.03)  # the last syllable's end
