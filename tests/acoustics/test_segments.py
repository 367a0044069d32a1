"""Segments, their contexts, and what a joint costs."""

import numpy as np
import pytest

from otoscope.acoustics.segments import (
    contexts,
    crossfade_length,
    even_segments,
    fixed_segments,
    join,
    segment_length,
)

# rate: (samples in 50 ms, samples in 5 ms); ties go to the even number
LENGTHS = {
    48_000: (2400, 240),
    44_100: (2205, 220),  # 220.5
    24_000: (1200, 120),
    22_050: (1102, 110),  # 1102.5, 110.25
    16_000: (800, 80),
    8_000: (400, 40),
    10: (1, 0),  # 0.5 would be no samples
}


@pytest.mark.parametrize("rate", LENGTHS)
def test_lengths_in_samples(rate):
    assert (segment_length(rate), crossfade_length(rate)) == LENGTHS[rate]


def test_fixed_segments_leave_the_rest_to_the_last():
    made = fixed_segments(2000, 16_000)
    assert made.start.tolist() == [0, 800, 1600]
    assert made.end.tolist() == [800, 1600, 2000]
    assert made.context_start.tolist() == [0, 0, 800]
    assert made.context_end.tolist() == [1600, 2000, 2000]


def test_even_segments_are_as_many_but_of_one_length():
    # 1001 samples in 2: the bound is round(500.5) = 500, even
    made = even_segments(1001, 16_000)
    assert made.start.tolist() == [0, 500]
    assert made.end.tolist() == [500, 1001]
    assert made.context_start.tolist() == [0, 0], (
        "a context reaches one 50 ms step, not one segment"
    )
    assert made.context_end.tolist() == [1001, 1001]


@pytest.mark.parametrize("n_samples", [1, 799, 800, 801, 1600])
def test_segments_cover_the_span_once(n_samples):
    for made in (fixed_segments(n_samples, 16_000), even_segments(n_samples, 16_000)):
        assert len(made) == -(-n_samples // 800)
        assert made.start[0] == 0
        assert made.end[-1] == n_samples
        assert (made.start[1:] == made.end[:-1]).all()


def test_contexts_are_rows_padded_with_zeros():
    span = np.arange(1, 6, dtype=np.float32)
    rows = contexts(span, fixed_segments(5, 40))  # two samples a segment
    assert rows.tolist() == [[1, 2, 3, 4, 0], [1, 2, 3, 4, 5], [3, 4, 5, 0, 0]]


def test_each_joint_shortens_by_its_fade_and_blends_linearly():
    joined = join([np.full(4, 1, np.float32), np.full(4, 3, np.float32)], 3)
    assert joined.tolist() == [1, 1, 2, 3, 3]  # weights 1, 1/2, 0 for the old and 0, 1/2, 1


def test_a_fade_is_no_longer_than_what_it_joins():
    joined = join([np.ones(1, np.float32), np.full(2, 2, np.float32), np.full(9, 3, np.float32)], 5)
    assert joined.size == (1 + 2 - 1) + 9 - 2


@pytest.mark.parametrize("n_segments", [1, 2, 20])
def test_n_segments_lose_n_minus_one_fades(n_segments):
    pieces = [np.ones(2400, np.float32)] * n_segments
    assert join(pieces, 240).size == 2400 * n_segments - 240 * (n_segments - 1)
