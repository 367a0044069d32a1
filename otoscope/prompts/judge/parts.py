"""Clips with the short labels that stand before them, and what all judge prompts share."""

from collections.abc import Mapping, Sequence

from otoscope.prompts.judge.texts import MULTI_CUES, SINGLE_CUES
from otoscope.prompts.judge.turns import Reply, Turn
from otoscope.prompts.parts import Clip, Part, Text

SPEAKERS = {"user": "human", "assistant": "voice assistant"}


def cue_text(cue: str, turns: Sequence[Turn]) -> str:
    """The cue, which ends the line of the task.

    Raises:
        KeyError: There is no such cue for one turn, or for several.
    """
    cues: Mapping[str, str] = SINGLE_CUES if len(turns) == 1 else MULTI_CUES
    return cues[cue] if cue == "no" else f" {cues[cue]}"


def context_parts(name: str, turns: Sequence[Turn]) -> list[Part]:
    """The clips of a context, each behind a line that says what it is.

    Args:
        name: C, CA or CB.

    Raises:
        ValueError: A turn is not rendered.
    """
    parts: list[Part] = []
    for turn in turns:
        label = f"\nAudio clip {name}:\n"
        if len(turns) > 1:
            label = f"\nConversation {name}, turn {turn.turn} ({SPEAKERS[turn.speaker]}):\n"
        parts += [Text(label), _clip(turn.clip_id, f"turn {turn.turn}")]
    return parts


def reply_parts(name: str, reply: Reply, *, spoken: bool) -> list[Part]:
    """A reply as a clip or as text.

    Args:
        name: R, R1 or R2.

    Raises:
        ValueError: It is to be a clip, and is not rendered.
    """
    if not spoken:
        return [Text(f"\nReply {name}: {reply.text}\n")]
    return [Text(f"\nReply {name}:\n"), _clip(reply.clip_id, f"reply {name}")]


def _clip(clip_id: str | None, what: str) -> Clip:
    if clip_id is None:
        raise ValueError(f"{what} has no clip")
    return Clip(clip_id)
