"""What can be measured of a build's clips, read back from the files that were written.

Reading back checks the whole path, encoding included. Measurements are cached under `.otoscope/`.
"""

import hashlib
import io
import json
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
import soundfile

import otoscope.acoustics
from builders.building.finished import naming_damage
from builders.building.folder import STATE, BuildError, staging_folder
from builders.building.workers import WorkerDied, parallel_map
from builders.splits import SORTED_SPLITS
from builders.vocalgrad.planning.plan import ClipShard, VocalGradPlan
from builders.vocalgrad.planning.survey import decode
from otoscope.acoustics.confounds import ClipContrasts, measured_in
from otoscope.acoustics.contrasts import contrasts
from otoscope.acoustics.design import CONDITIONS, TIERS
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import ClipAnalysis, Track
from otoscope.acoustics.observers import direction_with_source, slope
from otoscope.acoustics.spans import Span
from otoscope.atomic import write_json
from otoscope.progress import Progress
from otoscope.version import __version__

SAMPLE_PER_TIER = 160
N_PER_TIER = len(CONDITIONS) // len(TIERS)
READ_COLUMNS = [
    "audio", "source_id", "tier", "curve", "direction", "span_start_s", "span_end_s", "no_effect",
]  # fmt: skip


class Verify(StrEnum):
    """Which clips are measured."""

    SAMPLE = "sample"
    ALL = "all"
    NONE = "none"


class MeasuredClip(NamedTuple):
    """The measurements of one clip.

    Attributes:
        slope: Of the category's cue; NaN where it is not measurable.
        direction_with_source: The direction by the cue of clip and source; None likewise.
        contrasted: What changes over the clip, the category's cue and all else; None for a clip
            with no effect.
    """

    category: str
    tier: str
    direction: str
    source_id: str
    no_effect: bool
    slope: float
    direction_with_source: str | None
    contrasted: ClipContrasts | None


class MeasuredShard(NamedTuple):
    """The measurements of a shard's clips, and its sources' cue slopes by category."""

    clips: list[MeasuredClip]
    source_slopes: dict[str, list[float]]


class Measurement(NamedTuple):
    """The measurements of a build.

    Attributes:
        basis: Which clips were measured, in words.
        clips: Of all categories.
        source_slopes: Slopes of the unmodified sources' cues, by category.
    """

    basis: str
    clips: list[MeasuredClip]
    source_slopes: dict[str, list[float]]


def measure_build(
    plan: VocalGradPlan,
    folder: Path,
    *,
    verify: Verify | str = Verify.SAMPLE,
    num_proc: int = 1,
    progress: Progress | None = None,
) -> Measurement:
    """Measures the clips of the first split that has sources: test, if there is one.

    Args:
        plan, folder: A finished build.
        verify: `sample` takes about 160 clips of every category and tier, spread evenly over
            sources, curves and directions; `all` takes every clip; `none` takes nothing.
        num_proc: Processes.
        progress: Where to show it.

    Raises:
        BuildError: A file is damaged, or a worker was killed.
    """
    if Verify(verify) is Verify.NONE:
        return Measurement("not measured", [], {name: [] for name in plan.categories})
    split = next(split for split in SORTED_SPLITS if plan.of_split(split))
    n_sources = len(plan.of_split(split))
    shards = [s for s in plan.shards if s.kind == "gradient" and s.split == split]
    n_each = N_PER_TIER
    if verify == Verify.SAMPLE:
        n_each = min(n_each, -(-SAMPLE_PER_TIER // n_sources))
    work = partial(measure_cached, plan, folder, n_each=n_each)
    parts: list[MeasuredShard] = []
    with (progress or Progress()).bar("Measuring", len(shards)) as step:
        try:
            for measured in parallel_map(work, shards, num_proc):
                parts.append(measured)
                step()
        except WorkerDied as error:
            raise BuildError(
                f"{error} while measuring; all clips are made, run again with a smaller --num-proc"
            ) from error
    clips = [clip for part in parts for clip in part.clips]
    what = "every clip" if n_each == N_PER_TIER else "a stratified sample"
    return Measurement(
        f"{what} of the {split} split: {len(clips):,} clips of {n_sources} sources",
        clips,
        {name: [s for part in parts for s in part.source_slopes[name]] for name in plan.categories},
    )


def measure_cached(
    plan: VocalGradPlan, folder: Path, shard: ClipShard, *, n_each: int
) -> MeasuredShard:
    """`measure_shard`, unless the same measures were taken of the same clips before."""
    path = folder / STATE / "measured" / f"{shard.name}-{n_each}.json"
    key = f"{plan.fingerprint} {__version__} {measures_sha256()}"
    try:
        cached = json.loads(path.read_text())
        if cached["key"] == key:
            return MeasuredShard(list(map(_from_json, cached["clips"])), cached["source_slopes"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # absent, or not readable
    measured = measure_shard(plan, folder, shard, n_each=n_each)
    content = {"key": key, **measured._asdict()}
    write_json(path, content, via=staging_folder(folder), indent=None)
    return measured


def _from_json(values: list) -> MeasuredClip:
    """A clip from its JSON, where tuples are lists."""
    clip = MeasuredClip(*values)
    return clip._replace(contrasted=clip.contrasted and ClipContrasts(*clip.contrasted))


@cache
def measures_sha256() -> str:
    """One hash for the code of all measures, and of what a gradient takes for its cue."""
    folder = Path(otoscope.acoustics.__path__[0])
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def measure_shard(
    plan: VocalGradPlan, folder: Path, shard: ClipShard, *, n_each: int
) -> MeasuredShard:
    """Measures a shard's sources, and `n_each` of the 8 clips that each has in a tier."""
    clips: list[MeasuredClip] = []
    slopes: dict[str, list[float]] = {name: [] for name in plan.categories}
    tracks: dict[tuple[str, str], Track] = {}
    sampled: dict[str, set[int]] = {}
    for k, surveyed in enumerate(plan.sources_of(shard), start=shard.first):
        recording, source_id = decode(surveyed), surveyed.source.clip_id
        analysis = ClipAnalysis(recording.pcm, recording.sampling_rate, Span(*surveyed.span))
        for name in plan.categories:
            track = tracks[name, source_id] = analysis.once(GRADIENTS[name].cue)
            slopes[name].append(slope(track))
        sampled[source_id] = sampled_conditions(k, n_each)
    for name in plan.categories:
        path = folder / shard.files[name]
        with naming_damage(path):
            for row in pq.read_table(path, columns=READ_COLUMNS).to_pylist():
                condition = (row["tier"], row["curve"], row["direction"])
                if CONDITIONS.index(condition) in sampled[row["source_id"]]:  # type: ignore[arg-type]
                    clips.append(_measure(row, name, tracks[name, row["source_id"]]))
    return MeasuredShard(clips, slopes)


def sampled_conditions(position: int, n_each: int) -> set[int]:
    """Which conditions to measure of the source at a position: in each tier `n_each` of its 8.

    Neighbours take turns, so that curves and directions come equally often.

    >>> sorted(sampled_conditions(0, 2)), sorted(sampled_conditions(1, 2))
    ([0, 1, 8, 9, 16, 17], [2, 3, 10, 11, 18, 19])
    """
    turn = [(position * n_each + j) % N_PER_TIER for j in range(n_each)]
    return {N_PER_TIER * tier + k for tier in range(len(TIERS)) for k in turn}


def _measure(row: dict, category: str, source: Track) -> MeasuredClip:
    samples, rate = soundfile.read(io.BytesIO(row["audio"]["bytes"]), dtype="int16", always_2d=True)
    samples = np.ascontiguousarray(samples.T)
    span = Span(round(row["span_start_s"] * rate), round(row["span_end_s"] * rate))
    clip = ClipAnalysis(samples, rate, span)
    track = clip.once(GRADIENTS[category].cue)
    contrasted = None
    if not row["no_effect"]:
        contrasted = ClipContrasts(
            category, row["tier"], row["curve"], row["direction"], row["source_id"],
            *contrasts(clip, measured_in(category)),
        )  # fmt: skip
    return MeasuredClip(
        category, row["tier"], row["direction"], row["source_id"], row["no_effect"],
        slope(track), direction_with_source(track, source, category), contrasted,
    )  # fmt: skip
