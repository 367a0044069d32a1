"""The audio of a dataset's row, without torchcodec.

ds = load_dataset(…).cast_column("audio", Audio(decode=False))
samples, sampling_rate = otoscope.acoustics.read(ds[0])
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from otoscope.acoustics import codec


def read(row: Mapping[str, Any], *, column: str = "audio") -> tuple[Float[np.ndarray, "..."], int]:
    """The samples of a row, and their sampling rate in Hz.

    Works on rows of `ds[0]`, of `filter` and `map`, and on streamed ones, once the column is
    `Audio(decode=False)`.

    Args:
        row: With `{"bytes", "path"}` in the column, of which one may be None; or this cell itself.
            A path is relative to the current folder.
        column: The one with the audio.

    Returns:
        float32 in [-1, 1] at the file's own rate: `(n_samples,)` if mono, else
        `(n_channels, n_samples)`. Samples are 16-bit values divided by 32768, exactly those of
        a build; see `codec.read` for other files.

    Raises:
        AudioError: The row has no such column, no audio, or audio that cannot be read; its `id` is
            named.
    """
    recording = codec.read(encoded_audio(row, column), name=_name(row))
    samples = codec.to_float(recording.pcm)
    return (samples[0] if len(samples) == 1 else samples), recording.sampling_rate


def encoded_audio(row: Mapping[str, Any], column: str = "audio") -> bytes | Path:
    """The bytes of a row's audio file, or its path where the row has no bytes.

    Raises:
        AudioError: The row has neither, or decoded audio.
    """
    name = _name(row)
    if column not in row and "bytes" not in row and "path" not in row:
        raise codec.AudioError(f"{name} has no column {column!r}; it has {sorted(row)}")
    cell = row.get(column, row)
    if isinstance(cell, bytes):
        return cell
    if isinstance(cell, str):
        cell = {"path": cell}
    if cell is not None and not isinstance(cell, Mapping):
        raise codec.AudioError(
            f"{name}: {column!r} is decoded already ({type(cell).__name__}); first "
            f'cast_column("{column}", Audio(decode=False))'
        )
    if cell and cell.get("bytes") is not None:
        return bytes(cell["bytes"])
    if cell and cell.get("path"):
        return Path(cell["path"])
    raise codec.AudioError(f"{name} has no audio")


def _name(row: Mapping[str, Any]) -> str:
    return f"row {row['id']!r}" if row.get("id") is not None else "the row"
