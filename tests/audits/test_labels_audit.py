"""The closed-set audit: what it plans, and runs of models that need no weights."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from otoscope.audits.labels import plan, run
from otoscope.audits.opening import DatasetError
from otoscope.audits.runs import RunError, load_run
from otoscope.cli import app
from otoscope.errors import InvalidValue
from otoscope.models.base import ModelError
from otoscope.prompts.tasks import VARIANTS
from otoscope.reports.scoring import score
from tests.audits.tiny_dataset import clip, full_row, write

ANIMALS = ("cow", "hen", "sheep")


def folder(path, n=6, n_samples=400, labels=ANIMALS, **more):
    splits = {
        split: [
            {
                "id": f"{split}-{i}", "audio": clip(100 * k + i, n_samples=n_samples),
                "label": labels[i % len(labels)],
                "cluster_id": f"{split}-{i // 2}", "speaker_id": f"p{i}",
            } | more
            for i in range(n)
        ]
        for k, split in enumerate(("development", "holdout"))
    }  # fmt: skip
    return write(path, {"default": splits})


def test_both_splits_in_every_variant(tmp_path):
    made = plan(folder(tmp_path))
    assert len(made.questions) == 2 * 6 * len(VARIANTS)
    row = made.rows()[0]
    assert row["question_id"] == "development-0|plain"
    assert (row["split"], row["cluster_id"], row["task"]) == (
        "development",
        "development-0",
        "generic",
    )
    assert (row["label"], row["labels"]) == ("cow", list(ANIMALS))
    shuffled = {tuple(r["labels"]) for r in made.rows() if r["prompt_name"] == "shuffled"}
    assert len(shuffled) > 1


def test_one_variant_and_some_clusters(tmp_path):
    made = plan(folder(tmp_path), prompts=["json"], limit_clusters=1)
    assert len(made.questions) == 4  # two rows of a cluster, in each split
    assert made.partial == "1 of 3 clusters of development; 1 of 3 clusters of holdout"
    with pytest.raises(LookupError, match="jsn"):
        plan(tmp_path, prompts=["jsn"])
    with pytest.raises(InvalidValue, match="limit_clusters"):
        plan(tmp_path, limit_clusters=0)


def test_a_quoted_text_must_be_there(tmp_path):
    with pytest.raises(InvalidValue, match="'development-0' has no `text`"):
        plan(folder(tmp_path), task="speech_text_matching")


def test_a_perception_dataset_is_a_task(tmp_path):
    parts = {"train": [full_row(i) for i in range(4)], "test": [full_row(i) for i in range(4, 8)]}
    made = plan(write(tmp_path, {"volume": parts}), task="direction", prompts=["plain"])
    assert {row["split"] for row in made.rows()} == {"development", "holdout"}
    assert (
        "decrease or increase over time? Choose one of: decrease, increase."
        in next(iter(made.questions.values())).prompt
    )


@pytest.mark.parametrize(
    ("model", "least", "most"),
    [("constant:cow", 1 / 3, 1 / 3), ("simulated:1", 1, 1), ("random:0", 0.1, 0.6)],
)
def test_runs_of_models_without_weights(tmp_path, model, least, most):
    data = folder(tmp_path / "data")
    run(data, model, out=tmp_path / "run", audio_input_check=False)
    scored = score(load_run(tmp_path / "run")[:])
    assert len(scored) == 48
    accuracy = (scored["outcome"] == "correct").mean()
    assert least <= accuracy <= most
    assert (scored["outcome"].isin(["correct", "wrong"])).all()


def test_an_observer_is_told_before_the_first_request(tmp_path):
    data = folder(tmp_path / "data")
    with pytest.raises(ModelError, match=r"none of 48 questions: in 'development-0\|plain', it "):
        run(data, "observer", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_saved_answers_are_of_any_label(tmp_path):
    data = folder(tmp_path / "data")
    rows = [
        {"id": f"{s}-{i}", "text": "Hen."} for s in ("development", "holdout") for i in range(6)
    ]
    (tmp_path / "saved.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = f"replay:{tmp_path / 'saved.jsonl'}"
    run(data, model, out=tmp_path / "run", audio_input_check=False)
    scored = score(load_run(tmp_path / "run")[:])
    assert (scored["outcome"] == "correct").sum() == 16  # every third clip, in four prompts


def test_a_random_choice_is_among_all_labels(tmp_path):
    run(folder(tmp_path / "data"), "random:1", out=tmp_path / "run", audio_input_check=False)
    assert set(load_run(tmp_path / "run")["text"]) == set(ANIMALS)


COMMAS = ("a, b", 'say "hi"', "it's")


@pytest.mark.parametrize(
    ("labels", "options", "words"),
    [
        (ANIMALS, ["--prompt", "plan"], "no prompt variant named 'plan'; did you mean 'plain'?"),
        ([f"class {i}" for i in range(27)], [], "--prompt plain --prompt json --prompt shuffled"),
        (("cow", "Cow", "hen"), [], "'cow' would mean both 'Cow' and 'cow'"),
        (("c", "c#"), [], "case and marks do not count"),
        (("cow", "", "hen"), [], "row 'development-1' has no label"),
        (("🐄", "hen"), [], "'🐄' has no letter or digit to know it by; rename the label"),
        (ANIMALS, ["--where", "cluster_id=z"], "no row of development has cluster_id=z"),
    ],
)
def test_what_is_rejected_in_one_line(tmp_path, labels, options, words):
    data = folder(tmp_path / "data", n=len(labels), labels=labels)
    out = tmp_path / "run"
    more = ["--dataset", str(data), "--model", "constant:cow", "--out", str(out), *options]
    result = CliRunner().invoke(app, ["run", "labels", *more], env={"COLUMNS": "300"})
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output
    assert not out.exists()


def test_one_split_is_not_enough(tmp_path):
    data = write(tmp_path, {"default": {"train": [{"id": "a", "audio": clip(1), "label": "cow"}]}})
    with pytest.raises(DatasetError, match=r"one split, train, .*builders\.labelled_folder build"):
        plan(data)


@pytest.mark.parametrize(
    ("labels", "answer"),
    [(("1", "2", "10"), "10."), ((1, 2, 10), "(10)"), (COMMAS, 'It is: Say "Hi"!'),
     (("牛", "母鸡", "绵羊"), "“牛”。"), (("vache", "poule", "mouton"), "UNE POULE")],
)  # fmt: skip
def test_unusual_labels_are_read(tmp_path, labels, answer):
    data = folder(tmp_path / "data", labels=labels)
    run(data, f"constant:{answer}", out=tmp_path / "run", audio_input_check=False)
    assert (score(load_run(tmp_path / "run")[:])["outcome"] == "correct").sum() == 16


def test_labels_with_commas_are_listed_with_semicolons(tmp_path):
    made = plan(folder(tmp_path, labels=COMMAS), prompts=["plain", "plain"])
    assert made.choices["prompts"] == ["plain"]
    prompt = next(iter(made.questions.values())).prompt
    assert """Choose one of: a, b; it's; say "hi".""" in prompt


def test_long_texts_are_quoted_whole(tmp_path):
    data = folder(tmp_path, labels=("no", "yes"), text="word " * 1000 + "end")
    made = plan(data, task="speech_text_matching", prompts=["plain"])
    assert "word " * 1000 + "end" in next(iter(made.questions.values())).prompt


def test_one_clip_that_cannot_be_read_costs_its_own_questions_alone(tmp_path):
    data = folder(tmp_path / "data")
    table = tmp_path / "data" / "default" / "holdout-0.parquet"
    rows = pq.read_table(table).to_pylist()
    rows[2]["audio"] = {"bytes": b"nonsense", "path": None}
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(table)), table)
    run(data, "constant:cow", out=tmp_path / "run", audio_input_check=False)
    found = load_run(tmp_path / "run")
    failed = [row["id"] for row in found if row["status"] != "ok"]
    assert failed == ["holdout-2"] * len(VARIANTS)
    assert len(found) == 48


def test_another_set_of_prompts_is_another_run(tmp_path):
    data = folder(tmp_path / "data")
    run(data, "constant:cow", out=tmp_path / "run", prompts=["plain"], audio_input_check=False)
    with pytest.raises(RunError, match=r"prompts \['plain'\], now \['plain', 'json'\]"):
        run(data, "constant:cow", out=tmp_path / "run", prompts=["plain", "json"],
            audio_input_check=False)  # fmt: skip
    assert len(load_run(tmp_path / "run")) == 12


def test_a_label_outside_the_set(tmp_path):
    folder(tmp_path)
    with pytest.raises(DatasetError, match="no split 'validation'"):
        plan(tmp_path, holdout="validation")
