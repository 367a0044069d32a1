"""Prepares a training: the model or its output layer, the examples, and a record of both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from otoscope.audits.audio_input import check_audio_input
from otoscope.audits.items import open_items
from otoscope.audits.opening import configs_in, splits_in
from otoscope.audits.splits import open_splits
from otoscope.models.fitted_observer import overlap, source_of
from otoscope.models.opening import open_model, parse_spec
from otoscope.models.transformers_models import TransformersModel
from otoscope.prompts.questions import answer_word, offered_word
from otoscope.representations.features import Features
from otoscope.representations.hooks import ANSWER_ONLY_KEYS
from otoscope.tuning.adapted_layers import AdaptedLayers, plan_scope
from otoscope.tuning.adapter import add_adapter
from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.dropout import DropoutContext
from otoscope.tuning.examples import (
    NO_TRAIN,
    TRAINING_SPLITS,
    TrainingExamples,
    end_remarks,
    examples_of,
    select_rows,
    token_lines,
    validate_answer_tokens,
)
from otoscope.tuning.head import OutputLayer, TrainableHead, read_head, stops_of, validate_states
from otoscope.tuning.trainable import Trainable
from otoscope.tuning.whole_model import TrainableModel

ONLY_TRANSFORMERS = "only models of transformers can be trained here"


@dataclass(frozen=True)
class TrainingJob:
    """Everything that a training needs beside its config.

    Attributes:
        trainable, examples, layers: What is trained, on what, and where.
        about: All that decides the weights beside the config, ready for JSON.
        decode: Tokens to text.
        n_no_effect: Clips left out because their transform has no effect.
        remarks: On what is trained as an answer, where that is not what the template writes.
    """

    trainable: Trainable
    examples: TrainingExamples
    layers: AdaptedLayers
    about: Mapping[str, Any]
    decode: Callable[[Any], str]
    n_no_effect: int
    remarks: tuple[str, ...] = ()

    def listed(self, config: TrainingConfig, n_processes: int) -> list[str]:
        """Lines on the layers, the answers and the clips."""
        split, share = self.examples.split, config.clips_per_process(n_processes)
        n_parameters = self.layers.n_parameters(config.rank)
        answers = token_lines(self.examples.answer_tokens, self.decode)
        lines = [
            *self.layers.listed(),
            f"{len(self.layers.modules)} layers, {n_parameters:,} trainable parameters",
            *(f"answer    {line}" for line in answers),
            *(f"note      {remark}" for remark in self.remarks),
            f"{len(split.train):,} clips for training, {len(split.validation):,} for validation",
            f"{config.batch_size} clips a step, {share} by each of {n_processes} process(es)",
        ]
        if self.n_no_effect:
            lines.append(f"{self.n_no_effect} clips are left out: their transform has no effect")
        return lines


def job_on_clips(
    dataset: str,
    model: str,
    categories: Sequence[str],
    config: TrainingConfig,
    *,
    validation_split: str = "source",
    configs: Sequence[str] = (),
    prompt: str = "main",
    revision: str | None = None,
    limit_sources: int | None = None,
    clips_per_pass: int = 16,
    checkpointing: bool = False,
    **loading: Any,
) -> TrainingJob:
    """Trains through the whole model.

    Args:
        dataset, configs, prompt, revision, limit_sources: As for `open_splits`; the configs are
            those of the categories when empty.
        model, loading: As for `open_model`.
        categories: To train on.
        config: How.
        validation_split: A name in `VALIDATION_SPLITS`.
        clips_per_pass, checkpointing: See `TrainableModel`.

    Raises:
        TuningError, DatasetError, ModelError: What is missing or unknown is named, with the way
            out.
    """
    configs, splits = training_splits(dataset, categories, configs, revision)
    planned = open_splits(
        dataset, splits, configs=configs, prompt=prompt, revision=revision,
        limit_sources=limit_sources,
    )  # fmt: skip
    rows, n_no_effect = select_rows(planned.rows, categories)
    opened = open_model(model, **loading)
    if not isinstance(opened, TransformersModel):
        raise TuningError(f"{model}: {ONLY_TRANSFORMERS}")
    planned.validate_audio(None if loading.get("on_long") == "flag" else opened.max_audio_s)
    check_audio_input(opened, planned.plans["train"])
    loaded, encoder = opened.loaded, opened.encoder
    layers = plan_scope(loaded.model, loaded.family.model_type, config.scope)
    questions = {name: q for plan in planned.plans.values() for name, q in plan.questions.items()}
    tokenizer = loaded.processor.tokenizer
    tokens: dict[str, tuple[int, ...]] = {}
    answers, remarks = [], dict[str, None]()
    for name in rows["question_id"]:
        answer = str(answer_word(questions[name]))
        if answer not in tokens:
            request = planned.fill(name)
            tokens[answer] = tuple(encoder.answer_tokens(request, answer))
            target = encoder.answer_text(request, answer)
            texts = None if target.before is None else (target.before, target.text)
            validate_answer_tokens(answer, tokens[answer], tokenizer, texts)
            remarks |= dict.fromkeys(target.remarks)
        answers.append((answer, tokens[answer]))
    remarks |= dict.fromkeys(end_remarks(tokens, tokenizer, loaded.own_generation.eos_token_id))
    examples = examples_of(rows, answers, validation_split, config.seed)
    dropout = DropoutContext(config.seed, reproducible=config.reproducible)
    tuned = add_adapter(loaded.model, layers, config, dropout)
    described = {k: v for k, v in opened.description().items() if k not in ANSWER_ONLY_KEYS}
    return TrainingJob(
        TrainableModel(
            opened, tuned, examples, planned.fill, dropout, clips_per_pass=clips_per_pass,
            checkpointing=checkpointing,
        ),
        examples,
        layers,
        about(described, examples, categories, prompt, validation_split, dataset, "clips"),
        tokenizer.decode,
        n_no_effect,
        tuple(remarks),
    )  # fmt: skip


def job_on_states(
    folder: Path,
    model: str,
    categories: Sequence[str],
    config: TrainingConfig,
    *,
    validation_split: str = "source",
    prompt: str = "main",
    trust_remote_code: bool = False,
) -> TrainingJob:
    """Trains the output layer from cached hidden states; of the model only that layer is read.

    Args:
        folder: Features with the site `answer`.
        model, categories, config, validation_split: As for `job_on_clips`.
        prompt: That of the features.
        trust_remote_code: For the tokenizer.

    Raises:
        TuningError, FeaturesError, ModelError: What is missing or unknown is named, with the way
            out.
    """
    from transformers import AutoProcessor

    if config.scope != "lm_head":
        raise TuningError(
            f"cached hidden states train the output layer only, not {config.scope!r}: an adapter "
            "below it would change them; leave out --features"
        )
    kind, name, revision = parse_spec(model)
    if kind != "transformers" or name is None:
        raise TuningError(f"{model}: {ONLY_TRANSFORMERS}")
    features = Features.open(folder, prompt=prompt)
    described = validate_states(features, name, revision)
    columns = {name: column.tolist() for name, column in features.rows.items()}
    if validation_split == "paper" and "row" not in columns and "validation" in columns["split"]:
        raise TuningError(
            f"{folder}: these features lack the column `row`, which gives the published order of "
            "clips in two splits; run the same trainers.extract once more, which adds it"
        )
    rows, n_no_effect = select_rows(columns | {"place": list(range(len(features)))}, categories)
    targets = features.targets(np.array(rows["place"]))
    tokens = [tuple(targets.tokens[targets.row == n].tolist()) for n in range(len(rows["id"]))]
    answers = [
        str(offered_word(str(p), str(label)))
        for p, label in zip(rows["prompt_name"], rows["label_name"], strict=True)
    ]
    pairs = list(zip(answers, tokens, strict=True))
    examples = examples_of(rows, pairs, validation_split, config.seed)
    tokenizer = AutoProcessor.from_pretrained(
        name, revision=revision, trust_remote_code=trust_remote_code
    ).tokenizer
    for answer, own in examples.answer_tokens.items():
        validate_answer_tokens(answer, own, tokenizer)
    head = OutputLayer(read_head(name, revision, described["dtype"]))
    head.to("cuda" if torch.cuda.is_available() else "cpu")
    dropout = DropoutContext(config.seed, reproducible=config.reproducible)
    tuned = add_adapter(head, head.layers, config, dropout)
    dataset = str(features.description.get("dataset", folder))
    return TrainingJob(
        TrainableHead(tuned, examples, targets, dropout),
        examples,
        head.layers,
        about(described, examples, categories, prompt, validation_split, dataset, "states"),
        tokenizer.decode,
        n_no_effect,
        tuple(end_remarks(examples.answer_tokens, tokenizer, stops_of(name, revision))),
    )


def training_splits(
    dataset: str, categories: Sequence[str], configs: Sequence[str], revision: str | None
) -> tuple[list[str], list[str]]:
    """Configs to read, and which of their splits are for training.

    Raises:
        TuningError: There is no split train, or one of its sources is in a test split.
        DatasetError: The dataset cannot be found.
    """
    present = splits_in(dataset, configs, revision)
    if not configs and set(categories) <= set(configs_in(dataset, revision)):
        configs = list(categories)
        present = splits_in(dataset, configs, revision)
    if "train" not in present:
        raise TuningError(f"{dataset} has no split train, only {', '.join(present)}, {NO_TRAIN}")
    splits = [name for name in TRAINING_SPLITS if name in present]
    train = open_items(dataset, configs, split="+".join(splits), revision=revision).rows
    sources = {source for row in train if (source := source_of(row))}
    for other in sorted(set(present) - set(splits)):
        test = open_items(dataset, configs, split=other, revision=revision).rows
        if shared := overlap(test, sources, ()):
            raise TuningError(
                f"{dataset}: {other} shares {shared} with the training data, so accuracy there "
                "would prove nothing; give splits that share no source"
            )
    return list(configs), splits


def about(
    model: Mapping[str, Any],
    examples: TrainingExamples,
    categories: Sequence[str],
    prompt: str,
    validation_split: str,
    dataset: str,
    trained_on: str,
) -> dict[str, Any]:
    """All that decides the weights beside the config; its names are stored in checkpoints."""
    return {
        "model": dict(model),
        "categories": sorted(categories),
        "prompt": prompt,
        "split": validation_split,
        "learnt_from": trained_on,
        "data_sha256": examples.sha256(),
        "n_train": len(examples.split.train),
        "n_validation": len(examples.split.validation),
        "dataset": dataset,
    }
