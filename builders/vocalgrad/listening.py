"""What can be measured of a build's clips, read back from the files that were written.

Reading back checks the whole way, encoding included. What was measured stays under `.otoscope/`,
so that a finished build need not be heard again.
"""

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from enum import StrEnum
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
import soundfile
from threadpoolctl import threadpool_limits

import otoscope.acoustics
from builders.vocalgrad.plan import SPLITS, Plan, Shard
from builders.vocalgrad.shards import STATE, decode, making_folder
from otoscope.acoustics.confounds import Contrasted, contrasts, measured_in
from otoscope.acoustics.design import CONDITIONS, TIERS
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import Track
from otoscope.acoustics.observers import direction_with_source, slope
from otoscope.acoustics.spans import Span
from otoscope.atomic import write_atomic
from otoscope.progress import Progress
from otoscope.version import __version__

SAMPLE_PER_TIER = 160
N_PER_TIER = len(CONDITIONS) // len(TIERS)
COLUMNS = [
    "audio", "source_id", "tier", "curve", "direction", "span_start_s", "span_end_s", "no_effect",
]  # fmt: skip


class Verify(StrEnum):
    """Which clips are listened to."""

    SAMPLE = "sample"
    ALL = "all"
    NONE = "none"


class Heard(NamedTuple):
    """What the measures say of one clip.

    Attributes:
        slope, named: The slope of the category's cue, and the direction told with the source at
            hand; NaN and None where the cue says nothing.
        contrasted: What changes over the clip, the category's cue and all else; None for a clip
            with no effect.
    """

    category: str
    tier: str
    direction: str
    source_id: str
    no_effect: bool
    slope: float
    named: str | None
    contrasted: Contrasted | None


class ShardHeard(NamedTuple):
    """What they say of a shard's clips, and the slopes of its unmodified sources by category."""

    clips: list[Heard]
    source_slopes: dict[str, list[float]]


class Hearing(NamedTuple):
    """What they say of a build.

    Attributes:
        basis: Which clips these are, in words.
        clips: Of all categories.
        source_slopes: Slopes of the unmodified sources' cues, by category.
    """

    basis: str
    clips: list[Heard]
    source_slopes: dict[str, list[float]]


def listen_to(
    plan: Plan,
    folder: Path,
    *,
    verify: Verify | str = Verify.SAMPLE,
    num_proc: int = 1,
    progress: Progress | None = None,
) -> Hearing:
    """Measures the clips of the first split that has sources: test, if there is one.

    Args:
        plan, folder: A finished build.
        verify: `sample` takes about 160 clips of every category and tier, spread evenly over
            sources, curves and directions; `all` takes every clip; `none` takes nothing.
        num_proc: Processes.
    """
    if Verify(verify) is Verify.NONE:
        return Hearing("not asked", [], {name: [] for name in plan.categories})
    split = next(split for split in SPLITS if plan.of_split(split))
    n_sources = len(plan.of_split(split))
    shards = [s for s in plan.shards if s.kind == "gradient" and s.split == split]
    n_each = N_PER_TIER
    if verify == Verify.SAMPLE:
        n_each = min(n_each, -(-SAMPLE_PER_TIER // n_sources))
    work = partial(listen_once, plan, folder, n_each=n_each)
    heard: list[ShardHeard] = []
    with (progress or Progress()).bar("Listening", len(shards)) as step:
        for result in _map(work, shards, num_proc):
            heard.append(result)
            step()
    clips = [clip for part in heard for clip in part.clips]
    what = "every clip" if n_each == N_PER_TIER else "a stratified sample"
    return Hearing(
        f"{what} of the {split} split: {len(clips):,} clips of {n_sources} sources",
        clips,
        {name: [s for part in heard for s in part.source_slopes[name]] for name in plan.categories},
    )


def _map(work: partial, shards: Sequence[Shard], num_proc: int) -> Iterator[ShardHeard]:
    if num_proc == 1 or len(shards) == 1:
        with threadpool_limits(1):
            yield from map(work, shards)
        return
    n_workers = min(num_proc, len(shards))
    with ProcessPoolExecutor(n_workers, get_context("spawn"), threadpool_limits, (1,)) as pool:
        yield from pool.map(work, shards)


def listen_once(plan: Plan, folder: Path, shard: Shard, *, n_each: int) -> ShardHeard:
    """`listen`, unless the same clips have been heard by the same measures before."""
    kept = folder / STATE / "heard" / f"{shard.name}-{n_each}.json"
    key = f"{plan.fingerprint} {__version__} {measures_sha256()}"
    try:
        before = json.loads(kept.read_text())
        if before["key"] == key:
            return ShardHeard(list(map(_kept, before["clips"])), before["source_slopes"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not heard yet
    heard = listen(plan, folder, shard, n_each=n_each)
    content = {"key": key, "clips": heard.clips, "source_slopes": heard.source_slopes}
    write_atomic(kept, json.dumps(content).encode(), via=making_folder(folder))
    return heard


def _kept(values: list) -> Heard:
    """A clip from its JSON, where tuples are lists."""
    heard = Heard(*values)
    contrasted = heard.contrasted and Contrasted(*heard.contrasted)
    return heard._replace(contrasted=contrasted)


@cache
def measures_sha256() -> str:
    """One hash for the code of all measures: what they say changes with it."""
    folder = Path(otoscope.acoustics.__path__[0])
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("measures/*.py"), *folder.glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def listen(plan: Plan, folder: Path, shard: Shard, *, n_each: int) -> ShardHeard:
    """Measures a shard's sources, and `n_each` of the 8 clips that each has in a tier."""
    clips: list[Heard] = []
    slopes: dict[str, list[float]] = {name: [] for name in plan.categories}
    tracks: dict[tuple[str, str], Track] = {}
    chosen: dict[str, set[int]] = {}
    for k, surveyed in enumerate(plan.sources_of(shard), start=shard.first):
        recording = decode(surveyed)
        for name in plan.categories:
            span = Span(*surveyed.span)
            track = GRADIENTS[name].cue(recording.pcm, recording.sampling_rate, span)
            tracks[name, surveyed.source.clip_id] = track
            slopes[name].append(slope(track))
        chosen[surveyed.source.clip_id] = sampled_cells(k, n_each)
    for name in plan.categories:
        table = pq.read_table(folder / shard.files[name], columns=COLUMNS)
        for row in table.to_pylist():
            cell = (row["tier"], row["curve"], row["direction"])
            if CONDITIONS.index(cell) in chosen[row["source_id"]]:  # type: ignore[arg-type]
                clips.append(_hear(row, name, tracks[name, row["source_id"]]))
    return ShardHeard(clips, slopes)


def sampled_cells(position: int, n_each: int) -> set[int]:
    """Which cells to measure of the source at a position: in each tier `n_each` of its 8.

    Neighbours take turns, so that curves and directions come equally often.

    >>> sorted(sampled_cells(0, 2)), sorted(sampled_cells(1, 2))
    ([0, 1, 8, 9, 16, 17], [2, 3, 10, 11, 18, 19])
    """
    turn = [(position * n_each + j) % N_PER_TIER for j in range(n_each)]
    return {N_PER_TIER * tier + k for tier in range(len(TIERS)) for k in turn}


def _hear(row: dict, category: str, source: Track) -> Heard:
    samples, rate = soundfile.read(io.BytesIO(row["audio"]["bytes"]), dtype="int16", always_2d=True)
    samples = np.ascontiguousarray(samples.T)
    span = Span(round(row["span_start_s"] * rate), round(row["span_end_s"] * rate))
    track = GRADIENTS[category].cue(samples, rate, span)
    condition = category, row["tier"], row["direction"], row["source_id"]
    contrasted = None
    if not row["no_effect"]:
        found = contrasts(samples, rate, span, measured_in(category))
        contrasted = Contrasted(
            category, row["tier"], row["curve"], row["direction"], row["source_id"], *found
        )
    return Heard(
        *condition, row["no_effect"], slope(track), direction_with_source(track, source), contrasted
    )
