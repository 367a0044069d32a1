"""Embeddings, scores of labels and seconds of clips, in the form in which features are extracted.

`hidden_states.CustomModelExtractor` takes a `TimedEmbeddings` like a user's own model, so that
features of encoders are stored, resumed and shared among processes as hidden states are.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from otoscope.models.base import Request
from otoscope.representations.encoders.base import (
    AudioEncoder,
    ZeroShotEncoder,
    embedding_widths,
    embeddings,
)
from otoscope.representations.hidden_states import only_clip

ZERO_SHOT, WALL_S = "zero_shot", "wall_s"
"""Sites beside the layers: scores of labels, and seconds."""


class TimedEmbeddings:
    """An encoder as a model with sites: its layers, `zero_shot` where it can, and `wall_s`.

    The first batch is run once before it is timed. A batch shares its time evenly.

    Attributes:
        no_zero_shot: Why an encoder that scores labels does not score these; else None.
    """

    def __init__(
        self, encoder: AudioEncoder, labels: Sequence[str] = (), batch_size: int = 1
    ) -> None:
        """Takes an encoder.

        Args:
            labels: To score without any fitting; none are where the encoder cannot.
            batch_size: Clips in one call.
        """
        self.encoder, self.batch_size = encoder, batch_size
        encoder.batch_size = batch_size
        scores = isinstance(encoder, ZeroShotEncoder) and bool(labels)
        self.no_zero_shot: str | None = None
        if scores and (missing := encoder.unknown_label(labels)):  # type: ignore[attr-defined]
            scores, self.no_zero_shot = False, missing
        self.labels = tuple(labels) if scores else ()
        self.sites: Mapping[str, int] = {
            **embedding_widths(encoder),
            **({ZERO_SHOT: len(self.labels)} if scores else {}),
            WALL_S: 1,
        }
        self.description = {
            **encoder.description,
            "pooling": encoder.pooling,
            "labels": list(self.labels),
            "batch_size": batch_size,
            **({"no_zero_shot": self.no_zero_shot} if self.no_zero_shot else {}),
        }
        self._warm = False

    def states(self, requests: Sequence[Request], sites: Sequence[str]) -> dict[str, Any]:
        """Each site of some clips, `(n_clips, width)`."""
        clips = [only_clip(request) for request in requests]
        if not self._warm:
            self._all([replace(clip) for clip in clips])  # copies, which are no batch of before
            self._warm = True
        begin = time.perf_counter()
        found = self._all(clips)
        seconds = (time.perf_counter() - begin) / len(clips)
        found[WALL_S] = np.full((len(clips), 1), seconds, np.float32)
        return {site: found[site] for site in sites}

    def _all(self, clips: Sequence[Any]) -> dict[str, Any]:
        found: dict[str, Any] = embeddings(self.encoder, clips)
        if self.labels:
            assert isinstance(self.encoder, ZeroShotEncoder)
            found[ZERO_SHOT] = self.encoder.label_scores(clips, self.labels)
        return found
