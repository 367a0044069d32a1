"""The detector's numbers in the published columns, with histograms and a summary."""

import csv
import json
import math

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from builders.corpora.base import SourceClip
from builders.vocalgrad.__main__ import app
from builders.vocalgrad.pages.spans_export import write_spans_export

RATE = 16_000


def burst(path, start_s, end_s, level=0.25):
    """1.5 s of faint noise, with a square wave of so much between two times."""
    noise = np.random.default_rng(0).choice([-1e-3, 1e-3], round(1.5 * RATE))
    at = slice(round(start_s * RATE), round(end_s * RATE))
    noise[at] = level * np.where(np.arange(at.stop - at.start) % 2, -1, 1)
    soundfile.write(path, noise, RATE, subtype="FLOAT")
    return SourceClip(path.stem, path.stem, "test", 0, path, "anna", "7")


def test_the_table_has_the_published_columns_and_the_detectors_numbers(tmp_path):
    sources = [burst(tmp_path / "a.wav", 0.4, 1.0), burst(tmp_path / "b.wav", 0.5, 0.55)]
    (tmp_path / "c.wav").write_bytes(b"nothing")
    sources.append(SourceClip("c", "c", "test", 2, tmp_path / "c.wav"))
    summary = write_spans_export(tmp_path / "out", sources)
    with (tmp_path / "out" / "selected_clip_onset_times.csv").open(newline="") as file:
        header, first, second = csv.reader(file)
    assert header == [
        "test_item_id", "clip_id", "speaker_id", "sentence_id", "audio_path", "detected",
        "onset_sec", "offset_sec", "speech_duration_sec", "num_segments", "threshold",
        "noise_floor", "peak_rms",
    ]  # fmt: skip
    assert first[:5] == ["a", "a", "anna", "7", str(tmp_path / "a.wav")]
    # pre-emphasis carries the last sample into the frame after it, so the run ends there
    assert first[5:10] == ["True", "0.400000", "1.010000", "0.610000", "1"]
    # pre-emphasis of an alternation of ±0.25 is 1.97 times it in every sample but the first
    threshold, floor, peak = map(float, first[10:])
    assert peak == pytest.approx(1.97 * 0.25, rel=1e-4)
    # of random signs ±0.001 it is 0.001·sqrt(1 + 0.97²)
    assert floor == pytest.approx(1e-3 * math.sqrt(1 + 0.97**2), rel=0.05)
    assert threshold == pytest.approx(max(1.8 * floor, 0.003 * peak, 5e-5), abs=1e-8)
    assert second[5:10] == ["False", "", "", "", "0"]  # 50 ms are no run of 100 ms
    assert (summary["n_sources"], summary["n_detected"], summary["not_detected"]) == (2, 1, ["b"])
    assert list(summary["unreadable"]) == ["c"]
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == summary


def test_histograms_have_25_bins_and_every_detected_clip(tmp_path):
    sources = [burst(tmp_path / f"{i}.wav", 0.3 + i / 100, 1.0) for i in range(4)]
    summary = write_spans_export(tmp_path / "out", sources)
    for name in ("onset_sec", "offset_sec"):
        found = summary["histograms"][name]
        assert (len(found["counts"]), len(found["edges"]), sum(found["counts"])) == (25, 26, 4)
    onset = {"mean": 0.315, "median": 0.315, "min": 0.3, "max": 0.33}
    assert summary["onset_sec"] == pytest.approx(onset)
    picture = (tmp_path / "out" / "histograms.svg").read_text()
    assert "<svg" in picture
    write_spans_export(tmp_path / "again", sources)
    assert (tmp_path / "again" / "histograms.svg").read_text() == picture


def test_a_folder_gets_page_and_numbers_and_a_page_is_a_page(tmp_path):
    (tmp_path / "speech").mkdir()
    burst(tmp_path / "speech" / "a.wav", 0.3, 1.0)
    command = ["spans", "--source", f"folder:{tmp_path / 'speech'}", "--out"]
    result = CliRunner().invoke(app, [*command, str(tmp_path / "spans")])
    assert (result.exit_code, str(tmp_path / "spans" / "index.html") in result.stdout) == (0, True)
    assert sorted(path.name for path in (tmp_path / "spans").iterdir()) == [
        "histograms.svg", "index.html", "selected_clip_onset_times.csv", "summary.json",
    ]  # fmt: skip
    assert CliRunner().invoke(app, [*command, str(tmp_path / "one.html")]).exit_code == 0
    assert (tmp_path / "one.html").is_file()
