"""Labels of a policy with calls and of its matched policy without, against the gold labels."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from otoscope.errors import InvalidValue
from otoscope.statistics.breakdowns import Scores, break_down, plain
from otoscope.statistics.call_gains import call_gains
from otoscope.statistics.cluster_bootstrap import bootstrap_clusters
from otoscope.statistics.gain_wording import (
    MARGIN,
    GainEvidence,
    evidence_of_answers,
    gain_sentences,
)
from otoscope.statistics.intervals import clustered_interval, named_interval, wilson
from otoscope.statistics.labels import Column, IndexedAnswers, confusion, index_answers, of_length
from otoscope.statistics.macro_f1 import macro_f1
from otoscope.statistics.pairs import bootstrap_difference, mcnemar_exact
from otoscope.statistics.sign_flip import cluster_sign_flip
from otoscope.statistics.simulation import SEED


def score_policy_pair(
    references: Column,
    policy: Column,
    baseline: Column,
    *,
    labels: Sequence[str] | None = None,
    clusters: Column | None = None,
    called: Column | None = None,
    cost: Column | None = None,
    margin: float = MARGIN,
    by: Mapping[str, Column] | None = None,
    seed: int = SEED,
) -> Scores:
    """Paired comparison of two policies on the same examples; undefined values are None.

    A label that is null, or none of `labels`, is wrong. Keys:

    - `n`; `n_parsed`, `n_parsed_baseline`: predictions that are one of the labels.
    - `accuracy`, `baseline_accuracy` with `_low`, `_high`: Wilson's interval, or clustered Wilson;
      `macro_f1`, `baseline_macro_f1` over the labels that occur.
    - `difference` with `_low`, `_high` (95 %): Tango's interval, or clustered t; `upper_bound`,
      `lower_bound`: one-sided, 95 %. `bootstrap_low/high`: percentiles of 10,000 resamples, of
      whole clusters where given.
    - `only_policy_correct`, `only_baseline_correct`, `mcnemar_p`.
    - `margin`, `within_margin`: whether the difference is shown to lie within ±margin;
      `minimum_detectable_gain` at power 80 %; `conclusion`, what may be said.
    - With clusters: `n_clusters`, `sign_flip_p`, `bootstrap_design_effect`.
    - With `called`: `n_calls`, `call_rate`, `corrections`, `harms`, `net_per_call` with exact
      `_low`, `_high`, `changed_elsewhere`. With `cost`: `call_cost`, `cost_per_net_correction`.

    Args:
        references: Gold labels: names, or positions in `labels`.
        policy, baseline: Labels with and without calls: names, positions, or None.
        labels: All labels; by default those that occur among the references.
        clusters: Cluster (speaker, source) of each example.
        called: Whether the policy called a generative model for the example.
        cost: Of each example's call, in any unit; only called ones count. A null is unknown, and
            then the total is.
        margin: Largest difference, in either direction, that counts as none.
        by: Breakdowns: name to one value per example; nested under the name.

    Raises:
        InvalidValue: An unknown reference; lengths that differ; a cluster, a call or a cost that
            is none.
    """
    n = len(references)
    names = _labels(references) if labels is None else [str(label) for label in labels]
    with_calls = _indexed(references, policy, names, "predictions")
    without = _indexed(references, baseline, names, "baselines")
    groups = None if clusters is None else _clusters(clusters, n)
    flags = None if called is None else _flags(called, n)
    prices = None if cost is None else _costs(cost, flags, n)

    def score(items: np.ndarray, rng: np.random.Generator) -> Scores:
        first, second = with_calls.at(items), without.at(items)
        here = None if groups is None else groups[items]
        right, right_without = first.gold == first.answer, second.gold == second.answer
        evidence = evidence_of_answers(right, right_without, here, margin=margin)
        result = (
            {"n": len(items)}
            | _accuracy("", first, here)
            | _accuracy("baseline_", second, here)
            | _of_evidence(evidence, right, right_without, here, rng)
        )
        if flags is not None:
            result |= _of_calls(right, right_without, flags[items], prices, items)
        return result

    return plain(break_down(n, by, score, seed=seed))


def _accuracy(prefix: str, indexed: IndexedAnswers, clusters: np.ndarray | None) -> Scores:
    right = indexed.gold == indexed.answer
    if clusters is None:
        interval = wilson(int(right.sum()), right.size)
    else:
        interval = clustered_interval(right, clusters)
    parsed = "n_parsed_baseline" if prefix else "n_parsed"
    return {
        parsed: int(np.sum(indexed.answer < len(indexed.labels))),
        **named_interval(f"{prefix}accuracy", interval),
        f"{prefix}macro_f1": float(macro_f1(confusion(indexed))),
    }


def _of_evidence(
    evidence: GainEvidence,
    first: np.ndarray,
    second: np.ndarray,
    clusters: np.ndarray | None,
    rng: np.random.Generator,
) -> Scores:
    result = {
        **named_interval("difference", evidence.two_sided),
        "upper_bound": evidence.one_sided.high,
        "lower_bound": evidence.one_sided.low,
        "only_policy_correct": evidence.counts.only_first,
        "only_baseline_correct": evidence.counts.only_second,
        "mcnemar_p": mcnemar_exact(evidence.counts),
        "margin": evidence.margin,
        "within_margin": evidence.within_margin,
        "minimum_detectable_gain": evidence.minimum_detectable,
        "conclusion": gain_sentences(evidence),
    }
    if clusters is None:
        drawn = bootstrap_difference(evidence.counts, rng=rng)
    else:
        both = bootstrap_clusters(first, second, clusters, rng=rng)
        drawn = both.clusters
        result |= {
            "n_clusters": both.n_clusters,
            "sign_flip_p": cluster_sign_flip(first, second, clusters).p_value,
            "bootstrap_design_effect": both.variance_ratio,
        }
    return result | {"bootstrap_low": drawn.low, "bootstrap_high": drawn.high}


def _of_calls(
    first: np.ndarray,
    second: np.ndarray,
    called: np.ndarray,
    costs: np.ndarray | None,
    items: np.ndarray,
) -> Scores:
    gains = call_gains(first, second, called)
    result = {
        "n_calls": gains.n_calls,
        "call_rate": gains.n_calls / first.size if first.size else math.nan,
        "corrections": gains.corrections,
        "harms": gains.harms,
        **named_interval("net_per_call", gains.net_per_call),
        "changed_elsewhere": gains.changed_elsewhere,
    }
    if costs is not None:
        total = float(costs[items][called].sum())
        result |= {
            "call_cost": total,
            "cost_per_net_correction": gains.cost_per_net_correction(total),
        }
    return result


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _labels(references: Column) -> list[str]:
    for i, reference in enumerate(references):
        if _is_null(reference):
            raise InvalidValue(f"reference {i} is null; every example needs its true label")
    return sorted({str(reference) for reference in references}) or ["none"]


def _indexed(
    references: Column, answers: Column, labels: Sequence[str], what: str
) -> IndexedAnswers:
    if len(answers) != len(references):
        raise InvalidValue(f"{len(answers)} {what} for {len(references)} references")
    known = {str(i): name for i, name in enumerate(labels)} | {name: name for name in labels}
    read = [None if _is_null(a) else known.get(str(a), str(a)) for a in answers]
    return index_answers(references, read, labels)


def _clusters(clusters: Column, n: int) -> np.ndarray:
    of_length("clusters", clusters, n)
    for i, cluster in enumerate(clusters):
        if _is_null(cluster):
            raise InvalidValue(
                f"cluster {i} is null; give an example of unknown cluster one of its own"
            )
    return np.array([str(cluster) for cluster in clusters], dtype=object).astype(str)


def _flags(called: Column, n: int) -> np.ndarray:
    of_length("values of called", called, n)
    for i, value in enumerate(called):
        if _is_null(value) or value not in (False, True):
            raise InvalidValue(f"called {i} is {value!r}; it is true or false")
    return np.array([bool(value) for value in called], dtype=bool)


def _costs(cost: Column, called: np.ndarray | None, n: int) -> np.ndarray:
    if called is None:
        raise InvalidValue("cost is that of calls; say with called= which examples were called")
    of_length("costs", cost, n)
    values = np.array([math.nan if _is_null(value) else float(value) for value in cost])
    wrong = np.flatnonzero(~(np.isnan(values) | ((values >= 0) & np.isfinite(values))))
    if wrong.size:
        i = int(wrong[0])
        raise InvalidValue(f"cost {i} is {cost[i]!r}; it is a number of 0 or more, or null")
    return values
