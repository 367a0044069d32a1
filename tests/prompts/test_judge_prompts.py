"""Prompts of the judge audit: published sentences to the character, clips in order, no leaks."""

import json

import pytest

from otoscope.prompts.judge import texts
from otoscope.prompts.judge.judgment import choose_context, pairwise, pointwise
from otoscope.prompts.judge.perception import in_hash_order, perceive
from otoscope.prompts.judge.text_probes import oracle, text_only
from otoscope.prompts.judge.turns import Reply, Turn
from otoscope.prompts.parts import Clip, Text

ONE = [Turn(1, "user", "They moved it.", "anger", "u1")]
MANY = [
    Turn(1, "user", "Book it", "neutral", "u1"),
    Turn(2, "assistant", "Done", "happy", "a2"),
    Turn(3, "user", "And now?", "sad", "u3"),
]
REPLIES = [Reply("First", "neutral", "r0"), Reply("Second", "neutral", "r1")]


def words(parts):
    return "".join(part.text for part in parts if isinstance(part, Text))


def clips(parts):
    return [part.id for part in parts if isinstance(part, Clip)]


def test_the_published_sentences_of_one_turn():
    # from the paper, sections 3 and B
    start = (
        "You will hear audio clip C, and then be given two possible voice assistant replies, R1 "
        "and R2. Your task: decide which response is more appropriate for the conversation C based "
        "on user experience."
    )
    hard = " Focus *only* on tone of voice, and not words, when making your decision.\n"
    soft = " Focus on tone of voice when making your decision.\n"
    for cue, after in (("no", "\n"), ("soft", soft), ("hard", hard)):
        first = pointwise(ONE, REPLIES, cue)[0]
        assert first == Text(start + after)


def test_the_published_sentences_of_oracle_and_staging():
    told = words(oracle(ONE, REPLIES, "no", {1: "anger"}))
    assert told.startswith("You will be given a user input C, and then be given two possible voice")
    assert 'a description of the speaker’s emotional tone of voice ("emotion").' in told
    staged = words(oracle(ONE, REPLIES, "no", {1: "sadness"}, detected=True))
    kept = "Keep in mind that the human’s emotions were detected by an audio-language model which"
    assert kept in staged
    assert kept not in told


def test_clips_stand_in_order_each_behind_its_label():
    parts = pointwise(MANY, REPLIES, "no")
    assert clips(parts) == ["u1", "a2", "u3", "r0", "r1"]
    at = parts.index(Clip("a2"))
    assert parts[at - 1] == Text("\nConversation C, turn 2 (voice assistant):\n")
    assert parts[-2] == Clip("r1")
    assert parts[-3] == Text("\nReply R2:\n")
    both = pairwise([ONE, [Turn(1, "user", "They moved it.", "sadness", "v1")]], REPLIES, "no")
    assert clips(both) == ["u1", "v1", "r0", "r1"]
    assert clips(choose_context([ONE, ONE], REPLIES[0], "no")) == ["u1", "u1", "r0"]


@pytest.mark.parametrize("cue", ["no", "soft", "hard", "transition"])
def test_the_cue_stands_once_and_is_the_same_in_every_probe(cue):
    cue_line = texts.MULTI_CUES[cue]
    emotions = {1: "neutral", 3: "sad"}
    every = [
        pointwise(MANY, REPLIES, cue),
        pairwise([MANY, MANY], REPLIES, cue),
        perceive(MANY, ["sad", "neutral"], cue),
        oracle(MANY, REPLIES, cue, emotions),
        text_only(MANY, REPLIES, cue),
    ]
    for parts in every:
        assert cue == "no" or words(parts).count(cue_line) == 1


def test_there_is_no_transition_within_one_turn():
    with pytest.raises(KeyError):
        pointwise(ONE, REPLIES, "transition")


def test_what_a_probe_must_not_show():
    heard = words(perceive(MANY, ["sad", "neutral"], "hard"))
    assert "First" not in heard  # replies
    assert "Book it" not in heard  # words
    judged = words(pointwise(MANY, REPLIES, "hard"))
    assert not {"sad", "happy", "Book it", "First"} & set(judged.split())
    plain = words(text_only(MANY, REPLIES, "no"))
    assert "emotion" not in plain
    assert "sad" not in plain


def test_the_oracle_has_user_emotions_only_by_default():
    told = words(oracle(MANY, REPLIES, "no", {1: "neutral", 3: "sad"}))
    context = json.loads(told[told.index("{") : told.rindex("}\n\n") + 1])["C"]
    assert [turn.get("emotion") for turn in context] == ["neutral", None, "sad"]
    more = words(oracle(MANY, REPLIES, "no", {1: "neutral", 3: "sad"}, assistant_emotion=True))
    assert '"happy"' in more
    with pytest.raises(KeyError):
        oracle(MANY, REPLIES, "no", {1: "neutral"})


def test_the_perception_probe_names_the_turns_and_the_closed_set():
    asked = words(perceive(MANY, ["sad", "happy", "neutral"], "no"))
    assert "The human's turns are 1, 3." in asked
    assert "of: sad, happy, neutral." in asked
    assert asked.endswith('{"emotions": {"1": "...", "3": "..."}}')
    one = words(perceive(ONE, ["anger", "sadness"], "no"))
    assert one.endswith('{"emotion": "..."}')


def test_labels_are_shuffled_by_the_item():
    labels = ["a", "b", "c", "d"]
    orders = {in_hash_order(labels, f"item-{i}") for i in range(50)}
    assert len(orders) > 10
    assert all(sorted(order) == labels for order in orders)
    assert in_hash_order(labels, "x") == in_hash_order(labels[::-1], "x")


def test_replies_as_text():
    parts = pointwise(ONE, [Reply("First", None), Reply("Second", None)], "no", spoken=False)
    assert clips(parts) == ["u1"]
    assert "\nReply R1: First\n" in words(parts)
    with pytest.raises(ValueError, match="reply R1 has no clip"):
        pointwise(ONE, [Reply("First", None), Reply("Second", None)], "no")


def test_the_hash_covers_every_text(monkeypatch):
    before = texts.prompts_sha256()
    monkeypatch.setattr(texts, "CHOICE_FORM", "another")
    assert texts.prompts_sha256() != before
