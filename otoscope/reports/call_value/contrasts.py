"""Paired contrasts of policies, and the sentences that they allow."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.contract import FULL, NO_CALL, NO_CALL_MASK
from otoscope.audits.call_value.schema import AGREEMENT, AGREEMENT_NO_CALL, STACKED
from otoscope.reports.call_value.class_scores import PolicyF1
from otoscope.reports.call_value.outcomes import is_clustered, policy_of, right_of
from otoscope.reports.tables import ReportTable, TableColumn, with_interval
from otoscope.statistics.cluster_bootstrap import bootstrap_clusters
from otoscope.statistics.design_effect import effective_size, paired_design_effect
from otoscope.statistics.equivalence import equivalence
from otoscope.statistics.exact_power import mcnemar_power
from otoscope.statistics.gain_wording import (
    ALPHA,
    OTHERS,
    GainEvidence,
    evidence_of_answers,
    gain_sentences,
)
from otoscope.statistics.intervals import Interval, named_interval
from otoscope.statistics.multiplicity import holm
from otoscope.statistics.pairs import bootstrap_difference

POST_CALL = ((AGREEMENT, AGREEMENT_NO_CALL), (STACKED, NO_CALL))
ContrastRole = Literal["primary", "secondary", "exploratory", "post-call"]


@dataclass(frozen=True)
class Contrast:
    """A policy against its reference.

    Attributes:
        role: `primary` as in the contract; `exploratory` where it was not declared or compares
            families of policies, such as a selector and one encoder.
        adjusted: Holm's p-value over declared tests; None where it was not declared.
        bootstrap: Percentiles of resampled clusters, or examples.
        design_effect: Variance with clusters over that without; None without clusters.
        macro_f1: Difference in macro F1, with percentiles of resampled clusters.
    """

    policy: str
    reference: str
    role: ContrastRole
    evidence: GainEvidence
    adjusted: float | None
    bootstrap: Interval
    design_effect: float | None
    macro_f1: Interval


def contrasts(audit: CallAudit, macro_f1: PolicyF1 | None = None) -> list[Contrast]:
    """The declared tests in their order, then the other reading of No-call, ablations, post-call.

    Args:
        macro_f1: Of all policies, where it is computed already.
    """
    declared = list(audit.contract.tests)
    names = [policy.name for policy in audit.policies]
    ablations = [
        (name, name.replace(FULL, NO_CALL, 1))
        for name in names
        if policy_of(audit, name).role == "ablation" and name.startswith(FULL)
    ]
    cascades = [(own.name, own.route) for own in audit.frozen.post_call.cascades]
    more = [
        pair
        for pair in [(FULL, NO_CALL_MASK), *ablations, *POST_CALL, *cascades]
        if pair not in declared
    ]
    found = {pair: _evidence(audit, *pair) for pair in (*declared, *more)}
    adjusted = dict(
        zip(declared, holm(np.array([found[pair].p_value for pair in declared])), strict=True)
    )
    rng = np.random.default_rng(audit.contract.settings.seed)
    macro_f1 = macro_f1 or PolicyF1(audit, [name for pair in found for name in pair])
    made = []
    for (first, second), evidence in found.items():
        bootstrap, effect = _bootstrap(audit, first, second, evidence, rng)
        p_value = adjusted.get((first, second))
        made.append(
            Contrast(
                first,
                second,
                _role(audit, first, second),
                evidence,
                None if p_value is None else float(p_value),
                bootstrap,
                effect,
                macro_f1.difference(first, second),
            )
        )
    return made


def _evidence(audit: CallAudit, first: str, second: str) -> GainEvidence:
    return evidence_of_answers(
        right_of(audit, first),
        right_of(audit, second),
        audit.holdout.clusters,
        margin=audit.contract.margin,
    )


def _bootstrap(
    audit: CallAudit, first: str, second: str, evidence: GainEvidence, rng: np.random.Generator
) -> tuple[Interval, float | None]:
    draws = audit.contract.draws
    if not is_clustered(audit):
        return bootstrap_difference(evidence.counts, rng=rng, n_draws=draws), None
    found = bootstrap_clusters(
        right_of(audit, first),
        right_of(audit, second),
        audit.holdout.clusters,
        rng=rng,
        n_draws=draws,
    )
    return found.clusters, None if math.isnan(found.variance_ratio) else found.variance_ratio


def _role(audit: CallAudit, first: str, second: str) -> ContrastRole:
    if (first, second) == audit.contract.primary:
        return "primary"
    roles = [policy_of(audit, name).role for name in (first, second)]
    if "post-call" in roles:
        return "post-call"
    mixed = ("selector" in roles) != (roles == ["selector", "selector"])
    return "exploratory" if mixed or (first, second) not in audit.contract.tests else "secondary"


def contrasts_table(audit: CallAudit, made: list[Contrast]) -> ReportTable:
    """A row for each contrast."""
    test = made[0].evidence.test_name
    one_sided = TableColumn("gain_excluded_above", "gains above are excluded, points", "share")
    bootstrapped = "bootstrap of clusters" if is_clustered(audit) else "bootstrap of examples"
    return ReportTable(
        "contrasts",
        "Contrasts, in points: the policy minus its reference",
        (
            TableColumn("policy", "policy"),
            TableColumn("reference", "reference"),
            TableColumn("role", "role"),
            TableColumn("n", "n", "count"),
            TableColumn("only_policy_correct", "only policy correct", "count"),
            TableColumn("only_reference_correct", "only reference correct", "count"),
            *with_interval("difference", "difference", f"95 % CI, {_interval(audit, made)}"),
            TableColumn(
                "bootstrap_low", f"95 % CI, {bootstrapped}", "interval", high="bootstrap_high"
            ),
            *with_interval("macro_f1", "macro F1, difference", f"95 % CI, {bootstrapped}"),
            TableColumn("p_value", f"p, {test}", "p"),
            TableColumn("p_holm", "p, Holm", "p"),
            one_sided,
            TableColumn("equivalent", f"within ±{100 * audit.contract.margin:g} points"),
            TableColumn("p_tost", "p of that, Tango", "p"),
            TableColumn("p_tost_wald", "p of that, Wald", "p"),
            TableColumn("minimum_detectable", "detectable with power 80 %, points", "share"),
            TableColumn("design_effect", "design effect", "number"),
        ),
        tuple(_row(contrast, clustered=is_clustered(audit)) for contrast in made),
        (
            "Holm's correction is over the tests that the contract declares; others have no "
            "adjusted p and are exploratory.",
            "“Excluded” is the one-sided 95 % bound; “within” is decided by the 90 % interval, "
            "with the margin that the contract fixed; its p is that of two one-sided tests, for "
            "independent examples.",
        ),
    )


def _interval(audit: CallAudit, made: list[Contrast]) -> str:
    names = list(dict.fromkeys(contrast.evidence.interval_name for contrast in made))
    return " or ".join(names)


def _row(contrast: Contrast, *, clustered: bool) -> dict[str, Any]:
    evidence = contrast.evidence
    tost = {} if clustered else _equivalence(evidence)
    detectable = evidence.minimum_detectable
    return {
        "policy": contrast.policy,
        "reference": contrast.reference,
        "role": contrast.role,
        "n": evidence.counts.n,
        "only_policy_correct": evidence.counts.only_first,
        "only_reference_correct": evidence.counts.only_second,
        **named_interval("difference", evidence.two_sided),
        "bootstrap_low": contrast.bootstrap.low,
        "bootstrap_high": contrast.bootstrap.high,
        **named_interval("macro_f1", contrast.macro_f1),
        "p_value": evidence.p_value,
        "p_holm": contrast.adjusted,
        "gain_excluded_above": evidence.one_sided.high,
        "equivalent": "established" if evidence.within_margin else "not established",
        **tost,
        "minimum_detectable": None if math.isnan(detectable) else detectable,
        "design_effect": contrast.design_effect,
    }


def _equivalence(evidence: GainEvidence) -> dict[str, float]:
    """p of two one-sided tests, for independent examples; none where there is no such p."""
    found = equivalence(
        evidence.counts, margin=evidence.margin, rng=np.random.default_rng(0), n_draws=1
    )
    both = {"p_tost": found.p_tango, "p_tost_wald": found.p_wald}
    return {key: p for key, p in both.items() if not math.isnan(p)}


def _per_cent(power: float) -> str:
    return "more than 99" if power > 0.99 else f"{100 * power:.0f}"


def verdict(audit: CallAudit, made: list[Contrast]) -> list[str]:
    """What the primary contrast allows to be said, and what could have been found at all."""
    primary = next(own for own in made if own.role == "primary")
    evidence = primary.evidence
    if primary.adjusted is not None:
        evidence = evidence.among(len(audit.contract.tests), primary.adjusted)
    sentences = [gain_sentences(evidence, first="with calls", second="without")]
    n = audit.holdout.n
    n_calls = int(policy_of(audit, FULL).calls.sum())
    sentences.append(
        f"The full selector calls for {n_calls} of {n} examples."
        if n_calls
        else "The full selector never calls, so this hold-out says nothing about the calls."
    )
    wrong = ~right_of(audit, NO_CALL)
    oracle, local = right_of(audit, "oracle"), right_of(audit, "oracle without calls")
    room = int(np.sum(wrong & oracle))
    only_calls = int(np.sum(oracle & ~local))
    sentences.append(
        f"There was room for {room} of {n} examples ({100 * room / n:.1f} points): no_call is "
        f"wrong there and some action is right; {only_calls} of all examples only a call gets "
        f"right. {_power(oracle | ~wrong, ~wrong, audit.holdout.clusters, evidence.n_tests)}"
    )
    return sentences


def _power(best: np.ndarray, own: np.ndarray, clusters: np.ndarray, n_tests: int) -> str:
    """Whether the largest possible gain would be detected; with clusters, by what they count as."""
    n, room = len(own), int(np.sum(best & ~own))
    every = len(np.unique(clusters)) == n
    n_effective = n if every else effective_size(n, paired_design_effect(best, own, clusters))
    start = "A policy that gained all of them and lost none would be detected"
    if n_effective is None:
        return f"{start} with an unknown probability: all examples are one cluster."
    share, alpha = room / n, ALPHA / n_tests
    power = mcnemar_power(n_effective, discordant_share=share, difference=share, alpha=alpha)
    less = f" ({n} examples in their clusters count as {n_effective})" * (n_effective < n)
    return f"{start} with a probability of {_per_cent(power)} %{OTHERS * (n_tests > 1)}{less}."
