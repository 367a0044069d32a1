"""Raw answers by the parser rule that fired on them, and how many it may have misread."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from otoscope.responses import open_parser
from otoscope.responses.signs import SHAPES, Signs, signs_of

MARKS = Signs._fields[1:]
BLIND = tuple(mark for mark in MARKS if mark.startswith("blind"))


class DistinctAnswer(NamedTuple):
    """One distinct raw text, its count, and its parse."""

    rule: str
    label: str | None
    n: int
    text: str | None
    signs: Signs


class ParseAudit(NamedTuple):
    """All answers by rule, and their sums.

    Attributes:
        answers: Distinct texts; rules in the parser's order, the most frequent text first.
        n: How many answers there are.
        by_rule: Answers for each rule, zeros included; those after thinking where there are any.
        by_shape: Answers for each shape, zeros included.
        marks: Answers for each mark of `Signs`, and `blind`: those with any kind of blindness.
    """

    answers: tuple[DistinctAnswer, ...]
    n: int
    by_rule: dict[str, int]
    by_shape: dict[str, int]
    marks: dict[str, int]

    def rows(self) -> list[dict[str, object]]:
        """The answers as flat rows, for a table or CSV."""
        return [
            {"rule": a.rule, "label": a.label, "n": a.n, **a.signs._asdict(), "text": a.text}
            for a in self.answers
        ]


def audit_texts(
    texts: Iterable[str | None],
    *,
    parser: str = "paper",
    text_truncated: Sequence[bool | None] | None = None,
) -> ParseAudit:
    """Tabulates raw answers; equal texts are one entry.

    Args:
        texts: Raw answers; None where there is none.
        parser: A name in `PARSERS`.
        text_truncated: Whether each was cut at the token limit; None where it is not known.

    Raises:
        LookupError: No parser has that name.
        ValueError: There are not as many flags as texts.

    >>> audit_texts(["Increase", "It does not increase.", "increasing"]).marks["blind"]
    2
    """
    rule_of = open_parser(parser)
    texts = list(texts)
    flags = [None] * len(texts) if text_truncated is None else text_truncated
    if len(flags) != len(texts):
        raise ValueError(f"{len(texts)} texts, but {len(flags)} flags for truncation")
    usual = (*rule_of.rules, "empty")
    rules = (*usual, *rule_of.rules_after_thinking)
    answers = []
    for (text, cut), n in Counter(zip(texts, map(bool, flags), strict=True)).items():
        label, rule = rule_of(text)
        answers.append(DistinctAnswer(rule, label, n, text, signs_of(text, rule_of, truncated=cut)))
    answers.sort(key=lambda a: (rules.index(a.rule), -a.n, a.text or "", a.text is None, a.signs))
    by_rule = Counter[str]()
    for each in answers:
        by_rule[each.rule] += each.n
    return ParseAudit(
        answers=tuple(answers),
        n=len(texts),
        by_rule={rule: n for rule in rules if (n := by_rule[rule]) or rule in usual},
        by_shape={shape: sum(a.n for a in answers if a.signs.shape == shape) for shape in SHAPES},
        marks={mark: sum(a.n for a in answers if getattr(a.signs, mark)) for mark in MARKS}
        | {"blind": sum(a.n for a in answers if any(getattr(a.signs, mark) for mark in BLIND))},
    )
