"""The parser of answers that name one label of any closed set.

Read in this order: the answer is a label; a field of a JSON object; `the answer is LABEL`; one
label, as whole words, anywhere. Two different labels are ambiguous, and a label that is only
negated ("not a cough") is no answer. Longer labels count before the shorter ones that they hold.

The parser is named by all that it goes by, so that a plan needs nothing else to be scored:
`closed_set:{"labels": […], "letters": …, "synonyms": {…}}`.

Source: the order and the rejection of ambiguous answers are ours, see `docs/decisions/0012`.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from string import ascii_uppercase

from otoscope.errors import InvalidValue
from otoscope.responses.base import Parsed, Parser
from otoscope.responses.structured import find_object

PREFIX = "closed_set:"
VERSION = 1
FIELDS = ("label", "answer", "class", "category", "prediction", "choice")
"""Keys of a JSON object that may hold the label; the first that is there counts."""

NEGATIONS = (
    "not", "no", "never", "neither", "nor", "without", "cannot", "isnt", "arent", "wasnt", "dont",
    "doesnt", "didnt",
)  # fmt: skip
NEAR = 3
"""Words before a label among which a negation counts."""

SAYS = re.compile(r"\banswer(?: is| would be)?\b|\b(?:label|class|category) is\b")
APOSTROPHES = re.compile(r"(?<=\w)['’](?=\w)")
SEPARATORS = re.compile(r"[\W_]+")
RULES = (
    "exact", "json", "answer is", "letter", "one label", "ambiguous", "negated", "invalid label",
    "no label",
)  # fmt: skip


def normalised(text: str) -> str:
    """Lower case, no punctuation, `_` and `-` as spaces, single spaces.

    >>> normalised(" “Throat_Clearing”! "), normalised("It isn’t")
    ('throat clearing', 'it isnt')
    """
    plain = APOSTROPHES.sub("", unicodedata.normalize("NFKC", text).lower())
    return SEPARATORS.sub(" ", plain).strip()


def closed_set_name(
    labels: Sequence[str],
    synonyms: Mapping[str, str] | None = None,
    *,
    letters: bool = False,
) -> str:
    """The name of a parser.

    Args:
        labels: The closed set, in the order of its letters where these are offered.
        synonyms: Other words to their label.
        letters: An answer may be the letter of an option, A for the first label.
    """
    known = {"labels": list(labels), "letters": letters, "synonyms": dict(synonyms or {})}
    return PREFIX + json.dumps(known | {"version": VERSION}, sort_keys=True, ensure_ascii=False)


@lru_cache(maxsize=1024)
def parser_of_name(name: str) -> Parser:
    """The parser behind a name of `closed_set_name`.

    Raises:
        InvalidValue: It is no such name, or its labels cannot be told apart.
    """
    try:
        known = json.loads(name.removeprefix(PREFIX))
        return closed_set(known["labels"], known["synonyms"], letters=known["letters"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InvalidValue):
            raise
        raise InvalidValue(f"{name!r} names no parser of a closed set ({error})") from None


def closed_set(
    labels: Sequence[str], synonyms: Mapping[str, str] | None = None, *, letters: bool = False
) -> Parser:
    """A parser of the labels; see `closed_set_name`.

    Raises:
        InvalidValue: Fewer than two labels, a synonym of none of them, or words that mean two.
    """
    if len(set(labels)) < 2:
        raise InvalidValue(f"a closed set needs two labels or more, not {list(labels)}")
    words: dict[str, str] = {}
    for word, label in [*((own, own) for own in labels), *(synonyms or {}).items()]:
        if label not in labels:
            raise InvalidValue(f"{word!r} is a synonym of {label!r}, which is none of the labels")
        if not (key := normalised(word)):
            raise InvalidValue(f"{word!r} has no letter or digit to know it by; rename the label")
        if words.setdefault(key, label) != label:
            raise InvalidValue(
                f"{word!r} would mean both {words[key]!r} and {label!r}: case and marks do not "
                "count, so labels need other letters or digits; rename one"
            )
    by_letter = dict(zip(ascii_uppercase, labels, strict=False)) if letters else {}
    return Parser(words, RULES, _Reader(words, by_letter), by_letter)


class _Reader:
    def __init__(self, words: Mapping[str, str], by_letter: Mapping[str, str]) -> None:
        self.words, self.by_letter = words, by_letter
        longest_first = sorted(map(re.escape, words), key=len, reverse=True)
        self.pattern = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)")

    def __call__(self, text: str) -> Parsed:
        plain = normalised(text)
        if plain in self.words:
            return Parsed(self.words[plain], "exact")
        if (found := self._field(text)) is not None:
            return found
        if self.by_letter and (found := self._letter(text, plain)) is not None:
            return found
        if (found := self._stated(plain)) is not None:
            return found
        named, negated = self._named(plain)
        if len(named | negated) > 1:
            return Parsed(None, "ambiguous")
        if negated:
            return Parsed(None, "negated")
        return Parsed(named.pop(), "one label") if named else Parsed(None, "no label")

    def _field(self, text: str) -> Parsed | None:
        found, _ = find_object(text)
        key = next((key for key in FIELDS if found and key in found), None)
        if found is None or key is None:
            return None
        value = found[key]
        label = self.words.get(normalised(value)) if isinstance(value, str) else None
        if label is None and isinstance(value, str):
            label = self.by_letter.get(value.strip(" .()").upper())
        return Parsed(label, "json" if label else "invalid label")

    def _letter(self, text: str, plain: str) -> Parsed | None:
        """An option's letter that is all there is, or is marked as one; words must agree."""
        letters = "".join(self.by_letter)
        marked = re.findall(
            rf"(?m)^[\s*(\[]*([{letters}])[.):\]*]*\s*$|^[\s*(\[]*([{letters}])[.):\]]\s"
            rf"|[(\[]([{letters}])[)\]]|\b(?i:answer|option)(?i:\s+is)?\s*:?\s*\**([{letters}])\b"
            r"(?!['’])",
            unicodedata.normalize("NFKC", text),
        )
        labels = {self.by_letter[letter] for groups in marked for letter in groups if letter}
        if len(plain) == 1 and plain.upper() in self.by_letter:
            labels.add(self.by_letter[plain.upper()])
        if not labels:
            return None
        named, negated = self._named(plain)
        labels |= named | negated
        return Parsed(labels.pop(), "letter") if len(labels) == 1 else Parsed(None, "ambiguous")

    def _stated(self, plain: str) -> Parsed | None:
        """What follows each `answer is`, up to the next one, if it names a label."""
        stated = [self._named(part)[0] for part in SAYS.split(plain)[1:]]
        labels = set().union(*stated)
        if not labels:
            return None
        return Parsed(labels.pop(), "answer is") if len(labels) == 1 else Parsed(None, "ambiguous")

    def _named(self, plain: str) -> tuple[set[str], set[str]]:
        """Labels named in plain text, and those that are named with a negation before them."""
        named: set[str] = set()
        negated: set[str] = set()
        for match in self.pattern.finditer(plain):
            before = plain[: match.start()].split()[-NEAR:]
            into = negated if set(before).intersection(NEGATIONS) else named
            into.add(self.words[match.group()])
        return named, negated
