"""Who is trained on and who is tested: splits that share neither a speaker nor a text.

A source hangs together with every other of the same speaker or the same text; such a component
goes to one side as a whole. Sides are drawn by hashing, so the same sources always fall the same
way and a new one disturbs at most those at the border.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from builders.corpora.base import CorpusError, Skipped, SourceClip

SPLITS = ("train", "validation", "test")
TEST_SHARE = 1 / 3
VALIDATION_SHARE = 0.1
SHARED_TEXTS = ("together", "drop")


class Partition(NamedTuple):
    """Sources with their split and position, in their old order, and what was dropped."""

    sources: tuple[SourceClip, ...]
    skipped: tuple[Skipped, ...] = ()


def check_splits(splits: Iterable[str]) -> tuple[str, ...]:
    """The splits asked for, in the order train, validation, test.

    Raises:
        CorpusError: None, or one that does not exist.
    """
    asked = (splits,) if isinstance(splits, str) else tuple(splits)
    for split in asked:
        if split not in SPLITS:
            raise CorpusError(f"no split {split!r}; there are {', '.join(SPLITS)}")
    if not asked:
        raise CorpusError(f"no split asked for; there are {', '.join(SPLITS)}")
    return tuple(split for split in SPLITS if split in asked)


def normalise_text(text: str) -> str:
    """A transcript without case, punctuation and spacing; empty when nothing is left.

    >>> normalise_text("Please call  Stella.")
    'please call stella'
    """
    return " ".join(re.findall(r"\w+", text.casefold()))


def partition(
    sources: Sequence[SourceClip],
    *,
    splits: Iterable[str] = SPLITS,
    test_share: float = TEST_SHARE,
    validation_share: float = VALIDATION_SHARE,
    shared_texts: str = "together",
) -> Partition:
    """Gives every source one of the splits asked for.

    With only `test` asked for, everything is test. Validation is carved out of train by source.
    Unknown speakers and texts count as different from all others.

    Args:
        sources: Their own `split` and `position` do not matter.
        splits: Any of train, validation and test.
        test_share: Share of sources to come near without going over, 0 to 1.
        validation_share: Share of what is not test, 0 to 1.
        shared_texts: `together` keeps sources of one text on one side; `drop` splits by speaker
            alone and leaves out train sources whose text is in test.

    Raises:
        CorpusError: No such division exists.
    """
    asked = check_splits(splits)
    if shared_texts not in SHARED_TEXTS:
        raise CorpusError(f"shared_texts must be one of {SHARED_TEXTS}, got {shared_texts!r}")
    if not sources:
        raise CorpusError("there are no sources to divide")
    held_out = _held_out(sources, asked, test_share, shared_texts)
    rest, dropped = [], []
    test_texts = {normalise_text(s.transcript) for s in sources if s.item_id in held_out} - {""}
    for source in sources:
        if source.item_id in held_out:
            continue
        if normalise_text(source.transcript) in test_texts:
            dropped.append(Skipped(source.item_id, "its text is in the test split"))
        else:
            rest.append(source.item_id)
    place = dict.fromkeys(held_out, "test") | dict.fromkeys(rest, "train")
    if not rest and set(asked) != {"test"}:
        raise CorpusError(
            "every text is in the test split, nothing is left to train on; ask only for test"
        )
    if "validation" in asked:
        both = "train" in asked
        carved = carve_validation(rest, validation_share) if both else frozenset(rest)
        place |= dict.fromkeys(carved, "validation")
    return Partition(place_sources(sources, place), tuple(dropped))


def carve_validation(item_ids: Collection[str], share: float = VALIDATION_SHARE) -> frozenset[str]:
    """The ids that become validation: the first `share` of them in order of their SHA-256.

    Raises:
        CorpusError: Too few to leave at least one on each side.
    """
    n_validation = max(1, round(share * len(item_ids)))
    if n_validation >= len(item_ids):
        raise CorpusError(
            f"{len(item_ids)} train sources cannot be divided into train and validation; "
            "ask for one of the two only"
        )
    return frozenset(sorted(item_ids, key=_hash)[:n_validation])


def place_sources(
    sources: Iterable[SourceClip], split_of: dict[str, str]
) -> tuple[SourceClip, ...]:
    """The sources that have a split, with positions counted in train + validation and in test."""
    seen: Counter[str] = Counter()
    placed = []
    for source in sources:
        split = split_of.get(source.item_id)
        if split is None:
            continue
        side = "test" if split == "test" else "train"
        placed.append(replace(source, split=split, position=seen[side]))
        seen[side] += 1
    return tuple(placed)


def keep_given(sources: Sequence[SourceClip], splits: Iterable[str], *, where: str) -> Partition:
    """Sources that came with a split of their own, those of the splits asked for.

    Args:
        sources: Every one with its `split`.
        splits: What was asked for.
        where: What gave the splits, for messages.

    Raises:
        CorpusError: A split asked for holds nothing.
    """
    asked = check_splits(splits)
    counts = Counter(source.split for source in sources)
    for split in asked:
        if not counts[split]:
            there = ", ".join(f"{name} {counts[name]}" for name in SPLITS if counts[name])
            raise CorpusError(f"{where} puts nothing into {split}; it has {there or 'no row'}")
    kept = place_sources(sources, {s.item_id: s.split for s in sources})
    left_out = [
        Skipped(s.item_id, f"{s.split} was not asked for") for s in kept if s.split not in asked
    ]
    return Partition(tuple(s for s in kept if s.split in asked), tuple(left_out))


def leaks(sources: Iterable[SourceClip]) -> list[str]:
    """Sentences on what test shares with train and validation; empty when nothing."""
    sides: dict[str, tuple[set[str], set[str]]] = {"test": (set(), set()), "train": (set(), set())}
    unknown = 0
    for source in sources:
        speakers, texts = sides["test" if source.split == "test" else "train"]
        speakers.add(source.speaker_id)
        texts.add(normalise_text(source.transcript))
        unknown += not source.speaker_id
    if not all(speakers for speakers, _ in sides.values()):
        return []
    found = []
    for what, at in (("speaker", 0), ("text", 1)):
        shared = (sides["test"][at] & sides["train"][at]) - {""}
        if shared:
            found.append(f"{len(shared)} {what}s are in test and in train or validation.")
    if unknown:
        found.append(f"The speaker of {unknown} sources is unknown, so splits may share speakers.")
    return found


def _held_out(
    sources: Sequence[SourceClip], asked: tuple[str, ...], share: float, shared_texts: str
) -> frozenset[str]:
    """Item ids of the test side."""
    if "test" not in asked:
        return frozenset()
    if asked == ("test",):
        return frozenset(source.item_id for source in sources)
    components = _components(sources, by_text=shared_texts == "together")
    if len(components) == 1:
        raise CorpusError(_one_component(sources, shared_texts))
    target = share * len(sources)
    ordered = sorted(components, key=lambda name: (_hash(name), name))
    chosen: list[str] = []
    for name in ordered:
        if len(chosen) + len(components[name]) <= target and len(components[name]) < len(sources):
            chosen += components[name]
    return frozenset(chosen or components[min(ordered, key=lambda name: len(components[name]))])


def _components(sources: Sequence[SourceClip], *, by_text: bool) -> dict[str, list[str]]:
    """Item ids that hang together, under the smallest speaker (or item id) among them."""
    parent: dict[str, str] = {}

    def find(key: str) -> str:
        parent.setdefault(key, key)
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for source in sources:
        own = _key(source)
        text = normalise_text(source.transcript) if by_text else ""
        if text:
            parent[find(own)] = find(f"text:{text}")
    together: dict[str, list[SourceClip]] = defaultdict(list)
    for source in sources:
        together[find(_key(source))].append(source)
    return {min(map(_key, group)): [s.item_id for s in group] for group in together.values()}


def _key(source: SourceClip) -> str:
    return f"speaker:{source.speaker_id}" if source.speaker_id else f"item:{source.item_id}"


def _one_component(sources: Sequence[SourceClip], shared_texts: str) -> str:
    speakers = {source.speaker_id for source in sources}
    if len(sources) == 1 or len(speakers) == 1 or shared_texts == "drop":
        why = (
            f"all {len(sources)} sources are of one speaker ({sources[0].speaker_id or 'unknown'})"
        )
        return f"train and test cannot have different speakers: {why}; ask only for test"
    return (
        f"train and test cannot have different texts: the {len(speakers)} speakers all hang "
        "together through sentences they share; ask only for test, or pass shared_texts='drop' to "
        "leave out train clips whose text is tested"
    )


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
