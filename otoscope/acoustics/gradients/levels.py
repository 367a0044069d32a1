"""Gradients whose parameter takes few values, such as whole bits and whole hold lengths.

Each value is rendered once for all segments of a source; a variant then picks segment by segment.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from otoscope.acoustics.gradients.base import Changed
from otoscope.acoustics.loudness import match_gain, rms
from otoscope.acoustics.segments import crossfade_length, join
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.trajectories import Trajectory

Change = Callable[[np.ndarray, int], np.ndarray]
"""`(rows, level)` to changed rows of one shape, `(..., n_samples)`."""


def pick_levels(
    channel: SourceChannel, trajectory: Trajectory, level_of: Callable[[float], int], change: Change
) -> Changed:
    """Each segment at its level, RMS matched to its unchanged context, joined by crossfades.

    Head and tail take the levels of the two ends.
    """

    # each level in use changes all segments once, and every variant of the source shares the result
    def segments_at(level: int) -> list[np.ndarray]:
        rows = np.where(channel.fixed.valid, change(channel.fixed.contexts, level), np.float32(0))
        gain = match_gain(channel.fixed.rms, channel.fixed.rms_of(rows))
        return channel.fixed.without_context(rows * gain[:, None])

    def part_at(part: np.ndarray, level: int) -> np.ndarray:
        changed = change(part, level)
        return changed * match_gain(rms(part), rms(changed))

    # the trajectory, quantized to levels, decides which rendering each segment is taken from
    levels = [level_of(value) for value in trajectory.per_segment(len(channel.fixed.segments))]
    pieces = {
        level: channel.shared((change, level), partial(segments_at, level)) for level in set(levels)
    }
    speech = join(
        [pieces[level][i] for i, level in enumerate(levels)],
        crossfade_length(channel.sampling_rate),
    )
    # outside the span the parameter stays at its two ends
    head, tail = [
        channel.shared((change, side, level), partial(part_at, part, level))
        for side, part, level in (
            ("head", channel.head, level_of(trajectory.start)),
            ("tail", channel.tail, level_of(trajectory.end)),
        )
    ]
    return Changed(head, speech, tail)
