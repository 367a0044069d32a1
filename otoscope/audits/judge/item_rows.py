"""Items of a judge dataset as rows: read, written, and opened with their clips.

data = open_judge_items("./single_turn_emotions")
data.items[0].contexts, data.clips.audio(data.items[0].clip_ids[0])
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otoscope.audits.items import Items
from otoscope.audits.judge.items import JudgeItem, JudgeItemError, validate_item
from otoscope.audits.opening import load_table
from otoscope.errors import first_names
from otoscope.prompts.judge.turns import ASSISTANT, USER, Reply, Turn

CLIPS, ITEMS = "clips", "items"
"""Configs of a judge dataset."""


@dataclass(frozen=True)
class JudgeData:
    """A judge dataset. Made by `open_judge_items`.

    Attributes:
        items: In dataset order.
        clips: Audio by `clip_id`.
    """

    items: tuple[JudgeItem, ...]
    clips: Items


def open_judge_items(
    dataset: str | Path, *, split: str = "test", revision: str | None = None
) -> JudgeData:
    """Opens the configs `items` and `clips` of a folder or Hub repository.

    Raises:
        DatasetError: It cannot be found, or a config is missing.
        JudgeItemError: An item is wrong, two share an id, or a clip is missing.
    """
    rows, _ = load_table(dataset, ITEMS, split=split, revision=revision)
    table, files = load_table(dataset, CLIPS, split=split, revision=revision)
    if "id" not in table.column_names and "clip_id" in table.column_names:
        table = table.rename_column("clip_id", "id")
    clips = Items([(CLIPS, table)], files=files, needed=("id", "audio"))
    items = tuple(items_of(rows))
    known = {row["id"] for row in clips.rows}
    for item in items:
        validate_rendered(item, known)
    return JudgeData(items, clips)


def validate_rendered(item: JudgeItem, known: Iterable[str]) -> None:
    """Checks that every turn and reply has a clip, and that it is among the known ones.

    Raises:
        JudgeItemError: One has none, or it is missing.
    """
    parts: list[Turn | Reply] = [*item.contexts[0], *item.contexts[1], *item.replies]
    if any(part.clip_id is None for part in parts):
        raise JudgeItemError(f"item {item.item_id!r}: a turn or reply has no clip_id; render it")
    if missing := sorted(set(item.clip_ids) - set(known)):
        raise JudgeItemError(f"item {item.item_id!r}: missing clips {first_names(missing)}")


def item_of(row: Mapping[str, Any]) -> JudgeItem:
    """An item from a row of the config `items`, or a line of a file of scripts.

    Raises:
        JudgeItemError: A field is missing or has no such value; see also `validate_item`.
    """
    name = row.get("item_id")
    try:
        contexts = [[_turn(turn) for turn in context] for context in row["contexts"]]
        replies = [_reply(reply) for reply in row["responses"]]
        if len(contexts) != 2 or len(replies) != 2:
            raise ValueError(f"{len(contexts)} contexts and {len(replies)} replies, not 2 and 2")
        sets = row.get("option_sets")
        made = JudgeItem(
            item_id=str(row["item_id"]),
            task=str(row["task"]),
            cluster_id=str(row["cluster_id"]),
            source={key: str(value) for key, value in _mapping(row["source"]).items()},
            generator=str(row["generator"]),
            contexts=(tuple(contexts[0]), tuple(contexts[1])),
            replies=(replies[0], replies[1]),
            scorer_version=str(row.get("scorer_version") or ""),
            onset=_pair(row.get("onset"), int),
            goals=_pair(row.get("goals"), str),
            option_sets={key: tuple(own) for key, own in _mapping(sets).items()} if sets else None,
            human_audio=bool(row.get("human_audio", False)),
            split=str(row.get("split") or "test"),
            license=str(row.get("license") or ""),
        )
    except KeyError as error:
        raise JudgeItemError(f"item {name!r} has no {error.args[0]}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise JudgeItemError(f"item {name!r}: {error}") from None
    validate_item(made)
    return made


def row_of(item: JudgeItem) -> dict[str, Any]:
    """The row of the config `items`, ready for JSON and Parquet: `item_of` reads it back."""
    return {
        "item_id": item.item_id,
        "task": item.task,
        "cluster_id": item.cluster_id,
        "source": json.dumps(dict(item.source), sort_keys=True),
        "generator": item.generator,
        "scorer_version": item.scorer_version,
        "emotion_pair": list(item.emotion_pair),
        "contexts": [
            [vars(turn) | {"display_text": turn.display_text} for turn in context]
            for context in item.contexts
        ],
        "responses": [dict(vars(reply)) for reply in item.replies],
        "onset": list(item.onset) if item.onset else None,
        "goals": list(item.goals) if item.goals else None,
        "option_sets": json.dumps(item.option_sets, sort_keys=True) if item.option_sets else None,
        "human_audio": item.human_audio,
        "split": item.split,
        "license": item.license,
    }


def items_of(rows: Iterable[Mapping[str, Any]]) -> list[JudgeItem]:
    """Items from rows, in order.

    Raises:
        JudgeItemError: An item is wrong, or two share an id.
    """
    items: dict[str, JudgeItem] = {}
    for row in rows:
        item = item_of(row)
        if items.setdefault(item.item_id, item) is not item:
            raise JudgeItemError(f"two items have the id {item.item_id!r}")
    return list(items.values())


def _turn(row: Mapping[str, Any]) -> Turn:
    if row["speaker"] not in (USER, ASSISTANT):
        raise ValueError(f"speaker is {row['speaker']!r}, not {USER!r} or {ASSISTANT!r}")
    return Turn(
        int(row["turn"]), row["speaker"], str(row["text"]), row.get("emotion"), row.get("clip_id")
    )


def _reply(row: Mapping[str, Any]) -> Reply:
    return Reply(str(row["text"]), row.get("emotion"), row.get("clip_id"))


def _pair(value: Sequence[Any] | None, kind: Callable[[Any], Any]) -> tuple[Any, Any] | None:
    if value is None:
        return None
    if len(value) != 2:
        raise ValueError(f"{value} is not a pair")
    return kind(value[0]), kind(value[1])


def _mapping(value: Any) -> Mapping[str, Any]:
    return json.loads(value) if isinstance(value, str) else value
