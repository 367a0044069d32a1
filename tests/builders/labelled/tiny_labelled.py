"""Labelled clips of a few tones, and how each dataset of `LABELLED` is built from tiny input."""

import io

import numpy as np
import soundfile
from datasets import Audio, Dataset

RATE = 16_000


def tone(path, number, *, rate=RATE, duration_s=0.2):
    """A sine whose pitch is its number; no two numbers have the same samples."""
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, sine(number, rate=rate, duration_s=duration_s), rate)
    return path


def sine(number, *, rate=RATE, duration_s=0.2):
    """Its samples."""
    t = np.arange(round(duration_s * rate)) / rate
    return 0.5 * np.sin(2 * np.pi * (200 + 10 * number) * t)


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


SPELLINGS = {
    "laughter": "Laughter", "sigh": "Sigh", "cough": "Cough", "sneeze": "Sneeze",
    "sniff": "Sniff", "throatclearing": "Throat clearing",
}  # fmt: skip


def vocal_names(n_speakers, *, first=0):
    """`m0000_0_laughter.wav` and so on: a clip of each class by every speaker."""
    return [
        f"{'fm'[i % 2]}{i:04d}_0_{kind}.wav"
        for i in range(first, first + n_speakers)
        for kind in SPELLINGS
    ]


def vocal_rows(names, *, first=0):
    """Rows as Dynamic-SUPERB has them; audio by number."""
    kinds = [name.removesuffix(".wav").rsplit("_", 1)[-1] for name in names]
    return [
        {
            "file": name,
            "audio": first + i,
            "instruction": "Which sound is it?",
            "label": SPELLINGS[kind],
        }
        for i, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]


def parquet_copy(folder, rows):
    """A repository folder with one split `test`; the audio is a tone for each number."""
    for row in rows:
        row["audio"] = sine_bytes(row["audio"])
    table = Dataset.from_list(rows).cast_column("audio", Audio(decode=False))
    (folder / "data").mkdir(parents=True)
    table = table.cast_column("audio", Audio())
    table.to_parquet(folder / "data" / "test-00000-of-00001.parquet")
    return folder


def sine_bytes(number):
    """A row's audio: as `tone` has it, in memory."""
    file = io.BytesIO()
    soundfile.write(file, sine(number, duration_s=0.02), RATE, format="WAV")
    return {"bytes": file.getvalue(), "path": f"{number}.wav"}


def _vocalsound_split(tmp_path):
    return ["--from", str(parquet_copy(tmp_path / "copy", vocal_rows(vocal_names(120))))]


EMOTIONS = {"Neutral": 0, "Angry": 350, "Happy": 700, "Sad": 1050, "Surprise": 1400}


def esd(root, n_sentences=16, *, speakers=range(11, 21), empty=False):
    """English ESD with the first sentences of every speaker in every emotion."""
    for speaker in speakers:
        for emotion, first in EMOTIONS.items():
            for sentence in range(1, n_sentences + 1):
                number = first + sentence
                path = root / f"{speaker:04d}" / emotion / f"{speaker:04d}_{number:06d}.wav"
                if empty:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.touch()
                else:
                    tone(path, speaker + number / 1000, duration_s=0.02)
        (root / f"{speaker:04d}" / f"{speaker:04d}.txt").write_text("0011_000001\tA b.\tNeutral")
    return root


def _esd_split(tmp_path):
    return ["--from", str(esd(tmp_path / "esd")), "--variant", "speaker_disjoint"]


TINY = {
    "esc50_animals": _esc50_animals,
    "esd_split": _esd_split,
    "labelled_folder": _labelled_folder,
    "speech_text_matching": _speech_text_matching,
    "vocalsound_split": _vocalsound_split,
}
"""Name in `LABELLED` to the arguments of its `build` for a tiny input made below a folder."""

LARGE = {"esc50_animals", "esd_split", "vocalsound_split"}
"""Those whose clips are counted, so that the input has as many as the published one: slow."""
