"""The contract: what is fixed before held-out labels are read."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from otoscope.audits.call_value.features import validate_features
from otoscope.audits.call_value.parts import CallAction, in_order
from otoscope.audits.call_value.schema import (
    AGREEMENT,
    AGREEMENT_NO_CALL,
    GENERATIVE,
    KINDS,
    SPLITS,
    STACKED,
    CallValueError,
)
from otoscope.audits.call_value.selector import SelectorSettings
from otoscope.audits.call_value.tables import CallTables

SCHEMA = 1
FULL, NO_CALL, NO_CALL_MASK = "full", "no_call", "no_call_mask"
SELECTORS = (FULL, NO_CALL, NO_CALL_MASK)
REPEATS = 20
"""How many other folds of the selectors are tried, where the contract does not say."""

COSTS_ALLOCATED = ("wall_s", "price", "audio_s", "tokens")


@dataclass(frozen=True)
class Route:
    """Calls where a local action is least confident.

    Attributes:
        first: The local action that is kept elsewhere.
        budget: Planned share of calls.
        quota: Exactly that share, instead of a threshold from development examples.
    """

    first: str
    call: str
    budget: float
    quota: bool

    @property
    def name(self) -> str:
        """Of the policy."""
        return f"{self.first}→{self.call} {100 * self.budget:g} %{' quota' * self.quota}"


@dataclass(frozen=True)
class Contract:
    """A validated contract; see `docs/call-value.md` for its fields."""

    task: str
    labels: tuple[str, ...]
    splits: Mapping[str, Mapping[str, Any]]
    actions: tuple[CallAction, ...]
    settings: SelectorSettings
    routes: tuple[Route, ...]
    primary: tuple[str, str]
    tests: tuple[tuple[str, str], ...]
    margin: float
    alpha: float
    draws: int
    repeats: int
    allocated: Mapping[str, Mapping[str, float]]
    record: Mapping[str, Any]
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Of its content, whatever the layout of the file."""
        return sha256_of(self.record)

    @property
    def policies(self) -> tuple[str, ...]:
        """Names that tests may compare."""
        actions = tuple(action.name for action in self.actions)
        return (*SELECTORS, *actions, *(route.name for route in self.routes))


def sha256_of(record: Any) -> str:
    """Of plain data as canonical JSON."""
    text = json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def split_record(tables: CallTables, split: str) -> dict[str, Any]:
    """How many examples a split has, and the hash of their sorted names."""
    names = sorted(tables.examples.index[tables.examples["split"] == split])
    return {"n": len(names), "sha256": sha256_of(names)}


def read_contract(path: Path) -> Contract:
    """A contract from its file.

    Raises:
        CallValueError: Not JSON, a key missing or unknown, or a value that it cannot have.
        OSError: No such file.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CallValueError(f"{path} is not JSON: {error}") from None
    try:
        return _contract(record)
    except CallValueError as error:
        raise CallValueError(f"{path}: {error}") from None


KEYS = (
    "schema", "task", "labels", "splits", "actions", "features", "interactions", "C", "lambdas",
    "folds", "seed", "routes", "primary", "tests", "margin", "alpha", "draws", "allocated",
)  # fmt: skip

LAMBDA_FROM = ("cross_fitted", "in_sample")
OPTIONAL_KEYS = (
    "lambda_from",
    "controllers",
    "repeats",
    "parsed",
    "prompt_examples",
    "needs",
    "notes",
)
"""`parsed` and `prompt_examples` are read by `contract_checks`; `needs` is of `components`; `notes`
are for people."""


def _contract(record: Any) -> Contract:
    if not isinstance(record, dict):
        raise CallValueError("contract: it holds no names and values")
    if missing := [key for key in KEYS if key not in record]:
        raise CallValueError(f"contract: {missing[0]!r} is missing")
    known = (*KEYS, *OPTIONAL_KEYS)
    if unknown := [key for key in record if key not in known]:
        raise CallValueError(f"contract: {unknown[0]!r} is unknown; there are {', '.join(known)}")
    if record["schema"] != SCHEMA:
        raise CallValueError(f"contract: schema is {record['schema']!r}, not {SCHEMA}")
    if (lambda_from := record.get("lambda_from", LAMBDA_FROM[0])) not in LAMBDA_FROM:
        raise CallValueError(f"contract: lambda_from is {lambda_from!r}, not one of {LAMBDA_FROM}")
    try:
        made = Contract(
            task=str(record["task"]),
            labels=tuple(map(str, record["labels"])),
            splits={name: dict(record["splits"][name]) for name in record["splits"]},
            actions=in_order(
                [
                    CallAction(str(name), str(own["kind"]), float(own["cost"]))
                    for name, own in record["actions"].items()
                ]
                + [
                    CallAction(str(name), str(own["kind"]), float(own.get("cost", 0)), True)
                    for name, own in record.get("controllers", {}).items()
                ]
            ),
            settings=SelectorSettings(
                features=tuple(map(str, record["features"])),
                interactions=bool(record["interactions"]),
                inverse_penalty=float(record["C"]),
                lambdas=tuple(map(float, record["lambdas"])),
                n_folds=int(record["folds"]),
                seed=int(record["seed"]),
                in_sample=lambda_from == "in_sample",
            ),
            routes=tuple(
                Route(
                    str(own["first"]),
                    str(own["call"]),
                    float(own["budget"]),
                    bool(own.get("quota", False)),
                )
                for own in record["routes"]
            ),
            primary=(str(record["primary"][0]), str(record["primary"][1])),
            tests=tuple((str(first), str(second)) for first, second in record["tests"]),
            margin=float(record["margin"]),
            alpha=float(record["alpha"]),
            draws=int(record["draws"]),
            repeats=int(record.get("repeats", REPEATS)),
            allocated={
                str(name): {str(key): float(value) for key, value in own.items()}
                for name, own in record["allocated"].items()
            },
            record=record,
            needs={
                str(name): tuple(map(str, own)) for name, own in record.get("needs", {}).items()
            },
        )
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        raise CallValueError(f"contract: a value has the wrong form ({error!r})") from None
    _validate(made)
    return made


def _validate(contract: Contract) -> None:
    validate_features(contract.settings.features)
    kinds = {action.name: action.kind for action in contract.actions}
    if len(kinds) < len(contract.actions):
        raise CallValueError("contract: a controller has the name of an action")
    own = {action.kind for action in contract.actions if not action.is_controller}
    for action in contract.actions:
        if action.kind not in KINDS:
            raise CallValueError(f"contract: {action.name!r} is of no kind of {list(KINDS)}")
        if not 0 <= action.cost <= 1:
            raise CallValueError(f"contract: the cost of {action.name!r} is outside 0 to 1")
        if action.name in (*SELECTORS, AGREEMENT, AGREEMENT_NO_CALL, STACKED):
            raise CallValueError(f"contract: an action cannot be named {action.name!r}")
    if GENERATIVE not in own or own == {GENERATIVE}:
        raise CallValueError("contract: at least one generative and one local action are needed")
    for route in contract.routes:
        for name in (route.first, route.call):
            if name not in kinds:
                raise CallValueError(
                    f"contract: the route {route.name!r} names {name!r}, which is no action"
                )
        if kinds.get(route.call) != GENERATIVE or kinds.get(route.first, GENERATIVE) == GENERATIVE:
            raise CallValueError(
                f"contract: the route {route.name!r} does not go from a local action to a "
                "generative one"
            )
        if not 0 <= route.budget <= 1:
            raise CallValueError(f"contract: the budget of {route.name!r} is outside 0 to 1")
    for pair in (contract.primary, *contract.tests):
        for name in pair:
            if name not in contract.policies:
                raise CallValueError(
                    f"contract: no policy is named {name!r}; there are "
                    f"{', '.join(contract.policies)}"
                )
    if contract.primary not in contract.tests:
        raise CallValueError("contract: tests lack the primary contrast")
    if len(set(contract.tests)) < len(contract.tests):
        raise CallValueError("contract: a test is declared twice")
    _validate_numbers(contract)


def _validate_numbers(contract: Contract) -> None:
    settings = contract.settings
    for name, fine in (
        ("labels: there are at least two, each once", _each_once(contract.labels)),
        ("splits: there are development and holdout", set(contract.splits) == set(SPLITS.values())),
        ("C is above 0", settings.inverse_penalty > 0),
        ("lambdas: at least one, none below 0", min(settings.lambdas, default=-1) >= 0),
        ("folds: at least 2", settings.n_folds >= 2),
        ("margin lies between 0 and 1", 0 < contract.margin < 1),
        ("alpha is 0.05, the level of every interval of the report", contract.alpha == 0.05),
        ("draws: at least 100", contract.draws >= 100),
        ("repeats: none below 0", contract.repeats >= 0),
        (
            f"allocated: totals of {', '.join(COSTS_ALLOCATED)}, none below 0, by action",
            all(
                key in COSTS_ALLOCATED and value >= 0
                for own in contract.allocated.values()
                for key, value in own.items()
            )
            and set(contract.allocated) <= {action.name for action in contract.actions},
        ),
    ):
        if not fine:
            raise CallValueError(f"contract: {name}")


def _each_once(labels: tuple[str, ...]) -> bool:
    return len(labels) == len(set(labels)) >= 2


def validate_tables(contract: Contract, tables: CallTables) -> None:
    """Raises `CallValueError` where tables are not those that a contract is about."""
    kinds = dict(zip(tables.predictions["action"], tables.predictions["kind"], strict=True))
    for action in contract.actions:
        if kinds.get(action.name, action.kind) != action.kind:
            raise CallValueError(
                f"{action.name!r} is {action.kind} in the contract and {kinds[action.name]} in the "
                "tables"
            )
        if action.name not in kinds:
            raise CallValueError(f"no table has predictions of the contract's {action.name!r}")
    if contract.task and tables.task and contract.task != tables.task:
        raise CallValueError(
            f"the contract is about {contract.task!r}, the tables about {tables.task!r}"
        )
    for split, wanted in contract.splits.items():
        found = split_record(tables, split)
        if found != wanted:
            raise CallValueError(
                f"the {split} examples are not those of the contract: {found['n']} here, "
                f"{wanted.get('n')} there, and their names' hashes differ"
            )
