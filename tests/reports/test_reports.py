"""The report of a run is that of its audit."""

import subprocess
import sys
from importlib import import_module

import pytest

from otoscope.audits import AUDITS
from otoscope.errors import InputError
from otoscope.reports import REPORTS, report
from tests.reports.written_runs import question, write_run

LETTERS = {"label": "E", "labels": list("ABCDEFG"), "parser": "option_letter", "source_id": "d"}


@pytest.mark.parametrize("audit", REPORTS)
def test_every_report_is_of_an_audit_and_can_be_called(audit, tmp_path):
    module, _, function = REPORTS[audit].partition(":")
    assert audit in AUDITS
    assert callable(getattr(import_module(module), function))


def test_the_audit_in_run_json_chooses_the_report(tmp_path):
    write_run(tmp_path / "p", [question("x")], [("x|main", "increase")])
    write_run(tmp_path / "m", [question("x", **LETTERS)], [("x|main", "E")], audit="meld")
    for name, heading in (("p", "# Perception report\n"), ("m", "# MELD report\n")):
        assert report([tmp_path / name]).is_file()
        assert (tmp_path / name / "report" / "report.md").read_text().startswith(heading)


@pytest.mark.parametrize(
    ("audit", "columns"), [("perception", {}), ("meld", LETTERS)], ids=["perception", "meld"]
)
def test_a_report_of_several_runs_replaces_no_other(audit, columns, tmp_path):
    rows = [question("x", **columns)]
    places = ["a", "b", "more/b", "c" * 80, "c" * 81]
    a, *others = (
        write_run(tmp_path / place, rows, [("x|main", "increase")], audit=audit) for place in places
    )
    pages = [report([a]), *(report([a, other]) for other in others), report([a, *others[:2]])]
    assert [page.parent.name for page in pages[:3]] == [
        "report", "report-with-b", "report-with-more-b",
    ]  # fmt: skip
    assert pages[-1].parent.name == "report-with-b-more-b"
    assert len(set(pages)) == 6
    assert all(page.parent.parent == a and len(page.parent.name) <= 80 for page in pages)


def test_an_audit_without_a_report_is_named_with_those_that_have_one(tmp_path):
    run = write_run(tmp_path / "r", [question("x")], audit="taste")
    with pytest.raises(InputError, match=r"run of 'taste', which has no report.* 'meld', 'perc"):
        report([run])


def test_runs_of_different_audits_are_rejected(tmp_path):
    runs = [write_run(tmp_path / name, [question("x")], audit=name) for name in AUDITS]
    with pytest.raises(InputError, match=r"runs of one audit; .*meld: 'meld'"):
        report(runs)
    with pytest.raises(InputError, match="at least one run"):
        report([])


def test_players_for_meld_are_an_error_and_not_silently_absent(tmp_path):
    run = write_run(tmp_path / "m", [question("x", **LETTERS)], audit="meld")
    with pytest.raises(InputError, match="no audio players"):
        report([run], dataset="somewhere")


def test_the_table_of_reports_is_light():
    code = "import sys, otoscope.reports; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "numpy", "datasets", "matplotlib"} & set(done.stdout.split())
