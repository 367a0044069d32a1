"""The tiny listener: what it may be taught, what it refuses. That it learns, its study shows."""

import json
from types import SimpleNamespace

import pytest

from trainers.listener import SETTLES, Lesson, ListenerError, already, refuse_shared
from trainers.tiny_audio_model import Shape, tiny_audio_model


def splits(*source_ids):
    return SimpleNamespace(rows={"source_id": list(source_ids)})


def test_sources_that_teach_are_not_asked_about():
    refuse_shared(splits("a", "b", None), splits("c", None, ""))
    with pytest.raises(ListenerError, match=r"1 sources are in train and in test, such as 'b'"):
        refuse_shared(splits("a", "b"), splits("b", "c"))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"asked": ()}, "name each category"),
        ({"asked": ("echo", "echo")}, "name each category"),
        ({"n_steps": 0}, "n_steps must be above 0, not 0"),
        ({"learning_rate": -1.0}, "learning_rate must be above 0"),
    ],
)
def test_a_lesson_that_cannot_be_is_named(wrong, told):
    with pytest.raises(ListenerError, match=told):
        Lesson(**wrong)


def test_the_rate_rises_and_falls_to_a_tenth():
    lesson = Lesson(n_steps=100, warm_up=10, learning_rate=1.0)
    assert lesson.rate(0) == pytest.approx(0.1)  # a tenth of the way up
    assert lesson.rate(50) == pytest.approx(SETTLES + (1 - SETTLES) / 2)
    assert lesson.rate(100) == pytest.approx(SETTLES)


def test_what_is_there_is_kept_or_refused(tmp_path):
    about = {"lesson": {"seed": 0}, "content": "x"}
    assert already(tmp_path / "none", about) is None
    (tmp_path / "listener.json").write_text(json.dumps(about | {"unseen": 1}))
    assert already(tmp_path, about) == about | {"unseen": 1}
    with pytest.raises(ListenerError, match=r"holds another listener: lesson\.seed 0, now 1"):
        already(tmp_path, about | {"lesson": {"seed": 1}})
    (tmp_path / "listener.json").write_text("{")
    with pytest.raises(ListenerError, match=r"listener\.json is not readable"):
        already(tmp_path, about)


def test_the_same_seed_gives_the_same_weights():
    first, again = (tiny_audio_model(Shape(), 0)[0].state_dict() for _ in range(2))
    other = tiny_audio_model(Shape(), 1)[0].state_dict()
    assert all((first[name] == again[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)
