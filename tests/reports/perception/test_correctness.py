"""Which items a run answered correctly."""

import json

import pytest

from otoscope.audits.perception import run
from otoscope.audits.runs import RunError
from otoscope.models.opening import open_model
from otoscope.reports.perception.correctness import correct_by_item
from tests.audits.tiny_dataset import rows, write


@pytest.fixture
def run_folder(tmp_path):
    """A run with the answer increase about four clips, every second of which rises."""
    data = write(tmp_path / "data", {"all": {"test": rows(4)}})
    run(data, open_model("constant:increase"), out=tmp_path / "run")
    return tmp_path / "run"


def test_items_are_correct_or_not(run_folder):
    expected = {"volume-0": False, "volume-1": True, "volume-2": False, "volume-3": True}
    assert correct_by_item(run_folder, prompt="main") == expected


def test_an_answer_without_a_direction_is_not_correct(run_folder, tmp_path):
    run(tmp_path / "data", open_model("constant:who knows"), out=tmp_path / "other")
    assert set(correct_by_item(tmp_path / "other", prompt="main").values()) == {False}


def test_another_model_is_rejected_where_both_say_what_they_are(run_folder, tmp_path):
    about = json.loads((run_folder / "run.json").read_text())
    about["model_description"]["name"] = "a"
    (run_folder / "run.json").write_text(json.dumps(about))
    with pytest.raises(RunError, match="of another model: name 'a', not 'b'"):
        correct_by_item(run_folder, prompt="main", model={"name": "b"})
    assert len(correct_by_item(run_folder, prompt="main", model={"name": "a", "content": "c"})) == 4


def test_another_prompt_is_rejected(run_folder):
    with pytest.raises(RunError, match="no answers to the prompt 'beep'; its prompts: main"):
        correct_by_item(run_folder, prompt="beep")
