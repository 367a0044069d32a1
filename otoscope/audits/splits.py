"""The questions of a perception audit over several splits, for extraction and fine-tuning.

    splits = open_splits("./vocalgrad", prompt="main")
    splits.rows["label"], splits.fill(splits.rows["question_id"][0])

Each question is the one that `otoscope run` puts about that row, audio and text alike.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import datasets

from otoscope.audits.opening import DatasetError, DatasetLike, splits_in
from otoscope.audits.perception import plan
from otoscope.audits.plans import Plan
from otoscope.errors import first_names
from otoscope.models.base import Request
from otoscope.prompts.labels import LABEL_NAMES

HOW_TO_BUILD_TRAIN = (
    "build one that has it, from the clone's root: python -m builders.vocalgrad build "
    "--source voices:12 --splits train,test --out vocalgrad-train"
)


@dataclass(frozen=True)
class Splits:
    """Questions in order, split by split. Made by `open_splits`.

    Attributes:
        plans: Plan of each split.
        rows: Column to values, one for each question: those of a plan, `split`, `clip_id`, `row`
            (place in the published manifest, or None), `label_name`, and `label`: its index in the
            names of labels (0 decrease, 1 increase), or -1 where it is none of them.
    """

    plans: Mapping[str, Plan]
    rows: Mapping[str, Sequence[Any]]

    def fill(self, question_id: str) -> Request:
        """A question with its audio."""
        plans = (plan for plan in self.plans.values() if question_id in plan.questions)
        return next(plans).fill(question_id)

    def validate_audio(self, max_audio_s: float | None = None) -> None:
        """Rejects clips that cannot be read or are longer than a model's input.

        Raises:
            DatasetError: There are such clips; they are counted, and the first are named.
        """
        lengths = list(zip(self.rows["id"], self.rows["audio_s"], strict=True))
        unreadable = [name for name, length in lengths if math.isnan(length)]
        if unreadable:
            raise DatasetError(
                f"{len(unreadable)} clips cannot be read, {first_names(unreadable)}; leave "
                "their rows out of the dataset"
            )
        long = [name for name, length in lengths if max_audio_s and length > max_audio_s]
        if long:
            raise DatasetError(
                f"{len(long)} clips are longer than the model's input of {max_audio_s:g} s, "
                f"{first_names(long)}; leave them out, or use their beginning with --on-long flag"
            )


def open_splits(
    dataset: DatasetLike,
    splits: Sequence[str] = (),
    *,
    configs: Sequence[str] = (),
    prompt: str = "main",
    revision: str | None = None,
    limit_sources: int | None = None,
) -> Splits:
    """Plans the questions of some splits.

    Args:
        dataset: Where the clips are; one in memory is the split `test`.
        splits: Which; all of them when empty.
        configs: Which configs; the default when empty.
        prompt: A name in `PROMPTS`, or `own`.
        limit_sources: Take at most so many sources of each split.

    Raises:
        DatasetError, LookupError, ValueError: What is missing or unknown is named; a row is in two
            splits.
    """
    if not splits:
        in_memory = isinstance(dataset, datasets.Dataset)
        splits = ["test"] if in_memory else splits_in(dataset, configs, revision)
    plans = {
        split: plan(
            dataset,
            configs=configs,
            prompts=[prompt],
            split=split,
            revision=revision,
            limit_sources=limit_sources,
        )
        for split in splits
    }
    rows: dict[str, list[Any]] = {}
    seen: dict[str, str] = {}
    for split, planned in plans.items():
        dataset_rows = {row["id"]: row for row in planned.items.rows}
        for row in planned.rows():
            if row["id"] in seen and seen[row["id"]] != split:
                raise DatasetError(
                    f"row {row['id']!r} is in the splits {seen[row['id']]!r} and {split!r}"
                )
            seen[row["id"]] = split
            label = row["label"]
            more = {
                "clip_id": dataset_rows[row["id"]].get("clip_id"),
                "row": _place(dataset_rows[row["id"]].get("row")),
                "audio_sha256": " ".join(row["audio_sha256"]),
                "label_name": label,
                "label": LABEL_NAMES.index(label) if label in LABEL_NAMES else -1,
                "split": split,
            }
            for name, value in (row | more).items():
                rows.setdefault(name, []).append(value)
    return Splits(plans, rows)


def _place(value: Any) -> int | None:
    """A row number; a column of that name with anything else is not ours."""
    return value if isinstance(value, int) and value >= 0 else None
