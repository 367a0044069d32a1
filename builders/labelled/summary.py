"""What card, page and terminal say of a labelled dataset; every number from the plan."""

import re
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

from builders.corpora.base import Skipped
from builders.corpora.reading.resampled import attenuation_notes
from builders.labelled.planning import LabelledPlan, PlannedLabelled, split_record
from builders.labelled.survey import DecodedClip
from builders.splits import LABELLED_SPLITS
from otoscope.audits.call_value.limits import LIMITS


def summary_of(planned: PlannedLabelled) -> dict[str, Any]:
    """Counts of each split and class, overlap, and what was left out."""
    plan = planned.plan
    n, turned_down = len(plan.clips), [s.attenuation_db for s in plan.clips if s.attenuation_db]
    return {
        "n_clips": n,
        "hours": f"{sum(s.duration_s for s in plan.clips) / 3600:.3g}",
        "chance": 1 / len(plan.labels),
        "rates": sorted({s.sampling_rate for s in plan.clips}),
        "splits": [_split(plan, split) for split in LABELLED_SPLITS],
        "classes": _classes(plan),
        "majority": _majority(plan),
        "guard": planned.guard,
        "n_named": n_labels_in_names(plan.clips),
        "notes": [*planned.source.notes, *attenuation_notes(turned_down, n, "after decoding")],
        "skipped": omitted(planned),
        "limits": LIMITS,
    }


def n_labels_in_names(clips: Sequence[DecodedClip]) -> int:
    """How many clips have their label in the name of their file."""
    return sum(_plain(s.clip.label) in _plain(s.clip.file_name.rsplit("/", 1)[-1]) for s in clips)


def omitted(planned: PlannedLabelled) -> list[Skipped]:
    """What was left out, without the folders of this machine, since the card travels."""
    folders = sorted({f"{clip.path.parent}/" for clip in planned.source.clips}, key=len)
    lines = []
    for name, reason in planned.skipped:
        for folder in reversed(folders):
            reason = reason.replace(folder, "")
        lines.append(Skipped(name, reason))
    return lines


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


def _split(plan: LabelledPlan, split: str) -> dict[str, Any]:
    own = plan.of_split(split)
    lengths = [s.duration_s for s in own]
    return {
        "name": split,
        **split_record(own),
        "n_clusters": len({s.clip.cluster for s in own}),
        "n_speakers": len({s.clip.speaker_id for s in own} - {""}) or "unknown",
        "n_sources": len({s.clip.source_id for s in own} - {""}) or "unknown",
        "minutes": f"{sum(lengths) / 60:.3g}",
        "median_s": f"{statistics.median(lengths):.2f}",
        "shortest_s": f"{min(lengths):.2f}",
        "longest_s": f"{max(lengths):.2f}",
    }


def _classes(plan: LabelledPlan) -> list[dict[str, Any]]:
    counted = Counter((s.clip.label, s.clip.split) for s in plan.clips)
    return [
        {"label": label, "counts": [counted[label, split] for split in LABELLED_SPLITS]}
        for label in plan.labels
    ]


def _majority(plan: LabelledPlan) -> float:
    """Share of hold-out clips that the commonest label of development has."""
    development, held = (
        Counter(s.clip.label for s in plan.of_split(split)) for split in LABELLED_SPLITS
    )
    most = max(plan.labels, key=lambda label: development[label])
    return held[most] / held.total()
