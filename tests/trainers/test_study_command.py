"""A study: its file, its commands, and that no step is repeated."""

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import trainers.study as study_module
from otoscope.cli.errors import one_line_errors, program
from otoscope.reports.inside.stored_names import STUDY_KEYS
from trainers.study import StudyStep, run_study, steps_of
from trainers.study_commands import StudyError
from trainers.study_config import StudyConfig, read_study_config

ROOT = Path(__file__).parents[2]


def config(tmp_path, **more):
    given = {"dataset": "data", "model": "transformers:tiny", "out": tmp_path / "study"}
    return StudyConfig(**(given | {"categories": ["volume", "echo"], "fine_tune": ["echo"]} | more))


def writing(folder, text):
    """A step that appends a line to a file of its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    code = f"open({str(folder / 'log')!r}, 'a').write({text!r} + '\\n')"
    return (sys.executable, "-c", code)


@pytest.fixture
def three_steps(tmp_path, monkeypatch):
    """`run_study` with three steps that leave a line each, and the report."""
    steps = [
        StudyStep(name, writing(tmp_path / "log", name), tmp_path / name)
        for name in ("first", "second", "third")
    ]
    monkeypatch.setattr(study_module, "steps_of", lambda config: steps)
    return steps


def log(tmp_path):
    return (tmp_path / "log" / "log").read_text().split()


def test_the_steps_of_a_study_in_order(tmp_path):
    names = [step.name for step in steps_of(config(tmp_path, other_profile="controlled"))]
    assert names == [
        "run-base", "extract-base", "probe-base",
        "extract-other", "probe-base-on-other", "probe-other-on-base",
        "fine-tune-echo", "run-tuned-echo", "extract-tuned-echo", "probe-tuned-echo",
        "report",
    ]  # fmt: skip
    without = steps_of(config(tmp_path, probe_fine_tuned=False, fine_tune=["echo", "volume"]))
    assert [step.name for step in without][3:] == [
        "fine-tune-echo", "run-tuned-echo", "fine-tune-volume", "run-tuned-volume", "report",
    ]  # fmt: skip


def test_every_command_is_one_that_there_is(tmp_path):
    """Each step's options are known to its command: asked for help, it does not complain."""
    for step in steps_of(config(tmp_path, other_profile="controlled", limit_sources=3)):
        words = [word for word in step.command[3:] if word.startswith("--")]
        if step.name == "report":
            continue
        if step.command[2] == "otoscope.cli":
            from otoscope.cli import app
        else:
            module = __import__(step.command[2], fromlist=["x"])
            app = program(getattr(module, step.command[2].removeprefix("trainers.")))
        arguments = ["run", "perception"] if step.command[2] == "otoscope.cli" else []
        message = CliRunner().invoke(app, [*arguments, "--help"], terminal_width=200).output
        for word in set(words):
            assert word in message, (step.name, word)


def test_options_of_the_file_reach_their_command(tmp_path):
    options = {"lora": {"epochs": 3, "gradient_checkpointing": False}, "run": {"preset": "x"}}
    by_name = {s.name: s.command for s in steps_of(config(tmp_path, options=options))}
    assert by_name["fine-tune-echo"][-3:] == ("--epochs", "3", "--no-gradient-checkpointing")
    assert by_name["run-base"][-2:] == ("--preset", "x")


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        ("lora", "out", "elsewhere"),
        ("run", "--out", "elsewhere"),
        ("extract", "limit-sources", 3),
        ("probe", "test_features", "features/other"),
        ("lora", "category", "echo"),
    ],
)
def test_options_cannot_change_what_the_study_sets(tmp_path, command, option, value):
    named = option.strip("-").replace("-", "_")
    with pytest.raises(ValueError, match=f"the study sets '{named}' of `{command}` itself"):
        config(tmp_path, options={command: {option: value}})


def test_options_of_version_0_1_have_todays_names(tmp_path):
    options = {"lora": {"rank": 4, "batch_size": 8}, "probe": {"split": "grouped"}}
    by_name = {s.name: s.command for s in steps_of(config(tmp_path, options=options))}
    assert by_name["fine-tune-echo"][-4:] == ("--lora-rank", "4", "--train-batch-size", "8")
    assert by_name["probe-base"][-2:] == ("--probe-split", "grouped")
    assert ("--split", "test") in pairwise(by_name["run-base"])


def test_a_step_that_version_0_1_did_is_done(tmp_path, monkeypatch):
    study = config(tmp_path, options={"lora": {"rank": 4}})
    step = {s.name: s for s in steps_of(study)}["fine-tune-echo"]
    done = study.out / "done" / step.stored_name
    done.parent.mkdir(parents=True)
    monkeypatch.setattr(study_module, "steps_of", lambda config: [step])
    done.write_text(shlex.join(step.command[1:]).replace("--lora-rank", "--rank") + "\n")
    run_study(study, lambda line: None)
    done.write_text(shlex.join(step.command[1:]).replace("--lora-rank", "--lora-alpha") + "\n")
    with pytest.raises(StudyError, match="was done with another command"):
        run_study(study, lambda line: None)


def test_several_processes_are_really_started(tmp_path):
    command = {s.name: s.command for s in steps_of(config(tmp_path, processes=2))}["extract-base"]
    message = " ".join(command[1:])
    assert message.startswith(
        "-m accelerate.commands.launch --multi_gpu --num_machines 1 --mixed_precision no "
        "--dynamo_backend no --num_processes 2 -m trainers.extract --dataset data"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset: data\nmodel: m", "out: Field required"),
        ("dataset: d\nmodel: m\nout: o\ncategories: [loudness]", "no category named 'loudness'"),
        ("dataset: d\nmodel: m\nout: o\nfine_tune: [echo, echo]", "is given twice"),
        ("dataset: d\nmodel: m\nout: o\nlayers: 3", "layers: Extra inputs are not permitted"),
        ("dataset: d\nmodel: m\nout: o\nprocesses: 0", "processes: Input should be greater"),
        ("dataset: d\nmodel: m\nout: o\noptions: {train: {}}", "options.train"),
        ("dataset: [", "no YAML"),
        ("\udcff", "not UTF-8"),
        ("just words", "should hold names and values"),
        ("1: 2", "1 is no name of a value"),
    ],
)
def test_a_wrong_file_is_named_with_its_fault(tmp_path, text, message):
    path = tmp_path / "study.yaml"
    path.write_text(text, errors="surrogateescape")
    with pytest.raises(StudyError, match=r"study\.yaml") as error:
        read_study_config(path)
    assert message in str(error.value)


@pytest.mark.parametrize(("old", "new"), STUDY_KEYS.items())
def test_a_key_of_version_0_1_is_named_with_its_new_name(tmp_path, old, new):
    path = tmp_path / "study.yaml"
    path.write_text(f"dataset: d\nmodel: m\nout: o\n{old}: x")
    with pytest.raises(StudyError, match=rf"study\.yaml: `{old}` is now `{new}`"):
        read_study_config(path)


def test_records_keep_the_names_of_version_0_1(tmp_path, three_steps):
    made = config(tmp_path, other_profile="controlled", not_run="all")
    run_study(made, notify=lambda line: None)
    about = json.loads((tmp_path / "study" / "study.json").read_text())
    assert about["never_run"] == about["config"]["never_run"] == "all"
    assert about["config"]["teach"] == ["echo"]
    assert about["config"]["other"] == "controlled"
    assert about["config"]["probe_taught"] is True
    assert sorted(about["config"]) == [
        "categories", "dataset", "limit_sources", "model", "never_run", "options", "other", "out",
        "probe_taught", "processes", "scope", "sites", "teach",
    ]  # fmt: skip
    assert StudyStep("fine-tune-echo", (), tmp_path).stored_name == "teach-echo"


@pytest.mark.parametrize(("threads", "expected"), [(1, "1"), (None, "7")])
def test_steps_have_as_many_threads_as_the_study_says(tmp_path, monkeypatch, threads, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    code = "import os; open('threads', 'w').write(os.environ['OMP_NUM_THREADS'])"
    monkeypatch.chdir(tmp_path)
    step = StudyStep("only", (sys.executable, "-c", code), tmp_path / "only")
    monkeypatch.setattr(study_module, "steps_of", lambda config: [step])
    made = config(tmp_path, threads=threads)
    run_study(made, notify=lambda line: None)
    assert (tmp_path / "threads").read_text() == expected
    assert ("threads" in made.record()) is (threads is not None)


def test_a_scope_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match="no scope named 'head'; there are lm_head, decoder"):
        config(tmp_path, scope="head")


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(StudyError, match=r"none\.yaml: No such file"):
        read_study_config(tmp_path / "none.yaml")


def test_the_example_is_a_study(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert len(steps_of(read_study_config(ROOT / "trainers" / "study.yaml"))) > 5


def test_what_is_done_is_not_done_twice(tmp_path, three_steps):
    for _ in range(2):
        run_study(config(tmp_path), notify=lambda line: None)
    assert log(tmp_path) == ["first", "second", "third"]


def test_a_failed_step_is_named_and_tried_again(tmp_path, three_steps, monkeypatch):
    broken = three_steps[1]._replace(command=(sys.executable, "-c", "raise SystemExit(3)"))
    monkeypatch.setattr(
        study_module, "steps_of", lambda config: [three_steps[0], broken, three_steps[2]]
    )
    with pytest.raises(StudyError, match="step second ended with code 3"):
        run_study(config(tmp_path), notify=lambda line: None)
    monkeypatch.setattr(study_module, "steps_of", lambda config: three_steps)
    run_study(config(tmp_path), notify=lambda line: None)
    assert log(tmp_path) == ["first", "second", "third"]


def test_another_command_for_a_finished_step_is_rejected(tmp_path, three_steps, monkeypatch):
    run_study(config(tmp_path), notify=lambda line: None)
    other = [three_steps[0]._replace(command=(sys.executable, "-c", "1")), *three_steps[1:]]
    monkeypatch.setattr(study_module, "steps_of", lambda config: other)
    with pytest.raises(StudyError, match="step first was done with another command"):
        run_study(config(tmp_path), notify=lambda line: None)


def test_steps_do_not_inherit_the_launcher(tmp_path, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_PORT", "ACCELERATE_USE_CPU"):
        monkeypatch.setenv(name, "0")
    code = (
        "import os, sys; sys.exit(any(k in os.environ for k in "
        "('RANK', 'WORLD_SIZE', 'MASTER_PORT', 'ACCELERATE_USE_CPU')))"
    )
    step = StudyStep("only", (sys.executable, "-c", code), tmp_path)
    monkeypatch.setattr(study_module, "steps_of", lambda config: [step])
    run_study(config(tmp_path), notify=lambda line: None)


def test_a_step_that_outlives_a_killed_study_keeps_others_away(tmp_path):
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import trainers.study as s
from pathlib import Path
from trainers.study_config import StudyConfig
work = "import time; print('at work', flush=True); time.sleep(2)"
step = s.StudyStep("slow", (sys.executable, "-c", work), Path("x"))
s.steps_of = lambda config: [step]
config = StudyConfig(dataset="d", model="m", out=Path({str(tmp_path / "study")!r}))
s.run_study(config, notify=lambda line: None)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "at work\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with pytest.raises(StudyError, match="still running"):
            run_study(config(tmp_path), notify=lambda line: None)
        process.stdout.read()  # until the step has ended
    with (tmp_path / "study" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_without_pydantic_one_line_names_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    monkeypatch.delitem(sys.modules, "trainers.study_config")
    with pytest.raises(typer.Exit) as ended, one_line_errors():
        study_module.study(Path("study.yaml"))
    assert ended.value.exit_code == 2
    assert capsys.readouterr().err == (
        "error: the package 'pydantic' is missing: pip install \"otoscope[models]\"\n"
    )
