"""Closed-set audit: which of K labels does the model give each clip of a labelled dataset?

    run("./animals", "constant:dog", out="runs/dog")

Development and hold-out are planned together, each prompt in all its variants, so that the choice
between variants can be made on development examples alone.
"""

from collections.abc import Sequence

import datasets

from otoscope.audits.labelled import LabelledData, LabelledRow, open_labelled
from otoscope.audits.opening import DatasetError, DatasetLike
from otoscope.audits.plans import LABEL_COLUMNS, TEXT, Plan, PlanColumns
from otoscope.audits.running import Audit, show_plan
from otoscope.audits.sampling import limited_rows
from otoscope.errors import InvalidValue
from otoscope.prompts.parts import Clip, Question, Text
from otoscope.prompts.tasks import VARIANTS, ClosedSetTask, Variant, put, task_named
from otoscope.responses import open_parser
from otoscope.responses.closed_set import closed_set_name

AUDIT = "labels"
COLUMNS: PlanColumns = {
    **LABEL_COLUMNS,
    **dict.fromkeys(
        ("split", "task", "cluster_id", "speaker_id", "source_id", "category", "attribute"), TEXT
    ),
}
"""Columns of a plan; `labels` are in the order in which they were offered."""


def plan(
    dataset: DatasetLike | datasets.DatasetDict,
    *,
    config: str | None = None,
    prompts: Sequence[str] = (),
    task: str | None = None,
    development: str | None = None,
    holdout: str | None = None,
    revision: str | None = None,
    cluster: str | None = None,
    where: Sequence[str] = (),
    limit_clusters: int | None = None,
) -> Plan:
    """Decides every question.

    Args:
        prompts: Names in `VARIANTS`; all of them when empty.
        limit_clusters: Take so many clusters of each split, chosen by hash.
        config, task, development, holdout, revision, cluster, where: See `open_labelled`.

    Raises:
        DatasetError, LookupError, InvalidValue: What is missing or unknown is named.
    """
    names = list(dict.fromkeys(prompts)) or list(VARIANTS)
    variants = {name: VARIANTS[name] for name in names}
    if limit_clusters is not None and limit_clusters < 1:
        raise InvalidValue(f"limit_clusters must be 1 or more, not {limit_clusters}")
    data = open_labelled(
        dataset, config=config, development=development, holdout=holdout, revision=revision,
        cluster=cluster, task=task, where=where,
    )  # fmt: skip
    rows, partial = _chosen(data, limit_clusters)
    about = task_named(data.task)
    questions = [
        _question(data, about, name, variant, row)
        for name, variant in variants.items()
        for row in rows
    ]
    choices = {
        "config": config, "prompts": names, "task": data.task, "splits": list(data.splits),
        "labels": list(data.labels), "revision": revision, "cluster": cluster,
        "where": list(where), "limit_clusters": limit_clusters,
    }  # fmt: skip
    return Plan(questions, data.items, columns=COLUMNS, partial=partial, choices=choices)


def _chosen(data: LabelledData, most: int | None) -> tuple[list[LabelledRow], str]:
    if most is None:
        return list(data.rows), ""
    taken: set[str] = set()
    parts = []
    for split in ("development", "holdout"):
        rows = [vars(row) | {"source_id": row.cluster_id} for row in data.of(split)]
        chosen, part = limited_rows(rows, most)
        taken |= {row["id"] for row in chosen}
        if part:
            parts.append(f"{part.replace('sources', 'clusters')} of {split}")
    return [row for row in data.rows if row.id in taken], "; ".join(parts)


def _question(
    data: LabelledData, task: ClosedSetTask, name: str, variant: Variant, row: LabelledRow
) -> Question:
    if row.label not in data.labels:
        raise DatasetError(f"row {row.id!r} has label {row.label!r}, none of {list(data.labels)}")
    made = put(task, variant, data.labels, row.id, row.text)
    named = made.labels if made.letters else data.labels
    parser = closed_set_name(named, made.synonyms, letters=made.letters)
    open_parser(parser)  # labels that cannot be told apart are rejected before anything is sent
    return Question(
        question_id=f"{row.id}|{name}",
        id=row.id,
        prompt_name=name,
        parts=(Text(made.prompt), Clip(row.id)),
        labels=made.labels,
        label=row.label,
        parser=parser,
        category=data.task,
        columns={
            "split": row.split,
            "task": data.task,
            "cluster_id": row.cluster_id,
            "speaker_id": row.speaker_id,
            "source_id": row.source_id,
        },
    )


LABELS = Audit(AUDIT, plan, show_plan)
run = LABELS.run
