"""What the signal gives away in clips made of real recordings, intended and not, by profile.

    python -m benchmarks.real_speech --speech FOLDER [FOLDER …] --profile paper,controlled

Of the folders every distinct recording (by its samples) counts whose detected span lasts a second
or more. Each is rendered, brought to 16 bits and measured; nothing is written but what `--out`
names. Two tables, in Markdown: how often observers name the direction, and how well anything but
the named factor does. Observers are fitted on other speakers than they are tested on, and a
recording's speaker is taken to be its file name up to the first `_` or `-`.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.recordings import MeasuredRecording, measure_recordings, recordings
from builders.corpora.base import CorpusError
from builders.vocalgrad.measuring.build_confounds import (
    CONFOUND_COLUMNS,
    MARK,
    TOGETHER,
    auc_text,
    by_category,
    contrast_text,
    joint_auc,
    unavoidable_reasons,
)
from builders.vocalgrad.measuring.observer_accuracy import Rate
from otoscope.acoustics.confounds import ConfoundRow, Confounds, measure_confounds
from otoscope.acoustics.contrasts import contrast_title
from otoscope.acoustics.design import TIERS
from otoscope.acoustics.fitted import cross_fitted
from otoscope.acoustics.gradients import GRADIENTS, attribute_of
from otoscope.acoustics.observers import constant_of
from otoscope.progress import ProgressBars
from otoscope.statistics.intervals import Interval, clustered_interval
from otoscope.version import __version__

LEAST_SPEAKERS = 3  # two to learn from, and one to ask about
WITH_SOURCE = 0.99
OBSERVERS = {"slope": 0.95, "fitted": 0.95}
HARDER = {
    "voice_pitch": {"slope": 0.80, "fitted": 0.90},
    "speaking_speed": {"slope": 0.75, "fitted": 0.85},
}
"""What the profile `controlled` should reach at the high tier, where it is not `OBSERVERS`."""
NEAR, AREA_WITHIN = (0.45, 0.55), (0.40, 0.60)
"""An area of one half: an interval that covers it and lies within the wider bounds, or one that
lies within the narrower ones, whatever it covers."""


@dataclass(frozen=True)
class ObserverRow:
    """Accuracies in one condition; a clip that cannot be measured counts as wrong."""

    profile: str
    category: str
    tier: str
    n: int
    n_unanswered: int
    slope: Rate
    fitted: Rate
    with_source: Rate


def observers(measured: Sequence[MeasuredRecording], profile: str) -> list[ObserverRow]:
    """What both observers answer, category by category and tier by tier."""
    constants = {
        (category, left_out.speaker): constant_of(
            [h.source_slopes[category] for h in measured if h.speaker != left_out.speaker]
        )
        for category in GRADIENTS
        for left_out in measured
    }
    rows = []
    for category in GRADIENTS:
        clips = [
            clip
            for h in measured
            for clip in h.clips[profile]
            if clip.contrasted.category == category
        ]
        if not clips:
            continue
        rising = np.array([clip.contrasted.direction == "up" for clip in clips])
        speakers = np.array([clip.speaker for clip in clips])
        odds = cross_fitted(np.stack([clip.segments for clip in clips]), rising, speakers)
        excess = np.array([c.slope - constants[category, c.speaker] for c in clips])
        named = np.array([clip.named == clip.contrasted.direction for clip in clips])
        for tier in TIERS:
            at = np.array([clip.contrasted.tier == tier for clip in clips])
            if at.any():
                sources = np.array([c.contrasted.source_id for c in clips])[at]
                right = [
                    Rate(*clustered_interval(correct[at], sources))
                    for correct in (_right(excess, rising), _right(odds, rising), named)
                ]
                n_unanswered = int(np.sum(np.isnan(excess[at])))
                rows.append(
                    ObserverRow(profile, category, tier, int(at.sum()), n_unanswered, *right)
                )
    return rows


def _right(score: np.ndarray, rising: np.ndarray) -> np.ndarray:
    return np.isfinite(score) & ((score > 0) == rising)


def observer_table(rows: Sequence[ObserverRow], profiles: Sequence[str], tier: str) -> str:
    """Per cent correct at one tier, the profiles side by side."""
    kinds = {"slope": "slope", "fitted": "fitted", "with_source": "with its source"}
    of_tier = {(r.profile, r.category): r for r in rows if r.tier == tier}
    titles = [f"{title}, {profile}" for title in kinds.values() for profile in profiles]
    lines = [f"| category | {' | '.join(titles)} |", f"|---|{'---:|' * len(titles)}"]
    for category in GRADIENTS:
        cells = [
            str(getattr(row, kind)) if (row := of_tier.get((profile, category))) else "–"
            for kind in kinds
            for profile in profiles
        ]
        lines.append(f"| {attribute_of(category)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def confound_table(areas: Mapping[str, Confounds]) -> str:
    """Areas under the ROC curve, the profiles under one another; confounds that miss are bold."""
    titles = [*map(contrast_title, CONFOUND_COLUMNS), *TOGETHER]
    lines = [
        f"| category | profile | {' | '.join(titles)} |",
        f"|---|---|{'---:|' * (len(CONFOUND_COLUMNS) + len(TOGETHER))}",
    ]
    tables = {profile: by_category(found.rows) for profile, found in areas.items()}
    for category in GRADIENTS:
        for profile, table in tables.items():
            if category in table:
                cells = [_confound(table[category][name]) for name in CONFOUND_COLUMNS]
                cells += [
                    _area(auc_text(auc), auc)
                    for avoidable_only in (False, True)
                    for auc in [joint_auc(areas[profile], category, avoidable_only=avoidable_only)]
                ]
                lines.append(f"| {attribute_of(category)} | {profile} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _confound(row: ConfoundRow) -> str:
    return contrast_text(row) if row.intended else _area(contrast_text(row), row.auc)


def _area(text: str, auc: Interval) -> str:
    return text if shows_nothing(auc) else f"**{text}**"


def shows_nothing(auc: Interval) -> bool:
    """Whether an area may be called one half; an unknown area says nothing.

    >>> [shows_nothing(Interval(a, a - 0.05, a + 0.05)) for a in (0.5, 0.54, 0.56)]
    [True, True, False]
    >>> shows_nothing(Interval(0.52, 0.51, 0.53))
    True
    """
    if np.isnan(auc.estimate):
        return True
    covers = AREA_WITHIN[0] <= auc.low <= 0.5 <= auc.high <= AREA_WITHIN[1]
    return covers or NEAR[0] <= auc.low <= auc.high <= NEAR[1]


def missed(rows: Sequence[ObserverRow], areas: Confounds, profile: str) -> list[str]:
    """Targets that a profile does not reach at the high tier, even at the interval's better end.

    Confounds that no rendering can be free of are not among them; the table has them.
    """
    lines = []
    for row in (r for r in rows if (r.profile, r.tier) == (profile, "high")):
        targets = {**OBSERVERS, **HARDER.get(row.category, {}), "with_source": WITH_SOURCE}
        for kind, target in targets.items():
            rate: Rate = getattr(row, kind)
            if rate.high is None or rate.high < target:
                what = kind.replace("_", " ")
                lines.append(f"{attribute_of(row.category)}, {what}: {rate} of {100 * target:g}")
    for area in areas.rows:
        if not area.intended and not area.unavoidable and not shows_nothing(area.auc):
            what = f"{attribute_of(area.category)}, {contrast_title(area.name)}"
            lines.append(f"{what}: {auc_text(area.auc)}")
    return lines


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speech", type=Path, nargs="+", required=True, help="folders")
    parser.add_argument("--profile", default="paper,controlled", help="comma-separated")
    parser.add_argument("--tier", default="high", help="comma-separated; tables show the last")
    parser.add_argument("--num-proc", type=int, default=2)
    parser.add_argument("--out", type=Path, help="JSON with every figure")
    args = parser.parse_args()
    profiles, tiers = args.profile.split(","), args.tier.split(",")
    for given, known, what in (
        (profiles, set().union(*(g.profiles for g in GRADIENTS.values())), "profile"),
        (tiers, set(TIERS), "tier"),
    ):
        for name in given:
            if name not in known:
                parser.error(f"no {what} named {name!r}; there are {sorted(known)}")
    try:
        found, without = recordings(args.speech)
    except CorpusError as error:
        parser.error(str(error))
    if (n := len({r.speaker for r in found})) < LEAST_SPEAKERS:
        parser.error(f"{n} speakers in {len(found)} recordings that count; {LEAST_SPEAKERS} needed")
    measured = []
    aside = ProgressBars(write_line=lambda line: print(line, file=sys.stderr))
    with aside.bar("Measuring", len(found)) as step:
        for each in measure_recordings(found, profiles, tiers, num_proc=args.num_proc):
            measured.append(each)
            step()
    rows = [row for profile in profiles for row in observers(measured, profile)]
    areas = {
        profile: {
            tier: measure_confounds(
                [clip.contrasted for h in measured for clip in h.clips[profile]], tier=tier
            )
            for tier in tiers
        }
        for profile in profiles
    }
    print(report(measured, rows, areas, without, tiers[-1]))
    if args.out:
        content = json.dumps(figures(measured, rows, areas, without))
        plain = json.loads(content, parse_constant=lambda nan: None)
        args.out.write_text(json.dumps(plain, indent=1) + "\n")


def report(
    measured: Sequence[MeasuredRecording],
    rows: Sequence[ObserverRow],
    areas: Mapping[str, Mapping[str, Confounds]],
    without: Counter[str],
    tier: str,
) -> str:
    """Both tables with what they rest on."""
    n_clips = [f"{sum(len(h.clips[p]) for h in measured):,} clips of {p}" for p in areas]
    left_out = ", ".join(f"{n} {reason}" for reason, n in without.items()) or "none"
    speakers = len({h.speaker for h in measured})
    parts = [
        f"{len(measured)} recordings of {speakers} speakers, {tier} tier ({', '.join(n_clips)}; "
        f"recordings left out: {left_out}). Otoscope {__version__}.",
        *(line for p in areas if (line := idle(measured, p))),
        "Per cent correct [95 % CI, clustered Wilson]; observers are fitted on other speakers:",
        observer_table(rows, list(areas), tier),
        "Area under the ROC curve with which each contrast predicts the label [95 % interval by "
        "source]; bold where it cannot be called one half (the interval covers 0.5 and lies within "
        f"{AREA_WITHIN[0]:g} to {AREA_WITHIN[1]:g}, or lies within {NEAR[0]:g} to {NEAR[1]:g}):",
        confound_table({profile: by_tier[tier] for profile, by_tier in areas.items()}),
        f"{MARK} No rendering can be free of it: "
        + "; ".join(
            dict.fromkeys(
                line for by_tier in areas.values() for line in unavoidable_reasons(by_tier[tier])
            )
        )
        + ".",
    ]
    if tier == "high" and "controlled" in areas:
        lines = missed(rows, areas["controlled"][tier], "controlled")
        parts.append("Targets that `controlled` misses: " + ("; ".join(lines) or "none") + ".")
    return "\n\n".join(parts)


def idle(measured: Sequence[MeasuredRecording], profile: str) -> str:
    """Which clips of a profile are left out because nothing would change in them."""
    total: Counter[str] = sum((h.n_idle[profile] for h in measured), Counter())
    counts = [f"{n} of {attribute_of(category)}" for category, n in total.items()]
    return f"Nothing would change in, of {profile}: {', '.join(counts)}." if counts else ""


def figures(
    measured: Sequence[MeasuredRecording],
    rows: Sequence[ObserverRow],
    areas: Mapping[str, Mapping[str, Confounds]],
    without: Counter[str],
) -> dict[str, object]:
    """Everything as plain numbers and names; NaN where nothing is known."""
    idle_clips: dict[str, Counter[str]] = defaultdict(Counter)
    for h in measured:
        for profile, counts in h.n_idle.items():
            idle_clips[profile].update(counts)
    return {
        "otoscope_version": __version__,
        "n_recordings": len(measured),
        "n_speakers": len({h.speaker for h in measured}),
        "left_out": dict(without),
        "n_idle": {profile: dict(counts) for profile, counts in idle_clips.items()},
        "observers": [asdict(row) for row in rows],
        "confounds": {
            profile: {tier: asdict(found) for tier, found in by_tier.items()}
            for profile, by_tier in areas.items()
        },
    }


if __name__ == "__main__":
    main()
