"""What became of each planned question: the one rule by which runs are scored.

A verdict is always made anew from the raw answer. Only an answer whose call ended well (`ok`) is
read; one that was refused, filtered, failed or never came has no label, whatever text it carries.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from otoscope.models.base import Status
from otoscope.responses import PARSERS

PARSED, UNPARSED, UNANSWERED = "parsed", "unparsed", "unanswered"
DEFAULT_PARSER = "paper"


class Verdict(NamedTuple):
    """What an answer says and whether that is right.

    Attributes:
        label: What it says, or None.
        correct: Whether that is the right answer; never where there is no label.
        outcome: `parsed`, `unparsed`, `unanswered`, or the status of a call that ended badly.
        rule: Which rule read it, or None where there was nothing to read.
    """

    label: str | None
    correct: bool
    outcome: str
    rule: str | None


def parser_of(row: Mapping[str, Any]) -> str:
    """Name of the parser that a planned question is read by."""
    return row["parser"] or DEFAULT_PARSER


def verdict(row: Mapping[str, Any]) -> Verdict:
    """The verdict on a row of `otoscope.audits.load_run`.

    Raises:
        LookupError: The plan names a parser that does not exist.
    """
    if row["status"] is None:
        return Verdict(None, False, UNANSWERED, None)
    if row["status"] != Status.OK:
        return Verdict(None, False, row["status"], None)
    label, rule = PARSERS[parser_of(row)](row["text"])
    if label is None:
        return Verdict(None, False, UNPARSED, rule)
    return Verdict(label, label == row["label"], PARSED, rule)


def verdicts(rows: Iterable[Mapping[str, Any]]) -> list[Verdict]:
    """The verdict on each row."""
    return [verdict(row) for row in rows]
