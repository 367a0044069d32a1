"""What the card says of a build, computed from its plan and its files."""

from collections import Counter
from typing import Any

from builders.corpora.base import Corpus, Skipped
from builders.vocalgrad.making import Built
from builders.vocalgrad.plan import SPLITS
from builders.vocalgrad.rates import low_rates
from builders.vocalgrad.repository import configs_of, write_readme
from otoscope.acoustics.design import CONDITIONS, LABELS, TIERS
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.version import __version__


def write_card(built: Built, corpus: Corpus, observer: Any, confounds: Any) -> None:
    """Writes README.md; `observer` and `confounds` have tables and what these are based on."""
    write_readme(
        built.folder,
        built.plan,
        corpus,
        built.files,
        pretty_name="VocalGrad"
        + (f" ({built.plan.profile})" if built.plan.profile != "paper" else ""),
        otoscope_version=__version__,
        example_repo=built.folder.resolve().name,
        splits=[s for s in map(_split, [built] * len(SPLITS), SPLITS) if s["n_rows"]],
        categories=[_category(built, name) for name in built.plan.categories],
        chance=1 / len(LABELS),
        n_beep=sum(f["rows"] for f in built.files.values() if f["config"] == "beep"),
        configs=list(configs_of(built.plan, built.files)),
        rates=", ".join(
            f"{rate:,} Hz" for rate in sorted({s.sampling_rate for s in built.plan.sources})
        ),
        low_rates=low_rates(built.plan),
        origins=Counter(s.span_origin for s in built.plan.sources),
        skipped=left_out(built, corpus),
        observer=observer,
        confounds=confounds,
    )


def left_out(built: Built, corpus: Corpus) -> list[Skipped]:
    """Everything of the corpus that is not in the build, and why.

    Without the folders of the machine that made the build, since card and page travel with it.
    """
    folders = sorted({s.path.parent.as_posix() + "/" for s in corpus.sources}, key=len)
    lines = []
    for name, reason in (*corpus.skipped, *built.survey.refused, *built.survey.dropped):
        for folder in reversed(folders):
            reason = reason.replace(folder, "")
        lines.append(Skipped(name, reason))
    return lines


def _split(built: Built, split: str) -> dict[str, Any]:
    sources = built.plan.of_split(split)
    files = [
        f
        for f in built.files.values()
        if f["split"] == split and f["config"] in built.plan.categories
    ]
    return {
        "name": split,
        "n_sources": len(sources),
        "n_speakers": len({s.source.speaker_id for s in sources} - {""}) or "unknown",
        "n_rows": sum(f["rows"] for f in files),
        "n_no_effect": sum(f["no_effect"] for f in files),
        "n_clipped": sum(f["clipped"] for f in files),
        "n_turned_down": sum(f.get("turned_down", 0) for f in files),
    }


def _category(built: Built, name: str) -> dict[str, Any]:
    gradient = GRADIENTS[name]
    formats = sorted({(s.sampling_rate, s.bit_depth) for s in built.plan.sources})
    ends = {tier: [gradient.up_ends(tier, *each) for each in formats] for tier in TIERS}
    return {
        "name": name,
        "parameter": gradient.parameter,
        **{
            tier: ", ".join(dict.fromkeys(f"{start:g} → {end:g}" for start, end in of_tier))
            for tier, of_tier in ends.items()
        },
        "n_no_effect": sum(f["no_effect"] for f in built.files.values() if f["config"] == name),
        "n_left_out": sum(
            len(CONDITIONS) - len(s.cells(name, (0, len(CONDITIONS)))) for s in built.plan.sources
        ),
        "left_out_because": Counter(
            reason for s in built.plan.sources for c, _, reason in s.left_out if c == name
        ),
    }
