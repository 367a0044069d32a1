"""What development and hold-out share that they should not: audio, file names, speakers, sources.

Source: `docs/papers.md`, value of generative audio calls, split guard.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from builders.corpora.base import CorpusError
from builders.labelled.survey import DecodedClip
from builders.splits import DEVELOPMENT, HOLDOUT
from otoscope.errors import first_names


class Overlap(NamedTuple):
    """One kind of thing that both splits may have.

    Attributes:
        what: E.g. `speaker`.
        n_rows: Hold-out rows that share theirs with development.
        n_holdout: All hold-out rows.
        n_unknown: Hold-out rows of which it is unknown.
        shared: The things in both, sorted.
    """

    what: str
    n_rows: int
    n_holdout: int
    n_unknown: int
    shared: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """In words."""
        if self.n_unknown == self.n_holdout:
            return "unknown"
        rest = f", unknown for {self.n_unknown}" if self.n_unknown else ""
        if not self.shared:
            return f"none{rest}"
        return f"{self.n_rows} of {self.n_holdout} hold-out rows ({len(self.shared)} in both){rest}"


KINDS: dict[str, Callable[[DecodedClip], str]] = {
    "audio": lambda s: s.audio_sha256,
    "file stem": lambda s: PurePosixPath(s.clip.file_name).stem,
    "cluster": lambda s: s.clip.cluster,
    "speaker": lambda s: s.clip.speaker_id,
    "source recording": lambda s: s.clip.source_id,
}
"""What is compared; an empty text is unknown."""


def split_guard(clips: Sequence[DecodedClip]) -> tuple[Overlap, ...]:
    """What the two splits share, one `Overlap` for each of `KINDS`."""
    return tuple(_overlap(what, key, clips) for what, key in KINDS.items())


def _overlap(what: str, key: Callable[[DecodedClip], str], clips: Sequence[DecodedClip]) -> Overlap:
    development = {key(s) for s in clips if s.clip.split == DEVELOPMENT} - {""}
    held = [key(s) for s in clips if s.clip.split == HOLDOUT]
    both = sorted(development & set(held))
    n_rows = sum(name in development for name in held if name)
    return Overlap(what, n_rows, len(held), held.count(""), tuple(both))


def reject_shared_audio(clips: Sequence[DecodedClip]) -> None:
    """Rejects splits that have the same audio.

    Raises:
        CorpusError: Naming a clip of each split.
    """
    development = {s.audio_sha256: s.clip for s in clips if s.clip.split == DEVELOPMENT}
    held = [s for s in clips if s.clip.split == HOLDOUT and s.audio_sha256 in development]
    if held:
        twin = development[held[0].audio_sha256]
        raise CorpusError(
            f"{held[0].clip.file_name} of hold-out is the same audio as {twin.file_name} of "
            f"development, and {len(held) - 1} more are; remove one of each, or leave the "
            "development copies out with --on-shared-audio drop"
        )


def contradictions(clips: Sequence[DecodedClip]) -> list[list[DecodedClip]]:
    """Clips that are the same audio, with the same text where there is one, under two labels."""
    groups: dict[tuple[str, str | None], list[DecodedClip]] = defaultdict(list)
    for surveyed in clips:
        groups[surveyed.audio_sha256, surveyed.clip.text].append(surveyed)
    return [same for same in groups.values() if len({s.clip.label for s in same}) > 1]


def reject_contradictions(clips: Sequence[DecodedClip]) -> None:
    """Rejects the same clip under two labels.

    Raises:
        CorpusError: Naming the first of them.
    """
    if found := contradictions(clips):
        names = [f"{s.clip.file_name} ({s.clip.label})" for s in found[0]]
        raise CorpusError(
            f"the same audio under two labels: {first_names(names)}, and {len(found) - 1} more "
            "clips are like this; correct the labels, or leave all of them out with --on-error skip"
        )
