"""Which layers are adapted: listed by name before anything is trained.

`all_linear` is what the published runs did: every linear layer of the wrapped model, the output
layer and the audio tower with it (PEFT's own word of that name leaves the output layer out).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from otoscope.models.families import FAMILIES
from otoscope.tuning.config import SCOPES, TuningError

PARTS = {
    "lm_head": ("head",),
    "decoder": ("decoder",),
    "all_linear": ("head", "decoder", "projector", "tower"),
}


@dataclass(frozen=True)
class AdapterScope:
    """The layers of one model that are adapted.

    Attributes:
        name: A name in `SCOPES`.
        head: Name of the output layer.
        modules: Name of each layer to its part: `head`, `decoder`, `projector` or `tower`.
        shapes: Name of each layer to the numbers that enter and leave it.
        left_out: Linear layers that are in none of these parts, such as a tower for pictures.
        tied: Whether the output layer shares its weights with the embeddings.
    """

    name: str
    head: str
    modules: Mapping[str, str]
    shapes: Mapping[str, tuple[int, int]]
    left_out: tuple[str, ...]
    tied: bool

    def n_parameters(self, rank: int) -> int:
        """Numbers that are trained."""
        return sum(rank * (entering + leaving) for entering, leaving in self.shapes.values())

    def listed(self) -> list[str]:
        """A line for each kind of layer and the number of its kind."""
        lines = []
        for part in dict.fromkeys(self.modules.values()):
            kinds = layer_kinds(name for name, own in self.modules.items() if own == part)
            lines += [f"{part:<9} {n:>4} x {kind}" for kind, n in kinds]
        return lines + [f"left out  {n:>4} x {kind}" for kind, n in layer_kinds(self.left_out)]


def plan_scope(model: Any, model_type: str, name: str) -> AdapterScope:
    """The layers that a scope means in a model.

    Args:
        model: The transformers model, no adapter on it.
        model_type: As its `config.json` has it.
        name: A name in `SCOPES`.

    Raises:
        TuningError: There is no such scope, a part of it has no layer, the output layer is missing
            or quantised, or the model wears an adapter.
    """
    if name not in SCOPES:
        raise TuningError(f"no scope named {name!r}; there are {', '.join(SCOPES)}")
    import torch

    validate_no_adapter(model)
    head = _head_of(model)
    family = FAMILIES[model_type]
    places = {
        "head": head,
        "decoder": f"{family.decoder}.layers",
        "projector": family.projector,
        "tower": family.audio_tower,
    }
    modules: dict[str, str] = {}
    shapes: dict[str, tuple[int, int]] = {}
    left_out = []
    for path, module in model.named_modules():
        if not isinstance(module, torch.nn.Linear):
            continue
        part = next((part for part, place in places.items() if _is_in(path, place)), None)
        if part is None:
            left_out.append(path)
        elif part in PARTS[name]:
            modules[path] = part
            shapes[path] = (module.in_features, module.out_features)
    if "head" in PARTS[name]:
        _check_head(model, head)
    if missing := [part for part in PARTS[name] if part not in modules.values()]:
        raise TuningError(
            f"{type(model).__name__} has no linear layer in {', '.join(missing)} "
            f"({', '.join(places[part] for part in missing)}), so scope {name!r} would not be what "
            "it says; choose another scope"
        )
    return AdapterScope(name, head, modules, shapes, tuple(left_out), _is_tied(model))


def validate_no_adapter(model: Any) -> None:
    """Refuses a model with an adapter on it.

    Raises:
        TuningError: It wears one, its own or another.
    """
    from peft import PeftModel

    if isinstance(model, PeftModel):
        raise TuningError(
            "the model wears an adapter already (some families hear with one of their own), and "
            "training a second one on top is not done here; take a base model without one"
        )


def layer_kinds(names: Iterable[str]) -> list[tuple[str, int]]:
    """Names that differ by a layer's number only, as one, and how many there are.

    >>> layer_kinds(["a.0.q", "a.1.q", "b"])
    [('a.*.q', 2), ('b', 1)]
    """
    return list(Counter(map(_kind, names)).items())


def _kind(name: str) -> str:
    return re.sub(r"\.\d+(?=\.|$)", ".*", name)


def _is_in(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}.")


def _head_of(model: Any) -> str:
    head = model.get_output_embeddings()
    found = [path for path, module in model.named_modules() if module is head]
    if head is None or not found:
        raise TuningError(
            f"{type(model).__name__} has no output layer that turns states into words"
        )
    return str(found[0])


def _check_head(model: Any, path: str) -> None:
    head = model.get_submodule(path)
    weight = getattr(head, "weight", None)
    if weight is None or not weight.is_floating_point() or type(head).__name__ != "Linear":
        told = "no weight" if weight is None else str(weight.dtype).removeprefix("torch.")
        raise TuningError(
            f"the output layer {path!r} is a {type(head).__name__} ({told}): it is quantised, and "
            "an addition to it would be trained on rounded numbers; load a checkpoint whose output "
            "layer is not quantised, or choose --scope decoder"
        )


def _is_tied(model: Any) -> bool:
    embeddings, head = model.get_input_embeddings(), model.get_output_embeddings()
    return getattr(embeddings, "weight", None) is getattr(head, "weight", 0)
