"""Whisper as a recogniser: greedy, in batches; clips beyond 30 s by transformers' long form.

Source: A. Radford et al. (2023), Robust speech recognition via large-scale weak supervision,
section 3.8.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from otoscope.acoustics import spans
from otoscope.models.audio import resampled
from otoscope.models.base import AudioInput, ModelError
from otoscope.models.batching import BatchSize, in_batches
from otoscope.speech.recognition import Transcript, Word
from otoscope.speech.thresholds import (
    LOW_LOGPROB,
    NO_SPEECH,
    REPETITIVE,
    DecodedSpeech,
    transcript_of,
)
from otoscope.speech.whisper_words import token_times, words_of

MAX_NEW_TOKENS = 224
WINDOW_FRAMES = 3000


@dataclass
class WhisperRecognizer:
    """A Whisper of transformers. Made by `open_recognizer`.

    Attributes:
        model, feature_extractor, tokenizer: Of transformers.
        identity: What pins the weights, ready for JSON.
        limit: Clips at once, which shrinks when memory runs out.
        language: Of all clips; of a multilingual model detected in each where it is None.
    """

    model: Any
    feature_extractor: Any
    tokenizer: Any
    identity: dict[str, Any]
    limit: BatchSize
    language: str | None = None
    settings: Any = field(init=False)

    def __post_init__(self) -> None:
        """Copies the generation settings, greedy."""
        self.settings = deepcopy(self.model.generation_config)
        self.settings.num_beams, self.settings.do_sample = 1, False
        self.settings.max_length, self.settings.max_new_tokens = self._most_tokens(), None
        self.settings.return_dict_in_generate = self.settings.output_scores = True
        self.settings.return_timestamps = False

    @property
    def batch_size(self) -> int:
        """Clips in one batch."""
        return self.limit.size

    @property
    def device(self) -> str:
        """Where it runs."""
        return str(self.model.device)

    @property
    def description(self) -> dict[str, Any]:
        """Everything that changes a transcript."""
        return {
            "kind": "whisper",
            **self.identity,
            "language": self.language,
            "decoding": "greedy",
            "max_new_tokens": self._most_tokens(),
            "thresholds": [NO_SPEECH, LOW_LOGPROB, REPETITIVE],
        }

    def transcribe(self, clips: Sequence[AudioInput], *, words: bool = False) -> list[Transcript]:
        """See `Recognizer.transcribe`."""
        import torch

        samples = [resampled(clip, self._rate) for clip in clips]
        longest = WINDOW_FRAMES * self.feature_extractor.hop_length
        short = [n for n, own in enumerate(samples) if len(own) <= longest]
        made: dict[int, Transcript] = {}

        def work(numbers: Sequence[int]) -> list[Transcript]:
            started = time.perf_counter()
            batch = [samples[n] for n in numbers]
            long = len(batch[0]) > longest
            with torch.inference_mode(), quiet():
                found = self._long(batch[0], words) if long else self._short(batch, words)
            each = (time.perf_counter() - started) / len(batch)
            return [
                transcript_of(own, clips[n].duration_s, each)
                for n, own in zip(numbers, found, strict=True)
            ]

        groups = [(short, False), ([n for n in range(len(clips)) if n not in set(short)], True)]
        for numbers, alone in groups:
            for batch, result in in_batches(self.limit, numbers, work, alone=alone):
                if result is None:
                    raise ModelError(f"out of memory with clip {clips[batch[0]].id!r} alone")
                made |= zip(batch, result, strict=True)
        return [made[n] for n in range(len(clips))]

    def _short(self, batch: Sequence[Float[np.ndarray, " _"]], words: bool) -> list[DecodedSpeech]:
        """Clips of one window at most."""
        from transformers.modeling_outputs import BaseModelOutput

        features, mask = self._features(batch)
        encoded = self.model.model.encoder(features)
        no_speech = self._no_speech(encoded)
        languages = self._languages(encoded, len(batch))
        out = self.model.generate(
            encoder_outputs=encoded,
            attention_mask=mask,
            generation_config=deepcopy(self.settings),
            force_unique_generate_call=True,  # a time among the tokens would start another
            return_dict_in_generate=True,
            **self._language_options(languages),
        )
        n_new = len(out["scores"])
        found = []
        for n, samples in enumerate(batch):
            tokens = out["sequences"][n, -n_new:].tolist()
            end = self._end(tokens)
            logs = [
                float(step[n].float().log_softmax(-1)[token])
                for step, token in zip(out["scores"], tokens[:end], strict=False)
            ]
            spoken = None
            if words:
                prompt = out["sequences"][n, :-n_new].tolist()
                one = BaseModelOutput(encoded.last_hidden_state[n : n + 1])
                spoken = self._words(one, prompt, tokens[:end], samples)
            text = self._text(tokens[:end])
            is_truncated = self._stop not in tokens
            found.append(
                DecodedSpeech(text, logs, no_speech[n], is_truncated, languages[n], spoken)
            )
        return found

    def _long(self, samples: Float[np.ndarray, " n"], words: bool) -> list[DecodedSpeech]:
        """One longer clip, window after window by the times that the model writes."""
        features, mask = self._features([samples], whole=True)
        windows = features[:, :, : features.shape[2] // WINDOW_FRAMES * WINDOW_FRAMES]
        windows = windows.unflatten(2, (-1, WINDOW_FRAMES))[0].transpose(0, 1)
        no_speech, languages = [], []
        for window in windows:
            encoded = self.model.model.encoder(window[None])
            no_speech += self._no_speech(encoded)
            languages += self._languages(encoded, 1)
        out = self.model.generate(
            features,
            attention_mask=mask,
            generation_config=deepcopy(self.settings),
            return_timestamps=True,
            return_segments=True,
            return_dict_in_generate=True,
            temperature=0.0,
            condition_on_prev_tokens=False,
            logprob_threshold=LOW_LOGPROB,
            no_speech_threshold=NO_SPEECH,
            **self._language_options(languages[:1]),
        )
        tokens: list[int] = []
        logs: list[float] = []
        spoken: list[Word] = []
        for segment in out["segments"][0]:
            own, result = segment["tokens"].tolist(), segment["result"]
            n_prompt = len(result["sequences"]) - len(result["scores"])
            first = segment["idxs"][0] - n_prompt
            steps = result["scores"][first : first + len(own)]
            logs += [float(s.float().log_softmax(-1)[t]) for s, t in zip(steps, own, strict=True)]
            tokens += own
            if words:
                prompt = [*result["sequences"][:n_prompt].tolist(), *self._no_timestamps]
                start, end = float(segment["start"]), float(segment["end"])
                part = samples[int(start * self._rate) : int(end * self._rate)]
                encoded = self.model.model.encoder(self._features([part])[0])
                spoken += self._words(encoded, prompt, own, part, start)
        mean = float(np.mean(no_speech))
        text = self._text(tokens)
        return [DecodedSpeech(text, logs, mean, False, languages[0], spoken if words else None)]

    def _words(
        self,
        encoded: Any,
        prompt: Sequence[int],
        tokens: Sequence[int],
        samples: Float[np.ndarray, " n"],
        start_s: float = 0.0,
    ) -> list[Word]:
        """Words of a part of a clip that begins at `start_s`, within what is no silence in it."""
        own = [token for token in tokens if token < self._stop]  # the others are no text
        if not own or len(samples) == 0:
            return []
        length = len(samples) / self._rate
        times = token_times(self.model, encoded, prompt, [*own, self._stop], length)
        span = spans.detect(samples[None], self._rate, quietest_floor=True).span
        within = (0.0, length) if span is None else (span[0] / self._rate, span[1] / self._rate)
        return words_of(own, times, self.tokenizer, start_s, within)

    def _features(self, batch: Sequence[np.ndarray], *, whole: bool = False) -> tuple[Any, Any]:
        more = {"truncation": False, "padding": "longest"} if whole else {}
        made = self.feature_extractor(
            list(batch),
            sampling_rate=self._rate,
            return_tensors="pt",
            return_attention_mask=True,
            **more,
        )
        features = made.input_features.to(self.model.device, self.model.dtype)
        return features, made.attention_mask.to(self.model.device)

    def _no_speech(self, encoded: Any) -> list[float]:
        """The probability of the no-speech token right behind the start token."""
        import torch

        states = encoded.last_hidden_state
        start = torch.full((len(states), 1), self.settings.decoder_start_token_id)
        logits = self.model(
            encoder_outputs=encoded, decoder_input_ids=start.to(states.device)
        ).logits[:, 0]
        token = self.settings.no_timestamps_token_id - 1
        return [float(p) for p in logits.float().softmax(-1)[:, token]]

    def _languages(self, encoded: Any, n: int) -> list[str]:
        if not self.settings.is_multilingual:
            return ["en"] * n
        if self.language is not None:
            return [self.language] * n
        tokens = self.model.detect_language(
            encoder_outputs=encoded, generation_config=deepcopy(self.settings)
        )
        codes = {token: code for code, token in self.settings.lang_to_id.items()}
        return [codes[token].strip("<|>") for token in tokens.flatten().tolist()]

    def _language_options(self, languages: Sequence[str]) -> dict[str, Any]:
        if not self.settings.is_multilingual:
            return {}
        return {"language": list(languages), "task": "transcribe"}

    def _most_tokens(self) -> int:
        return min(MAX_NEW_TOKENS, self.model.config.max_target_positions // 2)

    def _end(self, tokens: Sequence[int]) -> int:
        """How many tokens there are up to the end-of-text token, it included."""
        return tokens.index(self._stop) + 1 if self._stop in tokens else len(tokens)

    def _text(self, tokens: Sequence[int]) -> str:
        text: str = self.tokenizer.decode([token for token in tokens if token < self._stop])
        return text.strip()

    @property
    def _stop(self) -> int:
        stop: int = self.settings.eos_token_id
        return stop

    @property
    def _no_timestamps(self) -> list[int]:
        return [self.settings.no_timestamps_token_id]

    @property
    def _rate(self) -> int:
        return int(self.feature_extractor.sampling_rate)


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings of transformers about arguments that its Whisper gives to itself."""
    log = logging.getLogger("transformers")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)
