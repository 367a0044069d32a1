"""`otoscope compare`, `show` and `audit-parse` on run folders; `published` on its counts."""

import csv
import io
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from otoscope.cli import app
from tests.reports.written_runs import question, right_or_wrong, write_run

NASTY = "\x1b[2J[red]I hear it increasing[/red]\x07"


@pytest.fixture
def runs(tmp_path):
    rows = [question(f"clip{i}", source_id=f"s{i % 10}") for i in range(40)]
    a = write_run(tmp_path / "a", rows, right_or_wrong(rows, [True] * 30 + [False] * 10))
    answers = right_or_wrong(rows, [True] * 20 + [False] * 20)
    answers[0] = ("clip0|main", NASTY)
    answers[1] = ("clip1|main", None)
    b = write_run(tmp_path / "b", rows, answers, model_description={"name": "[bold]b\x1b[1m"})
    return a, b


def call(*arguments, columns=200):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": str(columns)})


def nothing_raw(text):
    return not [c for c in text if not c.isprintable() and c != "\n"]


def test_report_warns_of_what_its_scores_rest_on(tmp_path):
    rows = [question("a"), question("b")]
    run = write_run(tmp_path / "a", rows, [("a|main", "It does not increase."), ("b|main", "up")])
    done = call("report", run)
    assert done.exit_code == 0, done.output
    assert "warning: a: 1 of 2 parsed answers may be misread by their rule" in done.stderr


class TestCompare:
    def test_begins_with_the_result_and_ends_with_what_differs(self, runs):
        done = call("compare", *runs)
        assert done.exit_code == 0, done.output
        assert nothing_raw(done.output)
        lines = done.output.splitlines()
        differs = next(i for i, line in enumerate(lines) if "model_description.name" in line)
        numbers = next(i for i, line in enumerate(lines) if line.startswith(" volume"))
        # 30 and 18 of 40 are correct: 12 / 40 = 30 points.
        assert lines[0] == (
            "A is better than B by 30.0 points: 75.0 % against 45.0 % correct, n = 40."
        )
        assert lines[1].startswith("95 % CI of A - B, clustered t: +")
        assert lines[1].endswith("points; exact McNemar test: p < 0.001.")
        assert 1 < numbers < differs
        assert r"[bold]b\x1b[1m" in lines[differs]
        assert "B: 18 correct, 1 unanswered, 1 unparsed, 20 wrong." in lines
        (row,) = [line.split() for line in lines if line.startswith(" volume")]
        # 30 against 18 of 40; 12 discordant, all for A: p = 2 / 4096.
        assert row[:5] == ["volume", "40", "75.0", "45.0", "+30.0"]
        assert row[-5:-1] == ["12", "0", "<0.001", "<0.001"]

    @pytest.mark.parametrize("columns", [80, 200])
    def test_no_number_is_broken_over_lines(self, runs, columns):
        lines = call("compare", *runs, columns=columns).output.splitlines()
        rows = [line for line in lines if line.startswith(" volume")]
        assert len(rows) == (2 if columns == 80 else 1)
        assert "+30.0" in rows[0]
        assert max(len(line) for line in rows) < columns
        assert rows[-1].split()[-5:-1] == ["12", "0", "<0.001", "<0.001"]

    def test_writes_files(self, runs, tmp_path):
        table, whole = tmp_path / "new" / "table.csv", tmp_path / "whole.JSON"
        done = call("compare", *runs, "--out", table, "--out", whole)
        assert done.exit_code == 0, done.output
        rows = list(csv.DictReader(io.StringIO(table.read_text("utf-8"))))
        assert [row["only_first"] for row in rows] == ["12", "12"]
        assert json.loads(whole.read_text())["groups"][0]["only_first"] == 12

    def test_common_says_what_is_left_out(self, runs, tmp_path):
        few = write_run(tmp_path / "few", [question(f"clip{i}") for i in range(38, 42)])
        refused = call("compare", runs[0], few)
        assert refused.exit_code == 2
        assert "38 questions only in" in refused.output
        assert "('clip40|main', 'clip41|main')" in refused.output
        done = call("compare", runs[0], few, "--common")
        assert done.exit_code == 0, done.output
        assert "2 questions compared" in done.output
        assert "Left out of A: 38 of 40." in done.output
        assert "Left out of B: 2 of 4." in done.output

    def test_a_run_with_itself(self, runs):
        done = call("compare", runs[0], runs[0])
        assert "Their settings are the same." in done.output
        assert done.output.startswith("A and B differ by exactly 0 (+0.0 points): 75.0 % against")
        assert "Both gave the same answer text to every question." in done.output

    def test_the_result_names_categories_on_either_side(self, tmp_path):
        # Of 12 in each category: 12 against 0, 0 against 12, 6 against 6 of the others, and the
        # same 12; p = 2 / 2**12, 2 / 2**12, 1 and 1.
        first = [True] * 12 + [False] * 12 + [True, False] * 6 + [True] * 12
        second = [False] * 12 + [True] * 12 + [False, True] * 6 + [True] * 12
        names = ("echo", "volume", "voice_pitch", "background_noise")
        rows = [question(f"{name}{i}", category=name) for name in names for i in range(12)]
        a = write_run(tmp_path / "a", rows, right_or_wrong(rows, first))
        b = write_run(tmp_path / "b", rows, right_or_wrong(rows, second))
        found, _, by_category = call("compare", a, b).output.splitlines()[:3]
        assert found == "Undecided: A - B is +0.0 points: 62.5 % against 62.5 % correct, n = 48."
        assert by_category == (
            "By category, after Holm's correction: A is better in echo; B is better in volume; "
            "undecided in voice_pitch; exactly equal in background_noise."
        )
        assert (
            call("compare", b, a)
            .output.splitlines()[2]
            .startswith(
                "By category, after Holm's correction: A is better in volume; B is better in echo;"
            )
        )

    def test_next_to_nothing_has_no_sign_of_its_own(self, tmp_path):
        rows = [question(f"c{i}") for i in range(2001)]
        a = write_run(tmp_path / "a", rows, right_or_wrong(rows, [True] * 2000 + [False]))
        b = write_run(tmp_path / "b", rows, right_or_wrong(rows, [True] * 2001))
        assert "-0.0" not in call("compare", a, b).output

    def test_a_test_that_the_sources_do_not_bear_out_is_doubted(self, tmp_path):
        rows = [question(f"s{s}_{k}", source_id=f"s{s}") for s in range(8) for k in range(8)]
        first = [row["source_id"] == "s0" for row in rows]
        a = write_run(tmp_path / "a", rows, right_or_wrong(rows, first))
        b = write_run(tmp_path / "b", rows, right_or_wrong(rows, [False] * 64))
        doubted = " ".join(call("compare", a, b).output.split())
        assert "Undecided: the clustered interval contains 0." in doubted
        assert "So in: volume, all." in doubted
        assert doubted.startswith("Undecided: A - B is +12.5 points")
        assert doubted.count("0.008 †") == 2  # 2 / 2**8
        assert "†" not in call("compare", a, a).output


class TestShow:
    def test_one_item(self, runs):
        done = call("show", runs[1], "clip0")
        assert done.exit_code == 0, done.output
        assert nothing_raw(done.output)
        assert r"    | \x1b[2J[red]I hear it increasing[/red]\x07" in done.output
        assert "shape and signs  open end, unseen, blind_words" in done.output

    def test_an_unknown_id_is_one_line(self, runs):
        done = call("show", runs[0], "clip\x1b[1m9")
        assert done.exit_code == 2
        assert nothing_raw(done.output)
        assert "error: " in done.output
        assert "or 'clip9'" in done.output
        assert len(done.output.splitlines()) == 1

    def test_a_dataset_that_is_not_there(self, runs, tmp_path):
        done = call("show", runs[0], "clip1", "--dataset", tmp_path / "nowhere")
        assert done.exit_code == 2
        assert "is no folder here" in done.output


class TestAuditParse:
    def test_rules_shapes_and_doubtful_answers(self, runs):
        done = call("audit-parse", runs[1])
        assert done.exit_code == 0, done.output
        assert nothing_raw(done.output)
        assert "40 questions planned, 39 answers parsed." in done.output
        assert "1 of 39 answers may be misread by the rules of paper (2.6 %)" in done.output
        assert r"\x1b[2J[red]I hear it increasing[/red]\x07" in done.output
        assert "Not parsed: 1" in done.output
        assert "unanswered" in done.output

    def test_only_so_many_texts_of_each_rule(self, tmp_path):
        rows = [question(f"c{i}") for i in range(9)]
        texts = ["same", "same", "same", *(f"word{i}" for i in range(6))]
        answers = [(row["question_id"], text) for row, text in zip(rows, texts, strict=True)]
        run = write_run(tmp_path / "r", rows, answers)
        done = call("audit-parse", run, "--texts", "2")
        assert "(5 more texts)" in done.output
        (rest,) = [line.split() for line in done.output.splitlines() if "more texts" in line]
        assert rest[:3] == ["no", "word", "5"]
        assert "(7 more texts)" in call("audit-parse", run, "--texts", "0").output

    def test_another_parser_and_a_file(self, runs, tmp_path):
        out = tmp_path / "answers.csv"
        done = call("audit-parse", runs[1], "--parser", "paraphrase", "--out", out)
        assert done.exit_code == 0, done.output
        rows = list(csv.DictReader(io.StringIO(out.read_bytes().decode(), newline="")))
        assert sum(int(row["n"]) for row in rows) == 40
        assert {row["parser"] for row in rows} == {"paraphrase", ""}
        assert NASTY.encode("unicode_escape").decode() in {row["text"] for row in rows}
        wrong = call("audit-parse", runs[1], "--parser", "paraphrases")
        assert wrong.exit_code == 2
        assert "did you mean 'paraphrase'?" in wrong.output


@pytest.mark.parametrize("command", ["compare", "show", "audit-parse"])
class TestEveryCommand:
    def rest(self, command, run):
        return {"compare": [run], "show": ["clip0"], "audit-parse": []}[command]

    @pytest.mark.parametrize(
        "fault",
        [
            "absent",
            "a file",
            "empty",
            "old",
            "no plan",
            "no columns",
            "labels",
            "{",
            "[]",
            "{}",
            "3",
        ],
    )
    def test_what_is_no_run_is_one_clear_line(self, runs, tmp_path, command, fault):
        bad = tmp_path / "bad"
        if fault == "a file":
            bad.write_text("x")
        elif fault == "empty":
            bad.mkdir()
        elif fault != "absent":
            shutil.copytree(runs[0], bad)
            about = json.loads((bad / "run.json").read_text())
            if fault == "old":
                (bad / "run.json").write_text(json.dumps(about | {"schema": 0}))
            elif fault == "no plan":
                (bad / "plan.parquet").unlink()
            elif fault == "no columns":
                pq.write_table(pa.table({"a": [1]}), bad / "plan.parquet")
            elif fault == "other labels":
                plan = pq.read_table(bad / "plan.parquet")
                rows = [row | {"label": "decrease"} for row in plan.to_pylist()]
                pq.write_table(pa.Table.from_pylist(rows, plan.schema), bad / "plan.parquet")
            else:
                (bad / "answers" / "rank-000.jsonl").write_text(f"{fault}\n")
        done = call(command, bad, *self.rest(command, runs[1]))
        assert done.exit_code == 2, done.output
        (line,) = done.output.splitlines()
        assert line.startswith("error: ")
        assert str(bad) in line
        if fault == "old":
            assert "schema 0, and this version reads 1" in line

    def test_the_name_of_a_folder_does_not_steer_the_terminal(self, runs, tmp_path, command):
        done = call(command, tmp_path / "no\x1b[2Jrun", *self.rest(command, runs[1]))
        assert done.exit_code == 2
        assert r"no\x1b[2Jrun" in done.output
        assert nothing_raw(done.output)

    def test_help_shows_an_example(self, command):
        done = call(command, "--help")
        assert done.exit_code == 0
        assert f"otoscope {command} runs/" in done.output
        assert command in call("--help").output


def test_files_to_write_have_a_known_ending(runs, tmp_path):
    done = call("compare", *runs, "--out", tmp_path / "x.xlsx")
    assert done.exit_code == 2
    assert "ends in none of .csv, .json" in done.output


class TestPublished:
    def test_without_a_name_the_list(self):
        done = call("published")
        assert done.exit_code == 0, done.output
        assert "Figure 8" in done.output

    def test_a_table_is_printed_and_written(self, tmp_path):
        written = [tmp_path / "beeps.csv", tmp_path / "beeps.md"]
        for path in written:
            done = call("published", "beeps", "--out", path)
            assert done.exit_code == 0, done.output
            assert "46.3" in done.output
        rows = list(csv.DictReader(io.StringIO(written[0].read_text("utf-8"))))
        assert {row["model"]: row["voice_vibration"] for row in rows}["gemini-3-flash"] == "0.4625"
        assert "46.3" in written[1].read_text("utf-8")

    def test_the_share_of_increase(self):
        done = call("published", "paraphrases", "--share", "increase")
        assert "40.1" in done.output  # frequency_rise_decline, as printed in the paper

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["mian"], "did you mean 'main'?"),
            (["main", "--intervals", "--share", "parsed"], "--intervals are of accuracies"),
            (["main", "--out", "x.txt"], "ends in none of .csv, .md"),
        ],
    )
    def test_what_cannot_be_is_one_message(self, arguments, message):
        done = call("published", *arguments)
        assert done.exit_code == 2
        assert message in done.output


@pytest.mark.parametrize("command", ["report", "inside", "audit-parse"])
@pytest.mark.parametrize("kind", ["a file", "a dataset", "a run's plan", "nothing"])
def test_what_is_of_another_kind_is_one_line(runs, tmp_path, command, kind):
    given = {
        "a file": tmp_path / "file.txt",
        "a dataset": tmp_path / "dataset",
        "a run's plan": runs[0] / "plan.parquet",
        "nothing": tmp_path / "nothing",
    }[kind]
    (tmp_path / "file.txt").write_bytes(b"\0\x1b[2J")
    (tmp_path / "dataset" / "data").mkdir(parents=True)
    done = call(command, given)
    assert done.exit_code == 2
    (line,) = done.output.splitlines()
    assert line.startswith(f"error: {given}")
    assert "not a run" in line or "not a study" in line


def test_a_run_is_no_study(runs):
    done = call("inside", runs[0])
    assert done.exit_code == 2
    assert "is not a study" in done.output
