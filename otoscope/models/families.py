"""What differs between the audio language models of transformers: one literal table.

To add a family: name its classes, what its processor makes of sound and how long a clip may be. The
rest (chat template, placeholder, rate) is asked of the checkpoint itself.
"""

from dataclasses import dataclass
from typing import Literal

from otoscope.registry import Registry

Proven = Literal["real weights", "tiny", "unrun"]


@dataclass(frozen=True)
class Family:
    """How to ask the models of one `model_type`.

    Attributes:
        model_type: As a checkpoint's `config.json` has it.
        model: Class in transformers.
        processor: Class in transformers that makes its inputs.
        features: Names of the tensors that hold sound; the first one holds the features.
        window: Longest clip in seconds: a number, an attribute of the processor that says so, or
            None where nothing cuts.
        truncates: The processor cuts what is longer in silence, or with nothing but a log line.
        clips: Most clips in one question, or None for any number.
        chat: `parts`: the processor's template takes a list of parts and sets the placeholders.
            `words`: the tokenizer's template takes one text, with the placeholders in it.
            `mistral`: mistral-common does all of it, and takes encoded files.
        batched: Questions may share a batch. Where padding changes what is heard they may not.
        own_adapter: Folder in the checkpoint with the adapter that it hears with.
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
    truncates: bool
    clips: int | None = None
    chat: Literal["parts", "words", "mistral"] = "parts"
    batched: bool = True
    own_adapter: str | None = None
    needs: tuple[str, ...] = ()
    proven: Proven = "unrun"
    note: str = ""


_OMNI = Family(
    model_type="qwen2_5_omni_thinker",
    model="Qwen2_5OmniThinkerForConditionalGeneration",
    processor="Qwen2_5OmniProcessor",
    features=("input_features", "feature_attention_mask"),
    window="feature_extractor.chunk_length",
    truncates=True,
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
        truncates=True,
        proven="tiny",
        note="with the chat template that transformers has for it",
    ),
    Family(
        model_type="audioflamingo3",
        model="AudioFlamingo3ForConditionalGeneration",
        processor="AudioFlamingo3Processor",
        features=("input_features", "input_features_mask"),
        window="max_audio_len",
        truncates=True,
        clips=1,
        proven="tiny",
        note="chat template ours; one clip a question, so few-shot prompts are refused",
    ),
    _OMNI,
    Family(
        model_type="voxtral",
        model="VoxtralForConditionalGeneration",
        processor="VoxtralProcessor",
        features=("input_features",),
        window=2400.0,
        truncates=False,
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
        truncates=False,
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
        truncates=False,
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
"""`model_type` to family. Of a whole Qwen2.5-Omni the thinker is asked, which writes text."""
