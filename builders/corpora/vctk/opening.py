"""VCTK as a corpus: the published selection, the frozen list, or every clip.

`published` draws the clips by the published rules and needs a whole corpus. `frozen` takes the 100
test clips of the published list by name. `all` takes every clip, for small corpora.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from builders.corpora.base import SILENT, Corpus, CorpusError, Skipped, SourceClip, check_option
from builders.corpora.reading.partition import carve_validation, check_splits, partition
from builders.corpora.vctk.frozen import VctkListRow, read_vctk_list
from builders.corpora.vctk.layout import (
    MICROPHONES,
    VctkClip,
    VctkFolder,
    VctkRecording,
    measure,
    scan,
)
from builders.corpora.vctk.selection import (
    EXCLUDED,
    MIN_DURATION_S,
    REMEDY,
    SEED,
    NumberedClip,
    draw_speakers,
    draw_test_clips,
    draw_train_clips,
)
from otoscope.progress import Progress

SELECTIONS = ("published", "frozen", "all")
ATTRIBUTION = (
    "CSTR VCTK Corpus, Christophe Veaux, Junichi Yamagishi, Kirsten MacDonald, "
    "The Centre for Speech Technology Research (CSTR), University of Edinburgh"
)
NOT_IN_080 = ("p280", "s5")
"""Speakers that only 0.92 has; with them among the candidates the draw gives other speakers."""


def open_vctk(
    root: str | Path,
    *,
    splits: Iterable[str] = ("test",),
    selection: str = "published",
    microphone: str | None = None,
    min_duration_s: float | None = None,
    on_error: str = "stop",
    progress: Progress = SILENT,
) -> Corpus:
    """The selected clips of a VCTK folder, version 0.80 or 0.92.

    In `published` and `frozen`, validation is always taken out of the 500 published train clips,
    requested or not, so that a clip never changes its split between two builds.

    Args:
        root: The folder with `speaker-info.txt` in it.
        splits: Any of train, validation and test.
        selection: `published`, `frozen` or `all`.
        microphone: `mic1` or `mic2`, for 0.92; `mic1` when None.
        min_duration_s: Shorter clips are excluded; 3 s for `published`, 0 for `all`. The test
            clips of `frozen` are taken whatever their length.
        on_error: `stop` or `skip` at a clip that cannot be read, or one of the frozen list that is
            missing.
        progress: Shows how many files have been read.

    Raises:
        CorpusError: Not VCTK, too little of it for the selection, or a clip that cannot be read.
    """
    splits = check_splits(splits)
    check_option("selection", selection, SELECTIONS)
    check_option("on_error", on_error, ("stop", "skip"))
    folder = scan(root, microphone=microphone)
    if min_duration_s is None:
        min_duration_s = 0.0 if selection == "all" else MIN_DURATION_S
    selector = VctkSelector(folder, splits, min_duration_s, progress, on_error)
    if selection == "all":
        clips = selector.every_clip()
    elif selection == "published":
        clips = selector.published()
    else:
        clips = selector.frozen()
    return Corpus(
        name="VCTK (mixed layout)" if folder.version == "mixed" else f"VCTK {folder.version}",
        licence="cc-by-4.0" if folder.version == "0.92" else "other",
        attribution=ATTRIBUTION,
        language="en",
        synthetic=False,
        sources=tuple(_with_speaker(clip, folder) for clip in clips),
        skipped=folder.skipped + tuple(selector.skipped),
        notes=(*_notes(folder, microphone or MICROPHONES[0]), *selector.notes),
    )


@dataclass
class VctkSelector:
    """Selects clips of a folder; collects what was skipped, and notes for the card."""

    folder: VctkFolder
    splits: tuple[str, ...] = ("test",)
    min_duration_s: float = MIN_DURATION_S
    progress: Progress = SILENT
    on_error: str = "skip"
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def published(self) -> tuple[SourceClip, ...]:
        """The published test and train lists, drawn again."""
        test_speakers, test = self.draw_test()
        self.notes.append(
            f"Test clips drawn by the published rules: seed {SEED}, {len(self.candidates())} "
            f"candidate speakers, at least {self.min_duration_s:g} s, without "
            f"{', '.join(EXCLUDED)}."
        )
        clips = [_source_clip(numbered, "test", at) for at, numbered in enumerate(test)]
        train = self.train(test_speakers, {numbered.clip.text for numbered in test})
        return tuple(train + (clips if "test" in self.splits else []))

    def draw_test(self) -> tuple[list[str], list[NumberedClip]]:
        """Test speakers and test clips by the published rules."""
        rng = random.Random(SEED)
        speakers = draw_speakers((self.folder.speakers[name] for name in self.candidates()), rng)
        clips = self.clips_of(speakers)
        return speakers, draw_test_clips(speakers, clips, rng, min_duration_s=self.min_duration_s)

    def frozen(self) -> tuple[SourceClip, ...]:
        """The listed test clips, and a published train list that goes with them."""
        rows = read_vctk_list()
        measured = self.measure(self.listed_recordings(rows))
        by_id = {clip.clip_id: clip for clip in measured}
        clips = [
            _source_clip(
                NumberedClip(row.item_id, by_id[row.clip_id]), "test", at, _listed_span(row, by_id)
            )
            for at, row in enumerate(rows)
            if row.clip_id in by_id
        ]
        if not clips:
            raise CorpusError(f"none of the {len(rows)} listed test clips is here; {REMEDY}")
        n_other_length = sum(clip.span_s is None for clip in clips)
        self.notes.append(f"{len(clips)} of the {len(rows)} test clips of the published list.")
        if n_other_length:
            self.notes.append(
                f"{n_other_length} of them differ in length from the published ones, so the "
                "published onsets and offsets do not apply and are left to the detector."
            )
        speakers = sorted({row.speaker_id for row in rows})
        train = self.train(speakers, {clip.text for clip in measured})
        return tuple(train + (clips if "test" in self.splits else []))

    def every_clip(self) -> tuple[SourceClip, ...]:
        """Every clip that is long enough; train clips whose text is in test are excluded."""
        recordings = [r for group in self.folder.recordings.values() for r in group]
        excluded = [r.clip_id for r in recordings if r.clip_id in EXCLUDED]
        self.skipped += [Skipped(clip_id, "on the exclusion list") for clip_id in excluded]
        clips = []
        for clip in self.measure(r for r in recordings if r.clip_id not in excluded):
            if clip.duration_s < self.min_duration_s:
                reason = f"{clip.duration_s:.3f} s, less than {self.min_duration_s:g} s"
                self.skipped.append(Skipped(clip.clip_id, reason))
            else:
                clips.append(_source_clip(NumberedClip(clip.clip_id, clip), "", 0))
        if not clips:
            raise CorpusError(f"no clip lasts {self.min_duration_s:g} s or longer")
        self.notes.append(
            f"Every clip of {self.min_duration_s:g} s or longer; not the published selection."
        )
        divided = partition(clips, splits=self.splits, shared_texts="drop")
        self.skipped += divided.skipped
        return divided.clips

    def train(self, test_speakers: Sequence[str], test_texts: set[str]) -> list[SourceClip]:
        """Train and validation, as far as they are requested."""
        requested = {"train", "validation"} & set(self.splits)
        if not requested:
            return []
        others = [name for name in self.candidates() if name not in test_speakers]
        numbered = draw_train_clips(
            others,
            self.clips_of(others),
            test_texts,
            random.Random(SEED),
            min_duration_s=self.min_duration_s,
        )
        ids = [item_id for item_id, _ in numbered]
        carved = carve_validation(ids)
        self.notes.append(
            f"{len(ids)} train clips by the published rules, {len(carved)} of them set aside for "
            "validation by the SHA-256 of their item id."
        )
        clips = [
            _source_clip(each, "validation" if each.item_id in carved else "train", at)
            for at, each in enumerate(numbered)
        ]
        return [clip for clip in clips if clip.split in requested]

    def candidates(self) -> list[str]:
        """Speakers of the published draw; those that only 0.92 has are noted as skipped."""
        newer = [name for name in NOT_IN_080 if name in self.folder.recordings]
        for name in newer:
            skip = Skipped(name, "not in VCTK 0.80, so not in the published draw")
            if skip not in self.skipped:
                self.skipped.append(skip)
        return [name for name in self.folder.recordings if name not in newer]

    def listed_recordings(self, rows: Sequence[VctkListRow]) -> list[VctkRecording]:
        """Recordings of a published list, in its order."""
        there = self.folder.by_clip_id()
        missing = [row.clip_id for row in rows if row.clip_id not in there]
        if missing and self.on_error == "stop":
            raise CorpusError(
                f"{len(missing)} of the {len(rows)} listed test clips are missing here, first "
                f"{missing[0]}; --on-error skip (on_error='skip') goes on without them"
            )
        self.skipped += [Skipped(name, "listed, but missing in this corpus") for name in missing]
        return [there[row.clip_id] for row in rows if row.clip_id in there]

    def clips_of(self, speakers: Iterable[str]) -> dict[str, list[VctkClip]]:
        """Measured clips of some speakers."""
        clips: dict[str, list[VctkClip]] = {name: [] for name in speakers}
        for clip in self.measure(r for name in clips for r in self.folder.recordings[name]):
            clips[clip.speaker_id].append(clip)
        return clips

    def measure(self, recordings: Iterable[VctkRecording]) -> list[VctkClip]:
        """Clips with text and length; unreadable ones stop, or are noted as skipped."""
        clips, skipped = measure(recordings, progress=self.progress)
        if skipped and self.on_error == "stop":
            name, reason = skipped[0]
            raise CorpusError(
                f"{len(skipped)} clips cannot be read, first {name}: {reason}; --on-error skip "
                "(on_error='skip') goes on without them"
            )
        self.skipped += skipped
        return clips


def _source_clip(
    numbered: NumberedClip, split: str, position: int, span_s: tuple[float, float] | None = None
) -> SourceClip:
    item_id, clip = numbered
    return SourceClip(
        item_id, clip.clip_id, split, position, clip.path,
        clip.speaker_id, clip.sentence_id, clip.text, span_s,
    )  # fmt: skip


def _with_speaker(clip: SourceClip, folder: VctkFolder) -> SourceClip:
    speaker = folder.speakers[clip.speaker_id]
    return replace(clip, gender=speaker.gender, accent=speaker.accent)


def _listed_span(row: VctkListRow, clips: dict[str, VctkClip]) -> tuple[float, float] | None:
    same = round(clips[row.clip_id].duration_s, 6) == row.duration_s
    return (row.onset_s, row.offset_s) if same else None


def _notes(folder: VctkFolder, microphone: str) -> list[str]:
    notes = []
    if folder.audio_folder == "wav48_silence_trimmed":
        notes.append(
            f"Microphone: {microphone}. The recordings are trimmed; the published ones were not."
        )
    if folder.version != "0.92":
        notes.append(
            "The licence of this version of VCTK is not confirmed (0.92 is CC BY 4.0); read the "
            "licence file that came with the corpus before you redistribute anything."
        )
    return notes
