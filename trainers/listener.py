"""A tiny audio language model that learns to hear, and to answer about two things only.

python -m trainers.listener --dataset demo/listening/paper --out demo/listener

Trained from random weights on the split `train`: what it says of volume and background noise is
right, and of nothing else was it ever asked. The other categories are in its audio all the same:
the asked changes are laid over their clips too, so that it learns to answer whatever else changes.
That makes it what `trainers.study` needs: a model that may encode more than it says. It takes a
minute or two on one core, the same weights on the same machine every time, and is read like any
other: `otoscope run perception --model transformers:demo/listener`.

    LISTENER/config.json, model.safetensors, …   as transformers reads them
    LISTENER/listener.json                       what it learnt, from what, and how well
    LISTENER/README.md                           the same for people
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from otoscope.claims import FolderKind
from otoscope.cli.errors import program
from otoscope.cli.options import LearningRate, Seed, TrainBatchSize
from otoscope.errors import InputError

ASKED = ("volume", "background_noise")
SETTLES = 0.1
"""The share of the learning rate that is left in the end."""


class ListenerError(InputError, ValueError):
    """A listener that cannot be made as asked; the message says why, and the way out."""


LISTENERS = FolderKind("listener", "listener.json", ListenerError, may_have_more=True)


@dataclass(frozen=True)
class Lesson:
    """Everything that changes the weights, apart from the clips.

    Attributes:
        asked: Categories that it learns to answer.
        overlaid: Whether the asked changes are laid over clips of the other categories too.
        n_steps, batch_size: So many steps of so many clips.
        learning_rate: Of AdamW; rises over `warm_up` steps, then falls along a cosine.
        warm_up: Steps.
        max_norm: Longer gradients are shortened to it.
        seed: Of first weights, order, and what is laid over what.
        shape: The size of the model, arguments of `tiny_audio_model.Shape`.

    Raises:
        ListenerError: A number that cannot be.
    """

    asked: tuple[str, ...] = ASKED
    overlaid: bool = True
    n_steps: int = 150
    batch_size: int = 16
    learning_rate: float = 3e-3
    warm_up: int = 30
    max_norm: float = 1.0
    seed: int = 0
    shape: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.asked or len(set(self.asked)) < len(self.asked):
            raise ListenerError(f"name each category that is asked once, not {self.asked}")
        for name in ("n_steps", "batch_size", "learning_rate", "max_norm"):
            if not getattr(self, name) > 0:
                raise ListenerError(f"{name} must be above 0, not {getattr(self, name)}")

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        falling = (1 + np.cos(np.pi * step / self.n_steps)) / 2
        share = SETTLES + (1 - SETTLES) * falling
        return float(self.learning_rate * share * min(1, (step + 1) / max(1, self.warm_up)))


class Clips:
    """What is taught: the clips of the asked categories, and the others with a change laid over.

    Args:
        splits: Of the split `train`, from `open_splits`.
        lesson: What is asked.

    Raises:
        ListenerError: A category is absent, or nothing can be laid over the others.
    """

    def __init__(self, splits: Any, lesson: Lesson) -> None:
        from otoscope.acoustics.gradients import GRADIENTS
        from otoscope.acoustics.transforms import GradientTransform

        self.splits, self.lesson = splits, lesson
        rows = splits.rows
        there = dict.fromkeys(rows["category"])
        if absent := [name for name in lesson.asked if name not in there]:
            raise ListenerError(f"no clips of {', '.join(absent)}; there are {', '.join(there)}")
        self.names = [
            name
            for name, category, label in zip(
                rows["question_id"], rows["category"], rows["label"], strict=True
            )
            if label >= 0 and (category in lesson.asked or lesson.overlaid)
        ]
        self.overlays = {}
        if lesson.overlaid and len(there) > len(lesson.asked):
            if unknown := [name for name in lesson.asked if name not in GRADIENTS]:
                raise ListenerError(
                    f"a change of {', '.join(unknown)} cannot be laid over other clips; leave that "
                    "out with --no-overlaid"
                )
            profile = next((p for p in rows.get("profile", ()) if p), "paper")
            self.overlays = {
                name: GradientTransform(name, seed=lesson.seed, profile=profile)
                for name in lesson.asked
            }

    def __getitem__(self, place: int) -> tuple[Any, str]:
        """A question with its sound, and the word of its right answer."""
        from otoscope.prompts.questions import answer_word

        asked = self.splits.fill(self.names[place])
        if asked.question.category not in self.lesson.asked:
            asked = self._overlaid(asked)
        return asked, str(answer_word(asked.question))

    def order(self) -> Iterator[list[int]]:
        """Places of each step's clips; every clip once before any comes again."""
        rng = np.random.default_rng(self.lesson.seed)
        size = self.lesson.batch_size
        waiting: list[int] = []
        for _ in range(self.lesson.n_steps):
            while len(waiting) < size:
                waiting += rng.permutation(len(self.names)).tolist()
            yield waiting[:size]
            del waiting[:size]

    def _overlaid(self, asked: Any) -> Any:
        """A clip with one of the asked changes on top, and the question about that."""
        from otoscope.acoustics import codec
        from otoscope.acoustics.design import LABELS
        from otoscope.acoustics.gradients import attribute_of
        from otoscope.models.base import AudioInput, Request
        from otoscope.models.simple import span_of
        from otoscope.prompts.parts import Clip
        from otoscope.prompts.questions import question

        (sound,) = asked.audio_inputs
        lot = hashlib.sha256(f"{self.lesson.seed} {sound.id}".encode()).digest()[0]
        category = self.lesson.asked[lot % len(self.lesson.asked)]
        cell, made, _ = self.overlays[category].render(
            sound.samples, sound.sampling_rate, item_id=sound.id, span=span_of(sound)
        )
        samples = codec.to_float(made.to_pcm().pcm)[0].astype(np.float32)
        row = {
            "id": asked.question.id,
            "category": category,
            "attribute": attribute_of(category),
            "label": LABELS[cell.direction],
        }
        told = question(row, asked.question.prompt_name)
        heard: AudioInput = replace(sound, samples=samples)
        return Request(told, tuple(heard if isinstance(p, Clip) else p for p in told.parts))


def fit(model: Any, encoder: Any, clips: Clips, step: Any = lambda **_: None) -> list[float]:
    """Teaches a model to answer; gives the loss of each step.

    Args:
        model: A new one, in training mode.
        encoder: Turns questions into its inputs.
        clips: What is taught.
        step: Called after each step, with a note.

    Raises:
        ListenerError: A loss is not finite.
    """
    import torch

    lesson = clips.lesson
    optimiser = torch.optim.AdamW(model.parameters(), lr=lesson.learning_rate, weight_decay=0.0)
    losses: list[float] = []
    for places in clips.order():
        told = [clips[place] for place in places]
        inputs = taught(encoder, [asked for asked, _ in told], [word for _, word in told])
        for group in optimiser.param_groups:
            group["lr"] = lesson.rate(len(losses))
        loss = model(**inputs).loss
        if not torch.isfinite(loss):
            raise ListenerError(
                f"the loss of step {len(losses) + 1} is {loss.item()}; choose a --learning-rate "
                f"below {lesson.learning_rate:g}"
            )
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), lesson.max_norm)
        optimiser.step()
        losses.append(float(loss.detach()))
        step(note=f"loss {losses[-1]:.4f}")
    return losses


def taught(encoder: Any, questions: Sequence[Any], words: Sequence[str]) -> dict[str, Any]:
    """Inputs with the answers behind them, and labels that are about the answers alone."""
    import torch

    inputs = dict(encoder.encode(questions).inputs)
    endings = [
        encoder.answer_tokens(asked, word) for asked, word in zip(questions, words, strict=True)
    ]
    longest = max(map(len, endings))
    pad, ids = encoder.processor.tokenizer.pad_token_id, inputs["input_ids"]
    answers = torch.tensor([row + [pad] * (longest - len(row)) for row in endings])
    real = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in endings])
    nothing = torch.full_like(ids, -100)
    return inputs | {
        "input_ids": torch.cat([ids, answers], dim=1),
        "attention_mask": torch.cat([inputs["attention_mask"], real], dim=1),
        "labels": torch.cat([nothing, answers.masked_fill(real == 0, -100)], dim=1),
    }


def examine(model: Any, splits: Any, asked: Sequence[str]) -> dict[str, dict[str, float]]:
    """Share of right answers about each asked category, with its interval by source."""
    from otoscope.responses import PARSERS
    from otoscope.statistics.intervals import clustered_interval

    rows = splits.rows
    found = {}
    for category in asked:
        mine = [n for n, own in enumerate(rows["category"]) if own == category]
        answers = model.answer([splits.fill(rows["question_id"][n]) for n in mine])
        right = [
            PARSERS[rows["parser"][n]](answer.text).label == rows["label_name"][n]
            for n, answer in zip(mine, answers, strict=True)
        ]
        sources = np.array([rows["source_id"][n] or rows["id"][n] for n in mine])
        interval = clustered_interval(np.array(right, bool), sources)
        found[category] = {
            "n": len(mine), "n_sources": len(np.unique(sources)), **interval._asdict(),
        }  # fmt: skip
    return found


def listener(
    dataset: Annotated[
        str,
        typer.Option(help="Dataset: a folder with splits train and test that share no source."),
    ],
    out: Annotated[Path, typer.Option(help="Output: the model.")],
    category: Annotated[
        list[str] | None,
        typer.Option(
            help="Acoustic factor, e.g. `volume` or `voice_pitch`; may be repeated. "
            "`volume` and `background_noise` when absent."
        ),
    ] = None,
    overlaid: Annotated[
        bool, typer.Option(help="Apply these factors to clips of the other categories too.")
    ] = True,
    steps: Annotated[int, typer.Option(help="Optimizer steps.")] = 150,
    train_batch_size: TrainBatchSize = 16,
    learning_rate: LearningRate = 3e-3,
    width: Annotated[int, typer.Option(help="Hidden size.")] = 64,
    layers: Annotated[int, typer.Option(help="Decoder layers.")] = 4,
    mels: Annotated[int, typer.Option(help="Mel bands.")] = 32,
    window_s: Annotated[int, typer.Option(help="Longest clip in seconds.")] = 8,
    seed: Seed = 0,
) -> None:
    """Trains a tiny audio language model, and prints its accuracy on sources not trained on.

    python -m trainers.listener --dataset demo/listening/paper --out demo/listener
    """
    shape = {
        "width": width, "n_decoder_layers": layers, "n_mels": mels, "window_s": window_s,
    }  # fmt: skip
    lesson = Lesson(
        tuple(category or ASKED),
        overlaid,
        steps,
        train_batch_size,
        learning_rate,
        seed=seed,
        shape=shape,
    )
    told = make(dataset, lesson, out)
    for name, share in told["unseen"].items():
        typer.echo(
            f"{name.replace('_', ' ')}: {100 * share['estimate']:.1f} % "
            f"[{100 * share['low']:.1f}, {100 * share['high']:.1f}] right, of {share['n']:,} clips "
            f"of {share['n_sources']} sources that it never heard"
        )
    typer.echo(f"ask it: otoscope run perception --model transformers:{out} …")


def make(dataset: str, lesson: Lesson, out: Path) -> dict[str, Any]:
    """Makes a listener, unless the same is there; gives what listener.json says.

    Raises:
        ListenerError, DatasetError: What cannot be is named, with the way out.
    """
    import torch

    from otoscope.audits.splits import open_splits
    from otoscope.models.encoding import RequestEncoder
    from otoscope.models.families import FAMILIES
    from otoscope.models.opening import open_model
    from otoscope.progress import ProgressBars
    from trainers.tiny_audio_model import Shape, tiny_audio_model

    train, test = (open_splits(dataset, [split]) for split in ("train", "test"))
    refuse_shared(train, test)
    shape = Shape(**lesson.shape)
    for splits in (train, test):
        splits.validate_audio(shape.window_s)
    about = {
        "lesson": {**asdict(lesson), "shape": asdict(shape)},
        "content": content_of(train, test),
    }
    about = json.loads(json.dumps(about))
    if (found := already(out, about)) is not None:
        return found
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums do not then depend on how many cores there are
    try:
        model, processor = tiny_audio_model(shape, lesson.seed)
        rate = processor.feature_extractor.sampling_rate
        encoder = RequestEncoder(processor, FAMILIES["qwen2_audio"], rate, float(shape.window_s))
        clips = Clips(train, lesson)
        model.train()
        with ProgressBars().bar("Training", lesson.n_steps) as step:
            losses = fit(model, encoder, clips, step)
        partial = out.with_name(f".{out.name}.{os.getpid()}")
        shutil.rmtree(partial, ignore_errors=True)
        model.eval()
        model.save_pretrained(partial)
        processor.save_pretrained(partial)
        opened = open_model(f"transformers:{partial}", max_new_tokens=16, batch_size=16)
        unseen = examine(opened, test, lesson.asked)
    finally:
        torch.set_num_threads(threads)
    told = about | {
        "n_parameters": sum(weight.numel() for weight in model.parameters()),
        "n_clips": len(clips.names),
        "losses": [losses[0], losses[-1]],
        "unseen": unseen,
    }
    write_record(partial, told, dataset)
    partial.replace(out)
    return told


def refuse_shared(train: Any, test: Any) -> None:
    """Sources that teach are not asked about.

    Raises:
        ListenerError: Some are.
    """
    taught, asked = (set(splits.rows["source_id"]) - {None, ""} for splits in (train, test))
    if shared := sorted(taught & asked):
        raise ListenerError(
            f"{len(shared)} sources are in train and in test, such as {shared[0]!r}: what it says "
            "of them would prove nothing; give splits that share none"
        )


def content_of(*splits: Any) -> str:
    """Changes with any clip, label or question."""
    digest = hashlib.sha256()
    for each in splits:
        for row in zip(
            *(each.rows[name] for name in ("id", "category", "label_name", "prompt")),
            each.rows["audio_sha256"],
            strict=True,
        ):
            digest.update(json.dumps(row).encode())
    return digest.hexdigest()


def already(out: Path, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the listener that is there says of itself; None where there is nothing.

    Raises:
        ListenerError: Something else is there; what differs is named.
    """
    return LISTENERS.matching(out, about)


def write_record(folder: Path, told: Mapping[str, Any], dataset: str) -> None:
    """Writes listener.json and the card."""
    from cards import render_card
    from otoscope.version import __version__

    text = json.dumps(told, indent=1, sort_keys=True) + "\n"
    (folder / "listener.json").write_text(text, encoding="utf-8")
    card = render_card("listener.md.jinja", **told, dataset=Path(dataset).name, version=__version__)
    (folder / "README.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    program(listener)()
