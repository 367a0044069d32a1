"""Items of a judge audit: the same words in two voices, and the reply that is right for each.

An item has two contexts, whose words agree turn by turn and whose user differs in emotion, and two
replies; reply 0 is right in context 0, reply 1 in context 1. A judge that does not hear the
voice cannot be right in both.

Source: `docs/papers.md`, counterfactual judge audits, items.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from otoscope.errors import InputError
from otoscope.prompts.judge.turns import USER, Reply, Turn, display_text

SINGLE_TURN, POSITIONAL, CONVERSATIONS = (
    "single_turn_emotions",
    "positional_emotion",
    "emotional_conversations",
)
BEFORE_ONSET = ("neutral", "happy")
AFTER_ONSET = ("sad", "angry", "frazzled", "hesitant")
"""A user's emotions before the negative turn of a conversation, and from it on."""

USER_EMOTIONS: Mapping[str, tuple[str, ...]] = {
    SINGLE_TURN: ("anger", "sadness", "surprise", "neutral"),
    POSITIONAL: (*BEFORE_ONSET, *AFTER_ONSET),
    CONVERSATIONS: ("neutral", "happy", "sad", "angry", "hesitant", "impatient", "frazzled"),
}
"""Task to the emotions that its users may have."""

ASSISTANT_EMOTIONS = ("neutral", "happy", "empathetic")


class JudgeItemError(InputError, ValueError):
    """An item that cannot be audited; the message names it and what is wrong."""


@dataclass(frozen=True)
class JudgeItem:
    """A pair of contexts and a pair of replies.

    Attributes:
        cluster_id: The sentence or the source conversation; what is resampled together.
        source: Where the words come from: corpus, split and id.
        generator: What wrote the branches and replies.
        scorer_version: What accepted the takes; empty for recordings and before rendering.
        emotion_pair: The user's emotion in the last turn of each context.
        onset: In which turn the user's emotion becomes negative in each context; of positional
            items only.
        goals: The failed goal of each branch; of positional items only.
        option_sets: The emotions allowed before and after the onset, as they were drawn.
        human_audio: The user's clips are recordings of people.
    """

    item_id: str
    task: str
    cluster_id: str
    source: Mapping[str, str]
    generator: str
    contexts: tuple[tuple[Turn, ...], tuple[Turn, ...]]
    replies: tuple[Reply, Reply]
    scorer_version: str = ""
    onset: tuple[int, int] | None = None
    goals: tuple[str, str] | None = None
    option_sets: Mapping[str, tuple[str, ...]] | None = None
    human_audio: bool = False
    split: str = "test"
    license: str = ""

    @property
    def emotion_pair(self) -> tuple[str, str]:
        """The user's emotion in the last turn of each context."""
        first, second = (context[-1].emotion or "" for context in self.contexts)
        return first, second

    def user_emotions(self, branch: int) -> tuple[str, ...]:
        """The user's emotion in each of their turns of context 0 or 1."""
        return tuple(turn.emotion or "" for turn in self.contexts[branch] if turn.speaker == USER)

    @property
    def clip_ids(self) -> tuple[str, ...]:
        """Every clip, contexts first; without those that are not rendered."""
        parts: list[Turn | Reply] = [turn for context in self.contexts for turn in context]
        ids = (part.clip_id for part in [*parts, *self.replies])
        return tuple(dict.fromkeys(clip for clip in ids if clip is not None))


def validate_item(item: JudgeItem) -> None:
    """Checks what makes an item a fair test of the voice.

    Raises:
        JudgeItemError: No user turn, words that differ between contexts, emotions that do not,
            replies that are equal, or an onset that the emotions do not show.
    """

    def fail(reason: str) -> None:
        raise JudgeItemError(f"item {item.item_id!r}: {reason}")

    if item.task not in USER_EMOTIONS:
        fail(f"task is {item.task!r}, not one of {list(USER_EMOTIONS)}")
    first, second = item.contexts
    if not any(turn.speaker == USER for turn in first):
        fail("no turn is the user's")
    if len(first) != len(second):
        fail(f"its contexts have {len(first)} and {len(second)} turns")
    for a, b in zip(first, second, strict=True):
        if a.speaker != b.speaker or a.turn != b.turn:
            fail(f"turn {a.turn} is another speaker's, or has another number, in each context")
        if a.display_text != b.display_text:
            fail(f"the words of turn {a.turn} differ: {a.text!r} and {b.text!r}")
        if not a.display_text:
            fail(f"turn {a.turn} has no words")
    if [turn.turn for turn in first] != list(range(1, len(first) + 1)):
        fail("its turns are not numbered 1, 2, 3, …")
    if first[-1].speaker != USER:
        fail("the last turn of its contexts is not the user's")
    _validate_emotions(item, fail)
    if display_text(item.replies[0].text) == display_text(item.replies[1].text):
        fail("its two replies are equal")
    if not all(display_text(reply.text) for reply in item.replies):
        fail("a reply has no words")
    if item.task == POSITIONAL:
        _validate_onset(item, fail)


def _validate_emotions(item: JudgeItem, fail: Callable[[str], None]) -> None:
    allowed = USER_EMOTIONS[item.task]
    for context in item.contexts:
        for turn in context:
            known = allowed if turn.speaker == USER else (*ASSISTANT_EMOTIONS, None)
            if turn.emotion not in known:
                fail(f"turn {turn.turn} has emotion {turn.emotion!r}, not one of {list(known)}")
    if item.user_emotions(0) == item.user_emotions(1):
        fail("the user's emotions are the same in both contexts")
    if item.task == CONVERSATIONS and len(set(item.emotion_pair)) == 1:
        fail("the last user turns have the same emotion")


def _validate_onset(item: JudgeItem, fail: Callable[[str], None]) -> None:
    if item.onset is None or item.onset[0] == item.onset[1]:
        fail(f"its onset is {item.onset}; it needs two different turns")
        return
    for branch, onset in enumerate(item.onset):
        for turn in (turn for turn in item.contexts[branch] if turn.speaker == USER):
            known = AFTER_ONSET if turn.turn >= onset else BEFORE_ONSET
            if turn.emotion not in known:
                fail(f"context {branch}, turn {turn.turn}: {turn.emotion!r} with onset {onset}")
        if not any(turn.turn == onset and turn.speaker == USER for turn in item.contexts[branch]):
            fail(f"context {branch} has no user turn {onset}, its onset")
