"""One item of a run: its questions and labels, every answer, and how each parser reads it."""

import difflib
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.audits.items import Items
from otoscope.audits.runs import ANSWER_SCHEMA, attempts, deciding
from otoscope.registry import UnknownName
from otoscope.reports.scoring import DEFAULT_PARSER, score_runs
from otoscope.reports.terminal import indented, setting, visible
from otoscope.responses import PARSERS, Parsed, open_parser, parser_title
from otoscope.responses.signs import Signs, signs_of

N_NEAR = 3
ANSWER_TEXT = frozenset({"question_id", "text", "status", "first_text", "reasoning"})
OWN_LINE = frozenset({
    "question_id", "id", "label", "labels", "parser", "prompt_name", "prompt", "audio_ids",
    "audio_sha256", "prediction", "rule", "exact", "outcome",
})  # fmt: skip


class ParsedAttempt(NamedTuple):
    """One attempt at a question.

    Attributes:
        line: Its line of the answers file.
        decides: Whether it is the one that is scored.
        parsed: For each parser what it reads in the text.
        signs: Of the text, for the question's own parser, or the default where it has none.
    """

    line: Mapping[str, Any]
    decides: bool
    parsed: dict[str, Parsed]
    signs: Signs


@dataclass(frozen=True)
class QuestionRecord:
    """One question about the item: its scored row, and every attempt."""

    row: Mapping[str, Any]
    attempts: tuple[ParsedAttempt, ...]


@dataclass(frozen=True)
class ItemRecord:
    """One item of a run.

    Attributes:
        columns: The dataset's row without its audio; empty where no dataset was given.
        same_audio: Whether the dataset has the audio of the run; None where that is not known.
    """

    id: str
    questions: tuple[QuestionRecord, ...]
    columns: Mapping[str, Any]
    same_audio: bool | None

    def text(self) -> str:
        """For a terminal, with control characters escaped."""
        lines = [f"id  {visible(self.id)}"]
        lines += [f"{visible(name)}  {visible(setting(v))}" for name, v in self.columns.items()]
        if self.same_audio is not None:
            same = "the same as in the run" if self.same_audio else "NOT the same as in the run"
            lines.append(f"audio in the dataset  {same}")
        for question in self.questions:
            lines += ["", *_question(question)]
        return "\n".join(lines)


def show(run: Path | str, name: str, dataset: Items | None = None) -> ItemRecord:
    """Everything that a run has on one item.

    Args:
        name: An id, for all questions about it, or a question_id, for that one.
        dataset: Where the item is from, see `open_items`; adds its columns, compares its audio.

    Raises:
        RunError: Not a run.
        LookupError: The run, or the dataset, has no such item; near names are given.
        DatasetError: The dataset has no audio for it.
    """
    (scored,) = score_runs([run])
    answers = scored.answers
    rows = answers[(answers["id"] == name) | (answers["question_id"] == name)].to_dict("records")
    if not rows:
        raise UnknownName(_unknown(name, run, answers["id"], answers["question_id"]))
    lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in attempts(Path(run)):
        lines[line["question_id"]].append(line)
    questions = tuple(_with_attempts(row, lines[row["question_id"]]) for row in rows)
    item: str = rows[0]["id"]
    if dataset is None:
        return ItemRecord(item, questions, {}, None)
    columns = next((row for row in dataset.rows if row["id"] == item), None)
    if columns is None:
        raise UnknownName(f"the dataset has no row {item!r}")
    sha256 = hashlib.sha256(dataset.audio_bytes(item)).hexdigest()
    same = all(sha256 in (row["audio_sha256"] or ()) for row in rows)
    return ItemRecord(item, questions, columns, same)


def _unknown(name: str, run: Path | str, ids: Iterable[str], question_ids: Iterable[str]) -> str:
    known = list(dict.fromkeys(ids))
    candidates = [*known, *question_ids] if "|" in name else known
    near = difflib.get_close_matches(name, candidates, n=N_NEAR)
    near = near or [each for each in known if name and name in each][:N_NEAR]
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"it has {len(known)} ids"
    some = f", such as {known[0]!r}" if known and not near else ""
    return f"{run} has no item {name!r}; {hint}{some}"


def _with_attempts(row: dict[str, Any], lines: list[dict[str, Any]]) -> QuestionRecord:
    numbered = [{**line, "position": i} for i, line in enumerate(lines)]
    last = deciding(numbered).get(row["question_id"], {}).get("position")
    name = row["parser"] or DEFAULT_PARSER
    own, labels = open_parser(name), set(row["labels"] or ())
    parsers = {n: p for n, p in PARSERS.items() if labels.intersection(p.labels)} | {name: own}
    found = tuple(
        ParsedAttempt(
            line,
            i == last,
            {name: parse(line["text"]) for name, parse in parsers.items()},
            signs_of(line["text"], own, truncated=bool(line.get("text_truncated"))),
        )
        for i, line in enumerate(lines)
    )
    return QuestionRecord(row, found)


def _question(question: QuestionRecord) -> list[str]:
    row = question.row
    clips = zip(row["audio_ids"] or (), row["audio_sha256"] or (), strict=False)
    columns = {
        name: value
        for name, value in row.items()
        if value not in (None, "") and name not in OWN_LINE and name not in ANSWER_SCHEMA.names
    }
    prediction, parser = row["prediction"] or "no prediction", row["parser"]
    title = parser_title(parser) if parser else "none"
    lines = [
        f"question  {visible(row['question_id'])}",
        *(f"  {visible(name)}  {visible(setting(value))}" for name, value in columns.items()),
        *(f"  clip  {visible(name or '–')}  sha256 {visible(sha or '–')}" for name, sha in clips),
        "  prompt:",
        indented(row["prompt"] or "", "  | "),
        f"  labels  {visible(setting(row['labels']))}",
        f"  reference  {visible(setting(row['label']))}",
        f"  outcome  {row['outcome']}: {visible(prediction)} (parser {visible(title)})",
    ]
    if not question.attempts:
        lines.append("  no answer")
    for i, attempt in enumerate(question.attempts, start=1):
        lines += _attempt(i, attempt, parser)
    return lines


def _attempt(number: int, attempt: ParsedAttempt, own: str) -> list[str]:
    line = attempt.line
    scored = " (scored)" if attempt.decides else ""
    lines = [f"  answer {number}{scored}  {visible(line['status'])}"]
    if line.get("first_text") is not None:
        lines += ["    text before the retry:", indented(line["first_text"], "    | ")]
    if line.get("reasoning") is not None:
        lines += ["    reasoning:", indented(line["reasoning"], "    | ")]
    if line["text"] is not None:
        lines += ["    text:", indented(line["text"], "    | ")]
    else:
        lines.append("    no text")
    for name, value in line.items():
        if name not in ANSWER_TEXT and value not in (None, "", False):
            lines.append(f"    {visible(name)}  {visible(setting(value))}")
    marks = [name for name, there in attempt.signs._asdict().items() if there is True]
    lines.append(f"    shape and signs  {', '.join([attempt.signs.shape, *marks])}")
    for name, (label, rule) in attempt.parsed.items():
        mark = " *" if name == own else ""
        lines.append(f"    {parser_title(name)}{mark}  {visible(label or 'no label')} ({rule})")
    return lines
