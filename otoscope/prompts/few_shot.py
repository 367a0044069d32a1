"""Two labelled examples of each label before the query: which clips, and their wording.

Source: VocalGrad, appendix C.7; the seed, the order of the draws and the layout of the parts are in
the authors' data and differ from the format printed in the paper. Of the opening and closing
sentences only the content is known to us, so their wording (`OPENING`, `CLOSING`) is ours.
"""

import hashlib
import random
from collections.abc import Iterable
from typing import NamedTuple

from otoscope.errors import InvalidValue
from otoscope.prompts.labels import LABEL_NAMES, ItemRow, label_of
from otoscope.prompts.parts import Clip, Part, Text

SEED = 1234
N_PER_LABEL = 2
OPENING = (
    "Here are {n} labelled examples about the {attribute} of an audio clip, followed by one query "
    "clip."
)
CLOSING = "Now answer the same question for the query clip."


class Example(NamedTuple):
    """A labelled clip: the row that holds it, and what happens in it."""

    id: str
    label: str


class Pool:
    """Labelled rows to draw examples from; the published ones are train and validation together.

    Rows with the column `row` are put in its order, which is the published one whatever the order
    in which splits were joined; without it they stay as they come.
    """

    def __init__(self, rows: Iterable[ItemRow]) -> None:
        rows = list(rows)
        if all(row.get("row") is not None for row in rows):
            rows.sort(key=lambda row: row["row"])
        self.ids = frozenset(row["id"] for row in rows)
        self._buckets: dict[tuple[str, str], list[Example]] = {}
        for row in rows:
            label = label_of(row)
            if label is not None:
                bucket = self._buckets.setdefault((row["category"], label), [])
                bucket.append(Example(row["id"], label))

    def draw(self, category: str, clip_id: str) -> list[Example]:
        """Two examples of each label for one query, in the order in which they are shown.

        Raises:
            ValueError: The pool has fewer than two clips of a label in this category.
        """
        rng = random.Random(seed(category, clip_id))
        drawn: list[Example] = []
        for label in reversed(LABEL_NAMES):  # the published order of draws
            bucket = self._buckets.get((category, label), [])
            if len(bucket) < N_PER_LABEL:
                raise InvalidValue(
                    f"few-shot needs {N_PER_LABEL} {label!r} clips of {category!r} in the pool; "
                    f"it has {len(bucket)}"
                )
            drawn += rng.sample(bucket, N_PER_LABEL)
        rng.shuffle(drawn)
        return drawn


def seed(category: str, clip_id: str) -> int:
    """The published seed of one query's examples.

    >>> seed("volume", "p226_01__p226_106__linear__low__up")
    5893572685588302164
    """
    digest = hashlib.sha256(f"{SEED}:{category}:{clip_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def interleave(
    examples: list[Example], query_id: str, *, attribute: str, question: str
) -> tuple[Part, ...]:
    """Text and clips in turn: opening, examples each with audio then label, query, question.

    Line breaks are in the texts, so it does not matter how a model joins parts.
    """
    texts = [OPENING.format(n=len(examples), attribute=attribute) + "\n"]
    clips = []
    for i, example in enumerate(examples, start=1):
        texts[-1] += f"Example {i} audio:\n"
        clips.append(Clip(example.id))
        texts.append(f"\nExample {i} label: {example.label}\n")
    texts[-1] += "Query audio:\n"
    parts: list[Part] = []
    for text, clip in zip(texts, [*clips, Clip(query_id)], strict=True):
        parts += [Text(text), clip]
    return (*parts, Text(f"\n{CLOSING}\n{question}"))
