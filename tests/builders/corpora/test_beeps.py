"""The ten beeps."""

import hashlib
from itertools import product

import numpy as np
import pytest
import soundfile

from builders.corpora.beeps import open_beeps


def test_ids_made_from_them_have_the_published_hash(tmp_path):
    curves = ("linear", "quad_first_flat", "quad_last_flat", "jump")
    conditions = list(product(curves, ("low", "mid", "high"), ("up", "down")))
    sources = open_beeps(tmp_path).sources
    ids = sorted("__".join((s.item_id, s.clip_id, *rest)) for s in sources for rest in conditions)
    digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
    assert len(ids) == 240
    assert (digest[:8], digest[-4:]) == ("74b5ce1f", "9b77")


def test_samples_as_the_rule_says(tmp_path):
    for source, hz in zip(open_beeps(tmp_path).sources, range(700, 2051, 150), strict=True):
        info = soundfile.info(str(source.path))
        assert (info.samplerate, info.channels, info.subtype) == (48_000, 1, "PCM_16")
        pcm, _ = soundfile.read(source.path, dtype="int16")
        assert pcm.size == 172_800
        assert not pcm[:36_001].any()  # 0.75 s of silence and the sine's own zero
        assert not pcm[136_800:].any()
        # Hard edge: the second sample of the sine is already at full amplitude's slope.
        assert pcm[36_001] == round(0.65 * 32767 * np.sin(2 * np.pi * hz / 48_000))
        sine = pcm[36_000:136_800].astype(float)  # a whole number of periods, so:
        assert np.sqrt(np.mean(sine**2)) == pytest.approx(0.65 * 32767 / np.sqrt(2), abs=0.5)
        spectrum = np.abs(np.fft.rfft(sine))
        assert np.argmax(spectrum) * 48_000 / 100_800 == pytest.approx(hz, abs=0.5)
        assert source.span_s == (0.75, pytest.approx(2.85))


def test_their_fields(tmp_path):
    corpus = open_beeps(tmp_path)
    last = corpus.sources[-1]
    assert (corpus.licence, corpus.synthetic, corpus.language) == ("cc0-1.0", True, None)
    assert (last.item_id, last.clip_id, last.speaker_id) == ("beep_10", "beep_10", "beep")
    assert (last.sentence_id, last.split, last.position) == ("010", "test", 9)
    assert len(list(tmp_path.iterdir())) == 10


def test_a_damaged_file_is_written_again_and_a_good_one_left_alone(tmp_path):
    first, second = (source.path for source in open_beeps(tmp_path).sources[:2])
    whole, touched = first.read_bytes(), second.stat().st_mtime_ns
    for damaged in (whole[:1000], whole[::-1]):
        first.write_bytes(damaged)
        open_beeps(tmp_path)
        assert first.read_bytes() == whole
    assert second.stat().st_mtime_ns == touched
