"""An audio encoder as a model whose hidden states are extracted: `--model encoder:whisper-tiny.en`.

Its sites are `mel` and `audio.K`, the frames that enter layer 0 (K = 0) or leave layer K, as means
over sixteen segments of the clip; padding is left out. It reads no text, and answers nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from otoscope.models.base import ModelError, Request
from otoscope.representations.encoders import AudioEncoder, open_encoder
from otoscope.representations.hidden_states import only_clip
from otoscope.representations.pooling import N_SEGMENTS, pooled

LAYER = "layer."


class EncoderModel:
    """The sites of an audio encoder; see `hidden_states.CustomModelExtractor`.

    Attributes:
        encoder: What gives the frames.
        layers: From a site's name to the encoder's.
        description: The encoder's.
        sites: From name to width, 16 times that of a frame.
        batch_size: Clips encoded together.
        sampling_rate: In Hz.
        max_audio_s: The longest clip that it takes, or None.
    """

    def __init__(self, encoder: AudioEncoder, batch_size: int | None = None) -> None:
        """Takes an encoder.

        Args:
            encoder: From `open_encoder`.
            batch_size: Clips encoded together; the encoder's own number when absent.
        """
        self.encoder = encoder
        self.layers = {site_of_layer(layer): layer for layer in encoder.layers}
        self.description: dict[str, Any] = dict(encoder.description)
        self.sites = {s: N_SEGMENTS * encoder.layers[at] for s, at in self.layers.items()}
        self.batch_size = batch_size or encoder.batch_size
        self.sampling_rate = encoder.sampling_rate
        self.max_audio_s = encoder.max_audio_s

    def states(self, requests: Sequence[Request], sites: Sequence[str]) -> Mapping[str, np.ndarray]:
        """Each site of each request's clip, `(n_requests, width)` float32.

        Raises:
            ModelError: A request has another number of clips than one, or one that is too long.
        """
        found = self.encoder.frames([only_clip(request) for request in requests])
        return {
            site: np.stack([pooled(frames[self.layers[site]]) for frames in found])
            for site in sites
        }

    def answer(self, requests: Sequence[Request]) -> NoReturn:
        """Is there for the sake of a message.

        Raises:
            ModelError: Always.
        """
        raise ModelError(
            "an audio encoder answers no questions; extract its states with `python -m "
            "trainers.extract`, or probe labels with `python -m trainers.encoder_probe`"
        )


def site_of_layer(layer: str) -> str:
    """The site for a layer of an encoder.

    >>> site_of_layer("layer.4"), site_of_layer("mfcc")
    ('audio.4', 'mfcc')
    """
    return f"audio.{layer.removeprefix(LAYER)}" if layer.startswith(LAYER) else layer


def open_encoder_model(
    name: str | None, revision: str | None, *, batch_size: int | None = None
) -> EncoderModel:
    """The encoder behind `encoder:SPEC[@REVISION]`.

    Raises:
        ModelError: No encoder is named, or it cannot be opened.
        UnknownName: There is none of that name.
    """
    if name is None:
        raise ModelError("name an encoder, such as `encoder:whisper-tiny.en`")
    return EncoderModel(open_encoder(name + (f"@{revision}" if revision else "")), batch_size)
