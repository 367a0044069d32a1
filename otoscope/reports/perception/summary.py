"""What a reader should know first: each run's result in a sentence, and what limits it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from otoscope.reports.headline import headline_of
from otoscope.reports.parse_audit import doubtful_answers
from otoscope.reports.perception.reading import PerceptionRun
from otoscope.reports.tables import Record, ReportTable, per_cent

MOST_NAMES = 3
CHANCE = {"above": "Above chance level", "below": "Below chance level"}


class Caution(NamedTuple):
    """Something that limits the numbers of one run or several; `of` has a text for each of them."""

    head: str
    of: tuple[tuple[str, str], ...]
    consequence: str


def summaries(tables: Mapping[str, ReportTable], names: Sequence[str]) -> dict[str, str]:
    """A few sentences for each run that has an accuracy."""
    found: dict[str, str] = {}
    if (table := tables.get("accuracy_by_category")) is None:
        return found
    for name in names:
        own = [row for row in table.rows if row["run"] == name]
        if own and own[0].get("accuracy") is not None:
            sentences = [headline_of(replace(table, rows=(own[0],))), *_versus_chance(own[0])]
            sentences += _extremes(own[1:])
            found[name] = f"{'. '.join(sentences)}."
    return found


def _versus_chance(row: Record) -> list[str]:
    side = row.get("versus_chance")
    return [CHANCE.get(side, "No difference from chance level was found")] if side else []


def _extremes(rows: Sequence[Record]) -> list[str]:
    """The categories with the highest and with the lowest accuracy."""
    shares = {row["category"]: row["accuracy"] for row in rows if row.get("accuracy") is not None}
    if len(shares) < 2:
        return []
    if len(set(shares.values())) == 1:
        return ["The same in every category"]
    ends = (("Highest", max(shares.values())), ("lowest", min(shares.values())))
    return [
        "; ".join(
            f"{word}: {_named([c for c, s in shares.items() if s == end], len(shares))} "
            f"{per_cent(end)} %"
            for word, end in ends
        )
    ]


def _named(categories: Sequence[str], n: int) -> str:
    if len(categories) > MOST_NAMES:
        return f"{len(categories)} of {n} categories"
    return ", ".join(category.replace("_", " ") for category in categories)


def cautions(runs: Sequence[PerceptionRun]) -> list[Caution]:
    """Partial runs, unanswered questions, doubtful answers, empty plans: at most one of each."""
    kinds: tuple[tuple[str, str, Callable[[PerceptionRun], str], str], ...] = (
        (
            "Partial run",
            "Partial runs",
            lambda run: run.partial,
            "Numbers hold for that part only.",
        ),
        ("Unanswered questions", "", _unanswered, "They count as not correct."),
        ("Doubtful answers", "", lambda run: doubtful_answers(run.answers), ""),
        (
            "No questions were planned",
            "",
            lambda run: "" if len(run.answers) else "0 questions",
            "",
        ),
    )
    found = []
    for one, several, text_of, consequence in kinds:
        of = tuple((run.name, text) for run in runs if (text := text_of(run)))
        if of:
            found.append(Caution((several or one) if len(of) > 1 else one, of, consequence))
    return found


def _unanswered(run: PerceptionRun) -> str:
    n, n_unanswered = len(run.answers), run.n_unanswered
    return f"{n_unanswered:,} of {n:,} ({per_cent(n_unanswered / n)} %)" if n_unanswered else ""
