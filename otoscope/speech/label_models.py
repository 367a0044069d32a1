"""Text models that label a transcript: by the likelihood of each label, or by an answer."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from otoscope.errors import first_line
from otoscope.models.base import Answer, Model, ModelError, Request, Status, batch_size_of
from otoscope.models.batching import BatchSize, in_batches
from otoscope.models.checkpoints import identity
from otoscope.models.decoding import label_log_probabilities
from otoscope.models.opening import open_model
from otoscope.prompts.parts import Question, Text
from otoscope.prompts.tasks import VARIANTS, put, task_named
from otoscope.responses.closed_set import closed_set
from otoscope.speech.transcript_labels import TranscriptItem, TranscriptLabel

PROMPT = "Nobody can listen to the audio clip; all there is of it is what speech recognition wrote"
NOTHING = "nothing, so it may hold no speech"


def prompt_of(task: str, labels: Sequence[str], item: TranscriptItem) -> str:
    """The task's own question behind the quoted transcript.

    Raises:
        InvalidValue: The question quotes words, and the item has none.
    """
    quoted = json.dumps(item.transcript, ensure_ascii=False) if item.transcript else NOTHING
    question = put(task_named(task), VARIANTS["plain"], labels, item.id, item.quoted)
    return f"{PROMPT}: {quoted}.\n\n{question.prompt}"


@dataclass
class TextModel:
    """A causal text model of transformers. Made by `open_text_model`."""

    model: Any
    tokenizer: Any
    identity: Mapping[str, Any]
    labels: tuple[str, ...]
    task: str
    limit: BatchSize
    is_fitted = False

    @property
    def batch_size(self) -> int:
        """Items at once."""
        return self.limit.size

    @property
    def description(self) -> dict[str, Any]:
        """Weights and prompt."""
        example = TranscriptItem("", "…", "…")
        return {
            "kind": "transformers",
            **self.identity,
            "prompt": prompt_of(self.task, self.labels, example),
            "chat_template": bool(self.tokenizer.chat_template),
            "scores": "softmax of summed label log-probabilities",
        }

    def fit(self, items: Sequence[TranscriptItem]) -> None:
        """Nothing is fitted."""

    def predict(self, items: Sequence[TranscriptItem]) -> list[TranscriptLabel]:
        """The likeliest label behind each prompt.

        Raises:
            ModelError: A prompt does not fit into memory.
        """
        ids = [self._tokens(prompt_of(self.task, self.labels, item)) for item in items]
        by_length: dict[int, list[int]] = {}
        for n, row in enumerate(ids):  # of one length each, so that nothing is padded
            by_length.setdefault(len(row), []).append(n)
        made: dict[int, TranscriptLabel] = {}
        for numbers in by_length.values():
            for batch, result in in_batches(
                self.limit, numbers, lambda some: self._labelled([ids[n] for n in some])
            ):
                if result is None:
                    raise ModelError(f"out of memory with the transcript of {items[batch[0]].id!r}")
                made |= zip(batch, result, strict=True)
        return [made[n] for n in range(len(items))]

    def _tokens(self, prompt: str) -> list[int]:
        if self.tokenizer.chat_template:
            prompt = self.tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False
            )
            return list(self.tokenizer.encode(prompt, add_special_tokens=False))
        return list(self.tokenizer.encode(f"{prompt}\nAnswer:"))

    def _labelled(self, rows: Sequence[Sequence[int]]) -> list[TranscriptLabel]:
        import torch

        started = time.perf_counter()
        ids = torch.tensor(rows, device=self.model.device)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        space = "" if self.tokenizer.chat_template else " "
        words = [space + label for label in self.labels]
        found = label_log_probabilities(self.model, self.tokenizer, inputs, [words] * len(rows))
        each = (time.perf_counter() - started) / len(rows)
        made = []
        for row in found:
            scores = softmax([(row or {})[word] for word in words])
            label = self.labels[int(np.argmax(scores))]
            made.append(TranscriptLabel(label, scores, "scores", each, len(rows[0]), 0))
        return made


def softmax(logs: Sequence[float]) -> tuple[float, ...]:
    """Shares from log-probabilities.

    >>> softmax([0.0, 0.0])
    (0.5, 0.5)
    """
    below = np.exp(np.asarray(logs, np.float64) - max(logs))
    return tuple(float(share) for share in below / below.sum())


@dataclass
class AnsweringModel:
    """Any model of `MODELS` that is asked without audio; its answer is parsed."""

    model: Model
    spec: str
    labels: tuple[str, ...]
    task: str
    is_fitted = False

    @property
    def batch_size(self) -> int:
        """Items at once."""
        return batch_size_of(self.model)

    @property
    def description(self) -> dict[str, Any]:
        """The model's own, and the prompt."""
        own = getattr(self.model, "description", {"kind": self.spec})
        example = TranscriptItem("", "…", "…")
        return {**own, "prompt": prompt_of(self.task, self.labels, example)}

    def fit(self, items: Sequence[TranscriptItem]) -> None:
        """Nothing is fitted."""

    def predict(self, items: Sequence[TranscriptItem]) -> list[TranscriptLabel]:
        """The label that each answer names, or None.

        Raises:
            ModelError: A call failed; the same command makes it again.
        """
        answers = self.model.answer([self._request(item) for item in items])
        synonyms = task_named(self.task).synonyms
        own = {word: label for word, label in synonyms.items() if label in self.labels}
        parse = closed_set(self.labels, own)
        return [self._read(parse, *pair) for pair in zip(items, answers, strict=True)]

    def _request(self, item: TranscriptItem) -> Request:
        text = Text(prompt_of(self.task, self.labels, item))
        question = Question(f"{item.id}|transcript", item.id, "transcript", (text,), self.labels)
        return Request(question, (text,))

    def _read(self, parse: Any, item: TranscriptItem, answer: Answer) -> TranscriptLabel:
        if answer.status in (Status.ERROR, Status.TIMEOUT):
            raise ModelError(
                f"{self.spec}: the transcript of {item.id!r} was not answered ({answer.status}: "
                f"{answer.detail or 'no reason given'}); run the same command again"
            )
        label, rule = parse(answer.text)
        scores = None
        logs = answer.logprobs or {}
        if all(own in logs for own in self.labels):
            scores = softmax([logs[own] for own in self.labels])
        if answer.status is not Status.OK:
            label, rule = None, str(answer.status)
        return TranscriptLabel(
            label, scores, rule, answer.wall_s, answer.n_tokens_in, answer.n_tokens_out,
            answer.cost,
        )  # fmt: skip


def open_text_model(
    labels: Sequence[str],
    task: str,
    name: str,
    revision: str | None,
    *,
    batch_size: int = 8,
    device: str | None = None,
) -> TextModel:
    """A causal text model, as its checkpoint stores it; on a GPU where there is one.

    Raises:
        ModelError: No such checkpoint, or none of a text model.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise ModelError(
            f'a text model needs transformers ({error}); pip install "otoscope[models]"'
        ) from error
    try:
        which = identity(name, revision)
        where: Any = which.get("commit", revision)
        model: Any = AutoModelForCausalLM.from_pretrained(name, revision=where)
        tokenizer: Any = AutoTokenizer.from_pretrained(name, revision=where)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"no text model {name!r}: {first_line(error)[:300]}") from error
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    model = model.eval().to(device)
    with torch.inference_mode():  # what happens once is in no clip's time
        model(torch.zeros((1, 2), dtype=torch.long, device=device))
    return TextModel(model, tokenizer, which, tuple(labels), task, BatchSize(batch_size))


def open_server(
    labels: Sequence[str],
    task: str,
    name: str,
    revision: str | None,
    *,
    batch_size: int | None = None,
    device: str | None = None,
) -> AnsweringModel:
    """`openai:NAME`; the server is `OPENAI_BASE_URL`, else OpenAI's own.

    Raises:
        ModelError: The key is missing.
    """
    spec = f"openai:{name}"
    model = open_model(f"{spec}@{revision}" if revision else spec, concurrency=batch_size)
    return AnsweringModel(model, spec, tuple(labels), task)
