"""A comparison as text for a terminal: what differs first, then the numbers, then their limits."""

import math

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from otoscope.reports.compare import Cell, Comparison, Side
from otoscope.reports.pairing import shown
from otoscope.reports.tables import MISSING
from otoscope.reports.terminal import Column, table, visible
from otoscope.statistics.pairs import Difference

SHARES = (
    Column("n", True),
    Column("A %", True),
    Column("B %", True),
    Column("A - B", True),
    Column("by source", True),
    Column("bootstrap", True),
)
TESTS = (
    Column("only A", True),
    Column("only B", True),
    Column("p", True),
    Column("Holm", True),
    Column("detectable", True),
)
ALL = "all"
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
    for part in _tables(comparison, console):
        console.print(part)
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


def _tables(comparison: Comparison, console: Console) -> list[Table]:
    """One table where it fits, else shares and tests one below the other."""
    by_prompt = any(cell.prompt is not None for cell in comparison.cells)
    names = (*((Column("prompt"),) if by_prompt else ()), Column("category"))

    def of(*columns: Column) -> Table:
        rows = []
        for cell in comparison.cells:
            told = _told(cell)
            prompt = [cell.prompt or ALL] if by_prompt else []
            rows.append([*prompt, cell.category or ALL, *(told[column] for column in columns)])
        return table((*names, *columns), rows)

    whole = of(*SHARES, *TESTS)
    fits = Measurement.get(console, console.options, whole).maximum < console.width
    return [whole] if fits else [of(*SHARES), of(*TESTS)]


def _told(cell: Cell) -> dict[Column, str]:
    first, second = cell.accuracies
    values = (
        str(cell.counts.n),
        f"{100 * first:.1f}",
        f"{100 * second:.1f}",
        _points(cell.by_source.estimate),
        _interval(cell.by_source),
        _interval(cell.bootstrap),
        str(cell.counts.only_first),
        str(cell.counts.only_second),
        _p(cell.p_value),
        MISSING if cell.p_holm is None else _p(cell.p_holm),
        MISSING if math.isnan(cell.detectable) else f"{100 * cell.detectable:.1f}",
    )
    return dict(zip((*SHARES, *TESTS), values, strict=True))


def _interval(difference: Difference) -> str:
    return f"{_points(difference.low)} … {_points(difference.high)}"


def _points(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:+.1f}"  # never -0.0


def _p(p_value: float) -> str:
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _cautions(comparison: Comparison) -> list[str]:
    doubtful = [cell.category or ALL for cell in comparison.cells if cell.in_doubt]
    if not doubtful:
        return []
    return [
        "The test takes clips of one source as independent. Where they are not, believe the "
        f"interval by source, which holds 0 here: {', '.join(map(visible, doubtful))}."
    ]
