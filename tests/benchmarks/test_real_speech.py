"""What the real-speech command counts, and what it calls reached."""

import json
import re
import shutil
import sys

import numpy as np
import pytest
import soundfile

from benchmarks import real_speech
from benchmarks.real_speech import (
    ObserverRow,
    confound_table,
    missed,
    observer_table,
    observers,
    shows_nothing,
)
from benchmarks.recordings import MeasuredClip, MeasuredRecording, recordings
from builders.vocalgrad.measuring.observer_accuracy import Rate
from otoscope.acoustics.confounds import ClipContrasts, Confounds, measure_confounds, measured_in
from otoscope.acoustics.design import CONDITIONS
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.statistics.intervals import UNKNOWN, Interval
from tests.builders.tiny_corpus import speak


def written(root, n=3, **options):
    """Recordings of as many speakers."""
    speak(root, n=n, duration_s=2.0, **options)
    for path in sorted(root.glob("*.wav")):
        path.rename(path.with_name(f"p{path.stem[4:]}_001.wav"))
    return root


def measured_speakers(
    n_speakers=6, *, slope=lambda up, k: 2.0 * up - 1, leak=0.0, category="volume"
):
    """Made-up measures of one category at the high tier."""
    rng = np.random.default_rng(0)
    every = []
    for k in range(n_speakers):
        clips = []
        for condition in CONDITIONS[16:]:
            up = condition.direction == "up"
            row = np.linspace(-1, 1, 16) * (1 if up else -1) + 0.1 * rng.normal(size=16)
            value = {n: rng.normal() for n in measured_in(category)}
            value["pitch"] += leak * up
            moved = ClipContrasts(category, *condition, f"s{k}", value, {})
            clips.append(
                MeasuredClip(f"p{k}", slope(up, k), row, condition.direction if k else None, moved)
            )
        constants = dict.fromkeys(GRADIENTS, 0.0 if k else 100.0)
        every.append(MeasuredRecording(f"p{k}", constants, {"paper": clips}, {}))
    return every


def test_what_counts_as_a_recording(tmp_path, capsys):
    root = written(tmp_path / "speech", n=2)
    shutil.copy(root / "p0_001.wav", root / "p9_001.wav")
    rate = 16_000
    soundfile.write(root / "p3_001.wav", np.zeros(rate), rate)
    speak(tmp_path / "short", n=1, duration_s=0.9)
    (root / "p4_001.wav").write_bytes(b"RIFF, and nothing else")
    found, without = recordings([root, tmp_path / "short"])
    assert [(r.name, r.speaker) for r in found] == [("p0_001", "p0"), ("p1_001", "p1")]
    assert without == {
        "the same samples as another": 1, "no speech found": 1, "not readable": 1,
        "less than 1 s of speech": 1,
    }  # fmt: skip
    assert re.search(r"left out: \S+p4_001.wav: ", capsys.readouterr().err)


def test_a_speaker_s_own_recordings_do_not_set_their_constant():
    # p0's own slope of 100 is the median of nobody else's clips, and the others' is 0
    (row,) = observers(measured_speakers(), "paper")
    assert row.slope.share == 1.0
    # one speaker in six is never named with the source
    assert row.with_source.share == pytest.approx(5 / 6)
    assert row.fitted.share == 1.0
    assert (row.n, row.n_unanswered, row.tier) == (48, 0, "high")


def test_what_is_not_measured_is_not_right():
    (row,) = observers(
        measured_speakers(slope=lambda up, k: np.nan if k < 3 else 2.0 * up - 1), "paper"
    )
    assert row.n_unanswered == 24
    assert row.slope.share == 0.5


@pytest.mark.parametrize(
    ("auc", "expected"),
    [
        ((0.5, 0.41, 0.59), True),
        ((0.5, 0.39, 0.59), False),
        ((0.53, 0.51, 0.549), True),
        ((0.53, 0.51, 0.56), False),
        ((0.9, 0.8, 1.0), False),
        (UNKNOWN, True),
    ],
)
def test_which_areas_may_be_called_one_half(auc, expected):
    assert shows_nothing(Interval(*auc)) is expected


def test_targets_missed_are_named_with_their_figures():
    low = Rate(0.5, 0.4, 0.6)
    rows = [ObserverRow("controlled", "voice_pitch", "high", 8, 0, Rate(0.78, 0.7, 0.85), low, low)]
    areas = measure_confounds(
        [c.contrasted for h in measured_speakers(leak=9.0) for c in h.clips["paper"]]
    )
    lines = missed(rows, areas, "controlled")
    assert lines[:2] == [
        "voice pitch, fitted: 50.0 [40.0, 60.0] of 90",
        "voice pitch, with source: 50.0 [40.0, 60.0] of 99",
    ]
    assert any(line.startswith("volume, pitch: 1.00 [") for line in lines[2:])
    assert not any(line.startswith("volume, level") for line in lines)


def test_the_tables_have_a_column_or_a_line_for_each_profile():
    clips = [c.contrasted for h in measured_speakers(leak=9.0) for c in h.clips["paper"]]
    areas = measure_confounds(clips)
    table = confound_table({"paper": areas, "controlled": areas, "none": Confounds((), ())})
    head, _, *lines = [[c.strip() for c in row.split("|")[1:-1]] for row in table.split("\n")]
    assert [line[:2] for line in lines] == [["volume", "paper"], ["volume", "controlled"]]
    assert lines[0][head.index("level")] == "intended"
    assert lines[0][head.index("pitch")].startswith("**1.00 [")
    table = observer_table(observers(measured_speakers(), "paper"), ["paper", "controlled"], "high")
    head, _, *lines = [[c.strip() for c in row.split("|")[1:-1]] for row in table.split("\n")]
    assert len(lines) == len(GRADIENTS)
    assert lines[0][head.index("slope, paper")].startswith("100.0 [")
    assert lines[0][head.index("slope, controlled")] == "–"


@pytest.fixture
def call(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["real_speech", *map(str, arguments)])
        real_speech.main()
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--profile", "papers"], "no profile named 'papers'; there are"),
        (["--tier", "highest"], "no tier named 'highest'; there are"),
        ([], "2 speakers in 2 recordings that count; 3 needed"),
    ],
)
def test_what_is_not_available_is_named(call, capsys, tmp_path, arguments, complaint):
    with pytest.raises(SystemExit):
        call("--speech", written(tmp_path / "speech", n=2), *arguments)
    assert complaint in capsys.readouterr().err


def test_a_folder_that_is_none(call, capsys, tmp_path):
    with pytest.raises(SystemExit):
        call("--speech", tmp_path / "nothing")
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_says_and_keeps_every_figure(call, tmp_path):
    out = tmp_path / "figures.json"
    root = written(tmp_path / "speech", n=3, sampling_rate=8_000)
    output = call("--speech", root, "--profile", "paper", "--out", out)
    assert output.startswith("3 recordings of 3 speakers, high tier (")
    kept = json.loads(out.read_text())
    assert kept["n_recordings"] == 3
    # at 8 kHz nothing is held for 6 kHz
    assert kept["n_idle"] == {"paper": {"audio_distortion": 24}}
    assert "Nothing would change in, of paper: 24 of audio distortion." in output
    assert len(kept["observers"]) == len(GRADIENTS) - 1
    level = next(
        row
        for row in kept["confounds"]["paper"]["high"]["rows"]
        if (row["category"], row["name"]) == ("voice_vibration", "level")
    )
    assert level["n"] == 24
    assert f"{level['auc'][0]:.2f} [" in output
