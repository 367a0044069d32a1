"""Two runs side by side: what differs in how they were made, and which questions they share.

Questions are the same when their `question_id` is, and their clips and their right answer too. Two
runs that each ask in one way, and not in the same one, are joined by the `id` of the row instead:
the same clips, asked about in other words.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from otoscope.audits.runs import RunError, load_run, read_about

Row = Mapping[str, Any]
FIRST_SAID = ("model", "revision", "adapter", "prompt", "generation", "version")
UNTOLD = frozenset({"created", "schema", "plan_sha256"})  # plans are compared row by row
N_NAMED = 3


class Different(NamedTuple):
    """Something that two runs do not have in common; None where a run does not have it."""

    name: str
    first: Any
    second: Any


class Pairing(NamedTuple):
    """Questions of two runs.

    Attributes:
        pairs: What both ask, in the order of the first.
        by: What they were joined by.
        only_first, only_second: Keys that the other does not have.
        other_audio: Keys of questions about other clips, under the same name.
        other_answer: Keys of questions with another right answer or other answers to choose from.
    """

    pairs: list[tuple[Row, Row]]
    by: Literal["question_id", "id"]
    only_first: list[str]
    only_second: list[str]
    other_audio: list[str]
    other_answer: list[str]


def read_run(run: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What run.json says, and each planned question with its deciding attempt.

    Raises:
        RunError: Not a run, of another schema, or damaged.
    """
    return read_about(run), load_run(run).to_list()


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Different]:
    """What two run.json files say differently, models and prompts first.

    >>> differences({"model": {"name": "a", "seed": 1}}, {"model": {"name": "b", "seed": 1}})
    [Different(name='model.name', first='a', second='b')]
    """
    flat_first, flat_second = _flat(first), _flat(second)
    names = dict.fromkeys((*flat_first, *flat_second))
    found = [
        Different(name, flat_first.get(name), flat_second.get(name))
        for name in names
        if name not in UNTOLD and flat_first.get(name) != flat_second.get(name)
    ]
    return sorted(found, key=lambda d: (_rank(d.name), d.name))


def _flat(about: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in about.items():
        if isinstance(value, Mapping) and value:
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[before + name] = value
    return flat


def _rank(name: str) -> int:
    hits = [rank for rank, word in enumerate(FIRST_SAID) if word in name]
    return min(hits, default=len(FIRST_SAID))


def pair(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> Pairing:
    """Joins the questions of two runs.

    Raises:
        RunError: A plan has the same question twice.
    """
    asked = [{row["prompt_name"] for row in rows} for rows in (first, second)]
    other_words = len(asked[0]) == len(asked[1]) == 1 and asked[0] != asked[1]
    by: Literal["question_id", "id"] = "id" if other_words else "question_id"
    left, right = _by_key(first, by), _by_key(second, by)
    pairs: list[tuple[Row, Row]] = []
    other_audio, other_answer = [], []
    for key, row in left.items():
        if key not in right:
            continue
        other = right[key]
        if _sound(row, other_words) != _sound(other, other_words):
            other_audio.append(key)
        elif _answers(row) != _answers(other):
            other_answer.append(key)
        else:
            pairs.append((row, other))
    return Pairing(
        pairs,
        by,
        [key for key in left if key not in right],
        [key for key in right if key not in left],
        other_audio,
        other_answer,
    )


def _by_key(rows: Iterable[dict[str, Any]], by: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row[by] in found:
            raise RunError(f"a plan has {row[by]!r} twice, so its answers cannot be told apart")
        found[row[by]] = row
    return found


def _sound(row: Row, own_clip_only: bool) -> list[str | None]:
    """Hashes of the clips; only of what the question is about where examples may come before it."""
    hashes = list(row["audio_sha256"] or ())
    ids = list(row["audio_ids"] or ())
    if own_clip_only and len(ids) == len(hashes):
        return [sha for name, sha in zip(ids, hashes, strict=True) if name == row["id"]]
    return hashes


def _answers(row: Row) -> tuple[str | None, list[str]]:
    return row["label"], sorted(row["labels"] or ())


def refuse_unlike(pairing: Pairing, names: tuple[str, str]) -> None:
    """Nothing, if both runs ask about the same.

    Raises:
        RunError: They do not; how many and some of them are named.
    """
    found = [
        (f"only in {names[0]}", pairing.only_first),
        (f"only in {names[1]}", pairing.only_second),
        ("about other audio under the same name", pairing.other_audio),
        ("with another right answer or other answers to choose from", pairing.other_answer),
    ]
    unlike = [f"{_counted(keys)} {what} ({_some(keys)})" for what, keys in found if keys]
    if unlike:
        shared = len(pairing.pairs)
        rest = f"--common compares the {shared} they share" if shared else "they share no question"
        raise RunError(f"the runs do not ask the same: {'; '.join(unlike)}; {rest}")


def _counted(keys: list[str]) -> str:
    return f"{len(keys)} question{'' if len(keys) == 1 else 's'}"


def _some(keys: list[str]) -> str:
    more = ", …" if len(keys) > N_NAMED else ""
    return ", ".join(repr(key) for key in keys[:N_NAMED]) + more


def wording(pairing: Pairing) -> list[Different]:
    """Texts and parsers that differ between questions joined to one another."""
    found = []
    for name, column in (("text", "prompt"), ("parser", "parser")):
        unlike = [(a[column], b[column]) for a, b in pairing.pairs if a[column] != b[column]]
        if unlike:
            found.append(Different(f"{name} of {len(unlike)} questions, as in", *unlike[0]))
    return found


def shown(value: Any) -> str:
    """A setting as text."""
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
