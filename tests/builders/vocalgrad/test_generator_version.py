"""Whoever changes a byte of a dataset is reminded to raise `GENERATOR_VERSION`.

The stored hash covers the text columns and the samples of those categories whose arithmetic does
not depend on the processor (no Fourier transform, no resampler, no power in single precision), on
a source of whole numbers. It was printed by this very test; when it fails, raise the version and
store the new one.
"""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest

from builders.vocalgrad.planning.plan import GENERATOR_VERSION
from builders.vocalgrad.rendering.rows import COLUMNS
from otoscope.acoustics.rendering import SourceRenderer
from otoscope.acoustics.spans import Span

QUESTION = ("attribute", "category", "direction", "label", "prompt")
EXACT = {
    "paper": ("volume", "background_noise", "audio_distortion", "audio_roughness"),
    "controlled": ("background_noise", "audio_roughness"),
}
STORED = {
    ("1", "paper"): "29f0b33e0b50d08ad7259a691cf9a5737ef94c09eda710b390c3a7d7b347292f",
    ("1", "controlled"): "6318dca053db19ec2d4174c7bc08334bf9ae6bc84664782ab468193cfb68df68",
}


@pytest.mark.parametrize("profile", sorted(EXACT))
def test_a_changed_byte_is_a_new_version(profile):
    wave = np.int16(np.arange(16_000) * 7919 % 20_011 - 10_005)[None]
    source = SourceRenderer(wave, 16_000, Span(3_000, 14_000))
    digest = hashlib.sha256()
    for category in EXACT[profile]:
        for cell, clip_id, made in source.variants(category, "a_01", "a_001", profile=profile):
            clip = SimpleNamespace(category=category, condition=cell)
            question = {n: COLUMNS[n].value(clip) for n in QUESTION}
            digest.update(f"{clip_id}{sorted(question.items())}{made.span}".encode())
            digest.update(made.to_pcm().pcm.astype("<i2").tobytes())
    assert digest.hexdigest() == STORED[GENERATOR_VERSION, profile]
