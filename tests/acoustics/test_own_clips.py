"""The clips of `tests/data` are the ones that their table describes."""

import csv
import hashlib

from real_speech import DATA, own_speech


def test_every_clip_has_its_hash_and_is_small():
    with (DATA / "clips.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["file"]: row["sha256"] for row in csv.DictReader(file)}
    audio = [path for path in DATA.iterdir() if path.suffix in {".flac", ".wav"}]
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in audio} == rows
    assert sum(path.stat().st_size for path in audio) < 600_000


def test_every_clip_has_a_span_of_a_second_and_a_pause_before_and_after():
    clips = own_speech()
    assert len(clips) == 6
    for _, pcm, rate, span in clips:
        assert rate < span.end - span.start
        assert 0.2 * rate < span.start < span.end < pcm.shape[1] - 0.2 * rate
