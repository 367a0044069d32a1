"""Tables as arrays: one split, with examples and actions in an order of their own.

Examples are sorted by name and actions by kind, cost and name, so that the order of rows, actions
and labels in a table changes no result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Shaped

from otoscope.audits.call_value.schema import (
    COSTS,
    EXAMPLE_NUMBERS,
    GENERATIVE,
    KINDS,
    SIMULATED,
    UNPARSED,
    CallValueError,
)
from otoscope.audits.call_value.tables import CallTables

CALL_CONFIDENCE = 0.5
"""Confidence of every call: nothing about its answer is known before it."""


@dataclass(frozen=True)
class CallAction:
    """What a policy may do with an example.

    Attributes:
        cost: In the utility, 0 to 1; that of the dearest action is 1.
        is_controller: Whether it is only compared and routed: no selector, oracle or post-call
            policy knows of it.
    """

    name: str
    kind: str
    cost: float
    is_controller: bool = False

    @property
    def is_call(self) -> bool:
        """Whether it calls a generative model."""
        return self.kind == GENERATIVE

    @property
    def is_simulated(self) -> bool:
        """Whether no model made its predictions; its name then says so, wherever it is shown."""
        return SIMULATED in self.name


@dataclass(frozen=True)
class CallPart:
    """One split. Arrays by example and action.

    Attributes:
        ids, clusters: Names; resampling draws whole clusters.
        gold: Index of each label; None where labels are not to be read.
        predicted: Index of each predicted label, -1 where there is none.
        conf, margin: Of local actions; `CALL_CONFIDENCE` for calls.
        numbers: `duration`, `asr_len`, `asr_unc`, `no_speech`, where the table has them.
        costs: By column of cost; NaN where unknown.
        components: What several actions may share, see `components.with_components`.
        component_costs: By column of cost, of each example and component.
        needs: Which components each action consists of.
        logprob: Of the label that a call predicted, for post-call policies; NaN where unknown.
    """

    actions: tuple[CallAction, ...]
    ids: Shaped[np.ndarray, " n"]
    clusters: Shaped[np.ndarray, " n"]
    gold: Int[np.ndarray, " n"] | None
    predicted: Int[np.ndarray, "n n_actions"]
    conf: Float[np.ndarray, "n n_actions"]
    margin: Float[np.ndarray, "n n_actions"]
    numbers: Mapping[str, Float[np.ndarray, " n"]]
    costs: Mapping[str, Float[np.ndarray, "n n_actions"]]
    components: tuple[str, ...] = ()
    component_costs: Mapping[str, Float[np.ndarray, "n n_components"]] = field(default_factory=dict)
    needs: Bool[np.ndarray, "n_actions n_components"] | None = None
    logprob: Float[np.ndarray, "n n_actions"] | None = None

    @property
    def n(self) -> int:
        """Number of examples."""
        return len(self.ids)

    @property
    def is_call(self) -> Bool[np.ndarray, " n_actions"]:
        """Which actions are calls."""
        return np.array([action.is_call for action in self.actions])

    @property
    def cost(self) -> Float[np.ndarray, " n_actions"]:
        """Cost of each action in the utility."""
        return np.array([action.cost for action in self.actions])

    @property
    def correct(self) -> Bool[np.ndarray, "n n_actions"]:
        """Whether each action is correct.

        Raises:
            ValueError: Labels were not read.
        """
        if self.gold is None:
            raise ValueError("labels of this part were not read")
        return self.predicted == self.gold[:, None]

    def index(self, action: str) -> int:
        """Position of an action."""
        return [known.name for known in self.actions].index(action)

    def only(self, kept: Sequence[int] | np.ndarray) -> "CallPart":
        """The part with these actions only."""
        return replace(
            self,
            actions=tuple(self.actions[i] for i in kept),
            predicted=self.predicted[:, kept],
            conf=self.conf[:, kept],
            margin=self.margin[:, kept],
            costs={name: values[:, kept] for name, values in self.costs.items()},
            needs=None if self.needs is None else self.needs[kept],
            logprob=None if self.logprob is None else self.logprob[:, kept],
        )

    def rows(self, kept: np.ndarray) -> "CallPart":
        """The part with these examples only."""
        return replace(
            self,
            ids=self.ids[kept],
            clusters=self.clusters[kept],
            gold=None if self.gold is None else self.gold[kept],
            predicted=self.predicted[kept],
            conf=self.conf[kept],
            margin=self.margin[kept],
            numbers={name: values[kept] for name, values in self.numbers.items()},
            costs={name: values[kept] for name, values in self.costs.items()},
            component_costs={n: values[kept] for n, values in self.component_costs.items()},
            logprob=None if self.logprob is None else self.logprob[kept],
        )

    def selectable(self) -> "CallPart":
        """The part without its controllers."""
        return self.only([k for k, own in enumerate(self.actions) if not own.is_controller])

    def local(self) -> "CallPart":
        """The part without its calls."""
        return self.only(np.flatnonzero(~self.is_call))


def in_order(actions: Sequence[CallAction]) -> tuple[CallAction, ...]:
    """Actions in the order in which ties are decided: local first, then cheaper, then by name."""
    return tuple(sorted(actions, key=lambda a: (a.is_call, a.cost, KINDS.index(a.kind), a.name)))


def part_of(
    tables: CallTables,
    split: str,
    actions: Sequence[CallAction],
    labels: Sequence[str],
    *,
    prompts: Mapping[str, str] | None = None,
    fold_seed: str | None = None,
) -> CallPart:
    """One split of the tables as arrays.

    Args:
        labels: The closed set.
        prompts: Which `prompt_id` counts for each action; the first by name for others.
        fold_seed: Take encoders' development predictions of that fold assignment, where there are.

    Raises:
        CallValueError: An action has no predictions.
    """
    examples = tables.examples[tables.examples["split"] == split].sort_index()
    ordered = in_order(actions)
    rows = [
        _rows_of(tables.predictions, action.name, (prompts or {}).get(action.name), fold_seed)
        .set_index("example_id")
        .reindex(examples.index)
        for action in ordered
    ]
    code = {label: i for i, label in enumerate(sorted(labels))}

    def column(name: str) -> np.ndarray:
        return np.stack([own[name].to_numpy(dtype=float, na_value=np.nan) for own in rows], axis=1)

    calls = np.array([action.is_call for action in ordered])
    predicted = np.stack([_codes(own["label"], code) for own in rows], axis=1)
    return CallPart(
        actions=ordered,
        ids=examples.index.to_numpy(),
        clusters=examples["cluster_id"].to_numpy(),
        gold=None if examples["label"].isna().any() else _codes(examples["label"], code),
        predicted=predicted,
        conf=np.where(calls, CALL_CONFIDENCE, column("conf")),
        margin=np.where(calls, CALL_CONFIDENCE, column("margin")),
        numbers={
            name: examples[name].to_numpy(dtype=float)
            for name in EXAMPLE_NUMBERS
            if name in examples
        },
        costs={name: column(name) for name in COSTS},
        logprob=np.where(calls, column("logprob"), np.nan),
    )


def prompts_of(tables: CallTables, action: str) -> list[str]:
    """Names of an action's prompts, sorted."""
    rows = tables.predictions
    return sorted(rows.loc[rows["action"] == action, "prompt_id"].unique())


def fold_seeds(tables: CallTables) -> list[str]:
    """Fold assignments beside the one that counts, sorted."""
    return sorted(tables.predictions["fold_seed"].dropna().unique())


def _rows_of(
    predictions: pd.DataFrame, action: str, prompt: str | None, fold_seed: str | None
) -> pd.DataFrame:
    rows = predictions[predictions["action"] == action]
    if not len(rows):
        raise CallValueError(f"no table has predictions of {action!r}")
    prompt = rows["prompt_id"].min() if prompt is None else prompt
    rows = rows[rows["prompt_id"] == prompt]
    if not len(rows):
        raise CallValueError(f"no predictions of {action!r} have prompt_id {prompt!r}")
    seeded = rows[rows["fold_seed"] == fold_seed] if fold_seed is not None else rows[:0]
    main = rows[rows["fold_seed"].isna()]
    return pd.concat([seeded, main[~main["example_id"].isin(seeded["example_id"])]])


def _codes(labels: pd.Series, code: Mapping[str, int]) -> np.ndarray:
    return np.array([code.get(label, UNPARSED) for label in labels], dtype=np.int64)
