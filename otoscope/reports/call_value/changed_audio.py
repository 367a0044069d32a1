"""Examples that one selector alone gets right, as cards with their audio."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.labelled import LabelledData
from otoscope.audits.opening import DatasetError
from otoscope.reports.embedded_audio import SampleAudio, embedded
from otoscope.reports.tables import Record

MOST_CARDS = 24
NO_PLAYER = SampleAudio("", "")


class ActionAnswer(NamedTuple):
    """What one action predicted; `label` is None where it could not be parsed."""

    action: str
    label: str | None
    right: bool


class ChangedExample(NamedTuple):
    """A card: a row of the table of changed examples, each action's answer, and its audio."""

    row: Record
    answers: list[ActionAnswer]
    audio: SampleAudio


def changed_cards(
    audit: CallAudit, rows: Sequence[Record], dataset: LabelledData | None = None
) -> list[ChangedExample]:
    """Up to `MOST_CARDS` of the changed examples, of each outcome in turn, called ones first.

    Args:
        rows: Of `breakdowns.changed_examples`.
        dataset: Where their audio is, by `example_id`; no players without it.
    """
    by_outcome: dict[str, list[Record]] = {}
    for row in sorted(rows, key=lambda row: ("without a call" in row["outcome"], row["outcome"])):
        by_outcome.setdefault(row["outcome"], []).append(row)
    turns = chain.from_iterable(zip_longest(*by_outcome.values()))
    shown = [row for row in turns if row is not None][:MOST_CARDS]
    if dataset is None:
        audio = [NO_PLAYER] * len(shown)
    else:
        labels = {row.id: row.label for row in dataset.rows}
        audio = embedded([_clip(dataset, labels, row) for row in shown], range(len(shown)))
    at = {str(name): i for i, name in enumerate(audit.holdout.ids)}
    return [
        ChangedExample(row, _answers(audit, at[row["example_id"]]), own)
        for row, own in zip(shown, audio, strict=True)
    ]


def _clip(dataset: LabelledData, labels: Mapping[str, str], row: Record) -> tuple[bytes, str]:
    example = row["example_id"]
    if labels.get(example, row["label"]) != row["label"]:
        return b"", "the dataset given has another label under this id"
    with suppress(KeyError, DatasetError):
        return dataset.items.audio_bytes(example), ""
    return b"", "not in the dataset given"


def _answers(audit: CallAudit, i: int) -> list[ActionAnswer]:
    part, labels = audit.holdout, sorted(audit.contract.labels)
    assert part.gold is not None
    found: list[Any] = part.predicted[i].tolist()
    return [
        ActionAnswer(action.name, None if k < 0 else labels[k], bool(k == part.gold[i]))
        for action, k in zip(part.actions, found, strict=True)
    ]
