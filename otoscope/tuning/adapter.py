"""Puts an addition of low rank on the layers of a scope, and saves it as PEFT reads it."""

import json
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import peft
import torch

from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.dropout import DropoutContext, ItemDropout, generator_for
from otoscope.tuning.scopes import AdapterScope, validate_no_adapter

ADAPTER = "default"


def add_adapter(
    model: Any, scope: AdapterScope, settings: TrainingConfig, dropout_context: DropoutContext
) -> peft.PeftModel:
    """The model with an addition that does nothing yet, on the layers of the scope and no other.

    The first weights of a layer follow from the seed and the layer's name: neither from what else
    is adapted nor from the device. Nothing but the additions is trained, and the model itself
    stays in evaluation mode: its own dropout, if it has any, belongs to its own training.

    Args:
        model: The transformers model, or a part of one with the same names; changed in place.
        scope: From `plan_scope`.
        settings: Rank, alpha, dropout and seed.
        passing: Told whose states pass while something is being taught.

    Raises:
        TuningError: The model wears an adapter already, or PEFT adapted other layers.
    """
    validate_no_adapter(model)
    config = peft.LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        bias="none",
        target_modules=list(scope.modules),
    )
    with without_peft_warnings():
        tuned = peft.get_peft_model(model, config)
    layers = lora_layers(tuned)
    if different := sorted(layers.keys() ^ scope.modules.keys()):
        raise TuningError(
            f"PEFT adapted {len(layers)} layers where {len(scope.modules)} were to be; "
            f"{different[0]!r} is the first that differs"
        )
    for name, layer in layers.items():
        first = layer.lora_A[ADAPTER].weight
        drawn = torch.empty(first.shape)
        generator = generator_for(settings.seed, "first weights", name)
        torch.nn.init.kaiming_uniform_(drawn, a=math.sqrt(5), generator=generator)
        with torch.no_grad():
            first.copy_(drawn)
        if settings.dropout:
            layer.lora_dropout[ADAPTER] = ItemDropout(
                settings.dropout, name, dropout_context, on_cpu=name == scope.head
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
    """Name to what is trained, in the model's order."""
    return {name: weight for name, weight in tuned.named_parameters() if weight.requires_grad}


def save_adapter(
    tuned: peft.PeftModel, folder: Path, *, base: str, revision: str | None = None
) -> None:
    """Writes `adapter_model.safetensors` and `adapter_config.json`.

    The weights of the base model are not among them: PEFT would add those of an output layer, half
    a gigabyte that the base model has anyway.

    Args:
        tuned: From `add_adapter`.
        folder: Made if it is not there.
        base: Where the base model is, a path or a Hub name.
        revision: Its commit.
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
    """The base model with the addition in its own weights, saying what it said before.

    An output layer that shares its weights with the embeddings gets a copy of its own first;
    otherwise the addition would change the embeddings too.
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
    """Without PEFT's warnings about what is taken care of here.

    They are about output layers: that they may share their weights, and are not saved.
    """
    with warnings.catch_warnings():
        for told in (
            ".*tie_word_embeddings.*",
            ".*is_gradient_checkpointing.*",
            "Setting `save_embedding_layers`.*",
            "Could not find a config file.*",
        ):
            warnings.filterwarnings("ignore", message=told)
        yield
