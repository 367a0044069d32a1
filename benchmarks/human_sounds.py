"""Do probes of encoders tell real human sounds apart: laughs, coughs, cries of pain, speech?

    apt-get install hedgewars-data        # Debian, 145 MB, GFDL-1.3; or unpack it anywhere
    python -m benchmarks.human_sounds     # --voices FOLDER where it was unpacked

Clips of the game's voice packs: of files of the same bytes the first counts, and the pack Robot is
left out. A logistic probe on the last layer, each pack predicted by the others: packs, not clips,
are what is new, though two packs may have one speaker. Classes are small and differ in size, so
each counts the same in the probe, and balanced accuracy and the recall of each class are printed;
with five coughs, one is worth 0.05. Nothing is downloaded or written.
"""

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from otoscope.acoustics import codec
from otoscope.models.base import AudioInput
from otoscope.probes.closed_set import fit_logistic
from otoscope.progress import ProgressBars
from otoscope.representations.encoders import embeddings, open_encoder

VOICES = Path("/usr/share/games/hedgewars/Data/Sounds/voices")
SOUNDS = {
    "laugh": ("Laugh",),
    "cough": ("PoisonCough",),
    "pain": ("Ow1", "Ow2", "Ow3", "Ow4", "Ooff1", "Ooff2", "Ooff3", "Ouch"),
    "speech": ("Byebye", "Hello", "Illgetyou", "Traitor", "Victory"),
}
"""Class to names of files; spoken lines are those that most packs have."""

LEFT_OUT = {"Robot"}
ENCODERS = ("whisper-tiny.en:6s", "whisper-tiny.en", "mfcc")


class HumanSound(NamedTuple):
    """One clip, its class and the pack that it is from."""

    clip: AudioInput
    label: int
    pack: str


def human_sounds(voices: Path) -> list[HumanSound]:
    """Distinct clips of all packs but those left out, in order of pack and name."""
    found, seen = [], set()
    for folder in sorted(path for path in voices.iterdir() if path.is_dir()):
        if folder.name in LEFT_OUT:
            continue
        for label, names in enumerate(SOUNDS.values()):
            for path in (folder / f"{name}.ogg" for name in names):
                if not path.is_file():
                    continue
                data = path.read_bytes()
                digest = hashlib.sha256(data).hexdigest()
                if digest in seen:
                    continue
                seen.add(digest)
                recording = codec.read(data, name=str(path))
                samples = codec.to_float(recording.pcm).mean(axis=0).astype(np.float32)
                name = f"{folder.name}/{path.stem}"
                clip = AudioInput(name, samples, recording.sampling_rate, digest)
                found.append(HumanSound(clip, label, folder.name))
    return found


def recalls(rows: np.ndarray, labels: np.ndarray, packs: np.ndarray) -> np.ndarray:
    """The share of each class that is recognised, each pack by a probe of the others."""
    predicted = np.empty(len(labels), dtype=int)
    with threadpool_limits(1):
        for pack in np.unique(packs):
            out = packs == pack
            probe = fit_logistic(rows[~out], labels[~out], len(SOUNDS), balanced=True)
            predicted[out] = probe.scores(rows[out]).argmax(axis=1)
    return np.array([(predicted[labels == k] == k).mean() for k in range(len(SOUNDS))])


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a table, one row an encoder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--voices", type=Path, default=VOICES, help="Folder of voice packs.")
    parser.add_argument("--encoder", nargs="+", default=ENCODERS, help="Encoders.")
    given = parser.parse_args(arguments)
    if not given.voices.is_dir():
        sys.exit(
            f"no voice packs in {given.voices}: `apt-get install hedgewars-data` (Debian, 145 MB), "
            "or unpack it with `apt-get download hedgewars-data && dpkg -x hedgewars-data_*.deb "
            "FOLDER` and name FOLDER/usr/share/games/hedgewars/Data/Sounds/voices with --voices"
        )
    recordings = human_sounds(given.voices)
    labels = np.array([sound.label for sound in recordings])
    packs = np.array([sound.pack for sound in recordings])
    counts = ", ".join(
        f"{name} {n}" for name, n in zip(SOUNDS, np.bincount(labels, minlength=4), strict=True)
    )
    print(f"{len(recordings)} clips of {len(set(packs))} packs: {counts}")
    print(f"| encoder | balanced accuracy | {' | '.join(SOUNDS)} |")
    print(f"|---|---:|{'---:|' * len(SOUNDS)}")
    for spec in given.encoder:
        encoder = open_encoder(spec)
        parts = []
        with ProgressBars(write_line=lambda line: print(line, file=sys.stderr)).bar(
            spec, len(recordings)
        ) as step:
            for sound in recordings:
                parts.append(embeddings(encoder, [sound.clip])[list(encoder.layers)[-1]])
                step()
        found = recalls(np.concatenate(parts).astype(np.float64), labels, packs)
        shares = " | ".join(f"{share:.2f}" for share in found)
        print(f"| {spec} | {found.mean():.3f} | {shares} |")


if __name__ == "__main__":
    main()
