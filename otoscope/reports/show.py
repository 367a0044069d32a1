"""One item of a run: what was asked, what is right, all that came back and how it is read."""

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.audits.items import Items
from otoscope.audits.runs import attempts, deciding
from otoscope.registry import UnknownName
from otoscope.reports.pairing import read_run, shown
from otoscope.reports.terminal import indented, visible
from otoscope.reports.verdicts import Verdict, parser_of, verdict
from otoscope.responses import PARSERS, Parsed
from otoscope.responses.signs import Signs, signs_of

N_NEAR = 3
OF_TEXT = frozenset({"question_id", "text", "status", "first_text"})


class Attempt(NamedTuple):
    """One line of a journal.

    Attributes:
        line: What it says.
        decides: Whether it is the one that counts.
        read: For each parser what it makes of the text.
        signs: What the text looks like to the question's own parser.
    """

    line: Mapping[str, Any]
    decides: bool
    read: dict[str, Parsed]
    signs: Signs


@dataclass(frozen=True)
class ShownQuestion:
    """One question about the item, with everything that came back."""

    row: Mapping[str, Any]
    attempts: tuple[Attempt, ...]
    verdict: Verdict


@dataclass(frozen=True)
class Shown:
    """One item of a run.

    Attributes:
        id: Of the dataset's row.
        questions: Those about it.
        columns: The dataset's row without its audio; empty where no dataset was given.
        audio: Whether the dataset's audio is what was asked about; None where that is not known.
    """

    id: str
    questions: tuple[ShownQuestion, ...]
    columns: Mapping[str, Any]
    audio: bool | None

    def text(self) -> str:
        """For a terminal; nothing in it can steer one."""
        lines = [f"id  {visible(self.id)}"]
        lines += [f"{visible(name)}  {visible(shown(v))}" for name, v in self.columns.items()]
        if self.audio is not None:
            same = "the same as was asked about" if self.audio else "NOT what was asked about"
            lines.append(f"audio in the dataset  {same}")
        for question in self.questions:
            lines += ["", *_question(question)]
        return "\n".join(lines)


def show(run: Path | str, name: str, dataset: Items | None = None) -> Shown:
    """Everything a run knows about one item.

    Args:
        run: A run folder.
        name: An id, for all questions about it, or a question_id, for that one.
        dataset: Where the item is from, see `open_items`; adds its columns, compares its audio.

    Raises:
        RunError: Not a run.
        LookupError: The run, or the dataset, has no such item; near names are given.
        DatasetError: The dataset has no audio for it.
    """
    _, rows = read_run(Path(run))
    chosen = [row for row in rows if name in (row["id"], row["question_id"])]
    if not chosen:
        raise UnknownName(_unknown(name, run, rows))
    lines = _lines(Path(run))
    item = chosen[0]["id"]
    columns = {} if dataset is None else _row_of(dataset, item)
    sha256 = None if dataset is None else hashlib.sha256(dataset.audio_bytes(item)).hexdigest()
    return Shown(
        id=item,
        questions=tuple(_with_attempts(row, lines.get(row["question_id"], [])) for row in chosen),
        columns=columns,
        audio=None if sha256 is None else all(_asked_about(row, sha256) for row in chosen),
    )


def _lines(run: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in attempts(run):
        found.setdefault(line["question_id"], []).append(line)
    return found


def _unknown(name: str, run: Path | str, rows: list[dict[str, Any]]) -> str:
    ids = dict.fromkeys(row["id"] for row in rows)
    of_questions = [row["question_id"] for row in rows] if "|" in name else []
    near = difflib.get_close_matches(name, [*ids, *of_questions], n=N_NEAR)
    near = near or [known for known in ids if name and name in known][:N_NEAR]
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"it has {len(ids)} ids"
    some = f", such as {next(iter(ids))!r}" if ids and not near else ""
    return f"{run} has no item {name!r}; {hint}{some}"


def _with_attempts(row: dict[str, Any], lines: list[dict[str, Any]]) -> ShownQuestion:
    numbered = [{**line, "position": i} for i, line in enumerate(lines)]
    last = deciding(numbered).get(row["question_id"], {}).get("position")
    own = PARSERS[parser_of(row)]
    return ShownQuestion(
        row,
        tuple(
            Attempt(
                line,
                i == last,
                {name: parse(line["text"]) for name, parse in PARSERS.items()},
                signs_of(line["text"], own, truncated=bool(line.get("text_truncated"))),
            )
            for i, line in enumerate(lines)
        ),
        verdict(row),
    )


def _row_of(items: Items, name: str) -> dict[str, Any]:
    for row in items.rows:
        if row["id"] == name:
            return row
    raise UnknownName(f"the dataset has no row {name!r}")


def _asked_about(row: Mapping[str, Any], sha256: str) -> bool:
    return sha256 in (row["audio_sha256"] or ())


def _question(question: ShownQuestion) -> list[str]:
    row, found = question.row, question.verdict
    sounds = zip(row["audio_ids"] or (), row["audio_sha256"] or (), strict=False)
    about = {
        name: row[name]
        for name in (
            "category", "attribute", "config", "profile", "direction", "curve", "tier",
            "source_id", "speaker_id", "no_effect", "audio_s",
        )
        if row[name] is not None
    }  # fmt: skip
    said = found.label or "no label"
    right = "right" if found.correct else "not right"
    if row["label"] is None:
        right = "nothing is right or wrong here"
    lines = [
        f"question  {visible(row['question_id'])}",
        *(f"  {name}  {visible(shown(value))}" for name, value in about.items()),
        *(f"  clip  {visible(name or '–')}  sha256 {visible(sha or '–')}" for name, sha in sounds),
        "  asked, word for word:",
        indented(row["prompt"] or "", "  | "),
        f"  answers to choose from  {visible(shown(row['labels']))}",
        f"  right answer  {visible(shown(row['label']))}",
        f"  verdict  {visible(found.outcome)}: {said}, {right} (parser {visible(parser_of(row))})",
    ]
    if not question.attempts:
        lines.append("  never answered")
    for i, attempt in enumerate(question.attempts, start=1):
        lines += _attempt(i, attempt, parser_of(row))
    return lines


def _attempt(number: int, attempt: Attempt, own: str) -> list[str]:
    line = attempt.line
    lines = [
        f"  answer {number}{' (counts)' if attempt.decides else ''}  {visible(line['status'])}"
    ]
    for name, text in (("first try", line.get("first_text")), ("text", line["text"])):
        if text is not None:
            lines += [f"    {name}:", indented(text, "    | ")]
        elif name == "text":
            lines.append("    no text")
    for name, value in line.items():
        if name not in OF_TEXT and value not in (None, "", False):
            lines.append(f"    {visible(name)}  {visible(_setting(value))}")
    marks = [name for name, there in attempt.signs._asdict().items() if there is True]
    lines.append(f"    looks like  {', '.join([attempt.signs.shape, *marks])}")
    for name, (label, rule) in attempt.read.items():
        mark = " *" if name == own else ""
        lines.append(f"    {name}{mark}  {label or 'no label'} ({rule})")
    return lines


def _setting(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
