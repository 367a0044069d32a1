"""The animal clips of a local ESC-50, as a labelled source.

ESC-50 is `meta/esc50.csv` with the columns filename, fold, target and category, and
`audio/{fold}-{source}-{take}-{target}.wav`. Targets 0 to 9 are the animals. Several takes may be
cut from one source, a recording on Freesound.

Source: `docs/papers.md`, value of generative audio calls, datasets.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from builders.corpora.archives import unpack_hint
from builders.corpora.base import CorpusError, Skipped, existing_folder
from builders.corpora.reading.dataset_rows import cell_text
from builders.labelled import Division, LabelledClip, LabelledSource, clip_id
from builders.splits import DEVELOPMENT, HOLDOUT
from otoscope.prompts.tasks import TASKS
from otoscope.tables.files import read_table

TASK = "esc50_animals"
LABELS = TASKS[TASK].labels
TABLE = "meta/esc50.csv"
COLUMNS = ("filename", "fold", "target", "category")
FOLDS = (1, 2, 3, 4, 5)
CLIPS_OF_A_CLASS = 40
HELD_OUT_OF_A_CLASS = 20
NAME = re.compile(r"(?P<fold>[1-5])-(?P<source>\d+)-(?P<take>[A-Z]+)-(?P<target>\d+)\.wav")


class Esc50Name(NamedTuple):
    """What the name of a clip says."""

    fold: int
    source: str
    target: int


def parse_name(file_name: str) -> Esc50Name | None:
    """The parts of a name, or None where it is no name of ESC-50.

    >>> parse_name("1-100032-A-0.wav")
    Esc50Name(fold=1, source='100032', target=0)
    """
    match = NAME.fullmatch(file_name)
    return match and Esc50Name(int(match["fold"]), match["source"], int(match["target"]))


def open_esc50_animals(
    where: Path,
    *,
    holdout_folds: Collection[int] = (),
    seed: int = 0,
    clips_of_a_class: int = CLIPS_OF_A_CLASS,
) -> LabelledSource:
    """The ten animals, half of each class held out by a hash of its sources.

    Args:
        where: The folder with `meta/esc50.csv` and `audio`.
        holdout_folds: Hold these folds out rather than half of each class.
        seed: Another one divides in another way.
        clips_of_a_class: How many there have to be.

    Raises:
        CorpusError: No ESC-50, another number of clips, a file that is not there, a name that does
            not parse, or one that its row contradicts.
        TableError: The table cannot be read.
    """
    root = existing_folder(where)
    folds = _validated(holdout_folds)
    table = root / TABLE
    if not table.is_file():
        raise CorpusError(f"{root} has no {TABLE}, so it is not ESC-50{unpack_hint(root)}")
    columns, rows = read_table(table)
    if missing := [name for name in COLUMNS if name not in columns]:
        raise CorpusError(f"{table} has no column {missing[0]!r}; it has {', '.join(columns)}")
    animals = [(line, row) for line, row in rows if _is_animal(line, row)]
    clips = [_clip(root, line, row, folds) for line, row in animals]
    _validate_counts(table, clips, clips_of_a_class)
    return LabelledSource(
        name="ESC-50 animals",
        task=TASK,
        labels=LABELS,
        clips=tuple(clips),
        licence="cc-by-nc-3.0",
        attribution="ESC-50: K. J. Piczak, ESC: Dataset for Environmental Sound Classification "
        "(2015), CC BY-NC 3.0; its LICENSE names who recorded each clip on Freesound.",
        origin=f"a copy of ESC-50 on disk, {len(rows)} rows in {TABLE}",
        division=None if folds else Division(HELD_OUT_OF_A_CLASS / CLIPS_OF_A_CLASS, seed=seed),
        skipped=(Skipped("other categories", f"no animals, {len(rows) - len(clips)} of them"),)
        if len(rows) > len(clips)
        else (),
        notes=(_split_note(folds, seed),),
    )


def _validated(holdout_folds: Collection[int]) -> frozenset[int]:
    folds = frozenset(holdout_folds)
    if not folds <= set(FOLDS) or folds == set(FOLDS):
        given = ", ".join(map(str, sorted(folds)))
        raise CorpusError(f"--holdout-folds is {given}; name some of 1 to 5, and not all of them")
    return folds


def _is_animal(line: str, row: Mapping[str, Any]) -> bool:
    """Whether a row is an animal's; its number and its word have to agree."""
    target, word = cell_text(row.get("target")), cell_text(row.get("category"))
    if not target.isdecimal():
        raise CorpusError(f"{line}: target is {target!r}, not a number from 0 to 49")
    by_number = int(target) < len(LABELS)
    if by_number != (word in LABELS) or (by_number and LABELS[int(target)] != word):
        raise CorpusError(
            f"{line}: target {target} with the category {word!r}; targets 0 to 9 are "
            f"{', '.join(LABELS)}"
        )
    return by_number


def _clip(root: Path, line: str, row: Mapping[str, Any], folds: Collection[int]) -> LabelledClip:
    name = cell_text(row.get("filename"))
    parsed = parse_name(name)
    if parsed is None:
        raise CorpusError(f"{line}: {name!r} is not a name such as 1-100032-A-0.wav")
    stated = (cell_text(row.get("fold")), cell_text(row.get("target")))
    if stated != (str(parsed.fold), str(parsed.target)):
        raise CorpusError(f"{line}: {name} says another fold or target than {' and '.join(stated)}")
    path = root / "audio" / name
    if not path.is_file():
        raise CorpusError(f"{line}: there is no file {name} in {root / 'audio'}")
    return LabelledClip(
        id=clip_id(name),
        path=path,
        label=LABELS[parsed.target],
        file_name=name,
        cluster_id=f"source-{parsed.source}",
        source_id=parsed.source,
        split=(HOLDOUT if parsed.fold in folds else DEVELOPMENT) if folds else "",
        note=f"fold {parsed.fold}",
    )


def _validate_counts(table: Path, clips: Collection[LabelledClip], n: int) -> None:
    counted = Counter(clip.label for clip in clips)
    wrong = [f"{counted[label]} of {label}" for label in LABELS if counted[label] != n]
    if wrong:
        raise CorpusError(f"{table}: {', '.join(wrong)}; ESC-50 has {n} clips of each category")


def _split_note(folds: Collection[int], seed: int) -> str:
    if folds:
        held = ", ".join(map(str, sorted(folds)))
        return f"Hold-out is fold {held} of ESC-50, development the other folds."
    return (
        f"{HELD_OUT_OF_A_CLASS} clips of each class are held out by a hash of their source "
        f"recordings (seed {seed}), none of which is in both splits. The paper says that it held "
        "out 200 of the 400 clips, and not which."
    )
