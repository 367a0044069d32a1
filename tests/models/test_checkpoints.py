"""A folder's hash: another one for other weights, the same one for a copy."""

import json
import os
import shutil
import struct

import numpy as np
import pytest

from otoscope.models import checkpoints
from otoscope.models.checkpoints import DamagedWeights, folder_hash

N_BYTES = 40_000


@pytest.fixture(params=["read whole", "sampled"])
def folder(request, tmp_path, monkeypatch):
    """A checkpoint of two tensors, written by hand after the safetensors format."""
    if request.param == "sampled":
        monkeypatch.setattr(checkpoints, "MAX_FULLY_HASHED_BYTES", 2_000)
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text('{"model_type": "mine"}')
    spans = {"a": [0, N_BYTES], "b": [N_BYTES, 2 * N_BYTES]}
    header = {
        name: {"dtype": "U8", "shape": [N_BYTES], "data_offsets": span}
        for name, span in spans.items()
    }
    encoded = json.dumps({"__metadata__": {"format": "pt"}} | header).encode()
    weights = np.random.default_rng(0).integers(0, 256, 2 * N_BYTES, np.uint8)
    (made / "model.safetensors").write_bytes(
        struct.pack("<Q", len(encoded)) + encoded + weights.tobytes()
    )
    return made


def trained(path, start, stop):
    """Other weights from one byte of the data to another."""
    content = bytearray(path.read_bytes())
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    for place in range(begin + start, begin + stop):
        content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("span", [(0, N_BYTES), (N_BYTES, 2 * N_BYTES)], ids=["a", "b"])
def test_one_tensor_trained_is_another_model(folder, span):
    before = folder_hash(folder)
    trained(folder / "model.safetensors", *span)
    assert folder_hash(folder) != before


def test_a_setting_or_a_file_more_is_another_model(folder):
    hashes = [folder_hash(folder)]
    (folder / "config.json").write_text('{"model_type": "ours"}')
    hashes.append(folder_hash(folder))
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    hashes.append(folder_hash(folder))
    (folder / "chat_template.jinja").rename(folder / "chat_template_2.jinja")
    hashes.append(folder_hash(folder))
    assert len(set(hashes)) == 4


def test_a_copy_with_other_times_and_notes_is_the_same(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    os.utime(copy / "model.safetensors", (0, 0))
    (copy / "README.md").write_text("notes")
    (copy / ".cache").mkdir()
    (copy / ".cache" / "download").write_text("")
    assert folder_hash(copy) == folder_hash(folder)


def test_a_large_file_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "MAX_FULLY_HASHED_BYTES", 0)
    (tmp_path / "weights.bin").write_bytes(bytes(10 * checkpoints.SAMPLE))
    read = b"".join(checkpoints._hashed_bytes(tmp_path / "weights.bin"))
    assert len(read) == 3 * checkpoints.SAMPLE


def test_but_its_size_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "MAX_FULLY_HASHED_BYTES", 0)
    hashes = set()
    for n in (10, 11):
        (tmp_path / "weights.bin").write_bytes(bytes(n * checkpoints.SAMPLE))
        hashes.add(folder_hash(tmp_path))
    assert len(hashes) == 2


@pytest.mark.parametrize(
    ("cut", "complaint"),
    [
        (lambda data: data[:-1], "cut short, 1 bytes are missing"),
        (lambda data: data[:40], "its header is damaged or cut short"),
        (lambda data: data[:5], "its header is damaged or cut short"),
        (lambda data: b"\xff" * len(data), "its header is damaged or cut short"),
    ],
)
def test_a_large_file_that_is_cut_short_is_named(tmp_path, monkeypatch, cut, complaint):
    header = json.dumps({"a": {"dtype": "U8", "shape": [9], "data_offsets": [0, 9]}}).encode()
    data = struct.pack("<Q", len(header)) + header + bytes(9)
    monkeypatch.setattr(checkpoints, "MAX_FULLY_HASHED_BYTES", 0)
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    folder_hash(tmp_path)
    path.write_bytes(cut(data))
    with pytest.raises(DamagedWeights, match=rf"model\.safetensors: {complaint}"):
        folder_hash(tmp_path)
