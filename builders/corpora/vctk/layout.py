"""Reads a VCTK folder: speakers, recordings and texts, in the layouts of 0.80 and 0.92.

0.80: `wav48/<speaker>/<clip>.wav`, numeric ids in `speaker-info.txt`, untrimmed.
0.92: `wav48_silence_trimmed/<speaker>/<clip>_mic1.flac`, ids such as `p225` and `s5`, trimmed.
Mixtures of the two are read as well. Texts lie in `txt/<speaker>/<clip>.txt`.
"""

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import soundfile

from builders.corpora.base import SILENT, CorpusError, Skipped, check_option, existing_folder
from otoscope.progress import Progress

UNTRIMMED = "wav48"
TRIMMED = "wav48_silence_trimmed"
MICROPHONES = ("mic1", "mic2")
AUDIO_SUFFIXES = {".wav", ".flac"}
N_READERS = 8

SPEAKER_LINE = re.compile(
    r"""\s*(?P<id>[ps]?\d+)
        \s+(?P<age>[^\s(]+)
        \s+(?P<gender>[A-Za-z])
        \s+(?P<accent>[^\s(]+)
        (?P<region>[^(]*)
        (?:\((?P<comment>.*?)\)?)?\s*""",
    re.VERBOSE,
)
AUDIO_STEM = re.compile(r"(?P<clip>.+?)(?:_(?P<microphone>mic\d))?")


class VctkSpeaker(NamedTuple):
    """A line of `speaker-info.txt`; `accent` is one word, as the published rules read it."""

    speaker_id: str
    age: str
    gender: str
    accent: str
    region: str = ""
    comment: str = ""


class VctkRecording(NamedTuple):
    """A clip that has both audio and text; neither file has been opened."""

    clip_id: str
    speaker_id: str
    sentence_id: str
    audio_path: Path
    text_path: Path


class VctkClip(NamedTuple):
    """A recording with its text (white space collapsed) and its length in seconds."""

    clip_id: str
    speaker_id: str
    sentence_id: str
    text: str
    duration_s: float
    path: Path


@dataclass(frozen=True)
class VctkFolder:
    """A VCTK folder.

    Attributes:
        version: `0.80`, `0.92`, or `mixed` for anything between.
        audio_folder: Name of the audio folder that is read.
        speakers: Everybody in `speaker-info.txt`, by id.
        recordings: Per speaker, in sorted sentence order; only speakers with at least one.
        skipped: What cannot be used, and why.
    """

    version: str
    audio_folder: str
    speakers: dict[str, VctkSpeaker]
    recordings: dict[str, tuple[VctkRecording, ...]]
    skipped: tuple[Skipped, ...]

    def by_clip_id(self) -> dict[str, VctkRecording]:
        """All recordings."""
        return {r.clip_id: r for group in self.recordings.values() for r in group}


def parse_speakers(text: str) -> tuple[dict[str, VctkSpeaker], list[Skipped]]:
    """The speakers of a `speaker-info.txt`, and the lines that name none.

    >>> speakers, _ = parse_speakers("ID  AGE  GENDER\\n225  23  F    English    Southern  England")
    >>> speakers["p225"].region
    'Southern England'
    """
    speakers: dict[str, VctkSpeaker] = {}
    skipped = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip("\ufeff ").startswith("ID"):
            continue
        match = SPEAKER_LINE.fullmatch(line)
        if match is None:
            reason = f"not a speaker line: {line.strip()[:60]!r}"
            skipped.append(Skipped(f"speaker-info.txt line {number}", reason))
            continue
        digits = match["id"].lstrip("ps")
        speaker_id = match["id"] if match["id"][0] == "s" else f"p{int(digits):03d}"
        if speaker_id in speakers:
            raise CorpusError(f"speaker-info.txt line {number}: {speaker_id} is there twice")
        region, comment = " ".join(match["region"].split()), (match["comment"] or "").strip()
        speakers[speaker_id] = VctkSpeaker(
            speaker_id, match["age"], match["gender"].upper(), match["accent"], region, comment
        )
    return speakers, skipped


def scan(root: str | Path, *, microphone: str | None = None) -> VctkFolder:
    """Lists a VCTK folder without opening any audio file.

    Args:
        root: The folder with `speaker-info.txt` in it.
        microphone: `mic1` or `mic2`, `mic1` when None; files without a microphone in their name
            serve for both.

    Raises:
        CorpusError: Not a VCTK folder, nothing in it can be used, or a microphone is given and no
            file has one in its name.
    """
    given, microphone = microphone, microphone or MICROPHONES[0]
    check_option("microphone", microphone, MICROPHONES)
    root = existing_folder(root)
    folder = _audio_folder(root)
    if given and not any((root / folder).glob("*/*_mic[0-9].*")):
        raise CorpusError(
            f"{root}: no file of {folder}/ has a microphone in its name, as those of VCTK 0.92 do; "
            "leave --microphone out"
        )
    info = (root / "speaker-info.txt").read_text(encoding="utf-8-sig", errors="replace")
    speakers, skipped = parse_speakers(info)
    if not speakers:
        raise CorpusError(f"{root / 'speaker-info.txt'} names no speaker")
    on_disk = {path.name for kind in (folder, "txt") for path in _visible(root / kind)}
    skipped += [
        Skipped(name, "not in speaker-info.txt") for name in sorted(on_disk - set(speakers))
    ]
    recordings = {}
    for speaker_id in sorted(speakers):
        usable, unusable = _recordings(root, folder, speaker_id, microphone)
        skipped += unusable
        if usable:
            recordings[speaker_id] = tuple(usable)
    if not recordings:
        raise CorpusError(
            f"{root}: no clip has both text (txt/) and audio ({folder}/, {microphone}) of a "
            "speaker in speaker-info.txt; is the download complete?"
        )
    return VctkFolder(_version(info, folder), folder, speakers, recordings, tuple(skipped))


def measure(
    recordings: Iterable[VctkRecording], *, progress: Progress = SILENT
) -> tuple[list[VctkClip], list[Skipped]]:
    """Reads texts and file headers, several at a time, in the order given.

    Args:
        recordings: To be read.
        progress: Shows how many are done.

    Returns:
        The clips, and those whose header cannot be read.
    """
    recordings = list(recordings)
    results = []
    with (
        ThreadPoolExecutor(N_READERS) as pool,
        progress.bar("Reading headers", len(recordings)) as step,
    ):
        for result in pool.map(_read_header, recordings):
            results.append(result)
            step()
    clips = [result for result in results if isinstance(result, VctkClip)]
    return clips, [result for result in results if isinstance(result, Skipped)]


def _read_header(recording: VctkRecording) -> VctkClip | Skipped:
    try:
        header = soundfile.info(str(recording.audio_path))
        text = recording.text_path.read_text(encoding="utf-8-sig", errors="replace")
    except soundfile.LibsndfileError as error:
        return Skipped(recording.clip_id, f"not readable: {error.error_string}")
    except OSError as error:
        return Skipped(recording.clip_id, f"not readable: {error.strerror}")
    if header.frames == 0:
        return Skipped(recording.clip_id, "holds no samples")
    return VctkClip(
        recording.clip_id,
        recording.speaker_id,
        recording.sentence_id,
        " ".join(text.split()),
        header.frames / header.samplerate,
        recording.audio_path,
    )


def _audio_folder(root: Path) -> str:
    if not (root / "speaker-info.txt").is_file():
        inside = sorted(path.parent for path in root.glob("*/speaker-info.txt"))
        hint = f"; did you mean {inside[0]}?" if inside else ""
        raise CorpusError(f"{root} holds no speaker-info.txt, so it is not a VCTK folder{hint}")
    for folder in (UNTRIMMED, TRIMMED):
        if (root / folder).is_dir():
            return folder
    raise CorpusError(
        f"{root} holds neither {UNTRIMMED}/ (VCTK 0.80) nor {TRIMMED}/ (VCTK 0.92); "
        "unpack the audio next to speaker-info.txt"
    )


def _version(info: str, folder: str) -> str:
    numeric = re.search(r"^\s*\d+\s", info, re.MULTILINE) is not None
    return {(UNTRIMMED, True): "0.80", (TRIMMED, False): "0.92"}.get((folder, numeric), "mixed")


def _recordings(
    root: Path, folder: str, speaker_id: str, microphone: str
) -> tuple[list[VctkRecording], list[Skipped]]:
    texts = {
        path.stem: path for path in _visible(root / "txt" / speaker_id) if path.suffix == ".txt"
    }
    audio, other = _audio_files(root / folder / speaker_id, microphone)
    if not texts or not audio:
        reason = _nothing_usable(len(texts), len(audio), len(other), microphone)
        return [], [Skipped(speaker_id, reason)]
    skipped = [
        Skipped(clip, f"text without {microphone} audio" if clip in other else "text without audio")
        for clip in sorted(texts.keys() - audio.keys())
    ]
    skipped += [Skipped(clip, "audio without text") for clip in sorted(audio.keys() - texts.keys())]
    recordings = [
        VctkRecording(clip, speaker_id, clip.partition("_")[2], audio[clip], texts[clip])
        for clip in texts.keys() & audio.keys()
    ]
    return sorted(recordings, key=lambda recording: recording.sentence_id), skipped


def _nothing_usable(n_texts: int, n_audio: int, n_other: int, microphone: str) -> str:
    if n_audio:
        return f"no text for its {n_audio} recordings"
    if n_other:
        return f"no {microphone} recording, only {n_other} of another microphone"
    return f"no recording for its {n_texts} texts" if n_texts else "no recording and no text"


def _audio_files(folder: Path, microphone: str) -> tuple[dict[str, Path], set[str]]:
    """Files by clip id, and the clips that only another microphone recorded."""
    files: dict[str, Path] = {}
    other = set()
    for path in _visible(folder):
        stem = AUDIO_STEM.fullmatch(path.stem)
        if path.suffix.lower() not in AUDIO_SUFFIXES or stem is None:
            continue
        if stem["microphone"] in (None, microphone):
            files.setdefault(stem["clip"], path)
        else:
            other.add(stem["clip"])
    return files, other - files.keys()


def _visible(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
