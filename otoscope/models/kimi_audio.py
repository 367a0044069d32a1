"""Kimi-Audio, which lives outside transformers: `--model otoscope.models.kimi_audio:KimiAudio`.

A class with `answer(questions)`, as anybody's model. It needs a GPU and the package `kimia_infer`
of https://github.com/MoonshotAI/Kimi-Audio, which writes a log, `kimia_audio.log`, into the working
directory.

UNRUN: written to the public interface of `kimia_infer.api.kimia.KimiAudio` and tested on a stand-in
with the same signatures; it has not been run with the real package or its weights.
"""

import importlib
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from jaxtyping import Float

from otoscope.models.audio import (
    RESAMPLER,
    STORED_ON_LONG,
    OnLong,
    validate_on_long,
    within_window,
)
from otoscope.models.base import Answer, AudioInput, ModelError, Request, Status
from otoscope.models.batching import free_memory, is_out_of_memory
from otoscope.models.checkpoints import identity
from otoscope.models.presets import PRESETS

PROVEN = "unrun"
PRESET = PRESETS["kimi-audio"]
SAMPLING = {
    "text_temperature": PRESET.temperature,
    "text_top_k": PRESET.top_k,
    "text_repetition_penalty": PRESET.repetition_penalty,
    **PRESET.extra,
}
"""Keyword arguments of `generate`. Source: `docs/papers.md`, VocalGrad benchmark, backends."""


class KimiAudio:
    """One question at a time; text and clips become user messages in the order of the question.

    Attributes:
        batch_size: 1: the package takes one conversation.
        sampling_rate: 16 kHz, of the files that the package reads.
        max_audio_s: The window of its Whisper encoder.
    """

    batch_size = 1
    sampling_rate = 16000
    max_audio_s = 30.0

    def __init__(
        self,
        name: str = PRESET.model,
        revision: str | None = None,
        *,
        max_new_tokens: int = PRESET.max_new_tokens,
        on_long: OnLong = "reject",
    ) -> None:
        """Loads the weights, without the speech decoder.

        Args:
            name: A local folder or a Hub repository.
            revision: Of the repository; downloaded here, since the package itself takes the newest.
            max_new_tokens: Most tokens of an answer.
            on_long: `reject` a clip longer than `max_audio_s`, or `flag` it and give its start.

        Raises:
            ModelError: The package is not installed, or there are no such weights.
            InvalidValue: `on_long` is none of these.
        """
        from huggingface_hub import snapshot_download

        validate_on_long(on_long)
        try:
            package = importlib.import_module("kimia_infer.api.kimia")
        except ImportError as error:
            raise ModelError(
                f"Kimi-Audio needs the package kimia_infer ({error}); clone "
                "https://github.com/MoonshotAI/Kimi-Audio, install its requirements and put the "
                "clone on PYTHONPATH"
            ) from error
        try:
            self._which = identity(name, revision)
            folder = name
            if not Path(name).is_dir():
                folder = snapshot_download(name, revision=self._which["commit"])
        except OSError as error:
            raise ModelError(f"no weights of Kimi-Audio at {name!r}: {error}") from error
        self._inner = package.KimiAudio(model_path=folder, load_detokenizer=False)
        self._max_new_tokens, self._on_long = max_new_tokens, on_long

    def with_settings(self, *, max_new_tokens: int) -> "KimiAudio":
        """The same weights with another limit on the length of an answer."""
        sibling = object.__new__(type(self))
        sibling.__dict__ = self.__dict__ | {"_max_new_tokens": max_new_tokens}
        return sibling

    def description(self) -> dict[str, Any]:
        """Everything that changes an answer, ready for JSON."""
        return {
            "kind": "kimi-audio",
            **self._which,
            "dtype": "bfloat16",
            "sampling_rate": self.sampling_rate,
            "max_audio_s": self.max_audio_s,
            "on_long": STORED_ON_LONG[self._on_long],
            "resampler": RESAMPLER,
            "decoding": {"preset": PRESET.name, **SAMPLING},
            "max_new_tokens": self._max_new_tokens,
        }

    def input_fingerprint(self, request: Request) -> bytes:
        """The samples of the files that the package reads; its own features are not accessible."""
        return b"".join(self._samples(audio)[0].tobytes() for audio in request.audio_inputs)

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """One answer a question, in order.

        The package counts no tokens, so `n_tokens_*` are None and `text_truncated` is not known.

        Raises:
            ModelError: A clip is longer than `max_audio_s`, or there is a system message.
        """
        return [self._answered(request) for request in questions]

    def _answered(self, request: Request) -> Answer:
        started = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="otoscope-") as folder:
            messages, cut = self._messages(request, Path(folder))
            try:
                _, text = self._inner.generate(
                    messages, output_type="text", max_new_tokens=self._max_new_tokens, **SAMPLING
                )
                detail = ""
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                text, detail = None, "out of memory with this question"
        if text is None:
            free_memory()
        status = Status.OK if text is not None else Status.ERROR
        wall_s = time.perf_counter() - started
        return Answer(text, status, audio_truncated=cut, wall_s=wall_s, detail=detail)

    def _messages(self, request: Request, folder: Path) -> tuple[list[dict[str, str]], bool]:
        messages, cut = [], False
        for n, part in enumerate(request.parts):
            if isinstance(part, AudioInput):
                samples, shortened = self._samples(part)
                kind, content = "audio", str(folder / f"{n:03d}.wav")
                soundfile.write(content, samples, self.sampling_rate, subtype="FLOAT")
                cut = cut or shortened
            elif part.role != "user":
                raise ModelError(
                    f"question {request.question.question_id!r} has a {part.role} message, and "
                    "Kimi-Audio knows user and assistant only; put its text into the user's message"
                )
            else:
                kind, content = "text", part.text
            messages.append({"role": "user", "message_type": kind, "content": content})
        return messages, cut

    def _samples(self, audio: AudioInput) -> tuple[Float[np.ndarray, " n_samples"], bool]:
        return within_window(audio, self.sampling_rate, self.max_audio_s, self._on_long)
