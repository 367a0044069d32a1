"""Raw answers of a run by the parser rule that fired, and those that the rules may misread.

Every planned question is counted exactly once. Answers whose call ended well are parsed by their
question's own parser, or by the one named; the others are listed by status, unparsed.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from otoscope.models.base import Status
from otoscope.reports.scoring import score_runs
from otoscope.reports.tables import csv_text
from otoscope.reports.terminal import print_line, table, visible
from otoscope.responses import parser_title
from otoscope.responses.parse_audit import BLIND, MARKS, ParseAudit, audit_texts
from otoscope.responses.signs import SHAPES

NOT_PARSED = "not parsed"
N_SHOWN = 10
LONGEST = 300
MEANINGS = {
    "blind_negation": "a label was taken although a direction is negated (does not increase)",
    "blind_words": "a label in words or forms that the rule does not see (increasing, louder)",
    "blind_first_hit": "the first word was taken although a later one contradicts it",
    "refusing": "refuse to answer",
    "uncertain": "hedge",
    "negated": "negate a direction",
    "unseen": "name a label in a form that the rule does not see",
}


@dataclass(frozen=True)
class RunAudit:
    """All answers of a run.

    Attributes:
        run: Its folder, as given.
        n_planned: Questions in its plan.
        by_parser: For each parser the answers parsed by it.
        not_parsed: By status and text, how many answers were not parsed.
    """

    run: str
    n_planned: int
    by_parser: dict[str, ParseAudit]
    not_parsed: dict[tuple[str, str | None], int]

    def rows(self) -> list[dict[str, Any]]:
        """Distinct texts as flat rows: by parser and rule, then those not parsed."""
        rows: list[dict[str, Any]] = [
            {"parser": parser, "status": Status.OK.value, **row}
            for parser, found in self.by_parser.items()
            for row in found.rows()
        ]
        for (status, text), n in self.not_parsed.items():
            row = {"parser": None, "status": status, "rule": NOT_PARSED, "n": n, "text": text}
            rows.append(row)
        return rows

    def to_csv(self) -> str:
        """The rows as CSV, texts unchanged."""
        keys = ["parser", "status", "rule", "label", "n", "shape", *MARKS, "text"]
        return csv_text(keys, self.rows())


def audit_run(run: Path | str, *, parser: str | None = None) -> RunAudit:
    """Tabulates the raw answers of a run.

    Args:
        parser: A name in `PARSERS` to parse every answer by, instead of each question's own.

    Raises:
        RunError: Not a run.
        LookupError: No parser has that name.
    """
    (scored,) = score_runs([run])
    ok = _parsed_by(scored.answers, parser)
    answered, others = scored.answers[ok], scored.answers[~ok]
    statuses = others["status"].where(others["status"].notna(), "unanswered")
    counts = Counter(zip(statuses, others["text"], strict=True))
    return RunAudit(
        str(run),
        len(scored.answers),
        audit_answers(answered, parser=parser),
        dict(sorted(counts.items(), key=lambda u: (u[0][0], -u[1], u[0][1] or ""))),
    )


def audit_answers(answers: pd.DataFrame, *, parser: str | None = None) -> dict[str, ParseAudit]:
    """The scored answers of a run whose call ended well, for each parser that reads them."""
    answers = answers[_parsed_by(answers, parser)]
    by_parser = {parser: answers} if parser else dict(list(answers.groupby("parser")))
    return {
        name: audit_texts(
            own["text"].tolist(), parser=name, text_truncated=own["text_truncated"].tolist()
        )
        for name, own in by_parser.items()
    }


def doubtful_answers(answers: pd.DataFrame) -> str:
    """A warning in words: scores rest on labels that the rules may have misread; empty if none."""
    audits = audit_answers(answers)
    counts = {m: sum(each.marks[m] for each in audits.values()) for m in ("blind", *BLIND)}
    if not counts["blind"]:
        return ""
    n = sum(each.n for each in audits.values())
    kinds = "; ".join(f"{counts[m]:,}: {MEANINGS[m]}" for m in BLIND if counts[m])
    return (
        f"{counts['blind']:,} of {n:,} parsed answers may be misread by their rule ({kinds}). "
        "Scores rest on them; `otoscope audit-parse` lists them."
    )


def _parsed_by(answers: pd.DataFrame, parser: str | None) -> "pd.Series[bool]":
    ok = answers["status"] == Status.OK.value
    return ok if parser else ok & (answers["parser"] != "")


def print_audit(found: RunAudit, console: Console, *, n_texts: int = N_SHOWN) -> None:
    """Prints sums and, for each rule, the `n_texts` most frequent texts."""
    n_parsed = sum(each.n for each in found.by_parser.values())
    run, n_planned = visible(found.run), found.n_planned
    print_line(console, f"{run}: {n_planned} questions planned, {n_parsed} answers parsed.")
    for parser, each in found.by_parser.items():
        print_line(console, f"\nParser {parser_title(parser)}: {each.n} answers")
        console.print(_sums(each))
        print_line(console, _doubtful(parser_title(parser), each))
        console.print(_texts(each, n_texts))
    if found.not_parsed:
        print_line(console, f"\nNot parsed: {sum(found.not_parsed.values())}")
        rows = [[status, str(n), _short(text)] for (status, text), n in found.not_parsed.items()]
        shown = [*rows[:n_texts], *_rest(rows[n_texts:], 1)]
        console.print(table(("status", "n", "text"), shown, numbers=("n",)))


def _sums(each: ParseAudit) -> Any:
    """Rules down, shapes across."""
    counts: Counter[tuple[str, str]] = Counter()
    for answer in each.answers:
        counts[answer.rule, answer.signs.shape] += answer.n
    shapes = [shape for shape in SHAPES if each.by_shape[shape]]
    rows = [
        [rule, str(n), *(str(counts[rule, shape]) for shape in shapes)]
        for rule, n in each.by_rule.items()
    ]
    rows.append(["all", str(each.n), *(str(each.by_shape[shape]) for shape in shapes)])
    return table(["rule", "n", *shapes], rows, numbers=["n", *shapes])


def _doubtful(parser: str, each: ParseAudit) -> str:
    n = each.marks["blind"]
    share = f" ({100 * n / each.n:.1f} %)" if each.n else ""
    lines = [f"{n} of {each.n} answers may be misread by the rules of {parser}{share}."]
    lines += [f"  {each.marks[m]} {text}" for m, text in MEANINGS.items() if each.marks[m]]
    return "\n".join(lines)


def _texts(each: ParseAudit, n_texts: int) -> Any:
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
    return table(heads, rows, numbers=("n",))


def _rest(rows: list[list[str]], column: int) -> list[list[str]]:
    """One row for those not shown."""
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
