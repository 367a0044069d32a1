"""Transcripts of a labelled dataset, and labels from them: the evidence of the transcript route.

Rows that have the same audio share one transcript and the time that it took.

OUT/transcripts.jsonl    append only, one line for each distinct audio, with the id of its first row
OUT/labels-HASH.jsonl    append only, one line an answer of a text model; HASH is of what decides it
OUT/transcripts.parquet  one row a clip
OUT/components.parquet   what recognition and labelling of each clip cost
and an evidence folder, where there is a labeller; see `otoscope.audits.call_value.evidence`.

Labels of held-out examples reach no labeller.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from otoscope.audits.call_value.evidence import EVIDENCE
from otoscope.audits.labelled import DEVELOPMENT, LabelledData, LabelledRow
from otoscope.audits.line_log import append_lines, read_lines
from otoscope.audits.transcript_tables import folds_of, write_tables
from otoscope.claims import locked
from otoscope.progress import Progress
from otoscope.speech.base import SpeechError
from otoscope.speech.recognition import Recognizer, Transcript
from otoscope.speech.transcript_labels import Labeller, TranscriptItem, TranscriptLabel
from otoscope.version import __version__

FOLDER = replace(EVIDENCE, ignored=frozenset({"labellers", "otoscope_version"}))


@dataclass(frozen=True)
class Transcribed:
    """What `transcribe` made.

    Attributes:
        transcripts: By id.
        labels: By action, then by id.
        n_new: Distinct clips that were not there already.
    """

    transcripts: Mapping[str, Transcript]
    labels: Mapping[str, Mapping[str, TranscriptLabel]]
    n_new: int


def limited(data: LabelledData, n: int | None) -> LabelledData:
    """The first `n` rows of each split; all where it is None."""
    counts: Counter[str] = Counter()
    rows = []
    for row in data.rows:
        counts[row.split] += 1
        if n is None or counts[row.split] <= n:
            rows.append(row)
    return replace(data, rows=tuple(rows))


def first_with_audio(data: LabelledData) -> dict[str, str]:
    """For each row, by id: the first row that has the same audio; itself where no earlier one."""
    first: dict[str, str] = {}
    return {row.id: first.setdefault(data.facts(row.id)[0], row.id) for row in data.rows}


def transcribe(
    data: LabelledData,
    recognizer: Recognizer,
    labellers: Mapping[str, Labeller],
    out: Path,
    *,
    words: bool = False,
    progress: Progress | None = None,
) -> Transcribed:
    """Transcribes every clip that is not transcribed yet, labels the transcripts, writes tables.

    Args:
        labellers: By action; uncertainty of the examples is that of the first.
        out: A free folder, or one that the same call began.
        words: Whether to note when each word is spoken.

    Raises:
        CallValueError: The folder holds something else, or another process is at work in it.
        AudioError, ModelError: A clip cannot be read or transcribed; what is done stays.
        SpeechError: A labeller cannot be used on these rows.
    """
    record = {
        "made_by": "otoscope transcribe",
        "task": data.task,
        "labels": list(data.labels),
        "dataset_sha256": _sha256(
            [(row.id, row.split, data.facts(row.id)[0]) for row in data.rows]
        ),
        "recognizer": recognizer.description,
        "words": words,
        "wall_s": "of a batch, divided by its clips, after a clip that does not count; rows with "
        "the same audio all have the time of its one transcription",
    }
    out.mkdir(parents=True, exist_ok=True)
    busy = FOLDER.error(f"{out}: another process is at work in it")
    with locked(out, busy):
        stored = FOLDER.matching(out, record) or {}
        about = {name: dict(labeller.description) for name, labeller in labellers.items()}
        known = stored.get("labellers", {})
        FOLDER.write(out, {**record, "labellers": known | about, "otoscope_version": __version__})
        progress = progress or Progress()
        made, n_new = _transcripts(data, recognizer, out, words, progress)
        labels = {
            action: _labels(data, made, labeller, out, progress)
            for action, labeller in labellers.items()
        }
        write_tables(data, recognizer.device, labellers, made, first_with_audio(data), labels, out)
    return Transcribed(made, labels, n_new)


def _transcripts(
    data: LabelledData, recognizer: Recognizer, out: Path, words: bool, progress: Progress
) -> tuple[dict[str, Transcript], int]:
    path = out / "transcripts.jsonl"
    done = {
        name: Transcript.from_plain(line["transcript"])
        for name, line in read_lines(path, FOLDER.error).items()
    }
    first = first_with_audio(data)
    todo = [name for name in dict.fromkeys(first.values()) if name not in done]
    n_new = len(todo)
    if todo:  # the first batch would carry what happens once
        recognizer.transcribe([data.audio(todo[0])])
    with progress.bar("transcribing", len(todo)) as advance:
        while todo:
            size = recognizer.batch_size
            batch, todo = todo[:size], todo[size:]
            found = recognizer.transcribe([data.audio(name) for name in batch], words=words)
            append_lines(
                path,
                [
                    {"id": name, "batch": len(batch), "transcript": one.as_plain()}
                    for name, one in zip(batch, found, strict=True)
                ],
            )
            done |= zip(batch, found, strict=True)
            advance(len(batch))
    return {name: done[same] for name, same in first.items()}, n_new


def _labels(
    data: LabelledData,
    made: Mapping[str, Transcript],
    labeller: Labeller,
    out: Path,
    progress: Progress,
) -> dict[str, TranscriptLabel]:
    development = [row for row in data.rows if row.split == DEVELOPMENT]
    holdout = [row for row in data.rows if row.split != DEVELOPMENT]

    def items(rows: Sequence[LabelledRow], *, labelled: bool = False) -> list[TranscriptItem]:
        return [
            TranscriptItem(row.id, made[row.id].text, row.text, row.label if labelled else None)
            for row in rows
        ]

    if not labeller.is_fitted:
        return _answers(labeller, items([*development, *holdout]), out, progress)
    found: dict[str, TranscriptLabel] = {}
    folds = folds_of(data, development)
    for fold in sorted(set(folds)):
        apart = [row for row, own in zip(development, folds, strict=True) if own == fold]
        rest = [row for row, own in zip(development, folds, strict=True) if own != fold]
        labeller.fit(items(rest, labelled=True))
        found |= zip([row.id for row in apart], labeller.predict(items(apart)), strict=True)
    labeller.fit(items(development, labelled=True))
    found |= zip([row.id for row in holdout], labeller.predict(items(holdout)), strict=True)
    return found


def _answers(
    labeller: Labeller, items: Sequence[TranscriptItem], out: Path, progress: Progress
) -> dict[str, TranscriptLabel]:
    path = out / f"labels-{_sha256(dict(labeller.description))[:12]}.jsonl"
    done = {
        name: TranscriptLabel(**{**line["label"], "scores": _tuple(line["label"]["scores"])})
        for name, line in read_lines(path, FOLDER.error).items()
    }
    todo = [item for item in items if item.id not in done]
    with progress.bar("labelling", len(todo)) as advance:
        while todo:
            batch, todo = todo[: labeller.batch_size], todo[labeller.batch_size :]
            found = labeller.predict(batch)
            names = [item.id for item in batch]
            append_lines(
                path,
                [{"id": n, "label": vars(one)} for n, one in zip(names, found, strict=True)],
            )
            done |= zip(names, found, strict=True)
            advance(len(batch))
    return {item.id: done[item.id] for item in items}


def _tuple(scores: Sequence[float] | None) -> tuple[float, ...] | None:
    return None if scores is None else tuple(scores)


def _sha256(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def actions_of(specs: Sequence[str]) -> dict[str, str]:
    """Action to labeller: `transcript` for one, else `transcript_` and its kind.

    >>> actions_of(["matching"]), actions_of(["matching", "openai:x"])
    ({'transcript': 'matching'}, {'transcript_matching': 'matching', 'transcript_openai': 'openai:x'})

    Raises:
        SpeechError: Two are of one kind.
    """  # noqa: E501
    if len(specs) == 1:
        return {"transcript": specs[0]}
    name: Callable[[str], str] = lambda spec: f"transcript_{spec.partition(':')[0]}"  # noqa: E731
    found = {name(spec): spec for spec in specs}
    if len(found) < len(specs):
        raise SpeechError("two --labeller are of one kind; give each an --out of its own")
    return found
