"""A representative part of a dataset."""

import hashlib
from collections import Counter
from collections.abc import Sequence

from otoscope.prompts.labels import ItemRow


def limited_rows(rows: Sequence[ItemRow], most: int | None) -> tuple[Sequence[ItemRow], str]:
    """Whole sources, spread evenly over speakers, chosen by hash; and how many of how many.

    A larger part holds every smaller one. Rows that name no source are one each.
    """
    if most is None:
        return rows, ""
    speakers: dict[str, str] = {}
    for row in rows:
        speakers.setdefault(_source(row), row.get("speaker_id") or "")
    turns: Counter[str] = Counter()
    ranked: list[tuple[int, int, str]] = []
    for source in sorted(speakers, key=lambda s: hashlib.sha256(s.encode()).digest()):
        ranked.append((turns[speakers[source]], len(ranked), source))
        turns[speakers[source]] += 1
    taken = {source for _, _, source in sorted(ranked)[:most]}
    if len(taken) == len(speakers):
        return rows, ""
    chosen = [row for row in rows if _source(row) in taken]
    return chosen, f"{len(taken)} of {len(speakers)} sources"


def _source(row: ItemRow) -> str:
    source = row.get("source_id")
    return str(row["id"] if source in (None, "") else source)
