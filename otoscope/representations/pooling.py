"""A sequence of any length as sixteen means, and single positions in it.

Source: VocalGrad, section 5.1; how boundaries are rounded and what an empty slice becomes is in the
authors' code.
"""

from itertools import pairwise

import numpy as np
from jaxtyping import Float

N_SEGMENTS = 16


def segments_of(length: int, n_segments: int = N_SEGMENTS) -> list[tuple[int, int]]:
    """Start and end of each segment of a sequence.

    Boundaries are evenly spaced and truncated to integers. A sequence shorter than the number of
    segments leaves some empty; those take the frame they start at, or the last one.

    >>> segments_of(5, 4)
    [(0, 1), (1, 2), (2, 3), (3, 5)]
    >>> segments_of(2, 4)
    [(0, 1), (0, 1), (1, 2), (1, 2)]
    """
    bounds = np.linspace(0, length, n_segments + 1).astype(int).tolist()
    return [
        (start, end) if end > start else (min(start, length - 1), min(start, length - 1) + 1)
        for start, end in pairwise(bounds)
    ]


def weights_of(length: int, n_segments: int = N_SEGMENTS) -> Float[np.ndarray, "n_segments length"]:
    """The weight of each frame in each segment's mean; all 0 without frames."""
    weights = np.zeros((n_segments, length), np.float32)
    if length:
        for segment, (start, end) in zip(weights, segments_of(length, n_segments), strict=True):
            segment[start:end] = 1 / (end - start)
    return weights


def pooled(
    frames: Float[np.ndarray, "length width"], n_segments: int = N_SEGMENTS
) -> Float[np.ndarray, " n_pooled"]:
    """Means of the segments, one after the other; zeros where there are no frames.

    >>> pooled(np.array([[1.0, 10.0], [3.0, 30.0], [5.0, 50.0]]), 2).tolist()
    [1.0, 10.0, 4.0, 40.0]
    """
    if not len(frames):
        return np.zeros(n_segments * frames.shape[1], frames.dtype)
    return np.concatenate(
        [frames[start:end].mean(axis=0) for start, end in segments_of(len(frames), n_segments)]
    )


def quarter_ends(length: int) -> list[int]:
    """The last position of each quarter of a sequence that is not empty.

    >>> quarter_ends(10), quarter_ends(2)
    ([1, 4, 6, 9], [0, 0, 1, 1])
    """
    return [end - 1 for _, end in segments_of(length, 4)]
