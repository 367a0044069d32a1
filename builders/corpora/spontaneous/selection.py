"""The published selection of Common Voice Spontaneous Speech: 20 test clips in each of 5 languages.

Pure functions over clips; random generators are arguments. Where the rules leave it open, clips are
drawn in the order of their table, and the train list keeps the order of locales.

Source: VocalGrad, appendix C.8 (`docs/papers.md`); seeds and rules from the authors' public code.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from builders.corpora.base import CorpusError
from builders.corpora.spontaneous.layout import SpontaneousClip

LANGUAGES = {
    "cdo": "Eastern Min",
    "cgg": "Chiga",
    "kbd": "Kabardian",
    "qxp": "Puno Quechua",
    "shi": "Tashlhiyt",
}
"""Locales in published order, which gives each its seed."""

SEED = 42
ORDER_SEED = SEED + 11
N_TEST = 20
N_TRAIN = 100
MAX_DURATION_S = 30.0
N_DRAWS = 100_000


class LocaleDraw(NamedTuple):
    """Drawn clips of one locale, in the order of the draw."""

    train: list[SpontaneousClip]
    test: list[SpontaneousClip]


def seed_of(locale: str) -> int:
    """The seed of a locale's draw.

    >>> [seed_of(locale) for locale in LANGUAGES]
    [42, 43, 44, 45, 46]
    """
    return SEED + list(LANGUAGES).index(locale)


def draw_clips(clips: Sequence[SpontaneousClip], rng: random.Random) -> LocaleDraw:
    """Train and test clips that share no speaker.

    Speakers are put into test one by one with probability 20 in 120 until both sides have clips
    enough; then 100 are drawn from one side and 20 from the other.

    Args:
        clips: Of one locale.
        rng: See `seed_of`.

    Raises:
        CorpusError: No clip, no division of the speakers that is large enough on both sides, or
            none found in 100,000 draws.
    """
    if not clips:
        raise CorpusError("there is no clip to draw from")
    n_clips = Counter(clip.client_id for clip in clips)
    if not _divisible(n_clips):
        raise CorpusError(f"no division of {_described(n_clips)}")
    names = sorted(n_clips)
    for _ in range(N_DRAWS):
        held_out = {name for name in names if rng.random() < N_TEST / (N_TRAIN + N_TEST)}
        n_test = sum(n_clips[name] for name in held_out)
        if n_test >= N_TEST and n_clips.total() - n_test >= N_TRAIN:
            break
    else:
        raise CorpusError(f"none of {N_DRAWS:,} divisions drawn of {_described(n_clips)}")
    train = rng.sample([c for c in clips if c.client_id not in held_out], N_TRAIN)
    test = rng.sample([c for c in clips if c.client_id in held_out], N_TEST)
    return LocaleDraw(train, test)


def in_test_order(test: Mapping[str, Sequence[SpontaneousClip]]) -> list[SpontaneousClip]:
    """The test clips of all locales, shuffled as published."""
    together = [clip for locale in LANGUAGES for clip in test.get(locale, ())]
    random.Random(ORDER_SEED).shuffle(together)
    return together


def _divisible(n_clips: Mapping[str, int]) -> bool:
    """Whether some set of speakers has enough clips and leaves enough."""
    sums = 1  # bit n: some set of speakers has n clips
    for n in n_clips.values():
        sums |= sums << n
    total = sum(n_clips.values())
    return any(sums >> n & 1 for n in range(N_TEST, total - N_TRAIN + 1))


def _described(n_clips: Counter[str]) -> str:
    ((name, most),) = n_clips.most_common(1)
    return (
        f"{len(n_clips)} speakers leaves {N_TEST} clips for test and {N_TRAIN} for train: there "
        f"are {n_clips.total()}, of which {most} are by {name[:12]}"
    )
