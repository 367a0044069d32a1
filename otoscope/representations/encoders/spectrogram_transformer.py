"""AST, the audio spectrogram transformer: patches of a spectrogram, and the classes of AudioSet.

Source: Y. Gong et al. (2021), https://arxiv.org/abs/2104.01778.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.models.base import AudioInput, ModelError
from otoscope.representations.encoders.base import Frames, LastBatch, Pooling, waveforms
from otoscope.representations.encoders.checkpoint import Checkpoint, open_checkpoint

AST = "MIT/ast-finetuned-audioset-10-10-0.4593"
HOP, WINDOW = 160, 400
"""Of the spectrogram, in samples at 16 kHz."""

N_TOKENS = 2
"""Tokens before the patches: class and distillation."""


@lru_cache
def audioset_labels() -> Mapping[str, Sequence[str]]:
    """For each label of a task that ships, the classes of AudioSet that stand for it."""
    found: dict[str, Sequence[str]] = {}
    for path in sorted((Path(__file__).parents[1] / "data").glob("audioset_*.json")):
        found |= json.loads(path.read_text(encoding="utf-8"))
    return found


def plain_label(name: str) -> str:
    """A label without case, blanks and punctuation, by which names of classes are compared.

    >>> plain_label("Throat clearing") == plain_label("throat_clearing") == "throatclearing"
    True
    """
    return "".join(c for c in name.casefold() if c.isalnum())


class SpectrogramTransformerEncoder:
    """Hidden states of AST: a frame is the mean of the patches that begin at one time.

    Every clip is padded to the model's window, usually 10.24 s; frames that begin behind the clip
    are left out. `layer.0` enters the first transformer layer.
    """

    pooling: Pooling = "mean"

    def __init__(
        self, found: Checkpoint, classes: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Takes a checkpoint.

        Args:
            classes: For each label, the model's classes that stand for it; those of the tasks that
                ship when absent.
        """
        self.model, self.extractor = found.model, found.processor
        config = self.model.config
        self.sampling_rate = int(self.extractor.sampling_rate)
        self.max_audio_s: float | None = (
            (self.extractor.max_length - 1) * HOP + WINDOW
        ) / self.sampling_rate
        self.layers: Mapping[str, int] = {
            f"layer.{k}": config.hidden_size for k in range(config.num_hidden_layers + 1)
        }
        self.batch_size = 4
        self._last = LastBatch()
        self.classes = audioset_labels() if classes is None else classes
        self.n_times = (config.max_length - config.patch_size) // config.time_stride + 1
        self.description: Mapping[str, Any] = found.described | {
            "kind": "ast",
            "several_classes": "max",
        }

    def frames(self, clips: Sequence[AudioInput]) -> list[Frames]:
        """See `AudioEncoder.frames`."""
        config = self.model.config
        found: list[Frames] = []
        states = self._outputs(clips).hidden_states
        for row, clip in enumerate(clips):
            n_samples = clip.duration_s * self.sampling_rate
            n_own = int((n_samples - WINDOW) // HOP) + 1
            n_times = min(max(1, -(-n_own // config.time_stride)), self.n_times)
            frames = {}
            for layer, state in zip(self.layers, states, strict=True):
                patches = state[row, N_TOKENS:].float().cpu().numpy()
                by_time = patches.reshape(-1, self.n_times, config.hidden_size)
                frames[layer] = by_time[:, :n_times].mean(axis=0)
            found.append(frames)
        return found

    def label_scores(self, clips: Sequence[AudioInput], labels: Sequence[str]) -> np.ndarray:
        """The largest logit among the classes that stand for a label; other classes do not count.

        Those are the classes of AudioSet in `representations/data`, or a class of the label's name.

        Raises:
            ModelError: No class stands for a label.
        """
        if missing := self.unknown_label(labels):
            raise ModelError(f"{missing}; give its encoder `classes`")
        columns = [self._columns(label)[0] for label in labels]
        logits = self._outputs(clips).logits.float().cpu().numpy()
        return np.stack([logits[:, own].max(axis=1) for own in columns], axis=1)

    def unknown_label(self, labels: Sequence[str]) -> str | None:
        """See `ZeroShotEncoder.unknown_label`: the first label without classes, and which."""
        for label in labels:
            columns, absent = self._columns(label)
            if not columns:
                return (
                    f"this AST has no class {' or '.join(map(repr, absent))}, which would stand "
                    f"for the label {label!r}"
                )
        return None

    def _columns(self, label: str) -> tuple[list[int], list[str]]:
        """The columns of a label, and where there are none, names of classes that are missing."""
        known = {plain_label(name): int(k) for k, name in self.model.config.id2label.items()}
        stand_ins = {plain_label(name): own for name, own in self.classes.items()}
        absent: list[str] = []
        for wanted in (stand_ins.get(plain_label(label), ()), [label]):
            missing = [name for name in wanted if plain_label(name) not in known]
            if wanted and not missing:
                return [known[plain_label(name)] for name in wanted], []
            absent += missing
        return [], list({plain_label(name): name for name in reversed(absent)}.values())[::-1]

    def _outputs(self, clips: Sequence[AudioInput]) -> Any:
        return self._last.get(clips, lambda: self._encoded(clips))

    def _encoded(self, clips: Sequence[AudioInput]) -> Any:
        import torch

        waves = waveforms(
            clips, self.sampling_rate, least_s=WINDOW / self.sampling_rate, most_s=self.max_audio_s
        )
        inputs = self.extractor(waves, sampling_rate=self.sampling_rate, return_tensors="pt")
        with torch.inference_mode():
            return self.model(**inputs.to(self.model.device), output_hidden_states=True)


def open_ast(name: str | None, revision: str | None) -> SpectrogramTransformerEncoder:
    """AST with the classes of AudioSet, or another checkpoint of it."""
    return SpectrogramTransformerEncoder(
        open_checkpoint(
            name, revision, model="ASTForAudioClassification", processor="ASTFeatureExtractor",
            default=AST,
        )
    )  # fmt: skip
