"""Makes the clips in this folder: six synthetic voices in a simulated room.

    python -m tests.data.make_clips

Five voices are Kokoro's, from the packages of `otoscope[offline]`; one is espeak-ng's, from the
Debian package of that name. A rerun with the same versions gives the same samples.
"""

import csv
import hashlib
import io
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
import soxr

FOLDER = Path(__file__).parent
PAUSE_S = 0.3
SILENT = 0.01  # of the peak: below, the voice has not begun
LEVEL_DB = -26.0
SNR_DB = 40.0
REVERBERATION_S = 0.25  # T60
DIRECT_TO_REVERBERANT_DB = 10.0


class Recipe(NamedTuple):
    """What a clip is made from: Kokoro's voice, or None for espeak-ng."""

    name: str
    voice: str | None
    sampling_rate: int
    text: str


RECIPES = (
    Recipe("alpha_001.flac", "jf_alpha", 48_000, "The small boat drifted slowly to the shore."),
    Recipe("gongitsune_001.flac", "jf_gongitsune", 24_000, "We left the window open all night."),
    Recipe("nezumi_001.flac", "jf_nezumi", 44_100, "My brother bought eleven green apples."),
    Recipe("tebukuro_001.flac", "jf_tebukuro", 22_050, "Nobody knew where the old road ended."),
    Recipe("kumo_001.wav", "jm_kumo", 16_000, "A warm wind moved over the yellow fields."),
    Recipe("espeak_001.flac", None, 16_000, "They are leaving on the early morning train."),
)


def synthesised(recipe: Recipe) -> tuple[np.ndarray, int]:
    """The dry voice and its sampling rate."""
    if recipe.voice is None:
        command = ["espeak-ng", "-v", "en-gb", "-s", "165", "--stdout", recipe.text]
        wav = subprocess.run(command, capture_output=True, check=True).stdout
        return soundfile.read(io.BytesIO(wav))
    from otoscope.speech.kokoro import Kokoro

    voice = Kokoro()
    return voice.synthesise(recipe.text, recipe.voice).astype(float), voice.sampling_rate_hz


def with_room_response(dry: np.ndarray, sampling_rate: int, rng: np.random.Generator) -> np.ndarray:
    """The voice with pauses, an exponentially decaying response and pink noise, at one level."""
    pause = np.zeros(round(PAUSE_S * sampling_rate))
    loud = np.flatnonzero(np.abs(dry) > SILENT * np.abs(dry).max())
    voice = np.concatenate([pause, dry[loud[0] : loud[-1]], pause])
    t = np.arange(round(REVERBERATION_S * sampling_rate)) / sampling_rate
    decay = rng.standard_normal(t.size) * 10 ** (-3 * t / REVERBERATION_S)
    decay *= 10 ** (-DIRECT_TO_REVERBERANT_DB / 20) / np.linalg.norm(decay)
    wet = voice + np.convolve(voice, decay)[: voice.size]
    wet *= 10 ** (LEVEL_DB / 20) / np.sqrt(np.mean(wet**2))
    spectrum = np.fft.rfft(rng.standard_normal(wet.size))
    noise = np.fft.irfft(spectrum / np.sqrt(np.arange(spectrum.size) + 1), wet.size)
    return wet + noise * np.sqrt(np.mean(wet**2) / np.mean(noise**2)) * 10 ** (-SNR_DB / 20)


def main() -> None:
    """Writes the clips and `clips.csv`."""
    rows = []
    for number, recipe in enumerate(RECIPES):
        dry, rate = synthesised(recipe)
        dry = soxr.resample(dry, rate, recipe.sampling_rate)
        clip = with_room_response(dry, recipe.sampling_rate, np.random.default_rng(number))
        path = FOLDER / recipe.name
        soundfile.write(path, clip, recipe.sampling_rate, subtype="PCM_16")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        rows.append([recipe.name, recipe.voice or "espeak-ng en-gb", rate, recipe.text, digest])
    with (FOLDER / "clips.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["file", "voice", "voice_rate_hz", "text", "sha256"], *rows])


if __name__ == "__main__":
    main()
