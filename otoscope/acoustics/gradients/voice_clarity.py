"""Voice clarity: a low-pass with a raised-cosine edge; clarity rises as the cutoff does."""

from functools import partial

import librosa
import numpy as np
from jaxtyping import Float

from otoscope.acoustics.gradients.base import Changed, Gradient, Profile, controlled, split_at_span
from otoscope.acoustics.loudness import level_gain, match_gain, rms, with_head_tail_levels
from otoscope.acoustics.measures.levels import roll_off
from otoscope.acoustics.segments import crossfade_length, join
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.trajectories import Trajectory
from otoscope.acoustics.vocoder import N_FFT, overlap_add, short_window

LOWEST_HZ = {"low": 5_000.0, "mid": 2_500.0, "high": 1_200.0}
TRANSITION_HZ = 800.0
EDGE_OCTAVES = 1 / 3
WHOLE_HOP = N_FFT // 2
LEVEL_S = 0.1


def mask(
    cutoff_hz: Float[np.ndarray, " n_cutoffs"], frequencies_hz: Float[np.ndarray, " n_bins"]
) -> Float[np.ndarray, "n_cutoffs n_bins"]:
    """Gains from 1 to 0 over the 800 Hz around each cutoff."""
    low = np.maximum(0.0, cutoff_hz - TRANSITION_HZ / 2)[:, None]
    high = (cutoff_hz + TRANSITION_HZ / 2)[:, None]
    way = np.clip((frequencies_hz - low) / (high - low), 0, 1)
    return (0.5 * (1 + np.cos(np.pi * way))).astype(np.float32)


def paper(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Filtered segment by segment, RMS matched to the unfiltered context; head and tail alike."""
    w, rate = channel.fixed, channel.sampling_rate
    s = w.segments
    cutoffs = trajectory.per_segment(len(s))
    bins = np.fft.rfftfreq(N_FFT, 1 / rate)

    def together(long: np.ndarray) -> list[np.ndarray]:
        # all segments at once: STFT times mask, overlap-add, RMS matched over the valid samples
        n_frames = w.spectra.n_frames
        needed = np.arange(n_frames.max()) < n_frames[:, None]
        signal = overlap_add(w.spectra.frames * mask(cutoffs[long], bins)[:, None], needed)
        signal = signal[:, N_FFT // 2 :][:, : w.contexts.shape[1]]
        valid = w.valid[long][:, : signal.shape[1]]
        energy = np.einsum("ij,ij,ij->i", signal, signal, valid, dtype=np.float64)
        gain = match_gain(w.rms[long], np.sqrt(energy / s.context_length[long]))
        first, last = (s.start - s.context_start)[long], (s.end - s.context_start)[long]
        return [row[a:b] * g for row, a, b, g in zip(signal, first, last, gain, strict=True)]

    # contexts shorter than a window, one at a time, with a window of their own
    def alone(context: np.ndarray, i: int) -> np.ndarray:
        first = s.start[i] - s.context_start[i]
        return low_pass(context, float(cutoffs[i]), rate)[first : first + s.end[i] - s.start[i]]

    # outside the span the cutoff stays at its two ends
    head, tail = [
        channel.shared(("low-pass", side, cutoff), partial(low_pass, part, cutoff, rate))
        for side, part, cutoff in (
            ("head", channel.head, trajectory.start),
            ("tail", channel.tail, trajectory.end),
        )
    ]
    return Changed(head, join(w.by_length(together, alone), crossfade_length(rate)), tail)


def low_pass(x: np.ndarray, cutoff_hz: float, sampling_rate: int) -> np.ndarray:
    """A waveform filtered at one cutoff, at its original RMS."""
    if x.size == 0:
        return x
    with short_window(x.size) as sizes:
        bins = librosa.fft_frequencies(sr=sampling_rate, n_fft=sizes["n_fft"])
        spectrum = librosa.stft(x, **sizes) * mask(np.array([cutoff_hz]), bins).T
        filtered = librosa.istft(spectrum, length=x.size, **sizes)
    return filtered * match_gain(rms(x), rms(filtered))


def gliding(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """The whole clip through a low-pass whose cutoff glides in octaves, at its original level.

    The gain is 1 up to the cutoff and 0 from a third of an octave above it. A cutoff at half the
    sampling rate therefore changes nothing.
    """
    rate, n = channel.sampling_rate, channel.samples.size
    spectrum = channel.shared("spectrum", lambda: _spectrum(channel))
    at = np.minimum(np.arange(spectrum.shape[1]) * WHOLE_HOP, n - 1)
    cutoff = trajectory.at(channel.glide(trajectory.curve)[at])
    # time-varying mask on the STFT: raised cosine over EDGE_OCTAVES above each frame's cutoff
    octaves = np.log2(np.maximum(librosa.fft_frequencies(sr=rate, n_fft=N_FFT), 1.0))
    above = (octaves[:, None] - np.log2(cutoff)).astype(np.float32) / np.float32(EDGE_OCTAVES)
    gain = 0.5 + 0.5 * np.cos(np.float32(np.pi) * np.clip(above, 0, 1))
    changed = librosa.istft(spectrum * gain, hop_length=WHOLE_HOP, n_fft=N_FFT, length=n)
    changed *= level_gain(changed, channel.samples, rate, LEVEL_S)
    return split_at_span(with_head_tail_levels(channel, changed), channel.span)


def _spectrum(channel: SourceChannel) -> np.ndarray:
    """Short-time Fourier transform of the whole clip, `(n_bins, n_frames)`."""
    with short_window(N_FFT):
        return librosa.stft(channel.samples, n_fft=N_FFT, hop_length=WHOLE_HOP)


def audible(cutoff_hz: float, sampling_rate: int) -> float:
    """The cutoff that takes effect: none lies above half the sampling rate."""
    return min(cutoff_hz, sampling_rate / 2)


VOICE_CLARITY = Gradient(
    parameter="cutoff (Hz)",
    description="The cutoff of a low-pass filter rises in an up clip, from muffled to clear, and "
    "falls in a down clip.",
    cue=roll_off,
    intended=frozenset({"bandwidth", "high_band_level"}),
    up_ends=lambda tier, sampling_rate, bit_depth: (LOWEST_HZ[tier], sampling_rate / 2),
    profiles={
        "paper": Profile(paper, effective=audible),
        "controlled": controlled(gliding, effective=audible, in_octaves=True),
    },
    unavoidable={
        **dict.fromkeys(
            ("noise_floor", "snr"),
            "a low-pass empties the spectrum, and the floor is its emptiest tenth",
        ),
        "reverberance": "the envelope's valleys are deepest in bands that a low-pass empties",
    },
)
