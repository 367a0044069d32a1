"""The record of a finished adapter: `training.json`, and the values of its card."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from otoscope.claims import FolderKind
from otoscope.errors import first_line
from otoscope.models.families import FAMILIES
from otoscope.tuning.adapted_layers import AdaptedLayers
from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.history import TrainingHistory, ValidationResult, percent
from otoscope.tuning.scopes import SCOPES
from otoscope.version import __version__

FINISHED = FolderKind("adapter", "training.json", TuningError)
"""An adapter counts as finished once this record is written."""


def read_finished(folder: Path) -> tuple[dict[str, Any], TrainingHistory] | None:
    """What a finished adapter was begun with, and its history; None where it is not finished.

    Raises:
        TuningError: The record has other content.
    """
    record = FINISHED.read(folder)
    if record is None:
        return None
    try:
        begun, history = dict(record["begun"]), TrainingHistory.from_plain(record["history"])
        dict(begun["settings"])
        history.summary()
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise TuningError(
            f"{folder / FINISHED.record} is no record of a training "
            f"({type(error).__name__}: {first_line(error)}); {FINISHED.way_out}"
        ) from error
    return begun, history


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
        config, layers, history: Of the training.
        answers: A line for each answer and its tokens.
        base: The base model's path or Hub name.
    """
    model = begun["model"]
    return {
        **begun,
        "base": base if "commit" in model else Path(base).resolve().name,
        "hub_base": base if "commit" in model else None,
        "revision": model.get("commit") or f"content {model['content'][:16]}",
        "dataset": Path(begun["dataset"]).name,
        "by_clip": begun["split"] == "paper",
        "from_states": begun["learnt_from"] == "states",
        "scope_description": SCOPES[layers.scope].description,
        "layers": layers,
        "tied": layers.tied and layers.head in layers.modules,
        "settings": config,
        "losses": history.losses,
        "validations": [_row(v) for v in history.validations],
        "answers": answers,
        "random_weights_only": FAMILIES[model["model_type"]].proven != "real weights",
        "version": __version__,
    }


def _row(validation: ValidationResult) -> dict[str, Any]:
    return validation._asdict() | {
        "loss": f"{validation.loss:.4f}",
        "generated": percent(validation.generated),
        "preferred": percent(validation.preferred),
    }
