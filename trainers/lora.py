"""Teaches a model to name the direction of a change, through an addition of low rank (LoRA).

accelerate launch -m trainers.lora --dataset ./vocalgrad --model transformers:PATH_OR_ID@REV \
    --category volume --scope all_linear --out adapters/volume
accelerate launch -m trainers.lora --features features/qwen2 --scope lm_head \
    --model transformers:PATH_OR_ID@REV --category volume --out adapters/volume-head

The defaults are the published settings. --dry-run lists the layers that would be adapted, the clips
and the tokens of each answer. Stopped at any moment, or killed, the same command goes on from its
latest checkpoint, and the weights come out as if nothing had happened. Any number of processes that
divides --train-batch-size makes the same weights. --adapter of `otoscope run` takes the result:

    ADAPTER/adapter_model.safetensors, adapter_config.json   as PEFT reads them
    ADAPTER/README.md                                        its card
    ADAPTER/training.json                                    losses, validations, what led to them
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
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
)

SCOPE = "Layers to adapt: lm_head (the output layer), decoder (the language model below it) or " \
    "all_linear (all linear layers, output layer and audio tower included)."  # fmt: skip


@dataclass(frozen=True)
class TrainingJob:
    """Everything that training needs.

    Attributes:
        learner: What learns.
        examples: Clips, answers, and which of them teach.
        scope: What is adapted.
        about: All that decides the weights beside the settings, ready for JSON.
        decode: Tokens to text.
        notes: What the user should know first.
    """

    trainable: Any
    examples: Any
    scope: Any
    about: Mapping[str, Any]
    decode: Callable[[Any], str]
    notes: tuple[str, ...]


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
        typer.Option(
            help="Features: a folder of trainers.extract with the site `answer`, instead of "
            "--dataset and with --scope lm_head; the model is not loaded."
        ),
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
    lora_rank: Annotated[int, typer.Option(help="LoRA rank.")] = 8,
    lora_alpha: Annotated[int, typer.Option(help="LoRA alpha; the scale is alpha / rank.")] = 16,
    lora_dropout: Annotated[float, typer.Option(help="LoRA dropout.")] = 0.05,
    learning_rate: LearningRate = 2e-4,
    weight_decay: WeightDecay = 0.0,
    train_batch_size: TrainBatchSize = 16,
    epochs: Epochs = 1,
    max_grad_norm: Annotated[float, typer.Option(help="Gradients are clipped to this norm.")] = 1.0,
    seed: Seed = 1234,
    checkpoint_every: Annotated[
        int, typer.Option(min=1, help="Steps between checkpoints, the most that a kill can lose.")
    ] = 50,
    gradient_checkpointing: Annotated[
        bool, typer.Option(help="Less memory, more time, the same weights.")
    ] = True,
) -> None:
    """Teaches a model to name the direction of a change, and writes the adapter with its card.

    \b
    accelerate launch -m trainers.lora --dataset ./vocalgrad \\
        --model transformers:PATH_OR_ID@REV --category volume \\
        --scope all_linear --out adapters/volume
    accelerate launch --multi_gpu --num_processes 2 --num_machines 1 \\
        --mixed_precision no --dynamo_backend no -m trainers.lora ...
    otoscope run perception ... --adapter adapters/volume

    Try --dry-run first: it lists the layers, the clips and the tokens of each answer. Run the same
    command again to go on after a kill. The second line really starts two processes, on GPUs or,
    where there are none, on the CPU (`--cpu --num_processes 2` starts one); they make the weights
    that one makes. The output layer alone learns fastest from kept states: extract the site
    `answer` with trainers.extract, then give --features.

    The defaults are the published settings. No published checkpoint was ever trained with this:
    it was tested on small models of random weights.
    """
    from otoscope.tuning.config import TrainingConfig, TuningError
    from otoscope.tuning.training import SingleProcess

    settings = TrainingConfig(
        scope, lora_rank, lora_alpha, lora_dropout, learning_rate, weight_decay,
        train_batch_size, epochs, max_grad_norm, seed,
    )  # fmt: skip
    team = processes()
    settings.share(team.num_processes)
    if (dataset is None) == (features is None):
        raise TuningError("give either --dataset, or --features with --scope lm_head")
    if team.num_processes > 1 and "device_map" in model_options:
        raise TuningError(
            "--device-map spreads one model over all GPUs, and each process has a model of its "
            "own: leave it out, or start one process"
        )
    of_loading = {
        "config": config, "revision": revision, "limit-sources": limit_sources, **model_options
    }  # fmt: skip
    given = [
        name.replace("_", "-") for name, value in of_loading.items()
        if value is not None and name != "trust_remote_code"
    ]  # fmt: skip
    if features is not None and given:
        raise TuningError(f"--{given[0]} was decided when the states were extracted; leave it out")
    if features is not None:
        if team.process_index:
            typer.echo("an output layer is trained from states by the first process alone")
            return
        team = SingleProcess()
        job = with_states(
            features,
            model,
            category,
            settings,
            validation,
            prompt,
            "trust_remote_code" in model_options,
        )
    else:
        chosen = {
            "configs": config or (), "prompt": prompt, "revision": revision,
            "limit_sources": limit_sources,
        }  # fmt: skip
        job = with_model(
            str(dataset), model, category, settings, validation, chosen, model_options,
            checkpointing=gradient_checkpointing and scope != "lm_head",
        )  # fmt: skip
    if team.process_index == 0:
        show(job, settings, team.num_processes)
    if dry_run:
        return
    tune(job, settings, out, team, model, checkpoint_every)


def with_model(
    dataset: str,
    model: str,
    categories: list[str],
    settings: Any,
    split: str,
    chosen: Mapping[str, Any],
    loading: Mapping[str, Any],
    *,
    checkpointing: bool,
) -> TrainingJob:
    """Loads the model and plans its questions.

    Raises:
        TuningError, DatasetError, ModelError: What cannot be is named, with the way out.
    """
    from otoscope.audits.audio_input import check_audio_input
    from otoscope.audits.splits import open_splits
    from otoscope.models.opening import open_model
    from otoscope.models.transformers_models import TransformersModel
    from otoscope.prompts.questions import answer_word
    from otoscope.representations.hooks import ANSWER_ONLY_KEYS
    from otoscope.tuning.adapter import add_adapter
    from otoscope.tuning.config import TuningError
    from otoscope.tuning.dropout import DropoutContext
    from otoscope.tuning.examples import examples_of, select_rows, validate_answer_tokens
    from otoscope.tuning.scopes import plan_scope
    from otoscope.tuning.whole_model import TrainableModel

    configs, splits = where_to_learn(dataset, categories, chosen["configs"], chosen["revision"])
    asked = open_splits(dataset, splits, **{**chosen, "configs": configs})
    rows, n_silent = select_rows(asked.rows, categories)
    opened = open_model(model, **loading)
    if not isinstance(opened, TransformersModel):
        raise TuningError(f"{model}: only models of transformers can be trained here")
    long = None if loading.get("on_long") == "flag" else opened.max_audio_s
    asked.validate_audio(long)
    first = asked.plans["train"]
    check_audio_input(opened, first)
    scope = plan_scope(opened.loaded.model, opened.loaded.family.model_type, settings.scope)
    questions = {name: q for plan in asked.plans.values() for name, q in plan.questions.items()}
    tokens: dict[str, tuple[int, ...]] = {}
    answers = []
    for name in rows["question_id"]:
        word = str(answer_word(questions[name]))
        if word not in tokens:
            filled = asked.fill(name)
            tokens[word] = tuple(opened.encoder.answer_tokens(filled, word))
            before, told = opened.encoder.prompt_and_answer(filled, word)
            texts = None if before is None else (before, told)
            validate_answer_tokens(word, tokens[word], opened.loaded.processor.tokenizer, texts)
        answers.append((word, tokens[word]))
    examples = examples_of(rows, answers, split, settings.seed)
    dropout_context = DropoutContext(settings.seed)
    tuned = add_adapter(opened.loaded.model, scope, settings, dropout_context)
    described = opened.description()
    return TrainingJob(
        TrainableModel(
            opened, tuned, examples, asked.fill, dropout_context, checkpointing=checkpointing
        ),
        examples,
        scope,
        about(
            {k: v for k, v in described.items() if k not in ANSWER_ONLY_KEYS},
            examples, categories, chosen["prompt"], split, dataset, "clips",
        ),
        opened.loaded.processor.tokenizer.decode,
        silent_note(n_silent),
    )  # fmt: skip


def with_states(
    folder: Path,
    model: str,
    categories: list[str],
    settings: Any,
    split: str,
    prompt: str,
    trust_remote_code: bool,
) -> TrainingJob:
    """Reads the states, and of the model its output layer and tokenizer only.

    Raises:
        TuningError, FeaturesError, ModelError: What cannot be is named, with the way out.
    """
    import numpy as np
    import torch
    from transformers import AutoProcessor

    from otoscope.models.opening import parse_spec
    from otoscope.prompts.questions import offered_word
    from otoscope.representations.features import Features
    from otoscope.tuning.adapter import add_adapter
    from otoscope.tuning.config import TuningError
    from otoscope.tuning.dropout import DropoutContext
    from otoscope.tuning.examples import examples_of, select_rows, validate_answer_tokens
    from otoscope.tuning.head import OutputLayer, TrainableHead, read_head, validate_states

    if settings.scope != "lm_head":
        raise TuningError(
            f"kept states teach the output layer only, not {settings.scope!r}: what lies below it "
            "would change the states; leave out --features"
        )
    kind, name, revision = parse_spec(model)
    if kind != "transformers" or name is None:
        raise TuningError(f"{model}: only models of transformers can be trained here")
    features = Features.open(folder, prompt=prompt)
    described = validate_states(features, name, revision)
    columns = {name: column.tolist() for name, column in features.rows.items()}
    rows, n_silent = select_rows(columns | {"place": list(range(len(features)))}, categories)
    targets = features.targets(np.array(rows["place"]))
    tokens = [tuple(targets.tokens[targets.row == n].tolist()) for n in range(len(rows["id"]))]
    words = [
        str(offered_word(str(p), str(label)))
        for p, label in zip(rows["prompt_name"], rows["label_name"], strict=True)
    ]
    examples = examples_of(rows, list(zip(words, tokens, strict=True)), split, settings.seed)
    tokenizer = AutoProcessor.from_pretrained(
        name, revision=revision, trust_remote_code=trust_remote_code
    ).tokenizer
    for word, own in examples.words.items():
        validate_answer_tokens(word, own, tokenizer)
    head = OutputLayer(read_head(name, revision, described["dtype"]))
    head.to("cuda" if torch.cuda.is_available() else "cpu")
    dropout_context = DropoutContext(settings.seed)
    tuned = add_adapter(head, head.scope, settings, dropout_context)
    return TrainingJob(
        TrainableHead(tuned, examples, targets, dropout_context),
        examples,
        head.scope,
        about(
            described, examples, categories, prompt, split,
            str(features.description.get("dataset", folder)), "states",
        ),
        tokenizer.decode,
        silent_note(n_silent),
    )  # fmt: skip


def where_to_learn(
    dataset: str, categories: list[str], configs: Any, revision: str | None
) -> tuple[list[str], list[str]]:
    """Configs to read, and which of their splits teach.

    Raises:
        TuningError: There is no split train, or one of its sources is in a split that is asked.
        DatasetError: The dataset cannot be found.
    """
    from otoscope.audits.items import configs_in, open_items, splits_in
    from otoscope.models.fitted_observer import overlap, source_of
    from otoscope.tuning.config import TuningError

    there = splits_in(dataset, configs, revision)
    if not configs and set(categories) <= set(configs_in(dataset, revision)):
        configs = list(categories)
        there = splits_in(dataset, configs, revision)
    if "train" not in there:
        raise TuningError(
            f"{dataset} has no split train, only {', '.join(there)}, and what a model is asked "
            "about must not teach it; build one: python -m builders.vocalgrad build --source "
            "voices:40 --splits train,test --out ./vocalgrad"
        )
    splits = [name for name in ("train", "validation") if name in there]
    learnt = open_items(dataset, configs, split="+".join(splits), revision=revision).rows
    sources = {source for row in learnt if (source := source_of(row))}
    for other in sorted(set(there) - set(splits)):
        asked = open_items(dataset, configs, split=other, revision=revision).rows
        if shared := overlap(asked, sources, ()):
            raise TuningError(
                f"{dataset}: {other} shares {shared} with what is learnt from, so what it says "
                "there would prove nothing; give splits that share no source"
            )
    return list(configs), splits


def about(
    model: Mapping[str, Any],
    examples: Any,
    categories: list[str],
    prompt: str,
    split: str,
    dataset: str,
    learnt_from: str,
) -> dict[str, Any]:
    """All that decides the weights beside the settings."""
    return {
        "model": dict(model),
        "categories": sorted(categories),
        "prompt": prompt,
        "split": split,
        "learnt_from": learnt_from,
        "data_sha256": examples.sha256(),
        "n_train": len(examples.parts.train),
        "n_validation": len(examples.parts.validation),
        "dataset": dataset,
    }


def silent_note(n: int) -> tuple[str, ...]:
    """Says what was left out."""
    return (f"{n} clips are left out: nothing was done to them",) if n else ()


def processes() -> Any:
    """The processes that train together.

    Raises:
        TuningError: accelerate was told something that is not done here.
    """
    import os

    import torch
    from accelerate import Accelerator, DistributedType

    from otoscope.tuning.config import TuningError

    precision = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    if precision != "no":
        raise TuningError(
            f"accelerate was told --mixed_precision {precision}; say `no`, and the precision of "
            "the weights with --dtype"
        )
    team = Accelerator(cpu=not torch.cuda.is_available())
    plain = (DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU)
    if team.distributed_type not in plain:
        raise TuningError(
            f"accelerate was told {team.distributed_type}; every process holds the whole model "
            "here, so start them with --multi_gpu"
        )
    return team


def show(job: TrainingJob, settings: Any, n_processes: int) -> None:
    """Prints what will be trained, on what."""
    from otoscope.tuning.examples import told

    scope, parts = job.scope, job.examples.parts
    for line in scope.listed():
        typer.echo(line)
    typer.echo(
        f"{len(scope.modules)} layers, {scope.n_parameters(settings.rank):,} numbers to train"
    )
    for line in told(job.examples.words, job.decode):
        typer.echo(f"answer    {line}")
    typer.echo(f"{len(parts.train):,} clips to learn from, {len(parts.validation):,} to validate")
    share = settings.share(n_processes)
    typer.echo(f"{settings.batch_size} clips a step, {share} by each of {n_processes} process(es)")
    for note in job.notes:
        typer.echo(note)


def tune(job: TrainingJob, settings: Any, out: Path, team: Any, model: str, every: int) -> None:
    """Trains to the end and writes the adapter, unless it is there already.

    Raises:
        TuningError: The folder holds something else, or a loss is not finite.
    """
    from otoscope.models.opening import parse_spec
    from otoscope.progress import progress_of
    from otoscope.tuning.checkpoints import ADAPTERS, Checkpoints
    from otoscope.tuning.record import read_record, summary
    from otoscope.tuning.training import TrainingHistory, train

    is_first = team.process_index == 0
    say: Callable[[str], None] = typer.echo if is_first else lambda note: None
    begun = ADAPTERS.plain({"version": 1, "settings": asdict(settings), **job.about})
    if (record := read_record(out)) is not None:
        ADAPTERS.validate_same(out, record["begun"], begun)
        say(f"{out} is finished: {summary(TrainingHistory.from_plain(record['history']))}")
        return
    checkpoints = Checkpoints(out, say)
    with checkpoints.lock() if is_first else contextlib.nullcontext():
        if is_first:
            checkpoints.begin(begun)
        history = train(
            job.trainable, job.examples, settings, checkpoints,
            team=team, progress=progress_of(team.process_index), every=every,
        )  # fmt: skip
        if is_first:
            write(job, settings, out, begun, history, str(parse_spec(model).name))
            checkpoints.clear()
    say(f"{out}: {len(history.losses):,} steps; {summary(history)}")


def write(
    job: TrainingJob, settings: Any, out: Path, begun: Mapping[str, Any], history: Any, base: str
) -> None:
    """Writes the adapter and its card; the record last, and each file whole."""
    from cards import render_card
    from otoscope.atomic import write_atomic
    from otoscope.tuning.adapter import save_adapter
    from otoscope.tuning.examples import told
    from otoscope.tuning.record import card_values, write_record

    made = out / ".training" / "adapter"
    save_adapter(job.trainable.tuned, made, base=base, revision=begun["model"].get("commit"))
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        (made / name).replace(out / name)
    answers = told(job.examples.words, job.decode)
    values = card_values(begun, settings, job.scope, history, answers, base)
    write_atomic(out / "README.md", render_card("adapter.md.jinja", **values).encode())
    write_record(out, begun, job.scope, history)


if __name__ == "__main__":
    program(lora)()
