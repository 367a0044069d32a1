"""Reads every source once, before any sound is made: is it usable, and where is its speech?"""

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from builders.corpora.base import CorpusError, Skipped, SourceClip
from builders.vocalgrad.plan import MAX_CLIP_BYTES, LeftOut, Surveyed
from builders.vocalgrad.shards import pcm_sha256
from otoscope.acoustics import codec
from otoscope.acoustics.design import TIERS
from otoscope.acoustics.rendering import SourceRenderer, rejects_no_effect
from otoscope.acoustics.spans import DEFAULT_POLICIES, Policy, Problem, Span, decide

Policies = Mapping[Problem, Policy]

MAX_SAMPLING_RATE = 655_350  # of FLAC


DROPPED = "left out by a correction"


class Conditions(NamedTuple):
    """What a build makes of every source."""

    profile: str
    categories: tuple[str, ...]


class Correction(NamedTuple):
    """What a person decided on looking at a clip: its span in seconds, or None to leave it out."""

    span_s: tuple[float, float] | None


class Survey(NamedTuple):
    """What a look at every source brought.

    Attributes:
        sources: Those that can be used, in order.
        refused: Those that cannot, and why.
        doubtful: Those used with a span that should be looked at, detected or listed.
        dropped: Those that a person left out by a correction.
    """

    sources: tuple[Surveyed, ...]
    refused: tuple[Skipped, ...]
    doubtful: tuple[Skipped, ...]
    dropped: tuple[Skipped, ...] = ()


def survey(
    sources: Sequence[SourceClip],
    *,
    policies: Policies = DEFAULT_POLICIES,
    corrections: Mapping[str, Correction] | None = None,
    known: Iterable[SourceClip] | None = None,
    conditions: Conditions | None = None,
    on_source: Callable[[], None] = lambda: None,
) -> Survey:
    """Decodes each source and settles its span.

    Args:
        sources: From a corpus.
        policies: What to do where the detector fails.
        corrections: By clip id; they win over everything.
        known: Whom a correction may name; `sources` by default, of which these may be a part.
        conditions: What is to be made of the sources, to leave out what would do nothing.
        on_source: Called after each.

    Raises:
        CorpusError: Two sources share an id, a correction names no source, or a policy does not
            answer its problem.
    """
    corrections = corrections or {}
    refuse_shared_ids(sources)
    _check_policies(policies)
    unknown = sorted(set(corrections) - {s.clip_id for s in known or sources})
    if unknown:
        raise CorpusError(f"corrections name clips that are not among the sources: {unknown[:5]}")
    usable, refused, doubtful, dropped = [], [], [], []
    for source in sources:
        correction = corrections.get(source.clip_id)
        if correction is not None and correction.span_s is None:
            dropped.append(Skipped(source.clip_id, DROPPED))
            on_source()
            continue
        try:
            surveyed, problems = _look_at(source, policies, correction, conditions)
        except (codec.AudioError, CorpusError) as error:
            refused.append(Skipped(source.clip_id, str(error)))
        else:
            usable.append(surveyed)
            if problems:
                why = f"{', '.join(problems)}; span {surveyed.span_origin}"
                doubtful.append(Skipped(source.clip_id, why))
        on_source()
    return Survey(tuple(usable), tuple(refused), tuple(doubtful), tuple(dropped))


def _look_at(
    source: SourceClip,
    policies: Policies,
    correction: Correction | None,
    conditions: Conditions | None,
) -> tuple[Surveyed, list[str]]:
    recording = codec.read(source.path)
    rate, (n_channels, n_samples) = recording.sampling_rate, recording.pcm.shape
    if rate > MAX_SAMPLING_RATE:
        raise CorpusError(
            f"{source.path}: {rate} Hz; FLAC holds at most {MAX_SAMPLING_RATE} Hz, resample it"
        )
    problems: list[str] = []
    if correction is not None and correction.span_s is not None:
        span, origin = _samples_of(correction.span_s, recording, source), "corrected"
    elif source.span_s is not None:
        span, origin = _samples_of(source.span_s, recording, source), "given"
        problems = [source.doubt] if source.doubt else []
    else:
        decision = decide(codec.to_float(recording.pcm), rate, dict(policies))
        problems, origin = [*decision.problems], decision.origin
        if decision.span is None:
            raise CorpusError(f"{source.path}: no usable span of speech ({', '.join(problems)})")
        span = (decision.span.start, decision.span.end)
    surveyed = Surveyed(
        source, rate, n_channels, n_samples, recording.bit_depth, recording.subtype,
        span, origin, pcm_sha256(recording), tuple(_left_out(recording, span, conditions)),
    )  # fmt: skip
    if surveyed.most_bytes > MAX_CLIP_BYTES:
        raise CorpusError(
            f"{source.path}: {recording.duration_s:.0f} s is too long for one row; cut it into "
            "shorter clips"
        )
    return surveyed, problems


def _left_out(
    recording: codec.Recording, span: tuple[int, int], conditions: Conditions | None
) -> Iterator[LeftOut]:
    if conditions is None or not rejects_no_effect(conditions.profile):
        return
    renderer = SourceRenderer(
        recording.pcm, recording.sampling_rate, Span(*span), bit_depth=recording.bit_depth
    )
    for category in conditions.categories:
        for tier in TIERS:
            if reason := renderer.not_applicable(category, tier, conditions.profile):
                yield LeftOut(category, tier, reason)


def _samples_of(
    span_s: tuple[float, float], recording: codec.Recording, source: SourceClip
) -> tuple[int, int]:
    n = recording.pcm.shape[1]
    samples = [t * recording.sampling_rate for t in span_s]
    start, end = (round(t) if math.isfinite(t) else -1 for t in samples)
    if not 0 <= start < end <= n:
        raise CorpusError(
            f"{source.path}: span {span_s[0]:g} to {span_s[1]:g} s is not within the clip's "
            f"{recording.duration_s:g} s"
        )
    return start, end


def _check_policies(policies: Policies) -> None:
    for problem in (Problem.NOTHING_FOUND, Problem.SHORT):
        if policies[problem] is Policy.QUIETEST_FLOOR:
            raise CorpusError(
                f"the policy {Policy.QUIETEST_FLOOR} answers {Problem.FROM_FIRST_FRAME} only, not "
                f"{problem}"
            )


def refuse_shared_ids(sources: Iterable[SourceClip]) -> None:
    """Rows take their ids from their source's, so no two sources of a split may share one.

    Raises:
        CorpusError: Naming both files.
    """
    seen: dict[tuple[str, str], SourceClip] = {}
    for source in sources:
        for kind, key in (("item id", source.item_id), ("clip id", source.clip_id)):
            other = seen.setdefault((source.split + kind, key), source)
            if other is not source:
                raise CorpusError(
                    f"two {source.split} sources have the {kind} {key!r}: {other.path} and "
                    f"{source.path}"
                )


def read_corrections(path: Path) -> dict[str, Correction]:
    """Spans a person has corrected, by clip id.

    The CSV has columns `clip_id`, `onset_sec`, `offset_sec` and, optionally, `drop` (`yes` leaves
    the clip out; its times may then be empty). The page of `spans` writes it.

    Raises:
        CorpusError: A column is missing, a number is not one, or a clip appears twice.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = {"clip_id", "onset_sec", "offset_sec"} - set(reader.fieldnames or ())
            if missing:
                raise CorpusError(
                    f"{path}: lacks the column(s) {sorted(missing)}; it has {reader.fieldnames}"
                )
            lines = list(reader)
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorpusError(f"{path}: not a readable CSV in UTF-8 ({error})") from error
    corrections: dict[str, Correction] = {}
    for number, line in enumerate(lines, start=2):
        clip_id = line["clip_id"]
        if clip_id in corrections:
            raise CorpusError(f"{path}, line {number}: {clip_id!r} appears twice")
        if (line.get("drop") or "").strip().lower() in {"yes", "1", "true", "y"}:
            corrections[clip_id] = Correction(None)
            continue
        try:
            span = float(line["onset_sec"]), float(line["offset_sec"])
        except (TypeError, ValueError) as error:
            raise CorpusError(f"{path}, line {number}: times must be numbers ({error})") from error
        if not all(map(math.isfinite, span)):
            raise CorpusError(f"{path}, line {number}: times must be numbers, got {span}")
        corrections[clip_id] = Correction(span)
    return corrections
