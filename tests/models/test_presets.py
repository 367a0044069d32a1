"""The published ways of decoding, setting by setting."""

import json

import pytest

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
