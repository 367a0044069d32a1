"""Two runs about the same questions: which model is right more often, and could it be chance?

Every number is paired: the questions are the same, so only those that exactly one run answers
rightly say anything. An answer that is missing, failed or unparsed is not correct, on either side.

- The interval by source takes the questions about one source clip together; the one from the
  bootstrap takes all questions as independent. Where they differ, believe the former.
- McNemar's exact test takes questions as independent, too. Holm's correction is over every
  category of every way of asking; sums over categories are tested by themselves.
- The detectable difference is what McNemar's test would have found four times in five, at the share
  of discordant questions seen, with as many independent questions as the clustered ones are worth.
"""

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.audits.runs import RunError
from otoscope.reports.pairing import (
    Different,
    Pairing,
    differences,
    pair,
    read_run,
    refuse_unlike,
    wording,
)
from otoscope.reports.verdicts import Verdict, verdicts
from otoscope.statistics.breakdowns import plain
from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.design_effect import paired_design_effect
from otoscope.statistics.multiplicity import holm
from otoscope.statistics.pairs import (
    Difference,
    PairedCounts,
    bootstrap_difference,
    mcnemar_exact,
    paired_counts,
)
from otoscope.statistics.power import minimum_detectable_difference

SEED = 1234
ALL = None


@dataclass(frozen=True)
class Side:
    """One of the two runs.

    Attributes:
        run: Its folder, as given.
        n_planned: Questions in its plan.
        n_left_out: Those that are not compared, for whatever reason.
        outcomes: How many of the compared ones were `parsed`, `unparsed`, `unanswered`, `error` …
    """

    run: str
    n_planned: int
    n_left_out: int
    outcomes: dict[str, int]


@dataclass(frozen=True)
class Cell:
    """One category asked about in one way; None stands for all of them.

    Attributes:
        prompt: Name of the way of asking, or None.
        category: Name, or None.
        counts: Of the four outcomes.
        n_clusters: Sources, or rows where a source is not known.
        by_source: Difference (first minus second) and its interval, sources taken as a whole.
        bootstrap: The same with all questions taken as independent.
        p_value: McNemar's, exact.
        p_holm: After Holm's correction; None for sums.
        detectable: Smallest difference that would have been found; NaN where none would.
    """

    prompt: str | None
    category: str | None
    counts: PairedCounts
    n_clusters: int
    by_source: Difference
    bootstrap: Difference
    p_value: float
    p_holm: float | None
    detectable: float

    @property
    def accuracies(self) -> tuple[float, float]:
        """Share right in the first and in the second."""
        both, only_first, only_second, _ = self.counts
        return (both + only_first) / self.counts.n, (both + only_second) / self.counts.n

    @property
    def in_doubt(self) -> bool:
        """Whether the test, but not the interval by source, speaks for a difference."""
        p_value = self.p_value if self.p_holm is None else self.p_holm
        return p_value < 0.05 and self.by_source.low <= 0 <= self.by_source.high

    def flat(self) -> dict[str, Any]:
        """All of it as one row of plain numbers, None where nothing is defined."""
        first, second = self.accuracies
        row = {
            "prompt": self.prompt,
            "category": self.category,
            "n": self.counts.n,
            "n_clusters": self.n_clusters,
            **self.counts._asdict(),
            "accuracy_first": first,
            "accuracy_second": second,
            "difference": self.by_source.estimate,
            "by_source_low": self.by_source.low,
            "by_source_high": self.by_source.high,
            "bootstrap_low": self.bootstrap.low,
            "bootstrap_high": self.bootstrap.high,
            "p_mcnemar": self.p_value,
            "p_holm": self.p_holm,
            "detectable_difference": self.detectable,
        }
        return plain(row)


@dataclass(frozen=True)
class Comparison:
    """Two runs compared; differences are first minus second.

    Attributes:
        first, second: The runs.
        joined_by: `question_id`, or `id` where each run asks in one way and not in the same.
        n_compared: Questions that both ask and that have a right answer.
        n_without_answer: Shared questions that have none.
        n_other_audio: Questions of the same name about other clips; left out on both sides.
        n_other_answer: The same with another right answer or other answers to choose from.
        n_same_text: Compared questions to which both gave the same text.
        different: What differs in how the runs were made.
        cells: Categories, and their sums, the sum of all last.
    """

    first: Side
    second: Side
    joined_by: str
    n_compared: int
    n_without_answer: int
    n_other_audio: int
    n_other_answer: int
    n_same_text: int
    different: tuple[Different, ...]
    cells: tuple[Cell, ...]

    @property
    def overall(self) -> Cell:
        """All questions together."""
        return self.cells[-1]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; what is not defined is None."""
        return {
            **asdict(self),
            "different": [d._asdict() for d in self.different],
            "cells": [cell.flat() for cell in self.cells],
        }

    def to_json(self) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict(), indent=1) + "\n"

    def to_csv(self) -> str:
        """A line a cell; shares from 0 to 1, nothing where nothing is defined."""
        rows = [cell.flat() for cell in self.cells]
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return buffer.getvalue()


def compare(first: Path | str, second: Path | str, *, common: bool = False) -> Comparison:
    """Compares two runs question by question.

    Args:
        first, second: Run folders.
        common: Compare what both ask, and say what is left out, where they do not ask the same.

    Raises:
        RunError: Not two runs; or they ask about different things, or share nothing to compare.
        LookupError: A plan names a parser that does not exist.
    """
    names = str(first), str(second)
    (about_first, rows_first), (about_second, rows_second) = map(read_run, map(Path, names))
    pairing = pair(rows_first, rows_second)
    if not common or not pairing.pairs:
        refuse_unlike(pairing, names)
    scored = [(a, b) for a, b in pairing.pairs if a["label"] is not None]
    if not scored:
        raise RunError(
            f"nothing to compare: no question that {names[0]} and {names[1]} share has a right "
            "answer"
        )
    verdicts_first = verdicts(a for a, _ in scored)
    verdicts_second = verdicts(b for _, b in scored)
    return Comparison(
        first=_side(names[0], len(rows_first), verdicts_first),
        second=_side(names[1], len(rows_second), verdicts_second),
        joined_by=pairing.by,
        n_compared=len(scored),
        n_without_answer=len(pairing.pairs) - len(scored),
        n_other_audio=len(pairing.other_audio),
        n_other_answer=len(pairing.other_answer),
        n_same_text=sum(a["text"] is not None and a["text"] == b["text"] for a, b in scored),
        different=(*differences(about_first, about_second), *wording(pairing)),
        cells=_cells(pairing, scored, verdicts_first, verdicts_second),
    )


def _side(run: str, n_planned: int, of: list[Verdict]) -> Side:
    outcomes = Counter(verdict.outcome for verdict in of)
    return Side(run, n_planned, n_planned - len(of), dict(sorted(outcomes.items())))


def _cells(
    pairing: Pairing,
    scored: Sequence[tuple[Any, Any]],
    first: list[Verdict],
    second: list[Verdict],
) -> tuple[Cell, ...]:
    right_first = np.array([verdict.correct for verdict in first])
    right_second = np.array([verdict.correct for verdict in second])
    clusters = np.array([a["source_id"] or a["id"] for a, _ in scored], dtype=object)
    prompts = [a["prompt_name"] if pairing.by == "question_id" else ALL for a, _ in scored]
    several = len(set(prompts)) > 1
    groups: dict[tuple[str | None, str | None], list[int]] = {}
    for i, (a, _) in enumerate(scored):
        prompt = prompts[i] if several else ALL
        groups.setdefault((prompt, a["category"] or "no category"), []).append(i)
    tested = dict(sorted(groups.items(), key=lambda g: (g[0][0] or "", g[0][1] or "")))
    sums: dict[tuple[str | None, str | None], list[int]] = {}
    for (prompt, _), members in tested.items() if several else ():
        sums.setdefault((prompt, ALL), []).extend(members)
    sums[ALL, ALL] = list(range(len(scored)))

    def measured(members: list[int]) -> dict[str, Any]:
        chosen = np.array(members)
        return _measures(right_first[chosen], right_second[chosen], clusters[chosen])

    cells = {key: measured(members) for key, members in (tested | sums).items()}
    adjusted = holm(np.array([cells[key]["p_value"] for key in tested]))
    p_holm = dict(zip(tested, adjusted.tolist(), strict=True))
    return tuple(
        Cell(prompt, category, p_holm=p_holm.get((prompt, category)), **measures)
        for (prompt, category), measures in cells.items()
    )


def _measures(first: np.ndarray, second: np.ndarray, clusters: np.ndarray) -> dict[str, Any]:
    counts = paired_counts(first, second)
    design = paired_design_effect(first, second, clusters)
    discordant = (counts.only_first + counts.only_second) / counts.n
    return {
        "counts": counts,
        "n_clusters": len(set(clusters.tolist())),
        "by_source": clustered_difference(first, second, clusters),
        "bootstrap": bootstrap_difference(counts, rng=np.random.default_rng(SEED)),
        "p_value": mcnemar_exact(counts).p_value,
        "detectable": math.nan
        if math.isnan(design)  # one source says nothing about others
        else minimum_detectable_difference(
            counts.n, discordant_share=discordant, design_effect=max(1.0, design)
        ),
    }
