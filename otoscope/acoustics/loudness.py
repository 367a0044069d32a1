"""Short-time level, and how to give a changed sound the level that it had before."""

import numpy as np
from jaxtyping import Float, Float64
from scipy import ndimage

BLOCK_S = 0.005
INAUDIBLE = 1e-10  # of the loudest block's power (-100 dB): what lies below is silence


def block_power(x: Float[np.ndarray, " n_samples"], block: int) -> Float64[np.ndarray, " n_blocks"]:
    """Mean power in successive blocks; the last may be short."""
    starts = np.arange(0, x.size, block)
    energy = np.add.reduceat(np.square(x, dtype=np.float64), starts)
    return energy / np.diff(np.append(starts, x.size))


def level_gain(
    changed: Float[np.ndarray, " n_samples"],
    wanted: Float[np.ndarray, " n_samples"],
    sampling_rate: int,
    window_s: float,
) -> Float[np.ndarray, " n_samples"]:
    """Gains that give `changed` the short-time level of `wanted`; 1 where either is silent.

    Powers are averaged over a triangle whose foot is twice `window_s`, and the gain glides from
    one 5 ms block to the next.
    """
    block = max(1, round(BLOCK_S * sampling_rate))
    size = max(1, round(window_s / BLOCK_S))
    smooth = []
    for x in (changed, wanted):
        power = block_power(x, block)
        smooth.append(_average(_average(power, size), size))
    got, goal = smooth
    floor = INAUDIBLE * max(got.max(initial=0), goal.max(initial=0))
    heard = (got > floor) & (goal > 0)
    gain = np.sqrt(np.where(heard, goal, 1) / np.where(heard, got, 1))
    middle = (np.arange(gain.size) + 0.5) * block - 0.5
    return np.interp(np.arange(changed.size), middle, gain).astype(np.float32)


def _average(
    power: Float64[np.ndarray, " n_blocks"], size: int
) -> Float64[np.ndarray, " n_blocks"]:
    return ndimage.uniform_filter1d(power, size, mode="nearest")
