"""Compares LoquaciousSet with the published list: rows, speech spans, and our own draw."""

from dataclasses import dataclass
from pathlib import Path

from builders.corpora.base import SILENT, CorpusError
from builders.corpora.loquacious.frozen import LoquaciousListRow, read_loquacious_list
from builders.corpora.loquacious.opening import copy_at
from builders.corpora.loquacious.rows import REPOSITORY, listed_rows
from otoscope.acoustics import codec, spans
from otoscope.progress import Progress

AS_TYPED_S = 0.0051  # times of the list have two decimals


@dataclass(frozen=True)
class LoquaciousVerification:
    """How a copy of the set compares with the published list.

    Attributes:
        n_listed: Clips in the list.
        n_compared: Those that are here and could be read.
        missing: Clip ids that are not here, or without audio.
        moved: Clips that are in another row.
        unreadable: Clip ids whose audio cannot be read, with the reason.
        spans: Clips whose detected span differs from the listed one.
        n_drawn: How many of the list's clips our own draw by the published rules gives; None when
            there is no draw.
        draw_note: Why there is none, or empty.
    """

    n_listed: int
    n_compared: int
    missing: tuple[str, ...]
    moved: tuple[str, ...]
    unreadable: tuple[str, ...]
    spans: tuple[str, ...]
    n_drawn: int | None
    draw_note: str

    @property
    def matches(self) -> bool:
        """Whether the whole list is here, in its rows, with the same speech.

        The draw does not count: the options of the authors' own are lost.
        """
        return self.n_compared == self.n_listed and not self.moved and not self.spans

    def summary(self) -> str:
        """One sentence for people."""
        draw = self.draw_note or f"{self.n_drawn} of them are in our draw by the published rules"
        return (
            f"LoquaciousSet: {self.n_compared} of {self.n_listed} listed clips compared, "
            f"{len(self.missing)} missing, {len(self.moved)} in another row, "
            f"{len(self.spans)} spans differ, {len(self.unreadable)} unreadable; {draw}"
        )


def verify_loquacious(
    where: str | Path = REPOSITORY,
    *,
    revision: str | None = None,
    work_folder: Path | None = None,
    progress: Progress = SILENT,
) -> LoquaciousVerification:
    """Compares a copy of LoquaciousSet with the published list.

    Args:
        where, revision, work_folder, progress: See `open_loquacious`.

    Raises:
        CorpusError: The set cannot be read.
    """
    copy = copy_at(where, revision, work_folder)
    rows = read_loquacious_list()
    stored = copy.store(listed_rows(), progress)
    unreadable, wrong_spans = [], []
    for row in rows:
        if row.item_id not in stored:
            continue
        try:
            recording = codec.read(copy.work_folder / stored[row.item_id].file, name=row.clip_id)
        except codec.AudioError as error:
            unreadable.append(str(error))
        else:
            wrong_spans += _span_difference(row, recording)
    n_drawn, draw_note = None, ""
    try:
        drawn = {each.row for each in copy.draw()}
        n_drawn = sum(row.row in drawn for row in rows)
    except CorpusError as error:
        draw_note = f"no draw to compare ({error})"
    return LoquaciousVerification(
        len(rows),
        len(stored) - len(unreadable),
        tuple(row.clip_id for row in rows if row.item_id not in stored),
        tuple(
            f"{row.clip_id}: row {row.row} listed, {stored[row.item_id].row} here"
            for row in rows
            if row.item_id in stored and stored[row.item_id].row != row.row
        ),
        tuple(unreadable),
        tuple(wrong_spans),
        n_drawn,
        draw_note,
    )


def _span_difference(row: LoquaciousListRow, recording: codec.Recording) -> list[str]:
    rate = recording.sampling_rate
    span = spans.detect(codec.to_float(recording.pcm), rate).span
    here = (0.0, recording.duration_s) if span is None else (span.start / rate, span.end / rate)
    near = all(
        abs(a - b) <= AS_TYPED_S for a, b in zip(here, (row.onset_s, row.offset_s), strict=True)
    )
    if near and (span is None) == row.whole_clip:
        return []
    detected = "no speech" if span is None else f"{here[0]:.2f} to {here[1]:.2f} s"
    whole = " (whole clip)" if row.whole_clip else ""
    return [
        f"{row.clip_id}: {row.onset_s:.2f} to {row.offset_s:.2f} s{whole} listed, {detected} here"
    ]
