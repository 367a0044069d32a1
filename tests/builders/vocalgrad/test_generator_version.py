"""Whoever changes a byte of a dataset is reminded to raise `GENERATOR_VERSION`.

The stored hash covers every column of every row, with the samples in the place of the encoded file,
of those categories whose arithmetic does not depend on the processor (no Fourier transform, no
resampler, no power in single precision), on a source of whole numbers.
"""

import hashlib

import numpy as np
import pytest
import soundfile

from builders.corpora.base import SourceClip
from builders.vocalgrad.planning.plan import (
    GENERATOR_VERSION,
    SurveyedClip,
    VocalGradPlan,
)
from builders.vocalgrad.planning.survey import pcm_sha256
from builders.vocalgrad.rendering.rows import COLUMNS, ClipColumn, features, rows
from otoscope.acoustics import codec

EXACT = {
    "paper": ("volume", "background_noise", "audio_distortion", "audio_roughness"),
    "controlled": ("background_noise", "audio_roughness"),
}
STORED = {
    ("1", "paper"): "a7d1cd22516c09e600c2afda4dec0fa717b59709993e211f265095ff3d50e30e",
    ("1", "controlled"): "ae09b30c6fb767274d6e70a099a85f0fa847cc99188b766ec207e79e7a430737",
    ("2", "paper"): "6e623acfe9127fad50b44a1e78be6fb7a4c6d6bc6996b8b3c5be43017a2ee095",
    ("2", "controlled"): "da543ac60dc7459e115fe564bcfe1887434374911491469b7c61e4ef9895d4d4",
}


@pytest.fixture
def digest_of(tmp_path):
    """From a profile to the hash of what it makes of one source."""
    wave = np.int16(np.arange(16_000) * 7919 % 20_011 - 10_005)
    path = tmp_path / "a.wav"
    soundfile.write(path, wave, 16_000)
    source = SourceClip("a_01", "a_001", "test", 3, path, "a", "1", "Grüß Gott.")
    sha256 = pcm_sha256(codec.read(path))
    clip = SurveyedClip(
        source, 16_000, 1, 16_000, 16, "PCM_16", (3_000, 14_000), "detected", sha256
    )

    def digest(profile):
        plan = VocalGradPlan(EXACT[profile], profile, (clip,), ())
        classes = [getattr(column.type, "names", None) for column in COLUMNS.values()]
        types = features(16_000).arrow_schema.remove_metadata()
        found = hashlib.sha256(f"{types}{classes}".encode())
        for shard in plan.shards:
            for row in rows(plan, shard):
                audio = row.cells["audio"]
                cells = row.cells | {"audio": audio["path"]}
                plain = [(name, np.asarray(value).tolist()) for name, value in cells.items()]
                found.update(f"{row.config}{plain}".encode())
                found.update(codec.read(audio["bytes"]).pcm.astype("<i2").tobytes())
        return found.hexdigest()

    return digest


@pytest.mark.parametrize("profile", sorted(EXACT))
def test_a_changed_byte_is_a_new_version(digest_of, profile):
    digest, key = digest_of(profile), (GENERATOR_VERSION, profile)
    assert key in STORED, f"a new version: store its hash, {key}: {digest!r}"
    assert digest == STORED[key], (
        "rows have changed: raise GENERATOR_VERSION in builders/vocalgrad/planning/plan.py, and "
        f"store the hash that this test then prints (with version {key[0]!r} it is {digest!r})"
    )


def test_an_added_and_a_changed_column_are_seen(digest_of, monkeypatch):
    before = digest_of("controlled")
    transcript = COLUMNS["transcript"]
    changed = transcript._replace(value=lambda clip: "other")
    monkeypatch.setitem(COLUMNS, "transcript", changed)
    assert digest_of("controlled") != before
    monkeypatch.setitem(COLUMNS, "transcript", transcript)
    assert digest_of("controlled") == before
    monkeypatch.setitem(COLUMNS, "toy", ClipColumn(transcript.type, lambda clip: ""))
    assert digest_of("controlled") != before
