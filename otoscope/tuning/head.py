"""Training an output layer from states that were kept: the model itself is not loaded.

What enters the output layer does not depend on an addition to it. So the states that predict the
answers, the site `answer` of `trainers.extract`, are all that training needs besides the layer's
own weights, which are read from the checkpoint alone.
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
from otoscope.models.checkpoints import identity
from otoscope.representations.features import Features, Targets
from otoscope.tuning.config import TuningError
from otoscope.tuning.dropout import DropoutContext
from otoscope.tuning.examples import TrainingExamples
from otoscope.tuning.scopes import AdapterScope
from otoscope.tuning.trainable import ClipScore, score_clip

HEAD, EMBEDDINGS = "lm_head", "embed_tokens"
THROUGH = "train through the model, without --features"


class OutputLayer(torch.nn.Module):
    """An output layer under the name that it has in its model."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.lm_head = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
        self.lm_head.weight = torch.nn.Parameter(weight, requires_grad=False)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Logits of states `(n, width)`."""
        return self.lm_head(states)

    @property
    def scope(self) -> AdapterScope:
        """As `plan_scope` gives it for the whole model."""
        shape = (self.lm_head.in_features, self.lm_head.out_features)
        return AdapterScope("lm_head", HEAD, {HEAD: "head"}, {HEAD: shape}, (), False)


class TrainableHead:
    """An output layer that learns from states.

    Args:
        tuned: An `OutputLayer` with its addition, from `add_adapter`.
        examples: Clips and answers.
        states: Of all clips of the examples, in their order.
        passing: That of `add_adapter`.
    """

    micro_batch_size: int | None = None

    def __init__(
        self,
        tuned: peft.PeftModel,
        examples: TrainingExamples,
        states: Targets,
        dropout_context: DropoutContext,
    ) -> None:
        self.tuned, self.examples, self.dropout_context = tuned, examples, dropout_context
        base: Any = tuned.get_base_model()
        weight = base.lm_head.base_layer.weight
        self.states = torch.from_numpy(states.states).to(weight.device, weight.dtype)
        self.tokens = torch.from_numpy(states.tokens).to(weight.device)
        first = np.searchsorted(states.row, np.arange(len(examples.targets) + 1))
        self.rows = [torch.arange(a, b) for a, b in pairwise(first)]

    def backward(self, places: Sequence[int], epoch: int) -> list[float]:
        """See `Trainable`."""
        lengths = [len(self.rows[place]) for place in places]
        names = self.examples.column("id", places)
        with self.dropout_context.of(epoch, list(zip(names, lengths, strict=True))):
            costs = torch.nn.functional.cross_entropy(*self._predicted(places), reduction="none")
            losses = torch.stack([own.mean() for own in costs.split(lengths)])
            losses.sum().backward()
        made: list[float] = losses.tolist()
        return made

    def evaluate(self, places: Sequence[int]) -> list[ClipScore]:
        """See `Trainable`."""
        with torch.inference_mode():
            logits, _ = self._predicted(places)
        parts = logits.split([len(self.rows[place]) for place in places])
        return [
            score_clip(own, self.examples.targets[place], self.examples.others[place])
            for own, place in zip(parts, places, strict=True)
        ]

    def _predicted(self, places: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits `(n_tokens, n_words)` in float32, and the tokens that they should predict."""
        rows = torch.cat([self.rows[place] for place in places]).to(self.states.device)
        return self.tuned(self.states[rows]).float(), self.tokens[rows]


def read_head(name: str, revision: str | None, dtype: str) -> torch.Tensor:
    """The output layer's weights `(n_words, width)`, and nothing else of a checkpoint.

    Where the layer shares them with the embeddings, those are read.

    Args:
        name: A local folder or a Hub repository.
        revision: Of the repository.
        dtype: As the states' own description has it.

    Raises:
        TuningError: They are not there, quantised, or not in safetensors files.
    """
    from safetensors import safe_open

    places = _tensors(name, revision)
    found = _ending(places, f"{HEAD}.weight")
    if not found and _is_tied(name, revision):
        found = _ending(places, f"{EMBEDDINGS}.weight")
    if len(found) != 1 or _ending(places, f"{HEAD}.bias"):
        near = [key for key in places if HEAD in key] or ["nothing"]
        raise TuningError(
            f"{name!r} has no output layer that is one matrix, but {', '.join(near)}; it may be "
            f"missing or quantised; {THROUGH}"
        )
    with safe_open(places[found[0]], "pt") as file:
        weight = file.get_tensor(found[0])
    if not weight.is_floating_point():
        told = str(weight.dtype).removeprefix("torch.")
        raise TuningError(
            f"the output layer of {name!r} is quantised ({told}), and an addition to it would be "
            "trained on rounded numbers; take a checkpoint whose output layer is not"
        )
    return weight.to(getattr(torch, dtype))


def _ending(places: Mapping[str, Path], end: str) -> list[str]:
    return [key for key in places if key.endswith(end) and "talker" not in key]


def _is_tied(name: str, revision: str | None) -> bool:
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(name, revision=revision)
    inner = getattr(config, "thinker_config", config)
    return bool(getattr(inner, "tie_word_embeddings", False))


def validate_states(features: Features, name: str, revision: str | None) -> Mapping[str, Any]:
    """The description of the model that states are of, once it is the one named.

    Raises:
        TuningError: They are of another model, or of a model with an adapter.
        ModelError: There is no such checkpoint.
    """
    about = features.description.get("model")
    if not isinstance(about, Mapping) or "model_type" not in about:
        raise TuningError(f"{features.folder} holds no states of a model of transformers")
    if about.get("adapter") or about.get("own_adapter"):
        raise TuningError(
            f"{features.folder} holds states of a model with an adapter, and an adapter on top of "
            "another is not trained here; extract them from the base model"
        )
    try:
        which = identity(name, revision)
    except (OSError, ValueError) as error:
        raise ModelError(f"no checkpoint {name!r}: {error}") from error
    for part in ("content", "commit"):
        if which.get(part) != about.get(part):
            raise TuningError(
                f"{features.folder} holds states of another model: {part} {about.get(part)!r}, and "
                f"{name!r} has {which.get(part)!r}; extract them from this one"
            )
    return about


def _tensors(name: str, revision: str | None) -> dict[str, Path]:
    """Tensor to the safetensors file that holds it."""
    from safetensors import safe_open

    index = _file(name, revision, "model.safetensors.index.json")
    if index is not None:
        files = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        wanted = {key: file for key, file in files.items() if HEAD in key or EMBEDDINGS in key}
        paths = {file: _file(name, revision, file) for file in set(wanted.values())}
        return {key: path for key, file in wanted.items() if (path := paths[file]) is not None}
    whole = _file(name, revision, "model.safetensors")
    if whole is None:
        raise TuningError(
            f"{name!r} has no safetensors file to read the output layer from; {THROUGH}"
        )
    with safe_open(whole, "pt") as file:
        return dict.fromkeys(file.keys(), whole)


def _file(name: str, revision: str | None, file: str) -> Path | None:
    """A file of a checkpoint; None where it has none of that name."""
    if Path(name).is_dir():
        path = Path(name) / file
        return path if path.is_file() else None
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    try:
        return Path(hf_hub_download(name, file, revision=revision))
    except EntryNotFoundError:
        return None
