"""A representative part of a dataset."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any


def limited(
    rows: Sequence[Mapping[str, Any]], most: int | None
) -> tuple[Sequence[Mapping[str, Any]], str]:
    """Whole sources, spread evenly over speakers, chosen by hash; and how many of how many.

    A larger part holds every smaller one. Rows that name no source are one each.
    """
    if most is None:
        return rows, ""
    speakers: dict[str, str] = {}
    for row in rows:
        speakers.setdefault(row.get("source_id") or row["id"], row.get("speaker_id") or "")
    turns: dict[str, int] = {}
    ranked: list[tuple[int, int, str]] = []
    for source in sorted(speakers, key=lambda s: hashlib.sha256(s.encode()).digest()):
        turn = turns.get(speakers[source], 0)
        turns[speakers[source]] = turn + 1
        ranked.append((turn, len(ranked), source))
    taken = {source for _, _, source in sorted(ranked)[:most]}
    if len(taken) == len(speakers):
        return rows, ""
    chosen = [row for row in rows if (row.get("source_id") or row["id"]) in taken]
    return chosen, f"{len(taken)} of {len(speakers)} sources"
