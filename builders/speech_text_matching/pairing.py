"""Pairs of clip and sentence, matched and not, made from speech with transcripts.

Every clip is in two pairs: with its own sentence, and with another text. The other text is a
sentence of similar length that another clip says, or the clip's own sentence with one word
replaced. Sentences are divided first, so that none is in both splits, spoken or written.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from builders.corpora.base import CorpusError, SourceClip
from builders.labelled import divide
from builders.speech_text_matching import MATCH, NO_MATCH

OTHER, ONE_WORD = "another sentence", "one word replaced"
FEWEST_LETTERS = 4  # of a word that is replaced: shorter ones are mostly articles and the like
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class Pair(NamedTuple):
    """A clip and a text.

    Attributes:
        clip: What is heard.
        text: What is read.
        label: Whether they match.
        kind: Empty for a match, else how the text was made.
        split: Of the sentence.
        sentence: A name for what is spoken, the same for everybody who says it.
    """

    clip: SourceClip
    text: str
    label: str
    kind: str
    split: str
    sentence: str


def sentence_key(text: str) -> str:
    """The same for sentences that differ in case, punctuation and white space alone.

    >>> sentence_key("The cat sat.") == sentence_key("the  cat, sat")
    True
    """
    words = " ".join(word.lower() for word in WORD.findall(text)) or " ".join(text.split())
    return f"sentence-{hashlib.sha256(words.encode()).hexdigest()[:12]}"


def pairs_of(
    clips: Sequence[SourceClip],
    *,
    holdout: float = 0.5,
    near_misses: float = 0.5,
    seed: int = 0,
) -> list[Pair]:
    """Two pairs for every clip, the match first; clips in their order.

    Args:
        clips: Each has a transcript.
        holdout: Share of the clips, by whole sentences.
        near_misses: Share of the mismatches of each split in which one word is replaced.
        seed: Of division, choice and replacement.

    Raises:
        CorpusError: Fewer than four sentences, or a share beyond its range.
    """
    if not 0 <= near_misses <= 1:
        raise CorpusError(f"the share of near-misses is {near_misses:g}; it must lie in 0 to 1")
    if not 0 < holdout < 1:
        raise CorpusError(f"the hold-out share is {holdout:g}; it must lie between 0 and 1")
    keys = [sentence_key(clip.transcript) for clip in clips]
    if len(set(keys)) < 4:
        raise CorpusError(
            f"{len(set(keys))} different sentence(s): two in each split are needed; take more clips"
        )
    splits = _divided(keys, holdout, seed)
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for clip, key, split in zip(clips, keys, splits, strict=True):
        texts[split].setdefault(key, clip.transcript)
    near = _near(clips, splits, near_misses, seed)
    found = []
    for clip, key, split in zip(clips, keys, splits, strict=True):
        found.append(Pair(clip, clip.transcript, MATCH, "", split, key))
        others = {own: text for own, text in texts[split].items() if own != key}
        replaced = one_word_replaced(clip, list(others.values()), seed)
        if clip.item_id in near and replaced is not None:
            found.append(Pair(clip, replaced, NO_MATCH, ONE_WORD, split, key))
        else:
            other = _similar(clip, list(others.values()), seed)
            found.append(Pair(clip, other, NO_MATCH, OTHER, split, key))
    return found


def _divided(keys: Sequence[str], holdout: float, seed: int) -> list[str]:
    splits = divide(["clip"] * len(keys), keys, holdout, seed=seed)
    for split in set(splits):
        own = {key for key, of in zip(keys, splits, strict=True) if of == split}
        if len(own) < 2:
            raise CorpusError(
                f"{split} has one sentence, and a mismatch needs another; take more clips, or a "
                "hold-out share nearer to 0.5"
            )
    return splits


def _near(
    clips: Sequence[SourceClip], splits: Sequence[str], share: float, seed: int
) -> frozenset[str]:
    """Ids of the clips whose mismatch is a near-miss: the share of each split, by hash."""
    chosen = set[str]()
    for split in set(splits):
        own = [clip.item_id for clip, of in zip(clips, splits, strict=True) if of == split]
        own.sort(key=lambda name: _hash(seed, "near", name))
        chosen.update(own[: round(share * len(own))])
    return frozenset(chosen)


def _similar(clip: SourceClip, others: Sequence[str], seed: int) -> str:
    """Another sentence, among those nearest in number of words."""
    n_words = len(clip.transcript.split())

    def order(text: str) -> tuple[int, str]:
        return abs(len(text.split()) - n_words), _hash(seed, "other", clip.item_id, text)

    return min(others, key=order)


def one_word_replaced(clip: SourceClip, others: Sequence[str], seed: int = 0) -> str | None:
    """The clip's sentence with one word from another sentence in the place of its own.

    The new word begins with the same case, has at most one letter more or less, and is not in the
    sentence. None where there is no such word.
    """
    text = clip.transcript
    own = {match.group().lower() for match in WORD.finditer(text)}
    pool = {word for other in others for word in WORD.findall(other)}
    pool = {word for word in pool if word.lower() not in own and len(word) >= FEWEST_LETTERS}
    places = [m for m in WORD.finditer(text) if len(m.group()) >= FEWEST_LETTERS]
    places.sort(key=lambda m: _hash(seed, "place", clip.item_id, str(m.start())))
    for place in places:
        word = place.group()
        fitting = [
            new
            for new in pool
            if abs(len(new) - len(word)) <= 1 and new[0].isupper() == word[0].isupper()
        ]
        if fitting:
            new = min(fitting, key=lambda one: _hash(seed, "word", clip.item_id, one))
            return text[: place.start()] + new + text[place.end() :]
    return None


def _hash(seed: int, *parts: str) -> str:
    return hashlib.sha256("\x1f".join([str(seed), *parts]).encode()).hexdigest()
