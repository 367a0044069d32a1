"""Compares LoquaciousSet with the published list: same rows, same speech, the same draw?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builders.corpora.base import CorpusError
from builders.corpora.loquacious.frozen import LoquaciousListRow, read_loquacious_list
from builders.corpora.loquacious.opening import REPOSITORY, Progress, collect, drawn, listed
from otoscope.acoustics import codec, spans

AS_TYPED_S = 0.0051  # times of the list have two decimals


@dataclass(frozen=True)
class RowsVerification:
    """How a copy of the set compares with the published list.

    Attributes:
        n_listed: Clips in the list.
        n_compared: Those that are here and could be read.
        missing: Clip ids that are not here, or without sound.
        moved: Clips that stand in another row.
        unreadable: Clip ids whose sound cannot be read, with the reason.
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
    def agrees(self) -> bool:
        """Whether the whole list is here, in its rows, with the same speech.

        The draw is not held against a copy: the options of the authors' own are lost.
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


def verify_rows(
    where: str = REPOSITORY,
    *,
    revision: str | None = None,
    work_folder: Path,
    progress: Progress | None = None,
) -> RowsVerification:
    """Compares a copy of LoquaciousSet with the published list.

    Args:
        where, revision, work_folder, progress: See `open_loquacious`.

    Raises:
        CorpusError: The set cannot be read.
    """
    rows = read_loquacious_list()
    kept = collect(where, revision, listed(), work_folder, progress)
    unreadable, differ = [], []
    for row in rows:
        if row.item_id not in kept:
            continue
        try:
            recording = codec.read(work_folder / kept[row.item_id].file, name=row.clip_id)
        except codec.AudioError as error:
            unreadable.append(str(error))
        else:
            differ += _span_difference(row, recording)
    n_drawn, note = _common(where, revision, work_folder, rows)
    return RowsVerification(
        len(rows),
        len(kept) - len(unreadable),
        tuple(row.clip_id for row in rows if row.item_id not in kept),
        tuple(
            f"{row.clip_id}: row {row.row} listed, {kept[row.item_id].row} here"
            for row in rows
            if row.item_id in kept and kept[row.item_id].row != row.row
        ),
        tuple(unreadable),
        tuple(differ),
        n_drawn,
        note,
    )


def _span_difference(row: LoquaciousListRow, recording: codec.Recording) -> list[str]:
    rate = recording.sampling_rate
    found = spans.detect(codec.to_float(recording.pcm), rate).span
    here = (0.0, recording.duration_s) if found is None else (found.start / rate, found.end / rate)
    near = all(
        abs(a - b) <= AS_TYPED_S for a, b in zip(here, (row.onset_s, row.offset_s), strict=True)
    )
    if near and (found is None) == row.whole_clip:
        return []
    seen = "no speech" if found is None else f"{here[0]:.2f} to {here[1]:.2f} s"
    whole = " (whole clip)" if row.whole_clip else ""
    return [f"{row.clip_id}: {row.onset_s:.2f} to {row.offset_s:.2f} s{whole} listed, {seen} here"]


def _common(
    where: str, revision: str | None, work_folder: Path, rows: Sequence[LoquaciousListRow]
) -> tuple[int | None, str]:
    try:
        ours = {wanted.row for wanted in drawn(where, revision, work_folder)}
    except CorpusError as error:
        return None, f"no draw to compare ({error})"
    return sum(row.row in ours for row in rows), ""
