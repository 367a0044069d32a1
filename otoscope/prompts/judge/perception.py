"""The perception probe P: which emotion the user's voice conveys (P1 and P2). No reply is shown."""

import hashlib
from collections.abc import Sequence

from otoscope.prompts.judge.parts import context_parts, cue_text
from otoscope.prompts.judge.texts import (
    EMOTION_FORM,
    EMOTIONS_FORM,
    PERCEIVE_MULTI,
    PERCEIVE_SINGLE,
)
from otoscope.prompts.judge.turns import Turn
from otoscope.prompts.parts import Part, Text


def in_hash_order(labels: Sequence[str], item_id: str) -> tuple[str, ...]:
    """Labels in an order that depends on the item alone."""
    return tuple(
        sorted(labels, key=lambda label: hashlib.sha256(f"{item_id}|{label}".encode()).digest())
    )


def perceive(turns: Sequence[Turn], labels: Sequence[str], cue: str) -> tuple[Part, ...]:
    """The emotion of a clip, or of every user turn of a conversation.

    Args:
        labels: The closed set, in the order in which it is offered.
    """
    offered = ", ".join(labels)
    if len(turns) == 1:
        head, form = PERCEIVE_SINGLE.format(labels=offered), EMOTION_FORM
    else:
        own = [str(turn.turn) for turn in turns if turn.speaker == "user"]
        shown = ", ".join(f'"{turn}": "..."' for turn in own)
        head = PERCEIVE_MULTI.format(labels=offered, turns=", ".join(own))
        form = EMOTIONS_FORM.format(form="{" + shown + "}")
    return (Text(head + cue_text(cue, turns)), *context_parts("C", turns), Text(f"\n{form}"))
