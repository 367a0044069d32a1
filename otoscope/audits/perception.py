"""The perception audit: can the model hear one acoustic factor rise or fall?

    run("./vocalgrad", "constant:increase", out="runs/constant")

A run is planned before anything is asked, so that its denominators are fixed; answers are appended
as they come; whatever is missing is asked when the same call is made again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from otoscope.audits.answer_cache import AnswerCache
from otoscope.audits.asking import Tally, ask
from otoscope.audits.hearing import hearing
from otoscope.audits.items import SOURCE, DatasetError, Items, configs_in, open_items
from otoscope.audits.runs import PLAN_SCHEMA, write_plan
from otoscope.audits.sampling import limited
from otoscope.errors import InvalidValue
from otoscope.models.base import ModelError, Request, Status, description_of
from otoscope.models.opening import open_model
from otoscope.processes import own_share
from otoscope.prompts import PROMPTS
from otoscope.prompts.few_shot import Pool
from otoscope.prompts.labels import LABEL_NAMES, label_of
from otoscope.prompts.parts import Clip, Question, Text
from otoscope.prompts.questions import applies, question, split_name
from otoscope.version import __version__

OWN = "own"
"""The prompt that asks each row's own `prompt` column, word for word."""

POOL_SPLITS = "train+validation"

WORDS = [f.name for f in PLAN_SCHEMA if pa.types.is_string(f.type)]
"""Columns of a dataset that a plan has as text: its speakers may be numbers."""


class Perception:
    """What will be asked: questions in order, and the sound they need.

    Attributes:
        questions: By id, in plan order.
        items: The dataset's rows, few-shot examples included.
        partial: Why the plan is only a part of the dataset, or nothing.
        choices: The arguments of `plan` it was made with, ready for JSON.
    """

    def __init__(
        self,
        items: Items,
        questions: Iterable[Question],
        partial: str = "",
        choices: Mapping[str, Any] | None = None,
    ) -> None:
        self.items = items
        self.questions = {q.question_id: q for q in questions}
        self.partial = partial
        self.choices = dict(choices or {})

    def fill(self, question_id: str) -> Request:
        """A question with its sound."""
        asked = self.questions[question_id]
        parts = [self.items.sound(p.id) if isinstance(p, Clip) else p for p in asked.parts]
        return Request(asked, tuple(parts))

    def rows(self) -> list[dict[str, Any]]:
        """The plan's rows."""
        by_id = {row["id"]: row for row in self.items.rows}
        return [self._row(q, by_id[q.id]) for q in self.questions.values()]

    def about(
        self,
        audit: str,
        dataset: str | Path | datasets.Dataset,
        spec: str,
        described: Mapping[str, Any],
        heard_by: Any | None,
    ) -> dict[str, Any]:
        """What run.json says of a run, ready for JSON.

        Args:
            audit: Its name.
            dataset: What is asked about.
            spec: How the model was named.
            described: What the model says of itself.
            heard_by: The model whose hearing is checked first; None leaves the check out.

        Raises:
            ModelError: The model is not being given the sound.
        """
        checked = "not checked"
        if heard_by is not None:
            checked = hearing(heard_by, self.items, self.questions, self.fill)
        return {
            "audit": audit,
            "dataset": "in memory" if isinstance(dataset, datasets.Dataset) else str(dataset),
            "model": spec,
            "model_description": described,
            **self.choices,
            "partial": self.partial,
            "n_questions": len(self.questions),
            "otoscope_version": __version__,
            "hearing": checked,
        }

    def _row(self, asked: Question, row: Mapping[str, Any]) -> dict[str, Any]:
        facts = [self.items.facts(row_id) for row_id in asked.clips]
        words = {name: None if row.get(name) is None else str(row[name]) for name in WORDS}
        no_effect = row.get("no_effect")
        return words | {
            "no_effect": no_effect if isinstance(no_effect, bool) else None,
            "question_id": asked.question_id,
            "attribute": asked.attribute,
            "label": asked.label,
            "labels": list(asked.labels),
            "parser": asked.parser,
            "prompt_name": asked.prompt_name,
            "prompt": asked.prompt,
            "audio_ids": list(asked.clips),
            "audio_sha256": [sha256 for sha256, _ in facts],
            "audio_s": sum(length for _, length in facts),
        }


def plan(
    dataset: str | Path | datasets.Dataset,
    *,
    configs: Sequence[str] = (),
    prompts: Sequence[str] = (),
    split: str = "test",
    revision: str | None = None,
    cross_attribute: bool = False,
    limit_sources: int | None = None,
) -> Perception:
    """Decides every question.

    Args:
        dataset: A folder, a Hub repository or a dataset in memory.
        configs: Which configs; the default when empty.
        prompts: Names in `PROMPTS`, with `@attribute` or not, or `own`; `main` when the rows have
            an attribute or category to ask about.
        split: Which split.
        revision: For a Hub repository.
        cross_attribute: Ask each prompt about every category's attribute, not only the row's own.
        limit_sources: Take so many sources, spread over speakers, chosen by hash.

    Raises:
        DatasetError, LookupError, ValueError: What is missing or unknown is named.
    """
    names = list(prompts) or ["main"]
    for name in names:
        if name != OWN:
            PROMPTS[split_name(name)[0]]
    items = open_items(dataset, configs, split=split, revision=revision)
    if limit_sources is not None and limit_sources < 1:
        raise InvalidValue(f"limit_sources must be 1 or more, not {limit_sources}")
    about = [PROMPTS[split_name(name)[0]] for name in names if name != OWN]
    has_sources = any(row["category"] == SOURCE for row in items.rows)
    if any(p.rows != "clips" for p in about) and not has_sources:
        if SOURCE not in configs_in(dataset, revision):
            raise DatasetError("these prompts need unchanged clips: a config `source`")
        items.extend(open_items(dataset, [SOURCE], split=split, revision=revision))
    pool = None
    if any(p.few_shot for p in about):
        try:
            pooled = open_items(dataset, configs, split=POOL_SPLITS, revision=revision)
        except DatasetError as error:
            raise DatasetError(f"few_shot takes its examples from {POOL_SPLITS}: {error}") from None
        pool = Pool(pooled.rows)
        asked_about = items.rows
        items.extend(pooled)
    else:
        asked_about = items.rows
    chosen, partial = limited(asked_about, limit_sources)
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
    return Perception(items, questions, partial, choices)


def _questions(
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    cross: bool,
    pool: Pool | None,
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


def _own(row: Mapping[str, Any]) -> Question:
    if not row.get("prompt"):
        raise DatasetError(f"row {row['id']!r} has no `prompt` to ask")
    parts = (Text(row["prompt"]), Clip(row["id"]))
    return Question(
        f"{row['id']}|{OWN}", row["id"], OWN, row["category"], row.get("attribute") or "", parts,
        LABEL_NAMES, label_of(row), "paper",
    )  # fmt: skip


def run(
    dataset: str | Path | datasets.Dataset,
    model: Any,
    *,
    out: str | Path,
    planned: Perception | None = None,
    spec: str = "",
    rank: int | None = None,
    world: int | None = None,
    retry_statuses: Iterable[str] = (),
    retry_unparsed: bool = False,
    max_cost: float | None = None,
    cache: AnswerCache | None = None,
    check_hearing: bool = True,
    on_answer: Callable[[Tally], None] = lambda tally: None,
    **planning: Any,
) -> Tally:
    """Asks a model about a dataset; asks only what is missing when called again.

    Args:
        dataset: See `plan`.
        model: An object with `answer`, see `otoscope.models.base.Model`, or what `--model` takes.
        out: The run folder.
        planned: A plan made before; otherwise made here from `planning`.
        spec: How the model was named, for run.json.
        rank, world: Which share `plan[rank::world]` to ask; from RANK and WORLD_SIZE when absent.
        retry_statuses, retry_unparsed, max_cost, cache, on_answer: See `asking.ask`.
        check_hearing: Refuse a model whose input does not change with the sound.
        planning: Arguments of `plan`.

    Raises:
        ModelError: The model is not being given the sound, or was trained on what it is asked.
        RunError: The folder holds another run.
    """
    if isinstance(model, str):
        spec, model = spec or model, open_model(model)
    rank, world = own_share(rank, world)
    retry = frozenset(retry_statuses)
    if unknown := sorted(retry - {status.value for status in Status}):
        raise InvalidValue(
            f"no status named {unknown[0]!r}; there are {sorted(status.value for status in Status)}"
        )
    planned = planned or plan(dataset, **planning)
    ids = list(planned.questions)
    _fit(model, dataset, planned)
    described = description_of(model)
    tries_again = hasattr(model, "with_settings") or described.get("retry_max_tokens")
    if retry_unparsed and not tries_again:
        raise ModelError("a second try with more tokens: this model has no such setting")
    about = planned.about("perception", dataset, spec, described, model if check_hearing else None)
    write_plan(Path(out), planned.rows(), about | {"retry_unparsed": retry_unparsed})
    return ask(
        Path(out),
        model,
        ids[rank::world],
        planned.fill,
        rank=rank,
        world=world,
        retry_statuses=retry,
        retry_unparsed=retry_unparsed,
        max_cost=max_cost,
        cache=cache,
        on_answer=on_answer,
    )


def _fit(model: Any, dataset: str | Path | datasets.Dataset, planned: Perception) -> None:
    """Shows a model what it will be asked about, and gives it unchanged clips, if it wants them."""
    if hasattr(model, "check_rows"):
        asked_about = {q.id for q in planned.questions.values()}
        model.check_rows([row for row in planned.items.rows if row["id"] in asked_about])
    if not hasattr(model, "fit"):
        return
    split, revision = planned.choices.get("split", "test"), planned.choices.get("revision")
    if SOURCE in configs_in(dataset, revision):
        sources = open_items(dataset, [SOURCE], split=split, revision=revision)
        model.fit(sources.sound(row["id"]) for row in sources.rows)
