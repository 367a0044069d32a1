"""Training of an output layer from cached hidden states, without loading the model.

The input of the output layer does not depend on the layer's adapter. So the hidden states that
predict the answers, the site `answer` of `trainers.extract`, and the layer's own weights from the
checkpoint are all that training needs.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import peft
import torch

from otoscope.models.base import ModelError
from otoscope.models.checkpoints import checkpoint_file, identity
from otoscope.representations.features import Features, Targets
from otoscope.tuning.adapted_layers import AdaptedLayers
from otoscope.tuning.config import TuningError
from otoscope.tuning.dropout import DropoutContext
from otoscope.tuning.examples import TrainingExamples
from otoscope.tuning.trainable import ClipScore, score_clip

HEAD, EMBEDDINGS = "lm_head", "embed_tokens"
WAY_OUT = "train through the model, without --features"


class OutputLayer(torch.nn.Module):
    """An output layer under the name that it has in its model."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.lm_head = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
        self.lm_head.weight = torch.nn.Parameter(weight, requires_grad=False)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Logits of hidden states `(n, width)`."""
        return self.lm_head(states)

    @property
    def layers(self) -> AdaptedLayers:
        """As `plan_scope` has them for the whole model."""
        shape = (self.lm_head.in_features, self.lm_head.out_features)
        return AdaptedLayers("lm_head", HEAD, {HEAD: "head"}, {HEAD: shape}, (), False)


class TrainableHead:
    """An output layer with an adapter, and the cached hidden states it is trained on.

    Args:
        tuned, dropout: An `OutputLayer` with its adapter, and the dropout of `add_adapter`.
        examples: Clips and answers.
        states: Of all clips of the examples, in their order.
    """

    max_clips: int | None = None

    def __init__(
        self,
        tuned: peft.PeftModel,
        examples: TrainingExamples,
        states: Targets,
        dropout: DropoutContext,
    ) -> None:
        self.tuned, self.examples, self.dropout = tuned, examples, dropout
        base: Any = tuned.get_base_model()
        weight = base.lm_head.base_layer.weight
        self.states = torch.from_numpy(states.states).to(weight.device, weight.dtype)
        self.tokens = torch.from_numpy(states.tokens).to(weight.device)
        first = np.searchsorted(states.row, np.arange(len(examples.targets) + 1))
        self.rows = [torch.arange(a, b) for a, b in pairwise(first)]

    def backward(self, indices: Sequence[int], epoch: int) -> list[float]:
        """See `Trainable`."""
        lengths = [len(self.rows[n]) for n in indices]
        names = self.examples.column("id", indices)
        with self.dropout.of(epoch, list(zip(names, lengths, strict=True))):
            token_losses = torch.nn.functional.cross_entropy(
                *self._logits(indices), reduction="none"
            )
            losses = torch.stack([own.mean() for own in token_losses.split(lengths)])
            losses.sum().backward()
        return [float(loss) for loss in losses.detach()]

    def evaluate(self, indices: Sequence[int]) -> list[ClipScore]:
        """See `Trainable`."""
        with torch.inference_mode():
            logits, _ = self._logits(indices)
        by_clip = logits.split([len(self.rows[n]) for n in indices])
        return [
            score_clip(own, self.examples.targets[n], self.examples.alternatives[n])
            for own, n in zip(by_clip, indices, strict=True)
        ]

    def _logits(self, indices: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Float32 logits `(n_positions, n_tokens)`, and the right token of each position."""
        rows = torch.cat([self.rows[n] for n in indices]).to(self.states.device)
        return self.tuned(self.states[rows]).float(), self.tokens[rows]


def read_head(name: str, revision: str | None, dtype: str) -> torch.Tensor:
    """The output layer's weights `(n_tokens, width)`, without the rest of a checkpoint.

    Where the layer shares them with the embeddings, those are read.

    Args:
        name, revision: A local folder, or a Hub repository and its revision.
        dtype: Of the cached hidden states.

    Raises:
        TuningError: They are not there, quantised, or not in safetensors files.
    """
    from safetensors import safe_open

    files = _tensor_files(name, revision)
    found = _ending(files, f"{HEAD}.weight")
    if not found and _is_tied(name, revision):
        found = _ending(files, f"{EMBEDDINGS}.weight")
    if len(found) != 1 or _ending(files, f"{HEAD}.bias"):
        near = [key for key in files if HEAD in key] or ["nothing"]
        raise TuningError(
            f"{name!r} has no output layer that is one matrix, but {', '.join(near)}; it may be "
            f"missing or quantised; {WAY_OUT}"
        )
    with safe_open(files[found[0]], "pt") as file:
        weight = file.get_tensor(found[0])
    if not weight.is_floating_point():
        dtype = str(weight.dtype).removeprefix("torch.")
        raise TuningError(
            f"the output layer of {name!r} is quantised ({dtype}), and an adapter would be "
            "trained on rounded weights; take a checkpoint whose output layer is not"
        )
    return weight.to(getattr(torch, dtype))


def _ending(files: Mapping[str, Path], end: str) -> list[str]:
    return [key for key in files if key.endswith(end) and "talker" not in key]


def _is_tied(name: str, revision: str | None) -> bool:
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(name, revision=revision)
    inner = getattr(config, "thinker_config", config)
    return bool(getattr(inner, "tie_word_embeddings", False))


def stops_of(name: str, revision: str | None) -> Any:
    """The token or tokens at which a checkpoint stops generating; None where it names none."""
    from transformers import GenerationConfig

    where: dict[str, Any] = {"revision": revision}
    try:
        return GenerationConfig.from_pretrained(name, **where).eos_token_id
    except OSError:
        return None


def validate_states(features: Features, name: str, revision: str | None) -> Mapping[str, Any]:
    """Checks that cached hidden states are of a checkpoint; gives the description of their model.

    Raises:
        TuningError: They are of another model, or of a model with an adapter.
        ModelError: There is no such checkpoint.
    """
    about = features.description.get("model")
    if not isinstance(about, Mapping) or "model_type" not in about:
        raise TuningError(f"{features.folder} holds no hidden states of a model of transformers")
    if about.get("adapter") or about.get("own_adapter"):
        raise TuningError(
            f"{features.folder} holds hidden states of a model with an adapter, and training "
            "another on top is not supported; extract them from the base model"
        )
    try:
        which = identity(name, revision)
    except (OSError, ValueError) as error:
        raise ModelError(f"no checkpoint {name!r}: {error}") from error
    for part in ("content", "commit"):
        if which.get(part) != about.get(part):
            raise TuningError(
                f"{features.folder} holds hidden states of another model: {part} "
                f"{about.get(part)!r}, and {name!r} has {which.get(part)!r}; extract them again"
            )
    return about


def _tensor_files(name: str, revision: str | None) -> dict[str, Path]:
    """Name of each tensor to its safetensors file."""
    from safetensors import safe_open

    index = checkpoint_file(name, revision, "model.safetensors.index.json")
    if index is not None:
        files = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        wanted = {key: file for key, file in files.items() if HEAD in key or EMBEDDINGS in key}
        paths = {file: checkpoint_file(name, revision, file) for file in set(wanted.values())}
        return {key: path for key, file in wanted.items() if (path := paths[file]) is not None}
    single = checkpoint_file(name, revision, "model.safetensors")
    if single is None:
        raise TuningError(
            f"{name!r} has no safetensors file to read the output layer from; {WAY_OUT}"
        )
    with safe_open(single, "pt") as file:
        return dict.fromkeys(file.keys(), single)
