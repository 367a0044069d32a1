"""A comparison as text for a terminal: what differs first, then the numbers, then their limits."""

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from otoscope.reports.compare import Cell, Comparison, Side
from otoscope.reports.pairing import shown
from otoscope.reports.tables import MISSING
from otoscope.reports.terminal import Column, table, visible
from otoscope.statistics.pairs import Difference

HEADS = (
    Column("category"),
    Column("n", True),
    Column("A %", True),
    Column("B %", True),
    Column("A - B", True),
    Column("by source", True),
    Column("bootstrap", True),
    Column("only A", True),
    Column("only B", True),
    Column("p", True),
    Column("Holm", True),
    Column("detectable", True),
)
LEGEND = (
    "A - B in points, with 95 % intervals: by source (clips of one source taken together) and from "
    "the paired bootstrap (questions taken as independent). p: McNemar's exact test; Holm: "
    "corrected over categories. Detectable: the smallest difference found four times in five."
)


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Prints all of it."""

    def say(line: str) -> None:
        console.print(Text(line), soft_wrap=True)

    first, second = comparison.first, comparison.second
    say(f"A  {visible(first.run)}")
    say(f"B  {visible(second.run)}")
    console.print(_different(comparison) or Text("\nNothing differs in how they were made.\n"))
    for line in _sizes(comparison):
        say(line)
    console.print(table(_heads(comparison), [_row(cell, comparison) for cell in comparison.cells]))
    say(LEGEND)
    for line in _cautions(comparison):
        say(line)


def _different(comparison: Comparison) -> Table | None:
    if not comparison.different:
        return None
    return table(
        (Column("differs"), Column("A"), Column("B")),
        [(d.name, shown(d.first), shown(d.second)) for d in comparison.different],
    )


def _sizes(comparison: Comparison) -> list[str]:
    by = "row, since each run asks in one way" if comparison.joined_by == "id" else "question"
    lines = [f"{comparison.n_compared} questions compared, joined by {by}."]
    for name, side in (("A", comparison.first), ("B", comparison.second)):
        if side.n_left_out:
            lines.append(f"Left out of {name}: {side.n_left_out} of {side.n_planned}.")
    for n, what in (
        (comparison.n_without_answer, "have no right answer"),
        (comparison.n_other_audio, "are about other audio under the same name"),
        (comparison.n_other_answer, "have another right answer or other answers to choose from"),
    ):
        if n:
            lines.append(f"Of those, {n} {what}.")
    lines += [_outcomes("A", comparison.first), _outcomes("B", comparison.second)]
    if comparison.n_same_text == comparison.n_compared:
        lines.append("Both gave the same text to every question.")
    return lines


def _outcomes(name: str, side: Side) -> str:
    said = ", ".join(f"{n} {visible(outcome)}" for outcome, n in side.outcomes.items())
    bad = any(outcome != "parsed" for outcome in side.outcomes)
    return f"{name}: {said}{' (not parsed is not correct)' if bad else ''}."


def _heads(comparison: Comparison) -> tuple[Column, ...]:
    return (Column("prompt"), *HEADS) if _by_prompt(comparison) else HEADS


def _by_prompt(comparison: Comparison) -> bool:
    return any(cell.prompt is not None for cell in comparison.cells)


def _row(cell: Cell, comparison: Comparison) -> list[str]:
    first, second = cell.accuracies
    numbers = [
        str(cell.counts.n),
        f"{100 * first:.1f}",
        f"{100 * second:.1f}",
        f"{100 * cell.by_source.estimate:+.1f}",
        _interval(cell.by_source),
        _interval(cell.bootstrap),
        str(cell.counts.only_first),
        str(cell.counts.only_second),
        _p(cell.p_value),
        MISSING if cell.p_holm is None else _p(cell.p_holm),
        MISSING if math.isnan(cell.detectable) else f"{100 * cell.detectable:.1f}",
    ]
    names = [cell.prompt or "all"] if _by_prompt(comparison) else []
    return [*names, cell.category or "all", *numbers]


def _interval(difference: Difference) -> str:
    return f"{100 * difference.low:+.1f} to {100 * difference.high:+.1f}"


def _p(p_value: float) -> str:
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _cautions(comparison: Comparison) -> list[str]:
    doubtful = [cell.category or "all" for cell in comparison.cells if cell.in_doubt]
    if not doubtful:
        return []
    return [
        "The test takes clips of one source as independent. Where they are not, believe the "
        f"interval by source, which holds 0 here: {', '.join(map(visible, doubtful))}."
    ]
