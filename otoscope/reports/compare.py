"""Two runs on the same questions: the paired difference in accuracy, with intervals and tests.

Only questions that exactly one run answers correctly carry information. An answer that is missing,
failed or unparsed is not correct, in either run.

- The clustered interval allows for several questions about one source clip; the bootstrap takes
  all questions as independent. Where they differ, use the former.
- McNemar's exact test takes questions as independent, too. Holm's correction is over every
  category of every prompt; sums over categories are tested without correction.
- Clips in which nothing changes are left out and counted; `accuracies_all` are the accuracies with
  them, by the published denominator.
- The detectable difference is the one that McNemar's test finds with a power of 80 %, at the share
  of discordant questions seen and the effective number of independent questions.
"""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from otoscope.audits.runs import RunError
from otoscope.reports.pairing import (
    Pairing,
    RunDifference,
    differences,
    pair,
    prompt_differences,
    require_same_questions,
)
from otoscope.reports.scoring import has_no_effect, is_correct, score_runs, sources_of
from otoscope.reports.tables import csv_text
from otoscope.statistics.breakdowns import plain
from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.design_effect import paired_design_effect
from otoscope.statistics.intervals import Interval
from otoscope.statistics.multiplicity import holm
from otoscope.statistics.pairs import (
    PairedCounts,
    bootstrap_difference,
    mcnemar_exact,
    paired_counts,
)
from otoscope.statistics.power import minimum_detectable_difference

SEED = 1234
ALPHA = 0.05
ALL = None
Verdict = Literal["first", "second", "undecided", "equal"]


@dataclass(frozen=True)
class ComparedRun:
    """One of the two runs.

    Attributes:
        run: Its folder, as given.
        n_planned: Questions in its plan.
        n_left_out: Those that are not compared, for whatever reason.
        outcomes: How many of the compared ones were `correct`, `wrong`, `unparsed` ….
    """

    run: str
    n_planned: int
    n_left_out: int
    outcomes: dict[str, int]


@dataclass(frozen=True)
class ComparedGroup:
    """One category of one prompt; None stands for all of them.

    Of runs about two splits, a split stands in the category's place.

    Attributes:
        counts: Of the four outcomes.
        n_clusters: Sources, or rows where a source is not known.
        by_source: Difference (first minus second) with its interval, clustered by source.
        bootstrap: The same with all questions taken as independent.
        p_value: McNemar's, exact.
        p_holm: After Holm's correction; None for sums.
        detectable: Smallest difference found with a power of 80 %; NaN where there is none.
    """

    prompt: str | None
    category: str | None
    counts: PairedCounts
    n_clusters: int
    by_source: Interval
    bootstrap: Interval
    p_value: float
    p_holm: float | None
    detectable: float

    @property
    def accuracies(self) -> tuple[float, float]:
        """Of the first and of the second run."""
        both, only_first, only_second, _ = self.counts
        return (both + only_first) / self.counts.n, (both + only_second) / self.counts.n

    @property
    def in_doubt(self) -> bool:
        """Whether the test, but not the clustered interval, indicates a difference."""
        return self._is_significant and self.by_source.low <= 0 <= self.by_source.high

    @property
    def verdict(self) -> Verdict:
        """Which run is better: one of them where the test and the interval agree on it."""
        if not (self.counts.only_first or self.counts.only_second):
            return "equal"
        if not self._is_significant or self.in_doubt:
            return "undecided"
        return "first" if self.by_source.estimate > 0 else "second"

    @property
    def _is_significant(self) -> bool:
        return bool((self.p_value if self.p_holm is None else self.p_holm) < ALPHA)

    def row(self) -> dict[str, Any]:
        """One row of plain numbers, None where a value is not defined."""
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
        joined_by: `question_id`, or `id` where each run has one prompt and not the same.
        grouped_by: `category`, or `split` of runs about two splits.
        n_compared: Questions that both have and that have a reference label.
        n_without_label: Shared questions that have none.
        n_other_audio: Questions of the same name about other clips; left out on both sides.
        n_other_labels: The same with another reference label or label set.
        n_no_effect: Shared questions about clips in which nothing changes, left out on both sides.
        accuracies_all: Of both runs with these, the published denominator; None without any.
        n_same_text: Compared questions with the same answer text in both.
        different: Settings that differ.
        groups: Categories, and their sums, the sum of all last.
    """

    first: ComparedRun
    second: ComparedRun
    joined_by: str
    grouped_by: str
    n_compared: int
    n_without_label: int
    n_other_audio: int
    n_other_labels: int
    n_no_effect: int
    accuracies_all: tuple[float, float] | None
    n_same_text: int
    different: tuple[RunDifference, ...]
    groups: tuple[ComparedGroup, ...]

    @property
    def overall(self) -> ComparedGroup:
        """All questions together."""
        return self.groups[-1]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; None where a value is not defined."""
        return {
            **asdict(self),
            "different": [d._asdict() for d in self.different],
            "groups": [group.row() for group in self.groups],
        }

    def to_json(self) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict(), indent=1) + "\n"

    def to_csv(self) -> str:
        """A line for each group; shares from 0 to 1, empty where a value is not defined."""
        rows = [group.row() for group in self.groups]
        return csv_text(list(rows[0]), rows)


def compare(first: Path | str, second: Path | str, *, common: bool = False) -> Comparison:
    """Compares two runs question by question.

    Args:
        common: Compare the shared questions, and count the others, where the runs have different
            questions.

    Raises:
        RunError: Not two runs; or they have different questions, or share none with a label.
        LookupError: A plan names a parser that does not exist.
    """
    names = str(first), str(second)
    runs = score_runs([first, second])
    pairing = pair(*runs)
    if not common or not len(pairing.first):
        require_same_questions(pairing, names)
    labelled = pairing.first["label"].notna()
    every = pairing.first[labelled], pairing.second[labelled]
    same = has_no_effect(every[0])
    a, b = (answers[~same] for answers in every)
    if not len(a):
        raise RunError(
            f"nothing to compare: no question that {names[0]} and {names[1]} share has a reference "
            "label" + (" and a clip in which something changes" if same.any() else "")
        )
    return Comparison(
        first=_compared(names[0], len(runs[0].answers), a),
        second=_compared(names[1], len(runs[1].answers), b),
        joined_by=pairing.by,
        grouped_by=grouped_by(a),
        n_compared=len(a),
        n_without_label=int((~labelled).sum()),
        n_other_audio=len(pairing.other_audio),
        n_other_labels=len(pairing.other_labels),
        n_no_effect=int(same.sum()),
        accuracies_all=_accuracies(*every) if same.any() else None,
        n_same_text=int((a["text"].notna() & (a["text"] == b["text"])).sum()),
        different=(*differences(runs[0].about, runs[1].about), *prompt_differences(pairing)),
        groups=_groups(pairing, a, b),
    )


def _accuracies(first: pd.DataFrame, second: pd.DataFrame) -> tuple[float, float]:
    return float(is_correct(first).mean()), float(is_correct(second).mean())


def _compared(run: str, n_planned: int, answers: pd.DataFrame) -> ComparedRun:
    outcomes = answers["outcome"].value_counts().sort_index().to_dict()
    return ComparedRun(run, n_planned, n_planned - len(answers), outcomes)


def grouped_by(answers: pd.DataFrame) -> str:
    """The column of whose values a comparison speaks: two splits are never taken as one."""
    return "split" if "split" in answers else "category"


def _groups(pairing: Pairing, a: pd.DataFrame, b: pd.DataFrame) -> tuple[ComparedGroup, ...]:
    correct_first, correct_second, clusters = is_correct(a), is_correct(b), sources_of(a)
    categories = a[grouped_by(a)].map(lambda name: name or "no category")
    tested: dict[tuple[str | None, str | None], np.ndarray] = {}
    sums: dict[tuple[str | None, str | None], np.ndarray] = {}
    if pairing.by == "question_id" and a["prompt_name"].nunique() > 1:
        tested = dict(sorted(a.groupby(["prompt_name", categories]).indices.items()))
        sums = {(p, ALL): rows for p, rows in sorted(a.groupby("prompt_name").indices.items())}
    else:
        tested = {(ALL, c): rows for c, rows in sorted(a.groupby(categories).indices.items())}
    sums[ALL, ALL] = np.arange(len(a))
    measured = {
        key: _measures(correct_first[members], correct_second[members], clusters[members])
        for key, members in (tested | sums).items()
    }
    adjusted = holm(np.array([measured[key]["p_value"] for key in tested]))
    p_holm = dict(zip(tested, adjusted.tolist(), strict=True))
    return tuple(
        ComparedGroup(prompt, category, p_holm=p_holm.get((prompt, category)), **measures)
        for (prompt, category), measures in measured.items()
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
        "p_value": mcnemar_exact(counts),
        "detectable": math.nan
        if math.isnan(design)  # no variance between sources from one source
        else minimum_detectable_difference(
            counts.n, discordant_share=discordant, design_effect=max(1.0, design)
        ),
    }
