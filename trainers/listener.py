"""A tiny audio language model, trained from random weights to answer about two categories only.

python -m trainers.listener --dataset demo/listening/paper --out demo/listener

It is trained on the split `train`, on volume and background noise. Their changes are applied to
clips of the other categories too, so that it answers correctly whatever else changes. It was never
trained to answer about the other categories, whose changes are in its audio all the same: that is
what `trainers.study` needs, a model from which more can be decoded than it answers. Training takes
a minute or two on one core and gives the same weights on the same machine every time. It is used
like any other: `otoscope run perception --model transformers:demo/listener`.

    LISTENER/config.json, model.safetensors, …   as transformers reads them
    LISTENER/listener.json                       config, training data and accuracy
    LISTENER/README.md                           its card
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from otoscope.claims import FolderKind
from otoscope.cli.errors import program
from otoscope.cli.options import LearningRate, Seed, TrainBatchSize
from trainers.listener_data import CATEGORIES, ListenerClips, ListenerConfig, ListenerError

LISTENERS = FolderKind("listener", "listener.json", ListenerError, may_have_more=True)


def fit(model: Any, encoder: Any, clips: ListenerClips, step: Any) -> list[float]:
    """Trains a model to answer; gives the loss of each step.

    Args:
        model: In training mode.
        encoder: Turns requests into its inputs.
        clips: The training data.
        step: Called after each step, with a note.

    Raises:
        ListenerError: A loss is not finite.
    """
    import torch

    config = clips.config
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=0.0)
    losses: list[float] = []
    for indices in clips.order():
        inputs = training_inputs(encoder, [clips[index] for index in indices])
        for group in optimizer.param_groups:
            group["lr"] = config.rate(len(losses))
        loss = model(**inputs).loss
        if not torch.isfinite(loss):
            raise ListenerError(
                f"the loss of step {len(losses) + 1} is {loss.item()}; choose a --learning-rate "
                f"below {config.learning_rate:g}"
            )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.max_norm)
        optimizer.step()
        losses.append(float(loss.detach()))
        step(note=f"loss {losses[-1]:.4f}")
    return losses


def training_inputs(encoder: Any, examples: Sequence[tuple[Any, str]]) -> dict[str, Any]:
    """Inputs with the right answers appended; labels are of the answers' tokens alone."""
    import torch

    from otoscope.models.decoding import append_tokens

    questions = encoder.encode([request for request, _ in examples]).inputs
    answers = [encoder.answer_tokens(request, answer) for request, answer in examples]
    inputs = append_tokens(questions, answers, encoder.processor.tokenizer)
    answered = torch.zeros_like(inputs["input_ids"], dtype=torch.bool)
    answered[:, questions["input_ids"].shape[1] :] = True
    ignored = ~answered | (inputs["attention_mask"] == 0)
    return inputs | {"labels": inputs["input_ids"].masked_fill(ignored, -100)}


def accuracy(model: Any, splits: Any, categories: Sequence[str]) -> dict[str, dict[str, float]]:
    """Share of right answers in each category, with its interval by source."""
    from otoscope.reports.scoring import score
    from otoscope.statistics.intervals import clustered_interval

    rows = splits.rows
    found = {}
    for category in categories:
        mine = [n for n, own in enumerate(rows["category"]) if own == category]
        answers = model.answer([splits.fill(rows["question_id"][n]) for n in mine])
        scored = score({
            "status": [answer.status.value for answer in answers],
            "text": [answer.text for answer in answers],
            "parser": [rows["parser"][n] for n in mine],
            "label": [rows["label_name"][n] for n in mine],
        })  # fmt: skip
        sources = np.array([rows["source_id"][n] or rows["id"][n] for n in mine])
        interval = clustered_interval((scored["outcome"] == "correct").to_numpy(bool), sources)
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
    from otoscope.reports.terminal import shell_word

    config = ListenerConfig(
        tuple(category or CATEGORIES), overlaid, steps, train_batch_size, learning_rate, seed=seed,
        size={"width": width, "n_decoder_layers": layers, "n_mels": mels, "window_s": window_s},
    )  # fmt: skip
    about = train_listener(dataset, config, out)
    for name, share in about["unseen"].items():
        typer.echo(
            f"{name.replace('_', ' ')}: {100 * share['estimate']:.1f} % "
            f"[{100 * share['low']:.1f}, {100 * share['high']:.1f}] right, of {share['n']:,} clips "
            f"of {share['n_sources']} sources not trained on"
        )
    typer.echo(
        f"next: otoscope run perception --dataset {shell_word(dataset)} "
        f"--model {shell_word(f'transformers:{out}')} --out runs/listener"
    )


def train_listener(dataset: str, config: ListenerConfig, out: Path) -> dict[str, Any]:
    """Trains a listener, unless the same is there; gives the content of listener.json.

    Raises:
        ListenerError, DatasetError: What is missing or wrong is named, with the way out.
    """
    import torch

    from otoscope.audits.splits import open_splits
    from otoscope.models.encoding import RequestEncoder
    from otoscope.models.families import FAMILIES
    from otoscope.models.opening import open_model
    from otoscope.progress import ProgressBars
    from trainers.tiny_audio_model import TinyModelSize, tiny_audio_model

    train, test = (open_splits(dataset, [split]) for split in ("train", "test"))
    validate_no_shared_source(train, test)
    size = TinyModelSize(**config.size)
    for splits in (train, test):
        splits.validate_audio(size.window_s)
    about = LISTENERS.plain(
        {"lesson": config.record() | {"shape": asdict(size)}, "content": content_hash(train, test)}
    )
    if (found := LISTENERS.matching(out, about)) is not None:
        return found
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums then do not depend on the number of cores
    try:
        model, processor = tiny_audio_model(size, config.seed)
        rate = processor.feature_extractor.sampling_rate
        encoder = RequestEncoder(processor, FAMILIES["qwen2_audio"], rate, float(size.window_s))
        clips = ListenerClips(train, config)
        model.train()
        with ProgressBars().bar("Training", config.n_steps) as step:
            losses = fit(model, encoder, clips, step)
        partial = out.with_name(f".{out.name}.{os.getpid()}")
        shutil.rmtree(partial, ignore_errors=True)
        model.eval()
        model.save_pretrained(partial)
        processor.save_pretrained(partial)
        opened = open_model(f"transformers:{partial}", max_new_tokens=16, batch_size=16)
        unseen = accuracy(opened, test, config.categories)
    finally:
        torch.set_num_threads(threads)
    about |= {
        "n_parameters": sum(weight.numel() for weight in model.parameters()),
        "n_clips": len(clips.question_ids),
        "losses": [losses[0], losses[-1]],
        "unseen": unseen,
    }
    write_record(partial, about, dataset)
    partial.replace(out)
    return about


def validate_no_shared_source(train: Any, test: Any) -> None:
    """Checks that no source is in both splits.

    Raises:
        ListenerError: Some are.
    """
    first, second = (set(splits.rows["source_id"]) - {None, ""} for splits in (train, test))
    if shared := sorted(first & second):
        raise ListenerError(
            f"{len(shared)} sources are in train and in test, such as {shared[0]!r}, so accuracy "
            "there would prove nothing; give splits that share none"
        )


def content_hash(*splits: Any) -> str:
    """Changes with any clip, label or question."""
    digest = hashlib.sha256()
    names = ("id", "category", "label_name", "prompt", "audio_sha256")
    for each in splits:
        for row in zip(*(each.rows[name] for name in names), strict=True):
            digest.update(json.dumps(row).encode())
    return digest.hexdigest()


def write_record(folder: Path, about: Mapping[str, Any], dataset: str) -> None:
    """Writes listener.json and the card."""
    from cards import render_card
    from otoscope.version import __version__

    LISTENERS.write(folder, about)
    config = about["lesson"]
    card = render_card(
        "listener.md.jinja", **about, config=config, dataset=Path(dataset).name, version=__version__
    )
    (folder / "README.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    program(listener)()
