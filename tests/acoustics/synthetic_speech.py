"""A signal shaped like speech, so that most tests need no recording."""

import numpy as np
from scipy import signal

FORMANTS_HZ = ((700, 90), (1200, 110), (2600, 160), (3400, 250))


def speech_like(sampling_rate, duration_s=1.2, seed=0):
    """Gliding harmonics through formants in syllables, a hiss under all; `(n_samples,)` float32."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(duration_s * sampling_rate)) / sampling_rate
    f0 = 120 + 25 * np.sin(2 * np.pi * 0.9 * t)
    phase = 2 * np.pi * np.cumsum(f0) / sampling_rate
    n_harmonics = int(0.45 * sampling_rate / f0.max())
    voice = sum(np.cos(k * phase) / k for k in range(1, n_harmonics + 1))
    for centre, width in FORMANTS_HZ:
        if centre < 0.45 * sampling_rate:
            numerator, denominator = signal.iirpeak(centre, centre / width, fs=sampling_rate)
            voice = voice + 3 * signal.lfilter(numerator, denominator, voice)
    syllables = np.clip(np.sin(2 * np.pi * 4 * t), 0, None) ** 0.7
    inside = (t > 0.25) & (t < duration_s - 0.15)
    sound = voice * syllables * inside
    sound *= 0.7 / np.abs(sound).max()
    return (sound + 3e-4 * rng.standard_normal(t.size)).astype(np.float32)


def speech_pcm(sampling_rate, duration_s=1.2, seed=0):
    """The same as 16-bit PCM, `(1, n_samples)`."""
    samples = speech_like(sampling_rate, duration_s, seed)
    return np.rint(samples * 32767).astype(np.int16)[None]
