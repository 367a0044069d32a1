"""What is fitted on development examples, stored and hashed before held-out labels are read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.atomic import write_json
from otoscope.audits.call_value.cascade import Cascade, fit_cascade
from otoscope.audits.call_value.contract import (
    FULL,
    NO_CALL,
    Contract,
    Route,
    sha256_of,
)
from otoscope.audits.call_value.parts import CallPart, fold_seeds, part_of, prompts_of
from otoscope.audits.call_value.post_call import PostCall, fit_post_call
from otoscope.audits.call_value.routing import doubt_of, follow, threshold
from otoscope.audits.call_value.schema import DEVELOPMENT, TRANSCRIPT, CallValueError
from otoscope.audits.call_value.selector import FittedSelector, SelectorSettings, fit_selector
from otoscope.audits.call_value.tables import CallTables

TRANSCRIPT_FEATURES = ("unc", "len", "no_speech")
FILE = "frozen.json"


@dataclass(frozen=True)
class Frozen:
    """Everything that an evaluation needs beside the tables.

    Attributes:
        contract_sha256: Of the contract that it was fitted for.
        prompts: The prompt of each action that has several, by development accuracy.
        parsers: By action, the name of the parser of its labels, synonyms included, where the
            tables say so; of the prompt that counts.
        prompt_scores: For each of those prompts, how many development examples it gets right.
        thresholds: Of each route; None with budget 0 or 1, or an exact quota.
        selectors: By name: `full`, `no_call`, and their ablations.
        seeds: For each other fold assignment of encoders, `full` and `no_call`.
        repeats: The same for other folds of the selectors, by seed; of encoders too, in turn, where
            there are several fold assignments.
        post_call: What is fitted with the answers of calls.
    """

    contract_sha256: str
    prompts: Mapping[str, str]
    parsers: Mapping[str, list[str]]
    prompt_scores: Mapping[str, Mapping[str, int]]
    thresholds: Mapping[str, float | None]
    selectors: Mapping[str, FittedSelector]
    seeds: Mapping[str, Mapping[str, FittedSelector]]
    repeats: Mapping[str, Mapping[str, FittedSelector]]
    post_call: PostCall

    def at(self, route: Route) -> float:
        """The threshold of a route."""
        return at_of(self.thresholds, route)

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "contract_sha256": self.contract_sha256,
            "prompts": dict(self.prompts),
            "parsers": dict(self.parsers),
            "prompt_scores": {name: dict(own) for name, own in self.prompt_scores.items()},
            "thresholds": dict(self.thresholds),
            "selectors": {name: own.as_json() for name, own in self.selectors.items()},
            "seeds": _stored(self.seeds),
            "repeats": _stored(self.repeats),
            "post_call": self.post_call.as_json(),
        }


def _stored(
    by_seed: Mapping[str, Mapping[str, FittedSelector]],
) -> dict[str, dict[str, dict[str, Any]]]:
    return {
        seed: {name: own.as_json() for name, own in fitted.items()}
        for seed, fitted in by_seed.items()
    }


def _restored(
    stored: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> dict[str, dict[str, FittedSelector]]:
    return {
        seed: {name: FittedSelector.from_json(own) for name, own in both.items()}
        for seed, both in stored.items()
    }


def development_part(tables: CallTables, contract: Contract, **choice: Any) -> CallPart:
    """The development examples of a contract."""
    return part_of(tables, DEVELOPMENT, contract.actions, contract.labels, **choice)


def fit_frozen(tables: CallTables, contract: Contract) -> Frozen:
    """Fits everything on development examples.

    Raises:
        CallValueError: Fewer clusters than folds, or a feature without its column.
    """
    scores = _prompt_scores(tables, contract)
    prompts = {name: max(own, key=lambda prompt: own[prompt]) for name, own in scores.items()}
    part = development_part(tables, contract, prompts=prompts)
    seeds = {}
    for seed in fold_seeds(tables):
        other = development_part(tables, contract, prompts=prompts, fold_seed=seed)
        plan = selector_plan(other, contract.settings)
        seeds[seed] = {name: fit_selector(*plan[name]) for name in (FULL, NO_CALL)}
    plans = selector_plan(part, contract.settings)
    selectors = {name: fit_selector(*plan) for name, plan in plans.items()}
    thresholds = {route.name: _threshold(part, route) for route in contract.routes}
    return Frozen(
        contract_sha256=contract.sha256,
        prompts=prompts,
        parsers=_parsers(tables, prompts),
        prompt_scores=scores,
        thresholds=thresholds,
        selectors=selectors,
        seeds=seeds,
        repeats=_repeats(tables, contract, prompts, {"": selectors} | seeds),
        post_call=fit_post_call(
            part.selectable(),
            len(contract.labels),
            contract.settings,
            _cascades(part, contract, thresholds),
        ),
    )


def _parsers(tables: CallTables, prompts: Mapping[str, str]) -> dict[str, list[str]]:
    rows = tables.predictions
    counts = [
        prompts.get(a, p) == p for a, p in zip(rows["action"], rows["prompt_id"], strict=True)
    ]
    known = rows[counts].dropna(subset=["parser"])
    return {str(a): sorted(set(own)) for a, own in known.groupby("action")["parser"]}


def _repeats(
    tables: CallTables,
    contract: Contract,
    prompts: Mapping[str, str],
    fitted: Mapping[str, Mapping[str, FittedSelector]],
) -> dict[str, dict[str, FittedSelector]]:
    """Both selectors with other folds, and with each fold assignment of encoders in turn.

    Args:
        fitted: By fold assignment, the selectors whose models are taken over.
    """
    assignments = sorted(fitted)
    parts = {
        name: development_part(tables, contract, prompts=prompts, fold_seed=name or None)
        for name in assignments
    }
    made = {}
    for k in range(1, contract.repeats + 1):
        name = assignments[k % len(assignments)]
        settings = replace(contract.settings, seed=contract.settings.seed + k)
        plan = selector_plan(parts[name], settings)
        made[str(settings.seed)] = {
            own: fit_selector(*plan[own], fitted[name][own].model) for own in (FULL, NO_CALL)
        }
    return made


def selector_plan(
    part: CallPart, settings: SelectorSettings
) -> dict[str, tuple[CallPart, SelectorSettings]]:
    """What each selector may choose and know: the two of the primary contrast, then ablations.

    Ablations leave out one local action, with what was read from it, or switch interactions.
    """
    part = part.selectable()
    plan = {FULL: (part, settings)}
    switched = replace(settings, interactions=not settings.interactions)
    how = "with" if switched.interactions else "without"
    plan[f"{FULL} {how} interactions"] = (part, switched)
    local = [action for action in part.actions if not action.is_call]
    for action in local if len(local) > 1 else ():
        kept = [k for k, own in enumerate(part.actions) if own.name != action.name]
        transcripts = [part.actions[k] for k in kept if part.actions[k].kind == TRANSCRIPT]
        lost = () if transcripts or action.kind != TRANSCRIPT else TRANSCRIPT_FEATURES
        features = tuple(name for name in settings.features if name not in lost)
        plan[f"{FULL} without {action.name}"] = (
            part.only(kept),
            replace(settings, features=features),
        )
    for name, (own, how_fitted) in list(plan.items()):
        plan[name.replace(FULL, NO_CALL, 1)] = (own.local(), how_fitted)
    return plan


def write_frozen(folder: Path, frozen: Frozen) -> str:
    """Writes `frozen.json`; returns the hash of its content."""
    record = frozen.as_json()
    write_json(folder / FILE, record, sync=True, sort_keys=True)
    return sha256_of(record)


def read_frozen(folder: Path, sha256: str) -> Frozen:
    """What was stored.

    Raises:
        CallValueError: The content has another hash.
    """
    record = json.loads((folder / FILE).read_text(encoding="utf-8"))
    if (found := sha256_of(record)) != sha256:
        raise CallValueError(f"{folder / FILE} was changed: its hash is {found}, not {sha256}")
    fitted = {name: FittedSelector.from_json(own) for name, own in record["selectors"].items()}
    by_seed = {key: _restored(record[key]) for key in ("seeds", "repeats")}
    post_call = PostCall.from_json(record["post_call"])
    return Frozen(**record | {"selectors": fitted, "post_call": post_call} | by_seed)


def _prompt_scores(tables: CallTables, contract: Contract) -> dict[str, dict[str, int]]:
    scores: dict[str, dict[str, int]] = {}
    for action in contract.actions:
        names = prompts_of(tables, action.name)
        for name in names if len(names) > 1 else ():
            part = part_of(
                tables, DEVELOPMENT, [action], contract.labels, prompts={action.name: name}
            )
            scores.setdefault(action.name, {})[name] = int(part.correct.sum())
    return scores


def _cascades(
    part: CallPart, contract: Contract, thresholds: Mapping[str, float | None]
) -> tuple[Cascade, ...]:
    assert part.gold is not None
    made = (
        fit_cascade(part, r, follow(r, part, at_of(thresholds, r)), gold=part.gold)
        for r in contract.routes
    )
    return tuple(own for own in made if own is not None)


def at_of(thresholds: Mapping[str, float | None], route: Route) -> float:
    """The threshold of a route; budgets of 0 and 1 are stored as None."""
    stored = thresholds[route.name]
    if stored is not None:
        return stored
    return np.inf if route.budget >= 1 else -np.inf


def _threshold(part: CallPart, route: Route) -> float | None:
    if route.quota or not 0 < route.budget < 1:
        return None
    return threshold(doubt_of(part, route.first), route.budget)
