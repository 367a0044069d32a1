"""The judgment probe J: which reply is right, from the audio (J1 to J4 of the audit's prompts)."""

from collections.abc import Sequence

from otoscope.prompts.judge.parts import context_parts, cue_text, reply_parts
from otoscope.prompts.judge.texts import (
    CHOICE_FORM,
    CHOOSE_CONTEXT,
    CONTEXT_FORM,
    JUDGE_MULTI,
    JUDGE_SINGLE,
    LAST_TURN_ONLY,
    MATCH_FORM,
    MATCH_MULTI,
    MATCH_SINGLE,
)
from otoscope.prompts.judge.turns import Reply, Turn
from otoscope.prompts.parts import Part, Text


def pointwise(
    turns: Sequence[Turn],
    replies: Sequence[Reply],
    cue: str,
    *,
    spoken: bool = True,
    last_turn_only: bool = False,
    cue_turns: Sequence[Turn] | None = None,
) -> tuple[Part, ...]:
    """One context and two replies, R1 and R2 in the order given.

    Args:
        turns: The context as the judge gets it.
        spoken: Whether replies are clips; else their text.
        last_turn_only: Say that earlier turns are left out.
        cue_turns: The whole context, which decides the cue's wording, where `turns` is a part.
    """
    whole = turns if cue_turns is None else cue_turns
    task = JUDGE_SINGLE if len(whole) == 1 else JUDGE_MULTI
    head = task + LAST_TURN_ONLY * last_turn_only + cue_text(cue, whole)
    parts: list[Part] = [Text(head), *context_parts("C", turns)]
    for name, reply in zip(("R1", "R2"), replies, strict=True):
        parts += reply_parts(name, reply, spoken=spoken)
    return (*parts, Text(f"\n{CHOICE_FORM}"))


def pairwise(
    contexts: Sequence[Sequence[Turn]],
    replies: Sequence[Reply],
    cue: str,
    *,
    spoken: bool = True,
    last_turn_only: bool = False,
    cue_turns: Sequence[Turn] | None = None,
) -> tuple[Part, ...]:
    """Two contexts, CA and CB, and two replies, in the order given: which belongs to which."""
    whole = contexts[0] if cue_turns is None else cue_turns
    task = MATCH_SINGLE if len(whole) == 1 else MATCH_MULTI
    parts: list[Part] = [Text(task + LAST_TURN_ONLY * last_turn_only + cue_text(cue, whole))]
    for name, turns in zip(("CA", "CB"), contexts, strict=True):
        parts += context_parts(name, turns)
    for name, reply in zip(("R1", "R2"), replies, strict=True):
        parts += reply_parts(name, reply, spoken=spoken)
    return (*parts, Text(f"\n{MATCH_FORM}"))


def choose_context(
    contexts: Sequence[Sequence[Turn]], reply: Reply, cue: str, *, spoken: bool = True
) -> tuple[Part, ...]:
    """Two contexts and one reply: for which it is right. Not in the paper."""
    parts: list[Part] = [Text(CHOOSE_CONTEXT + cue_text(cue, contexts[0]))]
    for name, turns in zip(("CA", "CB"), contexts, strict=True):
        parts += context_parts(name, turns)
    parts += reply_parts("R", reply, spoken=spoken)
    return (*parts, Text(f"\n{CONTEXT_FORM}"))
