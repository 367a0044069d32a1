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

from otoscope.responses.base import AFTER_THINKING, Parser
from otoscope.responses.letters import LETTERS
from otoscope.responses.thinking import apart_from_thinking
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
LATIN = r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"
JOINED = re.compile(rf"(?<={LATIN})(?=\w)(?!{LATIN})|(?<=\w)(?<!{LATIN})(?={LATIN})")
NO = re.compile(r"\bno\b( \w)?", re.IGNORECASE)  # before a word it is no answer
LETTER = re.compile(rf"\b(?:[B-{LETTERS[-1]}]|A(?! [a-z]))\b(?!')")  # "A voice" has an article
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
            Its own words count where it does not see them: in other widths ("Ｉｎｃｒｅａｓｅ"), or
            joined to another script ("答案是increase"); so do letters that are not marked.
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
    raw = text or ""
    answer, _, unfinished = apart_from_thinking(raw)
    plain, parsed = _plain(answer), parser(raw)
    patterns = patterns_of(parser.words)
    known = {label for label, found in patterns.items() if found.search(answer)}
    negated, over = False, set[str | None]()
    if set(LETTERS) <= set(parser.labels):
        if parsed.rule.removesuffix(AFTER_THINKING) in ("no letter", "marked letter"):
            over |= set(LETTER.findall(plain)) - {parsed.label}
        missed = bool(over)
    else:
        over |= {label for label, found in patterns.items() if found.search(plain)} - known
        if "increase" in parser.labels:
            words = {word.lower() for word in DIRECTED_WORD.findall(plain)}
            over |= {DIRECTED.get(word) for word in words if word not in parser.words or not known}
            negated = bool(NEGATED.search(plain))
        missed = bool(over) and (not known or (parsed.label is not None and over != {parsed.label}))
    shown = (raw, _plain(raw)) if unfinished else (answer, plain)
    first_hit = parsed.rule.removesuffix(AFTER_THINKING) == "first hit"
    opening = WORD.match(plain.lstrip(OPENERS))
    answers_first = opening is not None and opening[0].lower() in parser.words
    no = NO.search(plain) if parsed.label == "no" and not answers_first else None
    return Signs(
        shape=_shape(*shown, parser, truncated or unfinished),
        refusing=bool(REFUSING.search(plain)),
        uncertain=bool(DOUBTING.search(plain)),
        negated=negated,
        unseen=bool(over),
        blind_negation=negated and parsed.label is not None,
        blind_words=missed,
        blind_first_hit=first_hit and (len(known) > 1 or bool(no and no[1])),
    )


def _plain(text: str) -> str:
    """Usual widths, straight apostrophes, single blanks, no underscores, scripts apart.

    Nothing invisible is left inside words, and Latin letters that are joined to letters of another
    script or to digits stand apart from them.
    """
    visible = "".join(c for c in text if unicodedata.category(c) != "Cf")
    usual = unicodedata.normalize("NFKC", visible).replace("’", "'").replace("_", " ")
    return " ".join(JOINED.sub(" ", usual).split())


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
