"""Corrupt checkpoints are skipped, and another training is rejected."""

import numpy as np
import pytest
from tiny import torch

from otoscope.tuning.checkpoints import Checkpoints
from otoscope.tuning.config import TuningError


@pytest.fixture
def notes():
    return []


@pytest.fixture
def checkpoints(tmp_path, notes):
    made = Checkpoints(tmp_path / "adapter", notes.append)
    with made.lock():
        made.begin({"settings": {"rank": 8}})
    return made


def files(checkpoints):
    return sorted(checkpoints.folder.glob("*.pt"))


def state(step):
    return {"step": step, "weights": {"a": torch.full((1000,), float(step))}}


def test_the_latest_is_found_and_two_are_stored(checkpoints, notes):
    assert checkpoints.latest() is None
    for step in (5, 10, 200):
        checkpoints.save(state(step))
    assert [path.name[:13] for path in files(checkpoints)] == ["step-00000010", "step-00000200"]
    latest = checkpoints.latest()
    assert latest["step"] == 200
    assert torch.equal(latest["weights"]["a"], torch.full((1000,), 200.0))
    assert notes == []


def test_one_half_written_is_left_out_with_a_note(checkpoints, notes):
    checkpoints.save(state(5))
    half = checkpoints.folder / "step-00000010.partial"
    half.write_bytes(files(checkpoints)[0].read_bytes()[:500])
    assert checkpoints.latest()["step"] == 5
    assert notes == ["step-00000010.partial is incomplete and is skipped"]
    assert not half.exists()


@pytest.mark.parametrize("left", [0, 100, 3000])
def test_one_cut_short_falls_back_to_the_one_before(checkpoints, notes, left):
    for step in (5, 10):
        checkpoints.save(state(step))
    corrupt = files(checkpoints)[1]
    corrupt.write_bytes(corrupt.read_bytes()[:left])
    assert checkpoints.latest()["step"] == 5
    assert notes == [f"{corrupt.name} is corrupt and is skipped"]


def test_one_with_a_bit_turned_falls_back_too(checkpoints, notes):
    for step in (5, 10):
        checkpoints.save(state(step))
    corrupt = files(checkpoints)[1]
    data = bytearray(corrupt.read_bytes())
    data[data.index(np.full(4, 10, np.float32).tobytes())] ^= 1
    corrupt.write_bytes(bytes(data))
    assert checkpoints.latest()["step"] == 5
    assert "is corrupt" in notes[0]


def test_what_was_begun_otherwise_is_rejected_and_named(checkpoints):
    checkpoints.begin({"settings": {"rank": 8}, "dataset": "elsewhere"})
    with pytest.raises(TuningError, match=r"another adapter: settings\.rank 8, now 4; choose"):
        checkpoints.begin({"settings": {"rank": 4}})


def test_a_folder_with_something_else_is_rejected(tmp_path, notes):
    (tmp_path / "notes.txt").touch()
    made = Checkpoints(tmp_path, notes.append)
    with made.lock(), pytest.raises(TuningError, match="holds something that is no adapter"):
        made.begin({})


def test_two_runs_of_one_adapter_are_rejected(checkpoints):
    again = Checkpoints(checkpoints.folder.parent, print)
    busy = pytest.raises(TuningError, match="is being trained by another run")
    with checkpoints.lock(), busy, again.lock():
        pass
    with again.lock():
        pass
