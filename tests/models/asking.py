"""Questions and clips of noise, as an audit would hand them over."""

import numpy as np

from otoscope.models.base import AudioInput, Request
from otoscope.prompts.parts import Clip, Question, Text


def clip(seed=1, seconds=1.0, rate=48000):
    samples = 0.1 * np.random.default_rng(seed).standard_normal(round(seconds * rate))
    return AudioInput(f"clip-{seed}", samples.astype(np.float32), rate, "")


def silence(seconds=1.0, rate=48000):
    return AudioInput("silence", np.zeros(round(seconds * rate), np.float32), rate, "")


def ask(*parts, labels=("increase", "decrease"), name="q", parser="paper"):
    """A question about parts that are words or clips."""
    parts = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    named = tuple(Clip(part.id) if isinstance(part, AudioInput) else part for part in parts)
    question = Question(
        f"{name}|main", name, "main", named, labels, parser=parser, category="volume"
    )
    return Request(question, parts)
