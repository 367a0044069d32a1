"""The run folder: whole or not at all, one run a folder, one deciding attempt a question."""

import json
import resource
import signal
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from otoscope.audits.journal import lost_calls, open_journal, sent_calls
from otoscope.audits.perception import COLUMNS as DECLARED
from otoscope.audits.plans import CORE
from otoscope.audits.runs import (
    RunError,
    attempts,
    deciding,
    load_run,
    read_about,
    read_plan,
    write_plan,
)
from otoscope.models.base import Answer, Status

COLUMNS = {**CORE, **DECLARED}
ROOT = Path(__file__).parents[2]
ABOUT = {"audit": "perception", "model": "constant:increase", "model_description": {"t": (1, 2)}}


def planned(*ids, **more):
    return [
        {"question_id": q, "id": q, "category": "volume", "label": "increase"} | more for q in ids
    ]


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    write_plan(folder, planned("a", "b", "c"), ABOUT, COLUMNS)
    return folder


def files(folder):
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


class TestThePlan:
    def test_is_fixed_before_the_first_answer(self, run):
        assert [row["question_id"] for row in read_plan(run)] == ["a", "b", "c"]
        about = read_about(run)
        assert about["schema"] == 2
        assert about["model"] == "constant:increase"
        assert list(load_run(run)["status"]) == [None, None, None]

    def test_the_same_again_changes_nothing(self, run):
        before = files(run)
        write_plan(run, planned("a", "b", "c"), ABOUT, COLUMNS)
        assert files(run) == before

    def test_what_a_model_says_of_itself_may_hold_tuples_and_nan(self, tmp_path):
        about = ABOUT | {"model_description": {"constants": (1.0, float("nan"))}}
        for _ in range(2):
            write_plan(tmp_path / "run", planned("a"), about, COLUMNS)

    @pytest.mark.parametrize(
        ("rows", "about", "complaint"),
        [
            (
                planned("a", "b", "c"), ABOUT | {"model": "observer"},
                "another run: model 'constant:increase', now 'observer';",
            ),
            (planned("a", "b", "c"), ABOUT | {"split": "train"}, "split None, now 'train';"),
            (planned("a", "b"), ABOUT, r"the plan \(1 questions removed, 0 added\)"),
            (planned("a", "b", "d"), ABOUT, r"the plan \(1 questions removed, 1 added\)"),
            (
                planned("a", "b", "c", audio_sha256=["ff"]), ABOUT,
                r"the plan \('a' has another audio_sha256\)",
            ),
            (planned("c", "b", "a"), ABOUT, "the plan .*order"),
        ],
    )  # fmt: skip
    def test_another_run_in_the_folder_is_rejected_and_named(self, run, rows, about, complaint):
        before = files(run)
        with pytest.raises(RunError, match=complaint):
            write_plan(run, rows, about, COLUMNS)
        assert files(run) == before

    def test_where_the_dataset_lies_makes_no_other_run(self, run, tmp_path):
        """The plan has the hash of every clip."""
        write_plan(tmp_path / "other", planned("a"), ABOUT | {"dataset": "./here"}, COLUMNS)
        write_plan(tmp_path / "other", planned("a"), ABOUT | {"dataset": "/there/here"}, COLUMNS)

    def test_a_folder_of_something_else_is_left_alone(self, tmp_path):
        (tmp_path / "thesis.tex").write_text("years of work")
        with pytest.raises(RunError, match="holds something that is no run"):
            write_plan(tmp_path, planned("a"), ABOUT, COLUMNS)
        assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]

    def test_answers_whose_run_json_is_gone_are_not_taken_for_this_model(self, run):
        with open_journal(run) as journal:
            journal.append("a", 1, Answer("increase"))
        (run / "run.json").unlink()
        with pytest.raises(RunError, match=r"holds answers but no run\.json"):
            write_plan(run, planned("a", "b", "c"), ABOUT, COLUMNS)

    def test_a_full_disk_names_the_file_of_answers(self, run):
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)

        def append_to_a_full_disk():
            with open_journal(run) as journal:
                resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
                journal.append("a", 1, Answer("x" * 200))

        try:
            with pytest.raises(OSError, match="too large") as raised:
                append_to_a_full_disk()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)
        assert raised.value.filename == str(run / "answers" / "rank-000.jsonl")

    @pytest.mark.parametrize("dies_at", ["write_table", "replace", "fsync"])
    def test_a_death_while_planning_leaves_nothing_in_the_way(self, tmp_path, monkeypatch, dies_at):
        where = {"write_table": "pyarrow.parquet", "replace": "os", "fsync": "os"}[dies_at]
        folder = tmp_path / "run"

        def die(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(f"{where}.{dies_at}", die)
            with pytest.raises(KeyboardInterrupt):
                write_plan(folder, planned("a"), ABOUT, COLUMNS)
        assert not (folder / "run.json").exists()
        with pytest.raises(RunError, match="not a run"):
            load_run(folder)
        write_plan(folder, planned("a", "b"), ABOUT, COLUMNS)
        assert len(load_run(folder)) == 2

    def test_a_plan_of_any_age_but_this_is_not_read(self, run):
        about = json.loads((run / "run.json").read_text())
        for schema in (0, 3, None, "1"):
            (run / "run.json").write_text(json.dumps(about | {"schema": schema}))
            with pytest.raises(RunError, match=f"schema {schema!r}, and this version reads 1 and"):
                load_run(run)
            with pytest.raises(RunError, match="schema"):
                write_plan(run, planned("a", "b", "c"), ABOUT, COLUMNS)

    def test_no_run_and_broken_runs_are_named(self, run, tmp_path):
        with pytest.raises(RunError, match="absent: not a run"):
            load_run(tmp_path / "absent")
        (run / "plan.parquet").write_bytes(b"PAR1")
        with pytest.raises(RunError, match=r"plan\.parquet: not readable"):
            load_run(run)
        for text in ('{"schema": 1', "[]", "1"):
            (run / "run.json").write_text(text)
            with pytest.raises(RunError, match=r"run\.json"):
                load_run(run)

    @pytest.mark.parametrize("name", CORE)
    def test_a_plan_that_lacks_a_column_is_named(self, run, name):
        plan = pq.read_table(run / "plan.parquet").drop_columns(name)
        pq.write_table(plan, run / "plan.parquet")
        for read in (load_run, read_plan):
            with pytest.raises(RunError, match=rf"plan\.parquet: .* no column {name}\)"):
                read(run)

    @pytest.mark.parametrize("name", ["text", "prediction", "rule", "exact", "outcome"])
    def test_a_plan_with_a_column_of_a_name_that_is_taken_is_named(self, run, name):
        plan = pq.read_table(run / "plan.parquet")
        pq.write_table(plan.append_column(name, plan["id"]), run / "plan.parquet")
        for read in (load_run, read_plan):
            with pytest.raises(RunError, match=rf"plan\.parquet: .* column '{name}' is taken"):
                read(run)

    @pytest.mark.parametrize("changed", [{"audit": ["x"]}, {"columns": 7}, {"plan_sha256": None}])
    def test_a_value_of_run_json_that_no_run_has_is_named(self, run, changed):
        about = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps(about | changed))
        with pytest.raises(RunError, match=rf"run\.json: {next(iter(changed))} is "):
            load_run(run)

    def test_a_run_json_without_the_hash_of_its_plan_is_named(self, run):
        about = json.loads((run / "run.json").read_text())
        del about["plan_sha256"]
        (run / "run.json").write_text(json.dumps(about))
        with pytest.raises(RunError, match=r"run\.json: there is no plan_sha256"):
            write_plan(run, planned("a", "b", "c"), ABOUT, COLUMNS)

    def test_labels_that_were_swapped_are_not_scored(self, run):
        path = run / "plan.parquet"
        plan = pq.read_table(path).to_pylist()
        swapped = [row | {"label": "decrease"} for row in plan]
        pq.write_table(pa.Table.from_pylist(swapped, schema=pq.read_schema(path)), path)
        complaint = r"plan\.parquet: not the plan that run\.json records"
        for read in (load_run, read_plan):
            with pytest.raises(RunError, match=complaint):
                read(run)
        with pytest.raises(RunError, match=complaint):
            write_plan(run, planned("a", "b", "c"), ABOUT, COLUMNS)

    def test_whole_numbers_among_floats_are_the_same_plan(self, tmp_path):
        for _ in range(2):
            write_plan(tmp_path / "run", planned("a", audio_s=1), ABOUT, COLUMNS)
        assert read_plan(tmp_path / "run")[0]["audio_s"] == 1.0

    def test_a_description_that_is_no_json_is_an_error_that_says_so(self, tmp_path):
        with pytest.raises(RunError, match=r"cannot be put in run\.json: .*object"):
            write_plan(
                tmp_path / "run", planned("a"), ABOUT | {"model_description": object()}, COLUMNS
            )

    @pytest.mark.slow
    def test_processes_that_plan_at_once_agree(self, tmp_path):
        """As many as `accelerate launch` starts; each writes or checks."""
        code = (
            "import sys; sys.path.insert(0, sys.argv[2])\n"
            "from pathlib import Path\n"
            "from otoscope.audits.plans import CORE\n"
            "from otoscope.audits.runs import write_plan\n"
            "rows = [{'question_id': str(i), 'prompt': 'x' * 100} for i in range(2000)]\n"
            "print('ready', flush=True); sys.stdin.readline()\n"
            "write_plan(Path(sys.argv[1]), rows, {}, CORE)\n"
        )
        started = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(tmp_path / "run"), str(ROOT)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for _ in range(3)
        ]  # fmt: skip
        for process in started:
            process.stdout.readline()
        for process in started:
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in started:
            _, output = process.communicate(timeout=60)
            assert process.returncode == 0, output
        assert len(load_run(tmp_path / "run")) == 2000


class TestTheJournal:
    def test_a_torn_last_line_is_passed_over_and_cut_off(self, run):
        with open_journal(run) as journal:
            journal.append("a", 1, Answer("increase"))
            journal.append("b", 1, Answer("decrease"))
        path = run / "answers" / "rank-000.jsonl"
        whole = path.read_bytes()
        for n in (1, 20, len(whole.splitlines(keepends=True)[1]) - 1):
            path.write_bytes(whole[:-n])
            assert [line["question_id"] for line in attempts(run)] == ["a"]
            assert list(load_run(run)["text"]) == ["increase", None, None]
        with open_journal(run) as journal:
            journal.append("b", 1, Answer("increase"))
        assert list(load_run(run)["text"]) == ["increase", "increase", None]
        assert all(json.loads(line) for line in path.read_text().splitlines())

    def test_a_torn_note_of_what_was_sent_is_cut_off(self, run):
        with open_journal(run) as journal:
            journal.send("a", 1)
        path = run / "answers" / "rank-000.sent"
        path.write_bytes(path.read_bytes() + b'["b"')
        with open_journal(run) as journal:
            journal.send("c", 1)
        assert list(sent_calls(run)) == [("a", 1), ("c", 1)]

    def test_what_was_sent_and_never_answered_is_known(self, run):
        with open_journal(run) as journal:
            for question_id in "abc":
                journal.send(question_id, 1)
            journal.append("b", 1, Answer("x"))
        assert lost_calls(sent_calls(run), attempts(run)) == {("a", 1), ("c", 1)}

    def test_a_damaged_line_is_named_and_not_passed_over(self, run):
        with open_journal(run) as journal:
            journal.append("a", 1, Answer("increase"))
        path = run / "answers" / "rank-000.jsonl"
        path.write_bytes(b"\0" * 30 + b"\n" + path.read_bytes())
        with pytest.raises(RunError, match=r"rank-000\.jsonl, line 1: damaged"):
            load_run(run)

    @pytest.mark.parametrize(
        "field",
        [
            {"status": "asleep"}, {"n_tokens_in": "many"}, {"audio_truncated": "no"}, {"cost": "x"},
            {"first_text": 4}, {"detail": 4}, {"logprobs": [1]}, {"text": 3}, {"attempt": "1"},
            {"question_id": 7}, {"wall_s": "1"}, {"attempt": True}, {"attempt": 10**30},
            {"time": 4}, {"wall_s": 10**30}, {"cost": 10**400}, {"text": "\ud83d"},
            {"detail": "\ud83d"},
        ],
    )  # fmt: skip
    def test_an_answer_of_other_types_is_named(self, run, field):
        with open_journal(run) as journal:
            journal.append("a", 1, Answer("increase"))
            journal.append("b", 1, Answer("increase"))
        path = run / "answers" / "rank-000.jsonl"
        first, second = path.read_text().splitlines()
        path.write_text(f"{first}\n{json.dumps(json.loads(second) | field)}\n")
        with pytest.raises(RunError, match=r"rank-000\.jsonl, line 2: damaged"):
            load_run(run)

    @pytest.mark.parametrize("name", ["question_id", "attempt", "status"])
    def test_what_an_answer_lacks_is_named(self, run, name):
        line = {"question_id": "a", "attempt": 1, "status": "ok", "text": "increase"}
        del line[name]
        (run / "answers" / "rank-000.jsonl").write_text(json.dumps(line) + "\n")
        with pytest.raises(RunError, match=rf"line 1: damaged \(there is no {name}\)"):
            load_run(run)

    @pytest.mark.parametrize("suffix", ["jsonl", "sent"])
    def test_nesting_deeper_than_python_can_read_is_named(self, run, suffix):
        (run / "answers" / f"rank-000.{suffix}").write_text("[" * 100_000 + "\n")
        with pytest.raises(RunError, match=rf"rank-000\.{suffix}, line 1: damaged"):
            list(sent_calls(run) if suffix == "sent" else attempts(run))

    def test_a_count_that_no_file_holds_is_no_count_and_the_answer_stands(self, run):
        with open_journal(run) as journal:
            journal.append("a", 1, Answer("increase", n_tokens_in=7))
        path = run / "answers" / "rank-000.jsonl"
        line = json.loads(path.read_text()) | {"n_tokens_out": 10**30}
        path.write_text(json.dumps(line) + "\n")
        row = load_run(run)[0]
        assert (row["text"], row["n_tokens_in"], row["n_tokens_out"]) == ("increase", 7, None)

    @pytest.mark.parametrize("line", [b"\0\0", b"7", b'["a"]', b'["a", null]'])
    def test_a_damaged_note_of_what_was_sent_is_named(self, run, line):
        with open_journal(run) as journal:
            journal.send("a", 1)
        path = run / "answers" / "rank-000.sent"
        path.write_bytes(path.read_bytes() + line + b"\n")
        with pytest.raises(RunError, match=r"rank-000\.sent, line 2: damaged"):
            list(sent_calls(run))

    def test_two_processes_on_one_rank_are_rejected(self, run):
        with open_journal(run, 0, 2):
            busy = pytest.raises(RunError, match=r"rank-000\.jsonl: another process is at work")
            with busy, open_journal(run, 0, 2):
                pass
            with open_journal(run, 1, 2):
                pass
        with open_journal(run, 0, 2):
            pass

    def test_processes_that_share_out_otherwise_are_rejected_while_others_work(self, run):
        """Two of two, and one of one at the same time, would ask the same questions."""
        with (
            open_journal(run, 1, 2),
            pytest.raises(RunError, match="are 2 in all, and this one is of 1"),
            open_journal(run, 0, 1),
        ):
            pass
        with open_journal(run, 0, 1):
            pass

    @pytest.mark.parametrize(
        "text",
        ["", "a\nb\r\nc", "\u2028 \u0085", '"{}', "häh 声", "\ud83d half a pair", "\0", None],
    )
    def test_any_text_comes_back(self, run, text):
        with open_journal(run) as journal:
            journal.append("a", 1, Answer(text))
            journal.append("b", 1, Answer("next"))
        expected = text and text.replace("\ud83d", "?")
        assert list(load_run(run)["text"]) == [expected, "next", None]

    def test_numbers_of_numpy_are_numbers(self, run):
        """As models of one's own return them; nothing checks types outside of tests."""
        answer = Answer("x")
        for name, value in (
            ("n_tokens_in", np.int64(3)),
            ("wall_s", np.float32(0.5)),
            ("logprobs", {"increase": np.float32(-1.5)}),
        ):
            object.__setattr__(answer, name, value)
        with open_journal(run) as journal:
            journal.append("a", 1, answer)
        row = load_run(run)[0]
        assert (row["n_tokens_in"], row["wall_s"]) == (3, 0.5)
        assert json.loads(row["logprobs"]) == {"increase": -1.5}

    def test_every_field_of_an_answer_can_be_read_again(self, run):
        answer = Answer(
            "up", Status.FILTERED, audio_truncated=True, text_truncated=True, n_tokens_in=1,
            n_tokens_out=2, wall_s=3.0, logprobs={"a": -1.0}, cost=0.5, detail="d", first_text="f",
        )  # fmt: skip
        with open_journal(run) as journal:
            journal.append("b", 7, answer, cached=True)
        row = load_run(run)[1]
        assert row["attempt"] == 7
        assert row["cached"] is True
        for name, value in vars(answer).items():
            expected = json.dumps(value) if name == "logprobs" else value
            assert row[name] == expected, name


def line(attempt, status):
    return {"question_id": "q", "attempt": attempt, "status": status}


class TestTheDecidingAttempt:
    @pytest.mark.parametrize(
        ("lines", "number"),
        [
            ([line(1, "timeout"), line(2, "ok")], 2),
            ([line(1, "ok"), line(2, "error")], 1),
            ([line(1, "error"), line(2, "timeout")], 2),
            ([line(1, "refused"), line(2, "ok")], 2),  # --retry refused
            ([line(1, "refused"), line(2, "error")], 1),  # --retry refused, and a failure
            ([line(1, "refused"), line(2, "timeout"), line(3, "filtered")], 3),
            ([line(1, "error"), line(2, "ok"), line(3, "ok")], 3),
        ],
    )
    def test_is_the_last_final_one_or_the_last_of_all(self, lines, number):
        """In whichever rank's file they stand: files are read one after another, not by time."""
        for order in permutations(lines):
            assert deciding(order)["q"]["attempt"] == number

    def test_ranks_of_another_start_do_not_count_twice(self, run):
        with open_journal(run, 1, 2) as journal:
            journal.append("b", 1, Answer(None, Status.REFUSED))
        with open_journal(run, 0, 1) as journal:
            journal.append("b", 2, Answer("increase"))
            journal.append("a", 1, Answer(None, Status.TIMEOUT))
        found = load_run(run)
        assert list(found["status"]) == ["timeout", "ok", None]
        assert len(found) == 3

    def test_answers_to_questions_that_were_never_planned_do_not_count(self, run):
        with open_journal(run) as journal:
            journal.append("z", 1, Answer("increase"))
        assert list(load_run(run)["status"]) == [None, None, None]
