"""Short-time level, and gains that restore it after a change."""

import numpy as np
from jaxtyping import Float, Float64
from scipy import ndimage

from otoscope.acoustics.source_channel import SourceChannel

BLOCK_S = 0.005
N_PASSES = 3
INAUDIBLE = 1e-10  # of the loudest block's power (-100 dB): below is silence


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

    Powers are averaged over a triangle whose base is twice `window_s`; the gain is interpolated
    between blocks of 5 ms.
    """
    block = max(1, round(BLOCK_S * sampling_rate))
    size = max(1, round(window_s / BLOCK_S))
    got, goal = block_power(changed, block), block_power(wanted, block)
    smooth_goal = _average(goal, size)
    floor = INAUDIBLE * max(got.max(initial=0), goal.max(initial=0))
    # Multiplicative fixed point: a gain changes the smoothed power of its neighbours too, so the
    # remaining ratio is applied again, three times in all.
    gain = np.ones_like(got)
    for _ in range(N_PASSES):
        smooth = _average(got * gain**2, size)
        audible = (smooth > floor) & (smooth_goal > 0)
        gain *= np.sqrt(np.where(audible, smooth_goal, 1) / np.where(audible, smooth, 1))
    return _between_middles(gain.astype(np.float32), block)[: changed.size]


def _between_middles(gain: np.ndarray, block: int) -> np.ndarray:
    """One value a sample: linear from the middle of each block to the middle of the next."""
    knots = np.concatenate([gain[:1], gain, gain[-1:]])
    way = ((np.arange(block) + 0.5) / block).astype(np.float32)
    between = knots[:-1, None] + np.diff(knots)[:, None] * way
    return between.ravel()[block // 2 :]


def with_head_tail_levels(
    channel: SourceChannel, changed: Float[np.ndarray, " n_samples"]
) -> Float[np.ndarray, " n_samples"]:
    """Head and tail at exactly their source's RMS, whatever the label."""
    start, end = channel.span
    for part in (slice(0, start), slice(end, None)):
        changed[part] *= match_gain(rms(channel.samples[part]), rms(changed[part]))
    return changed


def rms(x: np.ndarray) -> np.floating:
    """Root mean square of a waveform, float64; 0 for an empty one."""
    energy = np.einsum("i,i->", x, x, dtype=np.float64)
    return np.sqrt(energy / max(x.size, 1))


def match_gain(wanted: np.ndarray | np.floating, got: np.ndarray | np.floating) -> np.ndarray:
    """Gains that bring RMS `got` to `wanted`, float32; 1 where either is 0."""
    wanted, got = np.asarray(wanted), np.asarray(got)
    usable = (wanted > 0) & (got > 0)
    return np.where(usable, wanted / np.where(usable, got, 1), 1).astype(np.float32)


def _average(
    power: Float64[np.ndarray, " n_blocks"], size: int
) -> Float64[np.ndarray, " n_blocks"]:
    once = ndimage.uniform_filter1d(power, size, mode="nearest")
    return ndimage.uniform_filter1d(once, size, mode="nearest")
