"""The tiny listener: its config, and what it rejects. That training works, its study shows."""

import json
from types import SimpleNamespace

import pytest

from otoscope.errors import InvalidValue
from otoscope.models.base import Answer, Status
from trainers.listener import LISTENERS, accuracy, validate_no_shared_source
from trainers.listener_data import FINAL_RATE_SHARE, ListenerConfig, ListenerError
from trainers.tiny_audio_model import TinyModelSize, tiny_audio_model


def splits(*source_ids):
    return SimpleNamespace(rows={"source_id": list(source_ids)})


def test_accuracy_counts_answers_as_reports_do():
    answers = [
        Answer("increase"), Answer("increase", Status.REFUSED), Answer("decrease"), Answer("?"),
    ]  # fmt: skip
    n = len(answers)
    rows = {
        "category": ["echo"] * n, "question_id": [*"abcd"], "id": [*"abcd"],
        "parser": ["paper"] * n,
        "source_id": [*"abcd"], "label_name": ["increase"] * n,
    }  # fmt: skip
    data = SimpleNamespace(rows=rows, fill=str)
    found = accuracy(SimpleNamespace(answer=lambda requests: answers), data, ["echo"])
    assert (found["echo"]["n"], found["echo"]["estimate"]) == (4, 0.25)


def test_training_sources_are_not_tested():
    validate_no_shared_source(splits("a", "b", None), splits("c", None, ""))
    with pytest.raises(ListenerError, match=r"1 sources are in train and in test, such as 'b'"):
        validate_no_shared_source(splits("a", "b"), splits("b", "c"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"categories": ()}, "name each category"),
        ({"categories": ("echo", "echo")}, "name each category"),
        ({"n_steps": 0}, "n_steps must be above 0, not 0"),
        ({"learning_rate": -1.0}, "learning_rate must be above 0"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"seed": 2**63}, "seed must be 0 or more"),
    ],
)
def test_an_invalid_config_is_named(wrong, message):
    with pytest.raises(ListenerError, match=message):
        ListenerConfig(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_decoder_layers": 0},
        {"n_decoder_layers": 10**6},
        {"n_mels": 0},
        {"n_mels": 1},  # its features would have the samples' length
        {"n_mels": 10**5},
        {"window_s": -1},
        {"width": 10**6},
    ],
)
def test_an_impossible_size_is_named(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(InvalidValue, match=f"{name} must be from .*, not {value}"):
        TinyModelSize(**wrong)


def test_the_rate_rises_and_falls_to_a_tenth():
    config = ListenerConfig(n_steps=100, warm_up=10, learning_rate=1.0)
    assert config.rate(0) == pytest.approx(0.1)  # a tenth of the way up
    assert config.rate(50) == pytest.approx(FINAL_RATE_SHARE + (1 - FINAL_RATE_SHARE) / 2)
    assert config.rate(100) == pytest.approx(FINAL_RATE_SHARE)


def test_what_is_there_is_kept_or_rejected(tmp_path):
    about = {"lesson": {"seed": 0}, "content": "x"}
    assert LISTENERS.matching(tmp_path / "none", about) is None
    (tmp_path / "listener.json").write_text(json.dumps(about | {"unseen": 1}))
    assert LISTENERS.matching(tmp_path, about) == about | {"unseen": 1}
    with pytest.raises(ListenerError, match=r"holds another listener: lesson\.seed 0, now 1"):
        LISTENERS.matching(tmp_path, about | {"lesson": {"seed": 1}})
    (tmp_path / "listener.json").write_text("{")
    with pytest.raises(ListenerError, match=r"listener\.json is not readable"):
        LISTENERS.matching(tmp_path, about)


def test_the_same_seed_gives_the_same_weights():
    first, again = (tiny_audio_model(TinyModelSize(), 0)[0].state_dict() for _ in range(2))
    other = tiny_audio_model(TinyModelSize(), 1)[0].state_dict()
    assert all((first[name] == again[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)


def test_its_record_keeps_the_names_of_version_0_1():
    assert sorted(ListenerConfig().record()) == [
        "asked", "batch_size", "learning_rate", "max_norm", "n_steps", "overlaid", "seed", "shape",
        "warm_up",
    ]  # fmt: skip
