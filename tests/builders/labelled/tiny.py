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


ANIMALS = ("dog", "rooster", "pig", "cow", "frog", "cat", "hen", "insects", "sheep", "crow")


def esc50(root, n, *, empty=False):
    """ESC-50 with `n` animals of each kind, two of every source, and one clip of rain."""
    names = [
        f"{1 + i // 2 % 5}-{100 * target + i // 2}-{'AB'[i % 2]}-{target}.wav"
        for target in range(len(ANIMALS))
        for i in range(n)
    ]
    lines = ["filename,fold,target,category,esc10,src_file,take"]
    for number, name in enumerate(names):
        fold, source, take, target = name.removesuffix(".wav").split("-")
        lines.append(f"{name},{fold},{target},{ANIMALS[int(target)]},False,{source},{take}")
        if empty:
            (root / "audio").mkdir(parents=True, exist_ok=True)
            (root / "audio" / name).touch()
        else:
            tone(root / "audio" / name, number, duration_s=0.02)
    (root / "meta").mkdir()
    table = [*lines, "1-17367-A-10.wav,1,10,rain,True,17367,A", ""]
    (root / "meta" / "esc50.csv").write_text("\n".join(table))
    return root


def _esc50_animals(tmp_path):
    return ["--from", str(esc50(tmp_path / "esc50", 40))]


TINY = {
    "esc50_animals": _esc50_animals,
    "labelled_folder": _labelled_folder,
    "speech_text_matching": _speech_text_matching,
}
"""Name in `LABELLED` to the arguments of its `build` for a tiny input made below a folder."""

LARGE = {"esc50_animals"}
"""Those whose clips are counted, so that the input has as many as the published one: slow."""
