"""Tables of accuracy about directions, with intervals and tests."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otoscope.acoustics.design import DIRECTIONS, LABELS, TIERS
from otoscope.acoustics.trajectories import CURVES
from otoscope.reports.perception.reading import (
    PerceptionRun,
    clusters_of,
    distinct,
    read_perception,
)
from otoscope.reports.scoring import OUTCOMES, has_no_effect, with_effect
from otoscope.reports.tables import SHARE_CI, ReportTable, TableColumn
from otoscope.statistics.breakdowns import Scores
from otoscope.statistics.direction import score_directions
from otoscope.statistics.method_names import CLUSTERED_NOTE
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
"""Human accuracy by curve. Source: VocalGrad, appendix C.1, Table 5."""

HUMAN_NOTE = (
    "Human participants answered 50 clips of each category. In their clips curve and direction "
    "were confounded: linear and quad_last_flat only rose, jump and quad_first_flat only fell, so "
    "their accuracy by curve is accuracy by direction as well."
)
ORDERS = {"tier": tuple(TIERS), "curve": tuple(CURVES), "direction": tuple(DIRECTIONS)}
BREAKDOWNS = ("category", "tier", "curve", "direction")

RUN = TableColumn("run", "run", "run")
CATEGORY = TableColumn("category", "category", "name")
PROMPT = TableColumn("prompt", "prompt")
N = TableColumn("n", "questions", "count")
ACCURACY = TableColumn("accuracy", "accuracy, %", "share")
CLUSTERED = TableColumn("clustered_low", SHARE_CI, "interval", high="clustered_high")
WILSON = TableColumn("wilson_low", "95 % CI, Wilson", "interval", high="wilson_high")
SIMULATION = TableColumn("simulation_low", "95 % CI, simulated", "interval", high="simulation_high")
INCREASE = TableColumn("increase_share", 'predicted "increase", %', "share")
PARSED = TableColumn("parsed_rate", "parse rate, %", "share")
NO_EFFECT = (
    TableColumn("n_no_effect", "left out: clips without effect", "count"),
    TableColumn("accuracy_all", "accuracy with these (published denominator), %", "share"),
)

Scored = Sequence[tuple[PerceptionRun, Scores]]


def scores_of(answers: pd.DataFrame, *, broken_down: bool = True) -> Scores:
    """All scores; broken down by what the plan has, and by category and tier together.

    Clips in which nothing changes are left out and counted where there are any.
    """
    same = has_no_effect(answers)
    by = {n: answers[n].tolist() for n in BREAKDOWNS if broken_down and answers[n].notna().any()}
    if "tier" in by:
        by["category_tier"] = (answers["category"] + " " + answers["tier"].map(str)).tolist()
    return score_directions(
        answers["label"].tolist(),
        answers["prediction"].tolist(),
        answers["exact"].tolist(),
        clusters=clusters_of(answers),
        no_effect=same if same.any() else None,
        by=by,
    )


def flat(scores: Scores) -> Scores:
    """The scores of all, without those of groups.

    >>> flat({"n": 2, "tier": {"low": {"n": 1}}})
    {'n': 2}
    """
    return {name: value for name, value in scores.items() if not isinstance(value, dict)}


def selected_prompt(run: PerceptionRun, runs: Sequence[PerceptionRun]) -> str | None:
    """The prompt whose answers represent a run: `main`, else the first that all runs have."""
    own = distinct(run.clips, "base_prompt")
    shared = [p for p in own if all(p in distinct(other.clips, "base_prompt") for other in runs)]
    candidates = shared or own
    return "main" if "main" in candidates else next(iter(candidates), None)


def main_scores(path: Path | str) -> ReportTable | None:
    """The table of accuracy of one run, for the prompt that represents it; None without one."""
    (run,) = read_perception([path])
    if (prompt := selected_prompt(run, [run])) is None:
        return None
    own = run.clips[run.clips["base_prompt"] == prompt]
    return accuracy_table([(run, scores_of(own))])


def accuracy_table(scored: Scored, name: str = "accuracy_by_category") -> ReportTable:
    """Accuracy by category with every interval, and against chance."""
    return ReportTable(
        name,
        "Accuracy by category",
        (
            CATEGORY, RUN, ACCURACY, CLUSTERED, WILSON, SIMULATION, N,
            TableColumn("n_clusters", "sources", "count"),
            TableColumn("p_chance", "p, exact binomial", "p"),
            TableColumn("p_holm", "p, Holm", "p"), TableColumn("versus_chance", "versus chance"),
            *NO_EFFECT,
        ),
        by_category(scored, lambda _, scores: _versus_chance(scores)),
        (
            "Denominator: all planned questions about clips in which something changes. An answer "
            "that is missing, failed, refused or unparsed is not correct. Simulated: the published "
            f"interval, which takes clips as independent. {CLUSTERED_NOTE}",
            "Chance level 50 %: exact binomial test, Holm's correction over the categories of a "
            f"run. It takes clips as independent: above or below is said only where p (Holm) is "
            f"under {ALPHA} and the clustered interval does not contain 50 % either.",
            *_unbalanced(scored),
        ),
    )  # fmt: skip


def _unbalanced(scored: Scored) -> list[str]:
    """A sentence for each run whose reference labels are not balanced."""
    notes = []
    for run, scores in scored:
        n_increase = scores["unparsed_increase"] + sum(
            scores[f"increase_as_{label}"] for label in LABELS.values()
        )
        if 2 * n_increase != scores["n"]:
            best = max(n_increase, scores["n"] - n_increase) / scores["n"]
            notes.append(
                f"{run.name}: {n_increase:,} of {scores['n']:,} clips rise, so a constant answer "
                f"reaches {100 * best:.1f} %."
            )
    return notes


def by_category(
    scored: Scored, extra_of: Callable[[PerceptionRun, Scores], dict[str, dict[str, Any]]]
) -> tuple[dict[str, Any], ...]:
    """A row for each category and run, and one for all of a run; all first."""
    rows = []
    for run, scores in scored:
        extra = extra_of(run, scores)
        for category, own in {ALL: flat(scores), **scores["category"]}.items():
            rows.append({"category": category, "run": run.name} | own | extra.get(category, {}))
    return all_first(rows)


def all_first(rows: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Rows by category, those of all categories first; else in their order."""
    return tuple(sorted(rows, key=lambda row: (row["category"] != ALL, row["category"])))


def _versus_chance(scores: Scores) -> dict[str, dict[str, Any]]:
    groups = {name: group for name, group in scores["category"].items() if group["n"]}
    corrected = holm(np.array([group["p_chance"] for group in groups.values()]))
    found = {
        category: {"p_holm": float(p), "versus_chance": _side(group, float(p))}
        for (category, group), p in zip(groups.items(), corrected, strict=True)
    }
    return found | {ALL: {"versus_chance": _side(scores, scores["p_chance"])}}


def _side(group: Scores, p: float) -> str:
    kind = "wilson" if group.get("clustered_low") is None else "clustered"
    if p >= ALPHA:
        return "undecided"
    if group[f"{kind}_low"] <= CHANCE <= group[f"{kind}_high"]:
        return "undecided: interval contains 50 %"
    return "above" if group["accuracy"] > CHANCE else "below"


def outcomes_table(scored: Scored, answers: Sequence[pd.DataFrame]) -> ReportTable:
    """What accuracy is made of: by direction, exact answers, and outcomes."""
    rates = {
        run.name: outcome_rates(with_effect(own))
        for (run, _), own in zip(scored, answers, strict=True)
    }
    return ReportTable(
        "outcomes_by_category",
        "Outcomes by category",
        (
            CATEGORY, RUN, TableColumn("balanced_accuracy", "balanced accuracy, %", "share"),
            TableColumn("accuracy_increase", "accuracy, rising, %", "share"),
            TableColumn("accuracy_decrease", "accuracy, falling, %", "share"),
            TableColumn("accuracy_exact", "accuracy, exact match, %", "share"),
            TableColumn("accuracy_parsed", "accuracy of parsed, %", "share"),
            PARSED, TableColumn("exact_rate", "exact match, %", "share"), INCREASE,
            *(TableColumn(outcome, f"{outcome}, %", "share") for outcome in OUTCOMES[1:]), N,
        ),
        by_category(scored, lambda run, _: rates[run.name]),
        (
            "Balanced accuracy: mean of the accuracies on rising and on falling clips. Exact "
            'match: only the bare word counts. Predicted "increase": of parsed answers. Wrong, '
            "unparsed, refused, filtered, failed and unanswered are shares of all planned "
            "questions about clips in which something changes; with the correct ones they add up "
            "to 100 %.",
        ),
    )  # fmt: skip


def outcome_rates(answers: pd.DataFrame) -> dict[str, dict[str, float]]:
    """The share of each outcome, by category and for `all`."""
    groups = {ALL: answers, **dict(list(answers.groupby("category")))}
    return {
        category: {outcome: float((own["outcome"] == outcome).mean()) for outcome in OUTCOMES}
        for category, own in groups.items()
    }


def breakdown_table(scored: Scored, name: str) -> ReportTable | None:
    """Accuracy by tier, curve or direction; None where no run has it."""
    known = [(run, scores[name]) for run, scores in scored if name in scores]
    if not known:
        return None
    found = {value for _, groups in known for value in groups}
    rows: list[dict[str, Any]] = []
    for value in [v for v in ORDERS[name] if v in found] + sorted(found - set(ORDERS[name])):
        rows += [{name: value, "run": r.name} | own[value] for r, own in known if value in own]
        if name == "curve" and value in HUMAN_BY_CURVE:
            rows.append({name: value, "run": "human", "accuracy": HUMAN_BY_CURVE[value]})
    return ReportTable(
        f"accuracy_by_{name}",
        f"Accuracy by {name}",
        (TableColumn(name, name, "name"), RUN, ACCURACY, CLUSTERED, WILSON, N, PARSED, INCREASE,
         *NO_EFFECT),
        tuple(rows),
        (HUMAN_NOTE,) if name == "curve" else (),
    )  # fmt: skip


def tier_table(scored: Scored) -> ReportTable | None:
    """Accuracy by category and tier."""
    rows = [
        {"category": category, "tier": tier, "run": run.name} | groups[f"{category} {tier}"]
        for category in sorted({c for _, scores in scored for c in scores["category"]})
        for tier in ORDERS["tier"]
        for run, scores in scored
        if f"{category} {tier}" in (groups := scores.get("category_tier", {}))
    ]
    if not rows:
        return None
    return ReportTable(
        "accuracy_by_category_and_tier",
        "Accuracy by category and tier",
        (CATEGORY, TableColumn("tier", "tier", "name"), RUN, ACCURACY, CLUSTERED, WILSON, N,
         INCREASE, *NO_EFFECT),
        tuple(rows),
    )  # fmt: skip
