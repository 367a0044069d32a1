"""Reads the tensors of a CTranslate2 model file, binary version 6.

Layout, little endian: version (u32), name and revision of the specification, number of tensors; for
each its name, rank (u8), sizes (u32), type (u8), number of bytes (u32) and values. A text is its
length with the final zero (u16) and its bytes.
"""

import struct
from typing import NamedTuple

import numpy as np

from otoscope.errors import InputError

VERSION = 6
TYPES = (np.float32, np.int8, np.int16, np.int32, np.float16)


class WeightsFileError(InputError, ValueError):
    """A file of weights that cannot be read; the message says why."""


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, kind: str) -> int:
        (value,) = struct.unpack_from(f"<{kind}", self.data, self.at)
        self.at += struct.calcsize(kind)
        return int(value)

    def text(self) -> str:
        return self.take(self.number("H")).rstrip(b"\0").decode()

    def take(self, n_bytes: int) -> bytes:
        taken = self.data[self.at : self.at + n_bytes]
        if len(taken) < n_bytes:
            raise WeightsFileError(f"the file ends within {n_bytes} bytes at {self.at}")
        self.at += n_bytes
        return taken


class TensorFile(NamedTuple):
    """What a file holds.

    Attributes:
        specification: The name of the kind of model, such as `WhisperSpec`.
        tensors: By name; scalars have rank 0.
    """

    specification: str
    tensors: dict[str, np.ndarray]


def read_tensors(data: bytes) -> TensorFile:
    """Every tensor of a file's content, as views of it.

    Raises:
        WeightsFileError: Another version, an unknown type, or a torn file.
    """
    cursor = _Cursor(data)
    try:
        if (version := cursor.number("I")) != VERSION:
            raise WeightsFileError(f"binary version {version}, not {VERSION}")
        specification, tensors = cursor.text(), {}
        cursor.number("I")  # revision of the specification
        for _ in range(cursor.number("I")):
            name = cursor.text()
            shape = [cursor.number("I") for _ in range(cursor.number("B"))]
            if (kind := cursor.number("B")) >= len(TYPES):
                raise WeightsFileError(f"tensor {name!r} has the unknown type {kind}")
            values = np.frombuffer(cursor.take(cursor.number("I")), TYPES[kind])
            tensors[name] = values.reshape(shape)
    except (struct.error, ValueError) as error:
        if isinstance(error, WeightsFileError):
            raise
        raise WeightsFileError(f"damaged at byte {cursor.at}: {error}") from error
    return TensorFile(specification, tensors)
