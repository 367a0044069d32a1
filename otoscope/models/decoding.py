"""How an answer is written: tokens by a preset, and what each label would have cost."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from otoscope.errors import InvalidValue
from otoscope.models.presets import Preset


@dataclass(frozen=True)
class Settings:
    """Everything about asking that changes an answer, apart from weights and words.

    Attributes:
        preset: How tokens are chosen.
        max_new_tokens: Most tokens of an answer.
        logprobs: Give the log-probability of each label of a closed question.
    """

    preset: Preset
    max_new_tokens: int
    logprobs: bool = False

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise InvalidValue(f"an answer needs a token; max_new_tokens={self.max_new_tokens}")


class Generation(NamedTuple):
    """One answer.

    Attributes:
        text: Special tokens left out, otherwise raw.
        n_tokens: Including the one that ends it.
        cut: It did not come to an end within the limit.
    """

    text: str
    n_tokens: int
    cut: bool


def generation_config(settings: Settings, own: Any, tokenizer: Any) -> Any:
    """The whole `GenerationConfig`: the checkpoint's own with the settings on top.

    Args:
        settings: What is asked for. A preset that is not sampled takes the likeliest token, and
            the checkpoint's settings of sampling go; what else it sets (beams, a penalty of
            repetition) stays unless the preset says otherwise.
        own: The checkpoint's generation settings.
        tokenizer: Gives the tokens that end and pad where the checkpoint names none.
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
    model: Any, tokenizer: Any, inputs: Mapping[str, Any], generation: Any, seed: int | None
) -> list[Generation]:
    """An answer for each row of `inputs`.

    Args:
        model: A transformers model.
        tokenizer: Its own.
        inputs: Padded on the left; `input_ids` is `(n_questions, n_tokens)`.
        generation: From `generation_config`.
        seed: Set again right before, when it is not None.
    """
    import torch

    if seed is not None:
        torch.manual_seed(seed)
    with torch.inference_mode():
        ids = model.generate(**inputs, generation_config=generation)
    ends = generation.eos_token_id
    stops = set(ends if isinstance(ends, list | tuple) else [ends])
    spoken = []
    for row in ids[:, inputs["input_ids"].shape[1] :].tolist():
        end = next((n for n, token in enumerate(row) if token in stops), None)
        said = row if end is None else row[: end + 1]
        text = tokenizer.decode(said, skip_special_tokens=True)
        spoken.append(Generation(text, len(said), end is None))
    return spoken


def label_log_probabilities(
    model: Any, tokenizer: Any, inputs: Mapping[str, Any], labels: Sequence[Sequence[str]]
) -> list[dict[str, float] | None]:
    """Log-probability of each label, in nats, summed over its tokens as if it had been said.

    A label's tokens are those of the bare word, with no space before it and nothing after it: chat
    templates end in a line break or a special token, so that an answer begins there. A word that
    is cut into more tokens has more factors; whoever compares labels has to bear that in mind.

    Args:
        model: A transformers model.
        tokenizer: Its own.
        inputs: Padded on the left; `input_ids` is `(n_questions, n_tokens)`.
        labels: Of each question; an empty one gives None.
    """
    scores: list[dict[str, float]] = [{} for _ in labels]
    for place in range(max((len(row) for row in labels), default=0)):
        words = [row[place] if place < len(row) else None for row in labels]
        for n, score in enumerate(_scores(model, tokenizer, inputs, words)):
            if (word := words[n]) is not None:
                scores[n][word] = score
    return [row or None for row in scores]


def _scores(
    model: Any, tokenizer: Any, inputs: Mapping[str, Any], words: Sequence[str | None]
) -> list[float]:
    """One word a row. Words of other lengths are padded on the right, where nothing looks back."""
    import torch

    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    tokens = [tokenizer.encode(word or "", add_special_tokens=False) for word in words]
    width = max(len(row) for row in tokens)
    added = ids.new_full((len(words), width), tokenizer.pad_token_id)
    real = mask.new_zeros((len(words), width))
    for n, row in enumerate(tokens):
        added[n, : len(row)] = ids.new_tensor(row)
        real[n, : len(row)] = 1
    longer = dict(inputs) | {
        "input_ids": torch.cat([ids, added], dim=1),
        "attention_mask": torch.cat([mask, real], dim=1),
    }
    with torch.inference_mode():
        logits = model(**longer, use_cache=False).logits[:, -width - 1 : -1]
        chances = torch.log_softmax(logits.float(), dim=-1)
        taken = chances.gather(2, added.unsqueeze(2)).squeeze(2)
        return (taken * real).sum(dim=1).tolist()
