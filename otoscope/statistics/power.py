"""Minimum detectable difference of a paired comparison."""

import math

from scipy.stats import norm


def minimum_detectable_difference(
    n: int,
    *,
    discordant_share: float,
    alpha: float = 0.05,
    power: float = 0.8,
    design_effect: float = 1.0,
) -> float:
    """Smallest difference of paired shares that McNemar's test finds with the given power.

    Normal approximation. NaN where none is detectable, since the difference cannot exceed the share
    of discordant questions.

    >>> round(minimum_detectable_difference(2400, discordant_share=0.2), 4)
    0.0256

    Args:
        n: Number of questions that both answered.
        discordant_share: Share of them that exactly one answers correctly, within 0 to 1.
        alpha: Two-sided level of the test.
        design_effect: Variance inflation over independent questions; n is divided by it.

    Raises:
        ValueError: An argument outside its range.

    Source: R. J. Connor (1987), https://doi.org/10.2307/2531961, solved for the difference.
    """
    for name, value in (("alpha", alpha), ("power", power)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie between 0 and 1, got {value}")
    if n < 0:
        raise ValueError(f"n cannot be negative, got {n}")
    if not 0 <= discordant_share <= 1:
        raise ValueError(f"discordant_share must lie between 0 and 1, got {discordant_share}")
    if not design_effect > 0:
        raise ValueError(f"design_effect must be above 0, got {design_effect}")
    z_alpha, z_power = float(norm.ppf(1 - alpha / 2)), float(norm.ppf(power))
    n_effective = n / design_effect
    under_root = n_effective + z_power**2 - z_alpha**2
    if under_root < 0 or discordant_share == 0:
        return math.nan
    reach = z_alpha * math.sqrt(n_effective) + z_power * math.sqrt(under_root)
    difference = math.sqrt(discordant_share) * reach / (n_effective + z_power**2)
    return difference if difference <= discordant_share else math.nan
