"""Decoding settings of the published answers, by name: one table for every kind of model.

A setting of `None` is left as the model or the server has it.

Source: VocalGrad, appendix B.5; most numbers are in the authors' code (`docs/papers.md`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from otoscope.registry import Registry

SETTINGS = ("sampled", "temperature", "top_p", "top_k", "repetition_penalty", "seed")


@dataclass(frozen=True)
class Preset:
    """Decoding settings.

    Attributes:
        name: As in `PRESETS`; the published ones carry the name of their row in the tables.
        sampled: Sampling, not greedy decoding; None: as the checkpoint's own settings say.
        temperature: Divides the logits.
        top_p: Share of probability that tokens are sampled from.
        top_k: Number of tokens that they are sampled from.
        repetition_penalty: 1 is none.
        seed: Set again before each generation.
        max_new_tokens: Limit of an answer; the retry on parse failure has its own, see `retrying`.
        extra: Settings that only this model's own interface has, under their names there.
        model: The checkpoint or served model it was used with, or empty.
    """

    name: str
    sampled: bool | None = False
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    max_new_tokens: int = 128
    extra: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""

    def described(self) -> dict[str, Any]:
        """What is set, ready for JSON; the limit on tokens is not part of it."""
        present = {name: value for name in SETTINGS if (value := getattr(self, name)) is not None}
        return {"preset": self.name} | present | dict(self.extra)


_PRESETS = (
    Preset("greedy"),
    Preset("own", sampled=None, seed=1234),
    Preset("audioflamingo3", model="nvidia/audio-flamingo-3-hf"),
    Preset(
        "kimi-audio",
        temperature=0.0,
        top_k=5,
        repetition_penalty=1.0,
        extra={
            "text_repetition_window_size": 16,
            "audio_temperature": 0.0,
            "audio_top_k": 5,
            "audio_repetition_penalty": 1.0,
            "audio_repetition_window_size": 64,
        },
        model="moonshotai/Kimi-Audio-7B-Instruct",
    ),
    Preset("step-audio-2-mini", model="stepfun-ai/Step-Audio-2-mini"),
    Preset(
        "mimo-audio",
        sampled=True,
        temperature=0.3,
        top_p=0.95,
        seed=1234,
        model="XiaomiMiMo/MiMo-Audio-7B-Instruct",
    ),
    Preset(
        "gemini-3-flash",
        sampled=True,
        temperature=1.0,
        top_k=5,
        extra={"thinking_level": "low"},
        model="gemini-3-flash-preview",
    ),
)

PRESETS: Registry[Preset] = Registry(
    "decoding preset", {preset.name: preset for preset in _PRESETS}
)
"""Name to preset. `greedy` is the default; `own` keeps the checkpoint's generation settings."""
