"""Compares a VCTK folder with the published list: clips, lengths and speech spans."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builders.corpora.base import SILENT, CorpusError
from builders.corpora.vctk.frozen import VctkListRow, read_vctk_list
from builders.corpora.vctk.layout import VctkClip, VctkFolder, measure, scan
from builders.corpora.vctk.opening import VctkSelector
from builders.corpora.vctk.selection import NumberedClip
from otoscope.acoustics import codec, spans
from otoscope.progress import Progress


@dataclass(frozen=True)
class VctkVerification:
    """How a corpus compares with the published list of test clips.

    Attributes:
        version: Of the corpus, `0.80`, `0.92` or `mixed`.
        n_listed: Clips in the list.
        n_compared: Those that are here and could be read.
        missing: VctkClip ids of the list that are not here.
        unreadable: VctkClip ids here whose audio cannot be read, with the reason.
        selection: Differences between our own draw and the list; None when it was not compared.
        selection_note: Why it was not compared, or empty.
        durations: Clips whose length differs in the sixth decimal of a second.
        spans: Clips whose detected onset or offset differs in the sixth decimal.
        segments: Clips whose number of detected segments differs.
    """

    version: str
    n_listed: int
    n_compared: int
    missing: tuple[str, ...]
    unreadable: tuple[str, ...]
    selection: tuple[str, ...] | None
    selection_note: str
    durations: tuple[str, ...]
    spans: tuple[str, ...]
    segments: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether the whole list and the draw could be compared."""
        return self.n_compared == self.n_listed and self.selection is not None

    @property
    def matches(self) -> bool:
        """Whether everything could be compared, and nothing differs."""
        return self.complete and self.agrees

    @property
    def agrees(self) -> bool:
        """Whether nothing that could be compared differs, and something could be."""
        differences = (self.selection or (), self.durations, self.spans, self.segments)
        compared = self.n_compared > 0 or self.selection is not None
        return compared and not self.unreadable and not any(differences)

    def summary(self) -> str:
        """One sentence for people."""
        draw = self.selection_note or f"{len(self.selection or ())} differences in the draw"
        return (
            f"VCTK {self.version}: {self.n_compared} of {self.n_listed} listed clips compared; "
            f"{draw}; {len(self.durations)} lengths, {len(self.spans)} spans and "
            f"{len(self.segments)} segment counts differ, {len(self.unreadable)} unreadable"
        )


def verify_vctk(
    root: str | Path,
    *,
    microphone: str | None = None,
    listed: Sequence[VctkListRow] | None = None,
    progress: Progress = SILENT,
) -> VctkVerification:
    """Compares a VCTK folder with the published list.

    Args:
        root: The folder with `speaker-info.txt` in it.
        microphone: `mic1` or `mic2`, for 0.92; `mic1` when None.
        listed: Another list than the published one.
        progress: Shows how many files have been read.

    Raises:
        CorpusError: Not a VCTK folder.
    """
    rows = read_vctk_list() if listed is None else tuple(listed)
    folder = scan(root, microphone=microphone)
    there = folder.by_clip_id()
    clips, broken = measure(there[row.clip_id] for row in rows if row.clip_id in there)
    by_id = {clip.clip_id: clip for clip in clips}
    unreadable = [f"{clip_id}: {reason}" for clip_id, reason in broken]
    durations, wrong_spans, segments = [], [], []
    n_compared = 0
    for row in rows:
        if row.clip_id not in by_id:
            continue
        try:
            detection, rate = _detect(by_id[row.clip_id])
        except codec.AudioError as error:
            unreadable.append(f"{row.clip_id}: {error}")
            continue
        n_compared += 1
        durations += _duration_difference(row, by_id[row.clip_id])
        wrong_spans += _span_difference(row, detection, rate)
        if detection.n_segments != row.n_segments:
            segments.append(f"{row.clip_id}: {row.n_segments} listed, {detection.n_segments} here")
    selection, note = _compare_draw(folder, rows, progress)
    return VctkVerification(
        folder.version,
        len(rows),
        n_compared,
        tuple(row.clip_id for row in rows if row.clip_id not in there),
        tuple(unreadable),
        selection,
        note,
        tuple(durations),
        tuple(wrong_spans),
        tuple(segments),
    )


def _detect(clip: VctkClip) -> tuple[spans.Detection, int]:
    recording = codec.read(clip.path)
    samples = codec.to_float(recording.pcm)
    return spans.detect(samples, recording.sampling_rate), recording.sampling_rate


def _duration_difference(row: VctkListRow, clip: VctkClip) -> list[str]:
    if round(clip.duration_s, 6) == row.duration_s:
        return []
    return [f"{row.clip_id}: {row.duration_s:.6f} s listed, {clip.duration_s:.6f} s here"]


def _span_difference(row: VctkListRow, detection: spans.Detection, rate: int) -> list[str]:
    here = "no speech"
    if detection.span is not None:
        ends = tuple(round(sample / rate, 6) for sample in detection.span)
        if ends == (row.onset_s, row.offset_s):
            return []
        here = f"{ends[0]:.6f} to {ends[1]:.6f} s"
    return [f"{row.clip_id}: {row.onset_s:.6f} to {row.offset_s:.6f} s listed, {here} here"]


def _compare_draw(
    folder: VctkFolder, rows: Sequence[VctkListRow], progress: Progress
) -> tuple[tuple[str, ...] | None, str]:
    """Differences between our own draw and the list, or None and why there is no draw."""
    try:
        _, drawn = VctkSelector(folder, progress=progress).draw_test()
    except CorpusError as error:
        return None, f"the draw was not compared ({error})"
    return tuple(_draw_differences(drawn, rows)), ""


def _draw_differences(drawn: Sequence[NumberedClip], rows: Sequence[VctkListRow]) -> list[str]:
    ours = {item_id: clip.clip_id for item_id, clip in drawn}
    theirs = {row.item_id: row.clip_id for row in rows}
    differences = [
        f"{item_id}: {theirs.get(item_id, 'nothing')} listed, {ours.get(item_id, 'nothing')} drawn"
        for item_id in sorted(ours.keys() | theirs.keys())
        if ours.get(item_id) != theirs.get(item_id)
    ]
    if not differences and list(ours) != list(theirs):
        differences.append("the same clips in another order")
    return differences
