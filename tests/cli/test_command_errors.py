"""What a person can mend is one line and code 2, a bug is a traceback, Ctrl-C is code 130."""

import errno
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from otoscope.errors import InputError
from otoscope.models.base import ModelError
from tests.cli.commands import COMMANDS, apps

DATA = ("--dataset", "data")
MODEL = ("--model", "constant:increase")
OUT = ("--out", "out")
LORA = ("--category", "volume", *DATA, *MODEL, *OUT)
CALLS = {
    "otoscope run perception": ((*DATA, *MODEL, *OUT), "otoscope.models.opening.open_model"),
    "otoscope run meld": ((*DATA, *MODEL, *OUT), "otoscope.models.opening.open_model"),
    "otoscope run labels": ((*DATA, *MODEL, *OUT), "otoscope.models.opening.open_model"),
    "otoscope report": (("run",), "otoscope.reports.report"),
    "otoscope compare": (("a", "b"), "otoscope.reports.compare.compare"),
    "otoscope show": (("run", "id"), "otoscope.reports.show.show"),
    "otoscope audit-parse": (("run",), "otoscope.reports.parse_audit.audit_run"),
    "otoscope call-value": (
        ("table", "--contract", "contract.json", *OUT),
        "otoscope.audits.call_value.audit.audit_calls",
    ),
    "otoscope call-value-tasks": (
        ("audit", *OUT),
        "otoscope.reports.call_value.tasks.write_tasks_report",
    ),
    "otoscope transcribe": ((*DATA, *OUT), "otoscope.audits.labelled.open_labelled"),
    "otoscope fit-observer": ((*DATA, *OUT), "otoscope.audits.fitting.fit_observer"),
    "otoscope inside": (("study",), "otoscope.reports.inside.report.write_inside"),
    "otoscope render": (
        ("in.wav", "out.wav", "--category", "echo"),
        "otoscope.acoustics.files.render_file",
    ),
    "otoscope published": ((), "otoscope.reports.perception.published.published_list"),
    "otoscope doctor": ((), "otoscope.doctor.diagnose"),
    "builders.vocalgrad build": ((), "builders.vocalgrad.commands.build.open_corpus"),
    "builders.esc50_animals build": (
        ("--from", "x", *OUT),
        "builders.esc50_animals.__main__.open_esc50_animals",
    ),
    "builders.esd_split build": (("--from", "x", *OUT), "builders.esd_split.__main__.open_esd"),
    "builders.labelled_folder build": (
        ("--from", "x", *OUT),
        "builders.labelled_folder.__main__.open_labelled_folder",
    ),
    "builders.speech_text_matching build": (
        OUT,
        "builders.speech_text_matching.__main__.open_corpus",
    ),
    "builders.vocalsound_split build": (OUT, "builders.vocalsound_split.__main__.open_published"),
    "builders.vocalgrad spans": ((), "builders.vocalgrad.commands.spans.open_corpus"),
    "builders.vocalgrad compare": (
        ("a", "b"),
        "builders.vocalgrad.commands.compare.write_side_by_side",
    ),
    "builders.vocalgrad sources list": (
        (),
        "builders.vocalgrad.commands.sources.sources_without_audio",
    ),
    "builders.vocalgrad sources verify": (
        ("vctk",),
        "builders.vocalgrad.commands.sources.verify_corpus",
    ),
    "trainers.encoder_probe": (
        (*DATA, *OUT, "--encoder", "mfcc"),
        "otoscope.audits.labelled.open_labelled",
    ),
    "trainers.extract": (
        (*DATA, *MODEL, *OUT, "--sites", "mel"),
        "otoscope.models.opening.open_model",
    ),
    "trainers.linear_probe": (
        ("--features", "features", *OUT),
        "otoscope.representations.features.Features.open",
    ),
    "trainers.lora": (LORA, "otoscope.tuning.jobs.job_on_clips"),
    "trainers.study": (("study.yaml",), "trainers.study_config.read_study_config"),
    "trainers.listener": ((*DATA, *OUT), "trainers.listener.train_listener"),
}


def test_every_command_is_here():
    assert set(CALLS) == {" ".join(words) for words in COMMANDS}


@pytest.fixture
def raising(monkeypatch, tmp_path):
    """Calls a command in which something raises."""
    monkeypatch.chdir(tmp_path)

    def call(command, error):
        def fail(*_, **__):
            raise error

        arguments, target = CALLS[command]
        monkeypatch.setattr(target, fail)
        name, *words = command.split()
        return CliRunner().invoke(apps()[name], [*words, *arguments])

    return call


@pytest.mark.parametrize("command", CALLS)
class TestEveryCommand:
    def test_what_a_person_can_mend_is_one_line(self, raising, command):
        done = raising(command, ModelError("no such\nthing; \x1b[31mchoose another"))
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr == "error: no such thing; \\x1b[31mchoose another\n"

    def test_a_disk_that_fails_is_one_line_with_the_file(self, raising, command):
        done = raising(command, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "out/file"))
        assert done.exit_code == 2
        assert "out/file: " in done.stderr
        assert os.strerror(errno.ENOSPC) in done.stderr or "the disk is full" in done.stderr

    @pytest.mark.parametrize("error", [KeyError("name"), IndexError(3), ValueError("x"), TypeError])
    def test_a_bug_is_a_traceback(self, raising, command, error):
        done = raising(command, error)
        assert done.exit_code == 1
        assert isinstance(done.exception, error if isinstance(error, type) else type(error))

    def test_a_missing_package_is_one_line(self, raising, command):
        done = raising(command, ModuleNotFoundError("No module named 'peft'", name="peft.tuners"))
        assert done.exit_code == 2
        assert 'missing: pip install "otoscope[models]"' in done.stderr

    def test_a_missing_module_of_ours_is_a_bug(self, raising, command):
        done = raising(command, ModuleNotFoundError("No module", name="otoscope.absent"))
        assert isinstance(done.exception, ModuleNotFoundError)

    def test_ctrl_c(self, raising, command):
        done = raising(command, KeyboardInterrupt())
        assert done.exit_code == 130
        assert "Traceback" not in done.output

    def test_a_debugger_may_see_where(self, raising, command, monkeypatch):
        monkeypatch.setenv("OTOSCOPE_DEBUG", "1")
        assert isinstance(raising(command, InputError("x")).exception, InputError)


def test_a_traceback_reaches_the_terminal():
    code = (
        "import otoscope.doctor\n"
        "def fail(): return {}['absent']\n"
        "otoscope.doctor.diagnose = fail\n"
        "from otoscope.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "doctor"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last)")
    assert done.stderr.endswith("KeyError: 'absent'\n")


def test_output_that_nobody_reads_is_no_error(raising):
    done = raising("otoscope doctor", BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))
    assert (done.exit_code, done.output) == (1, "")
