"""The items written for this project: enough of them, of every kind, and fair."""

from collections import Counter

import pytest

from builders.corpora.dialogues.written import READERS, read_written
from otoscope.prompts.judge.turns import display_text

EMOTION_WORDS = [
    "angry",
    "anger",
    "mad",
    "furious",
    "annoyed",
    "upset",
    "sad",
    "sadness",
    "unhappy",
    "grief",
    "surprised",
    "surprise",
    "amazed",
    "astonished",
    "shocked",
    "calm",
    "neutral",
    "happy",
    "glad",
    "joy",
    "emotion",
    "feel",
    "feeling",
    "feelings",
    "tone",
    "voice",
    "frazzled",
    "stressed",
    "hesitant",
    "nervous",
    "impatient",
    "sounds",
    "sound",
]


@pytest.mark.parametrize(
    ("task", "least"),
    [("single_turn_emotions", 24), ("positional_emotion", 12), ("emotional_conversations", 8)],
)
def test_there_are_enough(task, least):
    items = read_written(task)
    assert len(items) >= least
    assert len({item.cluster_id for item in items}) == len(items)


def test_every_pair_of_emotions_of_single_turns():
    pairs = Counter(frozenset(item.emotion_pair) for item in read_written("single_turn_emotions"))
    expected = ["anger sadness", "surprise sadness", "surprise neutral", "anger surprise"]
    assert pairs == {frozenset(pair.split()): 6 for pair in expected}


def test_onsets_are_spread():
    items = read_written("positional_emotion")
    onsets = Counter(turn for item in items for turn in item.onset)
    assert set(onsets) == {3, 5, 7}
    earlier_first = sum(item.onset[0] < item.onset[1] for item in items)
    assert earlier_first == len(items) / 2
    assert {e for item in items for e in (*item.user_emotions(0), *item.user_emotions(1))} == {
        "neutral", "happy", "sad", "angry", "frazzled", "hesitant",
    }  # fmt: skip


@pytest.mark.parametrize("task", list(READERS))
def test_replies_are_as_long_and_name_no_emotion(task):
    for item in read_written(task):
        words = [display_text(reply.text).split() for reply in item.replies]
        assert 0.8 <= len(words[0]) / len(words[1]) <= 1.25, item.item_id
        named = {*words[0], *words[1]}.intersection(EMOTION_WORDS)
        assert not named, (item.item_id, named)
