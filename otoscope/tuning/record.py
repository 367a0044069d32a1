"""What a finished adapter says of itself: `training.json`, and the values of its card."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from otoscope.atomic import write_atomic
from otoscope.models.families import FAMILIES
from otoscope.statistics.intervals import Interval
from otoscope.tuning.config import SCOPES, TrainingConfig, TuningError
from otoscope.tuning.scopes import AdapterScope, layer_kinds
from otoscope.tuning.training import TrainingHistory, ValidationResult
from otoscope.version import __version__

RECORD = "training.json"


def read_record(folder: Path) -> dict[str, Any] | None:
    """What a finished adapter says of itself; None where none is finished.

    Raises:
        TuningError: It cannot be read.
    """
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise TuningError(f"{path} cannot be read: {error}") from error


def write_record(
    folder: Path, begun: Mapping[str, Any], scope: AdapterScope, history: TrainingHistory
) -> None:
    """Writes it; from then on the adapter counts as finished."""
    told = {"begun": begun, "modules": list(scope.modules), "history": history.plain()}
    write_atomic(folder / RECORD, (json.dumps(told, indent=1, sort_keys=True) + "\n").encode())


def summary(history: TrainingHistory) -> str:
    """Before and after in one line."""
    first, last = history.validations[0], history.validations[-1]
    return (
        f"the right answer is what would be said for {_percent(first.said)} before and "
        f"{_percent(last.said)} after, of {last.n_clips:,} clips of {last.n_sources:,} sources"
    )


def card_values(
    begun: Mapping[str, Any],
    settings: TrainingConfig,
    scope: AdapterScope,
    history: TrainingHistory,
    answers: Sequence[str],
    base: str,
) -> dict[str, Any]:
    """Everything that `cards/adapter.md.jinja` asks for.

    Args:
        begun: What was trained, on what, and how.
        settings: How.
        scope: What was adapted.
        history: What happened.
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
        "scope": scope.name,
        "scope_told": SCOPES[scope.name],
        "kinds": [(part, name, n) for part in dict.fromkeys(scope.modules.values())
                  for name, n in layer_kinds(m for m, own in scope.modules.items() if own == part)],
        "n_modules": len(scope.modules),
        "n_parameters": scope.n_parameters(settings.rank),
        "tied": scope.tied and scope.head in scope.modules,
        "settings": settings,
        "n_steps": len(history.losses),
        "first_loss": history.losses[0],
        "last_loss": history.losses[-1],
        "validations": [_row(v) for v in history.validations],
        "answers": answers,
        "random_weights_only": family.proven != "real weights",
        "version": __version__,
    }  # fmt: skip


def _row(validation: ValidationResult) -> dict[str, Any]:
    return {
        "step": validation.step,
        "loss": f"{validation.loss:.4f}",
        "said": _percent(validation.said),
        "preferred": _percent(validation.preferred),
        "n_clips": validation.n_clips,
        "n_sources": validation.n_sources,
    }


def _percent(share: Interval) -> str:
    low, high = 100 * share.low, 100 * share.high
    return f"{100 * share.estimate:.1f} % [{low:.1f}, {high:.1f}]"
