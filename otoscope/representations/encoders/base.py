"""What an audio encoder is: clips in, frames of each layer out, and their mean over time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from otoscope.models.audio import resampled
from otoscope.models.base import AudioInput, ModelError
from otoscope.representations.pooling import N_SEGMENTS
from otoscope.representations.pooling import pooled as segment_means

Frames = Mapping[str, Float[np.ndarray, "n_frames width"]]
"""The frames of one clip by layer; padding is left out, and there is at least one."""

Pooling = Literal["mean", "mean+std", "segments"]
TIMES: Mapping[Pooling, int] = {"mean": 1, "mean+std": 2, "segments": N_SEGMENTS}
"""How many numbers each number of a frame becomes."""

WAY_OUT = 'install it with `pip install "otoscope[models]"`'
ROUNDING_S = 1e-6


@runtime_checkable
class AudioEncoder(Protocol):
    """An encoder of audio. It reads each clip by itself: its neighbours in a batch change nothing.

    Attributes:
        description: Everything that changes a number, ready for JSON.
        layers: Names in the order in which the audio passes them, and widths of their frames.
        sampling_rate: In Hz; clips at another rate are resampled (soxr HQ).
        max_audio_s: Longest clip in seconds; None where there is no limit. Longer ones are
            rejected, never cut.
        pooling: What becomes of frames: their mean over time, mean and standard deviation, or the
            means of 16 segments, which keep what changes within a clip.
        batch_size: Clips in one call of `frames`.
    """

    description: Mapping[str, Any]
    layers: Mapping[str, int]
    sampling_rate: int
    max_audio_s: float | None
    pooling: Pooling
    batch_size: int

    def frames(self, clips: Sequence[AudioInput]) -> list[Frames]:
        """Float32 frames of every layer, for each clip.

        Raises:
            ModelError: A clip is empty, too short or longer than the encoder takes.
        """


@runtime_checkable
class ZeroShotEncoder(Protocol):
    """An encoder that scores labels without being fitted on any."""

    def label_scores(
        self, clips: Sequence[AudioInput], labels: Sequence[str]
    ) -> Float[np.ndarray, "n_clips n_labels"]:
        """A score of each label for each clip, as the logarithm of a probability is one.

        Raises:
            ModelError: It does not know a label.
        """

    def unknown_label(self, labels: Sequence[str]) -> str | None:
        """What it lacks to score these labels, in words; None where it lacks nothing."""


def embeddings(
    encoder: AudioEncoder, clips: Sequence[AudioInput]
) -> dict[str, Float[np.ndarray, "n_clips width"]]:
    """Each layer's frames pooled over time, float32; see `AudioEncoder.pooling`.

    Raises:
        ModelError: A clip cannot be encoded, or a number is not finite.
    """
    found = [
        frames
        for start in range(0, len(clips), encoder.batch_size)
        for frames in encoder.frames(clips[start : start + encoder.batch_size])
    ]
    pooled = {
        layer: np.stack([_pooled(frames[layer], encoder.pooling) for frames in found])
        for layer in encoder.layers
    }
    for layer, rows in pooled.items():
        if not np.isfinite(rows).all():
            row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise ModelError(f"{layer!r} of clip {clips[row].id!r} is not finite")
    return pooled


def embedding_widths(encoder: AudioEncoder) -> dict[str, int]:
    """Numbers that `embeddings` gives for each layer."""
    return {layer: TIMES[encoder.pooling] * width for layer, width in encoder.layers.items()}


def _pooled(frames: np.ndarray, pooling: Pooling) -> np.ndarray:
    if pooling == "segments":
        return segment_means(frames).astype(np.float32)
    mean = frames.mean(axis=0, dtype=np.float64)
    if pooling == "mean":
        return mean.astype(np.float32)
    return np.concatenate([mean, frames.std(axis=0, dtype=np.float64)]).astype(np.float32)


def waveforms(
    clips: Sequence[AudioInput],
    sampling_rate: int,
    *,
    least_s: float = 0.0,
    most_s: float | None = None,
) -> list[Float[np.ndarray, " n_samples"]]:
    """Clips at an encoder's rate.

    Raises:
        ModelError: One is empty, too short or too long.
    """
    for clip in clips:
        if most_s is not None and clip.duration_s > most_s + ROUNDING_S:
            raise ModelError(
                f"clip {clip.id!r} lasts {clip.duration_s:.2f} s, this encoder takes at most "
                f"{most_s:g} s; cut it, or choose another encoder"
            )
        if len(clip.samples) and clip.duration_s < least_s:
            raise ModelError(
                f"clip {clip.id!r} lasts {clip.duration_s:.3f} s, this encoder needs {least_s:g} s"
            )
    return [resampled(clip, sampling_rate) for clip in clips]


class LastBatch:
    """What was computed of the last clips: frames and scores of labels come of one pass."""

    def __init__(self) -> None:
        self._clips: tuple[AudioInput, ...] = ()
        self._found: Any = None

    def get(self, clips: Sequence[AudioInput], compute: Callable[[], Any]) -> Any:
        """The result for these very clips, computed unless they are the last ones."""
        same = len(clips) == len(self._clips) > 0
        if not (same and all(a is b for a, b in zip(clips, self._clips, strict=True))):
            self._clips, self._found = (), None  # the old one is not kept while computing
            self._found = compute()
            self._clips = tuple(clips)
        return self._found


def takes_no_name(kind: str, name: str | None, revision: str | None) -> None:
    """Rejects a name or a revision where an encoder takes neither.

    Raises:
        ModelError: There is one.
    """
    if name is not None or revision is not None:
        raise ModelError(f"encoder {kind!r} takes no name and no revision, got {name or revision}")
