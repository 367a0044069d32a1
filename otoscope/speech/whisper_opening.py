"""Opens a Whisper as a recogniser: of a package, of a folder or of the Hub."""

from copy import deepcopy
from typing import Any

from otoscope.errors import first_line
from otoscope.models.base import ModelError
from otoscope.models.batching import BatchSize
from otoscope.models.checkpoints import identity
from otoscope.models.whisper_package import load_whisper_tiny_en
from otoscope.speech.base import SpeechError
from otoscope.speech.whisper import WhisperRecognizer


def open_whisper_tiny_en(
    *, batch_size: int = 8, device: str = "cpu", language: str | None = None
) -> WhisperRecognizer:
    """Whisper tiny.en with the weights of a package.

    Raises:
        ModelError: The package is not there.
        SpeechError: A language other than English.
    """
    if language not in (None, "en"):
        raise SpeechError(f"whisper-tiny.en recognises English (en), not {language!r}")
    parts = load_whisper_tiny_en()
    model: Any = parts.model if device == "cpu" else _moved(parts.model, device)
    return WhisperRecognizer(
        model,
        parts.feature_extractor,
        parts.tokenizer,
        {"name": "whisper-tiny.en", "revision": parts.revision},
        BatchSize(batch_size),
    )


def open_pretrained_whisper(
    *,
    name: str,
    revision: str | None = None,
    batch_size: int = 8,
    device: str | None = None,
    language: str | None = None,
) -> WhisperRecognizer:
    """Any Whisper checkpoint of transformers, float32; on a GPU where there is one.

    Raises:
        ModelError: No such checkpoint, or none of Whisper.
        SpeechError: The model does not know the language.
    """
    try:
        import torch
        from transformers import AutoConfig, WhisperForConditionalGeneration, WhisperProcessor
    except ImportError as error:
        raise ModelError(
            f'recognition needs transformers ({error}); pip install "otoscope[models]"'
        ) from error
    try:
        which = identity(name, revision)
        where: Any = which.get("commit", revision)
        config = AutoConfig.from_pretrained(name, revision=where)
        if config.model_type != "whisper":
            raise ModelError(f"{name!r} is a {config.model_type!r}; a recogniser is a Whisper")
        model: Any = WhisperForConditionalGeneration.from_pretrained(name, revision=where)
        processor = WhisperProcessor.from_pretrained(name, revision=where)
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"no recogniser {name!r}: {first_line(error)[:300]}") from error
    if getattr(model.generation_config, "no_timestamps_token_id", None) is None:
        raise ModelError(f"{name!r} has no generation_config.json of Whisper; add it")
    if language is not None and model.generation_config.is_multilingual:
        known = {code.strip("<|>") for code in model.generation_config.lang_to_id}
        if language not in known:
            raise SpeechError(f"{name!r} does not know the language {language!r}")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return WhisperRecognizer(
        model.eval().to(device),
        processor.feature_extractor,
        processor.tokenizer,
        which,
        BatchSize(batch_size),
        language,
    )


def _moved(model: Any, device: str) -> Any:
    """A copy on another device; the model itself is shared."""
    return deepcopy(model).to(device)
