"""A comparison as text for a terminal: the result, numbers, cautions; then what was compared."""

import math

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from otoscope.reports.compare import ComparedGroup, Comparison
from otoscope.reports.tables import MISSING, per_cent
from otoscope.reports.terminal import print_line, setting, table, visible
from otoscope.statistics.intervals import Interval
from otoscope.statistics.method_names import CLUSTERED_T

SHARES = ("n", "A %", "B %", "A - B", "clustered CI", "bootstrap CI")
TESTS = ("only A", "only B", "p", "p Holm", "detectable")
ALL = "all"
LEGEND = (
    "A - B: difference in accuracy, in points, with 95 % CI: clustered t (by source), and from "
    "the paired bootstrap (questions taken as independent). only A: correct in A only. p: exact "
    "McNemar test; Holm: corrected over all rows but the sums. Detectable: smallest difference "
    "found with a power of 80 %."
)
IN_DOUBT = " †"
CAUTION = (
    f"{IN_DOUBT.strip()} Undecided: the clustered interval contains 0. McNemar's test gives a "
    "small p because it takes clips of one source as independent; use the interval. So in: "
)


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Prints all of it."""
    print_line(console, "\n".join([*result(comparison), ""]))
    print_line(console, f"A  {visible(comparison.first.run)}")
    print_line(console, f"B  {visible(comparison.second.run)}")
    for part in _tables(comparison, console):
        console.print(part)
    print_line(console, LEGEND)
    if doubtful := [group.category or ALL for group in comparison.groups if group.in_doubt]:
        print_line(console, CAUTION + ", ".join(map(visible, doubtful)) + ".")
    print_line(console, "\n".join(["", *_sizes(comparison)]))
    if comparison.different:
        rows = [(d.name, setting(d.first), setting(d.second)) for d in comparison.different]
        console.print(table(("setting", "A", "B"), rows))
    else:
        print_line(console, "\nTheir settings are the same.")


def result(comparison: Comparison) -> list[str]:
    """Which run is better and by how much, over all questions and by category."""
    overall, difference = comparison.overall, comparison.overall.by_source
    points = _points(difference.estimate)
    verdict = {
        "first": f"A is better than B by {points.lstrip('+-')} points",
        "second": f"B is better than A by {points.lstrip('+-')} points",
        "undecided": f"Undecided: A - B is {points} points",
        "equal": "A and B differ by exactly 0 (+0.0 points)",
    }[overall.verdict]
    first, second = (per_cent(share) for share in overall.accuracies)
    evidence = (
        f"95 % CI of A - B, {CLUSTERED_T}: {_interval(difference)} points; "
        f"exact McNemar test: p {_with_sign(overall.p_value)}."
    )
    if overall.verdict == "equal":
        same_text = comparison.n_same_text == comparison.n_compared
        evidence = (
            "Both gave the same answer text to every question."
            if same_text
            else "Both are correct on the same questions."
        )
    splits = {group.category for group in comparison.groups if group.p_holm is not None}
    together = comparison.grouped_by == "split" and len(splits) > 1
    n = f"n = {overall.counts.n:,}" + (", both splits together" if together else "")
    found = f"{verdict}: {first} % against {second} % correct, {n}."
    return [found, evidence, *_by_category(comparison)]


def _by_category(comparison: Comparison) -> list[str]:
    """The verdicts on categories, after Holm's correction; nothing where there is one group."""
    tested = [group for group in comparison.groups if group.p_holm is not None]
    if len(tested) < 2:
        return []
    names: dict[str, list[str]] = {}
    for group in tested:
        prompt = f" ({group.prompt})" if group.prompt is not None else ""
        names.setdefault(group.verdict, []).append(visible(f"{group.category or ALL}{prompt}"))
    verdicts = {
        "first": "A is better in",
        "second": "B is better in",
        "undecided": "undecided in",
        "equal": "exactly equal in",
    }
    parts = [
        f"{words} {', '.join(names[verdict])}"
        for verdict, words in verdicts.items()
        if verdict in names
    ]
    return [f"By {comparison.grouped_by}, after Holm's correction: {'; '.join(parts)}."]


def _sizes(comparison: Comparison) -> list[str]:
    by = "row (one prompt each)" if comparison.joined_by == "id" else "question"
    lines = [f"{comparison.n_compared} questions compared, joined by {by}."]
    for name, run in (("A", comparison.first), ("B", comparison.second)):
        if run.n_left_out:
            lines.append(f"Left out of {name}: {run.n_left_out} of {run.n_planned}.")
    for n, what in (
        (comparison.n_without_label, "have no reference label"),
        (comparison.n_other_audio, "are about other audio under the same name"),
        (comparison.n_other_labels, "have another reference label or label set"),
    ):
        if n:
            lines.append(f"Of those, {n} {what}.")
    if comparison.accuracies_all is not None:
        of_a, of_b = (f"{100 * share:.1f} %" for share in comparison.accuracies_all)
        lines.append(
            f"{comparison.n_no_effect} more are about clips in which nothing changes and are left "
            f"out; accuracy with them, by the published denominator: A {of_a}, B {of_b}."
        )
    for name, run in (("A", comparison.first), ("B", comparison.second)):
        counts = ", ".join(f"{n} {visible(outcome)}" for outcome, n in run.outcomes.items())
        lines.append(f"{name}: {counts}.")
    return lines


def _tables(comparison: Comparison, console: Console) -> list[Table]:
    """One table where it fits, else shares and tests one below the other."""
    by_prompt = any(group.prompt is not None for group in comparison.groups)
    names = (*(("prompt",) if by_prompt else ()), comparison.grouped_by)

    def of(*heads: str) -> Table:
        rows = []
        for group in comparison.groups:
            values = _values(group)
            prompt = [group.prompt or ALL] if by_prompt else []
            rows.append([*prompt, group.category or ALL, *(values[head] for head in heads)])
        return table([*names, *heads], rows, numbers=heads)

    wide = of(*SHARES, *TESTS)
    fits = Measurement.get(console, console.options, wide).maximum < console.width
    return [wide] if fits else [of(*SHARES), of(*TESTS)]


def _values(group: ComparedGroup) -> dict[str, str]:
    first, second = group.accuracies
    mark = IN_DOUBT if group.in_doubt else ""
    values = (
        str(group.counts.n),
        f"{100 * first:.1f}",
        f"{100 * second:.1f}",
        _points(group.by_source.estimate),
        _interval(group.by_source),
        _interval(group.bootstrap),
        str(group.counts.only_first),
        str(group.counts.only_second),
        _p(group.p_value) + (mark if group.p_holm is None else ""),
        MISSING if group.p_holm is None else _p(group.p_holm) + mark,
        MISSING if math.isnan(group.detectable) else f"{100 * group.detectable:.1f}",
    )
    return dict(zip((*SHARES, *TESTS), values, strict=True))


def _interval(difference: Interval) -> str:
    return f"{_points(difference.low)} … {_points(difference.high)}"


def _points(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:+.1f}"  # never -0.0


def _with_sign(p_value: float) -> str:
    """
    >>> _with_sign(0.0002), _with_sign(0.25)
    ('< 0.001', '= 0.250')
    """
    return "< 0.001" if p_value < 0.001 else f"= {p_value:.3f}"


def _p(p_value: float) -> str:
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"
