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


SENTENCES = (
    "The ferry leaves at dawn.", "Seven geese live behind the press.", "Someone painted the door.",
    "A thin frost covered the bakery.", "Our guide pointed at the waterfall.",
    "Nobody heard the train arrive.", "The violin was older than the house.",
    "Her letter came back unopened.",
)  # fmt: skip


def readings(root, sentences=SENTENCES):
    """A tone for each sentence, and the table that says which."""
    lines = ["file_name,transcript,speaker_id"]
    for i, sentence in enumerate(sentences):
        tone(root / f"r{i}.wav", i)
        lines.append(f"r{i}.wav,{sentence},s{i % 3}")
    (root / "metadata.csv").write_text("\n".join(lines))
    return root


def _speech_text_matching(tmp_path):
    return ["--source", f"folder:{readings(tmp_path / 'readings')}", "--licence", "cc0-1.0"]


TINY = {
    "labelled_folder": _labelled_folder,
    "speech_text_matching": _speech_text_matching,
}
"""Name in `LABELLED` to the arguments of its `build` for a tiny input made below a folder."""
