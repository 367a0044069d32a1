"""A whole study of one model: what it says, what it holds, and what teaching changes.

accelerate launch -m trainers.study study.yaml

Asks the model, keeps its states, probes them, teaches it a category at a time, asks and probes each
taught model again, and ends in a report. Every step is a command of its own, in a process of its
own, and is listed by --dry-run: it can be run by hand, elsewhere, or with other options. Stopped at
any moment, or killed, the same command goes on with the step it was at.

    STUDY/runs, features, probes, adapters     a folder for each model in each
    STUDY/done/STEP                            its command, once it has finished
    STUDY/report/inside.html                   the page
"""

import fcntl
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from otoscope.acoustics.gradients import GRADIENTS
from otoscope.atomic import write_atomic
from otoscope.cli.errors import program
from otoscope.errors import InputError
from otoscope.processes import own_share

SCHEMA = 1
OF_LAUNCHERS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_", "ACCELERATE_")
"""Environment that a launcher sets for its own processes, and that steps must not inherit."""

RENAMED = {
    "otoscope.cli": {
        "--hearing-check": "--audio-input-check",
        "--no-hearing-check": "--no-audio-input-check",
        "refuse": "reject",
    },
    "trainers.extract": {
        "--store": "--store-dtype",
        "--memory": "--max-disk-gib",
        "refuse": "reject",
    },
    "trainers.linear_probe": {
        "--split": "--probe-split",
        "--batch-size": "--train-batch-size",
        "--memory": "--memory-gib",
    },
    "trainers.lora": {
        "--from-states": "--features",
        "--split": "--validation",
        "--rank": "--lora-rank",
        "--alpha": "--lora-alpha",
        "--dropout": "--lora-dropout",
        "--batch-size": "--train-batch-size",
        "--max-norm": "--max-grad-norm",
        "refuse": "reject",
    },
}
"""Options of version 0.1 and their names today, by the command's module."""

SEVERAL = (
    "--multi_gpu",
    "--num_machines",
    "1",
    "--mixed_precision",
    "no",
    "--dynamo_backend",
    "no",
)

Options = dict[str, bool | int | float | str | list[str]]
Command = Literal["run", "extract", "probe", "lora"]


class StudyError(InputError, ValueError):
    """A study that cannot go on; the message names the step and the way out."""


class Config(BaseModel):
    """What a study is about; paths are relative to where it is launched.

    Attributes:
        dataset: A folder or a Hub repository with splits train and test.
        other: The other profile's dataset, for the control across profiles.
        model: As for `otoscope run`.
        out: The study's folder.
        categories: Whatever is asked and probed.
        teach: What is taught, each to an adapter of its own; nothing where empty.
        probe_taught: Whether taught models are looked into as well, or only asked.
        scope: Of LoRA.
        sites: For `trainers.extract`.
        limit_sources: So many sources of each split, everywhere.
        processes: Of each trainer.
        options: More options for the commands, by command: `run`, `extract`, `probe`, `lora`.
        never_run: What the report should say was not tried.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: str
    model: str
    out: Path
    other: str | None = None
    categories: tuple[str, ...] = tuple(GRADIENTS)
    teach: tuple[str, ...] = tuple(GRADIENTS)
    probe_taught: bool = True
    scope: Literal["lm_head", "all_linear", "decoder"] = "all_linear"
    sites: str = "mel,pre_llm,audio.last,text.*"
    limit_sources: int | None = Field(default=None, ge=1)
    processes: int = Field(default=1, ge=1)
    options: dict[Command, Options] = Field(default_factory=dict)
    never_run: str = ""

    @field_validator("categories", "teach")
    @classmethod
    def known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """The same names.

        Raises:
            ValueError: One is no category, or stands there twice.
        """
        for name in names:
            if name not in GRADIENTS:
                raise ValueError(f"no category named {name!r}; there are {', '.join(GRADIENTS)}")
        if len(set(names)) < len(names):
            raise ValueError("a category stands there twice")
        return names


class Step(NamedTuple):
    """A command, and the folder that it fills."""

    name: str
    command: tuple[str, ...]
    folder: Path


def read_config(path: Path) -> Config:
    """The study that a YAML file describes.

    Raises:
        StudyError: The file cannot be read, or something in it is unknown, missing or wrong.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(f"{path}: {error.strerror or error}") from error
    except yaml.YAMLError as error:
        raise StudyError(f"{path}: no YAML ({' '.join(str(error).split())})") from error
    if not isinstance(content, dict):
        raise StudyError(f"{path}: should hold names and values, such as `model: transformers:…`")
    try:
        return Config(**content)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        raise StudyError(f"{path}: {'; '.join(faults)}") from error


def steps_of(config: Config) -> list[Step]:
    """Everything that a study does, in order."""
    return [step._replace(command=tuple(current(step.command))) for step in _steps(config)]


def current(command: Sequence[str]) -> list[str]:
    """A command whose options may have their names of version 0.1, with today's names.

    >>> current(["-m", "trainers.lora", "--rank", "4"])
    ['-m', 'trainers.lora', '--lora-rank', '4']
    """
    names = next((RENAMED[word] for word in command if word in RENAMED), {})
    return [names.get(word, word) for word in command]


def _steps(config: Config) -> Iterator[Step]:
    out = config.out
    yield from _looked_at(config, "base", adapter=None, probed=True)
    if config.other is not None:
        features = {"base": out / "features/base", "other": out / "features/other"}
        yield _extract(config, "other", config.other, adapter=None)
        for learn, asked in (("base", "other"), ("other", "base")):
            name = f"{learn}-on-{asked}"
            yield Step(
                f"probe-{name}",
                _trainer(
                    config, "probe", "linear_probe",
                    features=features[learn], test_features=features[asked],
                    out=out / "probes" / name,
                ),
                out / "probes" / name,
            )  # fmt: skip
    for category in config.teach:
        adapter = out / "adapters" / category
        yield Step(
            f"teach-{category}",
            _trainer(
                config, "lora", "lora",
                dataset=config.dataset, model=config.model, category=category, scope=config.scope,
                limit_sources=config.limit_sources, out=adapter,
            ),
            adapter,
        )  # fmt: skip
        yield from _looked_at(
            config, f"tuned-{category}", adapter=adapter, probed=config.probe_taught
        )
    report = ("otoscope.cli", "inside", str(out))
    yield Step("report", (sys.executable, "-m", *report), out / "report")


def _looked_at(config: Config, name: str, *, adapter: Path | None, probed: bool) -> Iterator[Step]:
    """Asking one model; and, where wanted, its states and their probes."""
    run, probes = config.out / "runs" / name, config.out / "probes" / name
    asked = _options(
        config, "run",
        dataset=config.dataset, model=config.model, adapter=adapter, config=config.categories,
        split="test", limit_sources=config.limit_sources, out=run,
    )  # fmt: skip
    yield Step(
        f"run-{name}", (sys.executable, "-m", "otoscope.cli", "run", "perception", *asked), run
    )
    if not probed:
        return
    extract = _extract(config, name, config.dataset, adapter=adapter)
    yield extract
    probing = _trainer(
        config, "probe", "linear_probe", features=extract.folder, run=run, out=probes
    )
    yield Step(f"probe-{name}", probing, probes)


def _extract(config: Config, name: str, dataset: str, *, adapter: Path | None) -> Step:
    folder = config.out / "features" / name
    command = _trainer(
        config, "extract", "extract",
        dataset=dataset, model=config.model, adapter=adapter, config=config.categories,
        sites=config.sites, limit_sources=config.limit_sources, out=folder,
    )  # fmt: skip
    return Step(f"extract-{name}", command, folder)


def _trainer(config: Config, kind: Command, module: str, /, **given: Any) -> tuple[str, ...]:
    launch: tuple[str, ...] = (sys.executable, "-m")
    if config.processes > 1:
        n = str(config.processes)
        launch += ("accelerate.commands.launch", *SEVERAL, "--num_processes", n, "-m")
    return (*launch, f"trainers.{module}", *_options(config, kind, **given))


def _options(config: Config, kind: Command, /, **given: Any) -> list[str]:
    """Command-line options; what the config says of a command comes last."""
    return [
        word
        for name, value in {**given, **config.options.get(kind, {})}.items()
        for word in _option(name.replace("_", "-"), value)
    ]


def _option(name: str, value: Any) -> list[str]:
    if value is None or value == ():
        return []
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for one in values for word in (f"--{name}", str(one))]


def conduct(config: Config, say: Any = typer.echo) -> None:
    """Does every step that has not been done.

    Raises:
        StudyError: A step failed or was done with another command, or another study is at work in
            the folder.
    """
    steps, out = steps_of(config), config.out
    out.mkdir(parents=True, exist_ok=True)
    with (out / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StudyError(
                f"{out}: a step of this study is still at work, perhaps of one that was killed; "
                "wait for it, or end it"
            ) from None
        _refuse_other_commands(steps, out)
        _note(config, steps)
        for number, step in enumerate(steps, start=1):
            told = f"[{number}/{len(steps)}] {step.name}"
            if _done(out, step).exists() and step.name != "report":
                say(f"{told}: done before")
                continue
            say(f"{told}: {shlex.join(step.command)}")
            _run(step, lock.fileno())
            write_atomic(_done(out, step), _line(step).encode(), via=out / "making")


def _run(step: Step, lock: int) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(OF_LAUNCHERS)}
    # the lock goes along, so that a step that outlives a killed study keeps others away
    done = subprocess.run(step.command, env=environment, pass_fds=(lock,), check=False)
    if done.returncode:
        raise StudyError(
            f"step {step.name} ended with {done.returncode}; what it said stands above. Mend that "
            "and run the same command again: what is done is not done twice"
        )


def _done(out: Path, step: Step) -> Path:
    return out / "done" / step.name


def _line(step: Step) -> str:
    """The command without the interpreter's path, which differs between machines."""
    return shlex.join(step.command[1:]) + "\n"


def _refuse_other_commands(steps: Sequence[Step], out: Path) -> None:
    for step in steps:
        path = _done(out, step)
        if not path.exists():
            continue
        recorded = shlex.join(current(shlex.split(path.read_text())))
        if recorded != _line(step).strip():
            raise StudyError(
                f"step {step.name} was done with another command, `{recorded}`; now it would be "
                f"`{_line(step).strip()}`: choose another `out`, or delete {path} and "
                f"{step.folder} to do it again"
            )


def _note(config: Config, steps: Sequence[Step]) -> None:
    about: Mapping[str, Any] = {
        "schema": SCHEMA,
        "config": config.model_dump(mode="json"),
        "steps": [
            {"name": s.name, "command": list(s.command[1:]), "folder": str(s.folder)} for s in steps
        ],
        "never_run": config.never_run,
    }
    text = json.dumps(about, indent=1, ensure_ascii=False) + "\n"
    write_atomic(config.out / "study.json", text.encode(), via=config.out / "making")


def study(
    config: Annotated[
        Path,
        typer.Argument(metavar="STUDY.yaml", help="The study; trainers/study.yaml is an example."),
    ],
    dry_run: Annotated[
        bool, typer.Option(help="Dry run: list the steps and their commands.")
    ] = False,
) -> None:
    """Asks, extracts, probes, teaches, asks again; ends in a report.

    accelerate launch -m trainers.study trainers/study.yaml
    python -m trainers.study trainers/study.yaml --dry-run
    """
    if own_share()[0]:
        return  # steps start processes of their own; `processes` says how many
    settings = read_config(config)
    if not dry_run:
        conduct(settings)
        return
    for step in steps_of(settings):
        state = "done" if _done(settings.out, step).exists() else "to do"
        typer.echo(f"{step.name:<28} {state:<6} {shlex.join(step.command[1:])}")


if __name__ == "__main__":
    program(study)()
