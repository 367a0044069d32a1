"""A plan of sources that have not been spoken yet, to count before any sound is made."""

from collections.abc import Sequence

from builders.corpora.options import CorpusOptions, open_corpus, spoken_sources
from builders.vocalgrad.making import limited
from builders.vocalgrad.plan import Plan, Surveyed, chosen_categories
from builders.vocalgrad.survey import survey
from otoscope.progress import Progress

TYPICAL_S = 4.7  # length of a spoken clip with its rests


def unspoken_plan(
    choice: CorpusOptions, categories: Sequence[str] | None, *, profile: str = "paper", beeps: bool
) -> Plan:
    """The plan of a build from voices, every clip of the typical length.

    Raises:
        LookupError: An unknown category, or one without this profile.
        CorpusError: More sources than there are sentences for.
    """
    chosen = chosen_categories(categories, profile)
    sources, rate = spoken_sources(choice)
    n = round(TYPICAL_S * rate)
    spoken = [
        Surveyed(source, rate, 1, n, 16, "PCM_16", (0, n), "detected", "")
        for source in limited(sources, choice.limit_sources)
    ]
    tones = survey(open_corpus(CorpusOptions("beep"), Progress()).sources).sources if beeps else ()
    return Plan(chosen, profile, tuple(spoken), tones)
