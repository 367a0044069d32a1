"""The published selection of VCTK clips: 50 test speakers with 2 clips each, and 500 train clips.

Pure functions over speakers and measured clips; the random generator is an argument, since test
speakers and test clips are drawn from one stream.

Source: VocalGrad, sections 3.2 and 5.2 (`docs/papers.md`) and the authors' published lists.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from builders.corpora.base import CorpusError
from builders.corpora.vctk.layout import VctkClip, VctkSpeaker

SEED = 42
N_TEST_SPEAKERS = 50
CLIPS_PER_TEST_SPEAKER = 2
N_TRAIN = 500
N_DRAWS = 20_000
GENDER_WEIGHT = 10
MIN_DURATION_S = 3.0
EXCLUDED = ("p306_140", "p360_140")
ACCENT_GROUPS = ("American", "English", "Scottish")
REMEDY = "use --selection all (selection='all') for a small or partial corpus"


class NumberedClip(NamedTuple):
    """A selected clip and its item id, e.g. `p226_01`."""

    item_id: str
    clip: VctkClip


def accent_group(accent: str) -> str:
    """`American`, `English`, `Scottish` or `Others`.

    >>> accent_group("English"), accent_group("NorthernIrish")
    ('English', 'Others')
    """
    return next((group for group in ACCENT_GROUPS if group.lower() in accent.lower()), "Others")


def even_targets(labels: Iterable[str], total: int) -> dict[str, int]:
    """`total` spread evenly over the sorted labels, the first ones getting the remainder.

    >>> even_targets(["M", "F"], 5)
    {'F': 3, 'M': 2}
    """
    names = sorted(set(labels))
    each, over = divmod(total, len(names))
    return {name: each + (position < over) for position, name in enumerate(names)}


def draw_speakers(
    speakers: Iterable[VctkSpeaker], rng: random.Random, *, n_speakers: int = N_TEST_SPEAKERS
) -> list[str]:
    """The draw that is best balanced over gender and accent, sorted.

    Args:
        speakers: Everybody who has at least one clip.
        rng: Advanced by as many draws as were needed; the clips are drawn from it afterwards.
        n_speakers: How many to draw.

    Raises:
        CorpusError: Fewer speakers than requested.
    """
    by_id = {speaker.speaker_id: speaker for speaker in speakers}
    candidates = sorted(by_id)
    if len(candidates) < n_speakers:
        raise CorpusError(
            f"the published selection needs {n_speakers} test speakers and this corpus has "
            f"{len(candidates)} with text and audio; {REMEDY}"
        )
    gender = {name: by_id[name].gender for name in candidates}
    accent = {name: accent_group(by_id[name].accent) for name in candidates}
    genders = even_targets(gender.values(), n_speakers)
    accents = even_targets(accent.values(), n_speakers)
    best: list[str] = []
    least = float("inf")
    for _ in range(N_DRAWS):
        drawn = rng.sample(candidates, n_speakers)
        score = GENDER_WEIGHT * _distance((gender[name] for name in drawn), genders)
        score += _distance((accent[name] for name in drawn), accents)
        if score < least:
            best, least = drawn, score
        if score == 0:
            break
    return sorted(best)


def draw_test_clips(
    speakers: Sequence[str],
    clips: Mapping[str, Sequence[VctkClip]],
    rng: random.Random,
    *,
    min_duration_s: float = MIN_DURATION_S,
    exclude: Collection[str] = EXCLUDED,
) -> list[NumberedClip]:
    """Two clips of each test speaker, speakers in sorted order, numbered by clip id.

    Args:
        speakers: As `draw_speakers` gave them.
        clips: Per speaker.
        rng: The generator `draw_speakers` used, in the state it left it.
        min_duration_s: Shorter clips are not drawn.
        exclude: Clip ids never drawn.

    Raises:
        CorpusError: A speaker has fewer than two clips to draw from.
    """
    selected = []
    for speaker_id in speakers:
        candidates = _eligible(clips.get(speaker_id, ()), min_duration_s, exclude)
        if len(candidates) < CLIPS_PER_TEST_SPEAKER:
            raise CorpusError(
                f"the published selection needs {CLIPS_PER_TEST_SPEAKER} clips of test speaker "
                f"{speaker_id} that last {min_duration_s:g} s or longer, found {len(candidates)}; "
                f"{REMEDY}"
            )
        drawn = rng.sample(candidates, CLIPS_PER_TEST_SPEAKER)
        selected += number(sorted(drawn, key=lambda clip: clip.clip_id))
    return selected


def draw_train_clips(
    speakers: Iterable[str],
    clips: Mapping[str, Sequence[VctkClip]],
    test_texts: Collection[str],
    rng: random.Random,
    *,
    n_clips: int = N_TRAIN,
    min_duration_s: float = MIN_DURATION_S,
    exclude: Collection[str] = EXCLUDED,
) -> list[NumberedClip]:
    """Clips spread evenly over the train speakers, no text twice and none of the test texts.

    Speakers take turns; each takes the first clip of its shuffled list whose text is not yet used.

    Args:
        speakers: Everybody who is not a test speaker.
        clips: Per speaker.
        test_texts: Texts of the test clips, white space collapsed.
        rng: A new generator, not the one of the test draw.
        n_clips: How many in all.
        min_duration_s: Shorter clips are not taken.
        exclude: Clip ids never taken. The published ones belong to test speakers.

    Raises:
        CorpusError: No speaker is left, or the texts run out.
    """
    names = sorted(speakers)
    if not names:
        raise CorpusError(f"all speakers are test speakers, none is left to train on; {REMEDY}")
    targets = _train_targets(names, n_clips, rng)
    queues: dict[str, list[VctkClip]] = {}
    for name in names:
        eligible = _eligible(clips.get(name, ()), min_duration_s, exclude)
        queues[name] = [clip for clip in eligible if clip.text not in test_texts]
        rng.shuffle(queues[name])
    taken = _take_turns(names, queues, targets)
    return [
        numbered
        for name in names
        for numbered in number(sorted(taken[name], key=lambda clip: clip.clip_id))
    ]


def number(clips: Iterable[VctkClip]) -> list[NumberedClip]:
    """Item ids for the clips of one speaker, in the order given: `p226_01`, `p226_02`, …"""
    return [
        NumberedClip(f"{clip.speaker_id}_{place:02d}", clip)
        for place, clip in enumerate(clips, start=1)
    ]


def _distance(labels: Iterable[str], targets: Mapping[str, int]) -> int:
    counts = Counter(labels)
    return sum(abs(counts[label] - target) for label, target in targets.items())


def _eligible(
    clips: Iterable[VctkClip], min_duration_s: float, exclude: Collection[str]
) -> list[VctkClip]:
    eligible = (c for c in clips if c.duration_s >= min_duration_s and c.clip_id not in exclude)
    return sorted(eligible, key=lambda clip: clip.sentence_id)


def _train_targets(names: Sequence[str], n_clips: int, rng: random.Random) -> dict[str, int]:
    """Equal shares; who gets the remainder is shuffled."""
    each, over = divmod(n_clips, len(names))
    shuffled = list(names)
    rng.shuffle(shuffled)
    return {name: each + (name in shuffled[:over]) for name in names}


def _take_turns(
    names: Sequence[str], queues: Mapping[str, Sequence[VctkClip]], targets: Mapping[str, int]
) -> dict[str, list[VctkClip]]:
    taken: dict[str, list[VctkClip]] = {name: [] for name in names}
    used: set[str] = set()
    while waiting := [name for name in names if len(taken[name]) < targets[name]]:
        stuck = []
        for name in waiting:
            clip = next((clip for clip in queues[name] if clip.text not in used), None)
            if clip is None:
                stuck.append(name)
                continue
            taken[name].append(clip)
            used.add(clip.text)
        if stuck:
            raise CorpusError(
                f"the published train selection needs {targets[stuck[0]]} clips of speaker "
                f"{stuck[0]} with a text that no other speaker has, found {len(taken[stuck[0]])}; "
                f"{REMEDY}"
            )
    return taken
