"""VCTK as a source corpus: the published selection, the frozen list, or every clip there is.

`published` draws the sources by the published rules and needs a whole corpus. `frozen` takes the
100 test clips of the published list by name. `all` takes everything, for small corpora.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from builders.corpora.base import Corpus, CorpusError, Skipped, SourceClip
from builders.corpora.reading.partition import (
    VALIDATION_SHARE,
    carve_validation,
    check_splits,
    partition,
)
from builders.corpora.vctk.frozen import VctkListRow, read_vctk_list
from builders.corpora.vctk.layout import Clip, Layout, Recording, measure, scan
from builders.corpora.vctk.selection import (
    EXCLUDED,
    MIN_DURATION_S,
    SEED,
    WAY_OUT,
    Chosen,
    draw_speakers,
    draw_test_clips,
    draw_train_clips,
)

SELECTIONS = ("published", "frozen", "all")
ATTRIBUTION = (
    "CSTR VCTK Corpus, Christophe Veaux, Junichi Yamagishi, Kirsten MacDonald, "
    "The Centre for Speech Technology Research (CSTR), University of Edinburgh"
)
NOT_IN_080 = ("p280", "s5")
"""Speakers that only 0.92 has; with them among the candidates the draw gives other speakers."""

Progress = Callable[[int, int], None]


def open_vctk(
    root: Path,
    *,
    splits: Iterable[str] = ("test",),
    selection: str = "published",
    microphone: str = "mic1",
    min_duration_s: float | None = None,
    exclude: Sequence[str] = EXCLUDED,
    on_error: str = "raise",
    validation_share: float = VALIDATION_SHARE,
    progress: Progress | None = None,
) -> Corpus:
    """The chosen clips of a VCTK folder, version 0.80 or 0.92.

    In `published` and `frozen`, validation is always taken out of the 500 published train sources,
    asked for or not, so that a source never changes its split between two builds.

    Args:
        root: The folder with `speaker-info.txt` in it.
        splits: Any of train, validation and test.
        selection: `published`, `frozen` or `all`.
        microphone: `mic1` or `mic2`, for 0.92.
        min_duration_s: Shorter clips are not taken; 3 s for `published`, 0 for `all`. The test
            clips of `frozen` are taken whatever their length.
        exclude: Clip ids never taken in `published` and `all`, and in the train split of `frozen`.
        on_error: What `frozen` does about a listed clip that is missing: `raise` or `skip`.
        validation_share: Share of the train sources that become validation; 0 for none.
        progress: Called with how many files have been looked into and how many there are.

    Raises:
        CorpusError: Not VCTK, or too little of it for the selection.
    """
    asked = check_splits(splits)
    if selection not in SELECTIONS:
        raise CorpusError(f"no selection {selection!r}; there are {', '.join(SELECTIONS)}")
    if on_error not in ("raise", "skip"):
        raise CorpusError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
    layout = scan(root, microphone=microphone)
    if min_duration_s is None:
        min_duration_s = 0.0 if selection == "all" else MIN_DURATION_S
    build = _Build(layout, asked, min_duration_s, tuple(exclude), validation_share, progress)
    if selection == "all":
        sources = build.everything()
    elif selection == "published":
        sources = build.published()
    else:
        sources = build.frozen(on_error)
    return Corpus(
        name="VCTK (mixed layout)" if layout.version == "mixed" else f"VCTK {layout.version}",
        licence="cc-by-4.0" if layout.version == "0.92" else "other",
        attribution=ATTRIBUTION,
        language="en",
        synthetic=False,
        sources=sources,
        skipped=layout.skipped + tuple(build.skipped),
        notes=(*_notes(layout, microphone), *build.notes),
    )


class _Build:
    """One opening of the corpus: what was asked for, and what came up on the way."""

    def __init__(
        self,
        layout: Layout,
        asked: tuple[str, ...],
        min_duration_s: float,
        exclude: tuple[str, ...],
        validation_share: float,
        progress: Progress | None,
    ) -> None:
        self.layout = layout
        self.asked = asked
        self.min_duration_s = min_duration_s
        self.exclude = exclude
        self.validation_share = validation_share
        self.progress = progress
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []

    def published(self) -> tuple[SourceClip, ...]:
        """The published test and train lists, drawn anew."""
        candidates = self.candidates()
        rng = random.Random(SEED)
        test_speakers = draw_speakers((self.layout.speakers[name] for name in candidates), rng)
        test = draw_test_clips(
            test_speakers,
            self.clips_of(test_speakers),
            rng,
            min_duration_s=self.min_duration_s,
            exclude=self.exclude,
        )
        self.notes.append(
            f"Test clips drawn by the published rules: seed {SEED}, {len(candidates)} candidate "
            f"speakers, at least {self.min_duration_s:g} s, without "
            f"{', '.join(self.exclude) or 'any exclusion'}."
        )
        sources = [_source(chosen, "test", at) for at, chosen in enumerate(test)]
        train = self.train(test_speakers, {chosen.clip.text for chosen in test})
        return tuple(train + (sources if "test" in self.asked else []))

    def frozen(self, on_error: str) -> tuple[SourceClip, ...]:
        """The listed test clips, and a published train list that goes with them."""
        listed = read_vctk_list()
        found = self.measure(self.listed_recordings(listed, on_error))
        by_id = {clip.clip_id: clip for clip in found}
        sources = [
            _source(Chosen(row.item_id, by_id[row.clip_id]), "test", at, _listed_span(row, by_id))
            for at, row in enumerate(listed)
            if row.clip_id in by_id
        ]
        if not sources:
            raise CorpusError(f"none of the {len(listed)} listed test clips is here; {WAY_OUT}")
        own = sum(source.span_s is None for source in sources)
        self.notes.append(f"{len(sources)} of the {len(listed)} test clips of the published list.")
        if own:
            self.notes.append(
                f"{own} of them differ in length from the published ones, so the published onsets "
                "and offsets do not apply and are left to the detector."
            )
        train = self.train(sorted({row.speaker_id for row in listed}), {c.text for c in found})
        return tuple(train + (sources if "test" in self.asked else []))

    def everything(self) -> tuple[SourceClip, ...]:
        """Every clip that is long enough; train loses the texts that are tested."""
        recordings = [r for group in self.layout.recordings.values() for r in group]
        excluded = [r.clip_id for r in recordings if r.clip_id in self.exclude]
        self.skipped += [Skipped(clip_id, "excluded by hand") for clip_id in excluded]
        clips = []
        for clip in self.measure(r for r in recordings if r.clip_id not in excluded):
            if clip.duration_s < self.min_duration_s:
                reason = f"{clip.duration_s:.3f} s, less than {self.min_duration_s:g} s"
                self.skipped.append(Skipped(clip.clip_id, reason))
            else:
                clips.append(clip)
        if not clips:
            raise CorpusError(f"no clip lasts {self.min_duration_s:g} s or longer")
        self.notes.append(
            f"Every clip of {self.min_duration_s:g} s or longer; not the published choice."
        )
        divided = partition(
            [_source(Chosen(clip.clip_id, clip), "", 0) for clip in clips],
            splits=self.asked,
            validation_share=self.validation_share,
            shared_texts="drop",
        )
        self.skipped += divided.skipped
        return divided.sources

    def train(self, test_speakers: Sequence[str], test_texts: set[str]) -> list[SourceClip]:
        """Train and validation, as far as they were asked for."""
        wanted = {"train", "validation"} & set(self.asked)
        if not wanted:
            return []
        others = [name for name in self.candidates() if name not in test_speakers]
        chosen = draw_train_clips(
            others,
            self.clips_of(others),
            test_texts,
            random.Random(SEED),
            min_duration_s=self.min_duration_s,
            exclude=self.exclude,
        )
        ids = [item_id for item_id, _ in chosen]
        carved = (
            carve_validation(ids, self.validation_share) if self.validation_share else frozenset()
        )
        self.notes.append(
            f"{len(ids)} train clips by the published rules, {len(carved)} of them set aside for "
            "validation by the SHA-256 of their item id."
        )
        sources = [
            _source(each, "validation" if each.item_id in carved else "train", at)
            for at, each in enumerate(chosen)
        ]
        return [source for source in sources if source.split in wanted]

    def candidates(self) -> list[str]:
        """Speakers the published rules choose from; says so when 0.92 has others."""
        newer = [name for name in NOT_IN_080 if name in self.layout.recordings]
        for name in newer:
            skip = Skipped(name, "not in VCTK 0.80, so not in the published draw")
            if skip not in self.skipped:
                self.skipped.append(skip)
        return [name for name in self.layout.recordings if name not in newer]

    def listed_recordings(self, listed: Sequence[VctkListRow], on_error: str) -> list[Recording]:
        """Recordings of a published list, in its order."""
        there = {r.clip_id: r for group in self.layout.recordings.values() for r in group}
        missing = [row.clip_id for row in listed if row.clip_id not in there]
        if missing and on_error == "raise":
            raise CorpusError(
                f"{len(missing)} of the {len(listed)} listed test clips are missing here, first "
                f"{missing[0]}; --on-error skip (on_error='skip') goes on without them"
            )
        self.skipped += [Skipped(name, "listed, but missing in this corpus") for name in missing]
        return [there[row.clip_id] for row in listed if row.clip_id in there]

    def clips_of(self, speakers: Iterable[str]) -> dict[str, list[Clip]]:
        """Measured clips of some speakers."""
        names = list(speakers)
        clips: dict[str, list[Clip]] = {name: [] for name in names}
        for clip in self.measure(r for name in names for r in self.layout.recordings[name]):
            clips[clip.speaker_id].append(clip)
        return clips

    def measure(self, recordings: Iterable[Recording]) -> list[Clip]:
        """Clips with text and length; unreadable ones are noted."""
        clips, skipped = measure(recordings, progress=self.progress)
        self.skipped += skipped
        return clips


def _source(
    chosen: Chosen, split: str, position: int, span_s: tuple[float, float] | None = None
) -> SourceClip:
    item_id, clip = chosen
    return SourceClip(
        item_id,
        clip.clip_id,
        split,
        position,
        clip.path,
        clip.speaker_id,
        clip.sentence_id,
        clip.text,
        span_s,
    )


def _listed_span(row: VctkListRow, clips: dict[str, Clip]) -> tuple[float, float] | None:
    same = round(clips[row.clip_id].duration_s, 6) == row.duration_s
    return (row.onset_s, row.offset_s) if same else None


def _notes(layout: Layout, microphone: str) -> list[str]:
    notes = []
    if layout.folder == "wav48_silence_trimmed":
        notes.append(
            f"Microphone: {microphone}. The recordings are trimmed; the published ones were not."
        )
    if layout.version != "0.92":
        notes.append(
            "The licence of this version of VCTK is not confirmed (0.92 is CC BY 4.0); read the "
            "licence file that came with the corpus before passing anything on."
        )
    return notes
