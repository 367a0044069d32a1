"""Decodes every clip once: its length, its format, and the hash that the split guard compares."""

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from builders.building.plan import MAX_FILE_BYTES
from builders.building.workers import parallel_map
from builders.corpora.base import SILENT, Skipped
from builders.corpora.reading.resampled import to_16k_mono
from builders.labelled.clips import LabelledClip
from otoscope.acoustics import codec
from otoscope.atomic import file_sha256
from otoscope.progress import Progress


class DecodedClip(NamedTuple):
    """A clip and what its file holds.

    Attributes:
        clip: As the dataset has it.
        file_sha256: Of the file's bytes.
        audio_sha256: Of its decoded PCM as 16 kHz mono, so that the same recording at another rate
            that resamples to the same samples, or in another lossless format, is found.
        sampling_rate: In Hz.
        n_channels, n_samples: Of the audio.
        attenuation_db: By how much it is turned down, because its lossy codec decodes it to more
            than full scale.
    """

    clip: LabelledClip
    file_sha256: str
    audio_sha256: str
    sampling_rate: int
    n_channels: int
    n_samples: int
    attenuation_db: float = 0.0

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.n_samples / self.sampling_rate

    @property
    def pcm_bytes(self) -> int:
        """Size of 16-bit samples, which FLAC never exceeds by much."""
        return 2 * self.n_channels * self.n_samples + 2_000


def survey(
    clips: Sequence[LabelledClip],
    *,
    skip: bool = False,
    num_proc: int = 1,
    progress: Progress = SILENT,
) -> tuple[list[DecodedClip], list[Skipped]]:
    """The clips that can be read, in order, and those that are left out.

    Args:
        clips: Of a dataset.
        skip: Leave out what cannot be read, rather than stop there.
        num_proc: Processes.
        progress: Shows how many clips were read.

    Raises:
        AudioError: A clip cannot be read, and `skip` is not set; the file is named.
    """
    surveyed, skipped = list[DecodedClip](), list[Skipped]()
    with progress.bar("Reading clips", len(clips)) as step:
        found: Iterator[DecodedClip | Skipped] = parallel_map(
            partial(_survey_clip, skip=skip), clips, num_proc
        )
        for one in found:
            if isinstance(one, DecodedClip):
                surveyed.append(one)
            else:
                skipped.append(one)
            step()
    return surveyed, skipped


def _survey_clip(clip: LabelledClip, *, skip: bool) -> DecodedClip | Skipped:
    try:
        recording = codec.read(clip.path, name=clip.file_name)
        mono, _ = to_16k_mono(recording.pcm, recording.sampling_rate, name=clip.file_name)
        sha256 = file_sha256(clip.path)
        if recording.pcm.nbytes > MAX_FILE_BYTES:
            raise codec.AudioError(
                f"{clip.file_name}: {recording.duration_s:.0f} s are too long for one row; cut it"
            )
    except (codec.AudioError, OSError) as error:
        if skip:
            return Skipped(clip.file_name, str(error).removeprefix(f"{clip.file_name}: "))
        raise
    n_channels, n_samples = recording.pcm.shape
    audio = hashlib.sha256(mono.astype("<i2").tobytes()).hexdigest()
    return DecodedClip(
        clip, sha256, audio, recording.sampling_rate, n_channels, n_samples,
        recording.attenuation_db,
    )  # fmt: skip
