"""What differs between the audio language models of transformers: one literal table.

Asking, extraction and fine-tuning read this table, so a new family is one new entry. Chat template,
placeholder and sampling rate come from the checkpoint itself. Contract tests run on every entry
that can be built with random weights.
"""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

from otoscope.models.base import ModelError
from otoscope.registry import Registry


@dataclass(frozen=True)
class Family:
    """The models of one `model_type`. Paths lead to modules of the transformers model.

    Attributes:
        model_type: As a checkpoint's `config.json` has it.
        model: Class in transformers.
        processor: Class in transformers that makes its inputs.
        features: Names of the audio input tensors; the first one holds the features.
        window: Longest clip in seconds: a number, an attribute of the processor that says so, or
            None where there is no limit.
        decoder: Path of the module with `layers` and the final `norm`, whose output enters the
            output layer.
        projector: Path of the module whose output replaces the clip's placeholder tokens.
        audio_tower: Path of the audio encoder.
        scale: Attribute of the decoder by which all its inputs are multiplied, so that hidden
            state 0 is the projector's output times that; None where there is none.
        clips: Most clips in one question, or None for any number.
        chat: `parts`: the processor's template takes a list of parts and sets the placeholders.
            `words`: the tokenizer's template takes one text, with the placeholders in it.
            `mistral`: mistral-common renders and encodes, and takes audio files.
        batched: Questions may share a batch. False where padding changes the audio features.
        own_adapter: Folder in the checkpoint with the adapter that its audio input needs.
        needs: What to install besides the extra `[models]`.
        proven: `real weights`: answered with a published checkpoint; `tiny`: with random weights of
            its architecture and its own processor; `unrun`: neither.
        note: What is known about how far that went.
    """

    model_type: str
    model: str
    processor: str
    features: tuple[str, ...]
    window: float | str | None
    decoder: str = "model.language_model"
    projector: str = "model.multi_modal_projector"
    audio_tower: str = "model.audio_tower"
    scale: str | None = None
    clips: int | None = None
    chat: Literal["parts", "words", "mistral"] = "parts"
    batched: bool = True
    own_adapter: str | None = None
    needs: tuple[str, ...] = ()
    proven: Literal["real weights", "tiny", "unrun"] = "unrun"
    note: str = ""


_OMNI = Family(
    model_type="qwen2_5_omni_thinker",
    model="Qwen2_5OmniThinkerForConditionalGeneration",
    processor="Qwen2_5OmniProcessor",
    features=("input_features", "feature_attention_mask"),
    window="feature_extractor.chunk_length",
    projector="model.audio_tower.proj",
    needs=("torchvision", "pillow"),
    proven="tiny",
    note="with stand-ins for its parts that take pictures; chat template ours",
)

_FAMILIES = (
    Family(
        model_type="qwen2_audio",
        model="Qwen2AudioForConditionalGeneration",
        processor="Qwen2AudioProcessor",
        features=("input_features", "feature_attention_mask"),
        window="feature_extractor.chunk_length",
        proven="tiny",
        note="with the chat template that transformers has for it",
    ),
    Family(
        model_type="audioflamingo3",
        model="AudioFlamingo3ForConditionalGeneration",
        processor="AudioFlamingo3Processor",
        features=("input_features", "input_features_mask"),
        window="max_audio_len",
        clips=1,
        proven="tiny",
        note="chat template ours; one clip a question, so few-shot prompts are rejected",
    ),
    _OMNI,
    Family(
        model_type="voxtral",
        model="VoxtralForConditionalGeneration",
        processor="VoxtralProcessor",
        features=("input_features",),
        window=2400.0,
        # its processor pads a clip to 30 s: hidden states of the clip cover the padding
        chat="mistral",
        needs=("mistral-common[audio]",),
        proven="tiny",
        note="with mistral-common 1.13 and a small vocabulary; its 40 minutes are its makers' word",
    ),
    Family(
        model_type="granite_speech",
        model="GraniteSpeechForConditionalGeneration",
        processor="GraniteSpeechProcessor",
        features=("input_features", "input_features_mask"),
        window=None,
        projector="model.projector",
        audio_tower="model.encoder",
        scale="embedding_multiplier",
        chat="words",
        needs=("torchaudio",),
        proven="tiny",
        note="with torchaudio 2.11; chat template ours, while the published one may name the date",
    ),
    Family(
        model_type="phi4_multimodal",
        model="Phi4MultimodalForCausalLM",
        processor="Phi4MultimodalProcessor",
        features=("audio_input_features", "audio_embed_sizes", "audio_attention_mask"),
        window=None,
        decoder="model",
        projector="model.embed_tokens_extend.audio_embed.down_proj_for_speech",
        audio_tower="model.embed_tokens_extend.audio_embed",
        batched=False,
        own_adapter="speech-lora",
        needs=("torchvision", "pillow"),
        proven="tiny",
        note="with a stand-in for its part that takes pictures; chat template ours",
    ),
)

FAMILIES: Registry[Family] = Registry(
    "family of audio models",
    {family.model_type: family for family in _FAMILIES} | {"qwen2_5_omni": _OMNI},
)
"""`model_type` to family. Of Qwen2.5-Omni only the thinker is used, which generates text."""


def without_adapters(model: Any) -> Any:
    """The transformers model below any adapters."""
    from peft import PeftModel

    while isinstance(model, PeftModel):
        model = model.get_base_model()
    return model


def module_at(model: Any, path: str) -> Any:
    """A module of a model by its dotted path below any adapters.

    Raises:
        ModelError: This version of transformers has no such module in that model.
    """
    base = without_adapters(model)
    try:
        return attrgetter(path)(base)
    except AttributeError as error:
        raise ModelError(
            f"{type(base).__name__} has no {path!r}: this version of transformers builds it from "
            f"other modules ({error})"
        ) from error
