"""Whisper's encoder: tiny.en with the weights of a package, or any checkpoint.

Whisper pads every clip to a window of 30 s, of which the first frames, 50 a second, are the clip's.
A shorter window (`whisper-tiny.en:6s`) is faster, and changes the states: frames attend to the
silence behind the clip.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from otoscope.models.base import AudioInput, ModelError
from otoscope.representations.encoders.base import Frames, Pooling, takes_no_name, waveforms
from otoscope.representations.encoders.checkpoint import open_checkpoint

SAMPLES_A_FRAME = 320
"""Hop of the spectrogram, 160, times the stride of the second convolution."""


class WhisperEncoder:
    """Hidden states of Whisper's encoder: `layer.0` enters the first layer, the last is normed."""

    pooling: Pooling = "mean+std"

    def __init__(
        self, encoder: Any, extractor: Any, about: dict[str, Any], window_s: float | None = None
    ) -> None:
        """Takes modules of transformers.

        Args:
            window_s: Seconds to which clips are padded; the model's own, usually 30, when absent.

        Raises:
            ModelError: The window is longer than the model's, or not above 0.
        """
        config = encoder.config
        most_s = config.max_source_positions * SAMPLES_A_FRAME / extractor.sampling_rate
        window_s = most_s if window_s is None else window_s
        if not 0 < window_s <= most_s:
            raise ModelError(f"a window of {window_s:g} s; it must be above 0, at most {most_s:g}")
        self.n_frames = math.ceil(window_s * extractor.sampling_rate / SAMPLES_A_FRAME)
        self.encoder = encoder
        self.extractor = extractor
        self.sampling_rate = int(extractor.sampling_rate)
        self.max_audio_s: float | None = self.n_frames * SAMPLES_A_FRAME / self.sampling_rate
        self.layers: Mapping[str, int] = {
            f"layer.{k}": config.d_model for k in range(config.encoder_layers + 1)
        }
        self.batch_size = 8
        self.description: Mapping[str, Any] = about | {
            "kind": "whisper",
            "window_s": self.max_audio_s,
        }

    def frames(self, clips: Sequence[AudioInput]) -> list[Frames]:
        """See `AudioEncoder.frames`."""

        waves = waveforms(clips, self.sampling_rate, most_s=self.max_audio_s)
        features = self.extractor(
            waves, sampling_rate=self.sampling_rate, return_tensors="pt", padding="max_length",
            max_length=self.n_frames * SAMPLES_A_FRAME, truncation=True,
        ).input_features  # fmt: skip
        states = self._states(features)
        found: list[Frames] = []
        for row, wave in enumerate(waves):
            length = max(1, math.ceil(len(wave) / SAMPLES_A_FRAME))
            found.append(
                {
                    layer: state[row, :length].float().cpu().numpy()
                    for layer, state in zip(self.layers, states, strict=True)
                }
            )
        return found

    def _states(self, features: Any) -> list[Any]:
        """Hidden states; transformers' own forward pass takes only the whole window."""
        import torch

        encoder = self.encoder
        weights, gelu = encoder.conv1.weight, torch.nn.functional.gelu
        with torch.inference_mode():
            convolved = gelu(encoder.conv1(features.to(weights.device, weights.dtype)))
            state = gelu(encoder.conv2(convolved)).permute(0, 2, 1)
            states = [state + encoder.embed_positions.weight[: self.n_frames]]
            for layer in encoder.layers:
                state = layer(states[-1], None)
                states.append(state[0] if isinstance(state, tuple) else state)
            states[-1] = encoder.layer_norm(states[-1])
        return states


def open_whisper_tiny_en(name: str | None, revision: str | None) -> WhisperEncoder:
    """Whisper tiny.en of the package; `name` may be a window such as `6s`."""
    from otoscope.models.whisper_package import NAME, load_whisper_tiny_en

    window_s = None if name is None else _seconds(name)
    takes_no_name("whisper-tiny.en", None, revision)
    parts = load_whisper_tiny_en()
    about = {"name": NAME, "revision": parts.revision}
    return WhisperEncoder(parts.model.model.encoder, parts.feature_extractor, about, window_s)


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = math.nan
    if not (text.endswith("s") and np.isfinite(seconds)):
        raise ModelError(
            f"whisper-tiny.en takes a window such as `whisper-tiny.en:6s`, not {text!r}; for other "
            "weights name `whisper:PATH_OR_ID@REV`"
        )
    return seconds


def open_whisper(name: str | None, revision: str | None) -> WhisperEncoder:
    """The encoder of a Whisper checkpoint."""
    found = open_checkpoint(
        name, revision, model="WhisperModel", processor="WhisperFeatureExtractor",
        default="openai/whisper-tiny.en",
    )  # fmt: skip
    return WhisperEncoder(found.model.encoder, found.processor, found.described)
