"""A whole study of one model: its answers, its hidden states, and what fine-tuning changes.

python -m trainers.study study.yaml

Runs the model, extracts hidden states, probes them, fine-tunes it on one category at a time, runs
and probes each fine-tuned model, and writes a report. Every step is a command in a process of its
own, and is listed by --dry-run: it can be run by hand, elsewhere, or with other options.
Interrupted or killed, the same command resumes with the unfinished step.

    STUDY/runs, features, probes, adapters     a folder for each model in each
    STUDY/done/STEP                            its command, once it has finished
    STUDY/report/inside.html                   the page
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from otoscope.atomic import write_atomic, write_json
from otoscope.claims import differences, locked
from otoscope.cli.errors import program
from otoscope.processes import process_share
from otoscope.reports.inside.stored_names import STUDY_SCHEMA
from trainers.study_commands import StudyError, with_current_options

if TYPE_CHECKING:  # needs pydantic, which a core installation lacks
    from trainers.study_config import StudyCommand, StudyConfig

LAUNCHER_VARIABLES = (
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_", "ACCELERATE_",
)  # fmt: skip
"""Environment that a launcher sets for its own processes, and that steps must not inherit."""

SEVERAL_PROCESSES = (
    "accelerate.commands.launch", "--multi_gpu", "--num_machines", "1", "--mixed_precision", "no",
    "--dynamo_backend", "no", "--num_processes",
)  # fmt: skip


class StudyStep(NamedTuple):
    """A command, and the folder that it fills."""

    name: str
    command: tuple[str, ...]
    folder: Path

    @property
    def stored_name(self) -> str:
        """Of its file in `done`, as in version 0.1."""
        return self.name.replace("fine-tune-", "teach-", 1)

    @property
    def line(self) -> str:
        """The command without the interpreter's path, which differs between machines."""
        return shlex.join(self.command[1:])


def steps_of(config: "StudyConfig") -> list[StudyStep]:
    """All steps of a study, in order."""
    return [step._replace(command=tuple(with_current_options(step.command)))
            for step in _steps(config)]  # fmt: skip


def _steps(config: "StudyConfig") -> Iterator[StudyStep]:
    out = config.out
    yield from _model_steps(config, "base", adapter=None, probed=True)
    if config.other_profile is not None:
        features = {"base": out / "features/base", "other": out / "features/other"}
        yield _extract_step(config, "other", config.other_profile, adapter=None)
        for train, test in (("base", "other"), ("other", "base")):
            name = f"{train}-on-{test}"
            probes = out / "probes" / name
            command = _trainer(
                config, "probe", "linear_probe",
                features=features[train], test_features=features[test], out=probes,
            )  # fmt: skip
            yield StudyStep(f"probe-{name}", command, probes)
    for category in config.fine_tune:
        adapter = out / "adapters" / category
        command = _trainer(
            config, "lora", "lora",
            dataset=config.dataset, model=config.model, category=category, scope=config.scope,
            limit_sources=config.limit_sources, out=adapter,
        )  # fmt: skip
        yield StudyStep(f"fine-tune-{category}", command, adapter)
        name = f"tuned-{category}"
        yield from _model_steps(config, name, adapter=adapter, probed=config.probe_fine_tuned)
    report = (sys.executable, "-m", "otoscope.cli", "inside", str(out))
    yield StudyStep("report", report, out / "report")


def _model_steps(
    config: "StudyConfig", name: str, *, adapter: Path | None, probed: bool
) -> Iterator[StudyStep]:
    """A run of one model; and, where wanted, its features and their probes."""
    run, probes = config.out / "runs" / name, config.out / "probes" / name
    options = _options(
        config, "run",
        dataset=config.dataset, model=config.model, adapter=adapter, config=config.categories,
        split="test", limit_sources=config.limit_sources, out=run,
    )  # fmt: skip
    command = (sys.executable, "-m", "otoscope.cli", "run", "perception", *options)
    yield StudyStep(f"run-{name}", command, run)
    if not probed:
        return
    extract = _extract_step(config, name, config.dataset, adapter=adapter)
    yield extract
    command = _trainer(
        config, "probe", "linear_probe", features=extract.folder, run=run, out=probes
    )
    yield StudyStep(f"probe-{name}", command, probes)


def _extract_step(
    config: "StudyConfig", name: str, dataset: str, *, adapter: Path | None
) -> StudyStep:
    folder = config.out / "features" / name
    command = _trainer(
        config, "extract", "extract",
        dataset=dataset, model=config.model, adapter=adapter, config=config.categories,
        sites=config.sites, limit_sources=config.limit_sources, out=folder,
    )  # fmt: skip
    return StudyStep(f"extract-{name}", command, folder)


def _trainer(
    config: "StudyConfig", kind: "StudyCommand", module: str, /, **values: Any
) -> tuple[str, ...]:
    launch: tuple[str, ...] = (sys.executable, "-m")
    if config.processes > 1:
        launch += (*SEVERAL_PROCESSES, str(config.processes), "-m")
    return (*launch, f"trainers.{module}", *_options(config, kind, **values))


def _options(config: "StudyConfig", kind: "StudyCommand", /, **values: Any) -> list[str]:
    """Command-line options; those of the config come last."""
    return [
        word
        for name, value in {**values, **config.options.get(kind, {})}.items()
        for word in _option(name.replace("_", "-"), value)
    ]


def _option(name: str, value: Any) -> list[str]:
    if value is None or value == ():
        return []
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for one in values for word in (f"--{name}", str(one))]


def run_study(config: "StudyConfig", notify: Callable[[str], None] = typer.echo) -> None:
    """Runs every step that is not done.

    Raises:
        StudyError: A step failed or was done with another command, or the folder is in use.
    """
    steps, out = steps_of(config), config.out
    out.mkdir(parents=True, exist_ok=True)
    busy = StudyError(
        f"{out}: a step of this study is still running, perhaps of one that was killed; wait for "
        "it, or end it"
    )
    with locked(out / "lock", busy) as lock:
        _validate_commands(steps, out)
        _write_record(config, steps)
        for number, step in enumerate(steps, start=1):
            title = f"[{number}/{len(steps)}] {step.name}"
            if _done(out, step).exists() and step.name != "report":
                notify(f"{title}: already done")
                continue
            notify(f"{title}: {shlex.join(step.command)}")
            _run(step, lock, config.threads)
            write_atomic(_done(out, step), f"{step.line}\n".encode(), via=out / "making")


def _run(step: StudyStep, lock: int, threads: int | None) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHER_VARIABLES)}
    if threads is not None:
        environment["OMP_NUM_THREADS"] = str(threads)
    # the step inherits the lock: if it outlives a killed study, others stay out
    done = subprocess.run(step.command, env=environment, pass_fds=(lock,), check=False)
    if done.returncode:
        raise StudyError(
            f"step {step.name} ended with code {done.returncode}; see its output above. Then run "
            "the same command again: finished steps are not repeated"
        )


def _done(out: Path, step: StudyStep) -> Path:
    return out / "done" / step.stored_name


def _validate_commands(steps: Sequence[StudyStep], out: Path) -> None:
    done = {step.name: step for step in steps if _done(out, step).exists()}
    stored = {name: _done(out, step).read_text() for name, step in done.items()}
    before = {n: shlex.join(with_current_options(shlex.split(x))) for n, x in stored.items()}
    for name, other, now in differences(before, {n: step.line for n, step in done.items()}):
        raise StudyError(
            f"step {name} was done with another command, `{other}`; now it would be `{now}`: "
            f"choose another `out`, or delete {_done(out, done[name])} and {done[name].folder} to "
            "do it again"
        )


def _write_record(config: "StudyConfig", steps: Sequence[StudyStep]) -> None:
    about = {
        "schema": STUDY_SCHEMA,
        "config": config.record(),
        "steps": [
            {"name": s.stored_name, "command": list(s.command[1:]), "folder": str(s.folder)}
            for s in steps
        ],
        "never_run": config.not_run,
    }
    staging = config.out / "making"
    write_json(config.out / "study.json", about, via=staging, ensure_ascii=False)


def study(
    config: Annotated[
        Path,
        typer.Argument(metavar="STUDY.yaml", help="The study; trainers/study.yaml is an example."),
    ],
    dry_run: Annotated[
        bool, typer.Option(help="Dry run: list the steps and their commands.")
    ] = False,
) -> None:
    """Runs, extracts, probes, fine-tunes and runs again; ends in a report.

    python -m trainers.study trainers/study.yaml
    python -m trainers.study trainers/study.yaml --dry-run
    """
    from trainers.study_config import read_study_config

    if process_share()[0]:
        return  # steps start processes of their own; `processes` says how many
    settings = read_study_config(config)
    if not dry_run:
        run_study(settings)
        return
    for step in steps_of(settings):
        state = "done" if _done(settings.out, step).exists() else "to do"
        typer.echo(f"{step.name:<28} {state:<6} {step.line}")


if __name__ == "__main__":
    program(study)()
