"""Plans: every question of a run, fixed before the first request.

A plan's table has the core columns below and those that its audit declares. `run.json` names them
all, and the plan's hash covers exactly these, so a column added later leaves old runs valid.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from otoscope.audits.items import Items
from otoscope.claims import differences
from otoscope.errors import InvalidValue
from otoscope.models.base import Request
from otoscope.prompts.parts import Clip, Question

PlanColumns = Mapping[str, pa.DataType]
TEXT, TEXTS = pa.string(), pa.list_(pa.string())

CORE: PlanColumns = {
    **dict.fromkeys(("question_id", "id", "prompt_name", "prompt", "parser"), TEXT),
    "audio_ids": TEXTS,
    "audio_sha256": TEXTS,
    "audio_s": pa.float64(),
}
"""Columns of every plan."""

ANSWER_SCHEMA = pa.schema(
    {
        "attempt": pa.int64(),
        "text": pa.string(),
        "status": pa.string(),
        "audio_truncated": pa.bool_(),
        "text_truncated": pa.bool_(),
        "n_tokens_in": pa.int64(),
        "n_tokens_out": pa.int64(),
        "wall_s": pa.float64(),
        "logprobs": pa.string(),
        "cost": pa.float64(),
        "detail": pa.string(),
        "first_text": pa.string(),
        "reasoning": pa.string(),
        "cached": pa.bool_(),
        "time": pa.string(),
    }
)
"""Columns that `load_run` adds to a plan."""

TAKEN = frozenset({*ANSWER_SCHEMA.names, "prediction", "rule", "exact", "outcome"})
"""Names that no plan's column has: those of answers, and what `otoscope.reports.scoring` adds."""

LABEL_COLUMNS: PlanColumns = {"label": TEXT, "labels": TEXTS}
"""Columns that an audit with closed answers declares."""

SCHEMA_1_COLUMNS = (
    "question_id", "id", "category", "attribute", "label", "labels", "parser", "prompt_name",
    "prompt", "audio_ids", "audio_sha256", "audio_s", "config", "profile", "direction", "curve",
    "tier", "source_id", "speaker_id", "no_effect",
)  # fmt: skip
"""Columns that a plan's hash covers in run.json of schema 1, in order.

Source: `PLAN_SCHEMA` in `otoscope/audits/runs.py` of version 0.1.
"""


class Plan:
    """What a run will request: questions in order, and the audio they need.

    Attributes:
        questions: By id, in plan order.
        items: The dataset's rows, few-shot examples included.
        columns: Columns of the table, core ones included, by name.
        partial: Why the plan covers only a part of the dataset, or empty.
        choices: The arguments it was made with, ready for JSON; part of `run.json`.
    """

    def __init__(
        self,
        questions: Iterable[Question],
        items: Items | None = None,
        *,
        columns: PlanColumns = LABEL_COLUMNS,
        partial: str = "",
        choices: Mapping[str, Any] | None = None,
    ) -> None:
        """Takes what an audit decided; `columns` are those it declares beside the core ones.

        A question that is given twice is in the plan once.

        Raises:
            InvalidValue: Two questions share an id, or a column has a name that is taken.
        """
        self.questions: dict[str, Question] = {}
        for question in questions:
            if self.questions.setdefault(question.question_id, question) != question:
                raise InvalidValue(
                    f"two questions of the plan have the id {question.question_id!r}"
                )
        for name, kind in columns.items():
            if name in TAKEN or kind != CORE.get(name, kind):
                raise InvalidValue(
                    f"a plan has no {kind} column {name!r} of its own: the name is taken"
                )
        self.items = items or Items(())
        self.columns: PlanColumns = {**CORE, **columns}
        self.partial = partial
        self.choices = dict(choices or {})

    def fill(self, question_id: str) -> Request:
        """A question with its audio."""
        question = self.questions[question_id]
        parts = [self.items.audio(p.id) if isinstance(p, Clip) else p for p in question.parts]
        return Request(question, tuple(parts))

    def rows(self) -> list[dict[str, Any]]:
        """The table's rows.

        A declared column has the value in the question's `columns`, else the question's attribute
        of that name, else the value in the dataset's row. An empty `category` or `attribute` of a
        question stands for the row's.
        """
        by_id = {row["id"]: row for row in self.items.rows}
        return [self._row(q, by_id.get(q.id, {})) for q in self.questions.values()]

    def _row(self, question: Question, row: Mapping[str, Any]) -> dict[str, Any]:
        facts = [self.items.facts(row_id) for row_id in question.clips]
        known = {
            **row,
            **vars(question),
            "category": question.category or row.get("category") or "",
            "attribute": question.attribute or row.get("attribute") or "",
            **question.columns,
            "prompt": question.prompt,
            "audio_ids": question.clips,
            "audio_sha256": [sha256 for sha256, _ in facts],
            "audio_s": sum((length for _, length in facts), 0.0),
        }
        return {name: _as_type(known.get(name), kind) for name, kind in self.columns.items()}


def _as_type(value: Any, kind: pa.DataType) -> Any:
    """A value of a dataset in a column's type; its speakers may be numbers."""
    if pa.types.is_string(kind):
        return None if value is None else str(value)
    if pa.types.is_boolean(kind):
        return value if isinstance(value, bool) else None
    return list(value) if isinstance(value, tuple) else value


def plan_sha256(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Hash of these columns of a plan, in this order; a column that a row lacks is null."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps([row.get(name) for name in columns]).encode())
    return digest.hexdigest()


def plan_difference(
    stored: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> str:
    """The first difference between two plans in words; questions or columns are named."""
    old, new = ({row["question_id"]: row for row in plan} for plan in (stored, rows))
    for question_id in (known for known in old if known in new):
        pair = ({n: row[question_id].get(n) for n in columns} for row in (old, new))
        if found := differences(*pair):
            return f"the plan ({question_id!r} has another {', '.join(d.name for d in found)})"
    n_removed, n_added = len(old.keys() - new.keys()), len(new.keys() - old.keys())
    if not n_removed and not n_added:
        return "the plan (its questions are in another order)"
    return f"the plan ({n_removed} questions removed, {n_added} added)"
