"""The two splits of ESD: which clips are development and which hold-out.

The paper gives sizes alone. Its earlier split has 90 + 120 clips; the speaker-disjoint one 125 +
125, of 5 + 5 speakers. Both are drawn by hash here, as many of each emotion, and no sentence is in
both splits; who has the ids of the earlier one gives them in a table.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from builders.corpora.base import CorpusError
from builders.corpora.reading.dataset_rows import cell_text
from builders.esd_split import LABELS
from builders.esd_split.corpus import SPEAKERS, EsdClip
from builders.labelled import name_hash
from builders.splits import DEVELOPMENT, HOLDOUT, LABELLED_SPLITS
from otoscope.tables.files import read_table

EARLIER: Mapping[str, int] = {DEVELOPMENT: 90, HOLDOUT: 120}
SPEAKER_DISJOINT: Mapping[str, int] = {DEVELOPMENT: 125, HOLDOUT: 125}
SPEAKERS_OF_A_SPLIT = 5


class Draw(NamedTuple):
    """Split of each chosen clip by its name, and how that came about, for the card."""

    splits: dict[str, str]
    note: str


def earlier(clips: Mapping[str, EsdClip], *, seed: int = 0) -> Draw:
    """90 development and 120 hold-out clips by hash, 18 and 24 of each emotion.

    Raises:
        CorpusError: An emotion has too few clips.
    """
    sides = _sentence_sides(clips.values(), seed)
    splits = _first_of_each(
        clips.values(),
        lambda clip: (sides[clip.sentence], clip.label),
        {(s, label): n // len(LABELS) for s, n in EARLIER.items() for label in LABELS},
        seed,
    )
    return Draw(
        splits,
        "The paper's earlier split has 90 + 120 clips, and which ones is not published: these are "
        f"drawn by hash (seed {seed}), 18 + 24 of each emotion, no sentence in both splits. "
        "Speakers are in both, as the guard counts; intervals by speaker have few clusters.",
    )


def speaker_disjoint(clips: Mapping[str, EsdClip], *, seed: int = 0) -> Draw:
    """125 + 125 clips of 5 + 5 speakers: five of each speaker in each emotion.

    Raises:
        CorpusError: A speaker is missing, or has too few clips.
    """
    there = {clip.speaker for clip in clips.values()}
    if missing := [speaker for speaker in SPEAKERS if speaker not in there]:
        raise CorpusError(f"speaker {missing[0]} is missing; all of 0011 to 0020 are needed")
    ordered = sorted(SPEAKERS, key=lambda speaker: name_hash(seed, speaker))
    side_of = {
        speaker: HOLDOUT if i < SPEAKERS_OF_A_SPLIT else DEVELOPMENT
        for i, speaker in enumerate(ordered)
    }
    sides = _sentence_sides(clips.values(), seed)
    splits = _first_of_each(
        [clip for clip in clips.values() if sides[clip.sentence] == side_of[clip.speaker]],
        lambda clip: (side_of[clip.speaker], clip.label, f"speaker {clip.speaker}"),
        {
            (side, label, f"speaker {speaker}"): SPEAKER_DISJOINT[side]
            // (SPEAKERS_OF_A_SPLIT * len(LABELS))
            for speaker, side in side_of.items()
            for label in LABELS
        },
        seed,
    )
    held = ", ".join(sorted(ordered[:SPEAKERS_OF_A_SPLIT]))
    return Draw(
        splits,
        f"Speaker-disjoint: speakers {held} are hold-out, the other five development, by hash "
        f"(seed {seed}); five clips of each speaker in each emotion, no sentence in both splits. "
        "The paper gives the sizes, 125 + 125 of 5 + 5 speakers, and not which. Five speakers are "
        "five clusters: intervals by speaker are wide.",
    )


def listed(clips: Mapping[str, EsdClip], table: Path) -> Draw:
    """The clips that a table lists, with the columns id and split.

    Raises:
        CorpusError: A column is missing, an id is unknown or there twice, a split is none, a label
            is contradicted, or there are not 90 + 120.
        TableError: The table cannot be read.
    """
    columns, rows = read_table(table)
    if missing := [name for name in ("id", "split") if name not in columns]:
        raise CorpusError(f"{table} has no column {missing[0]!r}; it has {', '.join(columns)}")
    splits = dict[str, str]()
    for line, row in rows:
        name, split = cell_text(row.get("id")).removesuffix(".wav"), cell_text(row.get("split"))
        label = cell_text(row.get("label"))
        if name not in clips:
            raise CorpusError(f"{line}: there is no English clip {name!r}")
        if name in splits:
            raise CorpusError(f"{line}: {name} is listed twice")
        if split not in LABELLED_SPLITS:
            raise CorpusError(f"{line}: split is {split!r}, not {' or '.join(LABELLED_SPLITS)}")
        if label and label != clips[name].label:
            raise CorpusError(f"{line}: {name} is {clips[name].label}, and the table has {label!r}")
        splits[name] = split
    counted = Counter(splits.values())
    if any(counted[split] != n for split, n in EARLIER.items()):
        raise CorpusError(
            f"{table} lists {counted[DEVELOPMENT]} + {counted[HOLDOUT]} clips; the earlier split "
            f"has {EARLIER[DEVELOPMENT]} + {EARLIER[HOLDOUT]}"
        )
    return Draw(splits, f"The earlier split, by the ids of {table.name}.")


def _sentence_sides(clips: Iterable[EsdClip], seed: int) -> dict[int, str]:
    """Half of the sentences for each split, by hash."""
    sentences = {clip.sentence for clip in clips}
    ordered = sorted(sentences, key=lambda number: name_hash(seed, f"sentence {number}"))
    return {number: LABELLED_SPLITS[i % len(LABELLED_SPLITS)] for i, number in enumerate(ordered)}


def _first_of_each(
    clips: Iterable[EsdClip],
    group_of: Callable[[EsdClip], tuple[str, ...]],
    wanted: Mapping[tuple[str, ...], int],
    seed: int,
) -> dict[str, str]:
    """The first clips of each group by hash; a group begins with its split."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for clip in sorted(clips, key=lambda clip: name_hash(seed, clip.name)):
        groups[group_of(clip)].append(clip.name)
    splits = dict[str, str]()
    for group, n in wanted.items():
        if len(groups[group]) < n:
            raise CorpusError(
                f"{', '.join(group)}: {len(groups[group])} clips, and {n} are needed; give the "
                "complete English part of ESD"
            )
        splits |= dict.fromkeys(groups[group][:n], group[0])
    return splits
