"""A clip's mel spectrogram, pooled: the audio before any model has processed it.

Source: VocalGrad, section 5.1; the settings and the reference of the decibels are in the
authors' code.
"""

import numpy as np
from jaxtyping import Float

from otoscope.models.base import AudioInput, ModelError
from otoscope.representations.pooling import N_SEGMENTS, pooled

SAMPLING_RATE = 16_000
N_MELS = 128
WIDTH = N_SEGMENTS * N_MELS


def mel_features(audio: AudioInput) -> Float[np.ndarray, " width"]:
    """16 segments of 128 bands, in dB relative to the clip's maximum, no lower than -80.

    Raises:
        ModelError: The clip has no samples.
    """
    import librosa

    if not len(audio.samples):
        raise ModelError(f"clip {audio.id!r} has no samples")
    samples = librosa.resample(
        np.asarray(audio.samples, np.float32),
        orig_sr=audio.sampling_rate,
        target_sr=SAMPLING_RATE,
    )
    power = librosa.feature.melspectrogram(
        y=samples, sr=SAMPLING_RATE, n_fft=1024, hop_length=256, win_length=1024, n_mels=N_MELS,
        fmin=0, fmax=8000, power=2.0,
    )  # fmt: skip
    return pooled(librosa.power_to_db(power, ref=np.max).T)
