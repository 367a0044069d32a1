"""Log-probabilities of the labels of a closed question, read where an answer begins.

A prompt that offers options by letter is answered by a letter, so it is the letter's probability
that belongs to a label there; elsewhere it is that of the label's own words. A server shows only
the likeliest tokens of each position, which is enough for letters: each is one token.
"""

import math
from collections.abc import Mapping
from typing import Any

from otoscope.prompts.parts import Question
from otoscope.responses import open_parser

MOST_TOKENS = 20
"""Likeliest tokens of a position: the most that servers give."""

AROUND = " \t\n\r.,:;()[]{}*`\"'▁Ġ"
"""What a token may hold around a letter."""

NO_LETTERS = "no label scores: this server compares lettered options only, and the prompt has none"
NOT_GIVEN = "no label scores: the server gives no log-probabilities of tokens"
NO_LETTER_FIRST = "no label scores: the answer does not begin with the letter of an option"


def answer_words(question: Question) -> dict[str, str]:
    """Each label of a question, with the text by which an answer names it.

    A label is its own word, unless the prompt gives options letters.
    """
    parser = open_parser(question.parser) if question.parser else None
    letters = parser.letters if parser else {}
    by_label = {label: letter for letter, label in letters.items()}
    return {label: by_label.get(label, label) for label in question.labels}


def by_label(
    scores: Mapping[str, float] | None, words: Mapping[str, str]
) -> dict[str, float] | None:
    """Scores by label instead of by the text that names it."""
    return None if scores is None else {label: scores[word] for label, word in words.items()}


def letters_of(question: Question) -> dict[str, str]:
    """The letter of each label; empty where the labels have no letters."""
    words = answer_words(question)
    lettered = all(len(word) == 1 and word.isupper() for word in words.values())
    return words if lettered else {}


def letter_scores(
    reply: Mapping[str, Any], letters: Mapping[str, str]
) -> tuple[dict[str, float] | None, str]:
    """Log-probabilities of labels where a chat completion begins, and why there are none.

    Tokens that hold the same letter, such as `A` and ` A`, are one label: their probabilities are
    added. A label whose letter is not among the tokens shown has no score.

    Args:
        reply: The chat completion, as JSON.
        letters: Label to letter.

    Returns:
        Label to log-probability in nats, at most 0, or None with the reason.
    """
    positions = _positions(reply)
    if not positions:
        return None, NOT_GIVEN
    first = next((p for p in positions if _bare(p.get("token"))), None)
    if first is None or _bare(first["token"]) not in letters.values():
        return None, NO_LETTER_FIRST
    shown = {str(t["token"]): t["logprob"] for t in [first, *_list(first, "top_logprobs")]
             if _bare(t.get("token")) and _is_log_probability(t.get("logprob"))}  # fmt: skip
    scores = {}
    for label, letter in letters.items():
        own = [math.exp(score) for token, score in shown.items() if _bare(token) == letter]
        if total := min(sum(own), 1.0):
            scores[label] = math.log(total)
    return (scores, "") if scores else (None, NOT_GIVEN)


def _positions(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tokens of the first choice, each with the likeliest ones in its place."""
    choice = next(iter(_list(reply, "choices")), {})
    found = choice.get("logprobs")
    return _list(found, "content") if isinstance(found, dict) else []


def _list(of: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = of.get(name)
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def _bare(token: Any) -> str:
    return token.strip(AROUND) if isinstance(token, str) else ""


def _is_log_probability(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value <= 1e-6
