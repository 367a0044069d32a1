"""The phase vocoder of librosa 0.11, for many short contexts at once, limited to needed frames.

The published generators call `librosa.effects.time_stretch` every 50 ms, on a context of three
segments of which one is used. Here the forward transform is computed once and shared by all
variants of a source, phases advance by multiplication of unit phasors instead of adding angles, and
only frames that reach the samples in use are transformed back. Shapes: `n_bins` = 257, `n_frames`
counts hops of 128 samples; frames are centred, zeros outside a context.

Source: D. Ellis, "A phase vocoder in Matlab" (2002); librosa 0.11 for its conventions.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int

N_FFT = 512
HOP = 128
OVERLAP = N_FFT // HOP
HANN = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(N_FFT) / N_FFT)
WINDOW = HANN.astype(np.float32)
WINDOW_SQUARED = (HANN**2).astype(np.float32).reshape(OVERLAP, HOP)
FULL_OVERLAP = np.float32(1.5)  # squared Hann windows, four deep, sum to this everywhere
SILENT = np.finfo(np.float32).tiny


class Spectra:
    """Short-time Fourier transforms of contexts, `(n_segments, n_frames, n_bins)`.

    Attributes:
        length: Samples in each context; at least `N_FFT`.
        n_frames: Frames that belong to each context; later ones are zero.
        frames: Complex64 spectra.
    """

    def __init__(
        self, contexts: Float32[np.ndarray, "n_segments longest"], length: Int[np.ndarray, " n"]
    ) -> None:
        self.length = length
        self.n_frames = 1 + length // HOP
        padded = np.pad(contexts, ((0, 0), (N_FFT // 2, N_FFT // 2 + HOP)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, N_FFT, axis=1)[:, ::HOP]
        windows = windows[:, : int(self.n_frames.max())]
        # In double precision, as librosa does: where a pure tone leaves bins empty, their phase is
        # rounding noise, which is audible at the end of the span.
        self.frames = np.fft.rfft(windows * HANN, axis=-1).astype(np.complex64)
        self.frames[np.arange(self.frames.shape[1]) >= self.n_frames[:, None]] = 0

    @cached_property
    def magnitude(self) -> Float32[np.ndarray, "n_segments n_frames_plus_2 n_bins"]:
        """Magnitudes, with two silent frames after the last."""
        return np.pad(np.abs(self.frames), ((0, 0), (0, 2), (0, 0)))

    @cached_property
    def turn(self) -> np.ndarray:
        """Unit phasors from each frame to the next, `(n_segments, n_frames, n_bins)`.

        The phase of an empty bin is 0, as `np.angle` has it.
        """
        size = np.abs(self.frames)
        unit = np.where(size > 0, self.frames / np.where(size > 0, size, 1), 1)
        following = np.concatenate([unit[:, 1:], np.ones_like(unit[:, :1])], axis=1)
        return following * unit.conj()

    @cached_property
    def turn_angle(self) -> np.ndarray:
        """Angles of `turn` in radians, within ±π."""
        return np.angle(self.turn)

    @cached_property
    def first_angle(self) -> np.ndarray:
        """Angle of each context's first frame, `(n_segments, n_bins)`."""
        return np.angle(self.frames[:, 0])

    def stretch(
        self,
        rates: Float[np.ndarray, " n_segments"],
        first: Int[np.ndarray, " n_segments"],
        last: Int[np.ndarray, " n_segments"],
    ) -> list[np.ndarray]:
        """Samples `[first, last)` of each context stretched by its rate (> 1 is faster)."""
        # Which output frames reach the samples [first, last)? `begin` and `end` are the first and
        # past-the-last of them; only these are synthesised.
        n_steps = np.ceil(self.n_frames / rates).astype(int)
        n_out = np.rint(self.length / rates).astype(int)
        n_used = np.minimum(n_steps, -(-(n_out + N_FFT) // HOP))
        begin = np.clip(-(-(first - N_FFT // 2 + 1) // HOP), 0, n_used)
        end = np.clip((last - 1 + N_FFT // 2) // HOP + 1, begin, n_used)
        spectra, needed = self._advance(rates, begin, end)
        signal = overlap_add(spectra, needed)
        offset = first - (begin * HOP - N_FFT // 2)
        return [row[a : a + n] for row, a, n in zip(signal, offset, last - first, strict=True)]

    def _advance(
        self, rates: np.ndarray, begin: np.ndarray, end: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Output frames `[begin, end)`, and which of the array's frames are among them."""
        n_segments, n_frames, n_bins = self.frames.shape
        step = begin[:, None] + np.arange(int((end - begin).max()))
        needed = step < end[:, None]
        # Magnitude: linear interpolation between the two input frames around each output frame.
        place = step * rates[:, None]
        whole = np.minimum(place.astype(int), n_frames - 1)
        between = (place - place.astype(int)).astype(np.float32)[:, :, None]
        row = np.arange(n_segments)[:, None]
        size = self.magnitude[row, whole]
        size += between * (self.magnitude[row, whole + 1] - size)
        size[~needed] = 0
        # Phase: accumulated, one turn (the input's phase advance over a hop) for each output frame.
        phasor = np.exp(1j * self._angle_at(rates, begin)).astype(np.complex64)
        out = np.empty((n_segments, step.shape[1], n_bins), np.complex64)
        for k in range(step.shape[1]):
            np.multiply(phasor, size[:, k], out=out[:, k])
            phasor *= self.turn[row[:, 0], whole[:, k]]
        return out, needed

    def _angle_at(self, rates: np.ndarray, begin: np.ndarray) -> np.ndarray:
        """Accumulated phase at output frame `begin`, from how often each turn was taken."""
        n_segments, n_frames, _ = self.frames.shape
        step = np.arange(int(begin.max(initial=0)))
        taken = np.minimum((step * rates[:, None]).astype(int), n_frames - 1)
        flat = (np.arange(n_segments)[:, None] * n_frames + taken)[step < begin[:, None]]
        times = np.bincount(flat, minlength=n_segments * n_frames).astype(np.float32)
        times = times.reshape(n_segments, n_frames)
        # einsum, not matmul: BLAS would give other bits on other processors
        return self.first_angle + np.einsum("sf,sfb->sb", times, self.turn_angle)


def overlap_add(
    spectra: np.ndarray, needed: np.ndarray | None = None
) -> Float32[np.ndarray, "n_segments n_samples"]:
    """Waveform of each row of frames, window effects divided out; starts where frame 0 starts.

    Args:
        spectra: Complex64, `(n_segments, n_frames, n_bins)`.
        needed: Which frames count, `(n_segments, n_frames)`; all by default.
    """
    # Each frame is four hops long, so frame k is added to hops k to k + 3.
    n_segments, n_frames, _ = spectra.shape
    parts = np.fft.irfft(spectra, n=N_FFT, axis=-1)
    parts *= WINDOW / FULL_OVERLAP
    parts = parts.reshape(n_segments, n_frames, OVERLAP, HOP)
    signal = np.zeros((n_segments, n_frames + OVERLAP - 1, HOP), np.float32)
    covered = np.zeros((n_segments, n_frames + OVERLAP - 1, OVERLAP), bool)
    for k in range(OVERLAP):
        signal[:, k : k + n_frames] += parts[:, :, k]
        covered[:, k : k + n_frames, k] = True if needed is None else needed
    # Where fewer than four frames overlap, the sum of squared windows is not the constant 1.5.
    partly = np.nonzero(covered.any(axis=2) & ~covered.all(axis=2))
    total = np.einsum("ck,kh->ch", covered[partly].astype(np.float32), WINDOW_SQUARED)
    signal[partly] *= FULL_OVERLAP / np.where(total > SILENT, total, FULL_OVERLAP)
    return signal.reshape(n_segments, -1)


@contextmanager
def short_window(n_samples: int) -> Iterator[dict[str, Any]]:
    """librosa's window arguments for a waveform that may be shorter than a window.

    The published rule: a window of the waveform's own length, but at least 32 samples. librosa's
    warning about the latter is silenced.
    """
    n_fft = N_FFT if n_samples >= N_FFT else max(32, n_samples)
    hop = HOP if n_fft > HOP else n_fft // 4
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="n_fft=.* is too large")
        yield {"n_fft": n_fft, "hop_length": hop}
