"""Common Voice Spontaneous Speech as a corpus: five languages, 20 test clips in each.

Only the selected clips are decoded; their audio becomes 16 kHz mono FLAC in a folder of its own.
"""

import random
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from builders.corpora.base import (
    SILENT,
    Corpus,
    CorpusError,
    Skipped,
    SourceClip,
    check_option,
    existing_folder,
)
from builders.corpora.reading.item_ids import safe_id
from builders.corpora.reading.partition import carve_validation, check_splits
from builders.corpora.reading.resampled import (
    SAMPLING_RATE,
    ResampledFile,
    attenuation_notes,
    resample,
)
from builders.corpora.spontaneous.layout import Locale, SpontaneousClip, find_tables, read_locale
from builders.corpora.spontaneous.selection import (
    LANGUAGES,
    MAX_DURATION_S,
    N_TEST,
    SEED,
    LocaleDraw,
    draw_clips,
    in_test_order,
    seed_of,
)
from otoscope.acoustics.codec import AudioError
from otoscope.folders import cache_folder
from otoscope.progress import Progress

RELEASE = "sps-corpus-4.0-2026-06-12"
N_DECODERS = 4
ATTRIBUTION = "Mozilla and its volunteers, by way of the Mozilla Data Collective."
TERMS = (
    "Whoever downloads Common Voice agrees not to try to identify the speakers; the same applies "
    "to users of this dataset."
)


def open_spontaneous(
    root: str | Path,
    *,
    work_folder: Path | None = None,
    splits: Iterable[str] = ("test",),
    selection: str = "published",
    on_error: str = "stop",
    progress: Progress = SILENT,
) -> Corpus:
    """The selected clips of the five published languages.

    Validation is always taken out of the published train clips, requested or not. A selected clip
    that cannot be decoded keeps its own path, so that whatever reads the clips reports the cause.

    Args:
        root: The folder into which the downloads were unpacked.
        work_folder: For the resampled audio; the cache by default.
        splits: Any of train, validation and test.
        selection: Only `published` exists.
        on_error: `stop` or `skip` at a language that is missing or too small.
        progress: Shows how many clips are decoded.

    Raises:
        CorpusError: No such corpus, or too little of it for the selection.
    """
    splits = check_splits(splits)
    check_option(
        "selection of Common Voice Spontaneous Speech", selection, ("published",),
        "No list of the published clips is known, only the rules of their draw. For any other "
        "selection: --source folder:PATH with a metadata.csv",
    )  # fmt: skip
    check_option("on_error", on_error, ("stop", "skip"))
    root = existing_folder(root)
    locales, draws, skipped = _draw(root, on_error)
    clips = _selected(draws, splits)
    files = _decode(clips, work_folder or cache_folder() / "resampled", progress)
    return Corpus(
        name="Common Voice Spontaneous Speech",
        licence="cc0-1.0",
        attribution=ATTRIBUTION,
        language=None,
        synthetic=False,
        sources=tuple(replace(c, path=file.path) for c, file in zip(clips, files, strict=True)),
        skipped=tuple(skipped),
        notes=(*_draw_notes(draws), *map(_locale_note, locales), *_audio_notes(files), TERMS),
    )  # fmt: skip


def _draw(root: Path, on_error: str) -> tuple[list[Locale], dict[str, LocaleDraw], list[Skipped]]:
    """The tables and draws of the languages that can be used, and the languages that cannot."""
    tables = find_tables(root)
    locales: list[Locale] = []
    draws: dict[str, LocaleDraw] = {}
    skipped: list[Skipped] = []
    for name in LANGUAGES:
        try:
            if name not in tables:
                raise CorpusError(f"no ss-corpus-{name}.tsv in {root}/, only of {list(tables)}")
            locale = read_locale(name, tables[name], below_s=MAX_DURATION_S)
            draws[name] = draw_clips(locale.clips, random.Random(seed_of(name)))
        except CorpusError as error:
            if on_error == "stop":
                raise CorpusError(
                    f"{LANGUAGES[name]} ({name}): {error}; --on-error skip (on_error='skip') goes "
                    "on without this language"
                ) from error
            skipped.append(Skipped(name, str(error).replace(f"{root}/", "")))
        else:
            locales.append(locale)
    if not draws:
        raise CorpusError(f"{root}: none of the five languages can be used; {skipped[0].reason}")
    return locales, draws, skipped


def _selected(draws: dict[str, LocaleDraw], splits: tuple[str, ...]) -> list[SourceClip]:
    """The clips of the requested splits, in published order, with the paths of their MP3 files."""
    train = [clip for name in draws for clip in draws[name].train]
    ids = [f"cvss_train_{at:04d}" for at in range(1, len(train) + 1)]
    validation = carve_validation(ids)
    selected = [
        _source_clip(item_id, "validation" if item_id in validation else "train", at, clip)
        for at, (item_id, clip) in enumerate(zip(ids, train, strict=True))
    ]
    test = in_test_order({name: draws[name].test for name in draws})
    selected += [
        _source_clip(f"cvss_test_{at + 1:04d}", "test", at, clip) for at, clip in enumerate(test)
    ]
    return [clip for clip in selected if clip.split in splits]


def _source_clip(item_id: str, split: str, position: int, clip: SpontaneousClip) -> SourceClip:
    return SourceClip(
        item_id, safe_id(clip.path.stem), split, position, clip.path,
        clip.speaker_id, clip.prompt_id, clip.transcription, gender=clip.gender,
    )  # fmt: skip


def _decode(clips: Sequence[SourceClip], folder: Path, progress: Progress) -> list[ResampledFile]:
    files = []
    with ThreadPoolExecutor(N_DECODERS) as pool, progress.bar("Decoding", len(clips)) as step:
        for file in pool.map(lambda clip: _resample(clip.path, folder), clips):
            files.append(file)
            step()
    return files


def _resample(path: Path, folder: Path) -> ResampledFile:
    try:
        return resample(path, folder)
    except AudioError:
        return ResampledFile(path, 0.0)  # rejected, with the cause, when the clip is read


def _draw_notes(draws: dict[str, LocaleDraw]) -> list[str]:
    notes = [
        f"{N_TEST} test clips each of {', '.join(f'{LANGUAGES[n]} ({n})' for n in draws)}, drawn "
        f"by the published rules: under {MAX_DURATION_S:g} s, seeds from {SEED}, train and test "
        "without a common speaker; sexes not balanced."
    ]
    if len(draws) < len(LANGUAGES):
        notes.append("Languages are missing, so item ids differ from those of a complete build.")
    return notes


def _locale_note(locale: Locale) -> str:
    reasons = ", ".join(f"{n} {reason}" for reason, n in locale.excluded.items())
    other = "" if locale.release.startswith(RELEASE) else f"; the published one is {RELEASE}"
    return (
        f"{LANGUAGES[locale.name]}: {len(locale.clips)} of {locale.n_listed} rows of "
        f"{locale.release} to draw from{f' (not {reasons})' if reasons else ''}{other}."
    )


def _audio_notes(files: Sequence[ResampledFile]) -> list[str]:
    attenuations = [file.attenuation_db for file in files if file.attenuation_db]
    return [
        f"Decoded and resampled to {SAMPLING_RATE:,} Hz, channels averaged.",
        *attenuation_notes(attenuations, len(files), "after that"),
    ]
