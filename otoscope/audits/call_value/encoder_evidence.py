"""Predictions of encoders as an evidence folder, and the probes behind them.

OUT/predictions.parquet, examples.parquet, evidence.json   see `evidence`
OUT/probes/ACTION.npz    mean, scale, weights and bias, fitted on all development examples
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.atomic import file_sha256, write_atomic
from otoscope.audits.call_value.encoder_actions import (
    Evidences,
    FittedAction,
    Fitting,
    actions_of,
    development_folds,
    fit_alone,
    fold_names,
    out_of_fold,
    scoring,
)
from otoscope.audits.call_value.evidence import EVIDENCE, PREDICTIONS, example_rows, write_evidence
from otoscope.audits.call_value.schema import DEVELOPMENT, ENCODER, HOLDOUT, CallValueError
from otoscope.audits.labelled import LabelledData
from otoscope.audits.opening import dataset_name
from otoscope.probes.closed_set import ClosedSetProbe
from otoscope.representations.encoders.timed import TimedEmbeddings
from otoscope.version import __version__

LIBRARIES = {"scikit-learn": "sklearn", "transformers": "transformers", "torch": "torch"}
"""Distribution and module."""

PredictionRows = Iterator[dict[str, Any]]


@dataclass(frozen=True)
class EncoderSettings:
    """What decides how probes of encoders are fitted.

    Attributes:
        n_folds: Of development examples.
        seed: Of the folds that count.
        fold_seeds: Of more fold assignments, whose predictions stand beside.
        C: Of logistic regressions, as scikit-learn names it.
    """

    n_folds: int = 5
    seed: int = 0
    fold_seeds: tuple[int, ...] = ()
    C: float = 1.0

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            CallValueError: One cannot be used.
        """
        if self.n_folds < 2:
            raise CallValueError(f"out-of-fold predictions need two folds, not {self.n_folds}")
        if not 0 < self.C < np.inf:
            raise CallValueError(f"C must be a number above 0, not {self.C}")


def evidence_record(
    data: LabelledData,
    dataset: str,
    encoders: Mapping[str, TimedEmbeddings],
    settings: EncoderSettings,
) -> dict[str, Any]:
    """Everything that decides the tables: dataset, encoders, settings, versions."""
    digest = hashlib.sha256()
    for row in data.rows:
        fields = (row.id, row.split, row.label, row.cluster_id, data.facts(row.id)[0])
        digest.update(json.dumps(fields).encode())
    versions = {name: version(name) for name, module in LIBRARIES.items() if find_spec(module)}
    return {
        "made_by": "encoders",
        "dataset": {
            "name": dataset_name(dataset),
            "task": data.task,
            "content": digest.hexdigest(),
        },
        "labels": list(data.labels),
        "encoders": {name: timed.description for name, timed in encoders.items()},
        "settings": asdict(settings),
        "costs": {
            "wall_s": "seconds of the encoder on each clip, after a first pass that is not timed"
            if all(timed.batch_size == 1 for timed in encoders.values())
            else "seconds of each batch, shared evenly by its clips"
        },
        "versions": {"otoscope": __version__, **versions},
    }


def complete(out: Path) -> bool:
    """Whether tables and probes have been written."""
    return (out / PREDICTIONS).is_file() and "probes" in (EVIDENCE.read(out) or {})


def development_of(data: LabelledData, settings: EncoderSettings) -> tuple[np.ndarray, Fitting]:
    """Which rows are development examples, and what of them may be fitted on.

    Raises:
        CallValueError: There are fewer clusters than folds, or a label is missing in a fit.
    """
    inside = np.array([row.split == DEVELOPMENT for row in data.rows])
    rows = data.of(DEVELOPMENT)
    on = Fitting(
        labels=np.array([data.labels.index(row.label) for row in rows]),
        clusters=np.array([row.cluster_id for row in rows]),
        n_labels=len(data.labels),
        n_folds=settings.n_folds,
        seed=settings.seed,
        C=settings.C,
    )
    for seed in (settings.seed, *settings.fold_seeds):
        development_folds(on._replace(seed=seed), data.labels)
    return inside, on


def prediction_rows(
    data: LabelledData,
    evidence: Evidences,
    settings: EncoderSettings,
    fitted: Mapping[str, FittedAction],
    step: Callable[..., None] = lambda: None,
) -> PredictionRows:
    """A row for each example and action, and for each other fold assignment.

    Args:
        fitted: Every action, fitted on all development examples.
        step: Called once an action and fold assignment.
    """
    inside, on = development_of(data, settings)
    known = {name: own.rows(inside) for name, own in evidence.items()}
    new = {name: own.rows(~inside) for name, own in evidence.items()}
    development = [row.id for row in data.of(DEVELOPMENT)]
    holdout = [row.id for row in data.of(HOLDOUT)]
    for action, fit in actions_of(scoring(evidence)).items():
        about = _about(action, fitted[action], evidence)
        seconds = _seconds(fitted[action], evidence)
        for seed in (None, *settings.fold_seeds):
            tried = on if seed is None else on._replace(seed=seed)
            found = out_of_fold(action, fit, known, tried, development_folds(tried, data.labels))
            if seed is None or found.folds is not None:
                named = {} if seed is None else {"fold_seed": str(seed)}
                folds = fold_names(found.folds, len(development))
                for i, row in enumerate(
                    _rows(development, found.scores, found.confidence, data.labels, seconds[inside])
                ):
                    yield row | about | named | {"fold": folds[i]}
            step()
        scores = fitted[action].scores(new)
        confidence = fitted[action].confidence(scores)
        nothing = {"fold": "none"} if found.folds is None else {}
        for row in _rows(holdout, scores, confidence, data.labels, seconds[~inside]):
            yield row | about | nothing


def _about(action: str, fitted: FittedAction, evidence: Evidences) -> dict[str, Any]:
    names = dict.fromkeys(name for name, _ in fitted.columns)
    revision = "; ".join(f"{name} {evidence[name].revision}" for name in names)
    local = {"price": 0.0, "audio_s": 0.0, "tokens": 0}
    return {"action": action, "kind": ENCODER, "revision": revision, **local}


def _seconds(fitted: FittedAction, evidence: Evidences) -> np.ndarray:
    """Seconds of each example, of all encoders that an action needs; probes take none."""
    names = dict.fromkeys(name for name, _ in fitted.columns)
    return np.sum([evidence[name].wall_s for name in names], axis=0)


def _rows(
    ids: Sequence[str],
    scores: np.ndarray,
    confidence: np.ndarray,
    labels: Sequence[str],
    seconds: np.ndarray,
) -> PredictionRows:
    for i, name in enumerate(ids):
        yield {
            "example_id": name,
            "label": labels[int(scores[i].argmax())],
            "parse_status": "ok",
            "conf": float(confidence[i]),
            "scores": scores[i].tolist(),
            "wall_s": float(seconds[i]),
        }


def fit_all(
    data: LabelledData, evidence: Evidences, settings: EncoderSettings
) -> dict[str, FittedAction]:
    """Every action, fitted on all development examples."""
    inside, on = development_of(data, settings)
    known = {name: own.rows(inside) for name, own in evidence.items()}
    return {action: fit_alone(fit, known, on) for action, fit in actions_of(scoring(known)).items()}


def write_encoder_evidence(
    out: Path,
    data: LabelledData,
    evidence: Evidences,
    settings: EncoderSettings,
    record: Mapping[str, Any],
    step: Callable[..., None] = lambda: None,
) -> list[str]:
    """Fits all actions, writes tables and probes, and completes the record.

    Args:
        out: Claimed with `EVIDENCE` for `record`.

    Returns:
        Names of the actions.
    """
    fitted = fit_all(data, evidence, settings)
    (out / "probes").mkdir(exist_ok=True)
    probes = {name: _write_probe(out, name, action) for name, action in fitted.items()}
    rows = prediction_rows(data, evidence, settings, fitted, step)
    write_evidence(out, rows, example_rows(data), data.labels)
    EVIDENCE.write(out, {**record, "probes": probes})
    return list(fitted)


def _write_probe(out: Path, name: str, action: FittedAction) -> dict[str, Any]:
    path = out / "probes" / f"{name}.npz"
    probe = action.probe

    def save(to: Path) -> None:
        with to.open("wb") as file:
            np.savez(
                file, mean=probe.mean, scale=probe.scale, weights=probe.weights, bias=probe.bias
            )

    write_atomic(path, save)
    return {
        "sha256": file_sha256(path),
        "columns": [list(pair) for pair in action.columns],
        "conf": action.conf,
        "chosen": dict(action.chosen),
    }


def read_probe(out: Path, name: str) -> FittedAction:
    """An action as it was fitted on all development examples.

    Raises:
        CallValueError: There is no such action, or its file is not the one that was written.
    """
    probes = (EVIDENCE.read(out) or {}).get("probes", {})
    if name not in probes:
        raise CallValueError(f"{out} has no probe {name!r}; it has {', '.join(probes) or 'none'}")
    about, path = probes[name], out / "probes" / f"{name}.npz"
    if not path.is_file() or file_sha256(path) != about["sha256"]:
        raise CallValueError(f"{path} is missing or not the file that evidence.json names")
    with np.load(path) as arrays:
        probe = ClosedSetProbe(**{key: arrays[key] for key in arrays.files})
    columns = tuple((encoder, layer) for encoder, layer in about["columns"])
    return FittedAction(columns, probe, about["conf"], about["chosen"])
