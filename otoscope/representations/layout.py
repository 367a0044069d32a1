"""Where a family keeps its decoder, and whether sound enters it unchanged: one literal table.

To add a family: name the module with `layers` and `norm`, and the one whose output stands where the
clip is when the decoder begins. A contract test compares the two on every entry that can be built.
"""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from otoscope.models.base import ModelError
from otoscope.registry import Registry


@dataclass(frozen=True)
class Layout:
    """Paths into a model of one `model_type`.

    Attributes:
        decoder: The module with `layers` and the final `norm`; what leaves that enters the head.
        projector: The module whose output is put where the clip is.
        scale: The attribute of the decoder that everything is multiplied by on entering it, so that
            hidden state 0 is the projector's output times that; None where nothing is.
        note: What to bear in mind when states of this family are compared with others.
    """

    decoder: str
    projector: str
    scale: str | None = None
    note: str = ""


_NESTED = Layout("model.language_model", "model.multi_modal_projector")
_OMNI = Layout("model.language_model", "model.audio_tower.proj")

LAYOUTS: Registry[Layout] = Registry(
    "layout of a family",
    {
        "qwen2_audio": _NESTED,
        "audioflamingo3": _NESTED,
        "voxtral": replace(
            _NESTED, note="a clip is padded to 30 s, and its places and segments cover the padding"
        ),
        "granite_speech": Layout("model.language_model", "model.projector", "embedding_multiplier"),
        "qwen2_5_omni_thinker": _OMNI,
        "qwen2_5_omni": _OMNI,
        "phi4_multimodal": Layout(
            "model", "model.embed_tokens_extend.audio_embed.down_proj_for_speech"
        ),
    },
)
"""`model_type` to layout, of the same families as `otoscope.models.families.FAMILIES`."""


def bare(model: Any) -> Any:
    """The transformers model below any adapters."""
    from peft import PeftModel

    while isinstance(model, PeftModel):
        model = model.get_base_model()
    return model


def module_at(model: Any, path: str) -> Any:
    """A part of a model by its dotted path, adapters passed over.

    Raises:
        ModelError: It is not there: this version of transformers has the model in other parts.
    """
    try:
        return attrgetter(path)(bare(model))
    except AttributeError as error:
        raise ModelError(
            f"{type(bare(model)).__name__} has no {path!r}: this version of transformers has it in "
            f"other parts ({error})"
        ) from error
