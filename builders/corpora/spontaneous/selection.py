"""The published choice of Common Voice Spontaneous Speech: 20 test clips in each of five languages.

Pure functions over clips; random generators are arguments. What the rules leave open is decided
here: clips are drawn in the order of their table, and the train list keeps the order of locales.

Source: VocalGrad, appendix C.8 (`docs/papers.md`); seeds and rules from the authors' public code.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from builders.corpora.base import CorpusError
from builders.corpora.spontaneous.layout import Utterance

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
BELOW_S = 30.0
N_DRAWS = 100_000


class Drawn(NamedTuple):
    """Clips of one locale, in the order they were drawn."""

    train: list[Utterance]
    test: list[Utterance]


def seed_of(locale: str) -> int:
    """The seed of a locale's draw.

    >>> [seed_of(locale) for locale in LANGUAGES]
    [42, 43, 44, 45, 46]
    """
    return SEED + list(LANGUAGES).index(locale)


def draw_clips(utterances: Sequence[Utterance], rng: random.Random) -> Drawn:
    """Train and test clips that share no speaker.

    Speakers are put into test one by one with probability 20 in 120 until both sides have clips
    enough; then 100 are drawn from one side and 20 from the other.

    Args:
        utterances: Of one locale.
        rng: See `seed_of`.

    Raises:
        CorpusError: No clip, no division of the speakers that is large enough on both sides, or
            none found in 100,000 draws.
    """
    if not utterances:
        raise CorpusError("there is no clip to choose from")
    clips = Counter(utterance.client_id for utterance in utterances)
    if not _divisible(clips):
        raise CorpusError(f"no division of {_described(clips)}")
    names = sorted(clips)
    for _ in range(N_DRAWS):
        held_out = {name for name in names if rng.random() < N_TEST / (N_TRAIN + N_TEST)}
        n_test = sum(clips[name] for name in held_out)
        if n_test >= N_TEST and clips.total() - n_test >= N_TRAIN:
            break
    else:
        raise CorpusError(f"none of {N_DRAWS:,} divisions drawn of {_described(clips)}")
    train = rng.sample([u for u in utterances if u.client_id not in held_out], N_TRAIN)
    test = rng.sample([u for u in utterances if u.client_id in held_out], N_TEST)
    return Drawn(train, test)


def in_test_order(test: Mapping[str, Sequence[Utterance]]) -> list[Utterance]:
    """The test clips of all locales, shuffled as published."""
    together = [utterance for locale in LANGUAGES for utterance in test.get(locale, ())]
    random.Random(ORDER_SEED).shuffle(together)
    return together


def _divisible(clips: Mapping[str, int]) -> bool:
    """Whether some set of speakers has enough clips and leaves enough."""
    sums = 1  # bit n: some set of speakers has n clips
    for n in clips.values():
        sums |= sums << n
    total = sum(clips.values())
    return any(sums >> n & 1 for n in range(N_TEST, total - N_TRAIN + 1))


def _described(clips: Counter[str]) -> str:
    ((name, most),) = clips.most_common(1)
    return (
        f"{len(clips)} speakers leaves {N_TEST} clips for test and {N_TRAIN} for train: there are "
        f"{clips.total()}, of which {most} are by {name[:12]}"
    )
