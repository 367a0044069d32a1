"""The published ways of decoding, setting by setting."""

import json
from types import SimpleNamespace

import pytest

from otoscope.errors import InputError
from otoscope.models import MODELS
from otoscope.models.decoding import GenerationSettings, generation_config
from otoscope.models.openai_server import open_openai
from otoscope.models.opening import open_model
from otoscope.models.presets import PRESETS
from otoscope.models.retrying import PUBLISHED_MAX_NEW_TOKENS

PUBLISHED = {
    "audioflamingo3": {"sampled": False},
    "step-audio-2-mini": {"sampled": False},
    "kimi-audio": {
        "sampled": False,
        "temperature": 0.0,
        "top_k": 5,
        "repetition_penalty": 1.0,
        "text_repetition_window_size": 16,
        "audio_temperature": 0.0,
        "audio_top_k": 5,
        "audio_repetition_penalty": 1.0,
        "audio_repetition_window_size": 64,
    },
    "mimo-audio": {"sampled": True, "temperature": 0.3, "top_p": 0.95, "seed": 1234},
    "gemini-3-flash": {"sampled": True, "temperature": 1.0, "top_k": 5, "thinking_level": "low"},
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_published_preset_sets_what_was_published(name):
    assert PRESETS[name].described() == {"preset": name} | PUBLISHED[name]
    assert PRESETS[name].model


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_knows_its_name_and_both_limits(name):
    preset = PRESETS[name]
    assert preset.name == name
    assert (preset.max_new_tokens, PUBLISHED_MAX_NEW_TOKENS) == (128, 256)
    assert json.loads(json.dumps(preset.described()))["preset"] == name


def of_transformers(preset):
    """What `generate` gets under the names of a description; the seed is set before it."""
    own = SimpleNamespace(
        do_sample=True, temperature=0.7, top_p=0.8, top_k=20, repetition_penalty=1.1,
        eos_token_id=0, pad_token_id=0, max_length=20,
    )  # fmt: skip
    settings = GenerationSettings(PRESETS[preset], 128)
    made = vars(generation_config(settings, own, None))
    return {**made, "sampled": made["do_sample"], "seed": PRESETS[preset].seed}


def of_a_server(preset):
    """The fields of a request under the names of a description; a server decides how it samples."""
    fields = dict(open_openai("x", base_url="http://localhost:1/v1", preset=preset).fields)
    drawn = fields.get("temperature", 1) != 0
    return {**fields, "sampled": drawn, "thinking_level": fields.get("reasoning_effort")}


def of_others(kind):
    def applied(preset):
        return open_model(f"{kind}:x", preset=preset)

    return applied


APPLIED = {kind: of_others(kind) for kind in MODELS} | {
    "transformers": of_transformers,
    "openai": of_a_server,
}
TAKEN = {
    "transformers": {"greedy", "own", "audioflamingo3", "step-audio-2-mini", "mimo-audio"},
    "openai": set(PRESETS) - {"kimi-audio"},
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_applied_as_described_or_rejected(name, kind):
    if name not in TAKEN.get(kind, ()):
        with pytest.raises(InputError, match=r"preset"):
            APPLIED[kind](name)
        return
    applied = APPLIED[kind](name)
    described = {key: v for key, v in PRESETS[name].described().items() if key != "preset"}
    assert {key: applied[key] for key in described} == described
