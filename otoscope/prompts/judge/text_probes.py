"""Probes without audio: oracle O, Staging, and the text-only judge T (O1, O2, S1, S2, T)."""

import json
from collections.abc import Mapping, Sequence

from otoscope.prompts.judge.parts import SPEAKERS, cue_text
from otoscope.prompts.judge.texts import CHOICE_FORM, ORACLE, STAGING, TEXT_ONLY
from otoscope.prompts.judge.turns import Reply, Turn
from otoscope.prompts.parts import Part, Text


def oracle(
    turns: Sequence[Turn],
    replies: Sequence[Reply],
    cue: str,
    emotions: Mapping[int, str],
    *,
    detected: bool = False,
    assistant_emotion: bool = False,
) -> tuple[Part, ...]:
    """Transcript and emotions, and two replies as text.

    Args:
        emotions: Of each user turn, by its number: the right ones, or those that the judge heard.
        detected: They are what the judge itself heard (Staging).
        assistant_emotion: Say the assistant's emotions too.

    Raises:
        KeyError: A user turn has no emotion.
    """
    given = dict(emotions)
    if assistant_emotion:
        given |= {t.turn: t.emotion for t in turns if t.speaker != "user" and t.emotion}
    head = ORACLE + STAGING * detected + cue_text(cue, turns)
    return _question(head, _turns(turns, given), replies)


def text_only(turns: Sequence[Turn], replies: Sequence[Reply], cue: str) -> tuple[Part, ...]:
    """Transcript and two replies as text, no emotion: the words alone decide nothing."""
    return _question(TEXT_ONLY + cue_text(cue, turns), _turns(turns, None), replies)


def _question(head: str, context: object, replies: Sequence[Reply]) -> tuple[Part, ...]:
    first, second = replies
    shown = {"C": context, "R1": first.text, "R2": second.text}
    return (Text(f"{head}\n{json.dumps(shown, ensure_ascii=False, indent=1)}\n\n{CHOICE_FORM}"),)


def _turns(turns: Sequence[Turn], emotions: Mapping[int, str] | None) -> object:
    given = []
    for turn in turns:
        row: dict[str, object] = {"transcript": turn.text}
        if len(turns) > 1:
            row = {"turn": turn.turn, "speaker": SPEAKERS[turn.speaker], **row}
        if emotions is not None and (turn.speaker == "user" or turn.turn in emotions):
            row["emotion"] = emotions[turn.turn]
        given.append(row)
    return given[0] if len(given) == 1 else given
