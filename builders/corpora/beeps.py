"""Ten beeps in silence: the ablation of a task without speech.

Source: VocalGrad, section 4.3 (`docs/papers.md`).
"""

import io
from pathlib import Path

import numpy as np
import soundfile
from jaxtyping import Int16

from builders.corpora.base import Corpus, SourceClip
from otoscope.atomic import write_atomic
from otoscope.folders import cache_folder

SAMPLING_RATE = 48_000
FREQUENCIES_HZ = (700, 850, 1000, 1150, 1300, 1450, 1600, 1750, 1900, 2050)
SILENCE_S = 0.75
BEEP_S = 2.10
AMPLITUDE = 0.65
FULL_SCALE = 32767


def synthesise_beep(frequency_hz: float) -> Int16[np.ndarray, " n_samples"]:
    """3.6 s of PCM: silence, a sine that starts at phase 0 with no fades, silence."""
    times_s = np.arange(round(BEEP_S * SAMPLING_RATE)) / SAMPLING_RATE
    sine = AMPLITUDE * np.sin(2 * np.pi * frequency_hz * times_s)
    silence = np.zeros(round(SILENCE_S * SAMPLING_RATE))
    samples = np.concatenate([silence, sine, silence])
    return np.rint(samples * FULL_SCALE).astype(np.int16)


def open_beeps(work_folder: str | Path = "") -> Corpus:
    """Writes the beeps as WAV files, which are the same bytes every time; ten test sources.

    Args:
        work_folder: Where the files go; the cache by default.
    """
    folder = Path(work_folder or cache_folder() / "beeps")
    sources = []
    for position, frequency_hz in enumerate(FREQUENCIES_HZ):
        name = f"beep_{position + 1:02d}"
        buffer = io.BytesIO()
        pcm = synthesise_beep(frequency_hz)
        soundfile.write(buffer, pcm, SAMPLING_RATE, format="WAV", subtype="PCM_16")
        path = write_atomic(folder / f"{name}.wav", buffer.getvalue())
        sentence_id, span_s = f"{position + 1:03d}", (SILENCE_S, SILENCE_S + BEEP_S)
        sources.append(
            SourceClip(name, name, "test", position, path, "beep", sentence_id, "", span_s)
        )
    return Corpus(
        name="Beeps",
        licence="cc0-1.0",
        attribution="Synthesised by this program",
        language=None,
        synthetic=True,
        sources=tuple(sources),
        notes=(
            f"Ten sines from {FREQUENCIES_HZ[0]} to {FREQUENCIES_HZ[-1]} Hz, {BEEP_S:g} s each, "
            "with hard edges.",
        ),
    )
