"""The perception audit: does the model perceive one acoustic factor rising or falling?

    run("./vocalgrad", "constant:increase", out="runs/constant")

`run` is the same for every audit: see `otoscope.audits.running.Audit`.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import datasets
import pyarrow as pa

from otoscope.audits.items import Items, open_items
from otoscope.audits.opening import DatasetError, DatasetLike, configs_in, splits_in
from otoscope.audits.plans import LABEL_COLUMNS, TEXT, Plan, PlanColumns
from otoscope.audits.running import Audit, show_plan
from otoscope.audits.sampling import limited_rows
from otoscope.errors import InvalidValue
from otoscope.prompts import PROMPTS
from otoscope.prompts.few_shot import Pool
from otoscope.prompts.labels import LABEL_NAMES, ItemRow, label_of
from otoscope.prompts.parts import Clip, Question, Text
from otoscope.prompts.questions import SOURCE, applies, question, split_name

OWN = "own"
"""The prompt that asks each row's own `prompt` column, word for word."""

POOL_SPLITS = ("train", "validation")
"""Where few-shot examples come from: together the published training clips."""

COLUMNS: PlanColumns = {
    **LABEL_COLUMNS,
    **dict.fromkeys(
        (
            "category", "attribute", "config", "profile", "direction", "curve", "tier",
            "source_id", "speaker_id",
        ),
        TEXT,
    ),
    "no_effect": pa.bool_(),
}  # fmt: skip
"""Columns of a plan; those a dataset lacks are null."""


def plan(
    dataset: DatasetLike,
    *,
    configs: Sequence[str] = (),
    prompts: Sequence[str] = (),
    split: str = "test",
    revision: str | None = None,
    cross_attribute: bool = False,
    limit_sources: int | None = None,
) -> Plan:
    """Decides every question.

    Args:
        configs: Which configs; the default when empty.
        prompts: Names in `PROMPTS`, with `@attribute` or not, or `own`; `main` when the rows have
            an attribute or category to ask about.
        cross_attribute: Ask each prompt about every category's attribute, not only the row's own.
        limit_sources: Take so many sources, spread over speakers, chosen by hash.

    Raises:
        DatasetError, LookupError, ValueError: What is missing or unknown is named.
    """
    names = list(prompts) or ["main"]
    declared = [PROMPTS[split_name(name)[0]] for name in names if name != OWN]
    items = open_items(dataset, configs, split=split, revision=revision)
    if limit_sources is not None and limit_sources < 1:
        raise InvalidValue(f"limit_sources must be 1 or more, not {limit_sources}")
    has_sources = any(row["category"] == SOURCE for row in items.rows)
    if any(p.rows != "clips" for p in declared) and not has_sources:
        if SOURCE not in configs_in(dataset, revision):
            raise DatasetError("these prompts need unchanged clips: a config `source`")
        items.extend(open_items(dataset, [SOURCE], split=split, revision=revision))
    pool, rows = None, items.rows
    if any(p.few_shot for p in declared):
        pooled = _pooled(dataset, configs, split, revision)
        pool = Pool(pooled.rows)
        items.extend(pooled)
    chosen, partial = limited_rows(rows, limit_sources)
    questions = list(_questions(chosen, names, cross_attribute, pool))
    if not questions:
        hint = ""
        if all(row["category"] == SOURCE for row in chosen):
            hint = "; unchanged clips alone name no attribute: name it, as in source_bias@volume"
        raise DatasetError(f"no row fits the prompt(s) {names}{hint}")
    choices = {
        "configs": list(configs),
        "prompts": names,
        "split": split,
        "revision": revision,
        "cross_attribute": cross_attribute,
        "limit_sources": limit_sources,
    }
    return Plan(questions, items, columns=COLUMNS, partial=partial, choices=choices)


def _pooled(
    dataset: DatasetLike, configs: Sequence[str], split: str, revision: str | None
) -> Items:
    """Rows to take few-shot examples from: what there is of `POOL_SPLITS`, the asked split apart.

    Raises:
        DatasetError: There is neither.
    """
    wanted = [name for name in POOL_SPLITS if name != split]
    if isinstance(dataset, datasets.Dataset):
        has = "a dataset in memory is one split"
    else:
        splits = splits_in(dataset, configs, revision)
        if found := [name for name in wanted if name in splits]:
            return open_items(dataset, configs, split="+".join(found), revision=revision)
        has = f"{dataset} has the split(s) {', '.join(splits)}"
    raise DatasetError(f"few_shot takes its examples from {' and '.join(wanted)}; {has}")


def _questions(
    rows: Sequence[ItemRow], names: Sequence[str], cross: bool, pool: Pool | None
) -> Iterable[Question]:
    attributes = list(dict.fromkeys(r["attribute"] for r in rows if r["category"] != SOURCE))
    for name, row in product(names, rows):
        if name == OWN:
            if row["category"] != SOURCE:
                yield _own(row)
            continue
        base, named = split_name(name)
        if not applies(PROMPTS[base], row):
            continue
        everywhere = named is None and (row["category"] == SOURCE or cross)
        for attribute in attributes if everywhere else [None]:
            yield question(row, name, attribute=attribute, pool=pool)


def _own(row: ItemRow) -> Question:
    if not row.get("prompt"):
        raise DatasetError(f"row {row['id']!r} has no `prompt` to ask")
    return Question(
        question_id=f"{row['id']}|{OWN}",
        id=row["id"],
        prompt_name=OWN,
        category=row["category"],
        attribute=row.get("attribute") or "",
        parts=(Text(row["prompt"]), Clip(row["id"])),
        labels=LABEL_NAMES,
        label=label_of(row),
        parser="paper",
    )


def _prepare(model: Any, dataset: DatasetLike, plan: Plan) -> Any:
    """Shows a model rows and questions of the plan, gives it unchanged clips, where it wants."""
    show_plan(model, dataset, plan)
    if hasattr(model, "fit"):
        split, revision = plan.choices.get("split", "test"), plan.choices.get("revision")
        if SOURCE in configs_in(dataset, revision):
            sources = open_items(dataset, [SOURCE], split=split, revision=revision)
            model.fit(sources.audio(row["id"]) for row in sources.rows)
    return model


PERCEPTION = Audit("perception", plan, _prepare)
run = PERCEPTION.run
