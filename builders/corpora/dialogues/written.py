"""The items that were written for this project: everyday situations, before they are rendered.

    read_written("single_turn_emotions")[0].contexts[0][0].text

Each file in `written/` says how its lines are to be read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from otoscope.audits.judge.items import (
    BEFORE_ONSET,
    CONVERSATIONS,
    POSITIONAL,
    SINGLE_TURN,
    JudgeItem,
    validate_item,
)
from otoscope.prompts.judge.turns import Reply, Speaker, Turn, display_text

FOLDER = Path(__file__).parent / "written"
CORPUS = "written"
GENERATOR = "written by hand"
LICENCE = "Apache-2.0"


def read_written(task: str) -> list[JudgeItem]:
    """Items of a task, validated, without clips.

    Raises:
        KeyError: No such task.
        JudgeItemError: An item is wrong.
    """
    made = READERS[task]
    lines = yaml.safe_load((FOLDER / f"{task}.yaml").read_text(encoding="utf-8"))
    items = [_item(task, number, made(line)) for number, line in enumerate(lines, start=1)]
    for item in items:
        validate_item(item)
    return items


def _item(task: str, number: int, parts: Mapping[str, Any]) -> JudgeItem:
    name = f"{task.split('_')[0]}-{number:03d}"
    return JudgeItem(
        item_id=name,
        task=task,
        source={"corpus": CORPUS, "split": "test", "id": name},
        generator=GENERATOR,
        license=LICENCE,
        **({"cluster_id": f"{CORPUS}/{name}"} | dict(parts)),
    )


def _single(line: Mapping[str, str]) -> Mapping[str, Any]:
    text = line["text"]
    emotions = [name for name in line if name != "text"]
    return {
        "cluster_id": display_text(text),
        "contexts": _pair((Turn(1, "user", text, emotion),) for emotion in emotions),
        "replies": _pair(Reply(line[emotion], "neutral") for emotion in emotions),
    }


def _positional(line: Mapping[str, Any]) -> Mapping[str, Any]:
    before, after = tuple(line["before"]), tuple(line["after"])

    def emotions(onset: int) -> Iterator[str]:
        for k, turn in enumerate(range(1, len(line["turns"]) + 1, 2)):
            allowed = after if turn >= onset else before
            yield allowed[k % len(allowed)]

    return {
        "contexts": _pair(_context(line["turns"], list(emotions(turn))) for turn in line["onset"]),
        "replies": _pair(Reply(text, "empathetic") for text in line["replies"]),
        "onset": tuple(line["onset"]),
        "goals": tuple(line["goals"]),
        "option_sets": {"X": before or BEFORE_ONSET, "Y": after},
    }


def _conversation(line: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "contexts": _pair(_context(line["turns"], emotions) for emotions in line["emotions"]),
        "replies": _pair(Reply(text, "empathetic") for text in line["replies"]),
    }


def _context(texts: Sequence[str], emotions: Sequence[str]) -> tuple[Turn, ...]:
    """Turns 1, 3, 5, … are the user's; the assistant is neutral in both branches."""
    left = iter(emotions)
    turns = []
    for number, text in enumerate(texts, start=1):
        speaker: Speaker = "user" if number % 2 else "assistant"
        turns.append(Turn(number, speaker, text, next(left) if speaker == "user" else "neutral"))
    if (more := next(left, None)) is not None:
        raise ValueError(f"an emotion without a user turn: {more}")
    return tuple(turns)


def _pair(parts: Any) -> tuple[Any, Any]:
    first, second = parts
    return first, second


READERS: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    SINGLE_TURN: _single,
    POSITIONAL: _positional,
    CONVERSATIONS: _conversation,
}
