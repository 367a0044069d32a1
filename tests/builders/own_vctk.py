"""The clips of `tests/data` in the two layouts of VCTK."""

import csv
from pathlib import Path

import soundfile

DATA = Path(__file__).parents[1] / "data"
LAYOUTS = ("VCTK-Corpus-0.80", "VCTK-Corpus-0.92-layout")
FIRST_SPEAKER = 901


def write_own_vctk(root, layout):
    """A corpus of six speakers with a clip each; in 0.92 with two microphones."""
    old = layout == LAYOUTS[0]
    lines = ["ID  AGE  GENDER  ACCENTS  REGION"]
    with (DATA / "clips.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows, FIRST_SPEAKER):
        name = f"p{number}"
        lines.append(f"{number if old else name}  30  F  English  Nowhere")
        samples, rate = soundfile.read(DATA / row["file"], dtype="int16")
        folder = root / ("wav48" if old else "wav48_silence_trimmed") / name
        folder.mkdir(parents=True)
        for suffix in (".wav",) if old else ("_mic1.flac", "_mic2.flac"):
            soundfile.write(folder / f"{name}_001{suffix}", samples, rate)
        (root / "txt" / name).mkdir(parents=True)
        (root / "txt" / name / f"{name}_001.txt").write_text(row["text"] + "\n")
    (root / "speaker-info.txt").write_text("\n".join(lines) + "\n")
    return root
