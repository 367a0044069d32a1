"""The label of a row: a ClassLabel integer, a name, or none."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from otoscope.errors import InvalidValue

ItemRow = Mapping[str, Any]
"""A row of a dataset without its audio, see `otoscope.audits.items.Items`."""

LABEL_NAMES = ("decrease", "increase")
"""Names of the ClassLabel integers 0 and 1 in every config of a perception dataset."""


def label_of(row: ItemRow, names: Sequence[str] = LABEL_NAMES) -> str | None:
    """The name of a row's label, or None where it has none.

    Args:
        row: Needs `id` for the message; `label` may be an int, a name, or missing.
        names: What integers stand for.

    Raises:
        ValueError: The label is none of `names`.

    >>> label_of({"id": "a", "label": 1}), label_of({"id": "b", "label": "decrease"})
    ('increase', 'decrease')
    """
    label = row.get("label")
    if label is None:
        return None
    if isinstance(label, str) and label in names:
        return label
    is_integer = isinstance(label, Integral) and not isinstance(label, bool)
    if is_integer and label in range(len(names)):
        return names[int(label)]
    raise InvalidValue(f"row {row['id']!r} has label {label!r}; it must be one of {list(names)}")
