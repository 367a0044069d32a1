"""One clip, and what its measures share: speech, spectra and tracks, each computed once."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from otoscope.acoustics.measures.base import Samples, Track, power_spectra, speech_of
from otoscope.acoustics.spans import Span

T = TypeVar("T")


class PowerSpectra(NamedTuple):
    """Short-time power spectra; see `power_spectra`.

    Attributes:
        place: The middle of each window, as a fraction of the span.
        power: One row a window.
        hz: Frequency of each bin.
    """

    place: Float[np.ndarray, " n_windows"]
    power: Float[np.ndarray, "n_windows n_bins"]
    hz: Float[np.ndarray, " n_bins"]


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
        self._computed: dict[Hashable, Any] = {}

    def once(self, compute: "Callable[[ClipAnalysis], T]") -> T:
        """`compute(self)`, computed on first use: a measure's track, or a part of it.

        >>> from otoscope.acoustics.measures.levels import level
        >>> clip = ClipAnalysis(np.ones(1600), 16_000, Span(0, 1600))
        >>> clip.once(level) is clip.once(level)
        True
        """
        return self._shared(compute, lambda: compute(self))

    def spectra(self, length_s: float, hop_s: float, highest_hz: float = np.inf) -> PowerSpectra:
        """Power spectra of Hann windows of a length and a hop, up to a frequency."""
        key = (length_s, hop_s, highest_hz)
        return self._shared(
            key, lambda: PowerSpectra(*power_spectra(self.speech, self.sampling_rate, *key))
        )

    def _shared(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._computed:
            self._computed[key] = make()
        found: T = self._computed[key]
        return found


Measure = Callable[[ClipAnalysis], Track]
"""A clip to a track; `clip.once(measure)` computes it once."""
