"""What a VCTK folder holds: speakers, recordings and texts, in the layouts of 0.80 and 0.92.

0.80: `wav48/<speaker>/<clip>.wav`, numeric ids in `speaker-info.txt`, untrimmed.
0.92: `wav48_silence_trimmed/<speaker>/<clip>_mic1.flac`, ids such as `p225` and `s5`, trimmed.
Mixtures of the two are read as well. Texts lie in `txt/<speaker>/<clip>.txt`.
"""

import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import soundfile

from builders.corpora.base import CorpusError, Skipped

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


class Speaker(NamedTuple):
    """A line of `speaker-info.txt`; `accent` is one word, as the published rules read it."""

    speaker_id: str
    age: str
    gender: str
    accent: str
    region: str = ""
    comment: str = ""


class Recording(NamedTuple):
    """A clip that has both sound and text, not yet looked into."""

    clip_id: str
    speaker_id: str
    sentence_id: str
    audio_path: Path
    text_path: Path


class Clip(NamedTuple):
    """A recording with its text (white space collapsed) and its length in seconds."""

    clip_id: str
    speaker_id: str
    sentence_id: str
    text: str
    duration_s: float
    path: Path


@dataclass(frozen=True)
class Layout:
    """A VCTK folder.

    Attributes:
        version: `0.80`, `0.92`, or `mixed` for anything between.
        folder: Name of the audio folder that is read.
        speakers: Everybody in `speaker-info.txt`, by id.
        recordings: Per speaker, in sorted sentence order; only speakers with at least one.
        skipped: What cannot be used, and why.
    """

    version: str
    folder: str
    speakers: dict[str, Speaker]
    recordings: dict[str, tuple[Recording, ...]]
    skipped: tuple[Skipped, ...]


def parse_speakers(text: str) -> tuple[dict[str, Speaker], list[Skipped]]:
    """The speakers of a `speaker-info.txt`, and the lines that are none.

    >>> speakers, _ = parse_speakers("ID  AGE  GENDER\\n225  23  F    English    Southern  England")
    >>> speakers["p225"].region
    'Southern England'
    """
    speakers: dict[str, Speaker] = {}
    skipped = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip("\ufeff ").startswith("ID"):
            continue
        found = SPEAKER_LINE.fullmatch(line)
        if found is None:
            reason = f"not a speaker line: {line.strip()[:60]!r}"
            skipped.append(Skipped(f"speaker-info.txt line {number}", reason))
            continue
        digits = found["id"].lstrip("ps")
        speaker_id = found["id"] if found["id"][0] == "s" else f"p{int(digits):03d}"
        if speaker_id in speakers:
            raise CorpusError(f"speaker-info.txt line {number}: {speaker_id} is there twice")
        region, comment = " ".join(found["region"].split()), (found["comment"] or "").strip()
        speakers[speaker_id] = Speaker(
            speaker_id, found["age"], found["gender"].upper(), found["accent"], region, comment
        )
    return speakers, skipped


def scan(root: Path, *, microphone: str = "mic1") -> Layout:
    """Lists a VCTK folder without opening any sound.

    Args:
        root: The folder with `speaker-info.txt` in it.
        microphone: `mic1` or `mic2`; files without a microphone in their name serve for both.

    Raises:
        CorpusError: Not a VCTK folder, or nothing in it can be used.
    """
    if microphone not in MICROPHONES:
        raise CorpusError(f"no microphone {microphone!r}; VCTK has {' and '.join(MICROPHONES)}")
    root, folder = Path(root), _audio_folder(Path(root))
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
        found, left_out = _recordings(root, folder, speaker_id, microphone)
        skipped += left_out
        if found:
            recordings[speaker_id] = tuple(found)
    if not recordings:
        raise CorpusError(
            f"{root}: no clip has both text (txt/) and sound ({folder}/, {microphone}) of a "
            "speaker in speaker-info.txt; is the download complete?"
        )
    return Layout(_version(info, folder), folder, speakers, recordings, tuple(skipped))


def measure(
    recordings: Iterable[Recording], *, progress: Callable[[int, int], None] | None = None
) -> tuple[list[Clip], list[Skipped]]:
    """Reads texts and file headers, several at a time, in the order given.

    Args:
        recordings: What to look into.
        progress: Called with how many are done and how many there are.

    Returns:
        The clips, and those whose header cannot be read.
    """
    todo = list(recordings)
    clips: list[Clip] = []
    skipped: list[Skipped] = []
    with ThreadPoolExecutor(N_READERS) as pool:
        for done, result in enumerate(pool.map(_look_into, todo), start=1):
            if isinstance(result, Clip):
                clips.append(result)
            else:
                skipped.append(result)
            if progress is not None:
                progress(done, len(todo))
    return clips, skipped


def _look_into(recording: Recording) -> Clip | Skipped:
    try:
        header = soundfile.info(str(recording.audio_path))
        text = recording.text_path.read_text(encoding="utf-8-sig", errors="replace")
    except soundfile.LibsndfileError as error:
        return Skipped(recording.clip_id, f"not readable: {error.error_string}")
    except OSError as error:
        return Skipped(recording.clip_id, f"not readable: {error.strerror}")
    if header.frames == 0:
        return Skipped(recording.clip_id, "holds no samples")
    return Clip(
        recording.clip_id,
        recording.speaker_id,
        recording.sentence_id,
        " ".join(text.split()),
        header.frames / header.samplerate,
        recording.audio_path,
    )


def _audio_folder(root: Path) -> str:
    if not root.is_dir():
        raise CorpusError(f"{root} is not a folder")
    if not (root / "speaker-info.txt").is_file():
        inside = sorted(path.parent for path in root.glob("*/speaker-info.txt"))
        hint = f"; did you mean {inside[0]}?" if inside else ""
        raise CorpusError(f"{root} holds no speaker-info.txt, so it is not a VCTK folder{hint}")
    for folder in (UNTRIMMED, TRIMMED):
        if (root / folder).is_dir():
            return folder
    raise CorpusError(
        f"{root} holds neither {UNTRIMMED}/ (VCTK 0.80) nor {TRIMMED}/ (VCTK 0.92); "
        "unpack the sound next to speaker-info.txt"
    )


def _version(info: str, folder: str) -> str:
    numeric = re.search(r"^\s*\d+\s", info, re.MULTILINE) is not None
    return {(UNTRIMMED, True): "0.80", (TRIMMED, False): "0.92"}.get((folder, numeric), "mixed")


def _recordings(
    root: Path, folder: str, speaker_id: str, microphone: str
) -> tuple[list[Recording], list[Skipped]]:
    texts = {
        path.stem: path for path in _visible(root / "txt" / speaker_id) if path.suffix == ".txt"
    }
    sounds, other = _sounds(root / folder / speaker_id, microphone)
    if not texts or not sounds:
        return [], [
            Skipped(speaker_id, _nothing_usable(len(texts), len(sounds), len(other), microphone))
        ]
    skipped = [
        Skipped(clip, f"text without {microphone} sound" if clip in other else "text without sound")
        for clip in sorted(texts.keys() - sounds.keys())
    ]
    skipped += [
        Skipped(clip, "sound without text") for clip in sorted(sounds.keys() - texts.keys())
    ]
    found = [
        Recording(clip, speaker_id, clip.partition("_")[2], sounds[clip], texts[clip])
        for clip in texts.keys() & sounds.keys()
    ]
    return sorted(found, key=lambda recording: recording.sentence_id), skipped


def _nothing_usable(n_texts: int, n_sounds: int, n_other: int, microphone: str) -> str:
    if n_sounds:
        return f"no text for its {n_sounds} recordings"
    if n_other:
        return f"no {microphone} recording, only {n_other} of another microphone"
    return f"no recording for its {n_texts} texts" if n_texts else "no recording and no text"


def _sounds(folder: Path, microphone: str) -> tuple[dict[str, Path], set[str]]:
    """Files by clip id, and the clips that only another microphone recorded."""
    chosen: dict[str, Path] = {}
    other = set()
    for path in _visible(folder):
        stem = AUDIO_STEM.fullmatch(path.stem)
        if path.suffix.lower() not in AUDIO_SUFFIXES or stem is None:
            continue
        if stem["microphone"] in (None, microphone):
            chosen.setdefault(stem["clip"], path)
        else:
            other.add(stem["clip"])
    return chosen, other - chosen.keys()


def _visible(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
