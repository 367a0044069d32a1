"""From requests to tensors: messages with their parts in order, audio at the model's rate."""

import base64
import contextlib
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jinja2
import numpy as np
import soundfile
from jaxtyping import Float

from otoscope.models.answer_text import MARK, AnswerText, answer_text
from otoscope.models.audio import OnLong, within_window
from otoscope.models.base import AudioInput, ModelError, Request
from otoscope.models.families import Family
from otoscope.models.loading import chat_template_of
from otoscope.models.template_clock import FIXED, uses_clock, with_fixed_clock
from otoscope.prompts.parts import Text

Conversation = list[dict[str, Any]]


class EncodedBatch(NamedTuple):
    """A batch as the processor made it.

    Attributes:
        inputs: Name to tensor; `input_ids` and `attention_mask` are `(n_questions, n_tokens)`.
        audio_truncated: For each question, whether a clip's end was left out.
    """

    inputs: Any
    audio_truncated: list[bool]


@dataclass(frozen=True)
class RequestEncoder:
    """Turns requests into a model's inputs.

    Attributes:
        processor: Of the checkpoint.
        family: Its entry in the table.
        sampling_rate: In Hz; every clip is resampled to it, and the processor gets it too.
        window_s: The longest clip in seconds, or None.
        on_long: What happens to a longer one.
    """

    processor: Any
    family: Family
    sampling_rate: int
    window_s: float | None
    on_long: OnLong = "reject"

    def encode(self, requests: Sequence[Request]) -> EncodedBatch:
        """A batch of questions that all have clips, or that all have none.

        Raises:
            ModelError: A clip is too long, there are too many of them, the text contains the
                placeholder of a clip, or the model takes no system message.
        """
        conversations, clips, truncated = [], [], []
        for request in requests:
            self._validate(request)
            resampled = [
                within_window(audio, self.sampling_rate, self.window_s, self.on_long)
                for audio in request.audio_inputs
            ]
            truncated.append(any(cut for _, cut in resampled))
            clips += [samples for samples, _ in resampled]
            conversations.append(self._conversation(request, [samples for samples, _ in resampled]))
        if self.family.chat == "mistral":
            inputs = self.processor.apply_chat_template(
                conversations, tokenize=True, return_dict=True, processor_kwargs={"padding": True}
            )
            return EncodedBatch(inputs, truncated)
        texts = self._rendered_all(conversations)
        for request, text in zip(requests, texts, strict=True):
            self._validate_rendered(request, text)
        return EncodedBatch(self._processed(texts, clips), truncated)

    def input_fingerprint(self, request: Request) -> bytes:
        """Shape and bytes of the audio features that the processor makes.

        Raises:
            ModelError: There are none: the model would answer without any audio.
        """
        inputs = self.encode([request]).inputs
        present = [name for name in self.family.features if inputs.get(name) is not None]
        if self.family.features[0] not in present:
            raise ModelError(
                f"the {type(self.processor).__name__} makes no {self.family.features[0]!r} of "
                f"question {request.question.question_id!r}: the model would get no audio"
            )
        return b"".join(
            f"{name}{tuple(inputs[name].shape)}".encode() + inputs[name].numpy().tobytes()
            for name in present
        )

    def answer_tokens(self, request: Request, word: str) -> list[int]:
        """Token ids of an answer as a training target, see `answer_text`."""
        answer = self.answer_text(request, word).text
        return list(self.processor.tokenizer.encode(answer, add_special_tokens=False))

    def answer_text(self, request: Request, word: str) -> AnswerText:
        """An answer behind its question, see `otoscope.models.answer_text`.

        mistral-common shows no text: there it is the word and the end-of-sequence token.
        """
        before = written = None
        if self.family.chat != "mistral":
            conversation = self._conversation(request, [np.zeros(1)] * len(request.audio_inputs))
            before = self._rendered(conversation)
            with contextlib.suppress(ModelError):  # a template for questions alone
                written = self._rendered(conversation, MARK)
        end = self.processor.tokenizer.eos_token
        return answer_text(word, before, written, has_end=self._has_special_token, end=end)

    def _has_special_token(self, text: str) -> bool:
        tokenizer = self.processor.tokenizer
        special = {n for n, token in tokenizer.added_tokens_decoder.items() if token.special}
        ids = tokenizer.encode(text, add_special_tokens=False)
        return not special.union(tokenizer.all_special_ids).isdisjoint(ids)

    def keeps_order(self) -> bool:
        """Whether the chat template keeps text and audio in the order of the question.

        Some templates put all audio first; then both orders are the same input.
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

    def template_description(self) -> dict[str, Any]:
        """What a description says of the chat template.

        `chat_template` is the first 16 hex digits of its SHA-256, None where mistral-common has it;
        `chat_template_date`, the fixed date that it gets, is there where it names one.
        """
        template = chat_template_of(self.processor)
        hashed = None if template is None else hashlib.sha256(repr(template).encode()).hexdigest()
        dated = {} if self._fixed_template is None else {"chat_template_date": FIXED.isoformat()}
        return {"chat_template": hashed and hashed[:16], **dated}

    @cached_property
    def _fixed_template(self) -> str | None:
        """The chat template with a fixed clock; None where it sees none."""
        template = chat_template_of(self.processor)
        if isinstance(template, Mapping):
            template = template.get("default")
        if self.family.chat == "mistral" or not isinstance(template, str):
            return None
        return with_fixed_clock(template) if uses_clock(template) else None

    def _validate(self, request: Request) -> None:
        name, limit = request.question.question_id, self.family.clips
        if limit is not None and len(request.audio_inputs) > limit:
            raise ModelError(
                f"question {name!r} has {len(request.audio_inputs)} clips but "
                f"{self.family.model_type} takes at most {limit} a question"
            )
        texts = [part for part in request.parts if isinstance(part, Text)]
        placeholder = self.processor.audio_token
        if any(placeholder in part.text for part in texts):
            raise ModelError(
                f"the text of question {name!r} contains {placeholder!r}, the placeholder of a clip"
            )
        system = any(part.role == "system" for part in texts)
        if system and self.family.chat == "mistral" and request.audio_inputs:
            raise _no_system_message(name, "mistral-common allows none beside audio")

    def _validate_rendered(self, request: Request, text: str) -> None:
        name, n_clips = request.question.question_id, len(request.audio_inputs)
        if (found := text.count(self.processor.audio_token)) != n_clips:
            raise ModelError(
                f"question {name!r} has {n_clips} clips but the chat template gives the model "
                f"{found}"
            )
        for part in request.parts:
            if isinstance(part, Text) and part.role == "system" and part.text.strip() not in text:
                raise _no_system_message(name, "its chat template leaves it out")

    def _conversation(
        self, request: Request, clips: Sequence[Float[np.ndarray, " _"]]
    ) -> Conversation:
        following = iter(clips)
        return [
            {
                "role": role,
                "content": [
                    self._clip(next(following))
                    if isinstance(part, AudioInput)
                    else {"type": "text", "text": part.text}
                    for part in parts
                ],
            }
            for role, parts in request.messages
        ]

    def _clip(self, samples: Float[np.ndarray, " n_samples"]) -> dict[str, Any]:
        if self.family.chat != "mistral":
            return {"type": "audio", "audio": samples}
        file = io.BytesIO()
        soundfile.write(file, samples, self.sampling_rate, format="WAV", subtype="FLOAT")
        return {"type": "audio", "base64": base64.b64encode(file.getvalue()).decode()}

    def _rendered_all(self, conversations: Sequence[Conversation]) -> list[str]:
        """Questions of one batch mostly have the same text, which is rendered once."""
        known: dict[tuple[Any, ...], str] = {}
        texts = []
        for conversation in conversations:
            key = tuple(
                (message["role"], *(part.get("text") for part in message["content"]))
                for message in conversation
            )
            if key not in known:
                known[key] = self._rendered(conversation)
            texts.append(known[key])
        return texts

    def _rendered(self, conversation: Conversation, answer: str | None = None) -> str:
        """All text that the model gets: up to where it answers, or with an answer behind."""
        template: dict[str, Any] = {"add_generation_prompt": answer is None, "tokenize": False}
        messages = list(conversation)
        if self._fixed_template is not None:
            template["chat_template"] = self._fixed_template
        if answer is not None:
            content = [{"type": "text", "text": answer}]
            messages.append({"role": "assistant", "content": content})
        try:
            if self.family.chat == "parts":
                return self.processor.apply_chat_template(messages, **template)
            placeholder = self.processor.audio_token
            flat = [
                message
                | {"content": "".join(part.get("text", placeholder) for part in message["content"])}
                for message in messages
            ]
            own = {"chat_template": chat_template_of(self.processor)}
            return self.processor.tokenizer.apply_chat_template(flat, **own | template)
        except jinja2.TemplateError as error:
            raise ModelError(f"the chat template rejects the question: {error}") from error

    def _processed(self, texts: list[str], clips: list[np.ndarray]) -> Any:
        bos = self.processor.tokenizer.bos_token
        text_options: dict[str, Any] = {"padding": True, "padding_side": "left"}
        if bos and texts[0].startswith(bos):
            text_options["add_special_tokens"] = False
        return self.processor(
            text=texts,
            audio=clips or None,
            text_kwargs=text_options,
            audio_kwargs={"sampling_rate": self.sampling_rate},
            return_tensors="pt",
        )


def _no_system_message(name: str, why: str) -> ModelError:
    return ModelError(
        f"question {name!r} has a system message, which this model does not take: {why}; put its "
        "text into the user's message"
    )
