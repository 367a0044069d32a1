"""How an audit runs: what all audits share.

    MINE = Audit("mine", plan)
    MINE.run("./dataset", "constant:increase", out="runs/constant")

A run is planned before the first request, so that its denominators are fixed. Answers are appended
as they arrive. The same call again requests only what is missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otoscope.audits.answer_cache import AnswerCache
from otoscope.audits.asking import RunProgress, ask
from otoscope.audits.audio_input import check_audio_input
from otoscope.audits.opening import DatasetLike, dataset_name
from otoscope.audits.plans import Plan
from otoscope.audits.runs import write_plan
from otoscope.models.base import calling, description_of
from otoscope.models.opening import open_model
from otoscope.models.retrying import ON_ERROR, RetryPolicy
from otoscope.processes import process_share
from otoscope.version import __version__


def _unchanged(model: Any, dataset: DatasetLike, plan: Plan) -> Any:
    return model


def show_plan(model: Any, dataset: DatasetLike, plan: Plan) -> Any:
    """Shows a model the rows and the questions of a plan, where it wants; the model.

    Raises:
        ModelError: It must not be evaluated on these rows, or cannot answer these questions.
    """
    if hasattr(model, "check_rows"):
        planned = {question.id for question in plan.questions.values()}
        rows = [row for row in plan.items.rows if row["id"] in planned]
        with calling(model, "check_rows"):
            model.check_rows(rows)
    if hasattr(model, "check_questions"):
        with calling(model, "check_questions"):
            model.check_questions(list(plan.questions.values()), whole=not plan.partial)
    return model


@dataclass(frozen=True)
class Audit:
    """A protocol.

    Attributes:
        name: As in `AUDITS` and run.json.
        plan: From a dataset and further options to a `Plan`.
        prepare: From a model, the dataset and the plan to the model that is run.
    """

    name: str
    plan: Callable[..., Plan]
    prepare: Callable[[Any, DatasetLike, Plan], Any] = _unchanged

    def run(
        self,
        dataset: DatasetLike,
        model: Any,
        *,
        out: str | Path,
        planned: Plan | None = None,
        spec: str = "",
        rank: int | None = None,
        world: int | None = None,
        retry: RetryPolicy = ON_ERROR,
        max_cost: float | None = None,
        cache: AnswerCache | None = None,
        audio_input_check: bool = True,
        on_answer: Callable[[RunProgress], None] = lambda progress: None,
        **planning: Any,
    ) -> RunProgress:
        """Asks a model about a dataset; requests only what is missing when called again.

        Args:
            dataset: See the audit's `plan`.
            model: An object with `answer`, see `otoscope.models.base.Model`, or what `--model`
                takes.
            out: The run folder.
            planned: A plan made before; otherwise made here from `planning`.
            spec: How the model was named, for run.json.
            rank, world: Which share `plan[rank::world]` to request; from RANK and WORLD_SIZE when
                absent.
            retry: Which answers to request again.
            max_cost, cache, on_answer: See `asking.ask`.
            audio_input_check: Reject a model whose input does not change with the audio.
            planning: Arguments of `plan`.

        Raises:
            ModelError: The audio does not reach the model, or it cannot be used for this audit.
            RunError: The folder holds another run.
        """
        if isinstance(model, str):
            spec, model = spec or model, open_model(model)
        rank, world = process_share(rank, world)
        plan = planned or self.plan(dataset, **planning)
        prepared = retry.prepare(self.prepare(model, dataset, plan))
        about = {
            "audit": self.name,
            "dataset": dataset_name(dataset),
            "model": spec,
            "model_description": description_of(prepared),
            **plan.choices,
            "partial": plan.partial,
            "n_questions": len(plan.questions),
            "otoscope_version": __version__,
            "hearing": check_audio_input(model, plan) if audio_input_check else "not checked",
            "retry_unparsed": retry.recorded,
        }
        write_plan(Path(out), plan.rows(), about, plan.columns)
        return ask(
            Path(out),
            prepared,
            list(plan.questions)[rank::world],
            plan.fill,
            rank=rank,
            world=world,
            retry=retry,
            max_cost=max_cost,
            cache=cache,
            on_answer=on_answer,
        )
