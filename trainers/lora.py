"""Fine-tunes a model to name the direction of a change, with a LoRA adapter.

Reproducible by default: any number of processes that divides --train-batch-size gives the same
weights bit for bit, at one clip in a forward pass; --no-reproducible trains in batches. The same
command resumes from the latest checkpoint.

    ADAPTER/adapter_model.safetensors, adapter_config.json   as PEFT reads them
    ADAPTER/README.md                                        its card
    ADAPTER/training.json                                    losses, validations, config
"""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from otoscope.cli.errors import program
from otoscope.cli.options import (
    WEIGHTS,
    Epochs,
    LearningRate,
    LimitSources,
    PromptName,
    Revision,
    Seed,
    TrainBatchSize,
    TransformersSpec,
    WeightDecay,
    model_options,
    number_option,
)
from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.scopes import SCOPES

SCOPE = "Layers to adapt: " + "; ".join(
    f"{name}, {scope.description}" for name, scope in SCOPES.items()
)


@model_options(*WEIGHTS)
def lora(
    model: TransformersSpec,
    category: Annotated[
        list[str],
        typer.Option(help="Acoustic factor, e.g. `volume` or `voice_pitch`; may be repeated."),
    ],
    out: Annotated[Path, typer.Option(help="Output: the adapter; run again to resume.")],
    model_options: dict[str, Any],
    dataset: Annotated[
        str | None,
        typer.Option(help="Dataset: a folder or a Hub repository with a split train."),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(help="Features: site `answer`; instead of --dataset, with --scope lm_head."),
    ] = None,
    scope: Annotated[str, typer.Option(help=SCOPE)] = "lm_head",
    validation: Annotated[
        str,
        typer.Option(
            help="Validation rows: `source` holds out whole sources; `paper` holds out a tenth of "
            "the clips, as published, so that every source is trained on too."
        ),
    ] = "source",
    dry_run: Annotated[
        bool, typer.Option(help="Dry run: list layers, clips and tokens of answers.")
    ] = False,
    prompt: PromptName = "main",
    config: Annotated[
        list[str] | None,
        typer.Option(help="Dataset config; may be repeated, those of the categories when absent."),
    ] = None,
    revision: Revision = None,
    limit_sources: LimitSources = None,
    lora_rank: Annotated[int, typer.Option(min=1, help="LoRA rank.")] = 8,
    lora_alpha: Annotated[
        int, typer.Option(min=1, help="LoRA alpha; the scale is alpha / rank.")
    ] = 16,
    lora_dropout: Annotated[float, number_option("LoRA dropout.", most=1.0)] = 0.05,
    learning_rate: LearningRate = 2e-4,
    weight_decay: WeightDecay = 0.0,
    train_batch_size: TrainBatchSize = 16,
    epochs: Epochs = 1,
    max_grad_norm: Annotated[float, number_option("Gradients are clipped to this norm.")] = 1.0,
    seed: Seed = 1234,
    reproducible: Annotated[
        bool | None,
        typer.Option(
            help="Bitwise equal weights for any number of processes: one clip in a forward pass "
            "(default). A resumed training keeps its mode."
        ),
    ] = None,
    clips_per_pass: Annotated[
        int,
        typer.Option(min=1, help="Clips a pass with --no-reproducible; halved if memory runs out."),
    ] = 16,
    checkpoint_every: Annotated[
        int, typer.Option(min=1, help="Steps between checkpoints, the most that a kill can lose.")
    ] = 50,
    gradient_checkpointing: Annotated[
        bool, typer.Option(help="Less memory, more time, the same weights.")
    ] = True,
) -> None:
    """Fine-tunes a model to name the direction of a change, and writes the adapter with its card.

    \b
    python -m trainers.lora --dataset ./vocalgrad \\
        --model transformers:PATH_OR_ID@REV --category volume \\
        --scope all_linear --out adapters/volume
    accelerate launch --multi_gpu --num_processes 2 --num_machines 1 \\
        --mixed_precision no --dynamo_backend no -m trainers.lora ...
    otoscope run perception ... --adapter adapters/volume

    Try --dry-run first: it lists the layers, the clips and the tokens of each answer. The second
    line starts two processes, on GPUs or, where there are none, on the CPU (`--cpu --num_processes
    2` starts one). The output layer alone is trained fastest from cached hidden states: extract
    the site `answer` with trainers.extract, then give --features.

    The defaults are the published ones. No published checkpoint was ever trained with this: it was
    tested on small models of random weights.
    """
    from otoscope.tuning.training import SingleProcess

    settings = training_config(
        out, reproducible, scope=scope, rank=lora_rank, alpha=lora_alpha, dropout=lora_dropout,
        learning_rate=learning_rate, weight_decay=weight_decay, batch_size=train_batch_size,
        epochs=epochs, max_norm=max_grad_norm, seed=seed,
    )  # fmt: skip
    group = start_processes()
    settings.clips_per_process(group.num_processes)
    selection = {"config": config, "revision": revision, "limit_sources": limit_sources}
    job = job_of(
        dataset, features, selection, model_options, group, model=model, categories=category,
        config=settings, validation_split=validation, prompt=prompt, clips_per_pass=clips_per_pass,
        checkpointing=gradient_checkpointing and scope != "lm_head",
    )  # fmt: skip
    job.layers.validate_rank(settings.rank)
    if features is not None:
        group = SingleProcess()
    if group.process_index == 0:
        for line in job.listed(settings, group.num_processes):
            typer.echo(line)
    if not dry_run:
        train_adapter(job, settings, out, group, model, checkpoint_every)


def training_config(out: Path, reproducible: bool | None, **values: Any) -> TrainingConfig:
    """The config; a resumed training keeps its mode unless one is given."""
    from otoscope.tuning.checkpoints import ADAPTERS
    from otoscope.tuning.record import read_finished

    finished = read_finished(out)
    begun = finished[0] if finished else ADAPTERS.read(out) or {}
    if reproducible is None:
        stored = begun.get("settings")
        reproducible = stored.get("reproducible", True) if isinstance(stored, Mapping) else True
    return TrainingConfig(**values, reproducible=reproducible)


def job_of(
    dataset: str | None, features: Path | None, selection: Mapping[str, Any],
    model_options: Mapping[str, Any], group: Any, *, clips_per_pass: int, checkpointing: bool,
    **common: Any,
) -> Any:  # fmt: skip
    """What to train: the model on clips, or its output layer on cached hidden states."""
    from otoscope.tuning.jobs import job_on_clips, job_on_states

    if (dataset is None) == (features is None):
        raise TuningError("give either --dataset, or --features with --scope lm_head")
    if group.num_processes > 1 and "device_map" in model_options:
        raise TuningError(
            "--device-map spreads one model over all GPUs; leave it out, or start one process"
        )
    given = {**selection, **model_options}
    if features is None:
        return job_on_clips(
            str(dataset), configs=given.pop("config") or (), clips_per_pass=clips_per_pass,
            checkpointing=checkpointing, **given, **common,
        )  # fmt: skip
    trust = given.pop("trust_remote_code", False)
    if names := [name.replace("_", "-") for name, value in given.items() if value is not None]:
        raise TuningError(f"--{names[0]} was decided when features were extracted; leave it out")
    if group.process_index:
        typer.echo("only the first process trains an output layer from hidden states")
        raise typer.Exit
    return job_on_states(features, trust_remote_code=trust, **common)


def start_processes() -> Any:
    """The processes that train together, as accelerate starts them.

    Raises:
        TuningError: accelerate was given an option that is not supported here.
        LaunchError: RANK, WORLD_SIZE or LOCAL_RANK make no sense.
    """
    import os

    import torch
    from accelerate import Accelerator, DistributedType

    from otoscope.processes import process_share, whole_number

    process_share()  # accelerate reads these variables too, but does not name them
    whole_number("LOCAL_RANK", 0)

    precision = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    if precision != "no":
        raise TuningError(
            f"accelerate has --mixed_precision {precision}; give `no`, and the precision of the "
            "weights with --dtype"
        )
    group = Accelerator(cpu=not torch.cuda.is_available())
    supported = (DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU)
    if group.distributed_type not in supported:
        raise TuningError(
            f"accelerate has {group.distributed_type}; every process holds the whole model here, "
            "so start them with --multi_gpu"
        )
    return group


def train_adapter(
    job: Any, settings: TrainingConfig, out: Path, group: Any, model: str, checkpoint_every: int
) -> None:
    """Trains to the end and writes the adapter, unless it is finished.

    Raises:
        TuningError: The folder holds something else, or a loss is not finite.
        ModelError: The adapter is finished, but its files are missing or damaged.
    """
    from otoscope.models.adapters import adapter_in
    from otoscope.models.opening import parse_spec
    from otoscope.progress import progress_of
    from otoscope.tuning.checkpoints import ADAPTERS, Checkpoints
    from otoscope.tuning.record import read_finished
    from otoscope.tuning.training import train

    is_first = group.process_index == 0
    notify: Callable[[str], None] = typer.echo if is_first else lambda note: None
    begun = ADAPTERS.plain({"version": 1, "settings": settings.record(), **job.about})
    if (finished := read_finished(out)) is not None:
        ADAPTERS.validate_same(out, finished[0], begun)
        adapter_in(str(out), None)
        notify(f"{out} is finished: {finished[1].summary()}")
        return
    checkpoints = Checkpoints(out, notify)
    with checkpoints.lock() if is_first else contextlib.nullcontext():
        if is_first:
            checkpoints.begin(begun)
        history = train(
            job.trainable, job.examples, settings, checkpoints, group=group,
            progress=progress_of(group.process_index), every=checkpoint_every,
        )  # fmt: skip
        if is_first:
            write(job, settings, out, begun, history, str(parse_spec(model).name))
            checkpoints.clear()
    notify(f"{out}: {len(history.losses):,} steps; {history.summary()}")


def write(
    job: Any, settings: TrainingConfig, out: Path, begun: Mapping[str, Any], history: Any, base: str
) -> None:
    """Writes the adapter and its card, each file atomically; the record last."""
    from cards import render_card
    from otoscope.atomic import write_atomic
    from otoscope.tuning.adapter import save_adapter
    from otoscope.tuning.examples import token_lines
    from otoscope.tuning.record import FINISHED, card_values

    staging = out / ".training" / "adapter"
    save_adapter(job.trainable.tuned, staging, base=base, revision=begun["model"].get("commit"))
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        (staging / name).replace(out / name)
    answers = token_lines(job.examples.answer_tokens, job.decode)
    values = card_values(begun, settings, job.layers, history, answers, base)
    write_atomic(out / "README.md", render_card("adapter.md.jinja", **values).encode())
    modules = list(job.layers.modules)
    FINISHED.write(out, {"begun": begun, "modules": modules, "history": history.plain()})


if __name__ == "__main__":
    program(lora)()
