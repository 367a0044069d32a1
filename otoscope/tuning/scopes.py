"""LoRA scopes: which linear layers of a model get an adapter. To add one, name it in `SCOPES`."""

from typing import NamedTuple

from otoscope.registry import Registry


class LoraScope(NamedTuple):
    """Which linear layers get an adapter.

    Attributes:
        description: For help texts and cards.
        parts: Among `head` (the output layer), `decoder`, `projector` and `tower` (of the audio).
    """

    description: str
    parts: tuple[str, ...]


SCOPES: Registry[LoraScope] = Registry(
    "LoRA scope",
    {
        "lm_head": LoraScope("the output layer", ("head",)),
        "decoder": LoraScope(
            "every linear layer of the language model below the output layer", ("decoder",)
        ),
        "all_linear": LoraScope(
            "every linear layer of decoder, output layer, audio tower and projector",
            ("head", "decoder", "projector", "tower"),
        ),
    },
)
