"""Adds a LoRA adapter to the layers of a scope, and saves it as PEFT reads it."""

import json
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import peft
import torch

from otoscope.tuning.adapted_layers import AdaptedLayers, validate_no_adapter
from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.dropout import DropoutContext, ItemDropout, generator_for

ADAPTER = "default"


def add_adapter(
    model: Any, layers: AdaptedLayers, config: TrainingConfig, dropout: DropoutContext
) -> peft.PeftModel:
    """The model with an untrained adapter on these layers, which changes no output.

    First weights depend on the seed and the layer's name only: neither on the other layers nor on
    the device. Only the adapter is trainable, and the model stays in evaluation mode: its own
    dropout, if it has any, is off.

    Args:
        model: The transformers model, or a part of one with the same names; changed in place.
        layers, config: Where the adapter is added, and how.
        dropout: Set during training to the items of the forward pass.

    Raises:
        TuningError: The model has an adapter already, or PEFT adapted other layers.
    """
    validate_no_adapter(model)
    lora = peft.LoraConfig(
        r=config.rank,
        lora_alpha=config.alpha,
        lora_dropout=config.dropout,
        bias="none",
        target_modules=list(layers.modules),
    )
    with without_peft_warnings():
        tuned = peft.get_peft_model(model, lora)
    adapted = lora_layers(tuned)
    if different := sorted(adapted.keys() ^ layers.modules.keys()):
        raise TuningError(
            f"PEFT adapted {len(adapted)} layers instead of {len(layers.modules)}; "
            f"{different[0]!r} is the first that differs"
        )
    for name, layer in adapted.items():
        first = layer.lora_A[ADAPTER].weight
        drawn = torch.empty(first.shape)
        generator = generator_for(config.seed, "first weights", name)
        torch.nn.init.kaiming_uniform_(drawn, a=math.sqrt(5), generator=generator)
        with torch.no_grad():
            first.copy_(drawn)
        if config.dropout:
            layer.lora_dropout[ADAPTER] = ItemDropout(
                config.dropout, name, dropout, on_cpu=name == layers.head
            )
    tuned.eval()
    return tuned


def lora_layers(tuned: peft.PeftModel) -> dict[str, Any]:
    """Name in the base model to adapted layer."""
    from peft.tuners.lora import LoraLayer

    return {
        name: module
        for name, module in tuned.get_base_model().named_modules()
        if isinstance(module, LoraLayer)
    }


def trainable_parameters(tuned: peft.PeftModel) -> dict[str, torch.nn.Parameter]:
    """Name to trainable parameter, in the model's order."""
    return {name: weight for name, weight in tuned.named_parameters() if weight.requires_grad}


def save_adapter(
    tuned: peft.PeftModel, folder: Path, *, base: str, revision: str | None = None
) -> None:
    """Writes `adapter_model.safetensors` and `adapter_config.json`.

    Weights of the base model are left out. PEFT would add those of an output layer, which can be
    half a gigabyte. `base` is the base model's path or Hub name, `revision` its commit.
    """
    with without_peft_warnings():
        tuned.save_pretrained(str(folder), save_embedding_layers=False)
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config |= {
        "auto_mapping": None,
        "base_model_name_or_path": base,
        "revision": revision,
        "target_modules": sorted(config["target_modules"]),
        "task_type": "CAUSAL_LM",
    }
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def merge_adapter(tuned: peft.PeftModel) -> Any:
    """The base model with the adapter merged into its weights; outputs stay the same.

    An output layer that shares its weights with the embeddings gets a copy of its own first;
    otherwise the embeddings would change too.
    """
    base: Any = tuned.get_base_model()
    head, embeddings = base.get_output_embeddings(), base.get_input_embeddings()
    if head is not None and embeddings is not None and head.weight is embeddings.weight:
        own = torch.nn.Parameter(head.weight.detach().clone(), requires_grad=False)
        getattr(head, "base_layer", head).weight = own
        for config in {id(c): c for c in (base.config, base.config.get_text_config())}.values():
            config.tie_word_embeddings = False
    with without_peft_warnings():
        return tuned.merge_and_unload()


@contextmanager
def without_peft_warnings() -> Iterator[None]:
    """Suppresses PEFT's warnings about output layers: tied weights, and weights not saved."""
    with warnings.catch_warnings():
        for message in (
            ".*tie_word_embeddings.*",
            ".*is_gradient_checkpointing.*",
            "Setting `save_embedding_layers`.*",
            "Could not find a config file.*",
        ):
            warnings.filterwarnings("ignore", message=message)
        yield
