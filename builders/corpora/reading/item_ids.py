"""Ids that can be parts of a published clip id, where `__` separates the parts."""

import re

from builders.corpora.base import CorpusError

SAFE = re.compile(r"[A-Za-z0-9.-]+(?:_[A-Za-z0-9.-]+)*")
UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


def safe_id(name: str) -> str:
    """`name` with every run of other characters than letters, digits, dots and hyphens as one `_`.

    >>> safe_id("wav48/p225/p225__001")
    'wav48_p225_p225_001'

    Raises:
        CorpusError: Nothing is left of it.
    """
    safe = UNSAFE.sub("_", name).strip("_")
    if not safe:
        raise CorpusError(
            f"no id can be made of {name!r}, which has no Latin letter or digit; "
            "rename it or give an item_id"
        )
    return safe


def check_id(name: str, *, where: str) -> str:
    """`name` itself, when it is safe as it stands.

    Raises:
        CorpusError: It is not.
    """
    if SAFE.fullmatch(name) is None:
        raise CorpusError(
            f"{where}: the id {name!r} must consist of letters, digits, dots, hyphens and single "
            "underscores between them"
        )
    return name


def reject_duplicates(things_of: dict[str, list[str]], *, kind: str) -> None:
    """Rejects an id that stands for more than one thing.

    Args:
        things_of: The things that have each id.
        kind: Of the ids, for the message.

    Raises:
        CorpusError: Naming two of the things.
    """
    for name, things in things_of.items():
        if len(things) > 1:
            raise CorpusError(
                f"{things[0]} and {things[1]} have the same {kind} {name!r}; "
                f"rename one of them or give each its own {kind}"
            )
