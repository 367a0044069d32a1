"""Tables of how often a run is right about a direction, and how sure one can be of that."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from otoscope.acoustics.design import DIRECTIONS, LABELS, TIERS
from otoscope.acoustics.trajectories import CURVES
from otoscope.reports.readings import OUTCOMES, Answers, Run
from otoscope.reports.sheets import Column, Sheet
from otoscope.statistics.breakdowns import Scores
from otoscope.statistics.direction import score_directions
from otoscope.statistics.labels import ratio
from otoscope.statistics.multiplicity import holm

ALL = "all"
ALPHA = 0.05
CHANCE = 0.5
HUMAN_BY_CURVE = {
    "jump": 0.9846,
    "linear": 0.9373,
    "quad_first_flat": 0.9202,
    "quad_last_flat": 0.9383,
}
"""People's accuracy by curve. Source: VocalGrad, section 4 and its human study."""

HUMAN_NOTE = (
    "People answered 50 clips of each category. In their clips curve and direction went together: "
    "linear and quad_last_flat only rose, jump and quad_first_flat only fell, so their rows by "
    "curve are rows by direction too."
)
ORDERS = {"tier": tuple(TIERS), "curve": tuple(CURVES), "direction": tuple(DIRECTIONS)}
PLAIN = ("category", "tier", "curve", "direction", "no_effect")

RUN = Column("run", "run", "run")
N = Column("n", "questions", "count")
ACCURACY = Column("accuracy", "accuracy, %", "share")
CLUSTERED = Column("clustered_low", "95 % by source", "interval", high="clustered_high")
WILSON = Column("wilson_low", "Wilson 95 %", "interval", high="wilson_high")
SIMULATION = Column("simulation_low", "simulated 95 %", "interval", high="simulation_high")
INCREASE = Column("increase_share", "says increase, %", "share")
PARSED = Column("parsed_rate", "parsed, %", "share")


def scores_of(answers: Answers) -> Scores:
    """All scores, broken down by what the questions know, and by category and tier together."""
    by = {name: answers[name].tolist() for name in PLAIN if answers.has(name)}
    if answers.has("tier"):
        pairs = zip(answers["category"], answers["tier"], strict=True)
        by["category_tier"] = [f"{category} {tier}" for category, tier in pairs]
    return score_directions(
        answers["label"].tolist(),
        answers["read"].tolist(),
        answers["exact"].tolist(),
        clusters=answers.clusters,
        by=by,
    )


def overall(answers: Answers) -> Scores:
    """The scores of all questions, without breakdowns."""
    return score_directions(
        answers["label"].tolist(),
        answers["read"].tolist(),
        answers["exact"].tolist(),
        clusters=answers.clusters,
    )


def flat(scores: Scores) -> Scores:
    """The scores of all, without those of groups.

    >>> flat({"n": 2, "tier": {"low": {"n": 1}}})
    {'n': 2}
    """
    return {name: value for name, value in scores.items() if not isinstance(value, dict)}


def prompt_to_show(run: Run, runs: Sequence[Run]) -> str | None:
    """The prompt whose answers stand for a run: `main`, else the first that all runs have."""
    own = run.clips.values("base")
    shared = [base for base in own if all(base in other.clips.values("base") for other in runs)]
    fitting = shared or own
    return "main" if "main" in fitting else next(iter(fitting), None)


def accuracy_sheet(
    scored: Sequence[tuple[Run, Scores]], name: str = "accuracy_by_category"
) -> Sheet:
    """Accuracy by category with every interval, and against chance."""
    rows = by_category(scored, _against_chance)
    return Sheet(
        name,
        "Accuracy by category",
        (
            Column("category", "category", "name"), RUN, ACCURACY, CLUSTERED, WILSON, SIMULATION, N,
            Column("n_clusters", "sources", "count"), Column("p_chance", "p, chance", "p"),
            Column("p_holm", "p, Holm", "p"), Column("verdict", "against chance"),
        ),
        rows,
        (
            "Correct of all questions planned: one that was never answered, failed, was refused or "
            "could not be read is not correct. Simulated: the published interval. By source: "
            "variants of one source clip are not independent, and this interval says so.",
            "Chance is one half; exact binomial test, Holm's correction over the categories of a "
            f"run. Above or below: p (Holm) under {ALPHA}, and the interval by source does not "
            "reach 50 %; otherwise undecided.",
            *_unbalanced(scored),
        ),
    )  # fmt: skip


def _unbalanced(scored: Sequence[tuple[Run, Scores]]) -> list[str]:
    """A sentence for each run whose gold labels are not half and half."""
    notes = []
    for run, scores in scored:
        n_increase = scores["unparsed_increase"] + sum(
            scores[f"increase_as_{label}"] for label in LABELS.values()
        )
        if 2 * n_increase != scores["n"]:
            best = max(n_increase, scores["n"] - n_increase) / scores["n"]
            notes.append(
                f"{run.name}: {n_increase:,} of {scores['n']:,} clips rise, so a constant answer "
                f"can be right in {100 * best:.1f} % of all."
            )
    return notes


def by_category(scored: Sequence[tuple[Run, Scores]], add: Any) -> tuple[dict[str, Any], ...]:
    """A row for each category and run, and one for all of a run; all first."""
    added = [(run, scores, add(run, scores)) for run, scores in scored]
    rows = [
        flat(scores) | {"category": ALL, "run": run.name} | extra.get(ALL, {})
        for run, scores, extra in added
    ]
    names = sorted({category for _, scores in scored for category in scores["category"]})
    return (
        *rows,
        *(
            {"category": category, "run": run.name}
            | scores["category"][category]
            | extra.get(category, {})
            for category in names
            for run, scores, extra in added
            if category in scores["category"]
        ),
    )


def _against_chance(_: Run, scores: Scores) -> dict[str, dict[str, Any]]:
    cells = scores["category"]
    corrected = holm(np.array([cell["p_chance"] for cell in cells.values()]))
    found = {
        category: {"p_holm": float(p), "verdict": _verdict(cell, float(p))}
        for (category, cell), p in zip(cells.items(), corrected, strict=True)
    }
    return found | {ALL: {"verdict": _verdict(scores, scores["p_chance"])}}


def _verdict(cell: Scores, p: float) -> str:
    kind = "wilson" if cell.get("clustered_low") is None else "clustered"
    if p >= ALPHA or cell[f"{kind}_low"] <= CHANCE <= cell[f"{kind}_high"]:
        return "undecided"
    return "above" if cell["accuracy"] > CHANCE else "below"


def answers_sheet(
    scored: Sequence[tuple[Run, Scores]],
    answers: Sequence[Answers],
    name: str = "answers_by_category",
) -> Sheet:
    """What lies behind accuracy: by direction, exact answers, and what the others were."""
    given = {run.name: mine for (run, _), mine in zip(scored, answers, strict=True)}
    rates = [Column(outcome, f"{outcome}, %", "share") for outcome in OUTCOMES[1:]]
    return Sheet(
        name,
        "What the answers were",
        (
            Column("category", "category", "name"), RUN,
            Column("balanced_accuracy", "balanced, %", "share"),
            Column("accuracy_increase", "rising clips, %", "share"),
            Column("accuracy_decrease", "falling clips, %", "share"),
            Column("accuracy_exact", "exact only, %", "share"),
            Column("accuracy_parsed", "of parsed, %", "share"),
            PARSED, Column("exact_rate", "exact, %", "share"), INCREASE, *rates, N,
        ),
        by_category(scored, lambda run, _: outcome_rates(given[run.name])),
        (
            "Rising and falling clips: accuracy on each; balanced is their mean. Exact only: only "
            "the bare word can be correct. Says increase: of the parsed answers. Wrong, unparsed, "
            "refused, filtered, failed and unanswered are shares of all questions planned; with "
            "the correct ones they make up 100 %.",
        ),
    )  # fmt: skip


def outcome_rates(answers: Answers) -> dict[str, dict[str, float]]:
    """The share of each outcome, by category and for `all`."""
    pairs = Counter(zip(answers["category"], answers["outcome"], strict=True))
    sizes = Counter(answers["category"])
    whole = Counter(answers["outcome"])
    return {
        category: {o: ratio(pairs[category, o], sizes[category]) for o in OUTCOMES}
        for category in sizes
    } | {ALL: {o: ratio(whole[o], len(answers)) for o in OUTCOMES}}


def breakdown_sheet(scored: Sequence[tuple[Run, Scores]], name: str) -> Sheet | None:
    """Accuracy by tier, curve or direction; None where no run knows it."""
    known = [(run, scores[name]) for run, scores in scored if name in scores]
    if not known:
        return None
    found = {value for _, cells in known for value in cells}
    values = [v for v in ORDERS[name] if v in found] + sorted(found - set(ORDERS[name]))
    rows: list[dict[str, Any]] = []
    for value in values:
        rows += [
            {name: value, "run": r.name} | cells[value] for r, cells in known if value in cells
        ]
        if name == "curve" and value in HUMAN_BY_CURVE:
            rows.append({name: value, "run": "people", "accuracy": HUMAN_BY_CURVE[value]})
    return Sheet(
        f"accuracy_by_{name}",
        f"Accuracy by {name}",
        (Column(name, name, "name"), RUN, ACCURACY, CLUSTERED, WILSON, N, PARSED, INCREASE),
        tuple(rows),
        (HUMAN_NOTE,) if name == "curve" else (),
    )


def tier_sheet(scored: Sequence[tuple[Run, Scores]]) -> Sheet | None:
    """Accuracy by category and tier."""
    rows = [
        {"category": category, "tier": tier, "run": run.name} | cells[f"{category} {tier}"]
        for category in sorted({c for _, scores in scored for c in scores["category"]})
        for tier in ORDERS["tier"]
        for run, scores in scored
        if f"{category} {tier}" in (cells := scores.get("category_tier", {}))
    ]
    if not rows:
        return None
    names = (Column("category", "category", "name"), Column("tier", "tier", "name"))
    return Sheet(
        "accuracy_by_category_and_tier",
        "Accuracy by category and tier",
        (*names, RUN, ACCURACY, CLUSTERED, WILSON, N, INCREASE),
        tuple(rows),
    )
