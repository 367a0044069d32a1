"""What the bench of an encoder's layers prints, draws and resumes, with a tiny random Whisper."""

import math
import re
import sys
from types import SimpleNamespace

import pytest

from benchmarks import encoder_layers
from benchmarks.encoder_report import LayerResult, WindowRow, layer_table, window_text
from benchmarks.encoder_states import LayerSettings, clips_of, window_of
from benchmarks.recordings import recordings
from otoscope.statistics.intervals import Interval
from tests.builders.tiny_corpus import speak

WIDTH = 4


def written(root, n=6, duration_s=1.6):
    speak(root, n=n, duration_s=duration_s)
    for path in sorted(root.glob("*.wav")):
        path.rename(path.with_name(f"p{path.stem[4:]}_001.wav"))
    return root


def tiny_whisper(window_s):
    """An encoder of random weights, with windows of any length up to 6 s."""
    import torch
    from transformers import WhisperConfig, WhisperFeatureExtractor
    from transformers.models.whisper.modeling_whisper import WhisperEncoder as Layers

    from otoscope.representations.encoders.whisper import WhisperEncoder

    torch.manual_seed(0)
    config = WhisperConfig(
        vocab_size=20, d_model=WIDTH, encoder_layers=1, encoder_attention_heads=1,
        encoder_ffn_dim=8, num_mel_bins=8, max_source_positions=300,
    )  # fmt: skip
    extractor = WhisperFeatureExtractor(feature_size=8, chunk_length=6)
    return WhisperEncoder(Layers(config).eval(), extractor, {"name": "tiny"}, window_s)


def called(monkeypatch, *given):
    monkeypatch.setattr(sys, "argv", ["encoder_layers", *map(str, given)])
    encoder_layers.main(tiny_whisper)


SMALL = ("--categories", "volume,echo", "--curves", "linear", "--n-compared", 20)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_part_of_the_report_is_there_and_resumes(tmp_path, monkeypatch, capsys):
    pytest.importorskip("transformers")
    given = ("--speech", written(tmp_path / "speech"), "--out", tmp_path / "out", *SMALL)
    called(monkeypatch, *given)
    text = capsys.readouterr().out
    assert "6 recordings of 6 speakers, high tier: 24 clips of paper" in text
    header = "| category | mel | conv | layer 1 | cue |"
    assert text.count(header) == 2
    # twelve clips whose level rises or falls by itself: the cue says which, every time
    assert all(row.rstrip(" |").split("| ")[-1].startswith("100.0") for row in volume_rows(text))
    assert re.search(
        r"on the same 20 clips of paper: mean accuracies .* agree within 1 point", text
    )
    assert (tmp_path / "out" / "encoder_layers.png").read_bytes()[:4] == b"\x89PNG"
    states = sorted((tmp_path / "out" / "states").rglob("*.npz"))
    stamps = [path.stat().st_mtime_ns for path in states]
    called(monkeypatch, *given)
    assert capsys.readouterr().out == text
    assert [path.stat().st_mtime_ns for path in states] == stamps
    with pytest.raises(SystemExit):
        called(monkeypatch, *given, "--curves", "jump")
    assert "curves ['linear'], now ['jump']" in capsys.readouterr().err


def volume_rows(text):
    return [line for line in text.splitlines() if line.startswith("| volume |")]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--categories", "loudness"), "no 'loudness'"),
        (("--curves", "wavy"), "no 'wavy'"),
        (("--categories", "echo"), "--categories needs 2"),
        (("--encoder", "mfcc", "--window", "recording"), "only whisper-tiny.en has windows"),
        ((), "2 speakers in 2 recordings that count; 5 needed"),
    ],
)
def test_what_cannot_be_probed_is_named(tmp_path, monkeypatch, capsys, options, complaint):
    speech = written(tmp_path / "speech", n=2)
    with pytest.raises(SystemExit):
        called(monkeypatch, "--speech", speech, "--out", tmp_path / "out", *options)
    assert complaint in capsys.readouterr().err


def test_clips_are_those_of_the_high_tier_and_their_window_holds_them(tmp_path):
    (recorded, *_), _ = recordings([written(tmp_path, n=1)])
    settings = LayerSettings(("volume", "speaking_speed"), ("linear", "jump"), True, 0)
    clips = list(clips_of(recorded, "controlled", settings))
    rows = [clip.row for clip in clips]
    assert {(r["tier"], r["speaker_id"], r["profile"]) for r in rows} == {
        ("high", "p0", "controlled")
    }
    assert sorted({r["curve"] for r in rows}) == ["jump", "linear"]
    assert [r["label"] for r in rows] == [int(r["direction"] == "up") for r in rows]
    assert len({r["id"] for r in rows}) == len(rows) == 8
    longest = max(clip.audio.duration_s for clip in clips)
    assert window_of(clips) == math.ceil(longest + 1)
    assert window_of([SimpleNamespace(audio=SimpleNamespace(duration_s=3.0))]) == 4.0


@pytest.mark.parametrize(("own", "verdict"), [(0.80, "agree"), (0.76, "do not agree")])
def test_windows_agree_within_a_point(own, verdict):
    rows = [WindowRow("audio.0", "probe", "paper", 504, 0.9, 0.9)]
    rows.append(WindowRow("audio.4", "ridge", "paper", 504, 0.79, own))
    assert f"over categories {verdict} within 1 point" in window_text(rows)


def test_sites_are_in_the_order_of_the_audio():
    rate = {"accuracy": 0.5, "accuracy_low": 0.25, "accuracy_high": 0.75}
    rows = [
        {"category": "echo", "site": site, "method": "probe", **rate}
        for site in ("audio.1", "audio.0", "mel")
    ]
    lines = layer_table(LayerResult(rows, {"echo": Interval(1, 0.5, 1)}, 8, 0)).splitlines()
    assert lines[0] == "| category | mel | conv | layer 1 | cue |"
    assert lines[2].startswith("| echo | 50.0 [25.0, 75.0] |")
