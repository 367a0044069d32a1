"""Sixteen means, exactly as published."""

from itertools import pairwise

import numpy as np
import pytest

from otoscope.representations.pooling import pooled, quarter_ends, segments_of, weights_of


def plain_pooled(frames, n=16):
    """The published rule, word for word and one number at a time."""
    length, width = frames.shape
    if length == 0:
        return [0.0] * (n * width)
    bounds = [int(value) for value in np.linspace(0, length, n + 1)]
    made = []
    for start, end in pairwise(bounds):
        rows = list(range(start, end)) or [min(start, length - 1)]
        made += [sum(float(frames[row, d]) for row in rows) / len(rows) for d in range(width)]
    return made


@pytest.mark.parametrize("length", [0, 1, 2, 7, 15, 16, 17, 31, 33, 100, 750, 1001])
def test_it_is_the_published_rule_at_any_length(length):
    frames = np.random.default_rng(length).standard_normal((length, 3))
    np.testing.assert_allclose(pooled(frames), plain_pooled(frames), rtol=1e-12, atol=1e-12)
    if length:
        weighed = weights_of(length) @ frames
        np.testing.assert_allclose(weighed.reshape(-1), plain_pooled(frames), atol=1e-6)


def test_twenty_frames_by_hand():
    # boundaries k * 20 / 16 = 1.25 k, cut: 0 1 2 3 5 6 7 8 10 11 12 13 15 16 17 18 20
    wide = [(3, 5), (8, 10), (13, 15), (18, 20)]
    assert [segment for segment in segments_of(20) if segment[1] - segment[0] == 2] == wide
    assert segments_of(20)[:3] == [(0, 1), (1, 2), (2, 3)]


def test_segments_of_a_whole_number_of_frames_share_nothing_and_leave_nothing():
    assert segments_of(32) == [(2 * n, 2 * n + 2) for n in range(16)]


def test_a_single_frame_fills_every_segment():
    assert pooled(np.array([[3.0, 5.0]])).tolist() == [3.0, 5.0] * 16


def test_quarters_end_where_published():
    # 100 frames: boundaries 25, 50, 75, 100, each less one
    assert quarter_ends(100) == [24, 49, 74, 99]
    # 3 frames: boundaries 0, 0.75, 1.5, 2.25, 3 cut to 0 0 1 2 3; max(end - 1, start)
    assert quarter_ends(3) == [0, 0, 1, 2]
    assert quarter_ends(1) == [0, 0, 0, 0]
