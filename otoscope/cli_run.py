"""`otoscope run`: asks a model about a dataset, and only what has not been answered yet."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from otoscope.cli_options import (
    Adapter,
    BatchSize,
    Cached,
    Configs,
    DatasetName,
    DeviceMap,
    Dtype,
    HearingCheck,
    OnLong,
    Revision,
    TrustRemoteCode,
)

app = typer.Typer(help="Run an audit.", no_args_is_help=True)


@app.command()
def perception(
    dataset: DatasetName,
    model: Annotated[
        str,
        typer.Option(
            help=r"KIND[:NAME]\[@REVISION]: observer, fitted:FILE, constant:increase, random:0, "
            "replay:FILE, transformers:PATH_OR_ID@REV, openai:NAME, or "
            "my_package.my_module:MyModel."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The run folder; run again to go on.")],
    config: Configs = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="Prompt; may be repeated. `own` asks each row's own text."),
    ] = None,
    cross_attribute: Annotated[
        bool, typer.Option(help="Ask about every category's attribute, not only the row's own.")
    ] = False,
    split: Annotated[str, typer.Option(help="Which split.")] = "test",
    revision: Revision = None,
    limit_sources: Annotated[
        int | None, typer.Option(min=1, help="So many sources; the run is marked partial.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option(help="Show the first question of each prompt, calls, audio and price.")
    ] = False,
    max_cost: Annotated[float | None, typer.Option(help="Stop once so much is spent.")] = None,
    retry: Annotated[
        list[str] | None,
        typer.Option(help="Ask again what ended in this status, e.g. refused; may be repeated."),
    ] = None,
    retry_unparsed: Annotated[
        bool, typer.Option(help="Ask an unparsable answer once more with 256 new tokens.")
    ] = False,
    cache: Cached = True,
    hearing_check: HearingCheck = True,
    batch_invariant_check: Annotated[
        int | None, typer.Option(help="First compare batched with single answers on N questions.")
    ] = None,
    adapter: Adapter = None,
    dtype: Dtype = None,
    device_map: DeviceMap = None,
    batch_size: BatchSize = None,
    max_new_tokens: Annotated[int | None, typer.Option(min=1, help="transformers.")] = None,
    trust_remote_code: TrustRemoteCode = False,
    on_long: OnLong = None,
    preset: Annotated[str | None, typer.Option(help="Published decoding settings by name.")] = None,
    base_url: Annotated[str | None, typer.Option(help="openai: the server.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="openai: calls at once.")] = None,
    requests_per_minute: Annotated[float | None, typer.Option(help="openai: at most.")] = None,
    timeout_s: Annotated[
        float | None, typer.Option(help="openai: seconds a call may take.")
    ] = None,
) -> None:
    """Asks whether one acoustic factor rises or falls.

    otoscope run perception --dataset ./vocalgrad --model observer --out runs/observer

    Stopped at any moment, the same command goes on where it was. Start it under `accelerate launch
    -m otoscope.cli run …` to spread it over processes.
    """
    from otoscope.audits.asking import RETRY_TOKENS
    from otoscope.audits.perception import plan, run
    from otoscope.models.opening import open_model

    options = {
        "adapter": adapter, "dtype": dtype, "device_map": device_map, "batch_size": batch_size,
        "max_new_tokens": max_new_tokens, "trust_remote_code": trust_remote_code or None,
        "preset": preset, "on_long": on_long, "base_url": base_url, "concurrency": concurrency,
        "requests_per_minute": requests_per_minute, "timeout_s": timeout_s,
    }  # fmt: skip
    if model.startswith("openai:"):
        options["max_tokens"] = options.pop("max_new_tokens")
        options["retry_max_tokens"] = RETRY_TOKENS if retry_unparsed else None
    planning: dict[str, Any] = {
        "configs": config or (),
        "prompts": prompt or (),
        "split": split,
        "revision": revision,
        "cross_attribute": cross_attribute,
        "limit_sources": limit_sources,
    }
    with plain_errors():
        asked = open_model(model, **options)
        planned = plan(dataset, **planning)
        if dry_run:
            typer.echo(preview(planned, asked))
            return
        if lost := _inaudible(asked, planned):
            typer.echo(lost)
        if batch_invariant_check:
            typer.echo(_check_batches(asked, planned, batch_invariant_check))
        with watched() as on_answer, cached(cache) as answers:
            tally = run(
                dataset,
                asked,
                out=out,
                planned=planned,
                spec=model,
                retry_statuses=retry or (),
                retry_unparsed=retry_unparsed,
                max_cost=max_cost,
                cache=answers,
                check_hearing=hearing_check,
                on_answer=on_answer,
            )
    typer.echo(summary(tally, out))
    if tally.stopped:
        raise typer.Exit(3)


def preview(planned: Any, model: Any) -> str:
    """What a run would send and cost, without asking."""
    from otoscope.prompts.parts import Text

    lines, seen = [], set()
    seconds = 0.0
    for q in planned.questions.values():
        lengths = (planned.items.facts(row_id)[1] for row_id in q.clips)
        seconds += sum(length for length in lengths if length == length)  # NaN: not audio
        if q.prompt_name in seen:
            continue
        seen.add(q.prompt_name)
        lines.append(f"--- {q.prompt_name}: {q.question_id}")
        for part in q.parts:
            if isinstance(part, Text):
                lines.append(part.text)
            else:
                lines.append(f"[audio: {part.id}, {planned.items.facts(part.id)[1]:.2f} s]")
        lines.append(f"(answers {', '.join(q.labels)}; right: {q.label}; parser {q.parser})")
    price = getattr(model, "estimate", None)
    n_characters = sum(len(q.prompt) for q in planned.questions.values())
    cost = (
        price(n_questions=len(planned.questions), audio_s=seconds, n_characters=n_characters)
        if callable(price)
        else None
    )
    lines.append(
        f"--- {len(planned.questions):,} calls, {seconds / 3600:.2f} h of audio, price "
        + ("unknown" if cost is None else f"about {cost:.2f}")
        + (f"; partial: {planned.partial}" if planned.partial else "")
        + "; nothing was asked"
    )
    return "\n".join(lines)


def summary(tally: Any, out: Path) -> str:
    """How a run stands, for a person."""
    from otoscope.audits.runs import ASKED_AGAIN

    again = sum(tally.statuses.get(status, 0) for status in ASKED_AGAIN)
    done = tally.n_before + tally.n_answered - again
    lines = [f"{done:,} of {tally.n_planned:,} questions answered, {tally.n_answered:,} asked now"]
    if tally.n_repeated:
        lines.append(
            f"{tally.n_repeated:,} calls were in flight when a process stopped: asked again"
        )
    if tally.n_cached:
        lines.append(f"{tally.n_cached:,} of them from the answer cache")
    if tally.statuses:
        lines.append(", ".join(f"{n:,} {status}" for status, n in sorted(tally.statuses.items())))
    for detail, n in tally.complaints.most_common(1):
        lines.append(f"{n:,} said: {detail}")
    if again:
        lines.append(f"run again to ask the {again:,} that ended in timeout or error once more")
    if tally.n_answered:
        lines.append(f"{100 * tally.n_parsed / tally.n_answered:.1f} % of them parsed")
    if tally.cost is not None:
        lines.append(f"cost {tally.cost:.4f}")
    if tally.stopped:
        lines.append(
            f"stopped: {tally.stopped}; the same command goes on, with another limit or none"
        )
    lines.append(f"look at it: otoscope report {out}")
    return "\n".join(lines)


def _check_batches(model: Any, planned: Any, n: int) -> str:
    from otoscope.models.batch_invariance import batch_invariance_check

    asked = [planned.fill(q) for q in list(planned.questions)[:n]]
    found = batch_invariance_check(model, asked)
    lines = [
        f"batches of {found.batch_size}: {len(found.different)} of {found.n_questions} answers "
        "differ from single ones"
    ]
    lines += [f"  {d.question_id}: {d.in_batch!r}, alone {d.alone!r}" for d in found.different]
    return "\n".join(lines)


def _inaudible(model: Any, planned: Any) -> str:
    """What of one clip a category lies above half the rate at which the model hears."""
    from otoscope.audits.hearing import readable
    from otoscope.models.guards import lost_bandwidth

    first = {q.category: q.question_id for q in reversed(planned.questions.values())}
    audio_inputs = [asked.audio_inputs[-1] for asked in readable(planned.fill, first.values())]
    found = lost_bandwidth(getattr(model, "sampling_rate", None), audio_inputs)
    return found.message if found is not None else ""


class cached:
    """The answer cache while a run lasts, or None."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.opened: Any = None

    def __enter__(self) -> Any:
        if self.wanted:
            from otoscope.audits.answer_cache import AnswerCache
            from otoscope.folders import cache_folder

            self.opened = AnswerCache(cache_folder() / "answers.sqlite")
        return self.opened

    def __exit__(self, *_: object) -> None:
        if self.opened is not None:
            self.opened.close()


class watched:
    """A bar with rate, time left, cost so far and the share parsed."""

    def __enter__(self) -> Any:
        self.stack = ExitStack()
        step: Any = None

        def on_answer(tally: Any) -> None:
            nonlocal step
            if step is None:  # before the first answer
                from otoscope.progress import Shown

                n_missing = tally.n_planned - tally.n_before
                step = self.stack.enter_context(Shown().bar("Asking", n_missing))
                return
            parsed = f"{100 * tally.n_parsed / tally.n_answered:.0f} % parsed"
            cost = "" if tally.cost is None else f", cost {tally.cost:.2f}"
            step(tally.n_answered, total=True, note=parsed + cost)

        return on_answer

    def __exit__(self, *reason: Any) -> None:
        self.stack.__exit__(*reason)


class plain_errors:
    """Turns faults that the user can mend into one line and exit code 2."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        from otoscope.acoustics.codec import AudioError
        from otoscope.audits.items import DatasetError
        from otoscope.audits.runs import RunError
        from otoscope.models.base import ModelError

        expected = ModelError | RunError | DatasetError | AudioError
        if isinstance(error, expected | LookupError | ValueError | OSError):
            if os.environ.get("OTOSCOPE_DEBUG"):
                return
            message = error.args[0] if isinstance(error, LookupError) and error.args else error
            typer.echo(f"error: {message}", err=True)
            raise typer.Exit(2) from None
