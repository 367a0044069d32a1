"""States of an audio encoder for clips made of real recordings; what `encoder_layers` probes.

A recording's clips are rendered, encoded and stored in one file, so that a kill loses one
recording. Clips are never written.
"""

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.recordings import DecodedRecording
from otoscope.acoustics import codec
from otoscope.acoustics.design import CONDITIONS
from otoscope.acoustics.fitted import segments
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import ClipAnalysis
from otoscope.acoustics.rendering import NotApplicable, SourceRenderer
from otoscope.atomic import write_atomic
from otoscope.models.base import AudioInput
from otoscope.representations.encoder_model import site_of_layer
from otoscope.representations.encoders import AudioEncoder
from otoscope.representations.features import Features, write_features
from otoscope.representations.mel import mel_features
from otoscope.representations.pooling import pooled

CUE = "cue"
"""Not a site: the category's acoustic cue in sixteen segments, for the classical observer."""
AFTER_S = 1.0
"""Silence between a recording's longest clip and the end of a shorter window."""

OpenEncoder = Callable[[float | None], AudioEncoder]
"""From the window in seconds, or None for the encoder's own, to the encoder."""


class LayerSettings(NamedTuple):
    """Everything that decides the figures, beside the recordings and the encoder.

    Attributes:
        categories, curves: Of the clips.
        cropped: Whether windows are cropped to each recording's longest clip.
        n_compared: Clips in both windows.
    """

    categories: tuple[str, ...]
    curves: tuple[str, ...]
    cropped: bool
    n_compared: int


class RenderedClip(NamedTuple):
    """A clip in memory, and what features say of it."""

    row: dict[str, Any]
    audio: AudioInput
    cue: np.ndarray


class RecordingStates(NamedTuple):
    """Rows of a recording's clips, and what was computed of each, by site."""

    rows: list[dict[str, Any]]
    sites: dict[str, np.ndarray]
    n_idle: int


def clips_of(
    recorded: DecodedRecording, profile: str, settings: LayerSettings
) -> Iterator[RenderedClip | None]:
    """A recording's clips at the high tier; None for each in which nothing would change."""
    rate = recorded.sampling_rate
    source = SourceRenderer(recorded.pcm, rate, recorded.span, bit_depth=recorded.bit_depth)
    for category in settings.categories:
        gradient = GRADIENTS[category]
        for condition in CONDITIONS:
            if condition.tier != "high" or condition.curve not in settings.curves:
                continue
            clip_id = condition.clip_id(recorded.name, recorded.name)
            try:
                made = source.render(category, condition, clip_id=clip_id, profile=profile)
            except NotApplicable:
                yield None
                continue
            if made.no_effect:
                yield None
                continue
            pcm = made.to_pcm().pcm
            name = f"{category}__{clip_id}"
            row = {
                "id": name, "category": category, "label": int(condition.direction == "up"),
                "source_id": recorded.name, "speaker_id": recorded.speaker, "profile": profile,
                **condition._asdict(),
            }  # fmt: skip
            samples = codec.to_float(np.atleast_2d(pcm)).mean(axis=0).astype(np.float32)
            audio = AudioInput(name, samples, rate, hashlib.sha256(pcm.tobytes()).hexdigest())
            track = ClipAnalysis(pcm, rate, made.span).once(gradient.cue)
            yield RenderedClip(row, audio, segments(track).astype(np.float32))


def states_of(found: Sequence[RenderedClip], encoder: AudioEncoder) -> dict[str, np.ndarray]:
    """The layers of an encoder for some clips, `(n_clips, 16 * width)` float16 each."""
    states: dict[str, list[np.ndarray]] = {site_of_layer(layer): [] for layer in encoder.layers}
    for start in range(0, len(found), encoder.batch_size):
        clips = [clip.audio for clip in found[start : start + encoder.batch_size]]
        for frames in encoder.frames(clips):
            for layer, of_clip in frames.items():
                states[site_of_layer(layer)].append(pooled(of_clip).astype(np.float16))
    return {site: np.stack(rows) for site, rows in states.items()}


def window_of(found: Sequence[RenderedClip]) -> float:
    """The shorter window of a recording: its longest clip and a second, in whole seconds."""
    return float(math.ceil(max(clip.audio.duration_s for clip in found) + AFTER_S))


def stored_states(
    path: Path,
    recorded: DecodedRecording,
    profile: str,
    settings: LayerSettings,
    open_window: OpenEncoder,
) -> RecordingStates:
    """What was computed of a recording's clips, from `path` where it is there."""
    if not path.exists():
        made = list(clips_of(recorded, profile, settings))
        found = [clip for clip in made if clip is not None]
        sites: dict[str, np.ndarray] = {}
        if found:
            sites = states_of(found, open_window(window_of(found) if settings.cropped else None))
            sites["mel"] = np.stack([mel_features(c.audio) for c in found]).astype(np.float16)
            sites[CUE] = np.stack([clip.cue for clip in found])
        about = json.dumps({"rows": [c.row for c in found], "n_idle": len(made) - len(found)})
        write_states(path, sites, about)
    with np.load(path) as stored:
        about = json.loads(str(stored["about"]))
        sites = {name: stored[name] for name in stored.files if name != "about"}
    return RecordingStates(about["rows"], sites, about["n_idle"])


def write_states(path: Path, sites: dict[str, np.ndarray], about: str = "") -> None:
    """Writes arrays by name, and a text beside them, so that they are complete or absent."""

    def write(to: Path) -> None:
        with to.open("wb") as file:
            np.savez(file, about=np.array(about), **sites)  # type: ignore[arg-type]

    write_atomic(path, write)


def features_of(
    folder: Path, found: Sequence[RecordingStates], **about: Any
) -> tuple[Features, np.ndarray]:
    """Features of all recordings, and the cue's segments of each row; written once."""
    rows = [row for states in found for row in states.rows]
    used = [states for states in found if states.rows]
    cues = np.concatenate([states.sites[CUE] for states in used])
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    sites = {
        name: np.concatenate([states.sites[name] for states in used])
        for name in ("mel", *(site for site in used[0].sites if site not in ("mel", CUE)))
    }
    return written_features(folder, columns, sites, **about), cues


def written_features(
    folder: Path, rows: dict[str, list[Any]], sites: dict[str, np.ndarray], **about: Any
) -> Features:
    """Features in a folder that is complete or absent; those that are there stay."""
    if not folder.exists():
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        write_features(partial, rows, sites, **about)
        partial.rename(folder)
    return Features.open(folder, **about)
