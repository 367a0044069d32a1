"""Saved answers stand in for a model, and nothing is guessed where there is none."""

import csv
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chat_server import PROMPT, request_about

from otoscope.models.base import ModelError, Status
from otoscope.models.replay import open_human, open_replay

CLIP_ID = "p226_01__p226_106__linear__low__up"


def about(category, clip_id=CLIP_ID, prompt_name="main", **more):
    return request_about(
        f"test-{category}-{clip_id}", category=category, attribute=category.replace("_", " "),
        prompt_name=prompt_name, **more,
    )  # fmt: skip


def write(path, rows):
    """Rows as a file of the kind that its name says."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        whole = [dict.fromkeys(columns) | row for row in rows]
        pq.write_table(pa.Table.from_pylist(whole), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)
    return str(path)


def one(model, question):
    (answer,) = model.answer([question])
    return answer


def published(clip_id=CLIP_ID, category="volume", raw="Increase.", **more):
    """A row in the published raw layout, cut to what matters here."""
    return {
        "backend": "kimia", "category": category, "benchmark_clip_id": clip_id,
        "gold_label": "increase", "prediction_label": None, "raw_response": raw, "prompt": PROMPT,
    } | more  # fmt: skip


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
class TestEveryFormat:
    def test_by_question_id(self, tmp_path, suffix):
        rows = [
            {"question_id": "a|main", "text": "increase, “oh”\nyes"},
            {"question_id": "b|main", "text": ""},
        ]
        model = open_replay(write(tmp_path / f"x{suffix}", rows))
        answers = model.answer(
            [
                request_about("b"),
                request_about("a"),
                request_about("c"),
                request_about("a", prompt_name="swap"),
            ]
        )
        assert [a.text for a in answers] == ["", "increase, “oh”\nyes", None, None]
        assert [a.status for a in answers] == ["ok", "ok", "error", "error"]
        assert {a.detail for a in answers[2:]} == {"no saved answer"}

    def test_by_row_id_every_prompt_gets_the_rows_answer(self, tmp_path, suffix):
        model = open_replay(write(tmp_path / f"x{suffix}", [{"id": "a", "response": "decrease"}]))
        assert one(model, request_about("a")).text == "decrease"
        assert one(model, request_about("a", prompt_name="swap_order")).text == "decrease"

    def test_the_published_layout(self, tmp_path, suffix):
        rows = [published(), published(category="echo", raw="decrease")]
        model = open_replay(write(tmp_path / f"x{suffix}", rows))
        assert one(model, about("volume")).text == "Increase."
        assert one(model, about("echo")).text == "decrease"
        assert one(model, about("voice_pitch")).detail == "no saved answer"
        assert one(model, about("volume", "p226_01__x")).detail == "no saved answer"

    def test_published_failures_are_failures(self, tmp_path, suffix):
        rows = [published(error=None), published("x", raw="CUDA out of memory", error="True")]
        model = open_replay(write(tmp_path / f"x{suffix}", rows))
        answer = one(model, about("volume", "x"))
        assert (answer.text, answer.status) == (None, Status.ERROR)
        assert answer.detail == "CUDA out of memory"
        assert one(model, about("volume")).status is Status.OK

    def test_rows_of_a_run_keep_their_status_and_flags(self, tmp_path, suffix):
        rows = [
            {"question_id": "a|main", "attempt": 0, "text": None, "status": "timeout"},
            {"question_id": "a|main", "attempt": 1, "text": "incr", "status": "ok",
             "text_truncated": True, "n_tokens_out": 128, "first_text": "Well"},
            {"question_id": "b|main", "attempt": 0, "text": None, "status": "refused"},
        ]  # fmt: skip
        model = open_replay(write(tmp_path / f"x{suffix}", rows))
        answer = one(model, request_about("a"))
        assert (answer.text, answer.status, answer.text_truncated) == ("incr", "ok", True)
        assert (answer.n_tokens_out, answer.first_text, answer.cost) == (128, "Well", 0.0)
        assert one(model, request_about("b")).status is Status.REFUSED


@pytest.mark.parametrize("value", ["many", "1e999", "3.7"])
@pytest.mark.parametrize("column", ["attempt", "n_tokens_in", "n_tokens_out"])
def test_a_number_that_is_none_is_named_with_its_row(tmp_path, column, value):
    path = write(tmp_path / "x.csv", [{"id": "a", "text": "increase", column: value}])
    with pytest.raises(ModelError, match=rf"x\.csv, line 2: {column} is '{value}'"):
        open_replay(path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("id,text\na,increase,decrease\n", "x.csv, line 2 has more cells than the header"),
        ("id,text,text\na,increase,decrease\n", "x.csv has the column 'text' twice"),
    ],
)
def test_a_cell_that_would_be_lost_is_an_error(tmp_path, text, complaint):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ModelError, match=re.escape(complaint)):
        open_replay(str(tmp_path / "x.csv"))


class TestPrompts:
    def test_an_answer_to_another_prompt_is_no_answer(self, tmp_path):
        rows = [published(prompt="Does the pitch increase or decrease over time?")]
        model = open_replay(write(tmp_path / "x.jsonl", rows))
        answer = one(model, about("volume"))
        assert (answer.status, answer.detail) == (Status.ERROR, "no saved answer to this prompt")

    def test_several_prompts_about_one_clip_are_distinguished(self, tmp_path):
        rows = [published(), published(prompt="And the echo?", raw="decrease")]
        model = open_replay(write(tmp_path / "x.jsonl", rows))
        assert one(model, about("volume")).text == "Increase."


class TestDuplicates:
    def test_equal_ones_are_one_answer(self, tmp_path):
        model = open_replay(write(tmp_path / "x.jsonl", [published(), published()]))
        assert one(model, about("volume")).text == "Increase."

    def test_different_ones_are_rejected_and_both_named(self, tmp_path):
        rows = [published(), published("y"), published(raw="decrease")]
        path = write(tmp_path / "x.jsonl", rows)
        with pytest.raises(
            ModelError, match=r"to .*\|volume: .*line 1 and .*line 3; leave one, or"
        ):
            open_replay(path)

    def test_a_later_attempt_decides_wherever_it_stands(self, tmp_path):
        rows = [{"id": "a", "text": str(n), "attempt": n} for n in (1, 2, 0)]
        model = open_replay(write(tmp_path / "x.jsonl", rows))
        assert one(model, request_about("a")).text == "2"


class TestFiles:
    def test_a_pattern_takes_one_file_a_category(self, tmp_path):
        for category in ("volume", "echo"):
            (tmp_path / category).mkdir()
            write(tmp_path / category / "kimia.jsonl", [published(category=category, raw=category)])
            write(tmp_path / category / "other.jsonl", [published(category=category, raw="other")])
        model = open_replay(str(tmp_path / "*" / "kimia.jsonl"))
        assert [one(model, about(c)).text for c in ("volume", "echo")] == ["volume", "echo"]
        assert model.description["files"] == 2

    def test_the_description_changes_with_the_content_and_names_no_folder(self, tmp_path):
        described = [
            open_replay(write(tmp_path / "x.jsonl", [published(raw=raw)])).description
            for raw in ("increase", "decrease", "increase")
        ]
        assert described[0] == described[2] != described[1]
        assert str(tmp_path) not in json.dumps(described)

    def test_an_incomplete_last_line_is_left_out_and_logged(self, tmp_path, caplog):
        path = Path(write(tmp_path / "x.jsonl", [published()]))
        path.write_text(path.read_text() + '{"category": "echo", "raw_res')
        assert one(open_replay(str(path)), about("echo")).detail == "no saved answer"
        assert "line 2 is incomplete" in caplog.text

    @pytest.mark.parametrize(
        ("name", "content", "complaint"),
        [
            ("x.jsonl", '{"id": "a", "text": "b"}\n{"id"\n{}\n', "line 2 is not JSON"),
            ("x.jsonl", "[1]\n", "line 1 is not an object"),
            ("x.jsonl", "", "no answers in it"),
            ("x.jsonl", '{"id": "a", "label": "b"}\n', "needs text or raw_response or"),
            ("x.jsonl", '{"row": "a", "text": "b"}\n', "needs question_id or id or benchmark"),
            ("x.jsonl", '{"id": "a", "text": "b"}\n{"id": null}\n', "line 2: has no id"),
            ("x.jsonl", '{"id": "a", "text": "b", "status": "fine"}\n', "status 'fine' is none of"),
            ("x.csv", "id,text\n", "no answers in it"),
            ("x.csv", 'id,text\na,"b', "x.csv is not a readable CSV"),
            ("x.parquet", "not parquet", "x.parquet is not a readable Parquet file"),
            ("x.xlsx", "?", r"read from \['.csv', '.jsonl', '.parquet'\] files"),
        ],
    )
    def test_what_cannot_be_read_is_named(self, tmp_path, name, content, complaint):
        (tmp_path / name).write_text(content)
        with pytest.raises(ModelError, match=complaint):
            open_replay(str(tmp_path / name))

    def test_no_file_a_folder_and_no_name(self, tmp_path):
        with pytest.raises(ModelError, match=r"there is no file nowhere\.jsonl"):
            open_replay("nowhere.jsonl")
        with pytest.raises(ModelError, match=r"is a folder; name files, as in '.*/\*.jsonl'"):
            open_replay(str(tmp_path))
        with pytest.raises(ModelError, match=r"as in replay:answers\.jsonl"):
            open_replay(None)


def answer_row(label, annotator="annotator_01", category="volume", **more):
    return {
        "annotation_id": "x", "annotator_id": annotator, "item_id": CLIP_ID, "clip_id": "p226_106",
        "category": category, "ground_truth_label": "increase", "annotated_label": label,
    } | more  # fmt: skip


class TestHuman:
    def two_people(self, tmp_path):
        rows = [
            answer_row("increase"),
            answer_row("decrease", "annotator_02"),
            answer_row("decrease", category="echo"),
        ]
        return write(tmp_path / "people.jsonl", rows)

    def test_one_person_at_a_time(self, tmp_path):
        path = self.two_people(tmp_path)
        first, second = (open_human(f"{path}#annotator_0{n}") for n in (1, 2))
        assert [one(first, about(c)).text for c in ("volume", "echo")] == ["increase", "decrease"]
        assert [one(second, about(c)).text for c in ("volume", "echo")] == ["decrease", None]
        assert first.description["annotator"] == "annotator_01"
        assert first.description != second.description

    def test_several_and_none_named(self, tmp_path):
        with pytest.raises(
            ModelError, match=r"add # and one of \['annotator_01', 'annotator_02'\]"
        ):
            open_human(self.two_people(tmp_path))

    def test_an_unknown_one(self, tmp_path):
        with pytest.raises(ModelError, match=r"no annotator 'annotator_07' in .*; there are"):
            open_human(f"{self.two_people(tmp_path)}#annotator_07")

    def test_a_single_person_needs_no_name(self, tmp_path):
        path = write(tmp_path / "one.csv", [answer_row("increase")])
        assert one(open_human(path), about("volume")).text == "increase"
        path = write(tmp_path / "hash#tag.csv", [answer_row("decrease")])
        assert one(open_human(path), about("volume")).text == "decrease"

    @pytest.mark.parametrize(
        "question",
        [
            about("volume", labels=("yes", "no"), prompt_name="change"),
            about("volume", prompt_name="main@echo"),
        ],
        ids=["yes or no", "another attribute"],
    )
    def test_annotators_answer_only_the_question_of_annotation(self, tmp_path, question):
        model = open_human(write(tmp_path / "one.jsonl", [answer_row("increase")]))
        assert one(model, question).detail == "no saved answer"

    def test_two_verdicts_of_one_person_on_one_clip_are_rejected(self, tmp_path):
        path = write(tmp_path / "one.jsonl", [answer_row("increase"), answer_row("decrease")])
        with pytest.raises(ModelError, match="two different answers"):
            open_human(path)

    def test_rows_that_are_no_annotation(self, tmp_path):
        with pytest.raises(ModelError, match="line 1: no 'item_id'; an annotation has"):
            open_human(write(tmp_path / "x.jsonl", [published()]))


NESTED = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ('"n_tokens_in": 1e400', "line 1: n_tokens_in is 'inf', which is not a whole number"),
        ('"n_tokens_out": 1' + "0" * 400, "line 1: n_tokens_out is '1000"),
        ('"attempt": -1e400', "line 1: attempt is '-inf'"),
        ('"status": 1e400', "line 1: status inf is none of"),
        ('"text": ["increase"]', "line 1: text is a list, not a text"),
        ('"text": {"a": 1}', "line 1: text is a dict, not a text"),
        (f'"text": {NESTED}', "line 1 is not JSON"),
        (f'"other": {NESTED}', "line 1 is not JSON"),
        ('"text": 1' + "0" * 5000, "line 1 is not JSON"),
    ],
    ids=lambda value: value[:30],
)
def test_a_line_that_is_no_answer_is_one_short_message(tmp_path, field, message):
    fields = {"question_id": '"a|main"', "text": '"increase"'}
    name, _, value = field.partition(": ")
    written = ", ".join(f'"{k}": {v}' for k, v in (fields | {name.strip('"'): value}).items())
    path = tmp_path / "saved.jsonl"
    path.write_text("{" + written + "}\n")
    with pytest.raises(ModelError) as raised:
        open_replay(str(path))
    assert message in str(raised.value)
    assert len(str(raised.value)) < len(str(path)) + 350
    assert "\n" not in str(raised.value)
