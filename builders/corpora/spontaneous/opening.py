"""Common Voice Spontaneous Speech as a source corpus: five languages, 20 test clips in each.

Only the chosen clips are decoded; their sound becomes 16 kHz mono FLAC in a folder of its own.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from builders.corpora.base import Corpus, CorpusError, Skipped, SourceClip
from builders.corpora.reading.item_ids import safe_id
from builders.corpora.reading.partition import carve_validation, check_splits
from builders.corpora.reading.resampled import SAMPLING_RATE, Resampled, resample
from builders.corpora.spontaneous.layout import (
    Locale,
    Utterance,
    find_tables,
    read_locale,
)
from builders.corpora.spontaneous.selection import (
    BELOW_S,
    LANGUAGES,
    N_TEST,
    SEED,
    Drawn,
    draw_clips,
    in_test_order,
    seed_of,
)
from otoscope.acoustics.codec import AudioError

SELECTIONS = ("published",)
RELEASE = "sps-corpus-4.0-2026-06-12"
N_DECODERS = 4
ATTRIBUTION = "Mozilla and its volunteers, by way of the Mozilla Data Collective."
PROMISE = (
    "Whoever downloads Common Voice agrees not to try to find out who the speakers are; the same "
    "is asked of you."
)

Progress = Callable[[int, int], None]


def open_spontaneous(
    root: Path,
    *,
    work_folder: Path,
    splits: Iterable[str] = ("test",),
    selection: str = "published",
    on_error: str = "raise",
    progress: Progress | None = None,
) -> Corpus:
    """The chosen clips of the five published languages.

    Validation is always taken out of the published train clips, asked for or not. A chosen clip
    that cannot be decoded keeps its own path, so that whoever reads the sources says why.

    Args:
        root: The folder into which the downloads were unpacked.
        work_folder: Where the resampled sound goes.
        splits: Any of train, validation and test.
        selection: `published` is all there is.
        on_error: What to do about a language that is missing or too small: `raise` or `skip`.
        progress: Called with how many clips are decoded and how many there are.

    Raises:
        CorpusError: No such corpus, or too little of it for the selection.
    """
    asked = check_splits(splits)
    if selection not in SELECTIONS:
        raise CorpusError(
            f"no selection {selection!r} of Common Voice Spontaneous Speech; its published clips "
            "are drawn by rule (published), no list of them is known. For any other choice: "
            "--source folder:PATH with a metadata.csv"
        )
    if on_error not in ("raise", "skip"):
        raise CorpusError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
    tables = find_tables(Path(root))
    locales: list[Locale] = []
    drawn: dict[str, Drawn] = {}
    skipped: list[Skipped] = []
    for name in LANGUAGES:
        try:
            if name not in tables:
                raise CorpusError(f"no ss-corpus-{name}.tsv in {root}/, only of {list(tables)}")
            locale = read_locale(name, tables[name], below_s=BELOW_S)
            drawn[name] = draw_clips(locale.utterances, random.Random(seed_of(name)))
        except CorpusError as error:
            if on_error == "raise":
                raise CorpusError(
                    f"{LANGUAGES[name]} ({name}): {error}; --on-error skip (on_error='skip') goes "
                    "on without this language"
                ) from error
            skipped.append(Skipped(name, str(error).replace(f"{root}/", "")))
        else:
            locales.append(locale)
    if not drawn:
        raise CorpusError(f"{root}: none of the five languages can be used; {skipped[0].reason}")
    chosen = _chosen(drawn, asked)
    sounds = _decode([utterance for *_, utterance in chosen], work_folder, progress)
    sources = tuple(
        SourceClip(
            item_id,
            safe_id(utterance.path.stem),
            split,
            position,
            sound.path,
            utterance.speaker_id,
            utterance.prompt_id,
            utterance.transcription,
        )
        for (item_id, split, position, utterance), sound in zip(chosen, sounds, strict=True)
    )
    return Corpus(
        name="Common Voice Spontaneous Speech",
        licence="cc0-1.0",
        attribution=ATTRIBUTION,
        language=None,
        synthetic=False,
        sources=sources,
        skipped=tuple(skipped),
        notes=(*_how(drawn), *map(_of_locale, locales), *_of_sound(sounds), PROMISE),
    )


def _chosen(
    drawn: dict[str, Drawn], asked: tuple[str, ...]
) -> list[tuple[str, str, int, Utterance]]:
    """Item id, split, position and clip of everything asked for, in published order."""
    train = [utterance for name in drawn for utterance in drawn[name].train]
    ids = [f"cvss_train_{at:04d}" for at in range(1, len(train) + 1)]
    held_out = carve_validation(ids)
    everything = [
        (item_id, "validation" if item_id in held_out else "train", at, utterance)
        for at, (item_id, utterance) in enumerate(zip(ids, train, strict=True))
    ]
    test = in_test_order({name: drawn[name].test for name in drawn})
    everything += [(f"cvss_test_{at + 1:04d}", "test", at, u) for at, u in enumerate(test)]
    return [each for each in everything if each[1] in asked]


def _decode(
    utterances: Sequence[Utterance], folder: Path, progress: Progress | None
) -> list[Resampled]:
    sounds = []
    with ThreadPoolExecutor(N_DECODERS) as pool:
        for sound in pool.map(lambda u: _resampled(u.path, folder), utterances):
            sounds.append(sound)
            if progress is not None:
                progress(len(sounds), len(utterances))
    return sounds


def _resampled(path: Path, folder: Path) -> Resampled:
    try:
        return resample(path, folder)
    except AudioError:
        return Resampled(path, 0.0)  # is refused, with the reason, by whoever reads it


def _how(drawn: dict[str, Drawn]) -> list[str]:
    notes = [
        f"{N_TEST} test clips each of {', '.join(f'{LANGUAGES[n]} ({n})' for n in drawn)}, drawn "
        f"by the published rules: under {BELOW_S:g} s, seeds from {SEED}, train and test without a "
        "common speaker; sexes not balanced."
    ]
    if len(drawn) < len(LANGUAGES):
        notes.append("Languages are missing, so clips have other item ids than in a whole build.")
    return notes


def _of_locale(locale: Locale) -> str:
    reasons = ", ".join(f"{n} {reason}" for reason, n in locale.left_out.items())
    other = "" if locale.release.startswith(RELEASE) else f"; the published one is {RELEASE}"
    return (
        f"{LANGUAGES[locale.name]}: {len(locale.utterances)} of {locale.n_listed} rows of "
        f"{locale.release} to choose from{f' (not {reasons})' if reasons else ''}{other}."
    )


def _of_sound(sounds: Sequence[Resampled]) -> list[str]:
    notes = [f"Decoded and resampled to {SAMPLING_RATE:,} Hz, channels averaged."]
    turned = [sound.turned_down_db for sound in sounds if sound.turned_down_db]
    if turned:
        notes.append(
            f"{len(turned)} of {len(sounds)} clips were beyond full scale after that, and were "
            f"turned down as a whole, by {max(turned):.1f} dB at most."
        )
    return notes
