"""CLAP: one embedding for a clip and one for a sentence, close where they belong together.

Source: Y. Wu et al. (2023), https://arxiv.org/abs/2211.06687.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from otoscope.models.base import AudioInput
from otoscope.representations.encoders.base import Frames, LastBatch, Pooling, waveforms
from otoscope.representations.encoders.checkpoint import Checkpoint, open_checkpoint, opened

CLAP = "laion/clap-htsat-unfused"
SENTENCE = "This is a sound of {}."
"""What a label is put into, unless the encoder is given another sentence."""


class ClapEncoder:
    """The projected embedding of a clip, of length 1, as its only layer and frame.

    Clips shorter than the model's window, usually 10 s, are repeated, as in its training.
    """

    pooling: Pooling = "mean"

    def __init__(self, found: Checkpoint, tokenizer: Any, sentence: str = SENTENCE) -> None:
        """Takes a checkpoint and its tokenizer."""
        self.model, self.extractor, self.tokenizer = found.model, found.processor, tokenizer
        self.sentence = sentence
        self.sampling_rate = int(self.extractor.sampling_rate)
        self.max_audio_s: float | None = float(self.extractor.max_length_s)
        self.layers: Mapping[str, int] = {"embedding": self.model.config.projection_dim}
        self.batch_size = 8
        self._last = LastBatch()
        self._texts: dict[tuple[str, ...], Any] = {}
        self.description: Mapping[str, Any] = found.described | {
            "kind": "clap",
            "sentence": sentence,
        }

    def frames(self, clips: Sequence[AudioInput]) -> list[Frames]:
        """See `AudioEncoder.frames`."""
        return [{"embedding": row[None]} for row in self._audio(clips).cpu().numpy()]

    def label_scores(self, clips: Sequence[AudioInput], labels: Sequence[str]) -> np.ndarray:
        """Cosine of clip and sentence, times the model's own scale."""
        import torch

        with torch.inference_mode():
            scale = self.model.logit_scale_a.exp()
            scores = _unit(self._audio(clips)) @ self._sentences(tuple(labels)).T * scale
        return np.asarray(scores.float().cpu().numpy())

    def _sentences(self, labels: tuple[str, ...]) -> Any:
        if labels not in self._texts:
            sentences = [self.sentence.format(label) for label in labels]
            tokens = self.tokenizer(sentences, padding=True, return_tensors="pt")
            found = self.model.get_text_features(**tokens.to(self.model.device)).pooler_output
            self._texts[labels] = _unit(found)
        return self._texts[labels]

    def unknown_label(self, labels: Sequence[str]) -> None:
        """None: any labels are words."""

    def _audio(self, clips: Sequence[AudioInput]) -> Any:
        return self._last.get(clips, lambda: self._encoded(clips))

    def _encoded(self, clips: Sequence[AudioInput]) -> Any:
        import torch

        waves = waveforms(clips, self.sampling_rate, most_s=self.max_audio_s)
        most = self.extractor.nb_max_samples
        inputs = self.extractor(
            [wave[:most] for wave in waves],  # resampling may have added one sample
            sampling_rate=self.sampling_rate, return_tensors="pt",
        )  # fmt: skip
        # with feature fusion one clip drawn at random is called longer where none is
        inputs["is_longer"] = torch.zeros_like(torch.as_tensor(inputs["is_longer"]))
        with torch.inference_mode():
            return self.model.get_audio_features(**inputs.to(self.model.device)).pooler_output


def _unit(rows: Any) -> Any:
    import torch

    return torch.nn.functional.normalize(rows.float(), dim=-1)


def open_clap(name: str | None, revision: str | None) -> ClapEncoder:
    """LAION's CLAP, or another checkpoint of it."""
    found = open_checkpoint(
        name, revision, model="ClapModel", processor="ClapFeatureExtractor", default=CLAP
    )
    tokenizer, _ = opened("AutoTokenizer", name or CLAP, revision)
    return ClapEncoder(found, tokenizer)
