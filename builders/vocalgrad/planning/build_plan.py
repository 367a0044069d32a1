"""From a corpus to a plan."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from builders.building.folder import BuildError
from builders.corpora.base import Corpus, SourceClip
from builders.corpora.options import OnError
from builders.corpora.reading.resampled import attenuation_notes
from builders.splits import SORTED_SPLITS
from builders.vocalgrad.planning.corrections import Correction
from builders.vocalgrad.planning.plan import VocalGradPlan, chosen_categories
from builders.vocalgrad.planning.survey import (
    Design,
    Policies,
    Survey,
    survey,
    validate_unique_ids,
)
from otoscope.acoustics.spans import DEFAULT_POLICIES
from otoscope.progress import Progress


class PlannedBuild(NamedTuple):
    """A plan and what it was made from.

    Attributes:
        plan: What the build will hold.
        survey: The result of reading the sources, without the beeps.
        corpus: Where the sources come from; its notes have what reading them showed.
    """

    plan: VocalGradPlan
    survey: Survey
    corpus: Corpus


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
) -> PlannedBuild:
    """Reads every source and decides what the build will hold.

    Args:
        corpus: Chosen sources.
        beeps: The tones, or None for a build without the `beep` config.
        categories: A subset of `GRADIENTS`; the published ones by default.
        profile: Which rules.
        policies, corrections: For spans, see `survey`.
        on_error: Whether one unusable source stops the build or is left out and counted.
        limit_sources: At most so many sources in each split, spread over speakers.
        progress: Where to show it.

    Raises:
        LookupError: An unknown category, or one without this profile.
        BuildError: Unusable sources and `on_error` is `stop`, no sources left, or none of which
            the profile makes any clip.
        CorpusError: Two sources, or a source and a beep, share an id; see also `survey`.
    """
    progress = progress or Progress()
    design = Design(profile, chosen_categories(categories, profile))
    sources = limited_sources(corpus.sources, limit_sources)
    validate_unique_ids([*sources, *(beeps.sources if beeps else ())])
    with progress.bar("Reading sources", len(sources)) as step:
        seen = survey(
            sources,
            policies=policies,
            corrections=corrections,
            known=corpus.sources,
            design=design,
            on_source=step,
        )
    if seen.rejected and OnError(on_error) is OnError.STOP:
        listed = ";\n".join(f"  {skipped.reason}" for skipped in seen.rejected)
        raise BuildError(
            f"{len(seen.rejected)} of {len(sources)} sources cannot be used:\n{listed};\n"
            "mend or correct them, or leave them out with --on-error skip"
        )
    if not seen.sources:
        raise BuildError(f"none of the {len(sources)} sources can be used")
    if not any(s.conditions(name) for s in seen.sources for name in design.categories):
        why = Counter(omitted.reason for s in seen.sources for omitted in s.omitted)
        raise BuildError(
            f"{profile} makes nothing of these sources ({', '.join(why)}); "
            "choose other --categories, or take other sources"
        )
    tones = survey(beeps.sources, design=design).sources if beeps else ()
    louder = attenuation_notes(seen.attenuations_db, len(seen.sources), "after decoding")
    corpus = replace(corpus, notes=(*corpus.notes, *louder))
    return PlannedBuild(
        VocalGradPlan(design.categories, profile, seen.sources, tones), seen, corpus
    )


def limited_sources(sources: Sequence[SourceClip], most: int | None) -> list[SourceClip]:
    """At most `most` sources of each split, taken in turn from each speaker; order kept."""
    if most is None:
        return list(sources)
    chosen: set[int] = set()
    for split in SORTED_SPLITS:
        turn: Counter[str] = Counter()
        ranked = []
        for i, source in enumerate(sources):
            if source.split == split:
                ranked.append((turn[source.speaker_id], i))
                turn[source.speaker_id] += 1
        chosen.update(i for _, i in sorted(ranked)[:most])
    return [source for i, source in enumerate(sources) if i in chosen]
