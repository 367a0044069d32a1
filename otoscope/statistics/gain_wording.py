"""The sentences about a gain that paired answers allow."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Shaped

from otoscope.statistics.design_effect import effective_size, paired_design_effect
from otoscope.statistics.exact_power import minimum_detectable_gain
from otoscope.statistics.intervals import Interval
from otoscope.statistics.method_names import CLUSTERED_T, SIGN_FLIP, TANGO
from otoscope.statistics.paired_difference import paired_difference
from otoscope.statistics.pairs import PairedCounts, mcnemar_exact, paired_counts
from otoscope.statistics.sign_flip import cluster_sign_flip
from otoscope.statistics.tango import tango_interval

MARGIN = 0.03
ALPHA = 0.05
OTHERS = ", whatever the other tests find"
"""Behind a power at Holm's first step."""
GAIN = "A gain was detected"


class GainEvidence(NamedTuple):
    """What is known of the difference of two policies on the same examples.

    Attributes:
        counts: Of the four outcomes.
        two_sided, one_sided: Intervals of confidence 95 % and 90 %; each end of the second is a
            one-sided 95 % bound.
        interval_name, test_name: The methods.
        p_value: Of "both are right equally often", as it is or adjusted for several tests.
        margin: Largest difference, in either direction, that counts as none.
        minimum_detectable: Smallest gain found with power 80 % at this share of discordant
            examples; NaN where there is none, or where the effective number is unknown.
        n_effective: Independent examples that those count as, which is what power is computed
            for; None where it is unknown, as with one cluster.
        n_tests: Over how many tests `p_value` is adjusted.
    """

    counts: PairedCounts
    two_sided: Interval
    one_sided: Interval
    interval_name: str
    p_value: float
    test_name: str
    margin: float
    minimum_detectable: float
    n_effective: int | None
    n_tests: int = 1

    def among(self, n_tests: int, p_value: float) -> "GainEvidence":
        """The same as one of several tests, by Holm's p-value.

        Power is then that of Holm's first step, which divides α by the number of tests: what is
        detectable is so whatever the other tests find.
        """
        return self._replace(
            p_value=p_value,
            test_name=f"{self.test_name}, Holm over {n_tests} tests,",
            minimum_detectable=_detectable(self.counts, self.n_effective, ALPHA / n_tests),
            n_tests=n_tests,
        )

    @property
    def within_margin(self) -> bool:
        """Whether the difference is shown to lie within ±margin."""
        return -self.margin < self.one_sided.low and self.one_sided.high < self.margin


def evidence_of_counts(counts: PairedCounts, *, margin: float = MARGIN) -> GainEvidence:
    """Evidence from independent examples: Tango's intervals and the exact McNemar test.

    Raises:
        ValueError: A negative count.
    """
    return GainEvidence(
        counts=counts,
        two_sided=tango_interval(counts),
        one_sided=tango_interval(counts, confidence=0.90),
        interval_name=TANGO,
        p_value=mcnemar_exact(counts),
        test_name="exact McNemar",
        margin=margin,
        minimum_detectable=_detectable(counts, counts.n),
        n_effective=counts.n,
    )


def evidence_of_answers(
    first: Bool[np.ndarray, " n_items"],
    second: Bool[np.ndarray, " n_items"],
    clusters: Shaped[np.ndarray, " n_names"] | None = None,
    *,
    margin: float = MARGIN,
) -> GainEvidence:
    """Evidence from answers; with clusters of several examples, clustered intervals and test.

    Raises:
        ValueError: Lengths differ.
    """
    counts = paired_counts(first, second)
    if clusters is None or len(np.unique(clusters)) == len(clusters):
        return evidence_of_counts(counts, margin=margin)
    n = effective_size(counts.n, paired_design_effect(first, second, clusters))
    return GainEvidence(
        counts=counts,
        two_sided=paired_difference(first, second, clusters),
        one_sided=paired_difference(first, second, clusters, confidence=0.90),
        interval_name=CLUSTERED_T if counts.only_first + counts.only_second else TANGO,
        p_value=cluster_sign_flip(first, second, clusters).p_value,
        test_name=SIGN_FLIP,
        margin=margin,
        minimum_detectable=_detectable(counts, n),
        n_effective=n,
    )


def _detectable(counts: PairedCounts, n_effective: int | None, alpha: float = ALPHA) -> float:
    if not n_effective:
        return math.nan
    share = (counts.only_first + counts.only_second) / counts.n
    return minimum_detectable_gain(n_effective, discordant_share=share, alpha=alpha)


def gain_sentences(
    evidence: GainEvidence, *, first: str = "with calls", second: str = "without"
) -> str:
    """What may be said: what was detected, what is excluded, what is not established.

    Bounds are rounded outwards to a tenth of a point, so each sentence stays true.

    >>> print(gain_sentences(evidence_of_counts(PairedCounts(215, 7, 6, 12))))
    No gain detected: of 240 examples 7 are right only with calls and 6 only without, a difference \
of +0.4 points (exact McNemar p = 1.000). Gains above 3.2 points are excluded by Tango's one-sided \
95 % bound, above 3.8 points by the two-sided one. A difference within ±3 points is not \
established. With 5.4 % discordant examples the test finds gains of 4.3 points or more with a \
probability of 80 %.

    Args:
        first, second: Words for the two policies, behind "right only".
    """
    counts, two_sided, one_sided = evidence.counts, evidence.two_sided, evidence.one_sided
    if counts.n == 0:
        return "No examples: nothing is known of a gain."
    name = f"{evidence.interval_name}'s" if evidence.interval_name == TANGO else "the clustered"
    points = f"{100 * two_sided.estimate:+.1f} points"
    sentences = [
        f"{_detected(evidence)}: of {counts.n} examples {counts.only_first} are right only {first} "
        f"and {counts.only_second} only {second}, a difference of {points} ({evidence.test_name} "
        f"p = {_of_p(evidence.p_value)})."
    ]
    if two_sided.high <= 0:
        sentences.append(f"Any gain is excluded by {name} two-sided 95 % bound.")
    elif one_sided.high < 1:
        wider = f", above {_up(two_sided.high)} points by the two-sided one"
        sentences.append(
            f"Gains above {_up(one_sided.high)} points are excluded by {name} one-sided 95 % bound"
            f"{wider if two_sided.high < 1 else ''}."
        )
    else:
        sentences.append("No gain is excluded, whatever its size.")
    if one_sided.low > 0:
        sentences.append(f"Gains below {_up(-one_sided.low)[1:]} points are excluded likewise.")
    established = "is established" if evidence.within_margin else "is not established"
    sentences.append(f"A difference within ±{100 * evidence.margin:g} points {established}.")
    sentences.append(_power(evidence))
    return " ".join(filter(None, sentences))


def _power(evidence: GainEvidence) -> str:
    n_discordant = evidence.counts.only_first + evidence.counts.only_second
    if not n_discordant:
        return "Without discordant examples the power of the test is unknown."
    if evidence.n_effective is None:
        return "With one cluster the power of the test is unknown."
    share = f"With {100 * n_discordant / evidence.counts.n:.1f} % discordant examples"
    if evidence.n_effective < evidence.counts.n:
        share += (
            f" of {evidence.counts.n}, which in their clusters count as {evidence.n_effective},"
        )
    others = OTHERS if evidence.n_tests > 1 else ""
    if math.isnan(evidence.minimum_detectable):
        if _detected(evidence) == GAIN:
            return ""
        return f"{share} no gain, whatever its size, is detectable with a power of 80 %{others}."
    least = f"gains of {_up(evidence.minimum_detectable)} points or more"
    return f"{share} the test finds {least} with a probability of 80 %{others}."


def _detected(evidence: GainEvidence) -> str:
    if evidence.p_value > ALPHA:
        return "No gain detected"
    return GAIN if evidence.two_sided.estimate > 0 else "A loss was detected"


def _up(share: float) -> str:
    """A share in points, rounded upwards to a tenth."""
    return f"{math.ceil(round(1000 * share, 6)) / 10:.1f}"


def _of_p(p_value: float) -> str:
    return f"{p_value:.3f}" if p_value >= 0.001 else f"{p_value:.1e}"
