"""From questions to tensors: the parts in their order, the sound at the model's rate."""

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import soundfile
from jaxtyping import Float

from otoscope.models.audio import OnLong, within_window
from otoscope.models.base import AudioInput, ModelError, Request
from otoscope.models.families import Family
from otoscope.models.loading import chat_template_of
from otoscope.prompts.parts import Text


class Encoded(NamedTuple):
    """A batch as the processor made it.

    Attributes:
        inputs: Name to tensor; `input_ids` and `attention_mask` are `(n_questions, n_tokens)`.
        audio_truncated: For each question, whether a clip's end was left out.
    """

    inputs: Any
    audio_truncated: list[bool]


@dataclass(frozen=True)
class Encoder:
    """Turns questions into a model's inputs.

    Attributes:
        processor: Of the checkpoint.
        family: Its entry in the table.
        sampling_rate: In Hz; every clip is brought to it and the processor is told.
        window_s: The longest clip in seconds, or None.
        on_long: What happens to a longer one.
    """

    processor: Any
    family: Family
    sampling_rate: int
    window_s: float | None
    on_long: OnLong = "refuse"

    def encode(self, questions: Sequence[Request]) -> Encoded:
        """A batch of questions that all have clips, or that all have none.

        Raises:
            ModelError: A clip is too long, there are too many of them, or the words contain the
                placeholder of a clip.
        """
        conversations, clips, truncated = [], [], []
        for request in questions:
            self._check(request)
            resampled = [
                within_window(audio, self.sampling_rate, self.window_s, self.on_long)
                for audio in request.audio_inputs
            ]
            truncated.append(any(cut for _, cut in resampled))
            clips += [samples for samples, _ in resampled]
            conversations.append(self._conversation(request, [samples for samples, _ in resampled]))
        if self.family.chat == "mistral":
            return Encoded(self._with_mistral(conversations), truncated)
        texts = self._all_rendered(conversations)
        for request, text in zip(questions, texts, strict=True):
            found = text.count(self.processor.audio_token)
            if found != len(request.audio_inputs):
                raise ModelError(
                    f"question {request.question.question_id!r} has {len(request.audio_inputs)} "
                    f"clips but the chat template gives the model {found}"
                )
        return Encoded(self._with_template(texts, clips), truncated)

    def input_fingerprint(self, request: Request) -> bytes:
        """Shape and bytes of the features that the processor makes of the sound.

        Raises:
            ModelError: There are none: the model would answer without any audio.
        """
        inputs = self.encode([request]).inputs
        present = [name for name in self.family.features if inputs.get(name) is not None]
        if self.family.features[0] not in present:
            raise ModelError(
                f"the {type(self.processor).__name__} makes no {self.family.features[0]!r} of "
                f"question {request.question.question_id!r}: the model would not hear it"
            )
        return b"".join(
            f"{name}{tuple(inputs[name].shape)}".encode() + inputs[name].numpy().tobytes()
            for name in present
        )

    def ending(self, request: Request, word: str) -> list[int]:
        """Token ids of an answer as it is taught: a word, and what the chat template ends with.

        Where no template writes an answer behind the prompt, the word and the token that ends.
        """
        _, told = self.taught(request, word)
        return list(self.processor.tokenizer.encode(told, add_special_tokens=False))

    def taught(self, request: Request, word: str) -> tuple[str | None, str]:
        """All text before an answer (None where mistral-common has it), and the answer's own."""
        told = f"{word}{self.processor.tokenizer.eos_token}"
        if self.family.chat == "mistral":
            return None, told
        conversation = self._conversation(request, [np.zeros(1)] * len(request.audio_inputs))
        before, after = self._rendered(conversation), self._rendered(conversation, word)
        if after.startswith(before) and after.removeprefix(before).startswith(word):
            told = after.removeprefix(before)
        return before, told

    def keeps_order(self) -> bool:
        """Whether the chat template leaves words and sound in the order in which they are asked.

        Some templates put all sound first. Then the two orders are one and the same question.
        """
        if self.family.chat == "mistral":
            return True
        content = [
            {"type": "text", "text": "ONE"},
            {"type": "audio"},
            {"type": "text", "text": "2"},
        ]
        text = self._rendered([{"role": "user", "content": content}])
        begin, _, end = text.partition(self.processor.audio_token)
        return "ONE" in begin and "2" in end and "ONE" not in end

    def template_hash(self) -> str | None:
        """First 16 hex digits of the chat template's SHA-256; None where mistral-common has it."""
        template = chat_template_of(self.processor)
        if template is None:
            return None
        return hashlib.sha256(repr(template).encode()).hexdigest()[:16]

    def _check(self, request: Request) -> None:
        limit = self.family.clips
        if limit is not None and len(request.audio_inputs) > limit:
            raise ModelError(
                f"question {request.question.question_id!r} has {len(request.audio_inputs)} clips "
                f"but {self.family.model_type} takes at most {limit} a question"
            )
        placeholder = self.processor.audio_token
        if any(placeholder in part.text for part in request.parts if isinstance(part, Text)):
            raise ModelError(
                f"the words of question {request.question.question_id!r} contain {placeholder!r}, "
                "which stands for sound"
            )

    def _conversation(
        self, request: Request, clips: Sequence[Float[np.ndarray, " _"]]
    ) -> list[dict[str, Any]]:
        following = iter(clips)
        content = [
            self._clip(next(following))
            if isinstance(part, AudioInput)
            else {"type": "text", "text": part.text}
            for part in request.parts
        ]
        return [{"role": "user", "content": content}]

    def _clip(self, samples: Float[np.ndarray, " n_samples"]) -> dict[str, Any]:
        if self.family.chat != "mistral":
            return {"type": "audio", "audio": samples}
        file = io.BytesIO()
        soundfile.write(file, samples, self.sampling_rate, format="WAV", subtype="FLOAT")
        return {"type": "audio", "base64": base64.b64encode(file.getvalue()).decode()}

    def _all_rendered(self, conversations: list[list[dict[str, Any]]]) -> list[str]:
        """Neighbours mostly have the same words, which are rendered once."""
        known: dict[tuple[str | None, ...], str] = {}
        texts = []
        for conversation in conversations:
            words = tuple(part.get("text") for part in conversation[0]["content"])
            if words not in known:
                known[words] = self._rendered(conversation)
            texts.append(known[words])
        return texts

    def _rendered(self, conversation: list[dict[str, Any]], answer: str | None = None) -> str:
        """All that the model reads: up to where it answers, or with an answer behind."""
        if self.family.chat == "words":
            placeholder = self.processor.audio_token
            words = [part.get("text", placeholder) for part in conversation[0]["content"]]
            said = [] if answer is None else [{"role": "assistant", "content": answer}]
            return self.processor.tokenizer.apply_chat_template(
                [{"role": "user", "content": "".join(words)}, *said],
                chat_template=chat_template_of(self.processor),
                add_generation_prompt=answer is None,
                tokenize=False,
            )
        content = [{"type": "text", "text": answer}]
        taught = [] if answer is None else [{"role": "assistant", "content": content}]
        return self.processor.apply_chat_template(
            [*conversation, *taught], add_generation_prompt=answer is None, tokenize=False
        )

    def _with_template(self, texts: list[str], clips: list[np.ndarray]) -> Any:
        bos = self.processor.tokenizer.bos_token
        words: dict[str, Any] = {"padding": True, "padding_side": "left"}
        if bos and texts[0].startswith(bos):
            words["add_special_tokens"] = False
        audio: Mapping[str, Any] = {"sampling_rate": self.sampling_rate}
        return self.processor(
            text=texts,
            audio=clips or None,
            text_kwargs=words,
            audio_kwargs=dict(audio),
            return_tensors="pt",
        )

    def _with_mistral(self, conversations: list[list[dict[str, Any]]]) -> Any:
        return self.processor.apply_chat_template(
            conversations, tokenize=True, return_dict=True, processor_kwargs={"padding": True}
        )
