"""The questions of a perception audit over several splits: what a model is looked into with.

    asked = open_splits("./vocalgrad", prompt="main")
    asked.rows["label"], asked.fill(asked.rows["question_id"][0])

Each question is the one that `otoscope run` would ask about that row, sound and words alike.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets

from otoscope.audits.items import DatasetError, splits_in
from otoscope.audits.perception import Perception, plan
from otoscope.models.base import Request
from otoscope.prompts.labels import LABEL_NAMES

NAMED = 5
"""So many rows are named in a message."""


@dataclass(frozen=True)
class Splits:
    """Questions in order, split by split. Made by `open_splits`.

    Attributes:
        plans: Split to what is asked of it.
        rows: Column to values, one for each question: those of a plan, `split`, `label` (0
            decrease, 1 increase, -1 neither) and `label_name`, and what the dataset says besides.
    """

    plans: Mapping[str, Perception]
    rows: Mapping[str, Sequence[Any]]

    def fill(self, question_id: str) -> Request:
        """A question with its sound."""
        plans = (plan for plan in self.plans.values() if question_id in plan.questions)
        return next(plans).fill(question_id)

    def refuse_unheard(self, max_audio_s: float | None = None) -> None:
        """Refuses clips that cannot be read, or are longer than a model hears.

        Raises:
            DatasetError: There are some; they are counted, and the first are named.
        """
        lengths = list(zip(self.rows["id"], self.rows["audio_s"], strict=True))
        unreadable = [name for name, length in lengths if math.isnan(length)]
        if unreadable:
            raise DatasetError(
                f"{len(unreadable)} clips cannot be read, {_first(unreadable)}; leave their rows "
                "out of the dataset"
            )
        long = [name for name, length in lengths if max_audio_s and length > max_audio_s]
        if long:
            raise DatasetError(
                f"{len(long)} clips are longer than the {max_audio_s:g} s that the model hears, "
                f"{_first(long)}; leave them out, or look at their beginning with --on-long flag"
            )


def open_splits(
    dataset: str | Path | datasets.Dataset,
    splits: Sequence[str] = (),
    *,
    configs: Sequence[str] = (),
    prompt: str = "main",
    revision: str | None = None,
    limit_sources: int | None = None,
) -> Splits:
    """Plans the questions of some splits.

    Args:
        dataset: A folder, a Hub repository, or a dataset in memory, which is one split, `test`.
        splits: Which; all of them when empty.
        configs: Which configs; the default when empty.
        prompt: A name in `PROMPTS`, or `own`.
        revision: For a Hub repository.
        limit_sources: Take so many sources of each split.

    Raises:
        DatasetError, LookupError, ValueError: What is missing or unknown is named; a row is in two
            splits, or is asked about with several clips.
    """
    plans = {
        split: plan(
            dataset,
            configs=configs,
            prompts=[prompt],
            split=split,
            revision=revision,
            limit_sources=limit_sources,
        )
        for split in splits or _every_split(dataset, configs, revision)
    }
    rows: dict[str, list[Any]] = {}
    seen: dict[str, str] = {}
    for split, planned in plans.items():
        said = {row["id"]: row for row in planned.items.rows}
        for row in planned.rows():
            if row["id"] in seen and seen[row["id"]] != split:
                raise DatasetError(
                    f"row {row['id']!r} is in the splits {seen[row['id']]!r} and {split!r}"
                )
            seen[row["id"]] = split
            for name, value in _columns(row, said[row["id"]], split).items():
                rows.setdefault(name, []).append(value)
    return Splits(plans, rows)


def _columns(asked: Mapping[str, Any], said: Mapping[str, Any], split: str) -> dict[str, Any]:
    label = asked["label"]
    return {
        **{name: asked[name] for name in asked if name != "label"},
        "clip_id": said.get("clip_id"),
        "audio_sha256": " ".join(asked["audio_sha256"]),
        "label_name": label,
        "label": LABEL_NAMES.index(label) if label in LABEL_NAMES else -1,
        "split": split,
    }


def _every_split(
    dataset: str | Path | datasets.Dataset, configs: Sequence[str], revision: str | None
) -> list[str]:
    if isinstance(dataset, datasets.Dataset):
        return ["test"]
    return splits_in(dataset, configs, revision)


def _first(names: Sequence[str]) -> str:
    more = ", …" if len(names) > NAMED else ""
    return f"{', '.join(map(repr, names[:NAMED]))}{more}"
