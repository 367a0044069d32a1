"""Gradients whose parameter reaches the sound at a few levels only, as bits and whole holds do.

Each level is made once for all segments of a source; a variant then picks, segment by segment.
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
    """Each segment at its level, RMS matched to its untouched context, joined by crossfades.

    Head and tail are changed whole, at the levels of the two ends.
    """

    def segments_at(level: int) -> list[np.ndarray]:
        rows = np.where(channel.fixed.valid, change(channel.fixed.contexts, level), np.float32(0))
        gain = match_gain(channel.fixed.rms, channel.fixed.rms_of(rows))
        return channel.fixed.without_context(rows * gain[:, None])

    def edge_at(edge: np.ndarray, level: int) -> np.ndarray:
        changed = change(edge, level)
        return changed * match_gain(rms(edge), rms(changed))

    levels = [level_of(value) for value in trajectory.per_segment(len(channel.fixed.segments))]
    pieces = {
        level: channel.shared((change, level), partial(segments_at, level)) for level in set(levels)
    }
    speech = join(
        [pieces[level][i] for i, level in enumerate(levels)],
        crossfade_length(channel.sampling_rate),
    )
    edges = []
    for side, edge, value in (
        ("head", channel.head, trajectory.start),
        ("tail", channel.tail, trajectory.end),
    ):
        level = level_of(value)
        edges.append(channel.shared((change, side, level), partial(edge_at, edge, level)))
    return Changed(edges[0], speech, edges[1])
