"""One item of a run."""

import hashlib

import datasets
import pytest

from otoscope.audits.items import Items
from otoscope.audits.journal import open_journal
from otoscope.audits.runs import RunError
from otoscope.models.base import Answer, Status
from otoscope.reports.show import show
from tests.reports.written_runs import question, write_run


@pytest.fixture
def run(tmp_path):
    rows = [
        question("clip1", source_id="p225_001", tier="low", audio_s=2.5),
        question("clip1", prompt="swap_order"),
        question("clip2"),
        question("other", category="echo"),
    ]
    return write_run(
        tmp_path / "run",
        rows,
        [
            ("clip1|main", Answer(None, Status.TIMEOUT, wall_s=60.0, detail="no answer in 60 s")),
            ("clip1|swap_order", "decrease"),
        ],
    )


class TestOneItem:
    def test_all_attempts_of_all_ranks_and_which_one_counts(self, run):
        with open_journal(run, 1) as second:
            answer = Answer("It does not increase.", n_tokens_out=6, wall_s=1.25)
            second.append("clip1|main", 1, answer)
            second.append("clip2|main", 0, Answer("increase"))
        with open_journal(run, 2) as third:
            third.append("clip1|main", 2, Answer(None, Status.ERROR, detail="broke"))
        shown = show(run, "clip1|main")
        (found,) = shown.questions
        statuses = [(a.line["status"], a.decides) for a in found.attempts]
        assert statuses == [("timeout", False), ("ok", True), ("error", False)]
        assert [found.row[n] for n in ("prediction", "outcome", "rule")] == [
            "increase", "correct", "one direction",
        ]  # fmt: skip
        text = shown.text()
        for piece in (
            "question  clip1|main",
            "sha256 sha of clip1",
            "source_id  p225_001",
            "tier  low",
            "audio_s  2.5",
            "  | Does the volume increase or decrease over time?\n  | \n  | One word.",
            'labels  ["increase", "decrease"]',
            "reference  increase",
            "outcome  correct: increase (parser paper)",
            "answer 1  timeout",
            "detail  no answer in 60 s",
            "wall_s  60.0",
            "answer 2 (scored)  ok",
            "    | It does not increase.",
            "n_tokens_out  6",
            "wall_s  1.25",
            "shape and signs  sentence, negated, blind_negation",
            "answer 3  error",
        ):
            assert piece in text, piece

    def test_every_parser_of_these_labels_says_what_it_makes_of_the_text(self, run):
        (found,) = show(run, "clip1|swap_order").questions
        (attempt,) = found.attempts
        assert attempt.parsed == {
            "paper": ("decrease", "one direction"),
            "paraphrase": ("decrease", "one direction"),
            "strict": ("decrease", "exact"),
            "ternary": ("decrease", "exact"),
        }
        text = show(run, "clip1|swap_order").text()
        assert "    paper *  decrease (one direction)" in text
        assert "    strict  decrease (exact)" in text
        assert "outcome  wrong: decrease" in text

    def test_an_id_stands_for_all_its_questions(self, run):
        names = [q.row["question_id"] for q in show(run, "clip1").questions]
        assert names == ["clip1|main", "clip1|swap_order"]

    def test_never_answered(self, run):
        text = show(run, "clip2").text()
        assert "no answer" in text
        assert "outcome  unanswered: no prediction" in text

    def test_a_torn_last_line_is_not_an_attempt(self, run):
        journal = run / "answers" / "rank-000.jsonl"
        journal.write_bytes(journal.read_bytes()[:-1])
        assert show(run, "clip1|swap_order").questions[0].attempts == ()

    def test_the_answer_a_retry_replaced_is_shown(self, tmp_path):
        answer = Answer("decrease", first_text="Well, let me think")
        run = write_run(tmp_path / "r", [question("x")], [("x|main", answer)])
        assert (
            "text before the retry:\n    | Well, let me think\n    text:\n    | decrease"
            in show(run, "x").text()
        )

    def test_a_question_without_a_right_answer(self, tmp_path):
        run = write_run(tmp_path / "r", [question("x", label=None)], [("x|main", "increase")])
        assert "outcome  unscored: increase" in show(run, "x").text()


class TestUnknown:
    @pytest.mark.parametrize(
        ("name", "hint"),
        [
            ("clip3", "did you mean 'clip2' or 'clip1'?"),
            ("clip2|man", "did you mean 'clip2|main'"),
            ("othr", "did you mean 'other'?"),
            ("lip", "did you mean 'clip2' or 'clip1'?"),
            ("zzzzzz", "it has 3 ids, such as 'clip1'"),
            ("", "it has 3 ids, such as 'clip1'"),
        ],
    )
    def test_near_names_are_given(self, run, name, hint):
        with pytest.raises(LookupError) as caught:
            show(run, name)
        assert f"has no item {name!r}" in caught.value.args[0]
        assert hint in caught.value.args[0]

    def test_no_run(self, tmp_path):
        with pytest.raises(RunError, match="not a run"):
            show(tmp_path, "x")


class TestHostileText:
    NASTY = "\x1b[2J[red]up[/red]\rid  fake\n\x1b]0;x\x07increase"

    def test_nothing_reaches_the_terminal_raw(self, tmp_path):
        rows = [
            question(
                self.NASTY, prompt=self.NASTY, category=self.NASTY, source_id=self.NASTY,
                label=self.NASTY, labels=[self.NASTY],
            )
        ]  # fmt: skip
        answer = Answer(
            self.NASTY, detail=self.NASTY, first_text=self.NASTY, logprobs={self.NASTY: 0.5}
        )
        run = write_run(tmp_path / "r", rows, [(rows[0]["question_id"], answer)])
        text = show(run, self.NASTY).text()
        assert not [c for c in text if not c.isprintable() and c != "\n"]
        assert "\nid  fake" not in text
        assert r"    | \x1b[2J[red]up[/red]\rid  fake" in text
        with pytest.raises(LookupError) as caught:
            show(run, "\x1b[31m")
        assert caught.value.args[0].isprintable()


class TestWithItsDataset:
    def items(self, content=b"audio"):
        columns = {
            "id": ["clip1", "clip2"],
            "audio": [{"bytes": content, "path": "x.flac"}, {"bytes": b"else", "path": "x.flac"}],
            "category": ["volume"] * 2,
            "label": ["increase"] * 2,
            "transcript": ["Please call \x1b[1mStella.", "Six spoons."],
        }
        table = datasets.Dataset.from_dict(columns)
        return Items([("all", table.cast_column("audio", datasets.Audio(decode=False)))])

    def test_its_columns_are_added_and_its_audio_compared(self, tmp_path):
        sha256 = hashlib.sha256(b"audio").hexdigest()
        run = write_run(tmp_path / "r", [question("clip1", audio_sha256=[sha256])])
        shown = show(run, "clip1", self.items())
        assert shown.columns["transcript"] == "Please call \x1b[1mStella."
        assert r"transcript  Please call \x1b[1mStella." in shown.text()
        assert shown.same_audio is True
        other = show(run, "clip1", self.items(b"other audio"))
        assert other.same_audio is False
        assert "NOT the same as in the run" in other.text()
        assert show(run, "clip1").same_audio is None

    def test_a_dataset_without_it(self, run):
        with pytest.raises(LookupError, match="the dataset has no row 'other'"):
            show(run, "other", self.items())
