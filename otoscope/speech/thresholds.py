"""Whisper's thresholds: which texts are silence, and which are in doubt.

The published code decodes again at higher temperatures where one is crossed. Here nothing is drawn,
so that a transcript is repeatable, and the crossing is reported.

Source: A. Radford et al. (2023), Robust speech recognition via large-scale weak supervision,
section 4.5.
"""

import zlib
from typing import NamedTuple

import numpy as np

from otoscope.speech.recognition import Transcript, Word

NO_SPEECH, LOW_LOGPROB, REPETITIVE = 0.6, -1.0, 2.4
"""A text is silence with more than the first and less than the second; the last marks loops."""


class DecodedSpeech(NamedTuple):
    """What a recogniser generated for one clip.

    Attributes:
        text: As it stands.
        logs: Log-probability of each token, in nats.
        no_speech: Probability.
        is_truncated: It reached the limit on tokens.
        words: With times, or None.
    """

    text: str
    logs: list[float]
    no_speech: float
    is_truncated: bool
    language: str
    words: list[Word] | None


def transcript_of(found: DecodedSpeech, duration_s: float, wall_s: float) -> Transcript:
    """Text, and the thresholds that it crosses.

    Args:
        duration_s: Of the clip.
        wall_s: Seconds that it took.
    """
    average = float(np.mean(found.logs)) if found.logs else 0.0
    ratio = compression_ratio(found.text)
    crossed = {
        "no_speech": found.no_speech > NO_SPEECH,
        "low_logprob": average < LOW_LOGPROB,
        "repetitive": ratio > REPETITIVE,
        "truncated": found.is_truncated,
    }
    is_silence = crossed["no_speech"] and crossed["low_logprob"]
    words = None if found.words is None else () if is_silence else tuple(found.words)
    return Transcript(
        text="" if is_silence else found.text,
        raw_text=found.text,
        avg_logprob=average,
        no_speech_prob=found.no_speech,
        compression_ratio=ratio,
        flags=tuple(name for name, is_so in crossed.items() if is_so),
        n_tokens=len(found.logs),
        language=found.language,
        duration_s=duration_s,
        wall_s=wall_s,
        words=words,
    )


def compression_ratio(text: str) -> float:
    """Bytes of a text over those of its zlib compression.

    >>> compression_ratio("no " * 100) > 10
    True
    """
    data = text.encode()
    return len(data) / len(zlib.compress(data))
