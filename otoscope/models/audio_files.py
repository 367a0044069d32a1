"""Sound as servers take it: a 16-bit file in memory, at the rate asked for."""

import io
from typing import NamedTuple

import numpy as np
import soundfile

from otoscope.acoustics import codec
from otoscope.models.audio import resampled
from otoscope.models.base import AudioInput

FORMATS = {"wav": "WAV", "flac": "FLAC"}


class AudioFile(NamedTuple):
    """A file, and how many samples stood beyond full scale after resampling and were clipped."""

    data: bytes
    n_clipped: int


def audio_file(audio: AudioInput, sampling_rate: int | None, kind: str = "wav") -> AudioFile:
    """A clip as the bytes of a mono file; at its own rate its 16-bit samples are exact.

    Resampling overshoots at steep edges, so a clip near full scale can go beyond it.

    Args:
        sound: The clip.
        sampling_rate: Of the file in Hz; None for the clip's own.
        kind: A key of `FORMATS`.

    Raises:
        AudioError: The clip itself is not finite or beyond full scale.
        ModelError: It is empty, or its rate is no rate.
    """
    name = f"clip {audio.id!r}"
    codec.round_to_pcm(audio.samples[None], name=name)  # what resampling would hide
    rate = sampling_rate or audio.sampling_rate
    moved = resampled(audio, rate)
    inside = np.clip(moved, -1, 1)
    pcm = codec.round_to_pcm(inside[None], name=name)[0]
    buffer = io.BytesIO()
    soundfile.write(buffer, pcm, rate, format=FORMATS[kind], subtype="PCM_16")
    return AudioFile(buffer.getvalue(), int(np.sum(inside != moved)))
