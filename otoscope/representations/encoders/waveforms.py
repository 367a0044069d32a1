"""Encoders that read the waveform: wav2vec 2.0, HuBERT, WavLM and their like.

Padding changes the states of models that normalise over time (`feat_extract_norm="group"`, as
WavLM base), so those encode only clips of one length together.
"""

import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from otoscope.models.base import AudioInput, ModelError
from otoscope.representations.encoders.base import AudioEncoder, Frames, Pooling, waveforms
from otoscope.representations.encoders.checkpoint import Checkpoint, model_type, open_checkpoint

WAVLM = "microsoft/wavlm-base-plus"


class WaveformEncoder:
    """Hidden states of a waveform encoder: `layer.0` enters the first transformer layer."""

    pooling: Pooling = "mean"
    max_audio_s: float | None = None

    def __init__(self, found: Checkpoint) -> None:
        """Takes a checkpoint.

        Raises:
            ModelError: It does not read waveforms.
        """
        self.model, self.extractor = found.model, found.processor
        config = self.model.config
        strides, kernels = (getattr(config, f"conv_{name}", None) for name in ("stride", "kernel"))
        if not strides or not kernels or not hasattr(config, "num_hidden_layers"):
            raise ModelError(
                f"{found.described['name']!r} ({config.model_type}) is no encoder of waveforms; "
                "there are also `whisper:`, `clap:` and `ast:`"
            )
        self.sampling_rate = int(self.extractor.sampling_rate)
        self.least_samples = 1  # that give one frame
        for kernel, stride in zip(reversed(kernels), reversed(strides), strict=True):
            self.least_samples = (self.least_samples - 1) * stride + kernel
        n_layers = config.num_hidden_layers
        self.layers: Mapping[str, int] = {
            f"layer.{k}": config.hidden_size for k in range(n_layers + 1)
        }
        self.pads = getattr(config, "feat_extract_norm", "") == "layer"
        self.batch_size = 8
        self.description: Mapping[str, Any] = found.described | {"kind": "waveform"}

    def frames(self, clips: Sequence[AudioInput]) -> list[Frames]:
        """See `AudioEncoder.frames`."""
        least_s = self.least_samples / self.sampling_rate
        waves = waveforms(clips, self.sampling_rate, least_s=least_s, most_s=self.max_audio_s)
        alike: dict[int, list[int]] = defaultdict(list)
        for row, wave in enumerate(waves):
            alike[0 if self.pads else len(wave)].append(row)
        found: list[Any] = [None] * len(waves)
        for rows in alike.values():
            together = self._frames([waves[row] for row in rows])
            for row, frames in zip(rows, together, strict=True):
                found[row] = frames
        return found

    def _frames(self, waves: Sequence[np.ndarray]) -> list[Frames]:
        import torch

        inputs = self.extractor(
            list(waves), sampling_rate=self.sampling_rate, return_tensors="pt", padding=True,
            return_attention_mask=self.pads,
        ).to(self.model.device)  # fmt: skip
        with torch.inference_mode(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Support for mismatched key_padding_mask")  # WavLM
            states = self.model(**inputs, output_hidden_states=True).hidden_states
        lengths = self.model._get_feat_extract_output_lengths(
            torch.tensor([len(wave) for wave in waves])
        ).tolist()
        return [
            {
                layer: state[row, :length].float().cpu().numpy()
                for layer, state in zip(self.layers, states, strict=True)
            }
            for row, length in enumerate(lengths)
        ]


def open_wavlm(name: str | None, revision: str | None) -> WaveformEncoder:
    """WavLM base+, or another checkpoint of it."""
    return WaveformEncoder(
        open_checkpoint(
            name, revision, model="WavLMModel", processor="AutoFeatureExtractor", default=WAVLM
        )
    )


def open_transformers_encoder(name: str | None, revision: str | None) -> AudioEncoder:
    """Any audio encoder of transformers; Whisper, CLAP and AST by their own adapters."""
    from otoscope.representations.encoders import clap, spectrogram_transformer, whisper

    own: dict[str, Callable[[str | None, str | None], AudioEncoder]] = {
        "whisper": whisper.open_whisper,
        "clap": clap.open_clap,
        "audio-spectrogram-transformer": spectrogram_transformer.open_ast,
    }
    if opener := own.get(model_type(name, revision)):
        return opener(name, revision)
    return WaveformEncoder(
        open_checkpoint(name, revision, model="AutoModel", processor="AutoFeatureExtractor")
    )
