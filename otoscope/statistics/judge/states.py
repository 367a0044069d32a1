"""Eight states of a judge: did it perceive (P), did it know the reply (O), was it right (J)?

A state joins three outcomes of one instance at one order of the replies. Both P and O right and J
wrong is a Potemkin failure: every skill is there, and the verdict does not follow.

Source: `docs/papers.md`, counterfactual judge audits, states; lift and null are ours.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from otoscope.statistics.intervals import Interval, check_draws, named_interval
from otoscope.statistics.resampling import cluster_sums, resampled_sums
from otoscope.statistics.simultaneous import interval_of_draws, simultaneous_band

N_DRAWS = 10_000
SEED = 20_260_806
CHANCE = 0.5
"""Of a judgment between two replies."""

STATES: Mapping[str, str] = {
    "000": "full-stack failure",
    "001": "accidental success",
    "010": "perception bottleneck",
    "011": "shortcut: perception",
    "100": "response-mapping bottleneck",
    "101": "shortcut: response-mapping",
    "110": "Potemkin failure",
    "111": "reliable integrated judgment",
}
"""Digits of P, O and J to the state's name."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "reliable": ("111",),
    "component_bottleneck": ("010", "100"),
    "potemkin": ("110",),
    "shortcut": ("001", "011", "101"),
    "full_stack": ("000",),
}
POTEMKIN, RELIABLE = int("110", 2), int("111", 2)


class StateShares(NamedTuple):
    """Shares of the eight states and what follows from them.

    Attributes:
        shares: Of the states in the order of `STATES`, with simultaneous bands.
        conditional_potemkin: 1 − P(J | P and O); NaN where no instance has both.
        lift: P(J | P and O) − P(J | not both); NaN where either is empty.
        n, n_both: Instances times orders, and those of them with P and O right.
        critical: Standard errors that the bands reach to either side.
    """

    shares: Mapping[str, Interval]
    conditional_potemkin: Interval
    lift: Interval
    n: int
    n_both: int
    critical: float


def state_of(
    perception: Int[np.ndarray, " n"],
    mapping: Int[np.ndarray, " n_mapping"],
    judgment: Int[np.ndarray, " n_judgment"],
) -> Int[np.ndarray, " n"]:
    """The state of each row as the binary number of its digits P, O, J.

    >>> state_of(np.array([1, 0]), np.array([1, 1]), np.array([0, 1]))
    array([6, 3])

    Raises:
        ValueError: Lengths differ, or a value is neither 0 nor 1.
    """
    for name, values in (("perception", perception), ("mapping", mapping), ("judgment", judgment)):
        if values.size != perception.size:
            raise ValueError(f"{values.size} values of {name}, {perception.size} of perception")
        if not np.isin(values, (0, 1)).all():
            raise ValueError(f"{name} has values other than 0 and 1")
    return 4 * perception + 2 * mapping + judgment


def state_shares(
    state: Int[np.ndarray, " n"],
    clusters: Shaped[np.ndarray, " n"],
    *,
    n_draws: int = N_DRAWS,
    confidence: float = 0.95,
    seed: int = SEED,
) -> StateShares:
    """Shares of states, with intervals from resamples of whole clusters.

    Args:
        state: Of each instance at each order, see `state_of`.
        clusters: Sentence or source conversation of each.

    Raises:
        ValueError: Lengths differ, no rows, no draws, or a confidence outside (0, 1).
    """
    check_draws(confidence, n_draws=n_draws)
    if state.size != clusters.size or state.size == 0:
        raise ValueError(f"{state.size} states and {clusters.size} cluster names")
    is_state = state[:, None] == np.arange(len(STATES))
    sums = cluster_sums(is_state, clusters)
    drawn = resampled_sums(sums, rng=np.random.default_rng(seed), n_draws=n_draws)
    total = sums.sum(axis=0)
    shares, draws = total / state.size, drawn / drawn.sum(axis=1, keepdims=True)
    band = simultaneous_band(shares, draws, confidence=confidence)
    low, high = np.clip(band.low, 0, 1), np.clip(band.high, 0, 1)
    return StateShares(
        shares={
            name: Interval(float(shares[k]), float(low[k]), float(high[k]))
            for k, name in enumerate(STATES)
        },
        conditional_potemkin=_interval(_conditional_potemkin, total, drawn, confidence),
        lift=_interval(_lift, total, drawn, confidence),
        n=int(state.size),
        n_both=int(total[[POTEMKIN, RELIABLE]].sum()),
        critical=band.critical,
    )


def _interval(statistic: Any, total: np.ndarray, drawn: np.ndarray, confidence: float) -> Interval:
    estimate = float(statistic(total[None])[0])
    return interval_of_draws(estimate, statistic(drawn), confidence=confidence)


def _conditional_potemkin(counts: Float[np.ndarray, "n 8"]) -> Float[np.ndarray, " n"]:
    return _ratio(counts[:, POTEMKIN], counts[:, POTEMKIN] + counts[:, RELIABLE])


def _lift(counts: Float[np.ndarray, "n 8"]) -> Float[np.ndarray, " n"]:
    right = counts[:, 1::2]  # J is the last digit
    others = counts[:, :POTEMKIN].sum(axis=1)
    without = _ratio(right[:, :3].sum(axis=1), others)
    return 1 - _conditional_potemkin(counts) - without


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def score_states(
    perception: Int[np.ndarray, " n"],
    mapping: Int[np.ndarray, " n_mapping"],
    judgment: Int[np.ndarray, " n_judgment"],
    clusters: Shaped[np.ndarray, " n"] | None = None,
    **options: Any,
) -> dict[str, float]:
    """States as a flat dict, ready for JSON; see `state_shares`.

    Keys: `state_PQR` and the five groups, each with `_low` and `_high`; `conditional_potemkin` and
    its null, what a judge has whose J is a coin; `potemkin_null`, the Potemkin share of such a
    judge; `lift`; accuracies of the three probes; `n`, `n_both`.
    """
    state = state_of(perception, mapping, judgment)
    clusters = np.arange(state.size) if clusters is None else clusters
    found = state_shares(state, clusters, **options)
    scores: dict[str, float] = {}
    for digits, share in found.shares.items():
        scores |= named_interval(f"state_{digits}", share)
    for group, members in GROUPS.items():
        scores[group] = sum(found.shares[digits].estimate for digits in members)
    scores |= named_interval("conditional_potemkin", found.conditional_potemkin)
    scores |= named_interval("lift", found.lift)
    return scores | {
        "conditional_potemkin_null": 1 - CHANCE,
        "potemkin_null": (1 - CHANCE) * found.n_both / found.n,
        "perception": float(perception.mean()),
        "mapping": float(mapping.mean()),
        "judgment": float(judgment.mean()),
        "n": found.n,
        "n_both": found.n_both,
    }
