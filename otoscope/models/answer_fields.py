"""The types that fields of an answer may have, whoever wrote them: a model of yours or a file."""

from collections.abc import Callable, Mapping
from typing import Any

INT64 = 2**63
"""What a count must be below, to be stored."""


def _plain(value: Any) -> Any:
    """The Python value of a scalar of NumPy or torch."""
    return value.item() if hasattr(value, "item") else value


def _is_number(value: Any) -> bool:
    """Whether it is a number, and one that float64 holds exactly."""
    value = _plain(value)
    return isinstance(value, float) or (type(value) is int and abs(value) <= 2**53)


def _is_count(value: Any) -> bool:
    value = _plain(value)
    return type(value) in (int, float) and abs(value) < INT64 and value == int(value)


def _is_flag(value: Any) -> bool:
    return isinstance(_plain(value), bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_scores(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_number, value.values()))


_FIELD_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("audio_truncated", "text_truncated"), (_is_flag, "a bool")),
    **dict.fromkeys(("n_tokens_in", "n_tokens_out"), (_is_count, "a whole number or None")),
    "wall_s": (_is_number, "a number"),
    "logprobs": (_are_scores, "a mapping to numbers or None"),
    "cost": (_is_number, "a number or None"),
    "detail": (_is_text, "a str"),
    **dict.fromkeys(("text", "first_text", "reasoning"), (_is_text, "a str or None")),
}


def validate_fields(answer: Mapping[str, Any]) -> None:
    """Raises TypeError where a field of an answer has a value of another type."""
    for name, (fits, kind) in _FIELD_TYPES.items():
        value = answer.get(name)
        unset = value is None and (name not in answer or kind.endswith("None"))
        if not unset and not fits(value):
            raise TypeError(f"an answer's {name} is {kind}, not {value!r}")
