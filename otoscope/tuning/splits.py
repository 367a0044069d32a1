"""Which clips teach and which tell how it went."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from otoscope.registry import Registry
from otoscope.tuning.config import TuningError

SHARE = 0.1
"""Of the clips, or of the sources, that validate."""

Columns = Mapping[str, Sequence[Any]]
"""`id`, `clip_id`, `category`, `label` (0 decrease, 1 increase), `source_id` and `split`."""


class TrainValidationSplit(NamedTuple):
    """Places of rows, each part in the order of category and clip id."""

    train: tuple[int, ...]
    validation: tuple[int, ...]


def by_source(rows: Columns, seed: int) -> TrainValidationSplit:
    """Validation on sources that taught nothing.

    Where the dataset has a split `validation`, that is it. Otherwise a tenth of the sources, drawn
    by lot.

    Args:
        rows: Of the splits `train` and `validation`.
        seed: Of the lot.

    Raises:
        TuningError: There is one source only, or one that is in both splits.
    """
    sources = [str(name) for name in rows["source_id"]]
    known = sorted(set(sources))
    if "validation" in rows["split"]:
        apart = [split == "validation" for split in rows["split"]]
        held = {name for name, is_held in zip(sources, apart, strict=True) if is_held}
        tiny_job = {name for name, is_held in zip(sources, apart, strict=True) if not is_held}
        if both := sorted(held & tiny_job):
            raise TuningError(
                f"{len(both)} sources are in train and in validation, such as {both[0]!r}; "
                "validate by clip with --validation paper, or give splits that share none"
            )
        return _sorted_parts(rows, apart)
    if len(known) < 2:
        raise TuningError(
            f"all clips are of one source, {known[0]!r}: none is left to validate with; give more "
            "sources, or validate by clip with --validation paper"
        )
    Random(seed).shuffle(known)
    held = set(known[: max(1, round(SHARE * len(known)))])
    return _sorted_parts(rows, [name in held for name in sources])


def by_clip(rows: Columns, seed: int) -> TrainValidationSplit:
    """The published division: a tenth of the clips of each label, so every source is in both parts.

    The splits `train` and `validation` are taken together, in the order of the rows. One generator
    shuffles the clips labelled increase, then those labelled decrease.

    Raises:
        TuningError: There are too few clips for a tenth of them to be one.
    """
    lot, held = Random(seed), set()
    for label in (1, 0):
        places = [n for n, own in enumerate(rows["label"]) if own == label]
        n_held = round(SHARE * len(places))
        if not n_held:
            raise TuningError(
                f"a tenth of {len(places)} clips is none: too few to validate by clip"
            )
        lot.shuffle(places)
        held |= set(places[:n_held])
    return _sorted_parts(rows, [n in held for n in range(len(rows["label"]))])


VALIDATION_SPLITS: Registry[Callable[[Columns, int], TrainValidationSplit]] = Registry(
    "split", {"source": by_source, "paper": by_clip}
)


def _sorted_parts(rows: Columns, held: Sequence[bool]) -> TrainValidationSplit:
    def key(place: int) -> tuple[str, str]:
        return str(rows["category"][place]), str(rows["clip_id"][place] or rows["id"][place])

    places = sorted(range(len(held)), key=key)
    return TrainValidationSplit(
        tuple(n for n in places if not held[n]),
        tuple(n for n in places if held[n]),
    )
