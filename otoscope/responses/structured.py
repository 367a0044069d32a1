"""Parsers of answers that are to be JSON, as judges give them.

JSON counts where it is the whole answer, in the one fenced block, or between the first brace and
the last. A key that is given twice with two values, or several objects that disagree, are no
answer. A reply may also be named alone in the last line; nothing else is guessed.

Source: `docs/papers.md`, counterfactual judge audits, prompts; first brace to last is the authors'.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from otoscope.responses.base import Parsed, Parser

FENCE = re.compile(r"```[A-Za-z]*\s*\n?(.*?)```", re.DOTALL)
TOKEN = re.compile(r"\b(R[12]|C[AB])\b", re.IGNORECASE)
LAST = re.compile(r"\b(?:R[12]|C[AB])\b[\s\"'“”’*_`.)\]}!。]*$", re.IGNORECASE)

JSON_RULES = ("json", "fenced json", "embedded json")
FAILED = ("no json", "contradictory json", "no such key", "invalid label")
MATCHINGS = ("CA=R1 CB=R2", "CA=R2 CB=R1")
EMOTIONS = (
    "anger", "sadness", "surprise", "neutral", "happy", "sad", "angry", "hesitant", "impatient",
    "frazzled", "joy", "fear", "disgust",
)  # fmt: skip
"""Every label that a perception probe may offer; another one than the question's is wrong."""


class _Contradiction(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if made.setdefault(key.strip().lower(), value) != value:
            raise _Contradiction
    return made


def _loads(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except _Contradiction:
        raise
    except (ValueError, RecursionError):
        return None


def find_object(text: str) -> tuple[dict[str, Any] | None, str]:
    """The JSON object of an answer and where it stands, or None and why.

    Keys are in lower case.

    >>> find_object('Sure: {"pred": "R1"}')
    ({'pred': 'R1'}, 'embedded json')
    """
    try:
        if isinstance(found := _loads(text.strip()), dict):
            return found, "json"
        fenced = [own for block in FENCE.findall(text) if isinstance(own := _loads(block), dict)]
        if fenced:
            same = all(own == fenced[0] for own in fenced)
            return (fenced[0], "fenced json") if same else (None, "contradictory json")
        first, last = text.find("{"), text.rfind("}")
        if 0 <= first < last and isinstance(found := _loads(text[first : last + 1]), dict):
            return found, "embedded json"
    except _Contradiction:
        return None, "contradictory json"
    return None, "no json"


def _reader(
    key: str, value_of: Callable[[Any], str | None], *, tokens: Mapping[str, str] | None = None
) -> Callable[[str], Parsed]:
    """A rule that reads one key; `tokens` may stand alone in the last line instead."""

    def decide(text: str) -> Parsed:
        found, rule = find_object(text)
        if found is not None:
            if key not in found:
                return Parsed(None, "no such key")
            label = value_of(found[key])
            return Parsed(label, rule if label is not None else "invalid label")
        if rule == "no json" and tokens is not None and "{" not in text:
            last = text.strip().splitlines()[-1]
            named = {token.upper() for token in TOKEN.findall(last)}
            if len(named) == 1 and LAST.search(last) and (label := tokens.get(named.pop())):
                return Parsed(label, "last token")
        return Parsed(None, rule)

    return decide


def _word(words: Mapping[str, str]) -> Callable[[Any], str | None]:
    return lambda value: (
        words.get(" ".join(value.split()).strip(".").lower()) if isinstance(value, str) else None
    )


def _matching(value: Any) -> str | None:
    if not isinstance(value, dict) or set(value) != {"ca", "cb"}:
        return None
    pair = [own.strip().upper() if isinstance(own, str) else None for own in value.values()]
    by_key = dict(zip(value, pair, strict=True))
    label = f"CA={by_key['ca']} CB={by_key['cb']}"
    return label if label in MATCHINGS else None


def _emotions(value: Any) -> str | None:
    if not isinstance(value, dict) or not value:
        return None
    read = _word({name: name for name in EMOTIONS})
    found = {key: read(own) for key, own in value.items()}
    if None in found.values() or not all(key.isdecimal() for key in found):
        return None
    return trajectory_text({int(key): str(label) for key, label in found.items()})


def trajectory_text(emotions: Mapping[int, str]) -> str:
    """Emotions by turn as the label of a question.

    >>> trajectory_text({3: "sad", 1: "neutral"})
    '1=neutral 3=sad'
    """
    return " ".join(f"{turn}={emotions[turn]}" for turn in sorted(emotions))


def trajectory_of(text: str) -> dict[int, str]:
    """The emotions by turn of a label as `trajectory_text` writes it.

    >>> trajectory_of("1=neutral 3=sad")
    {1: 'neutral', 3: 'sad'}
    """
    parts = (part.partition("=") for part in text.split())
    return {int(turn): emotion for turn, _, emotion in parts}


_REPLIES, _CONTEXTS = {"r1": "R1", "r2": "R2"}, {"ca": "CA", "cb": "CB"}
_LABELS = {name: name for name in EMOTIONS}
RULES = (*JSON_RULES, *FAILED)

REPLY_CHOICE = Parser(
    _REPLIES,
    (*RULES, "last token"),
    _reader("pred", _word(_REPLIES), tokens={"R1": "R1", "R2": "R2"}),
)
CONTEXT_CHOICE = Parser(
    _CONTEXTS,
    (*RULES, "last token"),
    _reader("pred", _word(_CONTEXTS), tokens={"CA": "CA", "CB": "CB"}),
)
REPLY_MATCHING = Parser(
    {label.lower(): label for label in MATCHINGS}, RULES, _reader("pred", _matching)
)
EMOTION = Parser(_LABELS, RULES, _reader("emotion", _word(_LABELS)))
EMOTION_TRAJECTORY = Parser({}, RULES, _reader("emotions", _emotions))
