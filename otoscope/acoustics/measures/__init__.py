"""Acoustic measures of a clip, from its samples alone.

A measure is a track over the span of speech: a value for each window, NaN where a window cannot be
measured, and no windows where the span is too short. Several channels are averaged first. Rates
from 8 to 48 kHz.

To add a measure: write it in the file of its family, then name it below.
"""

from typing import NamedTuple

import numpy as np

from otoscope.acoustics.measures.base import Measure as Measure
from otoscope.acoustics.measures.base import Samples, decibels, speech_of
from otoscope.acoustics.measures.base import Track as Track
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


def duration_s(sampling_rate: int, span: Span) -> float:
    """Length of the span in seconds.

    >>> duration_s(8000, Span(800, 4800))
    0.5
    """
    return (span[1] - span[0]) / sampling_rate


class HeadTailLevels(NamedTuple):
    """Levels before and after the span in dB re full scale; NaN where there is no signal."""

    head_db: float
    tail_db: float


def head_tail_levels(samples: Samples, sampling_rate: int, span: Span) -> HeadTailLevels:
    """Levels of head and tail; NaN for one that is absent or silent.

    Raises:
        AudioError: As for every measure.
    """
    speech_of(samples, sampling_rate, span)
    return HeadTailLevels(
        _level_of(samples, sampling_rate, Span(0, span[0])),
        _level_of(samples, sampling_rate, Span(span[1], samples.shape[-1])),
    )


def _level_of(samples: Samples, sampling_rate: int, stretch: Span) -> float:
    if stretch.start == stretch.end:
        return float("nan")
    power = np.mean(speech_of(samples, sampling_rate, stretch) ** 2, keepdims=True)
    return float(decibels(power)[0])
