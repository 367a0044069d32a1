"""Audio models of transformers: asked in the right order, in batches, and never in silence."""

import pytest

pytest.importorskip("torch", reason="the extra [models] is not installed")
pytest.importorskip("transformers", reason="the extra [models] is not installed")

import numpy as np
import tiny

from otoscope.models.base import Asked, Sound, Status
from otoscope.models.transformers_models import open_transformers
from otoscope.prompts.parts import Clip, Question, Text


def clip(seed=1, seconds=1.0, rate=48000):
    samples = 0.1 * np.random.default_rng(seed).standard_normal(round(seconds * rate))
    return Sound(f"clip-{seed}", samples.astype(np.float32), rate, "")


def ask(*parts, labels=("increase", "decrease")):
    named = tuple(Clip(part.id) if isinstance(part, Sound) else part for part in parts)
    question = Question("q|main", "q", "main", "volume", "volume", named, labels, None, "paper")
    return Asked(question, parts)


def test_a_tiny_model_answers_a_question(tmp_path):
    model = open_transformers(tiny.save(tiny.qwen2_audio(), tmp_path), max_new_tokens=5)
    (answer,) = model.answer([ask(Text("Louder?"), clip())])
    assert answer.status is Status.OK
    assert answer.text
    assert answer.n_tokens_out == 5
