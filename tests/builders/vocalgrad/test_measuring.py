"""What is measured of a build's clips: the files themselves, and no file twice."""

import io
import json
import os
import shutil
import signal
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile

from builders.building.finished import open_build
from builders.building.folder import BuildError
from builders.vocalgrad.finishing import confounds_text, finish
from builders.vocalgrad.measuring import measurement
from builders.vocalgrad.measuring.build_confounds import (
    CONFOUND_COLUMNS,
    ConfoundReport,
    auc_text,
    by_category,
    confound_report,
    joint_auc,
    worst,
)
from builders.vocalgrad.measuring.findings import store_findings, stored_findings
from builders.vocalgrad.measuring.measurement import (
    MeasuredClip,
    MeasuredShard,
    Measurement,
    measure_build,
)
from builders.vocalgrad.measuring.observer_accuracy import observer_report
from builders.vocalgrad.pages.heat import heat_table
from builders.vocalgrad.rendering.rows import build
from otoscope.acoustics.confounds import ConfoundRow, Confounds, JointRow, measured_in
from otoscope.acoustics.contrasts import contrasts
from otoscope.acoustics.measures import ClipAnalysis
from otoscope.acoustics.spans import Span
from otoscope.statistics.intervals import UNKNOWN, Interval
from tests.builders.tiny_corpus import planned, speak

CATEGORIES = ("volume", "audio_distortion")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """`(build, planned)` of two categories and two sources at 16 kHz."""
    root = tmp_path_factory.mktemp("measuring")
    wanted = planned(speak(root / "speech", n=2), categories=CATEGORIES)
    return build(wanted.plan, root / "vocalgrad"), wanted


@pytest.fixture(scope="module")
def measured(made):
    built, wanted = made
    return measure_build(wanted.plan, built.folder, verify="all")


def area(category, name, estimate, *, intended=False, unavoidable=None):
    auc = Interval(estimate, estimate - 0.1, min(1.0, estimate + 0.1))
    return ConfoundRow(category, name, intended, unavoidable, auc, 40, 5, {})


def made_up(estimate=0.9, together=0.8):
    """Level leaks, so must tempo, pitch cannot be measured, and modulation is intended."""
    values = dict.fromkeys(CONFOUND_COLUMNS, 0.5) | {"level": estimate, "tempo": 0.99}
    rows = [
        area(
            "voice_vibration", name, value,
            intended=name == "modulation", unavoidable="it stirs" if name == "tempo" else None,
        )
        for name, value in values.items()
    ]  # fmt: skip
    at = CONFOUND_COLUMNS.index("pitch")
    rows[at] = replace(rows[at], auc=UNKNOWN, n=0, n_not_measurable={"no voiced frame": 40})
    pair = (
        JointRow("voice_vibration", ("level", "tempo"), False, Interval(0.9, 0.8, 1.0), 40, 5),
        JointRow("voice_vibration", ("level",), True, Interval(together, 0.7, 0.9), 40, 5),
    )
    return Confounds(tuple(rows), pair)


REPORT = ConfoundReport("made up for a test", made_up(), Confounds((), ()))


def test_every_clip_is_measured_from_its_own_file(made, measured):
    built, _ = made
    assert len(measured.clips) == 2 * 2 * 24
    assert measured.basis == "every clip of the test split: 96 clips of 2 sources"
    table = pq.read_table(built.folder / "volume" / "test-00000-of-00001.parquet").to_pylist()
    for row, clip in zip(table, measured.clips, strict=False):
        samples, rate = soundfile.read(io.BytesIO(row["audio"]["bytes"]), dtype="int16")
        span = Span(round(row["span_start_s"] * rate), round(row["span_end_s"] * rate))
        found = contrasts(ClipAnalysis(samples, rate, span), measured_in("volume"))
        assert clip.contrasted[:5] == tuple(
            row[k] for k in ("category", "tier", "curve", "direction", "source_id")
        )
        assert clip.contrasted.value == pytest.approx(found.value, nan_ok=True)
        assert clip.contrasted.reason == found.reason


def test_clips_with_no_effect_have_no_contrasts_and_are_counted_by_the_observer(measured):
    # at 16 kHz two tiers of distortion hold nothing
    distorted = [clip for clip in measured.clips if clip.category == "audio_distortion"]
    assert {(c.tier, c.no_effect, c.contrasted is None) for c in distorted} == {
        ("low", True, True), ("mid", True, True), ("high", False, False),
    }  # fmt: skip
    rows = {(r.category, r.tier): r for r in observer_report(measured).rows}
    assert rows["audio_distortion", "low"].n_no_effect == 16
    areas = by_category(confound_report(measured).all_tiers.rows)
    assert areas["audio_distortion"]["level"].n == 16
    assert areas["volume"]["level"].n == 48


def test_the_published_denominator_has_clips_with_no_effect():
    # two of three right; of the two that do not change, a slope of 0 counts as falling
    slopes = [("up", 0.2, False), ("down", -0.1, False), ("up", -0.3, False),
              ("up", 0.0, True), ("down", 0.0, True)]  # fmt: skip
    clips = [
        MeasuredClip("volume", "low", direction, f"s{i}", no_effect, slope, None, None)
        for i, (direction, slope, no_effect) in enumerate(slopes)
    ]
    row, *_ = observer_report(Measurement("by hand", clips, {"volume": [0.0]})).rows
    assert (row.n, row.n_no_effect, row.alone.share) == (3, 2, pytest.approx(2 / 3))
    assert row.alone_of_all == pytest.approx(3 / 5)


def test_what_was_measured_is_not_measured_again(made, measured, monkeypatch):
    built, wanted = made

    def again(*_, **__):
        raise AssertionError("measured again")

    monkeypatch.setattr(measurement, "measure_shard", again)
    again = measure_build(wanted.plan, built.folder, verify="all")
    assert again.basis == measured.basis
    for one, other in zip(again.clips, measured.clips, strict=True):
        np.testing.assert_equal(one._asdict(), other._asdict())  # NaN equals NaN
    np.testing.assert_equal(again.source_slopes, measured.source_slopes)
    monkeypatch.setattr(measurement, "measures_sha256", lambda: "other measures")
    with pytest.raises(AssertionError, match="measured again"):
        measure_build(wanted.plan, built.folder, verify="all")


@pytest.mark.parametrize("damage", ["", "{}", '{"key": 1', '{"key": "x", "clips": [[1]]}'])
def test_a_damaged_cache_is_measured_again(made, measured, damage, monkeypatch):
    built, wanted = made
    (note,) = (built.folder / ".otoscope" / "measured").glob("*-8.json")
    complete = note.read_text()
    if "clips" in damage:
        damage = json.dumps(json.loads(damage) | {"key": json.loads(complete)["key"]})
    note.write_text(damage)
    part = MeasuredShard(measured.clips, measured.source_slopes)
    monkeypatch.setattr(measurement, "measure_shard", lambda *_, **__: part)
    measure_build(wanted.plan, built.folder, verify="all")
    assert note.read_text() == complete


@pytest.mark.parametrize("name", ["measures/levels.py", "gradients/volume.py", "contrasts.py"])
def test_the_hash_of_the_measures_follows_their_code(name, monkeypatch, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("one")
    monkeypatch.setattr(measurement.otoscope.acoustics, "__path__", [str(tmp_path)])
    before = measurement.measures_sha256.__wrapped__()
    path.write_text("two")
    assert measurement.measures_sha256.__wrapped__() != before


def test_nothing_is_measured_without_verification(made):
    built, wanted = made
    nothing = measure_build(wanted.plan, built.folder, verify="none")
    assert nothing == Measurement("not measured", [], {"volume": [], "audio_distortion": []})
    assert observer_report(nothing).rows == ()
    assert confound_report(nothing).all_tiers == Confounds((), ())


def test_a_sample_takes_all_conditions_equally_often():
    seen = [k for position in range(40) for k in measurement.sampled_conditions(position, 4)]
    assert set(np.bincount(seen)) == {20}


def test_the_card_s_table():
    head, _, row = REPORT.table.split("\n")
    cells = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    assert cells["level"] == "0.90 [0.80, 1.00]"
    assert cells["modulation"] == "intended"
    assert cells["pitch"] == "–"
    assert cells["tempo"] == "0.99 [0.89, 1.00] †"
    assert cells["all together"] == "0.90 [0.80, 1.00]"
    assert cells["avoidable together"] == "0.80 [0.70, 0.90]"
    assert cells["avoidable together, high tier |"] == "– |"
    assert REPORT.unavoidable == ["voice vibration, tempo: it stirs"]
    assert REPORT.not_measurable == ["voice vibration, pitch: 40 no voiced frame"]


def test_the_worst_confound_is_the_avoidable_one_farthest_from_a_half():
    rows = [
        area("echo", "level", 0.7), area("echo", "snr", 0.1), area("echo", "pitch", 0.8),
        area("echo", "modulation", 0.99, intended=True),
        area("echo", "bandwidth", 0.99, unavoidable="it is wide"),
        ConfoundRow("echo", "tempo", False, None, UNKNOWN, 0, 0, {}),
    ]  # fmt: skip
    assert worst(rows).name == "snr"
    assert worst(rows[3:]) is None


def test_the_terminal_says_the_worst_of_each_category():
    text = confounds_text(REPORT)
    (line,) = (line for line in text.split("\n") if "voice vibration" in line)
    cells = [cell.strip() for cell in line.strip("│").split("│")]
    everything, avoidable_only = "0.90 [0.80, 1.00]", "0.80 [0.70, 0.90]"
    assert cells == ["voice vibration", "level", "0.90 [0.80, 1.00]", everything, avoidable_only]


def test_cells_say_in_colour_what_they_say_in_words():
    (row,) = heat_table({"paper": made_up(0.2)})
    cells = dict(zip((*CONFOUND_COLUMNS, "together", "free"), row.cells, strict=True))
    assert cells["level"][:6] == ("0.20", "0.10–0.30", False, None, "below", 0.6)
    assert cells["modulation"][:6] == ("0.50", "0.40–0.60", True, None, "above", 0.0)
    assert cells["tempo"][:6] == ("0.99", "0.89–1.00", False, "it stirs", "above", 0.98)
    assert (cells["pitch"].number, cells["pitch"].n_missing) == ("–", 40)
    assert cells["together"].number == "0.90"
    assert cells["free"][:6] == ("0.80", "0.70–0.90", False, None, "above", 0.6)


def test_builds_stand_under_one_another():
    rows = heat_table({"paper": made_up(0.9), "controlled": made_up(0.5)})
    assert [(r.category, r.build) for r in rows] == [
        ("voice_vibration", "paper"),
        ("voice_vibration", "controlled"),
    ]


def test_findings_are_read_as_they_were_written(made, measured):
    built, wanted = made
    report, confounds = observer_report(measured), confound_report(measured)
    store_findings(built, wanted, report, confounds)
    found = stored_findings(built.folder)
    assert found.observer == report
    assert found.profile == "paper"
    assert len(found.sources) == 2
    assert [r.name for r in found.confounds.widest.rows] == [r.name for r in confounds.widest.rows]
    for one, other in zip(found.confounds.all_tiers.rows, confounds.all_tiers.rows, strict=True):
        np.testing.assert_equal(one, other)
    assert joint_auc(found.confounds.all_tiers, "nothing", avoidable_only=True) is UNKNOWN


def test_stored_findings_have_the_keys_of_version_0_1(made, measured):
    built, wanted = made
    store_findings(built, wanted, observer_report(measured), confound_report(measured))
    part = open_build(built.folder).findings["confounds"]["all_tiers"]
    assert "bound" in part["rows"][0]
    assert "free" in part["together"][0]


def test_a_folder_without_findings_is_named(tmp_path, made):
    with pytest.raises(BuildError, match=f"{tmp_path} holds no finished build"):
        stored_findings(tmp_path)
    built, wanted = made
    nothing = measure_build(wanted.plan, built.folder, verify="none")
    store_findings(built, wanted, observer_report(nothing), confound_report(nothing))
    with pytest.raises(
        BuildError, match="its clips were not measured; build it with --verify sample"
    ):
        stored_findings(built.folder)


def test_a_finished_build_says_so_everywhere(made):
    built, wanted = made
    output = finish(built, wanted, verify="all")
    areas = by_category(stored_findings(built.folder).confounds.all_tiers.rows)
    edges = areas["audio_distortion"]["edges"]
    assert edges.intended is False
    assert "Confounds: area under the ROC curve" in output
    card = (built.folder / "README.md").read_text()
    assert auc_text(edges.auc) in card[card.index("## Confounds") :]
    page = (built.folder / "index.html").read_text()
    assert page.count('data-confounds="audio_distortion"') == 2  # all tiers, and the high one
    assert page.count('data-confounds="volume"') == 2


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "audio"])
def test_a_damaged_file_is_named(made, tmp_path, damage):
    built, wanted = made
    folder = shutil.copytree(built.folder, tmp_path / "copy")
    shutil.rmtree(folder / ".otoscope" / "measured", ignore_errors=True)
    path = folder / "volume" / "test-00000-of-00001.parquet"
    data = path.read_bytes()
    path.write_bytes(data[:-100] if damage == "cut" else data.replace(b"fLaC", b"fLaX"))
    with pytest.raises(BuildError, match=rf"{path}: damaged \(.*\); run the same build again"):
        measure_build(wanted.plan, folder, verify="all")


def die(plan, folder, shard, *, n_each):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_is_one_line(made, monkeypatch):
    built, wanted = made
    two = SimpleNamespace(
        shards=[s for s in wanted.plan.shards if s.kind == "gradient"] * 2,
        of_split=wanted.plan.of_split, categories=wanted.plan.categories,
    )  # fmt: skip
    monkeypatch.setattr(measurement, "measure_cached", die)
    with pytest.raises(BuildError, match=r"a worker process was killed .* while measuring; all"):
        measure_build(two, built.folder, num_proc=2)


def test_two_processes_measure_what_one_measures(made, measured):
    built, wanted = made
    for note in (built.folder / ".otoscope" / "measured").iterdir():
        note.unlink()
    again = measure_build(wanted.plan, built.folder, verify="all", num_proc=2)
    np.testing.assert_equal(
        [c._asdict() for c in again.clips], [c._asdict() for c in measured.clips]
    )
