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
        chat: `template`: the processor's Jinja template turns parts into text, with a placeholder
            for each clip. `mistral`: mistral-common does, and takes encoded files.
        own_adapter: Folder in the checkpoint with the adapter that it hears with.
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
    chat: Literal["template", "mistral"] = "template"
    own_adapter: str | None = None
    proven: Proven = "unrun"
    note: str = ""


_OMNI = Family(
    model_type="qwen2_5_omni_thinker",
    model="Qwen2_5OmniThinkerForConditionalGeneration",
    processor="Qwen2_5OmniProcessor",
    features=("input_features", "feature_attention_mask"),
    window="feature_extractor.chunk_length",
    truncates=True,
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
        note="its processor takes one clip a question: few-shot prompts are refused",
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
    ),
    Family(
        model_type="granite_speech",
        model="GraniteSpeechForConditionalGeneration",
        processor="GraniteSpeechProcessor",
        features=("input_features", "input_features_mask"),
        window=None,
        truncates=False,
    ),
    Family(
        model_type="phi4_multimodal",
        model="Phi4MultimodalForCausalLM",
        processor="Phi4MultimodalProcessor",
        features=("audio_input_features", "audio_embed_sizes", "audio_attention_mask"),
        window=None,
        truncates=False,
        own_adapter="speech-lora",
    ),
)

FAMILIES: Registry[Family] = Registry(
    "family of audio models",
    {family.model_type: family for family in _FAMILIES} | {"qwen2_5_omni": _OMNI},
)
"""`model_type` to family. Of a whole Qwen2.5-Omni the thinker is asked, which writes text."""
