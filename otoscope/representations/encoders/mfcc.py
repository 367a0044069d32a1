"""Classical features of a whole clip: cepstra, spectrum, energy and pitch; no network, no torch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from otoscope.models.base import AudioInput
from otoscope.representations.encoders.base import Frames, Pooling, takes_no_name, waveforms

N_MFCC = 20
N_FFT, HOP = 1024, 256
PITCH_HZ = (65.0, 600.0)
TRACKS = ("centroid", "bandwidth", "rolloff", "flatness", "zero_crossings", "level_db", "pitch_st")
WIDTH = 2 * (2 * N_MFCC + len(TRACKS)) + 2


class MfccEncoder:
    """Mean and standard deviation of 20 MFCCs, their changes and seven tracks, and two numbers.

    The two are the length in seconds, as a logarithm, and the slope of level over the clip in dB.
    """

    pooling: Pooling = "mean"
    max_audio_s: float | None = None
    sampling_rate: int = 16_000

    def __init__(self) -> None:
        """Has no settings."""
        self.layers: Mapping[str, int] = {"mfcc": WIDTH}
        self.batch_size = 8
        self.description: Mapping[str, Any] = {"kind": "mfcc", "name": "mfcc", "revision": "1"}

    def frames(self, clips: Sequence[AudioInput]) -> list[Frames]:
        """One frame, that of the whole clip."""
        waves = waveforms(clips, self.sampling_rate)
        return [{"mfcc": _features(wave, self.sampling_rate)[None]} for wave in waves]


def _features(wave: np.ndarray, rate: int) -> np.ndarray:
    import librosa

    padded = np.pad(wave, (0, max(0, N_FFT - len(wave))))
    spectrum = np.abs(librosa.stft(padded, n_fft=N_FFT, hop_length=HOP))
    power = librosa.feature.melspectrogram(S=spectrum**2, sr=rate, n_mels=64)
    mfcc = librosa.feature.mfcc(S=librosa.power_to_db(power, top_db=None), n_mfcc=N_MFCC)
    width = min(9, mfcc.shape[1] - (mfcc.shape[1] + 1) % 2)
    change = librosa.feature.delta(mfcc, width=width) if width >= 3 else np.zeros_like(mfcc)
    level = 10 * np.log10(
        np.maximum(librosa.feature.rms(S=spectrum, frame_length=N_FFT)[0] ** 2, 1e-10)
    )
    tracks = [
        librosa.feature.spectral_centroid(S=spectrum, sr=rate)[0] / 1000,
        librosa.feature.spectral_bandwidth(S=spectrum, sr=rate)[0] / 1000,
        librosa.feature.spectral_rolloff(S=spectrum, sr=rate)[0] / 1000,
        np.log10(librosa.feature.spectral_flatness(S=spectrum)[0]),
        librosa.feature.zero_crossing_rate(padded, frame_length=N_FFT, hop_length=HOP)[0],
        level,
        _pitch_st(padded, rate),
    ]
    statistics = [f(track, axis=-1) for track in (mfcc, change, *tracks) for f in (np.mean, np.std)]
    slope = np.polyfit(np.linspace(0, 1, len(level)), level, 1)[0] if len(level) > 1 else 0.0
    whole = [np.log(len(wave) / rate), slope]
    return np.concatenate([np.ravel(part) for part in (*statistics, whole)]).astype(np.float32)


def _pitch_st(wave: np.ndarray, rate: int) -> np.ndarray:
    """Pitch in semitones re 100 Hz, by YIN; a clip too short for it has 0."""
    import librosa

    low, high = PITCH_HZ
    try:
        pitch = librosa.yin(wave, fmin=low, fmax=high, sr=rate, frame_length=N_FFT, hop_length=HOP)
    except librosa.ParameterError:
        return np.zeros(1)
    return 12 * np.log2(pitch / 100)


def open_mfcc(name: str | None, revision: str | None) -> MfccEncoder:
    """The classical features."""
    takes_no_name("mfcc", name, revision)
    return MfccEncoder()
