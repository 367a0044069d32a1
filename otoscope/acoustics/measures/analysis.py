"""One clip, and what its measures share: speech and tracks, each computed once."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from otoscope.acoustics.measures.base import Samples, Summary, Track, over_spectra, speech_of
from otoscope.acoustics.spans import Span

T = TypeVar("T")


class ClipAnalysis:
    """A clip and its span, with intermediate results that several measures share.

    Whatever was computed is kept as long as the clip; nobody may write into it.

    Attributes:
        samples: Waveform in [-1, 1) or 16-bit PCM, `(n_samples,)` or `(n_channels, n_samples)`.
        sampling_rate: In Hz.
        span: Start and end of speech, in samples.
        speech: The span of the mean of all channels, float64 in [-1, 1].
    """

    def __init__(self, samples: Samples, sampling_rate: int, span: Span) -> None:
        """Validates the input.

        Raises:
            AudioError: A rate that is not positive, a span that is empty or outside the clip,
                samples in the span that are not finite.
        """
        self.samples, self.sampling_rate, self.span = samples, sampling_rate, span
        self.speech = speech_of(samples, sampling_rate, span)
        self._computed: dict[Callable[[ClipAnalysis], Any], Any] = {}

    def once(self, compute: "Callable[[ClipAnalysis], T]") -> T:
        """`compute(self)`, computed on first use: a measure's track, or a part of it.

        >>> from otoscope.acoustics.measures.levels import level
        >>> clip = ClipAnalysis(np.ones(1600), 16_000, Span(0, 1600))
        >>> clip.once(level) is clip.once(level)
        True
        """
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        found: T = self._computed[compute]
        return found

    def over_spectra(
        self, length_s: float, hop_s: float, summary: Summary, highest_hz: float = np.inf
    ) -> tuple[Float[np.ndarray, " n_windows"], Float[np.ndarray, "n_windows n_values"]]:
        """Places and summaries of spectra; see `base.over_spectra`."""
        return over_spectra(self.speech, self.sampling_rate, length_s, hop_s, summary, highest_hz)


Measure = Callable[[ClipAnalysis], Track]
"""A clip to a track; `clip.once(measure)` computes it once."""
