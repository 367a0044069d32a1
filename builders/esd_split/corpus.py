"""The English part of a local ESD: `0011/Angry/0011_000351.wav`, speakers 0011 to 0020.

Folders such as `train` may lie between. Each speaker says 350 sentences in each of five emotions,
and the numbers of files run over them: 350 for the first emotion, the same sentences again for the
next, and so on. So the sentence follows from the number, without the table of transcripts.

Source: `docs/papers.md`, value of generative audio calls, datasets.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from builders.corpora.base import CorpusError, Skipped
from builders.corpora.reading.audio_files import reject_unreadable, walk_audio
from builders.esd_split import LABELS

EMOTIONS: Mapping[str, str] = {
    "Angry": "angry", "Happy": "happy", "Neutral": "neutral", "Sad": "sad",
    "Surprise": "surprised",
}  # fmt: skip
"""Folder to label."""

SPEAKERS = tuple(f"{number:04d}" for number in range(11, 21))
SENTENCES = 350
NAME = re.compile(r"(?P<speaker>00(?:0[1-9]|1\d|20))_(?P<number>\d{6})")


class EsdClip(NamedTuple):
    """A clip of ESD.

    Attributes:
        name: Without folders and extension, e.g. `0011_000351`.
        path: The audio file.
        speaker: E.g. `0011`.
        sentence: From 1; the same for all who say it, in whatever emotion.
        label: Of `LABELS`.
    """

    name: str
    path: Path
    speaker: str
    sentence: int
    label: str


class EnglishClips(NamedTuple):
    """All English clips by name, and what is left out."""

    clips: dict[str, EsdClip]
    skipped: tuple[Skipped, ...]


def parse_name(stem: str) -> tuple[str, int] | None:
    """Speaker and number; None where it is no name of ESD.

    >>> parse_name("0011_000351")
    ('0011', 351)
    """
    match = NAME.fullmatch(stem)
    return match and (match["speaker"], int(match["number"]))


def read_esd(where: Path) -> EnglishClips:
    """Looks through a folder of ESD.

    Raises:
        CorpusError: No folder, an archive, no audio, a name that does not parse, another emotion,
            a clip in another speaker's folder or twice, no English speaker, or numbers that do not
            run over the emotions as they should.
    """
    found = walk_audio(where)
    reject_unreadable(where, found)
    clips, others = dict[str, EsdClip](), 0
    for relative, path in found.files.items():
        clip = _clip(where, relative, path)
        if clip.speaker not in SPEAKERS:
            others += 1
        elif clip.name in clips:
            raise CorpusError(f"{where}: {clip.name} is there twice; leave one copy")
        else:
            clips[clip.name] = clip
    if not clips:
        raise CorpusError(f"{where}: none of the English speakers 0011 to 0020 is there")
    _validate_blocks(where, list(clips.values()))
    mandarin = Skipped("speakers 0001 to 0010", f"Mandarin, {others} clips")
    return EnglishClips(clips, (*found.passed_over, *([mandarin] if others else [])))


def _clip(where: Path, relative: str, path: Path) -> EsdClip:
    pure = PurePosixPath(relative)
    parsed = parse_name(pure.stem)
    if parsed is None:
        raise CorpusError(f"{where}: {relative} is not a name of ESD, such as 0011_000351.wav")
    speaker, number = parsed
    emotions = [part for part in pure.parts[:-1] if part in EMOTIONS]
    if len(emotions) != 1:
        raise CorpusError(
            f"{where}: {relative} is not in a folder of one emotion ({', '.join(EMOTIONS)})"
        )
    folders = [part for part in pure.parts[:-1] if re.fullmatch(r"\d{4}", part)]
    if folders and folders[-1] != speaker:
        raise CorpusError(f"{where}: {relative} is in the folder of another speaker")
    sentence = (number - 1) % SENTENCES + 1
    return EsdClip(pure.stem, path, speaker, sentence, EMOTIONS[emotions[0]])


def _validate_blocks(where: Path, clips: Sequence[EsdClip]) -> None:
    """The same 350 numbers have one emotion, or sentences do not follow from numbers."""
    first: dict[int, EsdClip] = {}
    for clip in clips:
        block = (int(clip.name.split("_")[1]) - 1) // SENTENCES
        one = first.setdefault(block, clip)
        if one.label != clip.label or block >= len(LABELS):
            raise CorpusError(
                f"{where}: {clip.name} is {clip.label}, {one.name} {one.label}; in ESD numbers "
                f"{block * SENTENCES + 1} to {(block + 1) * SENTENCES} are of one emotion, and "
                f"none is above {SENTENCES * len(LABELS)}"
            )
