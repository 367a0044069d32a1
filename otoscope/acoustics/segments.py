"""Cuts a span into 50 ms segments with context, and joins the processed segments.

Source: VocalGrad, section 3.2 (segments, crossfade); the context is in the authors' data only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int

SEGMENT_S = 0.05
CROSSFADE_S = 0.005


@dataclass(frozen=True)
class Segments:
    """Segments of a span and the context around each, as sample positions in the span.

    Attributes:
        start, end: Bounds of each segment, `[start, end)`.
        context_start, context_end: The segment and one segment length on either side, cut at
            the ends of the span.
    """

    start: Int[np.ndarray, " n_segments"]
    end: Int[np.ndarray, " n_segments"]
    context_start: Int[np.ndarray, " n_segments"]
    context_end: Int[np.ndarray, " n_segments"]

    def __len__(self) -> int:
        return len(self.start)

    @property
    def context_length(self) -> Int[np.ndarray, " n_segments"]:
        """Samples in each context."""
        return self.context_end - self.context_start


def segment_length(sampling_rate: int) -> int:
    """Samples in 50 ms, at least one."""
    return max(1, round(SEGMENT_S * sampling_rate))


def crossfade_length(sampling_rate: int) -> int:
    """Samples that two neighbours share at a joint: 5 ms."""
    return round(CROSSFADE_S * sampling_rate)


def fixed_segments(n_samples: int, sampling_rate: int) -> Segments:
    """Segments of exactly 50 ms; the last is what remains."""
    step = segment_length(sampling_rate)
    n_segments = max(1, math.ceil(n_samples / step))
    start = np.arange(n_segments) * step
    return _with_context(start, np.minimum(start + step, n_samples), n_samples, step)


def even_segments(n_samples: int, sampling_rate: int) -> Segments:
    """As many segments, but all of nearly one length (the published rule for speaking speed)."""
    step = segment_length(sampling_rate)
    n_segments = max(1, math.ceil(n_samples / step))
    bounds = np.array([round(i * n_samples / n_segments) for i in range(n_segments + 1)])
    return _with_context(bounds[:-1], bounds[1:], n_samples, step)


def _with_context(start: np.ndarray, end: np.ndarray, n_samples: int, step: int) -> Segments:
    return Segments(start, end, np.maximum(start - step, 0), np.minimum(end + step, n_samples))


def contexts(
    span: Float32[np.ndarray, " n_samples"], segments: Segments
) -> Float32[np.ndarray, "n_segments longest"]:
    """Each segment's context in a row of its own, zeros after its end."""
    length = segments.context_length
    rows = np.zeros((len(segments), int(length.max())), np.float32)
    for row, start, end in zip(rows, segments.context_start, segments.context_end, strict=True):
        row[: end - start] = span[start:end]
    return rows


def join(
    pieces: Sequence[Float[np.ndarray, " _"]], n_crossfade: int
) -> Float[np.ndarray, " n_samples"]:
    """Pieces appended with linear crossfades; each joint shortens the result by its fade.

    The fade is no longer than the output so far or the piece, whichever is shorter.
    """
    out = np.empty(sum(map(len, pieces)), np.float32)
    out[: len(pieces[0])] = pieces[0]
    at = len(pieces[0])
    full = _fades(n_crossfade)
    for piece in pieces[1:]:
        n = min(n_crossfade, at, len(piece))
        fade_out, fade_in = full if n == n_crossfade else _fades(n)
        out[at - n : at] = out[at - n : at] * fade_out + piece[:n] * fade_in
        out[at : at + len(piece) - n] = piece[n:]
        at += len(piece) - n
    return out[:at]


def _fades(n: int) -> tuple[np.ndarray, np.ndarray]:
    fade_out = np.linspace(1, 0, n, dtype=np.float32)
    return fade_out, 1 - fade_out
