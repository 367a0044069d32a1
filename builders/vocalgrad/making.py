"""From a corpus to a dataset folder: survey, plan, shards, README. Resumes where it was stopped."""

import contextlib
import errno
import fcntl
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from builders.corpora.base import Corpus, SourceClip
from builders.vocalgrad.plan import SPLITS, Plan, chosen_categories
from builders.vocalgrad.shards import STATE, finished, making_folder, write_json
from builders.vocalgrad.survey import (
    Conditions,
    Correction,
    Policies,
    Survey,
    refuse_shared_ids,
    survey,
)
from builders.vocalgrad.workers import WorkerDied, run
from otoscope.acoustics.design import CONDITIONS
from otoscope.acoustics.spans import DEFAULT_POLICIES
from otoscope.errors import InputError
from otoscope.progress import Progress

FLAC_SHARE = 0.6  # of PCM, on speech with a little noise; for estimates only


class OnError(StrEnum):
    """What to do about a source that cannot be used."""

    STOP = "stop"
    SKIP = "skip"


class BuildError(InputError, RuntimeError):
    """A build that cannot go on; the message says what to do."""


class Estimate(NamedTuple):
    """What a build will take, before any sound is made."""

    rows: dict[str, int]
    n_files: int
    audio_hours: float
    bytes_likely: int
    bytes_at_most: int


class Built(NamedTuple):
    """A finished build.

    Attributes:
        folder: The Hub repository folder.
        plan: What it holds.
        survey: What the look at the sources brought, the beeps not counted.
        files: Path to its record: config, split, rows, bytes, sha256, no_effect, clipped,
            turned_down.
        n_rows_made: Rows made by this run; the others were there from an earlier one.
    """

    folder: Path
    plan: Plan
    survey: Survey
    files: dict[str, dict]
    n_rows_made: int


def plan_build(
    corpus: Corpus,
    beeps: Corpus | None = None,
    *,
    categories: Sequence[str] | None = None,
    profile: str = "paper",
    policies: Policies = DEFAULT_POLICIES,
    corrections: Mapping[str, Correction] | None = None,
    on_error: OnError | str = OnError.STOP,
    limit_sources: int | None = None,
    progress: Progress | None = None,
) -> tuple[Plan, Survey]:
    """Looks at every source and decides what the build will hold.

    Args:
        corpus: Chosen sources.
        beeps: The tones, or None for a build without the `beep` config.
        categories: A subset of `GRADIENTS`; all by default.
        profile: Which rules.
        policies, corrections: For spans, see `survey`.
        on_error: Whether one unusable source stops the build or is left out and counted.
        limit_sources: At most so many sources in each split, spread over speakers.

    Raises:
        LookupError: An unknown category, or one without this profile.
        BuildError: Unusable sources and `on_error` is `stop`, no sources left, or none of which
            the profile makes any clip.
        CorpusError: Two sources, or a source and a beep, share an id; see also `survey`.
    """
    progress = progress or Progress()
    chosen = chosen_categories(categories, profile)
    sources = limited(corpus.sources, limit_sources)
    refuse_shared_ids([*sources, *(beeps.sources if beeps else ())])
    with progress.bar("Looking at sources", len(sources)) as step:
        seen = survey(
            sources,
            policies=policies,
            corrections=corrections,
            known=corpus.sources,
            conditions=Conditions(profile, chosen),
            on_source=step,
        )
    if seen.refused and OnError(on_error) is OnError.STOP:
        listed = "\n".join(f"  {skipped.reason}" for skipped in seen.refused)
        raise BuildError(
            f"{len(seen.refused)} of {len(sources)} sources cannot be used:\n{listed}\n"
            "mend or correct them, or leave them out with --on-error skip"
        )
    if not seen.sources:
        raise BuildError(f"none of the {len(sources)} sources can be used")
    if not any(s.cells(name, (0, len(CONDITIONS))) for s in seen.sources for name in chosen):
        why = Counter(reason for s in seen.sources for _, _, reason in s.left_out)
        raise BuildError(
            f"{profile} makes nothing of these sources ({', '.join(why)}); "
            "ask for other --categories, or take other sources"
        )
    tones = survey(beeps.sources, conditions=Conditions(profile, chosen)).sources if beeps else ()
    return Plan(chosen, profile, seen.sources, tones), seen


def limited(sources: Sequence[SourceClip], most: int | None) -> list[SourceClip]:
    """At most `most` sources of each split, taken in turn from each speaker; order kept."""
    if most is None:
        return list(sources)
    kept: set[int] = set()
    for split in SPLITS:
        turn: Counter[str] = Counter()
        ranked = []
        for i, source in enumerate(sources):
            if source.split == split:
                ranked.append((turn[source.speaker_id], i))
                turn[source.speaker_id] += 1
        kept.update(i for _, i in sorted(ranked)[:most])
    return [source for i, source in enumerate(sources) if i in kept]


def estimate(plan: Plan) -> Estimate:
    """Counts and sizes of a build."""
    rows: Counter[str] = Counter()
    seconds, size, most, n_files = 0.0, 0.0, 0, 0
    for shard in plan.shards:
        sources = plan.sources_of(shard)
        each = shard.n_rows // max(len(sources), 1)
        rows[f"{shard.kind if shard.kind != 'gradient' else 'all'}/{shard.split}"] += shard.n_rows
        n_files += len(shard.files)
        for s in sources:
            seconds += each * s.n_samples / s.sampling_rate
            size += each * s.n_samples * s.n_channels * 2 * FLAC_SHARE
            most += each * s.most_bytes
    return Estimate(dict(rows), n_files, seconds / 3600, int(size), most)


def build(
    plan: Plan,
    seen: Survey,
    corpus: Corpus,
    out: Path,
    *,
    num_proc: int = 1,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Built:
    """Makes every shard of the plan that is not finished yet.

    Args:
        plan, seen: From `plan_build`.
        corpus: Where the sources come from.
        out: The dataset folder; made when absent.
        num_proc: Processes. The bytes do not depend on it.
        overwrite: Throw away another build found in `out`.

    Raises:
        BuildError: `out` is not writable, is in use, holds another build or something else, the
            disk is full, or a worker was killed; what was finished stays, and the next run goes on
            from there.
        CorpusError: A source has changed since it was surveyed.
    """
    progress = progress or Progress()
    with owned(out, plan, overwrite=overwrite):
        todo = [i for i, shard in enumerate(plan.shards) if finished(plan, shard, out) is None]
        n_rows = sum(plan.shards[i].n_rows for i in todo)
        _check_space(plan, todo, out)
        try:
            with progress.bar("Making clips", n_rows) as step, plain_disk_errors(out):
                run(plan, todo, out, num_proc=num_proc, on_rows=lambda n: step(n, total=True))
        except WorkerDied as error:
            raise BuildError(
                f"{error}; finished shards are kept, run again with a smaller --num-proc"
            ) from error
        files: dict[str, dict] = {}
        for shard in plan.shards:
            record = finished(plan, shard, out)
            if record is None:
                raise BuildError(f"{out}: files of {shard.name} vanished or changed meanwhile")
            files |= record
    return Built(out, plan, seen, files, n_rows)


@contextlib.contextmanager
def owned(out: Path, plan: Plan, *, overwrite: bool) -> Iterator[None]:
    """Makes sure that `out` is this build's folder, and nobody else's while it lasts."""
    state = out / STATE
    with plain_disk_errors(out):
        if out.exists() and not out.is_dir():
            raise BuildError(f"{out} is a file, not a folder")
        if out.is_dir() and any(out.iterdir()) and not state.is_dir():
            raise BuildError(f"{out} holds something that is not a build; choose another --out")
        state.mkdir(parents=True, exist_ok=True)
        lock = (state / "lock").open("w")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError(f"another build is at work in {out}; wait for it, or end it") from None
        try:
            shutil.rmtree(making_folder(out), ignore_errors=True)
            with plain_disk_errors(out):
                _claim(out, plan, overwrite)
            yield
        finally:
            shutil.rmtree(making_folder(out), ignore_errors=True)


def _claim(out: Path, plan: Plan, overwrite: bool) -> None:
    note = out / STATE / "plan.json"
    before = _noted(note)
    if before.get("fingerprint") != plan.fingerprint and not _empty(out):
        if not overwrite:
            differ = [
                k for k, v in outline(plan).items() if before.get(k) != v and k != "fingerprint"
            ]
            raise BuildError(
                f"{out} holds another build (it differs in {', '.join(differ) or 'the sources'}); "
                "choose another --out, or --overwrite it"
            )
        for path in _visible(out):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.rmtree(out / STATE / "shards", ignore_errors=True)
    write_json(note, outline(plan), via=making_folder(out))


def _noted(note: Path) -> dict[str, object]:
    """What the folder's last build said of itself; nothing where that cannot be read."""
    try:
        before = json.loads(note.read_text())
    except (OSError, ValueError):
        return {}
    return before if isinstance(before, dict) else {}


def _visible(out: Path) -> list[Path]:
    """What a build may have put there; a `.git` and its like are the user's."""
    return [path for path in out.iterdir() if not path.name.startswith(".")]


def _empty(out: Path) -> bool:
    return not _visible(out) and not (out / STATE / "shards").exists()


def outline(plan: Plan) -> dict[str, object]:
    """What tells one build from another, in a form to read and compare."""
    return {
        "fingerprint": plan.fingerprint,
        "profile": plan.profile,
        "categories": list(plan.categories),
        "generator_version": plan.generator_version,
        "libraries": list(plan.libraries),
        "n_sources": {split: len(plan.of_split(split)) for split in SPLITS},
        "n_beeps": len(plan.beeps),
        "n_shards": len(plan.shards),
    }


def _check_space(plan: Plan, todo: Sequence[int], out: Path) -> None:
    if not todo:
        return
    share = sum(plan.shards[i].n_rows for i in todo) / sum(s.n_rows for s in plan.shards)
    needed, free = int(estimate(plan).bytes_likely * share), shutil.disk_usage(out).free
    if needed > free:
        raise BuildError(
            f"{out}: about {needed / 1e9:.1f} GB are needed but {free / 1e9:.1f} GB are free; "
            "make room, choose another --out, or take fewer sources with --limit-sources"
        )


@contextlib.contextmanager
def plain_disk_errors(out: Path) -> Iterator[None]:
    """Turns what a disk may refuse into one clear line."""
    try:
        yield
    except OSError as error:
        name = error.filename or out
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BuildError(
                f"{name}: the disk is full; finished shards are kept, make room and run again"
            ) from error
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise BuildError(f"{name}: cannot be written ({os.strerror(error.errno)})") from error
        if error.errno is not None:
            raise BuildError(f"{name}: {os.strerror(error.errno)}") from error
        raise
