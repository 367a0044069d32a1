"""Signs that an answer is more than its rule makes of it. Never used for scoring.

Signs are found by lists of words, all of them below. They show where to look, not what an answer
means: "not only increases" looks negated here, and "louder at the start" looks like a rise.

Shapes, the first that fits:

- `empty`: nothing, or white space.
- `exact`: nothing but a word the parser knows.
- `word with marks`: that word in punctuation, quotes or markdown.
- `other word`: one word that the parser does not know, or only marks.
- `truncated`: several words, cut at the token limit, as the run says.
- `open end`: several words without a final mark; may be cut where the run does not say.
- `sentence`: several words that end in a final mark.
"""

import re
import unicodedata
from typing import NamedTuple

from otoscope.responses.base import Parser
from otoscope.responses.words import patterns_of

SHAPES = (
    "empty", "exact", "word with marks", "other word", "truncated", "open end", "sentence",
)  # fmt: skip
RISES = (
    "increase increases increasing increased increasingly rise rises rising rose risen raise "
    "raises raising raised upward upwards grow grows growing grew grown climb climbs climbing "
    "climbed accelerate accelerates accelerating accelerated louder faster higher noisier clearer "
    "rougher stronger"
)
FALLS = (
    "decrease decreases decreasing decreased decreasingly fall falls falling fell fallen drop "
    "drops dropping dropped decline declines declining declined downward downwards lessen lessens "
    "lessening lessened reduce reduces reducing reduced diminish diminishes diminishing diminished "
    "fade fades fading faded decelerate decelerates decelerating decelerated quieter softer slower "
    "lower weaker"
)
DIRECTED = dict.fromkeys(RISES.split(), "increase") | dict.fromkeys(FALLS.split(), "decrease")
_SENSES = "(?:determine|hear|listen|process|access|answer|assist|help|tell|analy[sz]e|identify)"
REFUSALS = (
    "sorry",
    "(?:unable|not able|not possible|impossible) to",
    rf"(?:cannot|can't|can not|could not|couldn't) (?:\w+ly )?{_SENSES}",
    "(?:do not|don't) have (?:the |any )?(?:ability|access|capability|audio)",
    "(?:as|i am|i'm) an? (?:ai|language model|text-based)",
    "(?:no|without|without the|without access to) (?:audio|sound|recording)",
    "please (?:provide|upload|share)",
)
DOUBTS = (
    "not (?:sure|clear|certain)",
    "unsure|uncertain|unclear|ambiguous|inconclusive|insufficient",
    "(?:difficult|hard|challenging) to",
    "might|maybe|perhaps|possibly|could be",
    "may (?:be|have|not)",
    "(?:seems?|appears?) to",
)
NEGATIONS = r"not|\w+n't|cannot|never|no|neither|nor|without|rather than|instead of"
REFUSING = re.compile(rf"\b(?:{'|'.join(REFUSALS)})\b", re.IGNORECASE)
DOUBTING = re.compile(rf"\b(?:{'|'.join(DOUBTS)})\b", re.IGNORECASE)
NEGATED = re.compile(  # up to three words between, in one clause
    rf"\b(?:{NEGATIONS})(?: [\w'-]+){{0,3}} (?:{'|'.join(DIRECTED)})\b", re.IGNORECASE
)
WORD = re.compile(r"\w+(?:['-]\w+)*")
NO = re.compile(r"\bno\b( \w)?", re.IGNORECASE)  # before a word it is no answer
DIRECTED_WORD = re.compile(rf"\b(?:{'|'.join(DIRECTED)})\b", re.IGNORECASE)
FINAL_MARKS = (".", "!", "?", "。", "…")
OPENERS = "\"'“‘«([{*# "
CLOSERS = "\"'”»)]}* "


class Signs(NamedTuple):
    """What an answer looks like beside what a rule made of it.

    Attributes:
        shape: One of `SHAPES`.
        refusing: It says that it cannot or will not answer.
        uncertain: It hedges.
        negated: A negation stands up to three words before a direction, in the same clause.
        unseen: It names a direction in a word that the rule did not see.
        blind_negation: The rule took a label although a direction is negated.
        blind_words: What the rule did not see is all there is, or contradicts the label it took.
        blind_first_hit: The rule took the first word although a later one contradicts it, or took
            the "no" of "there is no difference" for an answer.
    """

    shape: str
    refusing: bool
    uncertain: bool
    negated: bool
    unseen: bool
    blind_negation: bool
    blind_words: bool
    blind_first_hit: bool


def signs_of(text: str | None, parser: Parser, *, truncated: bool = False) -> Signs:
    """The signs of one answer; directions are looked for only where the parser reads them.

    An answer is `truncated` if it is known to be cut at the token limit.
    """
    text = text or ""
    plain, parsed = _plain(text), parser(text)
    known = {lb for lb, found in patterns_of(parser.words).items() if found.search(text)}
    negated, unseen, missed = False, False, False
    if "increase" in parser.labels:
        words = {word.lower() for word in DIRECTED_WORD.findall(plain)}
        over = {DIRECTED.get(word) for word in words if word not in parser.words or not known}
        negated, unseen = bool(NEGATED.search(plain)), bool(over)
        missed = unseen and (not known or (parsed.label is not None and over != {parsed.label}))
    opening = WORD.match(plain.lstrip(OPENERS))
    answers_first = opening is not None and opening[0].lower() in parser.words
    no = NO.search(plain) if parsed.label == "no" and not answers_first else None
    return Signs(
        shape=_shape(text, plain, parser, truncated),
        refusing=bool(REFUSING.search(plain)),
        uncertain=bool(DOUBTING.search(plain)),
        negated=negated,
        unseen=unseen,
        blind_negation=negated and parsed.label is not None,
        blind_words=missed,
        blind_first_hit=parsed.rule == "first hit" and (len(known) > 1 or bool(no and no[1])),
    )


def _plain(text: str) -> str:
    """Straight apostrophes, single blanks, no underscores and nothing invisible inside words."""
    visible = "".join(c for c in text if unicodedata.category(c) != "Cf")
    return " ".join(visible.replace("’", "'").replace("_", " ").split())


def _shape(text: str, plain: str, parser: Parser, truncated: bool) -> str:
    words = WORD.findall(plain)
    if not text.strip():
        return "empty"
    if text.strip().lower() in parser.words:
        return "exact"
    if len(words) < 2:
        known = bool(words) and words[0].lower() in parser.words
        return "word with marks" if known else "other word"
    if truncated:
        return "truncated"
    return "sentence" if plain.rstrip(CLOSERS).endswith(FINAL_MARKS) else "open end"
