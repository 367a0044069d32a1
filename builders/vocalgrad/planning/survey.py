"""Reads every source once, before anything is rendered: is it usable, and where is its speech?"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from builders.corpora.base import CorpusError, Skipped, SourceClip
from builders.vocalgrad.planning.corrections import Correction
from builders.vocalgrad.planning.plan import MAX_CLIP_BYTES, OmittedTier, SurveyedClip
from otoscope.acoustics import codec
from otoscope.acoustics.design import TIERS
from otoscope.acoustics.rendering import SourceRenderer, rejects_no_effect
from otoscope.acoustics.spans import (
    DEFAULT_POLICIES,
    FRAME_S,
    MIN_RUN_FRAMES,
    Policy,
    Problem,
    Span,
    decide,
)

Policies = Mapping[Problem, Policy]

MAX_SAMPLING_RATE = 655_350  # of FLAC
SHORTEST_S = MIN_RUN_FRAMES * FRAME_S  # what the detector takes for speech
DROPPED = "left out by a correction"


class Design(NamedTuple):
    """What a build makes of every source."""

    profile: str
    categories: tuple[str, ...]


class Survey(NamedTuple):
    """The result of reading every source.

    Attributes:
        sources: Those that can be used, in order.
        rejected: Those that cannot, and why.
        doubtful: Those used with a span that should be checked, detected or listed.
        dropped: Those that a person left out by a correction.
        attenuations_db: Of those whose codec decodes them to more than full scale.
    """

    sources: tuple[SurveyedClip, ...]
    rejected: tuple[Skipped, ...]
    doubtful: tuple[Skipped, ...]
    dropped: tuple[Skipped, ...] = ()
    attenuations_db: tuple[float, ...] = ()


def survey(
    sources: Sequence[SourceClip],
    *,
    policies: Policies = DEFAULT_POLICIES,
    corrections: Mapping[str, Correction] | None = None,
    known: Iterable[SourceClip] | None = None,
    design: Design | None = None,
    on_source: Callable[[], None] = lambda: None,
) -> Survey:
    """Decodes each source and settles its span.

    Args:
        sources: From a corpus.
        policies: What to do where the detector fails.
        corrections: By clip id; they win over everything.
        known: Clips that a correction may name; `sources` by default, of which these may be a part.
        design: What is to be made of the sources, to omit what would do nothing.
        on_source: Called after each.

    Raises:
        CorpusError: Two sources share an id, a correction names no source, or a policy does not
            answer its problem.
    """
    corrections = corrections or {}
    validate_unique_ids(sources)
    _validate_policies(policies)
    unknown = sorted(set(corrections) - {s.clip_id for s in known or sources})
    if unknown:
        raise CorpusError(f"corrections name clips that are not among the sources: {unknown[:5]}")
    usable, rejected, doubtful, dropped, attenuations_db = [], [], [], [], []
    for source in sources:
        correction = corrections.get(source.clip_id)
        if correction is not None and correction.span_s is None:
            dropped.append(Skipped(source.clip_id, DROPPED))
            on_source()
            continue
        try:
            recording = codec.read(source.path)
            clip, problems = _survey_one(source, recording, policies, correction, design)
        except (codec.AudioError, CorpusError) as error:
            rejected.append(Skipped(source.clip_id, str(error)))
        else:
            usable.append(clip)
            attenuations_db += [recording.attenuation_db] * (recording.attenuation_db > 0)
            if problems:
                why = f"{', '.join(problems)}; span {clip.span_origin}"
                doubtful.append(Skipped(source.clip_id, why))
        on_source()
    return Survey(
        tuple(usable), tuple(rejected), tuple(doubtful), tuple(dropped), tuple(attenuations_db)
    )


def decode(clip: SurveyedClip) -> codec.Recording:
    """The samples that were surveyed.

    Raises:
        CorpusError: The file has changed since, or is gone.
    """
    try:
        recording = codec.read(clip.source.path)
    except codec.AudioError as error:
        raise CorpusError(f"{error}; it could be read when the build began") from error
    if pcm_sha256(recording) != clip.pcm_sha256:
        raise CorpusError(f"{clip.source.path}: changed since the build began; start again")
    return recording


def pcm_sha256(recording: codec.Recording) -> str:
    """SHA-256 of the decoded samples, channel by channel, little-endian."""
    return hashlib.sha256(recording.pcm.astype("<i2").tobytes()).hexdigest()


def renderer_of(recording: codec.Recording, span: tuple[int, int]) -> SourceRenderer:
    """The samples and their span, ready to be rendered."""
    return SourceRenderer(
        recording.pcm, recording.sampling_rate, Span(*span), bit_depth=recording.bit_depth
    )


def _survey_one(
    source: SourceClip,
    recording: codec.Recording,
    policies: Policies,
    correction: Correction | None,
    design: Design | None,
) -> tuple[SurveyedClip, list[str]]:
    rate, (n_channels, n_samples) = recording.sampling_rate, recording.pcm.shape
    if rate > MAX_SAMPLING_RATE:
        raise CorpusError(
            f"{source.path}: {rate} Hz; FLAC holds at most {MAX_SAMPLING_RATE} Hz, resample it"
        )
    problems: list[str] = []
    if correction is not None and correction.span_s is not None:
        span, origin = _in_samples(correction.span_s, recording, source), "corrected"
        if span[1] - span[0] < SHORTEST_S * rate:
            start_s, end_s = correction.span_s
            raise CorpusError(
                f"{source.path}: the correction, {start_s:g} to {end_s:g} s, is shorter than "
                f"{SHORTEST_S:g} s, the least taken for speech; correct it, or drop the clip"
            )
    elif source.span_s is not None:
        span, origin = _in_samples(source.span_s, recording, source), "given"
        problems = [source.doubt] if source.doubt else []
        if span[1] - span[0] < SHORTEST_S * rate:
            problems.append(f"listed span under {SHORTEST_S:g} s")
    else:
        decision = decide(codec.to_float(recording.pcm), rate, dict(policies))
        problems, origin = [*decision.problems], decision.origin
        if decision.span is None:
            raise CorpusError(f"{source.path}: no usable span of speech ({', '.join(problems)})")
        span = (decision.span.start, decision.span.end)
    clip = SurveyedClip(
        source, rate, n_channels, n_samples, recording.bit_depth, recording.subtype,
        span, origin, pcm_sha256(recording), tuple(_omitted(recording, span, design)),
    )  # fmt: skip
    if clip.most_bytes > MAX_CLIP_BYTES:
        raise CorpusError(
            f"{source.path}: {recording.duration_s:.0f} s is too long for one row; cut it into "
            "shorter clips"
        )
    return clip, problems


def _omitted(
    recording: codec.Recording, span: tuple[int, int], design: Design | None
) -> Iterator[OmittedTier]:
    if design is None or not rejects_no_effect(design.profile):
        return
    renderer = renderer_of(recording, span)
    for category in design.categories:
        for tier in TIERS:
            if reason := renderer.not_applicable(category, tier, design.profile):
                yield OmittedTier(category, tier, reason)


def _in_samples(
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


def _validate_policies(policies: Policies) -> None:
    for problem in (Problem.NOTHING_FOUND, Problem.SHORT):
        if policies[problem] is Policy.QUIETEST_FLOOR:
            raise CorpusError(
                f"the policy {Policy.QUIETEST_FLOOR} answers {Problem.FROM_FIRST_FRAME} only, not "
                f"{problem}"
            )


def validate_unique_ids(sources: Iterable[SourceClip]) -> None:
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
