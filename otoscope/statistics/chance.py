"""Exact test of a share of correct answers against a chance level."""

from scipy.stats import binomtest


def chance_p_value(n_correct: int, n: int, *, chance: float = 0.5) -> float:
    """Two-sided exact binomial p-value of "answers are correct with probability `chance`".

    For independent answers. Where several are about one source, check as well whether the clustered
    interval contains `chance`. Without any answer: 1.

    >>> chance_p_value(1, 8)  # 2 · (1 + 8) / 256
    0.0703125

    Raises:
        ValueError: Impossible counts, or a chance outside [0, 1].
    """
    if not 0 <= n_correct <= n:
        raise ValueError(f"expected 0 <= n_correct <= n, got n_correct={n_correct}, n={n}")
    if not 0 <= chance <= 1:
        raise ValueError(f"chance must lie between 0 and 1, got {chance}")
    return 1.0 if n == 0 else float(binomtest(n_correct, n, chance).pvalue)
