"""Accuracy of sending as many examples to the same endpoints, chosen at random."""

import numpy as np
from jaxtyping import Bool, Float, Int

from otoscope.errors import InvalidValue

N_DRAWS = 1000


def expected_random_routing(
    local_correct: Bool[np.ndarray, " n_items"],
    call_correct: Bool[np.ndarray, "n_rows n_columns"],
    n_calls: Int[np.ndarray, " n_endpoints"],
) -> float:
    """Expected accuracy where `n_calls[e]` random examples go to endpoint e, the rest stay local.

    The local accuracy, plus each endpoint's share of calls times its gain in accuracy over it.
    NaN without items.

    Args:
        local_correct: Whether the local answer of each example is right.
        call_correct: Whether each endpoint's answer would be.
        n_calls: Number of examples that go to each endpoint.

    Raises:
        InvalidValue: Shapes that do not fit, or more calls than examples.
    """
    _check(local_correct, call_correct, n_calls)
    if local_correct.size == 0:
        return float("nan")
    local = float(np.mean(local_correct))
    gains = call_correct.mean(axis=0) - local
    return local + float(n_calls @ gains) / local_correct.size


def random_routing(
    local_correct: Bool[np.ndarray, " n_items"],
    call_correct: Bool[np.ndarray, "n_rows n_columns"],
    n_calls: Int[np.ndarray, " n_endpoints"],
    *,
    rng: np.random.Generator,
    n_draws: int = N_DRAWS,
) -> Float[np.ndarray, " n_draws"]:
    """Accuracy of each of `n_draws` random choices of the called examples.

    Raises:
        InvalidValue: Shapes that do not fit, more calls than examples, or no draws.
    """
    _check(local_correct, call_correct, n_calls)
    if n_draws < 1:
        raise InvalidValue(f"n_draws must be at least 1, got {n_draws}")
    n = local_correct.size
    if n == 0:
        return np.full(n_draws, np.nan)
    endpoint = np.repeat(np.arange(n_calls.size), n_calls)
    gains = call_correct.astype(np.int64) - local_correct.astype(np.int64)[:, None]
    right = int(local_correct.sum())
    totals = [
        right + int(gains[rng.choice(n, endpoint.size, replace=False), endpoint].sum())
        for _ in range(n_draws)
    ]
    return np.array(totals) / n


def _check(local_correct: np.ndarray, call_correct: np.ndarray, n_calls: np.ndarray) -> None:
    shape = (local_correct.size, n_calls.size)
    if call_correct.shape != shape:
        raise InvalidValue(f"call_correct has shape {call_correct.shape}, expected {shape}")
    if n_calls.min(initial=0) < 0 or int(n_calls.sum()) > local_correct.size:
        raise InvalidValue(f"{n_calls.tolist()} calls for {local_correct.size} examples")
