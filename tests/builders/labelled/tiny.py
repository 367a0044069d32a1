"""Labelled clips of a few tones, and how each dataset of `LABELLED` is built from tiny input."""

import numpy as np
import soundfile

RATE = 16_000


def tone(path, number, *, rate=RATE, duration_s=0.2):
    """A sine whose pitch is its number; no two numbers have the same samples."""
    path.parent.mkdir(parents=True, exist_ok=True)
    t = np.arange(round(duration_s * rate)) / rate
    soundfile.write(path, 0.5 * np.sin(2 * np.pi * (200 + 10 * number) * t), rate)
    return path


def folder_of(root, counts, *, first=0):
    """`LABEL/nN.wav` below a root, all different."""
    for label, n in counts.items():
        for _ in range(n):
            tone(root / label / f"n{first}.wav", first)
            first += 1
    return root


def _labelled_folder(tmp_path):
    root = folder_of(tmp_path / "clips", {"high": 4, "low": 4})
    return ["--from", str(root), "--task", "pitch"]


TINY = {"labelled_folder": _labelled_folder}
"""Name in `LABELLED` to the arguments of its `build` for a tiny input made below a folder."""
