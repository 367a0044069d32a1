"""The layers of a model that a LoRA scope selects, listed by name before anything is trained.

`all_linear` is what the published runs did: every linear layer of the wrapped model, the output
layer and the audio tower with it (PEFT's `all-linear` leaves the output layer out).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from otoscope.models.families import FAMILIES
from otoscope.tuning.config import TuningError
from otoscope.tuning.scopes import SCOPES


@dataclass(frozen=True)
class AdaptedLayers:
    """The layers of one model that get an adapter.

    Attributes:
        scope: A name in `SCOPES`.
        head: Name of the output layer.
        modules: Name of each layer to its part: `head`, `decoder`, `projector` or `tower`.
        shapes: Name of each layer to its numbers of inputs and outputs.
        excluded: Linear layers that are in none of these parts, such as a tower for pictures.
        tied: Whether the output layer shares its weights with the embeddings.
    """

    scope: str
    head: str
    modules: Mapping[str, str]
    shapes: Mapping[str, tuple[int, int]]
    excluded: tuple[str, ...]
    tied: bool

    def n_parameters(self, rank: int) -> int:
        """Number of trainable parameters."""
        return sum(rank * (n_in + n_out) for n_in, n_out in self.shapes.values())

    def validate_rank(self, rank: int) -> None:
        """Rejects a rank that no layer can use: an update has at most the rank of the layer.

        Raises:
            TuningError: The largest useful rank is named.
        """
        largest = max((min(shape) for shape in self.shapes.values()), default=0)
        if rank > largest:
            raise TuningError(
                f"--lora-rank {rank} is above {largest}, the full rank of the largest of these "
                "layers; choose a smaller one"
            )

    def kinds(self) -> list[tuple[str, str, int]]:
        """Part, name and number of each kind of layer."""
        return [
            (part, name, n)
            for part in dict.fromkeys(self.modules.values())
            for name, n in layer_kinds(m for m, own in self.modules.items() if own == part)
        ]

    def listed(self) -> list[str]:
        """A line for each kind of layer and the number of its kind."""
        lines = [f"{part:<9} {n:>4} x {name}" for part, name, n in self.kinds()]
        return lines + [f"excluded  {n:>4} x {name}" for name, n in layer_kinds(self.excluded)]


def plan_scope(model: Any, model_type: str, scope: str) -> AdaptedLayers:
    """The layers of a model that a scope selects.

    Raises:
        TuningError: There is no such scope, a part of it has no layer, the output layer is missing
            or quantised, or the model has an adapter.
    """
    if scope not in SCOPES:
        raise TuningError(f"no scope named {scope!r}; there are {', '.join(SCOPES)}")
    import torch

    validate_no_adapter(model)
    head, family, wanted = _head_of(model), FAMILIES[model_type], SCOPES[scope].parts
    paths = {
        "head": head,
        "decoder": f"{family.decoder}.layers",
        "projector": family.projector,
        "tower": family.audio_tower,
    }
    modules: dict[str, str] = {}
    shapes: dict[str, tuple[int, int]] = {}
    excluded = []
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.Linear):
            continue
        part = next((part for part, path in paths.items() if _is_in(name, path)), None)
        if part is None:
            excluded.append(name)
        elif part in wanted:
            modules[name] = part
            shapes[name] = (module.in_features, module.out_features)
    if "head" in wanted:
        _validate_head(model, head)
    if missing := [part for part in wanted if part not in modules.values()]:
        raise TuningError(
            f"{type(model).__name__} has no linear layer in {', '.join(missing)} "
            f"({', '.join(paths[part] for part in missing)}), which scope {scope!r} includes; "
            "choose another scope"
        )
    return AdaptedLayers(scope, head, modules, shapes, tuple(excluded), _is_tied(model))


def validate_no_adapter(model: Any) -> None:
    """Rejects a model with an adapter.

    Raises:
        TuningError: It has one.
    """
    from peft import PeftModel

    if isinstance(model, PeftModel):
        raise TuningError(
            "the model has an adapter already (some families need one of their own for audio), and "
            "training a second one on top is not supported; take a base model without one"
        )


def layer_kinds(names: Iterable[str]) -> list[tuple[str, int]]:
    """Names that differ by a layer's number only, as one, and how many there are.

    >>> layer_kinds(["a.0.q", "a.1.q", "b"])
    [('a.*.q', 2), ('b', 1)]
    """
    return list(Counter(re.sub(r"\.\d+(?=\.|$)", ".*", name) for name in names).items())


def _is_in(name: str, path: str) -> bool:
    return name == path or name.startswith(f"{path}.")


def _head_of(model: Any) -> str:
    head = model.get_output_embeddings()
    found = [name for name, module in model.named_modules() if module is head]
    if head is None or not found:
        raise TuningError(f"{type(model).__name__} has no output layer")
    return str(found[0])


def _validate_head(model: Any, name: str) -> None:
    head = model.get_submodule(name)
    weight = getattr(head, "weight", None)
    if weight is None or not weight.is_floating_point() or type(head).__name__ != "Linear":
        dtype = "no weight" if weight is None else str(weight.dtype).removeprefix("torch.")
        raise TuningError(
            f"the output layer {name!r} is a {type(head).__name__} ({dtype}): it is quantised, and "
            "an adapter would be trained on rounded weights; load a checkpoint whose output layer "
            "is not quantised, or choose --scope decoder"
        )


def _is_tied(model: Any) -> bool:
    embeddings, head = model.get_input_embeddings(), model.get_output_embeddings()
    return getattr(embeddings, "weight", None) is getattr(head, "weight", 0)
