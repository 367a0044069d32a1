from dataclasses import replace

import numpy as np
import pytest
import soundfile

from builders.corpora.base import CorpusError
from builders.labelled import Division, LabelledClip, LabelledSource, plan_build
from builders.labelled.summary import summary_of
from otoscope.acoustics.codec import AudioError
from tests.builders.labelled.tiny_labelled import tone


def source_of(folder, rows, **more):
    """Rows are (number of the tone, label, split, speaker)."""
    clips = [
        LabelledClip(
            f"c{i}", tone(folder / f"{i}.wav", number), label, f"{i}.wav", split=split,
            speaker_id=speaker, cluster_id=speaker,
        )
        for i, (number, label, split, speaker) in enumerate(rows)
    ]  # fmt: skip
    return LabelledSource("Toy", "toy", ("a", "b"), tuple(clips), **more)


OFFICIAL = [
    (0, "a", "development", "s1"), (1, "b", "development", "s2"), (2, "a", "development", ""),
    (3, "a", "holdout", "s1"), (4, "b", "holdout", "s1"), (5, "b", "holdout", "s3"),
    (6, "a", "holdout", ""),
]  # fmt: skip


def test_holdout_rows_whose_speaker_is_in_development_are_counted(tmp_path):
    planned = plan_build(source_of(tmp_path, OFFICIAL))
    of = {overlap.what: overlap for overlap in planned.guard}
    assert of["speaker"].shared == ("s1",)
    assert (of["speaker"].n_rows, of["speaker"].n_holdout, of["speaker"].n_unknown) == (2, 4, 1)
    assert of["speaker"].outcome == "2 of 4 hold-out rows (1 in both), unknown for 1"
    assert of["audio"].outcome == "none"
    assert of["source recording"].outcome == "unknown"


def test_the_same_audio_in_both_splits_is_rejected_or_dropped(tmp_path):
    twice = [*OFFICIAL, (3, "a", "development", "s9")]
    with pytest.raises(CorpusError, match=r"3\.wav of hold-out is the same audio as 7\.wav of dev"):
        plan_build(source_of(tmp_path, twice))
    planned = plan_build(source_of(tmp_path, twice), drop_shared_audio=True)
    assert [s.clip.id for s in planned.plan.clips] == [f"c{i}" for i in range(7)]
    assert planned.skipped == (("7.wav", "the same audio as a hold-out clip"),)


def test_the_same_recording_in_another_format_and_with_two_channels_is_found(tmp_path):
    source = source_of(tmp_path, OFFICIAL)
    samples, rate = soundfile.read(tmp_path / "3.wav", dtype="int16")
    soundfile.write(tmp_path / "twin.flac", np.stack([samples, samples], axis=1), rate)
    twin = replace(source.clips[0], path=tmp_path / "twin.flac", file_name="twin.flac")
    with pytest.raises(CorpusError, match=r"is the same audio as twin\.flac"):
        plan_build(replace(source, clips=(twin, *source.clips[1:])))


def test_equal_audio_is_never_divided_by_hash(tmp_path):
    rows = [(i // 2, "ab"[i // 2 % 2], "", "") for i in range(24)]
    planned = plan_build(source_of(tmp_path, rows, division=Division(0.5)))
    split = {s.clip.id: s.clip.split for s in planned.plan.clips}
    assert all(split[f"c{i}"] == split[f"c{i + 1}"] for i in range(0, 24, 2))
    assert summary_of(planned)["classes"] == [
        {"label": "a", "counts": [6, 6]}, {"label": "b", "counts": [6, 6]},
    ]  # fmt: skip


def test_speakers_are_apart_where_that_is_wanted(tmp_path):
    rows = [(i, "ab"[i % 2], "", "") for i in range(24)]
    source = source_of(tmp_path, rows)
    clips = tuple(replace(c, speaker_id=f"s{i // 4}") for i, c in enumerate(source.clips))
    speakers = {}
    for apart in ((), ("speaker_id",)):
        made = replace(source, clips=clips, division=Division(0.5, apart=apart))
        guard = {overlap.what: overlap for overlap in plan_build(made).guard}
        speakers[apart] = len(guard["speaker"].shared)
    assert speakers[()] > 0
    assert speakers[("speaker_id",)] == 0


def test_the_same_clip_under_two_labels_is_rejected_or_skipped(tmp_path):
    rows = [*OFFICIAL, (0, "b", "development", "s1")]
    with pytest.raises(CorpusError, match=r"under two labels: '0\.wav \(a\)', '7\.wav \(b\)'"):
        plan_build(source_of(tmp_path, rows))
    planned = plan_build(source_of(tmp_path, rows), skip=True)
    assert [name for name, _ in planned.skipped] == ["0.wav", "7.wav"]


def test_one_clip_with_two_texts_may_have_two_labels(tmp_path):
    source = source_of(tmp_path, [*OFFICIAL, (0, "b", "development", "s1")])
    clips = [replace(clip, text=f"sentence {i}") for i, clip in enumerate(source.clips)]
    assert len(plan_build(replace(source, clips=tuple(clips))).plan.clips) == 8


def test_an_unreadable_clip_stops_or_is_skipped_by_name(tmp_path):
    source = source_of(tmp_path, OFFICIAL)
    (tmp_path / "2.wav").write_bytes(b"RIFF and nothing more")
    with pytest.raises(AudioError, match=r"2\.wav"):
        plan_build(source)
    planned = plan_build(source, skip=True)
    assert [name for name, _ in planned.skipped] == ["2.wav"]
    assert str(tmp_path) not in str(summary_of(planned)["skipped"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ("a",)}, "only 'a'"),
        ({"labels": ("a", "c")}, r"outside the set \['a', 'c'\]: 'b'"),
        ({"labels": ("a", "b", "c")}, "no clip has the label 'c'"),
        ({"labels": ("a", "b", "b")}, "the label 'b' is there twice"),
        ({"licence": "cc-by-4.0"}, "demands that whoever made"),
    ],
)
def test_a_source_that_is_no_closed_set_is_rejected(tmp_path, change, message):
    with pytest.raises(CorpusError, match=message):
        plan_build(replace(source_of(tmp_path, OFFICIAL), **change))


def test_a_split_without_a_class_is_rejected(tmp_path):
    rows = [row for row in OFFICIAL if row[1:3] != ("b", "holdout")]
    with pytest.raises(CorpusError, match="the split holdout has no clip with the label 'b'"):
        plan_build(source_of(tmp_path, rows))


def test_a_clip_that_changes_meanwhile_is_named(tmp_path):
    from builders.building.folder import BuildError
    from builders.labelled import build

    planned = plan_build(source_of(tmp_path / "in", OFFICIAL))
    tone(tmp_path / "in" / "4.wav", 99)
    with pytest.raises(BuildError, match=r"4\.wav has changed since it was read"):
        build(planned.plan, tmp_path / "out")


def test_clips_that_a_lossy_codec_brings_beyond_full_scale_are_counted(tmp_path):
    source = source_of(tmp_path, OFFICIAL)
    rng = np.random.default_rng(0)
    square = np.sign(rng.standard_normal(16_000)) * 0.999
    soundfile.write(tmp_path / "loud.ogg", square, 16_000, format="OGG", subtype="VORBIS")
    loud = replace(source.clips[0], path=tmp_path / "loud.ogg", file_name="loud.ogg")
    planned = plan_build(replace(source, clips=(loud, *source.clips[1:])))
    (note,) = summary_of(planned)["notes"]
    assert note.startswith("1 of 7 clips was beyond full scale after decoding")


def test_a_clip_too_long_for_a_row_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("builders.labelled.survey.MAX_FILE_BYTES", 1_000)
    with pytest.raises(AudioError, match=r"0\.wav: 0 s are too long for one row"):
        plan_build(source_of(tmp_path, OFFICIAL))
