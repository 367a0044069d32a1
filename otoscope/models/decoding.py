"""Decoding: tokens by a preset, and the log-probability of each label."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from otoscope.errors import InvalidValue
from otoscope.models.presets import Preset


@dataclass(frozen=True)
class GenerationSettings:
    """What changes an answer besides weights and prompt.

    Attributes:
        preset: How tokens are chosen.
        max_new_tokens: Most tokens of an answer.
        logprobs: Give the log-probability of each label of a closed question.
    """

    preset: Preset
    max_new_tokens: int
    logprobs: bool = False

    def __post_init__(self) -> None:
        if foreign := sorted({*self.preset.extra, *_unused(self.preset)}):
            raise InvalidValue(
                f"preset {self.preset.name!r} has settings that a model of transformers does not "
                f"take: {foreign}; it is for {self.preset.model}"
            )
        if self.max_new_tokens < 1:
            raise InvalidValue(f"max_new_tokens must be 1 or more, not {self.max_new_tokens}")


def _unused(preset: Preset) -> list[str]:
    """Settings of sampling in a preset that does not sample; `generation_config` drops them."""
    names = ("temperature", "top_p", "top_k") if preset.sampled is False else ()
    return [name for name in names if getattr(preset, name) is not None]


class Generation(NamedTuple):
    """One generated answer.

    Attributes:
        text: Special tokens left out, otherwise raw.
        n_tokens: Including the end-of-sequence token.
        truncated: It reached the limit on tokens without an end-of-sequence token.
    """

    text: str
    n_tokens: int
    truncated: bool


def generation_config(settings: GenerationSettings, own: Any, tokenizer: Any) -> Any:
    """A complete `GenerationConfig`: the checkpoint's own, overridden by the settings.

    Args:
        settings: A preset without sampling is greedy and drops the checkpoint's sampling
            settings; its others (beams, repetition penalty) stay unless the preset sets them.
        own: The checkpoint's generation config.
        tokenizer: Gives the end and padding tokens where the checkpoint names none.
    """
    preset, generation = settings.preset, copy.deepcopy(own)
    generation.max_new_tokens, generation.max_length = settings.max_new_tokens, None
    if preset.sampled is not None:
        generation.do_sample = preset.sampled
    if not generation.do_sample:
        generation.do_sample = False
        generation.temperature = generation.top_p = generation.top_k = None
    else:
        for name in ("temperature", "top_p", "top_k"):
            if (value := getattr(preset, name)) is not None:
                setattr(generation, name, value)
    if preset.repetition_penalty is not None:
        generation.repetition_penalty = preset.repetition_penalty
    if generation.eos_token_id is None:
        generation.eos_token_id = tokenizer.eos_token_id
    if generation.pad_token_id is None:
        generation.pad_token_id = tokenizer.pad_token_id
    return generation


def generate(
    model: Any, tokenizer: Any, inputs: Mapping[str, Any], config: Any, seed: int | None
) -> list[Generation]:
    """An answer for each row of `inputs`.

    Args:
        model, tokenizer: Of transformers.
        inputs: Padded on the left; `input_ids` is `(n_questions, n_tokens)`.
        config: From `generation_config`.
        seed: Set right before, when it is not None.
    """
    import torch

    if seed is not None:
        torch.manual_seed(seed)
    with torch.inference_mode():
        ids = model.generate(**inputs, generation_config=config)
    ends = config.eos_token_id
    stops = set(ends if isinstance(ends, list | tuple) else [ends])
    generations = []
    for row in ids[:, inputs["input_ids"].shape[1] :].tolist():
        end = next((n for n, token in enumerate(row) if token in stops), None)
        tokens = row if end is None else row[: end + 1]
        text = tokenizer.decode(tokens, skip_special_tokens=True)
        generations.append(Generation(text, len(tokens), end is None))
    return generations


def append_tokens(
    inputs: Mapping[str, Any], rows: Sequence[Sequence[int]], tokenizer: Any
) -> dict[str, Any]:
    """The inputs with further tokens behind each question, padded on the right.

    Attention is causal, so that nothing depends on the padding.
    """
    import torch

    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    width = max(len(row) for row in rows)
    added = ids.new_full((len(rows), width), tokenizer.pad_token_id)
    real = mask.new_zeros((len(rows), width))
    for n, row in enumerate(rows):
        added[n, : len(row)] = ids.new_tensor(row)
        real[n, : len(row)] = 1
    return dict(inputs) | {
        "input_ids": torch.cat([ids, added], dim=1),
        "attention_mask": torch.cat([mask, real], dim=1),
    }


def label_log_probabilities(
    model: Any, tokenizer: Any, inputs: Mapping[str, Any], labels: Sequence[Sequence[str]]
) -> list[dict[str, float] | None]:
    """Log-probability of each label as an answer, in nats, summed over its tokens.

    A label's tokens are those of the bare word, with no space before it and nothing after it: chat
    templates end in a line break or a special token. A word of more tokens has more factors, which
    a comparison of labels has to take into account.

    Args:
        model, tokenizer: Of transformers.
        inputs: Padded on the left; `input_ids` is `(n_questions, n_tokens)`.
        labels: Of each question; an empty one gives None.
    """
    scores: list[dict[str, float]] = [{} for _ in labels]
    for n_label in range(max((len(row) for row in labels), default=0)):
        words = [row[n_label] if n_label < len(row) else None for row in labels]
        for n, score in enumerate(_log_probabilities(model, tokenizer, inputs, words)):
            if (word := words[n]) is not None:
                scores[n][word] = score
    return [row or None for row in scores]


def _log_probabilities(
    model: Any, tokenizer: Any, inputs: Mapping[str, Any], words: Sequence[str | None]
) -> list[float]:
    """Of one word a row."""
    import torch

    tokens = [tokenizer.encode(word or "", add_special_tokens=False) for word in words]
    width = max(len(row) for row in tokens)
    longer = append_tokens(inputs, tokens, tokenizer)
    n_before = inputs["input_ids"].shape[1]
    with torch.inference_mode():
        logits = model(**longer, use_cache=False).logits[:, -width - 1 : -1]
        log_probabilities = torch.log_softmax(logits.float(), dim=-1)
        added = longer["input_ids"][:, n_before:].unsqueeze(2)
        own = log_probabilities.gather(2, added).squeeze(2)
        return (own * longer["attention_mask"][:, n_before:]).sum(dim=1).tolist()
