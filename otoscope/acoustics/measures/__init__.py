"""Acoustic measures of a clip, from its samples alone.

A measure is a track over the span of speech: a value for each window, NaN where a window cannot be
measured, and no windows where the span is too short. Several channels are averaged first. Rates
from 8 to 48 kHz. Measures of one `ClipAnalysis` share its spectra.

To add a measure: write it in the file of its family, then name it below.
"""

import numpy as np

from otoscope.acoustics.measures.analysis import ClipAnalysis as ClipAnalysis
from otoscope.acoustics.measures.analysis import Measure as Measure
from otoscope.acoustics.measures.base import Track as Track
from otoscope.acoustics.measures.base import decibels, speech_of
from otoscope.acoustics.measures.envelope import modulation, reverberance
from otoscope.acoustics.measures.levels import (
    bandwidth,
    high_band_level,
    level,
    noise_floor,
    snr,
)
from otoscope.acoustics.measures.pcm import quantisation_step, sample_hold
from otoscope.acoustics.measures.voice import pitch, tempo
from otoscope.acoustics.spans import Span
from otoscope.registry import Registry

MEASURES: Registry[Measure] = Registry(
    "measure",
    {
        "level": level,
        "tempo": tempo,
        "pitch": pitch,
        "noise_floor": noise_floor,
        "snr": snr,
        "holding": sample_hold,
        "quantisation_step": quantisation_step,
        "bandwidth": bandwidth,
        "high_band_level": high_band_level,
        "modulation": modulation,
        "reverberance": reverberance,
    },
)


def head_tail_levels(clip: ClipAnalysis) -> tuple[float, float]:
    """Levels of head and tail in dB re full scale; NaN for one that is absent or silent.

    Raises:
        AudioError: Samples that are not finite.
    """
    power = [
        np.mean(speech_of(clip.samples, clip.sampling_rate, part) ** 2)
        if part.end > part.start
        else 0.0
        for part in (Span(0, clip.span[0]), Span(clip.span[1], clip.samples.shape[-1]))
    ]
    head_db, tail_db = decibels(np.array(power)).tolist()
    return head_db, tail_db
