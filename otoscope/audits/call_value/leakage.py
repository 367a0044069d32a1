"""Checks that nothing of the held-out examples, and nothing of a call, reached a selector.

They run in every audit, before held-out labels are opened, and are printed.
"""

import re
from dataclasses import replace

import numpy as np

from otoscope.audits.call_value.checks import Check
from otoscope.audits.call_value.contract import Contract
from otoscope.audits.call_value.contract_checks import check_parsed, check_prompt_examples
from otoscope.audits.call_value.features import FEATURES
from otoscope.audits.call_value.frozen import Frozen, development_part
from otoscope.audits.call_value.parts import CallPart, part_of
from otoscope.audits.call_value.policies import frozen_policies
from otoscope.audits.call_value.schema import (
    COSTS,
    DEVELOPMENT,
    ENCODER,
    GENERATIVE,
    HOLDOUT,
    NOT_FITTED,
)
from otoscope.audits.call_value.selector import choose, cross_fitted
from otoscope.audits.call_value.tables import CallTables

SHORTEST_LABEL = 3  # characters; shorter ones stand in names by accident
MANY_STANDARD_ERRORS = 4


def run_checks(tables: CallTables, contract: Contract, frozen: Frozen) -> tuple[Check, ...]:
    """All checks, on sealed tables: labels of held-out examples are not needed."""
    return (
        _shared(tables, "sha256", "the same audio in both splits"),
        _shared(tables, "speaker", "a speaker in both splits"),
        _shared(tables, "source", "a source recording in both splits"),
        _clusters(tables),
        _labels_in_names(tables, contract),
        _labels_in_prompts(tables, contract),
        check_prompt_examples(tables, contract.record),
        check_parsed(tables, contract.record),
        _fitted_on_holdout(tables),
        _folds(tables),
        _classes(tables),
        _permuted(tables, contract, frozen),
        _pre_call(contract),
        _poisoned(tables, contract, frozen),
    )


def _shared(tables: CallTables, column: str, name: str) -> Check:
    examples = tables.examples
    if examples[column].isna().any():
        return Check(name, "unknown", f"the tables have no {column} for every example")
    development = set(examples.loc[examples["split"] == DEVELOPMENT, column])
    held = examples.loc[examples["split"] == HOLDOUT, column]
    n = int(held.isin(development).sum())
    return Check(
        name, "found" if n else "passed", f"{n} of {len(held)} held-out examples, by {column}"
    )


def _clusters(tables: CallTables) -> Check:
    examples = tables.examples
    development = set(examples.loc[examples["split"] == DEVELOPMENT, "cluster_id"])
    held = examples.loc[examples["split"] == HOLDOUT, "cluster_id"]
    n = int(held.isin(development).sum())
    return Check(
        "a cluster in both splits",
        "found" if n else "passed",
        f"{n} of {len(held)} held-out examples, by cluster_id",
    )


def _labels_in_names(tables: CallTables, contract: Contract) -> Check:
    """Whether names of development examples hold their own label more often than another one."""
    examples = tables.examples[tables.examples["split"] == DEVELOPMENT]
    labels = [label for label in contract.labels if len(label) >= SHORTEST_LABEL]

    def holds(name: str, label: str) -> bool:
        return _plain(label) in _plain(name)

    n = sum(
        holds(name, label) and sum(holds(name, other) for other in labels) == 1
        for name, label in zip(examples.index, examples["label"], strict=True)
        if label in labels
    )
    return Check(
        "the label in the example's name",
        "found" if n else "passed",
        f"{n} of {len(examples)} development examples; a model that is shown names reads it there",
    )


def _labels_in_prompts(tables: CallTables, contract: Contract) -> Check:
    """Whether a prompt's name holds one label and no other: it may give the answer away."""
    prompts = sorted(set(tables.predictions["prompt_id"]) - {""})
    named = [
        prompt
        for prompt in prompts
        if sum(_plain(label) in _plain(prompt) for label in contract.labels) == 1
    ]
    return Check(
        "one label in the name of a prompt",
        "found" if named else "passed",
        ", ".join(named[:5]) or f"{len(prompts)} prompts have names",
    )


def _fitted_on_holdout(tables: CallTables) -> Check:
    """Reading rejects a held-out prediction with a fold, so this only says what was looked at."""
    rows = tables.predictions[tables.predictions["kind"] == ENCODER]
    held = tables.examples["split"].reindex(rows["example_id"]).to_numpy() == HOLDOUT
    fitted = rows[held]["fold"].notna() & (rows[held]["fold"] != NOT_FITTED)
    return Check(
        "a probe fitted on held-out examples",
        "found" if fitted.any() else "passed",
        f"{int(fitted.sum())} of {int(held.sum())} held-out predictions of encoders have a fold",
    )


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


def _folds(tables: CallTables) -> Check:
    """Whether clusters lie in one fold each; whether there is one was validated on reading."""
    rows = tables.predictions[tables.predictions["fold"].notna()]
    rows = rows[(rows["fold"] != NOT_FITTED) & rows["fold_seed"].isna()]
    cluster = tables.examples["cluster_id"].reindex(rows["example_id"]).to_numpy()
    n_folds = rows.assign(cluster=cluster).groupby(["action", "cluster"])["fold"].nunique()
    n = int((n_folds > 1).sum())
    return Check(
        "a probe fitted on the cluster that it predicts",
        "found" if n else "passed",
        f"{n} of {len(n_folds)} encoder and cluster pairs lie in several folds",
    )


def _classes(tables: CallTables) -> Check:
    """Whether each fold has all labels of the development examples."""
    rows = tables.predictions[tables.predictions["fold"].notna()]
    rows = rows[(rows["fold"] != NOT_FITTED) & rows["fold_seed"].isna()]
    label = tables.examples["label"].reindex(rows["example_id"]).to_numpy()
    n_all = len(set(label))
    present = rows.assign(gold=label).groupby(["action", "fold"])["gold"].nunique()
    without = [f"{action} fold {fold}" for (action, fold), n in present.items() if n < n_all]
    return Check(
        "a class absent from a fold",
        "found" if without else "passed",
        ", ".join(without[:5]) or f"{len(present)} encoder and fold pairs have all {n_all} classes",
    )


def _pre_call(contract: Contract) -> Check:
    return Check(
        "a feature known only after a call",
        "passed",
        f"all {len(contract.settings.features)} features are among the {len(FEATURES)} allowed",
    )


def _permuted(tables: CallTables, contract: Contract, frozen: Frozen) -> Check:
    """A selector that is cross-fitted to permuted labels must not be better than chance at them."""
    part = development_part(tables, contract, prompts=frozen.prompts).selectable()
    assert part.gold is not None
    rng = np.random.default_rng(contract.settings.seed)
    gold = rng.permutation(part.gold)
    part = replace(part, gold=gold)
    chosen = choose(cross_fitted(part, contract.settings), part, 0.0)
    right = part.correct[np.arange(part.n), chosen]
    predicted = part.predicted[np.arange(part.n), chosen]
    shares = np.bincount(gold, minlength=len(contract.labels)) / part.n
    chance = float(np.mean(np.where(predicted < 0, 0.0, shares[predicted])))
    error = (chance * (1 - chance) / part.n) ** 0.5
    found = float(right.mean()) > chance + MANY_STANDARD_ERRORS * error
    return Check(
        "a selector that predicts permuted labels",
        "found" if found else "passed",
        f"cross-fitted accuracy {100 * right.mean():.1f} % with labels of development examples "
        f"permuted, chance {100 * chance:.1f} %",
    )


def _poisoned(tables: CallTables, contract: Contract, frozen: Frozen) -> Check:
    """Choices must not change when everything that a call returns becomes nonsense."""
    poisoned = tables.predictions.copy()
    calls = poisoned["kind"] == GENERATIVE
    poisoned.loc[calls, "label"] = None
    poisoned.loc[calls, ["conf", "margin", "logprob", *COSTS]] = np.nan
    made = []
    for predictions in (tables.predictions, poisoned):
        own = replace(tables, predictions=predictions)
        part = part_of(own, HOLDOUT, contract.actions, contract.labels, prompts=frozen.prompts)
        made.append(frozen_policies(part, contract, frozen))
    pairs = [
        (first.chosen, second.chosen)
        for first, second in zip(*made, strict=True)
        if first.chosen is not None and first.role != "post-call"
    ]
    changed = sum(int(np.sum(first != second)) for first, second in pairs)
    return Check(
        "choices that change when calls return nonsense",
        "found" if changed else "passed",
        f"{changed} of {sum(len(first) for first, _ in pairs)} choices of {len(pairs)} policies",
    )


def optimism(development: CallPart, holdout: CallPart) -> Check:
    """Whether encoders are far better on development examples than on held-out ones.

    Predictions that are not out of fold are; so are splits that differ. Needs held-out labels.
    """
    far = []
    for k, action in enumerate(development.actions):
        if action.kind != ENCODER:
            continue
        shares = [float(part.correct[:, k].mean()) for part in (development, holdout)]
        pooled = (shares[0] * development.n + shares[1] * holdout.n) / (development.n + holdout.n)
        spread = (pooled * (1 - pooled) * (1 / development.n + 1 / holdout.n)) ** 0.5
        if shares[0] - shares[1] > MANY_STANDARD_ERRORS * spread:
            far.append(f"{action.name} {100 * shares[0]:.1f} % and {100 * shares[1]:.1f} %")
    return Check(
        "an encoder far better on development examples",
        "found" if far else "passed",
        ", ".join(far) or "no encoder, by more than four standard errors",
    )
