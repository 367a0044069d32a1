"""Raw answers of a run by the rule that fired on them, and what the rules may be blind to.

Every planned question is in it exactly once. Answers whose call ended well are read by their
question's own parser, or by the one asked for; the others are listed by status, unread.
"""

import csv
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from otoscope.models.base import Status
from otoscope.reports.pairing import read_run
from otoscope.reports.terminal import Column, table, visible
from otoscope.reports.verdicts import UNANSWERED, parser_of
from otoscope.responses.audit import MARKS, Audit, audit
from otoscope.responses.signs import SHAPES

UNREAD = "not read"
N_SHOWN = 10
LONGEST = 300
MEANINGS = {
    "blind": "answers that the rule may be blind to",
    "blind_negation": "a label was taken although a direction is negated (does not increase)",
    "blind_words": "a direction in words the rule does not see (increasing, louder)",
    "blind_first_hit": "the first word was taken although a later one contradicts it",
    "refusing": "say that they cannot or will not answer",
    "uncertain": "hedge",
    "negated": "negate a direction",
    "unseen": "name a direction in a word the rule did not see",
}


@dataclass(frozen=True)
class RunAudit:
    """All answers of a run.

    Attributes:
        run: Its folder, as given.
        n_planned: Questions in its plan.
        by_parser: For each parser the answers read by it.
        unread: By status and text, how many answers were not read.
    """

    run: str
    n_planned: int
    by_parser: dict[str, Audit]
    unread: dict[tuple[str, str | None], int]

    def rows(self) -> list[dict[str, Any]]:
        """Distinct texts as flat rows: read ones by parser and rule, then those not read."""
        rows: list[dict[str, Any]] = [
            {"parser": parser, "status": Status.OK.value, **row}
            for parser, found in self.by_parser.items()
            for row in found.rows()
        ]
        for (status, text), n in self.unread.items():
            rows.append({"parser": None, "status": status, "rule": UNREAD, "n": n, "text": text})
        return rows

    def to_csv(self) -> str:
        """The rows as CSV, texts as they came."""
        buffer = io.StringIO()
        head = ["parser", "status", "rule", "label", "n", "shape", *MARKS, "text"]
        writer = csv.DictWriter(buffer, head, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows())
        return buffer.getvalue()


def audit_run(run: Path | str, *, parser: str | None = None) -> RunAudit:
    """Tabulates the raw answers of a run.

    Args:
        run: A run folder.
        parser: A name in `PARSERS` to read every answer by, instead of each question's own.

    Raises:
        RunError: Not a run.
        LookupError: No parser has that name.
    """
    _, rows = read_run(Path(run))
    of: dict[str, list[dict[str, Any]]] = {parser: []} if parser else {}
    unread: Counter[tuple[str, str | None]] = Counter()
    for row in rows:
        if row["status"] == Status.OK:
            of.setdefault(parser or parser_of(row), []).append(row)
        else:
            unread[row["status"] or UNANSWERED, row["text"]] += 1
    return RunAudit(
        str(run),
        len(rows),
        {
            name: audit(
                [row["text"] for row in answered],
                parser=name,
                text_truncated=[row["text_truncated"] for row in answered],
            )
            for name, answered in sorted(of.items())
        },
        dict(sorted(unread.items(), key=lambda u: (u[0][0], -u[1], u[0][1] or ""))),
    )


def print_audit(found: RunAudit, console: Console, *, n_texts: int = N_SHOWN) -> None:
    """Prints sums and, for each rule, the most frequent texts.

    Args:
        found: What to print.
        console: Where.
        n_texts: How many texts of each rule.
    """

    def say(line: str) -> None:
        console.print(Text(line), soft_wrap=True)

    n_read = sum(each.n for each in found.by_parser.values())
    say(f"{visible(found.run)}: {found.n_planned} questions planned, {n_read} answers read.")
    for parser, each in found.by_parser.items():
        say(f"\nParser {parser}: {each.n} answers")
        console.print(_sums(each))
        say(_blind(parser, each))
        console.print(_texts(each, n_texts))
    if found.unread:
        say(f"\nNot read: {sum(found.unread.values())}")
        rows = [[status, str(n), _short(text)] for (status, text), n in found.unread.items()]
        heads = (Column("status"), Column("n", True), Column("text"))
        console.print(table(heads, [*rows[:n_texts], *_rest(rows[n_texts:], 1)]))


def _sums(each: Audit) -> Any:
    """Rules down, shapes across."""
    counts: Counter[tuple[str, str]] = Counter()
    for answer in each.answers:
        counts[answer.rule, answer.signs.shape] += answer.n
    shapes = [shape for shape in SHAPES if each.by_shape[shape]]
    heads = (Column("rule"), Column("n", True), *(Column(shape, True) for shape in shapes))
    rows = [
        [rule, str(n), *(str(counts[rule, shape]) for shape in shapes)]
        for rule, n in each.by_rule.items()
    ]
    rows.append(["all", str(each.n), *(str(each.by_shape[shape]) for shape in shapes)])
    return table(heads, rows)


def _blind(parser: str, each: Audit) -> str:
    n = each.marks["blind"]
    share = f" ({100 * n / each.n:.1f} %)" if each.n else ""
    lines = [f"{n} of {each.n} answers may say something that rule {parser} is blind to{share}."]
    lines += [
        f"  {each.marks[mark]} {MEANINGS[mark]}"
        for mark in MEANINGS
        if mark != "blind" and each.marks[mark]
    ]
    return "\n".join(lines)


def _texts(each: Audit, n_texts: int) -> Any:
    rows: list[list[str]] = []
    for rule in each.by_rule:
        of_rule = [
            [
                rule,
                answer.label or "–",
                str(answer.n),
                answer.signs.shape,
                ", ".join(mark for mark in MARKS if getattr(answer.signs, mark)),
                _short(answer.text),
            ]
            for answer in each.answers
            if answer.rule == rule
        ]
        rows += [*of_rule[:n_texts], *_rest(of_rule[n_texts:], 2)]
    heads = ("rule", "label", "n", "shape", "marks", "text")
    return table([Column(head, head == "n") for head in heads], rows)


def _rest(rows: list[list[str]], column: int) -> list[list[str]]:
    """One row that stands for those not shown."""
    if not rows:
        return []
    made = [""] * len(rows[0])
    made[0] = rows[0][0]
    made[column] = str(sum(int(row[column]) for row in rows))
    made[-1] = f"({len(rows)} more texts)"
    return [made]


def _short(text: str | None) -> str:
    if text is None:
        return "(no text)"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"
