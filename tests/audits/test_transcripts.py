"""Transcripts of a labelled dataset: tables, folds, resuming, and whose labels are read."""

import json
from typing import ClassVar

import datasets
import pandas as pd
import pytest

from otoscope.audits.call_value.schema import CallValueError
from otoscope.audits.call_value.tables import read_call_tables
from otoscope.audits.labelled import open_labelled
from otoscope.audits.transcripts import actions_of, limited, transcribe
from otoscope.models.base import ModelError
from otoscope.speech.base import SpeechError
from otoscope.speech.recognition import Transcript
from otoscope.speech.transcript_labels import TranscriptLabel, open_labeller
from tests.audits.tiny_dataset import clip, in_memory

LABELS = ("match", "no match")
N = 12


class Recites:
    """Recognises in a clip what the test says is spoken in it."""

    description: ClassVar = {"kind": "recites"}
    device = "cpu"
    batch_size = 5

    def __init__(self, spoken, fails_at=None):
        self.spoken, self.fails_at, self.calls = spoken, fails_at, []

    def transcribe(self, clips, *, words=False):
        self.calls += [clip.id for clip in clips]
        if self.fails_at in self.calls:
            raise ModelError(f"clip {self.fails_at!r} is odd")
        return [
            Transcript(self.spoken[c.id], self.spoken[c.id], -0.1, 0.2, 0.9, (), 3, "en", 0.05, 0.5)
            for c in clips
        ]


class Counts:
    """A labeller that is not fitted; notes what it is given."""

    description: ClassVar = {"kind": "counts"}
    is_fitted = False
    batch_size = 4

    def __init__(self):
        self.items = []

    def fit(self, items):
        raise AssertionError

    def predict(self, items):
        self.items += items
        return [TranscriptLabel("match", (0.75, 0.25), "scores", 0.25, 10, 0) for _ in items]


def row(split, i, label=None):
    """Every row has audio of its own."""
    number = i + N * (split == "holdout")
    own = LABELS[i % 2] if label is None else label
    return {
        "id": f"{split}-{i}", "audio": clip(number), "label": own, "task": "speech_text_matching",
        "text": f"sentence number {'abcdef'[i // 2]}", "cluster_id": f"{split}-{i // 2}",
    }  # fmt: skip


def dataset(holdout_label=None):
    made = datasets.DatasetDict(
        {
            "development": in_memory([row("development", i) for i in range(N)]),
            "holdout": in_memory([row("holdout", i, holdout_label) for i in range(N)]),
        }
    )
    return open_labelled(made.cast_column("label", datasets.ClassLabel(names=list(LABELS))))


@pytest.fixture
def data():
    return dataset()


@pytest.fixture
def spoken(data):
    return {r.id: r.text if r.label == "match" else "quite different words" for r in data.rows}


def matching(data):
    return {"transcript": open_labeller("matching", data.labels, data.task)}


def test_evidence_of_matching(data, spoken, tmp_path):
    made = transcribe(data, Recites(spoken), matching(data), tmp_path)
    assert made.n_new == 2 * N
    predictions = pd.read_parquet(tmp_path / "predictions.parquet")
    examples = pd.read_parquet(tmp_path / "examples.parquet")
    right = examples.set_index("example_id")["label"]
    assert (predictions["label"].to_numpy() == right[predictions["example_id"]].to_numpy()).all()
    assert set(predictions["action"]) == {"transcript"}
    assert (examples["asr_len"] == 3).all()
    assert examples["asr_unc"].between(0, 1).all()
    assert (predictions["wall_s"] == 0.5).all()
    tables = read_call_tables([tmp_path / "predictions.parquet", tmp_path / "examples.parquet"])
    assert tables.task == "speech_text_matching"
    record = json.loads((tmp_path / "evidence.json").read_text())
    assert record["recognizer"] == {"kind": "recites"}
    assert record["labellers"]["transcript"]["kind"] == "matching"


def test_development_predictions_are_out_of_fold(data, spoken, tmp_path, monkeypatch):
    labellers = matching(data)
    seen, fit, predict = [], labellers["transcript"].fit, labellers["transcript"].predict
    monkeypatch.setattr(labellers["transcript"], "fit", lambda rows: (seen.append(rows), fit(rows)))

    def apart(rows):
        fitted = {item.id.rpartition("-")[2] for item in seen[-1]}
        assert all(item.label is None for item in rows)
        if rows[0].id.startswith("development"):
            clusters = {int(name) // 2 for name in fitted}
            assert not clusters & {int(item.id.rpartition("-")[2]) // 2 for item in rows}
        return predict(rows)

    monkeypatch.setattr(labellers["transcript"], "predict", apart)
    transcribe(data, Recites(spoken), labellers, tmp_path)
    assert len(seen) == 6
    assert all(item.id.startswith("development") for rows in seen for item in rows)
    folds = pd.read_parquet(tmp_path / "predictions.parquet").set_index("example_id")["fold"]
    assert folds.filter(like="development").notna().all()
    assert folds.filter(like="holdout").isna().all()


def test_labels_of_held_out_examples_change_nothing(spoken, tmp_path):
    found = []
    for name, holdout_label in (("a", None), ("b", "match")):
        data = dataset(holdout_label)
        transcribe(data, Recites(spoken), matching(data), tmp_path / name)
        found.append(pd.read_parquet(tmp_path / name / "predictions.parquet"))
    pd.testing.assert_frame_equal(*found)


def test_stopped_and_resumed(data, spoken, tmp_path):
    stopped = Recites(spoken, fails_at="development-7")
    with pytest.raises(ModelError, match="'development-7' is odd"):
        transcribe(data, stopped, {}, tmp_path)
    log = tmp_path / "transcripts.jsonl"
    assert len(log.read_text().splitlines()) == 5
    log.write_text(log.read_text() + '{"id": "torn')
    resumed = Recites(spoken)
    made = transcribe(data, resumed, {}, tmp_path)
    assert made.n_new == 2 * N - 5
    assert resumed.calls[1:] == [r.id for r in data.rows][5:]  # the first one warms up
    assert transcribe(data, Recites({}), {}, tmp_path).n_new == 0
    table = pd.read_parquet(tmp_path / "transcripts.parquet")
    assert table["example_id"].tolist() == [r.id for r in data.rows]
    assert not (tmp_path / "predictions.parquet").exists()


def test_answers_of_a_text_model_are_kept(data, spoken, tmp_path):
    counts = Counts()
    transcribe(data, Recites(spoken), {"transcript": counts}, tmp_path)
    assert len(counts.items) == 2 * N
    assert all(item.label is None for item in counts.items)
    transcribe(data, Recites(spoken), {"transcript": counts}, tmp_path)
    assert len(counts.items) == 2 * N
    predictions = pd.read_parquet(tmp_path / "predictions.parquet")
    assert (predictions["wall_s"] == 0.75).all()
    assert (predictions["tokens"] == 10).all()
    components = pd.read_parquet(tmp_path / "components.parquet")
    seconds = components.groupby("component")["wall_s"].sum()
    assert seconds.to_dict() == {"asr": 0.5 * 2 * N, "text:transcript": 0.25 * 2 * N}
    assert set(components[components["component"] == "asr"]["batch"]) == {5, 4}


def test_audio_of_several_rows_is_transcribed_once(tmp_path):
    # rows 2k and 2k + 1 of each split are one clip with two sentences, as in speech-text matching
    pairs = {
        split: [row(split, i) | {"audio": clip(i // 2 + 50 * k)} for i in range(N)]
        for k, split in enumerate(("development", "holdout"))
    }
    data = open_labelled({split: in_memory(rows) for split, rows in pairs.items()})
    recites = Recites({row.id: row.text for row in data.rows})
    made = transcribe(data, recites, matching(data), tmp_path)
    firsts = [row.id for row in data.rows[::2]]
    assert recites.calls == [firsts[0], *firsts]  # the first one warms up
    assert made.n_new == N
    assert len((tmp_path / "transcripts.jsonl").read_text().splitlines()) == N
    table = pd.read_parquet(tmp_path / "transcripts.parquet").set_index("example_id")
    assert table.loc["holdout-5"].equals(table.loc["holdout-4"])
    assert table["text"].nunique() == N // 2
    assert (pd.read_parquet(tmp_path / "predictions.parquet")["wall_s"] == 0.5).all()
    assert "time of its one transcription" in (tmp_path / "evidence.json").read_text()
    assert transcribe(data, Recites({}), {}, tmp_path).n_new == 0


def test_another_work_in_the_folder(data, spoken, tmp_path):
    transcribe(data, Recites(spoken), {}, tmp_path)
    with pytest.raises(CallValueError, match="words False, now True; choose another --out"):
        transcribe(data, Recites(spoken), {}, tmp_path, words=True)
    with pytest.raises(CallValueError, match="dataset_sha256"):
        transcribe(limited(data, 4), Recites(spoken), {}, tmp_path)


def test_a_damaged_line_is_named(data, spoken, tmp_path):
    transcribe(data, Recites(spoken), {}, tmp_path)
    log = tmp_path / "transcripts.jsonl"
    log.write_text("nonsense\n" + log.read_text())
    with pytest.raises(CallValueError, match=r"transcripts\.jsonl, line 1: damaged"):
        transcribe(data, Recites(spoken), {}, tmp_path)


def test_limits_are_of_each_split(data):
    assert [r.id for r in limited(data, 1).rows] == ["development-0", "holdout-0"]


def test_names_of_actions():
    with pytest.raises(SpeechError, match="of one kind"):
        actions_of(["openai:a", "openai:b"])
