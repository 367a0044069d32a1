"""Any server with chat completions and `input_audio`: vLLM, SGLang, OpenAI, Gemini, …

    otoscope run perception --model openai:gpt-audio …
    otoscope run perception --model openai:Qwen/Qwen2-Audio-7B-Instruct \
        --base-url http://localhost:8000/v1 …

The key is read from the environment when a call is made, and is not stored.
"""

import base64
import ipaddress
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from otoscope.acoustics.codec import AudioError
from otoscope.models.audio import FORMATS, RESAMPLER, audio_file
from otoscope.models.base import Answer, AudioInput, ModelError, Request, Status
from otoscope.models.in_flight import LoopThread, as_they_arrive
from otoscope.models.label_scores import MOST_TOKENS, letters_of
from otoscope.models.presets import PRESETS, Preset
from otoscope.models.prices import Price, price_of, price_of_tokens, read_prices
from otoscope.models.redacting import Redactor, without_credentials
from otoscope.models.retrying import RetryPolicy
from otoscope.models.server_calls import ChatCalls
from otoscope.models.server_settings import ChatRequest, Server

OPENAI_URL = "https://api.openai.com/v1"
OTHER_NAMES = {"thinking_level": "reasoning_effort"}
"""Settings of presets whose field in a chat completion has another name."""
LEAST = {
    "concurrency": 1, "max_retries": 0, "timeout_s": 1e-3, "sampling_rate": 0, "backoff_s": 0,
    "requests_per_minute": 1e-3, "longest_wait_s": 0, "max_audio_s": 1e-3, "temperature": 0,
    "max_new_tokens": 1, "price_in": 0, "price_out": 0,
}  # fmt: skip


class OpenAIServer(Server):
    """A model behind a server. Made by `open_openai`, which documents the settings."""

    @property
    def batch_size(self) -> int:
        """Requests in flight at once."""
        return self.concurrency

    @property
    def price_is_known(self) -> bool:
        """Whether answers have a cost."""
        return self.price is not None

    @property
    def description(self) -> dict[str, Any]:
        """Everything that changes the result; no key, no credentials."""
        return {
            "kind": "openai",
            "model": self.model,
            "revision": self.revision,
            "base_url": self.base_url,
            "preset": self.preset,
            "settings": dict(self.fields),
            "retry_max_tokens": self.retry.max_tokens,
            "sampling_rate": self.sampling_rate,
            "resampler": RESAMPLER,
            "audio_format": self.audio_format,
            **({"label_scores": MOST_TOKENS} if self.label_scores else {}),
        }

    def with_retry(self, policy: RetryPolicy) -> "OpenAIServer":
        """The same model that makes the retries at once itself, many at a time."""
        return replace(self, retry=policy)

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """One answer a question, in order."""
        return [answer for _, answer in sorted(self.stream(questions), key=lambda pair: pair[0])]

    def stream(self, questions: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        """Answers as they arrive; at most twice `concurrency` questions are held in memory.

        Raises:
            ModelError: No request can succeed: no such model, no valid key, no server.
        """
        calls = ChatCalls(self, Redactor(self.key()))
        with closing(LoopThread(calls.end)) as loop:
            yield from as_they_arrive(
                loop, map(self.chat_request, questions), calls.answer, n_ahead=2 * self.concurrency
            )

    def chat_request(self, request: Request) -> ChatRequest | Answer:
        """The messages to send: parts in order, clips as files in base64.

        A clip that cannot be encoded, or is longer than `max_audio_s`, makes it an answer of status
        `error`.
        """
        messages: list[dict[str, Any]] = []
        n_clipped = 0
        for role, parts in request.messages:
            content: list[dict[str, Any]] = []
            for part in parts:
                if not isinstance(part, AudioInput):
                    content.append({"type": "text", "text": part.text})
                    continue
                if part.duration_s > (self.max_audio_s or math.inf):
                    return Answer(None, Status.ERROR, detail=self._too_long(part))
                try:
                    data, n = audio_file(part, self.sampling_rate, self.audio_format)
                except (AudioError, ModelError) as error:
                    return Answer(None, Status.ERROR, detail=str(error))
                coded = {"data": base64.b64encode(data).decode(), "format": self.audio_format}
                content.append({"type": "input_audio", "input_audio": coded})
                n_clipped += n
            if role == "system":  # servers take text only there, some as a plain string only
                messages.append({"role": role, "content": "".join(p["text"] for p in content)})
            else:
                messages.append({"role": role, "content": content})
        audio_s = sum((audio.duration_s for audio in request.audio_inputs), 0.0)
        letters = letters_of(request.question) if self.label_scores else {}
        return ChatRequest(messages, audio_s, n_clipped, request.question.parser, letters)

    def _too_long(self, audio: AudioInput) -> str:
        return (
            f"clip {audio.id!r} lasts {audio.duration_s:.2f} s, longer than --max-audio-s "
            f"{self.max_audio_s:g}; it was not sent"
        )

    def input_fingerprint(self, request: Request) -> bytes:
        """The files that are sent, one after another."""
        return b"".join(
            audio_file(audio, self.sampling_rate, self.audio_format).data
            for audio in request.audio_inputs
        )

    def estimate(self, *, n_questions: int, audio_s: float, n_characters: int) -> float | None:
        """Upper estimate of the cost without retries; None where no price or rate is known."""
        limit = self.fields.get(self.limit_field)
        if self.price is None or limit is None:
            return None
        return self.price.estimate(
            n_questions=n_questions,
            audio_s=audio_s,
            n_characters=n_characters,
            n_tokens_out=limit,
        )


def open_openai(
    name: str | None,
    revision: str | None = None,
    *,
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    preset: str | None = None,
    temperature: float | None = None,
    max_new_tokens: int | None = None,
    extra: Mapping[str, Any] | None = None,
    label_scores: bool = False,
    sampling_rate: int | None = 16_000,
    audio_format: str = "wav",
    max_audio_s: float | None = None,
    concurrency: int = 8,
    requests_per_minute: float | None = None,
    timeout_s: float = 60.0,
    max_retries: int = 5,
    backoff_s: float = 1.0,
    longest_wait_s: float = 120.0,
    prices: Path | str | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
) -> OpenAIServer:
    """`openai:NAME`; a revision is only recorded, as servers have no field for it.

    Args:
        name: Of the model at the server.
        revision: What the server is known to serve, such as a commit; part of the answer cache.
        base_url: Usually ends in `/v1`; `OPENAI_BASE_URL`, else OpenAI's own.
        api_key_env: Variable that holds the key. A local server needs none.
        preset: A name in `PRESETS`, overridden by the settings below.
        temperature: 0 unless a preset says otherwise.
        max_new_tokens: Limit of an answer, 128 unless a preset says otherwise.
        extra: More fields of the request; None drops one, as in
            `{"max_tokens": None, "max_completion_tokens": 128}`.
        label_scores: Give log-probabilities of labels whose options have letters.
        sampling_rate: Of what is sent, in Hz; 0 or None sends each clip at its own.
        audio_format: `wav`, or `flac` where the server takes it.
        max_audio_s: The longest clip that the model takes, if known; longer ones are not sent.
        concurrency: Requests in flight at once.
        requests_per_minute: Starts are spread evenly to stay below; None for no limit.
        timeout_s, max_retries: Of one attempt; after 429, 5xx, timeouts, broken connections.
        backoff_s: The first wait, doubled up to 30 s; a server's Retry-After replaces it for all.
        longest_wait_s: A Retry-After longer than this is not waited for.
        prices: A CSV with the columns of `otoscope/models/data/prices.csv`, instead of it.
        price_in, price_out: Of a million tokens sent, text or audio, and generated; both together,
            instead of a table.

    Raises:
        ModelError: A setting that cannot be used, or a key that is missing.
    """
    if not name:
        raise ModelError("openai: name the model the server has, as in openai:gpt-audio")
    url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    host = _host(url)
    if not _is_local(host) and not os.environ.get(api_key_env):
        raise ModelError(
            f"openai: {host} wants a key; put it into the environment variable {api_key_env} "
            "(any text if the server needs none)"
        )
    shown = {"the base URL": url, "the model's name": name, "--extra": json.dumps(extra or {})}
    redactor = Redactor(os.environ.get(api_key_env))
    if what := next((what for what, text in shown.items() if redactor.finds(text)), None):
        raise ModelError(
            f"openai: {what} carries a key, which would end up in run.json; the key belongs in the "
            f"environment variable {api_key_env}"
        )
    if audio_format not in FORMATS:
        raise ModelError(f"openai: audio format {audio_format!r} is none of {sorted(FORMATS)}")
    _validate_numbers(
        concurrency=concurrency, max_retries=max_retries, timeout_s=timeout_s,
        sampling_rate=sampling_rate, requests_per_minute=requests_per_minute,
        backoff_s=backoff_s, longest_wait_s=longest_wait_s, max_audio_s=max_audio_s,
        temperature=temperature, max_new_tokens=max_new_tokens,
        price_in=price_in, price_out=price_out,
    )  # fmt: skip
    price: Price | None
    if price_in is not None and price_out is not None:
        price = price_of_tokens(name, price_in, price_out)
    elif price_in is not None or price_out is not None:
        raise ModelError("openai: --price-in and --price-out are given together")
    else:
        price = price_of(name, host, read_prices(Path(prices) if prices else None))
    return OpenAIServer(
        model=name, revision=revision, base_url=url, key_env=api_key_env, preset=preset,
        fields=_fields(preset, temperature, max_new_tokens, extra or {}),
        sampling_rate=sampling_rate or None, max_audio_s=max_audio_s, audio_format=audio_format,
        concurrency=concurrency, requests_per_minute=requests_per_minute, timeout_s=timeout_s,
        max_retries=max_retries, backoff_s=backoff_s, longest_wait_s=longest_wait_s,
        price=price, label_scores=label_scores,
    )  # fmt: skip


def _validate_numbers(**numbers: int | float | None) -> None:
    for name, value in numbers.items():
        if value is not None and not LEAST[name] <= value < math.inf:
            raise ModelError(f"openai: {name} is {value}; at least {LEAST[name]:g}, and finite")


def _fields(
    name: str | None, temperature: float | None, max_tokens: int | None, extra: Mapping[str, Any]
) -> dict[str, Any]:
    """Fields of a request: of the preset, then of the settings, then the extra ones."""
    try:
        preset: Preset = PRESETS[name or "greedy"]
    except LookupError as error:
        raise ModelError(str(error.args[0])) from None
    if foreign := sorted(set(preset.extra) - set(OTHER_NAMES)):
        raise ModelError(f"openai: preset {name!r} has settings no chat server takes: {foreign}")
    if temperature is None:
        temperature = 0.0 if preset.sampled is False else preset.temperature
    fields = {
        "temperature": temperature,
        "top_p": preset.top_p,
        "top_k": preset.top_k,
        "repetition_penalty": preset.repetition_penalty,
        "seed": preset.seed,
        "max_tokens": preset.max_new_tokens if max_tokens is None else max_tokens,
        **{OTHER_NAMES[key]: value for key, value in preset.extra.items()},
        **extra,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _host(url: str) -> str:
    """The host of a base URL that can be used, and shown."""
    shown = without_credentials(url)
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        host = None
    if not host:
        raise ModelError(
            f"openai: {shown!r} is no base URL; one looks like http://localhost:8000/v1"
        )
    if "@" in parts.netloc or parts.query:
        raise ModelError(
            f"openai: the base URL {shown} carries a password or a query, which would end up in "
            "logs; the key belongs in the environment"
        )
    return host


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
