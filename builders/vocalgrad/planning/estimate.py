"""What a build will take, counted before anything is rendered."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from builders.corpora import CORPORA
from builders.corpora.base import SourceClip
from builders.corpora.beeps import open_beeps
from builders.corpora.options import CorpusOptions, checked_call
from builders.corpora.voices import SAMPLING_RATE, planned_clips
from builders.vocalgrad.planning.build_plan import limited_sources
from builders.vocalgrad.planning.plan import SurveyedClip, VocalGradPlan, chosen_categories
from builders.vocalgrad.planning.survey import survey

TYPICAL_S = 4.7  # length of a synthesised clip with its silences


class BuildSize(NamedTuple):
    """Counts and sizes of a build."""

    rows: dict[str, int]
    n_files: int
    audio_hours: float
    bytes_likely: int
    bytes_at_most: int


def estimate(plan: VocalGradPlan) -> BuildSize:
    """What a build will take."""
    rows: Counter[str] = Counter()
    seconds, most = 0.0, 0
    for shard in plan.shards:
        sources = plan.sources_of(shard)
        each = shard.n_rows // max(len(sources), 1)
        rows[f"{shard.kind if shard.kind != 'gradient' else 'all'}/{shard.split}"] += shard.n_rows
        seconds += sum(each * s.n_samples / s.sampling_rate for s in sources)
        most += sum(each * s.most_bytes for s in sources)
    return BuildSize(
        dict(rows),
        sum(len(shard.files) for shard in plan.shards),
        seconds / 3600,
        sum(shard.likely_bytes for shard in plan.shards),
        most,
    )


def sources_without_audio(options: CorpusOptions) -> list[SourceClip]:
    """The clips of voices without any synthesis.

    Raises:
        CorpusError: More sources than there are sentences for, or an option that voices have not.
    """
    checked_call(CORPORA, options)
    return planned_clips(options.where, options.split_names)


def plan_without_audio(
    options: CorpusOptions, categories: Sequence[str] | None, *, profile: str = "paper", beeps: bool
) -> VocalGradPlan:
    """The plan of a build from voices without any synthesis, every clip of the typical length.

    Raises:
        LookupError: An unknown category, or one without this profile.
        CorpusError: More sources than there are sentences for, or an option that voices have not.
    """
    chosen, sources = chosen_categories(categories, profile), sources_without_audio(options)
    n = round(TYPICAL_S * SAMPLING_RATE)
    clips = [
        SurveyedClip(source, SAMPLING_RATE, 1, n, 16, "PCM_16", (0, n), "detected", "")
        for source in limited_sources(sources, options.limit_sources)
    ]
    tones = survey(open_beeps().sources).sources if beeps else ()
    return VocalGradPlan(chosen, profile, tuple(clips), tones)
