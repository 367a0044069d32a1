"""The values of the card, computed from the plan and the files of a build."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from builders.building.finished import FinishedBuild
from builders.building.markdown import in_code, in_text
from builders.building.repository import write_readme
from builders.corpora.base import Skipped
from builders.splits import SORTED_SPLITS
from builders.vocalgrad.planning.build_plan import PlannedBuild
from builders.vocalgrad.planning.plan import VocalGradPlan
from builders.vocalgrad.planning.rates import low_rates
from builders.vocalgrad.rendering.rows import COUNTED, features
from cards import render_card
from otoscope.acoustics.design import CONDITIONS, LABELS, TIERS, group_of
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.version import __version__

MOST_IN_DOUBT = 200


def write_card(build: FinishedBuild, planned: PlannedBuild, observer: Any, confounds: Any) -> None:
    """Writes README.md; `observer` and `confounds` have tables and what these are based on."""
    plan, _, corpus = planned
    configs = configs_of(build, plan)
    profile = "" if plan.profile == "paper" else f" ({plan.profile})"
    pretty_name = f"VocalGrad{profile}"
    rates = sorted({s.sampling_rate for s in plan.sources})
    text = render_card(
        "vocalgrad.md.jinja",
        plan=plan,
        corpus=corpus,
        pretty_name=pretty_name,
        otoscope_version=__version__,
        example_repo=build.folder.resolve().name,
        splits=[s for split in SORTED_SPLITS if (s := _split(build, plan, split))["n_rows"]],
        categories=[_category(build, plan, name) for name in plan.categories],
        chance=1 / len(LABELS),
        n_beep=sum(f["rows"] for f in build.files.values() if f["config"] == "beep"),
        configs=list(configs),
        rates=", ".join(f"{rate:,} Hz" for rate in rates),
        low_rates=low_rates(plan),
        origins=Counter(s.span_origin for s in plan.sources),
        skipped=omitted_sources(planned),
        doubtful=planned.survey.doubtful[:MOST_IN_DOUBT],
        n_doubtful=len(planned.survey.doubtful),
        total=_totals([f for f in build.files.values() if f["config"] in plan.categories]),
        md=in_text,
        code=in_code,
        observer=observer,
        confounds=confounds,
    )
    write_readme(
        build,
        configs=configs,
        features=lambda name: features(
            plan.sampling_rate("beep" if name == "beep" else "gradient")
        ),
        text=text,
        header={
            "license": corpus.licence,
            "language": [corpus.language] if corpus.language else None,
            "pretty_name": pretty_name,
            "task_categories": ["audio-classification", "audio-text-to-text"],
            "annotations_creators": ["machine-generated"],
            "source_datasets": ["original"],
            "tags": ["audio", "benchmark", "perception", *["synthetic"] * corpus.synthetic],
        },
    )


def configs_of(build: FinishedBuild, plan: VocalGradPlan) -> dict[str, list[str]]:
    """Config names and the folders each reads; `all` first, in generation order.

    A category of which the profile makes nothing is none: `load_dataset` fails on a split without
    rows.
    """
    present = build.configs
    alone = [name for name in (*plan.categories, "source", "beep") if name in present]
    parts = [name for name in plan.categories if name in present]
    return {"all": parts} | {name: [name] for name in alone}


def omitted_sources(planned: PlannedBuild) -> list[Skipped]:
    """Everything of the corpus that is not in the build, and why.

    Without the folders of the machine that made the build, since card and page travel with it.
    """
    _, survey, corpus = planned
    folders = sorted({s.path.parent.as_posix() + "/" for s in corpus.sources}, key=len)
    lines = []
    for name, reason in (*corpus.skipped, *survey.rejected, *survey.dropped):
        for folder in reversed(folders):
            reason = reason.replace(folder, "")
        lines.append(Skipped(name, reason))
    return lines


def _split(build: FinishedBuild, plan: VocalGradPlan, split: str) -> dict[str, Any]:
    sources = plan.of_split(split)
    files = [
        f for f in build.files.values() if f["split"] == split and f["config"] in plan.categories
    ]
    return {
        "name": split,
        "n_sources": len(sources),
        "n_speakers": len({s.source.speaker_id for s in sources} - {""}) or "unknown",
        "n_rows": sum(f["rows"] for f in files),
        "n_no_effect": sum(f["no_effect"] for f in files),
        "n_clipped": sum(f["clipped"] for f in files),
        "n_turned_down": sum(f.get("turned_down", 0) for f in files),
        **_totals(files),
    }


def _totals(files: Sequence[Any]) -> dict[str, Any]:
    """Clips, hours, mean length in seconds, and shares in per cent, as the files' records have it.

    Generated clips alone: records of unmodified ones count rows and nothing else.
    """
    total: Counter[str] = Counter()
    for file in files:
        total.update({k: file.get(k, 0) for k in ("rows", *COUNTED)})
    seconds, n = total["microseconds"] / 1e6, max(total["rows"], 1)
    return {
        "n_clips": total["rows"],
        "hours": f"{seconds / 3600:.3g}",
        "mean_s": f"{seconds / n:.2f}",
        "clips_clipped": f"{100 * total['clipped'] / n:.3g}",
        "samples_clipped": f"{100 * total['clipped_samples'] / max(total['samples'], 1):.2g}",
    }


def _category(build: FinishedBuild, plan: VocalGradPlan, name: str) -> dict[str, Any]:
    gradient = GRADIENTS[name]
    files = [f for f in build.files.values() if f["config"] == name]
    formats = sorted({(s.sampling_rate, s.bit_depth) for s in plan.sources})
    ends = {tier: [gradient.up_ends(tier, *each) for each in formats] for tier in TIERS}
    return {
        "name": name,
        "parameter": gradient.parameter,
        **{
            tier: ", ".join(dict.fromkeys(f"{start:g} → {end:g}" for start, end in of_tier))
            for tier, of_tier in ends.items()
        },
        "group": group_of(name) or "added",
        **_totals(files),
        "n_no_effect": sum(f["no_effect"] for f in files),
        "n_omitted": sum(len(CONDITIONS) - len(s.conditions(name)) for s in plan.sources),
        "omitted_because": Counter(
            reason for s in plan.sources for c, _, reason in s.omitted if c == name
        ),
    }
