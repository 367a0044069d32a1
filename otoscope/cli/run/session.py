"""What every `otoscope run` does: preview, progress bar, answer cache, summary and exit code."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import typer


def ask(
    audit: Any,
    dataset: str,
    model: Any,
    *,
    out: Path,
    reuse_answers: bool,
    **settings: Any,
) -> None:
    """Runs an `Audit` with a progress bar, prints its summary; exits with code 3 at a limit."""
    from otoscope.audits.answer_cache import AnswerCache
    from otoscope.folders import cache_folder

    with ExitStack() as stack:
        cache = None
        if reuse_answers:
            cache = AnswerCache(cache_folder() / "answers.sqlite")
            stack.callback(cache.close)
        on_answer = stack.enter_context(request_bar())
        progress = audit.run(dataset, model, out=out, cache=cache, on_answer=on_answer, **settings)
    typer.echo(summary(progress, out))
    if progress.stopped:
        raise typer.Exit(3)


@contextmanager
def request_bar() -> Iterator[Callable[[Any], None]]:
    """A bar with rate, time left, cost so far and the share parsed; gives what moves it."""
    from otoscope.progress import ProgressBars

    advance: Any = None
    with ExitStack() as stack:

        def on_answer(progress: Any) -> None:
            nonlocal advance
            if advance is None:  # before the first answer
                n_missing = progress.n_planned - progress.n_before
                advance = stack.enter_context(ProgressBars().bar("Requests", n_missing))
                return
            parsed = f"{100 * progress.n_parsed / progress.n_answered:.0f} % parsed"
            cost = "" if progress.cost is None else f", cost {progress.cost:.2f}"
            advance(progress.n_answered, total=True, note=parsed + cost)

        yield on_answer


def preview(planned: Any, model: Any) -> str:
    """What a run would send and cost."""
    from otoscope.prompts.parts import Text
    from otoscope.reports.terminal import indented
    from otoscope.responses import parser_title

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
        parser = parser_title(q.parser) if q.parser else "none"
        lines.append(f"(labels {', '.join(q.labels)}; correct: {q.label}; parser {parser})")
    price = getattr(model, "estimate", None)
    n_characters = sum(len(q.prompt) for q in planned.questions.values())
    cost = (
        price(n_questions=len(planned.questions), audio_s=seconds, n_characters=n_characters)
        if callable(price)
        else None
    )
    lines.append(
        f"--- {len(planned.questions):,} requests, {seconds / 3600:.2f} h of audio, price "
        + ("unknown" if cost is None else f"about {cost:.2f}")
        + (f"; partial: {planned.partial}" if planned.partial else "")
        + "; nothing was sent"
    )
    return indented("\n".join(lines), "")


def summary(progress: Any, out: Path) -> str:
    """The state of a run."""
    from otoscope.models.retrying import NOT_FINAL
    from otoscope.reports.terminal import shell_word, visible

    again = sum(progress.statuses.get(status, 0) for status in NOT_FINAL)
    done = progress.n_before + progress.n_answered - again
    lines = [f"{done:,} of {progress.n_planned:,} questions answered, {progress.n_answered:,} now"]
    if progress.n_repeated:
        lines.append(f"{progress.n_repeated:,} requests were in flight at a kill: sent again")
    if progress.n_cached:
        lines.append(f"{progress.n_cached:,} of them from the answer cache")
    if progress.statuses:
        lines.append(
            ", ".join(f"{n:,} {status}" for status, n in sorted(progress.statuses.items()))
        )
    for detail, n in progress.complaints.most_common(1):
        lines.append(f"{n:,} failed with: {visible(detail)}")
    lines += [
        f"{n:,} answered with a note: {visible(detail)}"
        for detail, n in progress.notes.most_common(2)
    ]
    if again:
        lines.append(f"run again to retry the {again:,} that ended in timeout or error")
    if progress.n_answered:
        lines.append(f"{100 * progress.n_parsed / progress.n_answered:.1f} % of them parsed")
    if progress.cost is not None:
        lines.append(f"cost {progress.cost:.4f}")
    if progress.stopped:
        lines.append(f"stopped: {progress.stopped}; the same command resumes, with another limit")
    attempted = progress.n_before + progress.n_answered
    if attempted and attempted == progress.n_planned and (result := _result(out)):
        lines.append(result)
    lines.append(f"next: otoscope report {shell_word(out)}")
    return "\n".join(lines)


def _result(out: Path) -> str:
    """The run's main result; empty where other processes of the run may be at work."""
    from otoscope.processes import process_share
    from otoscope.reports.headline import headline

    return headline(out) if process_share()[1] == 1 else ""
