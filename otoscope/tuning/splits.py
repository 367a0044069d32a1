"""Which clips are for training and which for validation."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from otoscope.registry import Registry
from otoscope.tuning.config import TuningError

VALIDATION_SHARE = 0.1
"""Of the clips, or of the sources."""

TrainingColumns = Mapping[str, Sequence[Any]]
"""`id`, `clip_id`, `category`, `label` (from 0), `source_id` and `split`."""


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

    The splits `train` and `validation` are taken together, in the order of the rows. One generator
    shuffles the clips of each label in turn, from the highest to 0.

    Raises:
        TuningError: There are too few clips for a tenth of them to be one.
    """
    rng, validation = Random(seed), set()
    for label in sorted(set(rows["label"]), reverse=True):
        indices = [n for n, own in enumerate(rows["label"]) if own == label]
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


def _sorted_split(rows: TrainingColumns, held_out: Sequence[bool]) -> TrainValidationSplit:
    def key(index: int) -> tuple[str, str]:
        return str(rows["category"][index]), str(rows["clip_id"][index] or rows["id"][index])

    indices = sorted(range(len(held_out)), key=key)
    return TrainValidationSplit(
        tuple(n for n in indices if not held_out[n]),
        tuple(n for n in indices if held_out[n]),
    )
