"""MELD from files that are made like it: the CSV's own columns, clips by dialogue and utterance."""

import csv
import json

import datasets
import numpy as np
import pytest
from typer.testing import CliRunner

from otoscope.audits.items import DatasetError
from otoscope.audits.meld import EMOTIONS, PROMPT, clips_below, plan, run
from otoscope.audits.runs import load_run
from otoscope.cli import app
from otoscope.models.base import ModelError
from otoscope.models.simple import Constant
from tests.audits.tiny_dataset import clip

COMMAND = ("run", "meld", "--dataset")
LINES = [
    # dialogue, utterance, emotion, file
    (0, 0, "surprise", "dia0_utt0.flac"),
    (0, 1, "anger", "final_videos_testdia0_utt1.flac"),
    (1, 0, "neutral", "dia1_utt0.wav"),
    (1, 1, "joy", "dia1_utt1.flac"),
    (12, 3, "sadness", "dia12_utt3.flac"),
]


@pytest.fixture
def meld(tmp_path):
    return made(tmp_path / "MELD")


def made(folder, lines=LINES, missing=()):
    """A folder with `test_sent_emo.csv` and clips one folder below."""
    (folder / "test").mkdir(parents=True)
    with (folder / "test_sent_emo.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["Sr No.", "Utterance", "Speaker", "Emotion", "Sentiment", "Dialogue_ID",
             "Utterance_ID", "Season", "Episode", "StartTime", "EndTime"]
        )  # fmt: skip
        for n, (dialogue, utterance, emotion, name) in enumerate(lines):
            row = [n + 1, "Why do all you\x92re, “coffee”?", "Mark", emotion, "x", dialogue]
            writer.writerow([*row, utterance, 3, 19, "00:14:38,127", "00:14:40,378"])
            if name not in missing:
                (folder / "test" / name).write_bytes(clip(n, n_samples=2000))
    (folder / "test" / "._dia0_utt0.flac").write_bytes(b"left by a Mac")
    return folder


class Weighing:
    """Weighs the last option most, and records the questions."""

    batch_size = 2

    def __init__(self):
        self.description, self.requested = {"kind": "weighing"}, []

    def option_logits(self, questions, options):
        self.requested += [request.question.question_id for request in questions]
        assert options == [" A", " B", " C", " D", " E", " F", " G"]
        return np.array([np.arange(7.0) for _ in questions])


class TestPlan:
    def test_the_prompt_is_the_published_one(self):
        assert PROMPT == (
            "What is the speaker's emotion in this audio?\n\nOptions:\nA. anger\nB. disgust\n"
            "C. fear\nD. joy\nE. neutral\nF. sadness\nG. surprise\n\n"
            "Answer with only the option letter."
        )

    def test_a_question_a_clip(self, meld):
        planned = plan(meld)
        rows = planned.rows()
        assert [(r["id"], r["label"], r["source_id"]) for r in rows] == [
            ("dia0_utt0", "G", "dialogue 0"),
            ("dia0_utt1", "A", "dialogue 0"),
            ("dia1_utt0", "E", "dialogue 1"),
            ("dia1_utt1", "D", "dialogue 1"),
            ("dia12_utt3", "F", "dialogue 12"),
        ]
        request = planned.fill("dia0_utt1|meld")
        assert request.parts[0].text == PROMPT  # text, then audio
        assert request.parts[1].duration_s == 0.25
        assert planned.partial == ""

    def test_a_plain_name_goes_before_one_with_words_in_front(self, meld):
        (meld / "test" / "dia0_utt1.flac").write_bytes(clip(9))
        assert clips_below(meld)["dia0_utt1"].name == "dia0_utt1.flac"

    def test_utterances_without_a_clip_are_counted_and_not_dropped_in_silence(self, tmp_path):
        folder = made(tmp_path / "MELD", missing={"dia1_utt1.flac"})
        with pytest.raises(DatasetError, match=r"1 of 5 utterances of .* have no clip"):
            plan(folder)
        part = plan(folder, leave_out_missing=True)
        assert part.partial == "1 utterances without a clip are left out"
        assert len(part.questions) == 4

    def test_some_dialogues(self, meld):
        part = plan(meld, limit_dialogues=2)
        assert part.partial == "2 of 3 dialogues"
        assert len({row["source_id"] for row in part.rows()}) == 2

    def test_a_dataset_with_columns(self):
        table = datasets.Dataset.from_dict(
            {
                "audio": [{"bytes": clip(n), "path": None} for n in range(2)],
                "emotion": [0, 1],
                "dialogue_id": [5, 6],
            }
        ).cast_column("emotion", datasets.ClassLabel(names=["joy", "fear"]))
        rows = plan(table).rows()
        assert [(r["id"], r["label"], r["source_id"]) for r in rows] == [
            ("row-0", "D", "dialogue 5"),
            ("row-1", "C", "dialogue 6"),
        ]

    @pytest.mark.parametrize(
        ("line", "named"),
        [
            ((0, 7, "happy", "dia0_utt7.flac"), "the emotion 'happy' is none of anger, disgust"),
            ((0, 0, "joy", "dia0_utt0.flac"), "'dia0_utt0' more than once"),
            (("x", 0, "joy", "dia0_utt0.flac"), "line 7: 'x' and '0' are no numbers"),
        ],
    )
    def test_lines_that_cannot_be(self, tmp_path, line, named):
        with pytest.raises(DatasetError, match=named):
            plan(made(tmp_path / "MELD", [*LINES, line]))

    def test_another_split_and_another_folder(self, meld, tmp_path):
        with pytest.raises(DatasetError, match=r"no dev_sent_emo\.csv; choose another --split"):
            plan(meld, split="dev")
        with pytest.raises(DatasetError, match="no folder here"):
            plan(tmp_path / "none")
        (meld / "test_sent_emo.csv").write_text("Emotion,Dialogue_ID\njoy,1\n")
        with pytest.raises(DatasetError, match=r"lacks the column\(s\) \['Utterance_ID'\]"):
            plan(meld)

    def test_a_cell_longer_than_csv_reads_is_one_line(self, meld):
        with (meld / "test_sent_emo.csv").open("a") as file:
            file.write("x" * 131_073 + "\n")
        with pytest.raises(DatasetError, match=r"test_sent_emo\.csv: not readable as CSV \(field"):
            plan(meld)

    def test_a_class_label_without_a_name_is_no_emotion(self):
        """-1 is how datasets without labels are stored; it is not the last name."""
        columns = {"audio": [{"bytes": clip(0), "path": None}], "emotion": [-1], "dialogue_id": [5]}
        table = datasets.Dataset.from_dict(columns)
        names = datasets.ClassLabel(names=["joy", "fear"])
        with pytest.raises(DatasetError, match="row 0: emotion is -1; it must be one of"):
            plan(table.cast_column("emotion", names))

    def test_a_dataset_without_emotions(self):
        with pytest.raises(DatasetError, match=r"lacks audio, emotion, dialogue_id and has text"):
            plan(datasets.Dataset.from_dict({"text": ["a"]}))


class TestRun:
    def test_letters_and_their_chances_are_kept(self, meld, tmp_path):
        progress = run(meld, Weighing(), out=tmp_path / "run")
        assert progress.n_answered == 5
        rows = load_run(tmp_path / "run").to_list()
        assert {row["text"] for row in rows} == {"G"}
        chances = np.exp(list(json.loads(rows[0]["logprobs"]).values()))
        np.testing.assert_allclose(chances, np.exp(np.arange(7)) / np.exp(np.arange(7)).sum())
        about = json.loads((tmp_path / "run" / "run.json").read_text())
        assert about["audit"] == "meld"
        assert about["model_description"]["answers_by"] == "logits of ' A', ' B' …"

    def test_goes_on_where_it_was(self, meld, tmp_path):
        model = Weighing()
        run(meld, model, out=tmp_path / "run", rank=0, world=2)
        run(meld, model, out=tmp_path / "run")
        assert sorted(model.requested) == sorted(plan(meld).questions)

    def test_a_model_without_option_logits_is_rejected(self, meld, tmp_path):
        with pytest.raises(ModelError, match="constant gives no logits"):
            run(meld, Constant("A"), out=tmp_path / "run")
        assert not (tmp_path / "run").exists()


class TestCommand:
    def test_refusal_is_one_line(self, meld, tmp_path):
        done = CliRunner().invoke(
            app,
            [*COMMAND, str(meld), "--model", "constant:A", "--out", str(tmp_path / "run")],
        )
        assert done.exit_code == 2
        assert done.output.startswith("error: constant gives no logits")

    def test_runs_and_reports(self, meld, tmp_path, monkeypatch):
        (tmp_path / "my_heart.py").write_text(
            "import numpy as np\n"
            "class Heart:\n"
            "    def answer(self, questions):\n        return []\n"
            "    def option_logits(self, questions, options):\n"
            "        return np.array([[float(q.audio_inputs[0].samples[i] * 9) for i in range(7)]"
            " for q in questions])\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        out = str(tmp_path / "run")
        for dry in (["--dry-run"], []):
            done = CliRunner().invoke(
                app,
                [*COMMAND, str(meld), "--model", "my_heart:Heart", "--out", out, *dry],
            )
            assert done.exit_code == 0, done.output
        assert "5 of 5 questions answered" in done.output
        done = CliRunner().invoke(app, ["report", out])
        assert done.exit_code == 0, done.output
        page = (tmp_path / "run" / "report" / "index.html").read_text()
        assert all(emotion in page for emotion in EMOTIONS.values())
