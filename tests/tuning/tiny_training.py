"""A tiny model about to learn a handful of clips of noise, without any dataset."""

from dataclasses import replace

from asking import ask, clip

from otoscope.models.base import Request
from otoscope.models.transformers_models import open_transformers
from otoscope.prompts import ask as words
from otoscope.tuning.adapter import add_adapter
from otoscope.tuning.config import TrainingConfig
from otoscope.tuning.dropout import DropoutContext
from otoscope.tuning.examples import examples_of
from otoscope.tuning.scopes import plan_scope
from otoscope.tuning.whole_model import TrainableModel

LABELS = ("decrease", "increase")


def rows(n, *, per_source=4, split="train"):
    """Columns of `n` rows; labels alternate."""
    return {
        "id": [f"q{i:02d}" for i in range(n)],
        "question_id": [f"q{i:02d}|main" for i in range(n)],
        "clip_id": [f"c{i:02d}" for i in range(n)],
        "category": ["volume"] * n,
        "label": [i % 2 for i in range(n)],
        "label_name": [LABELS[i % 2] for i in range(n)],
        "source_id": [f"s{i // per_source}" for i in range(n)],
        "split": [split] * n,
        "prompt": [words("main", "volume")] * n,
        "audio_sha256": [str(i) for i in range(n)],
    }


def asked(i):
    """The main question about a clip of noise; clips have other lengths."""
    sound = clip(i, seconds=0.5 + 0.1 * (i % 3), rate=16000)
    made = ask(words("main", "volume"), sound, name=f"q{i:02d}")
    return Request(replace(made.question, label=LABELS[i % 2]), made.parts)


def fill(question_id):
    return asked(int(question_id.removeprefix("q").removesuffix("|main")))


def tiny_job(folder, *, n=20, per_source=4, checkpointing=False, **settings):
    """`(trainable, examples, settings, scope)` of a checkpoint."""
    model = open_transformers(str(folder))
    return tiny_job_of(model, n=n, per_source=per_source, checkpointing=checkpointing, **settings)


def tiny_job_of(model, *, n=20, per_source=4, checkpointing=False, **settings):
    """The same of a model that is open."""
    chosen = TrainingConfig(**settings)
    scope = plan_scope(model.loaded.model, model.loaded.family.model_type, chosen.scope)
    tokens = {word: tuple(model.encoder.answer_tokens(asked(0), word)) for word in LABELS}
    answers = [(LABELS[i % 2], tokens[LABELS[i % 2]]) for i in range(n)]
    examples = examples_of(rows(n, per_source=per_source), answers, "source", chosen.seed)
    dropout_context = DropoutContext(chosen.seed)
    tuned = add_adapter(model.loaded.model, scope, chosen, dropout_context)
    trainable = TrainableModel(
        model, tuned, examples, fill, dropout_context, checkpointing=checkpointing
    )
    return trainable, examples, chosen, scope
