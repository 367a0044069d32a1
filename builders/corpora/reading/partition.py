"""Splits into train, validation and test that share neither a speaker nor a text.

Clips of the same speaker or of the same text are connected; each connected component goes to one
side. Sides are drawn by hashing, so the same clips are always divided the same way, and a new clip
moves at most those at the border.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from builders.corpora.base import CorpusError, Skipped, SourceClip, check_option
from builders.splits import SPLITS

TEST_SHARE = 1 / 3
VALIDATION_SHARE = 0.1
SHARED_TEXTS = ("together", "drop")


class Partition(NamedTuple):
    """Clips with their split and position, in their old order, and what was excluded."""

    clips: tuple[SourceClip, ...]
    skipped: tuple[Skipped, ...] = ()


def check_splits(splits: Iterable[str]) -> tuple[str, ...]:
    """The requested splits, in the order train, validation, test.

    Raises:
        CorpusError: None, one that does not exist, or one twice.
    """
    requested = (splits,) if isinstance(splits, str) else tuple(splits)
    for split in requested:
        check_option("split", split, SPLITS)
    twice = sorted({split for split in requested if requested.count(split) > 1})
    if twice:
        raise CorpusError(f"split {twice[0]!r} is requested twice; name each split once")
    if not requested:
        raise CorpusError(f"no split requested; there are {', '.join(SPLITS)}")
    return tuple(split for split in SPLITS if split in requested)


def normalise_text(text: str) -> str:
    """A transcript without case, punctuation and spacing; empty when nothing is left.

    >>> normalise_text("Please call  Stella.")
    'please call stella'
    """
    return " ".join(re.findall(r"\w+", text.casefold()))


def partition(
    clips: Sequence[SourceClip],
    *,
    splits: Iterable[str] = SPLITS,
    shared_texts: str = "together",
) -> Partition:
    """Gives every clip one of the requested splits.

    With only `test` requested, everything is test; otherwise test is at most a third of the clips,
    and validation a tenth of the rest, by item id. Unknown speakers and texts count as different
    from all others.

    Args:
        clips: Their own `split` and `position` are ignored.
        splits: Any of train, validation and test.
        shared_texts: `together` puts clips of one text on one side; `drop` splits by speaker
            alone and excludes train clips whose text is in test.

    Raises:
        CorpusError: No such division exists.
    """
    splits = check_splits(splits)
    if shared_texts not in SHARED_TEXTS:
        raise CorpusError(f"shared_texts must be one of {SHARED_TEXTS}, got {shared_texts!r}")
    if not clips:
        raise CorpusError("there are no clips to divide")
    held_out = _held_out(clips, splits, shared_texts)
    rest, excluded = [], []
    test_texts = {normalise_text(c.transcript) for c in clips if c.item_id in held_out} - {""}
    for clip in clips:
        if clip.item_id in held_out:
            continue
        if normalise_text(clip.transcript) in test_texts:
            excluded.append(Skipped(clip.item_id, "its text is in the test split"))
        else:
            rest.append(clip.item_id)
    split_of = dict.fromkeys(held_out, "test") | dict.fromkeys(rest, "train")
    if not rest and splits != ("test",):
        raise CorpusError(
            "every text is in the test split, nothing is left to train on; request test only"
        )
    if "validation" in splits:
        both = "train" in splits
        carved = carve_validation(rest) if both else frozenset(rest)
        split_of |= dict.fromkeys(carved, "validation")
    return Partition(place_clips(clips, split_of), tuple(excluded))


def carve_validation(item_ids: Collection[str]) -> frozenset[str]:
    """The ids that become validation: the first tenth of them in order of their SHA-256.

    Raises:
        CorpusError: Too few to leave at least one on each side.
    """
    n_validation = max(1, round(VALIDATION_SHARE * len(item_ids)))
    if n_validation >= len(item_ids):
        raise CorpusError(
            f"{len(item_ids)} train clips cannot be divided into train and validation; "
            "request one of the two only"
        )
    return frozenset(sorted(item_ids, key=_hash)[:n_validation])


def place_clips(clips: Iterable[SourceClip], split_of: dict[str, str]) -> tuple[SourceClip, ...]:
    """The clips that have a split, with positions counted in train + validation and in test."""
    n_placed: Counter[str] = Counter()
    placed = []
    for clip in clips:
        split = split_of.get(clip.item_id)
        if split is None:
            continue
        side = "test" if split == "test" else "train"
        placed.append(replace(clip, split=split, position=n_placed[side]))
        n_placed[side] += 1
    return tuple(placed)


def given_splits(clips: Sequence[SourceClip], splits: Iterable[str], *, given_by: str) -> Partition:
    """Clips that have a split already, those of the requested splits.

    Args:
        clips: Every one with its `split`.
        splits: The requested ones.
        given_by: What gave the splits, for messages.

    Raises:
        CorpusError: A requested split is empty.
    """
    splits = check_splits(splits)
    counts = Counter(clip.split for clip in clips)
    for split in splits:
        if not counts[split]:
            there = ", ".join(f"{name} {counts[name]}" for name in SPLITS if counts[name])
            raise CorpusError(f"{given_by} puts nothing into {split}; it has {there or 'no row'}")
    placed = place_clips(clips, {c.item_id: c.split for c in clips})
    return Partition(
        tuple(c for c in placed if c.split in splits),
        tuple(
            Skipped(c.item_id, f"{c.split} was not requested")
            for c in placed
            if c.split not in splits
        ),
    )


def leaks(clips: Iterable[SourceClip]) -> list[str]:
    """Sentences on what test shares with train and validation; empty when nothing."""
    sides: dict[str, tuple[set[str], set[str]]] = {"test": (set(), set()), "train": (set(), set())}
    n_unknown = 0
    for clip in clips:
        speakers, texts = sides["test" if clip.split == "test" else "train"]
        speakers.add(clip.speaker_id)
        texts.add(normalise_text(clip.transcript))
        n_unknown += not clip.speaker_id
    if not all(speakers for speakers, _ in sides.values()):
        return []
    sentences = []
    for what, at in (("speaker", 0), ("text", 1)):
        shared = (sides["test"][at] & sides["train"][at]) - {""}
        if shared:
            sentences.append(f"{len(shared)} {what}s are in test and in train or validation.")
    if n_unknown:
        sentences.append(
            f"The speaker of {n_unknown} sources is unknown, so splits may share speakers."
        )
    return sentences


def _held_out(
    clips: Sequence[SourceClip], splits: tuple[str, ...], shared_texts: str
) -> frozenset[str]:
    """Item ids of the test side."""
    if "test" not in splits:
        return frozenset()
    if splits == ("test",):
        return frozenset(clip.item_id for clip in clips)
    components = _components(clips, by_text=shared_texts == "together")
    if len(components) == 1:
        raise CorpusError(_one_component(clips, shared_texts))
    target = TEST_SHARE * len(clips)
    ordered = sorted(components, key=lambda name: (_hash(name), name))
    test: list[str] = []
    for name in ordered:
        if len(test) + len(components[name]) <= target:
            test += components[name]
    return frozenset(test or components[min(ordered, key=lambda name: len(components[name]))])


def _components(clips: Sequence[SourceClip], *, by_text: bool) -> dict[str, list[str]]:
    """Item ids of each connected component, by the smallest speaker (or item id) in it."""
    nodes: dict[str, int] = {}  # speakers and texts; every clip is an edge between two of them
    ends = []
    for clip in clips:
        text = normalise_text(clip.transcript) if by_text else ""
        names = (_key(clip), f"text:{text}" if text else _key(clip))
        ends.append([nodes.setdefault(name, len(nodes)) for name in names])
    edges = (np.ones(len(ends), bool), np.transpose(ends))
    _, component_of = connected_components(
        coo_array(edges, shape=(len(nodes),) * 2), directed=False
    )
    groups: dict[int, list[SourceClip]] = defaultdict(list)
    for clip, (speaker, _) in zip(clips, ends, strict=True):
        groups[component_of[speaker]].append(clip)
    return {min(map(_key, group)): [clip.item_id for clip in group] for group in groups.values()}


def _key(clip: SourceClip) -> str:
    return f"speaker:{clip.speaker_id}" if clip.speaker_id else f"item:{clip.item_id}"


def _one_component(clips: Sequence[SourceClip], shared_texts: str) -> str:
    speakers = {clip.speaker_id for clip in clips}
    if len(clips) == 1 or len(speakers) == 1 or shared_texts == "drop":
        return (
            f"train and test cannot have different speakers: all {len(clips)} clips are of one "
            f"speaker ({clips[0].speaker_id or 'unknown'}); request test only"
        )
    return (
        f"train and test cannot have different texts: the {len(speakers)} speakers are all "
        "connected through sentences they share; request test only, or pass shared_texts='drop' to "
        "exclude train clips whose text is in test"
    )


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
