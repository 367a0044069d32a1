"""Embeddings of a labelled dataset by audio encoders, stored as features are.

OUT/features/ENCODER/    one site a layer, `zero_shot`, `wall_s`; rows of both splits, no labels
"""

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.audits.call_value.encoder_actions import EncoderEvidence
from otoscope.audits.call_value.schema import CallValueError
from otoscope.audits.labelled import LabelledData
from otoscope.errors import first_names
from otoscope.models.base import Request
from otoscope.prompts.parts import Clip, Question
from otoscope.representations.encoders import action_prefix, open_encoder
from otoscope.representations.encoders.base import ROUNDING_S, Pooling
from otoscope.representations.encoders.timed import WALL_S, ZERO_SHOT, TimedEmbeddings
from otoscope.representations.extraction import Extraction, plan_extraction
from otoscope.representations.features import Features
from otoscope.representations.hidden_states import extractor_for

ROWS_PER_BLOCK = 64


def open_encoders(
    specs: Sequence[str], labels: Sequence[str], batch_size: int, pooling: Pooling | None = None
) -> dict[str, TimedEmbeddings]:
    """Encoders by their names in names of actions.

    Args:
        pooling: Of frames over time, in place of each encoder's own.

    Raises:
        CallValueError: None, or two that would have one name.
        ModelError: One cannot be opened.
    """
    if not specs:
        raise CallValueError("name at least one --encoder")
    names = [action_prefix(spec) for spec in specs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CallValueError(
            f"two encoders would both be called {twice[0]!r}; run them into two folders"
        )
    encoders = {name: open_encoder(spec) for name, spec in zip(names, specs, strict=True)}
    if pooling is not None:
        for encoder in encoders.values():
            encoder.pooling = pooling
    return {name: TimedEmbeddings(own, labels, batch_size) for name, own in encoders.items()}


def validate_clips(data: LabelledData, encoders: dict[str, TimedEmbeddings]) -> None:
    """Rejects clips that cannot be read or are longer than an encoder takes.

    Raises:
        CallValueError: They are counted, and the first are named.
    """
    seconds = {row.id: data.facts(row.id)[1] for row in data.rows}
    if unreadable := [name for name, length in seconds.items() if isnan(length)]:
        raise CallValueError(
            f"{len(unreadable)} clips cannot be read: {first_names(unreadable)}; leave their rows "
            "out of the dataset"
        )
    for name, timed in encoders.items():
        most = timed.encoder.max_audio_s
        long = [row for row, length in seconds.items() if most and length > most + ROUNDING_S]
        if long:
            raise CallValueError(
                f"{len(long)} clips are longer than the {most:g} s that {name} takes: "
                f"{first_names(long)}; cut them, or choose another encoder"
            )


def plan_embeddings(
    data: LabelledData, name: str, timed: TimedEmbeddings, out: Path, dataset: str
) -> Extraction:
    """What is to be extracted with one encoder; claims its folder.

    Raises:
        FeaturesError: The folder has those of another encoder or dataset.
    """
    n = len(data.rows)
    rows: dict[str, Sequence[Any]] = {
        "question_id": [row.id for row in data.rows],
        "id": [row.id for row in data.rows],
        "category": [data.task] * n,
        "split": [row.split for row in data.rows],
        "source_id": [row.cluster_id for row in data.rows],
        "prompt": [""] * n,
        "audio_sha256": [data.facts(row.id)[0] for row in data.rows],
        "audio_s": [data.facts(row.id)[1] for row in data.rows],
        "label": [-1] * n,
    }

    def fill(row_id: str) -> Request:
        question = Question(row_id, row_id, "", (Clip(row_id),))
        return Request(question, (data.audio(row_id),))

    return plan_extraction(
        extractor_for(timed), rows, fill, list(timed.sites), out / "features" / name,
        store="float32", rows_per_block=ROWS_PER_BLOCK, dataset=dataset,
    )  # fmt: skip


def read_embeddings(name: str, timed: TimedEmbeddings, out: Path) -> EncoderEvidence | None:
    """One encoder's embeddings of all rows; None while some are not extracted."""
    features = Features.open(out / "features" / name)
    if set(timed.sites) - set(features.sites):
        return None
    described = timed.description
    revision = described.get("commit") or described.get("revision") or described.get("content")
    layers = {site: features.matrix(site) for site in timed.encoder.layers}
    scores = features.matrix(ZERO_SHOT) if timed.labels else None
    wall_s = features.matrix(WALL_S)[:, 0].astype(np.float64)
    return EncoderEvidence(name, layers, scores, wall_s, str(revision))
