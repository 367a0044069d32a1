"""Gradients whose parameter reaches the sound at a few levels only, as bits and whole holds do.

Each level is made once for all segments of a source; a variant then picks, segment by segment.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from otoscope.acoustics.clip import Clip
from otoscope.acoustics.gradients.base import Changed
from otoscope.acoustics.loudness import match_gain, rms
from otoscope.acoustics.segments import crossfade_length, join
from otoscope.acoustics.trajectories import Trajectory

Change = Callable[[np.ndarray, int], np.ndarray]
"""`(rows, level)` to changed rows of one shape, `(..., n_samples)`."""


def pick_levels(
    clip: Clip, trajectory: Trajectory, level_of: Callable[[float], int], change: Change
) -> Changed:
    """Each segment at its level, RMS matched to its untouched context, joined by crossfades.

    Head and tail are changed whole, at the levels of the two ends.
    """

    def segments_at(level: int) -> list[np.ndarray]:
        rows = np.where(clip.fixed.valid, change(clip.fixed.contexts, level), np.float32(0))
        gain = match_gain(clip.fixed.rms, clip.fixed.rms_of(rows))
        return clip.fixed.kept(rows * gain[:, None])

    def edge_at(edge: np.ndarray, level: int) -> np.ndarray:
        changed = change(edge, level)
        return changed * match_gain(rms(edge), rms(changed))

    levels = [level_of(value) for value in trajectory.per_segment(len(clip.fixed.segments))]
    pieces = {
        level: clip.shared((change, level), partial(segments_at, level)) for level in set(levels)
    }
    speech = join(
        [pieces[level][i] for i, level in enumerate(levels)], crossfade_length(clip.sampling_rate)
    )
    edges = []
    for side, edge, value in (
        ("head", clip.head, trajectory.start),
        ("tail", clip.tail, trajectory.end),
    ):
        level = level_of(value)
        edges.append(clip.shared((change, side, level), partial(edge_at, edge, level)))
    return Changed(edges[0], speech, edges[1])
