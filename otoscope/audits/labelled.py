"""A labelled dataset: clips with one label each of a closed set, in two splits.

    data = open_labelled("./animals")
    data.labels, data.rows[0].label, data.audio(data.rows[0].id)

Columns: `audio` and `label` (a ClassLabel, whose order of names is kept, or text), and `id` or a
file name; the rest is optional: `task`, `text` (words that a question quotes), `transcript`,
`cluster_id`, `speaker_id`, `source_id`. A VocalGrad folder is one as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import datasets

from otoscope.audits.items import Items, open_items
from otoscope.audits.opening import DatasetError, DatasetLike, dataset_name, splits_in
from otoscope.errors import first_names
from otoscope.models.base import AudioInput

DEVELOPMENT, HOLDOUT = "development", "holdout"
SPLIT_PAIRS = (
    (DEVELOPMENT, HOLDOUT), ("dev", "holdout"), ("dev", "test"), ("train", "test"),
    ("validation", "test"), ("train", "validation"),
)  # fmt: skip
"""Names of the two splits; the first pair of which a dataset has both counts."""

CLUSTERS = ("cluster_id", "source_id", "speaker_id")
"""Columns that may say which rows are resampled together; the first that is there counts."""

DEFAULT_TASK = "generic"
NEEDED = ("id", "audio", "label")


@dataclass(frozen=True)
class LabelledRow:
    """One clip and what is known of it.

    Attributes:
        split: `development` or `holdout`, whatever the dataset calls them.
        cluster_id: What is resampled together; the row's own id where nothing is known.
        text: Words that a question quotes, such as the sentence of speech–text matching.
    """

    id: str
    split: str
    label: str
    cluster_id: str
    speaker_id: str | None
    source_id: str | None
    text: str | None
    transcript: str | None


@dataclass(frozen=True)
class LabelledData:
    """Rows of both splits, with their audio at hand. Made by `open_labelled`.

    Attributes:
        task: The value of the column `task`, or `generic`.
        labels: The closed set, in the order of its ClassLabel, else sorted.
        rows: Development, then hold-out, each in dataset order.
        splits: Names of the two splits in the dataset.
    """

    task: str
    labels: tuple[str, ...]
    rows: tuple[LabelledRow, ...]
    splits: tuple[str, str]
    items: Items

    def audio(self, row_id: str) -> AudioInput:
        """A row's audio, channels averaged.

        Raises:
            AudioError: It cannot be read; the row is named.
        """
        return self.items.audio(row_id)

    def facts(self, row_id: str) -> tuple[str, float]:
        """SHA-256 of a row's audio bytes, and its length in seconds; NaN if it is not audio."""
        return self.items.facts(row_id)

    def of(self, split: str) -> tuple[LabelledRow, ...]:
        """Rows of `development` or `holdout`."""
        return tuple(row for row in self.rows if row.split == split)


def open_labelled(
    dataset: DatasetLike | Mapping[str, datasets.Dataset],
    *,
    config: str | None = None,
    development: str | None = None,
    holdout: str | None = None,
    revision: str | None = None,
    cluster: str | None = None,
    task: str | None = None,
    where: Sequence[str] = (),
) -> LabelledData:
    """Opens both splits of a labelled dataset.

    Args:
        dataset: A folder, a Hub repository, or two splits in memory.
        config: The default one when absent.
        development, holdout: Names of its splits; see `SPLIT_PAIRS` when absent.
        revision: Needed for a Hub repository.
        cluster: The column of what is resampled together; see `CLUSTERS` when absent.
        task: Instead of what the column `task` says.
        where: Take rows with `COLUMN=VALUE` alone, for each of these.

    Raises:
        DatasetError: A split, a column or a label is missing, a row is in both splits, or there is
            only one label; it is named.
    """
    name = "in memory" if isinstance(dataset, Mapping) else dataset_name(dataset)
    splits = _splits(dataset, name, config, development, holdout, revision)
    parts = [_items(dataset, config, split, revision) for split in splits]
    for part, split in zip(parts, splits, strict=True):
        part.rows = _kept(name, split, part.rows, where)
    labels = _labels(name, parts)
    rows = [
        _row(row, split, name, cluster)
        for split, part in zip((DEVELOPMENT, HOLDOUT), parts, strict=True)
        for row in part.rows
    ]
    both = parts[0]
    _validate_apart(name, parts)
    both.extend(parts[1])
    return LabelledData(task or _task(name, both), labels, tuple(rows), splits, both)


def _splits(
    dataset: Any,
    name: str,
    config: str | None,
    development: str | None,
    holdout: str | None,
    revision: str | None,
) -> tuple[str, str]:
    if isinstance(dataset, Mapping):
        there = list(dataset)
    elif isinstance(dataset, datasets.Dataset):
        raise DatasetError("a dataset in memory needs both splits: give a DatasetDict")
    else:
        there = splits_in(dataset, [config] if config else [], revision)
    for wanted in filter(None, (development, holdout)):
        if wanted not in there:
            raise DatasetError(f"{name} has no split {wanted!r}; it has {', '.join(there)}")
    for first, second in SPLIT_PAIRS:
        pair = development or first, holdout or second
        if pair[0] != pair[1] and set(pair) <= set(there):
            return pair
    if development and holdout:
        raise DatasetError(f"development and hold-out are both the split {development!r}")
    if len(there) < 2:
        raise DatasetError(
            f"{name} has one split, {', '.join(there)}, and two are needed: "
            "`python -m builders.labelled_folder build` divides clips into development and holdout"
        )
    raise DatasetError(
        f"{name} has the splits {', '.join(there)}; name two with --development and --holdout"
    )


def _items(dataset: Any, config: str | None, split: str, revision: str | None) -> Items:
    if isinstance(dataset, Mapping):
        return open_items(dataset[split], needed=NEEDED)
    configs = [config] if config else []
    return open_items(dataset, configs, split=split, revision=revision, needed=NEEDED)


def _kept(
    name: str, split: str, rows: list[dict[str, Any]], where: Sequence[str]
) -> list[dict[str, Any]]:
    for condition in where:
        column, equals, value = condition.partition("=")
        if not equals or not rows or column not in rows[0]:
            there = ", ".join(rows[0]) if rows else "no rows"
            raise DatasetError(f"{name}: {condition!r} is no COLUMN=VALUE; there are {there}")
        values = sorted({str(row[column]) for row in rows})
        rows = [row for row in rows if str(row[column]) == value]
        if not rows:
            raise DatasetError(
                f"{name}: no row of {split} has {condition}; {column} is {first_names(values, 8)}"
            )
    return rows


def _labels(name: str, parts: Sequence[Items]) -> tuple[str, ...]:
    declared = {part.class_names.get("label") for part in parts}
    if len(declared) > 1:
        raise DatasetError(f"{name}: its two splits declare other labels: {declared}")
    (names,) = declared
    if names is None:
        names = tuple(sorted({str(row["label"]) for part in parts for row in part.rows}))
    if len(names) < 2:
        raise DatasetError(f"{name}: a closed set needs two labels or more; there is {names}")
    return names


def _row(row: Mapping[str, Any], split: str, name: str, cluster: str | None) -> LabelledRow:
    if row["label"] is None or not str(row["label"]).strip():
        raise DatasetError(f"{name}: row {row['id']!r} has no label")
    if cluster is not None and row.get(cluster) in (None, ""):
        raise DatasetError(f"{name}: row {row['id']!r} has no {cluster!r} to cluster by")
    columns = [cluster] if cluster else CLUSTERS
    clusters = [text for column in columns if (text := _text(row, column)) is not None]
    return LabelledRow(
        id=row["id"],
        split=split,
        label=str(row["label"]),
        cluster_id=clusters[0] if clusters else row["id"],
        speaker_id=_text(row, "speaker_id"),
        source_id=_text(row, "source_id"),
        text=_text(row, "text"),
        transcript=_text(row, "transcript"),
    )


def _text(row: Mapping[str, Any], column: str) -> str | None:
    return None if row.get(column) in (None, "") else str(row[column])


def _validate_apart(name: str, parts: Sequence[Items]) -> None:
    development, holdout = ({row["id"] for row in part.rows} for part in parts)
    if shared := sorted(development & holdout):
        raise DatasetError(f"{name}: in development and in hold-out: {first_names(shared)}")


def _task(name: str, items: Items) -> str:
    tasks = sorted({str(row["task"]) for row in items.rows if row.get("task") not in (None, "")})
    if len(tasks) > 1:
        raise DatasetError(f"{name} is about several tasks: {first_names(tasks)}")
    return tasks[0] if tasks else DEFAULT_TASK
