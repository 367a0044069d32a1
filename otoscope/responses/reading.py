"""Many answers read by one rule."""

from collections.abc import Iterable
from typing import NamedTuple

from otoscope.responses import open_parser
from otoscope.responses.thinking import apart_from_thinking

EXACT_RULE = {"paper": "strict"}  # the published exact-match rate takes the two bare words only


class Reading(NamedTuple):
    """What a rule makes of answers, one entry each.

    Attributes:
        labels: The label, or None where the answer is unparsed.
        rules: The rule that fired.
        exact: Whether the answer, apart from its thoughts, is nothing but an offered word.
    """

    labels: list[str | None]
    rules: list[str]
    exact: list[bool]


def read_answers(texts: Iterable[str | None], parser: str = "paper") -> Reading:
    """Reads every answer with the parser of that name.

    >>> read_answers(["Increase", "It increases.", None])
    Reading(labels=['increase', 'increase', None], rules=['one direction', 'one direction', 'empty'], exact=[True, False, False])

    Raises:
        LookupError: No parser has that name.
    """  # noqa: E501
    parse, words = open_parser(parser), open_parser(EXACT_RULE.get(parser, parser)).words
    texts = list(texts)
    parsed = {text: parse(text) for text in set(texts)}
    bare = {text: _answer_in(text).strip().lower() in words for text in parsed}
    return Reading(
        [parsed[text].label for text in texts],
        [parsed[text].rule for text in texts],
        [bare[text] for text in texts],
    )


def _answer_in(text: str | None) -> str:
    return apart_from_thinking(text or "").answer
