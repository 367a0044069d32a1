"""A tiny model and a handful of clips of noise to train on, without any dataset."""

from dataclasses import replace

from asking import ask, clip

from otoscope.models.base import Request
from otoscope.models.transformers_models import open_transformers
from otoscope.prompts import prompt_text as words
from otoscope.tuning.adapted_layers import plan_scope
from otoscope.tuning.adapter import add_adapter
from otoscope.tuning.config import TrainingConfig
from otoscope.tuning.dropout import DropoutContext
from otoscope.tuning.examples import examples_of
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


def request(i):
    """The main question about a clip of noise; clips have other lengths."""
    sound = clip(i, seconds=0.5 + 0.1 * (i % 3), rate=16000)
    made = ask(words("main", "volume"), sound, name=f"q{i:02d}")
    return Request(replace(made.question, label=LABELS[i % 2]), made.parts)


def fill(question_id):
    return request(int(question_id.removeprefix("q").removesuffix("|main")))


def tiny_job(folder, **options):
    """`(trainable, examples, config, layers)` of a checkpoint."""
    return tiny_job_of(open_transformers(str(folder)), **options)


def tiny_job_of(model, *, n=20, per_source=4, checkpointing=False, clips_per_pass=16, **config):
    """The same of a model that is open."""
    chosen = TrainingConfig(**config)
    layers = plan_scope(model.loaded.model, model.loaded.family.model_type, chosen.scope)
    tokens = {label: tuple(model.encoder.answer_tokens(request(0), label)) for label in LABELS}
    answers = [(LABELS[i % 2], tokens[LABELS[i % 2]]) for i in range(n)]
    examples = examples_of(rows(n, per_source=per_source), answers, "source", chosen.seed)
    dropout = DropoutContext(chosen.seed, reproducible=chosen.reproducible)
    tuned = add_adapter(model.loaded.model, layers, chosen, dropout)
    trainable = TrainableModel(
        model, tuned, examples, fill, dropout,
        clips_per_pass=clips_per_pass, checkpointing=checkpointing,
    )  # fmt: skip
    return trainable, examples, chosen, layers
