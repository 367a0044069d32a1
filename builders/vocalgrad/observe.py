"""How well a listener that only measures the signal names the direction, in a build's own clips.

The clips are read back from the files that were written, so this checks the whole way.
"""

import io
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
import soundfile

from builders.vocalgrad.plan import SPLITS, Plan, Shard
from builders.vocalgrad.shards import STATE, decode, making_folder
from otoscope.acoustics.gradients import attribute_of
from otoscope.acoustics.measures import CUES, Track
from otoscope.acoustics.observers import constant_of, direction_with_source, slope
from otoscope.acoustics.rendering import CELLS
from otoscope.acoustics.spans import Span
from otoscope.acoustics.trajectories import TIERS
from otoscope.progress import Progress
from otoscope.statistics.intervals import clustered_interval
from otoscope.version import __version__
from otoscope.whole import write_whole

SAMPLE_PER_TIER = 160
COLUMNS = ["audio", "source_id", "tier", "direction", "span_start_s", "span_end_s", "no_effect"]


class Verify(StrEnum):
    """Which clips are asked about."""

    SAMPLE = "sample"
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True)
class Rate:
    """A share with its 95 % interval, clustered by source; None where there is nothing to judge."""

    share: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.share is None or self.low is None or self.high is None:
            return "–"
        return f"{100 * self.share:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


@dataclass(frozen=True)
class ObserverRow:
    """The slope observer in one category and tier.

    Attributes:
        n: Clips asked about; those with no effect are left out and counted in `n_no_effect`.
        n_unanswered: Clips whose cue could not be measured; they count as not correct.
        alone: From the clip by itself, minus the category's constant.
        with_source: The same measure with the source clip at hand.
    """

    category: str
    tier: str
    n: int
    n_no_effect: int
    n_unanswered: int
    alone: Rate
    with_source: Rate


@dataclass(frozen=True)
class Report:
    """All rows, and a sentence on what they rest on."""

    basis: str
    rows: tuple[ObserverRow, ...]

    @property
    def table(self) -> str:
        """The rows as a Markdown table, in per cent."""
        lines = [
            "| category | tier | clips | not measurable | clip alone | with its source |",
            "|---|---|---:|---:|---:|---:|",
        ]
        lines += [
            f"| {attribute_of(r.category)} | {r.tier} | {r.n} | {r.n_unanswered} | {r.alone} "
            f"| {r.with_source} |"
            for r in self.rows
        ]
        return "\n".join(lines)


class Heard(NamedTuple):
    """What the measure says of one clip; `slope` is NaN, `named` None, where it says nothing."""

    category: str
    tier: str
    direction: str
    source_id: str
    no_effect: bool
    slope: float
    named: str | None


class ShardHeard(NamedTuple):
    """What it says of a shard's clips, and the slopes of its unmodified sources by category."""

    clips: list[Heard]
    source_slopes: dict[str, list[float]]


def observe(
    plan: Plan,
    folder: Path,
    *,
    verify: Verify | str = Verify.SAMPLE,
    num_proc: int = 1,
    progress: Progress | None = None,
) -> Report:
    """Asks the slope observer about a build.

    The first split that has sources is asked about: test, if there is one. The constant of a
    category is the median slope of that split's unmodified sources.

    Args:
        plan, folder: A finished build.
        verify: `sample` takes about 160 clips of every category and tier, spread evenly over
            sources, curves and directions; `all` takes every clip; `none` asks nothing.
        num_proc: Processes.
    """
    if Verify(verify) is Verify.NONE:
        return Report("not asked", ())
    split = next(split for split in SPLITS if plan.of_split(split))
    shards = [s for s in plan.shards if s.kind == "gradient" and s.split == split]
    n_each = 8 if verify == "all" else min(8, -(-SAMPLE_PER_TIER // len(plan.of_split(split))))
    work = partial(listen_once, plan, folder, n_each=n_each)
    heard: list[ShardHeard] = []
    with (progress or Progress()).bar("Listening", len(shards)) as step:
        for result in _map(work, shards, num_proc):
            heard.append(result)
            step()
    constants = {
        name: constant_of([s for part in heard for s in part.source_slopes[name]])
        for name in plan.categories
    }
    clips = [clip for part in heard for clip in part.clips]
    rows = tuple(
        _row(
            [c for c in clips if (c.category, c.tier) == (name, tier)], name, tier, constants[name]
        )
        for name in plan.categories
        for tier in TIERS
    )
    what = "every clip" if n_each == 8 else "a stratified sample"
    basis = (
        f"{what} of the {split} split: {len(clips):,} clips of {len(plan.of_split(split))} sources"
    )
    return Report(basis, rows)


def _map(work: partial, shards: Sequence[Shard], num_proc: int) -> Iterator[ShardHeard]:
    if num_proc == 1 or len(shards) == 1:
        yield from map(work, shards)
        return
    with ProcessPoolExecutor(min(num_proc, len(shards)), get_context("spawn")) as pool:
        yield from pool.map(work, shards)


def listen_once(plan: Plan, folder: Path, shard: Shard, *, n_each: int) -> ShardHeard:
    """`listen`, kept under `.otoscope/` so that a finished build need not be heard again."""
    kept = folder / STATE / "heard" / f"{shard.name}-{n_each}.json"
    try:
        before = json.loads(kept.read_text())
        if before["key"] == _key(plan):
            clips = [Heard(**clip) for clip in before["clips"]]
            return ShardHeard(clips, before["source_slopes"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not heard yet
    heard = listen(plan, folder, shard, n_each=n_each)
    content = {
        "key": _key(plan),
        "clips": [clip._asdict() for clip in heard.clips],
        "source_slopes": heard.source_slopes,
    }
    write_whole(kept, json.dumps(content).encode(), via=making_folder(folder))
    return heard


def _key(plan: Plan) -> str:
    """What the measures depend on: the clips and the version of the measures."""
    return f"{plan.fingerprint} {__version__}"


def listen(plan: Plan, folder: Path, shard: Shard, *, n_each: int) -> ShardHeard:
    """Measures a shard's sources, and `n_each` of the 8 clips that each has in a tier."""
    clips: list[Heard] = []
    slopes: dict[str, list[float]] = {name: [] for name in plan.categories}
    tracks: dict[tuple[str, str], Track] = {}
    chosen: dict[str, set[int]] = {}
    for k, surveyed in enumerate(plan.sources_of(shard), start=shard.first):
        recording = decode(surveyed)
        for name in plan.categories:
            track = CUES[name](recording.pcm, recording.sampling_rate, Span(*surveyed.span))
            tracks[name, surveyed.source.clip_id] = track
            slopes[name].append(slope(track))
        chosen[surveyed.source.clip_id] = sampled_cells(k, n_each)
    for name in plan.categories:
        table = pq.read_table(folder / shard.files[name], columns=[*COLUMNS, "curve"])
        for row in table.to_pylist():
            cell = (row["tier"], row["curve"], row["direction"])
            if CELLS.index(cell) in chosen[row["source_id"]]:  # type: ignore[arg-type]
                clips.append(_hear(row, name, tracks[name, row["source_id"]]))
    return ShardHeard(clips, slopes)


def sampled_cells(position: int, n_each: int) -> set[int]:
    """Which cells to ask about for the source at a position: in each tier `n_each` of its 8.

    Neighbours take turns, so that curves and directions come equally often.

    >>> sorted(sampled_cells(0, 2)), sorted(sampled_cells(1, 2))
    ([0, 1, 8, 9, 16, 17], [2, 3, 10, 11, 18, 19])
    """
    turn = [(position * n_each + j) % 8 for j in range(n_each)]
    return {8 * tier + k for tier in range(len(TIERS)) for k in turn}


def _hear(row: dict, category: str, source: Track) -> Heard:
    samples, rate = soundfile.read(io.BytesIO(row["audio"]["bytes"]), dtype="int16", always_2d=True)
    span = Span(round(row["span_start_s"] * rate), round(row["span_end_s"] * rate))
    track = CUES[category](np.ascontiguousarray(samples.T), rate, span)
    return Heard(
        category, row["tier"], row["direction"], row["source_id"], row["no_effect"],
        slope(track), direction_with_source(track, source),
    )  # fmt: skip


def _row(clips: list[Heard], category: str, tier: str, constant: float) -> ObserverRow:
    judged = [c for c in clips if not c.no_effect]
    excess = np.array([c.slope - constant for c in judged])
    up = np.array([c.direction == "up" for c in judged], bool)
    answered = np.isfinite(excess)
    alone = answered & ((excess > 0) == up)
    named = np.array([c.named == c.direction for c in judged], bool)
    source_ids = np.array([c.source_id for c in judged], str)
    return ObserverRow(
        category,
        tier,
        len(judged),
        len(clips) - len(judged),
        int(np.sum(~answered)),
        _rate(alone, source_ids),
        _rate(named, source_ids),
    )


def _rate(correct: np.ndarray, source_ids: np.ndarray) -> Rate:
    if not correct.size:
        return Rate(None, None, None)
    return Rate(*clustered_interval(correct, source_ids))
