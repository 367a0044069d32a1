"""The original VocalSound on disk: 21,024 clips whose names say speaker, session and class."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from builders.corpora.base import SILENT, CorpusError, Skipped
from builders.corpora.reading.audio_files import reject_unreadable, walk_audio
from builders.labelled import LabelledClip, clip_id, name_hash
from builders.labelled.survey import survey
from builders.splits import HOLDOUT
from builders.vocalsound_split import LABELS
from builders.vocalsound_split.names import VocalName, parse_name
from otoscope.progress import Progress


@dataclass(frozen=True)
class Original:
    """VocalSound's own files, e.g. those of `vocalsound_16k.zip`.

    Attributes:
        files: By their names, without folders.
        names: What each name says.
        skipped: Files with other names.
    """

    files: Mapping[str, Path]
    names: Mapping[str, VocalName]
    skipped: tuple[Skipped, ...] = ()

    def by_audio(self, *, num_proc: int, progress: Progress = SILENT) -> dict[str, VocalName]:
        """Hash of 16 kHz PCM to name; audio that two speakers or classes have is left out.

        Files that cannot be read are passed over: they only help to find speakers.
        """
        surveyed, _ = survey(
            [_clip(self, name) for name in self.files],
            skip=True, num_proc=num_proc, progress=progress,
        )  # fmt: skip
        found: dict[str, set[VocalName]] = defaultdict(set)
        for s in surveyed:
            found[s.audio_sha256].add(self.names[s.clip.file_name])
        return {audio: next(iter(names)) for audio, names in found.items() if len(names) == 1}


def open_original(where: Path, *, skip: bool = False) -> Original:
    """Looks through a folder of VocalSound.

    Args:
        where: The folder; audio may lie below it.
        skip: Leave files with other names out, rather than stop there.

    Raises:
        CorpusError: No folder, an archive, no audio, a name that does not parse, or a name twice
            (as where the 16 kHz and the 44.1 kHz files are both there).
    """
    found = walk_audio(where)
    reject_unreadable(where, found)
    files, names, skipped = dict[str, Path](), dict[str, VocalName](), list[Skipped]()
    for relative, path in found.files.items():
        parsed = parse_name(relative)
        if parsed is None:
            if not skip:
                raise CorpusError(
                    f"{where}: {relative} is not a name of VocalSound, such as f0003_0_cough.wav; "
                    "remove it, or leave such files out with --on-error skip"
                )
            skipped.append(Skipped(relative, "not a name of VocalSound"))
        elif path.name in files:
            raise CorpusError(
                f"{where}: {path.name} is there twice; give the folder of one version, such as "
                "audio_16k"
            )
        else:
            files[path.name], names[path.name] = path, parsed
    return Original(files, names, tuple(skipped))


def fresh_clips(
    original: Original, n: int, *, seen: Collection[str], seed: int = 0
) -> tuple[LabelledClip, ...]:
    """As many clips of each class, by speakers that were not seen, of as many speakers as possible.

    Speakers are visited in the order of a hash. Each gives one clip in a round, of the class that
    is furthest from full among those that the speaker has left.

    Args:
        original: The files.
        n: How many in all.
        seen: Speakers that give none.
        seed: Another one chooses others.

    Raises:
        CorpusError: `n` is no multiple of the number of classes, or there are too few clips.
    """
    if n < len(LABELS) or n % len(LABELS):
        raise CorpusError(
            f"--fresh-holdout is {n}; it must be a multiple of {len(LABELS)}, since each class "
            "gets as many clips"
        )
    left: dict[str, list[str]] = defaultdict(list)
    for name in sorted(original.files, key=lambda name: name_hash(seed, name)):
        if original.names[name].speaker not in seen:
            left[original.names[name].speaker].append(name)
    missing = dict.fromkeys(LABELS, n // len(LABELS))
    chosen: list[str] = []
    speakers = sorted(left, key=lambda speaker: name_hash(seed, speaker))
    while speakers and any(missing.values()):
        for speaker in speakers:
            own = [name for name in left[speaker] if missing[original.names[name].label]]
            if own:
                name = max(own, key=lambda name: missing[original.names[name].label])
                missing[original.names[name].label] -= 1
                left[speaker].remove(name)
                chosen.append(name)
            else:
                left[speaker] = []
        speakers = [speaker for speaker in speakers if left[speaker]]
    if short := [label for label in LABELS if missing[label]]:
        there = n // len(LABELS) - max(missing.values())
        raise CorpusError(
            f"{len(left)} unseen speakers have too few clips of {', '.join(short)} for "
            f"--fresh-holdout {n}; at most {there * len(LABELS)} can be had"
        )
    return tuple(_clip(original, name, HOLDOUT) for name in sorted(chosen))


def _clip(original: Original, name: str, split: str = "") -> LabelledClip:
    parsed = original.names[name]
    return LabelledClip(
        id=clip_id(name),
        path=original.files[name],
        label=parsed.label,
        file_name=name,
        cluster_id=parsed.speaker,
        speaker_id=parsed.speaker,
        source_id=parsed.session,
        split=split,
    )
