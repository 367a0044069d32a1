"""The record of a finished adapter: `training.json`, and the values of its card."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from otoscope.claims import FolderKind
from otoscope.models.families import FAMILIES
from otoscope.tuning.adapted_layers import AdaptedLayers
from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.history import TrainingHistory, ValidationResult, percent
from otoscope.tuning.scopes import SCOPES
from otoscope.version import __version__

FINISHED = FolderKind("adapter", "training.json", TuningError)
"""The record of a finished adapter."""


def write_record(
    folder: Path, begun: Mapping[str, Any], layers: AdaptedLayers, history: TrainingHistory
) -> None:
    """Writes it; from then on the adapter counts as finished."""
    record = {"begun": begun, "modules": list(layers.modules), "history": history.plain()}
    FINISHED.write(folder, record)


def card_values(
    begun: Mapping[str, Any],
    config: TrainingConfig,
    layers: AdaptedLayers,
    history: TrainingHistory,
    answers: Sequence[str],
    base: str,
) -> dict[str, Any]:
    """The values of `cards/adapter.md.jinja`.

    Args:
        begun: Model, data and config of the training.
        config: How it was trained.
        layers: The adapted layers.
        history: Losses and validations.
        answers: A line for each answer and its tokens.
        base: The base model's path or Hub name.
    """
    model = begun["model"]
    family = FAMILIES[model["model_type"]]
    return {
        "base": base if "commit" in model else Path(base).resolve().name,
        "hub_base": base if "commit" in model else None,
        "revision": model.get("commit") or f"content {model['content'][:16]}",
        "model_type": model["model_type"],
        "dtype": model["dtype"],
        "categories": begun["categories"],
        "prompt": begun["prompt"],
        "dataset": Path(begun["dataset"]).name,
        "data_sha256": begun["data_sha256"],
        "n_train": begun["n_train"],
        "n_validation": begun["n_validation"],
        "by_clip": begun["split"] == "paper",
        "from_states": begun["learnt_from"] == "states",
        "scope": layers.scope,
        "scope_description": SCOPES[layers.scope].description,
        "kinds": layers.kinds(),
        "n_modules": len(layers.modules),
        "n_parameters": layers.n_parameters(config.rank),
        "tied": layers.tied and layers.head in layers.modules,
        "settings": config,
        "n_steps": len(history.losses),
        "first_loss": history.losses[0],
        "last_loss": history.losses[-1],
        "validations": [_row(v) for v in history.validations],
        "answers": answers,
        "random_weights_only": family.proven != "real weights",
        "version": __version__,
    }


def _row(validation: ValidationResult) -> dict[str, Any]:
    return validation._asdict() | {
        "loss": f"{validation.loss:.4f}",
        "generated": percent(validation.generated),
        "preferred": percent(validation.preferred),
    }
