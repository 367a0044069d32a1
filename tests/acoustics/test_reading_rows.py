"""The audio of a row of `datasets`, read without torchcodec."""

import io
import sys

import datasets
import numpy as np
import pytest
import soundfile

from otoscope import acoustics
from otoscope.acoustics.codec import AudioError

RATE = 8000
PCM = np.array([0, 1, -32768, 32767, 16384], dtype=np.int16)


def wav(pcm):
    buffer = io.BytesIO()
    soundfile.write(buffer, pcm, RATE, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchcodec", None)
    path = tmp_path / "b.wav"
    path.write_bytes(wav(np.stack([PCM, -(PCM // 2)], axis=1)))
    cells = [{"bytes": wav(PCM), "path": "a.wav"}, {"bytes": None, "path": str(path)}]
    made = datasets.Dataset.from_dict({"id": ["a", "b"], "audio": cells})
    return made.cast_column("audio", datasets.Audio(decode=False))


def test_samples_are_16_bits_over_32768_and_channels_come_first(table):
    samples, rate = acoustics.read(table[0])
    assert (samples.dtype, samples.shape, rate) == (np.float32, (5,), RATE)
    assert samples.tolist() == [0, 1 / 32768, -1, 32767 / 32768, 0.5]
    stereo, _ = acoustics.read(table[1])
    assert stereo.shape == (2, 5)
    assert stereo[1].tolist() == [0, 0, 0.5, -16383 / 32768, -0.25]


def test_streamed_filtered_and_mapped_rows_are_read_alike(table):
    first = acoustics.read(table[0])[0].tolist()
    assert acoustics.read(next(iter(table.to_iterable_dataset())))[0].tolist() == first
    kept = table.filter(lambda row: len(acoustics.read(row)[0].shape) == 1)
    assert kept["id"][:] == ["a"]
    lengths = table.map(lambda row: {"n": acoustics.read(row)[0].shape[-1]})
    assert lengths["n"][:] == [5, 5]


def test_the_cell_itself_and_another_column(table):
    assert acoustics.read(table[0]["audio"])[1] == RATE
    assert acoustics.read({"sound": table[0]["audio"]}, column="sound")[1] == RATE


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"id": "x", "text": "a"}, r"row 'x' has no column 'audio'; it has \['id', 'text'\]"),
        ({"id": "x", "audio": None}, "row 'x' has no audio"),
        ({"id": "x", "audio": {"bytes": None, "path": None}}, "row 'x' has no audio"),
        ({"id": "x", "audio": {"bytes": b"no", "path": None}}, "row 'x': not readable as audio"),
        ({"id": "x", "audio": {"bytes": None, "path": "no.wav"}}, "row 'x': No such file"),
        ({"id": "x", "audio": object()}, r"row 'x': 'audio' is decoded already \(object\); first"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_row(row, complaint):
    with pytest.raises(AudioError, match=complaint):
        acoustics.read(row)
