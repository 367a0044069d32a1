"""Which clips are for training and which for validation."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from otoscope.registry import Registry
from otoscope.tuning.config import TuningError

VALIDATION_SHARE = 0.1
"""Of the clips, or of the sources."""

TrainingColumns = Mapping[str, Sequence[Any]]
"""`id`, `clip_id`, `category`, `label` (from 0), `source_id`, `split`; and maybe `row`."""


class TrainValidationSplit(NamedTuple):
    """Row indices, both in the order of category and clip id."""

    train: tuple[int, ...]
    validation: tuple[int, ...]


def by_source(rows: TrainingColumns, seed: int) -> TrainValidationSplit:
    """Validation on sources that are not in training.

    Where the dataset has a split `validation`, that is it. Otherwise a random tenth of the sources.

    Raises:
        TuningError: There is one source only, or one that is in both splits.
    """
    sources = [str(name) for name in rows["source_id"]]
    known = sorted(set(sources))
    if "validation" in rows["split"]:
        held_out = [split == "validation" for split in rows["split"]]
        validation = {name for name, held in zip(sources, held_out, strict=True) if held}
        train = {name for name, held in zip(sources, held_out, strict=True) if not held}
        if both := sorted(validation & train):
            raise TuningError(
                f"{len(both)} sources are in train and in validation, such as {both[0]!r}; "
                "validate by clip with --validation paper, or give splits that share none"
            )
        return _sorted_split(rows, held_out)
    if len(known) < 2:
        raise TuningError(
            f"all clips are of one source, {known[0]!r}: none is left for validation; give more "
            "sources, or validate by clip with --validation paper"
        )
    Random(seed).shuffle(known)
    validation = set(known[: max(1, round(VALIDATION_SHARE * len(known)))])
    return _sorted_split(rows, [name in validation for name in sources])


def by_clip(rows: TrainingColumns, seed: int) -> TrainValidationSplit:
    """The published split: a tenth of the clips of each label, so sources are in both parts.

    The splits `train` and `validation` are taken together. One generator shuffles the clips of each
    label in turn, from the highest to 0, after they were put in the order of the published
    manifest: that of `row`, whatever the order in which the splits were joined. Clips without that
    column, or with nothing in it, stay as they come.

    Source: VocalGrad, appendix C.9; the order, the seed and the draws are in the authors' data.

    Raises:
        TuningError: There are too few clips for a tenth of them to be one.
    """
    rng, validation = Random(seed), set()
    order = _manifest_order(rows)
    for label in sorted(set(rows["label"]), reverse=True):
        indices = [n for n in order if rows["label"][n] == label]
        n_held = round(VALIDATION_SHARE * len(indices))
        if not n_held:
            raise TuningError(
                f"a tenth of {len(indices)} clips is none: too few to validate by clip"
            )
        rng.shuffle(indices)
        validation |= set(indices[:n_held])
    return _sorted_split(rows, [n in validation for n in range(len(rows["label"]))])


VALIDATION_SPLITS: Registry[Callable[[TrainingColumns, int], TrainValidationSplit]] = Registry(
    "validation split", {"source": by_source, "paper": by_clip}
)


def _manifest_order(rows: TrainingColumns) -> list[int]:
    """Indices by category and `row`; as they come where a row of the category has none."""
    n_rows = len(rows["label"])
    places = rows.get("row") or [None] * n_rows
    by_category: dict[str, list[int]] = {}
    for n in range(n_rows):
        by_category.setdefault(str(rows["category"][n]), []).append(n)
    for indices in by_category.values():
        if all(places[n] is not None and places[n] >= 0 for n in indices):
            indices.sort(key=lambda n: places[n])
    return [n for indices in by_category.values() for n in indices]


def _sorted_split(rows: TrainingColumns, held_out: Sequence[bool]) -> TrainValidationSplit:
    def key(index: int) -> tuple[str, str]:
        return str(rows["category"][index]), str(rows["clip_id"][index] or rows["id"][index])

    indices = sorted(range(len(held_out)), key=key)
    return TrainValidationSplit(
        tuple(n for n in indices if not held_out[n]),
        tuple(n for n in indices if held_out[n]),
    )
