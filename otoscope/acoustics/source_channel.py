"""One channel of one source, decoded once, with the intermediate results its variants share.

Everything here follows from the samples alone; nothing depends on a tier, a curve or a direction.
Shared results are computed on first use and cached.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float32

from otoscope.acoustics.segments import Segments, contexts, even_segments, fixed_segments
from otoscope.acoustics.spans import Span
from otoscope.acoustics.trajectories import RAMP_S, glide
from otoscope.acoustics.vocoder import N_FFT, Spectra


class SegmentedSpan:
    """A span in segments: their contexts, levels and spectra."""

    def __init__(self, speech: Float32[np.ndarray, " n_samples"], segments: Segments) -> None:
        self.segments = segments
        self.contexts = contexts(speech, segments)
        self.valid = np.arange(self.contexts.shape[1]) < segments.context_length[:, None]
        self.long = segments.context_length >= N_FFT

    @cached_property
    def rms(self) -> np.ndarray:
        """RMS of each context, float64."""
        return self.rms_of(self.contexts)

    def rms_of(self, rows: Float32[np.ndarray, "n_segments longest"]) -> np.ndarray:
        """RMS of each row over its context's length; rows are zero after it."""
        energy = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        return np.sqrt(energy / self.segments.context_length)

    @cached_property
    def spectra(self) -> Spectra:
        """Short-time spectra of the long contexts."""
        return Spectra(self.contexts[self.long], self.segments.context_length[self.long])

    def by_length(
        self,
        together: Callable[[np.ndarray], Sequence[np.ndarray]],
        alone: Callable[[np.ndarray, int], np.ndarray],
    ) -> list[np.ndarray]:
        """One result a segment: `together(mask)` of the long contexts, `alone(context, i)` else.

        Contexts shorter than a window are rare (spans of a few ms, rates below 10 kHz) and need a
        window of their own length.
        """
        results = iter(together(self.long)) if self.long.any() else iter(())
        return [
            next(results) if long else alone(row[:n], i)
            for i, (long, row, n) in enumerate(
                zip(self.long, self.contexts, self.segments.context_length, strict=True)
            )
        ]

    def without_context(self, rows: np.ndarray) -> list[np.ndarray]:
        """The part of each row that is the segment itself."""
        s = self.segments
        first, last = s.start - s.context_start, s.end - s.context_start
        return [row[a:b] for row, a, b in zip(rows, first, last, strict=True)]


class SourceChannel:
    """One channel and its span of speech.

    Attributes:
        samples, sampling_rate: Waveform in [-1, 1), and its rate in Hz.
        span: Where speech is, in samples.
        index, n_channels: Which channel of how many this is.
    """

    def __init__(
        self,
        samples: Float32[np.ndarray, " n_samples"],
        sampling_rate: int,
        span: Span,
        *,
        index: int = 0,
        n_channels: int = 1,
    ) -> None:
        self.samples, self.sampling_rate, self.span = samples, sampling_rate, span
        self.index, self.n_channels = index, n_channels
        self._shared: dict[Any, Any] = {}

    @property
    def head(self) -> np.ndarray:
        """The samples before the span."""
        return self.samples[: self.span.start]

    @property
    def speech(self) -> np.ndarray:
        """The span."""
        return self.samples[self.span.start : self.span.end]

    @property
    def tail(self) -> np.ndarray:
        """The samples after the span."""
        return self.samples[self.span.end :]

    @cached_property
    def fixed(self) -> SegmentedSpan:
        """The span in segments of exactly 50 ms."""
        return SegmentedSpan(self.speech, fixed_segments(self.speech.size, self.sampling_rate))

    @cached_property
    def even(self) -> SegmentedSpan:
        """The span in segments of nearly equal length."""
        return SegmentedSpan(self.speech, even_segments(self.speech.size, self.sampling_rate))

    def glide(self, curve: str) -> Float32[np.ndarray, " n_samples"]:
        """Progress along a curve at every sample, without steps; the same in every category."""
        ramp = round(RAMP_S * self.sampling_rate)
        return self.shared(
            ("glide", curve), lambda: glide(curve, self.samples.size, *self.span, ramp)
        )

    def shared(self, key: Any, make: Callable[[], Any]) -> Any:
        """`make()`, called once for each key."""
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]
