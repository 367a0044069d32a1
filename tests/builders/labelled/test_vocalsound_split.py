import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from builders.corpora.base import CorpusError
from builders.labelled import plan_build
from builders.vocalsound_split.__main__ import app
from builders.vocalsound_split.fresh import fresh_source
from builders.vocalsound_split.names import parse_name
from builders.vocalsound_split.original import fresh_clips, open_original
from builders.vocalsound_split.published import open_published, published_source
from otoscope.acoustics.codec import AudioError
from tests.builders.labelled.tiny_labelled import (
    SPELLINGS,
    parquet_copy,
    tone,
    vocal_names,
    vocal_rows,
)
from tests.hub_server import Hub, files_of

ROOT = Path(__file__).parents[3]
LABELS = ("laughter", "sigh", "cough", "sneeze", "sniff", "throat clearing")
ROWS = (24, 36)  # of development and in all: four and two speakers of six clips each


def published(tmp_path, rows=None, **options):
    rows = vocal_rows(vocal_names(6)) if rows is None else rows
    folder = parquet_copy(tmp_path / "copy", rows)
    return open_published(str(folder), rows=ROWS, work_folder=tmp_path / "work", **options)


def originals(folder, names, *, first=0):
    for i, name in enumerate(names):
        tone(folder / "audio_16k" / name, first + i, duration_s=0.02)
    return folder


def test_a_name_says_speaker_session_and_class():
    assert parse_name("f2641_0_throatclearing.wav") == ("f2641", "f2641_0", "throat clearing")
    assert parse_name("a/m0003_1_cough.flac") == ("m0003", "m0003_1", "cough")
    for name in ("m15_0_cough.wav", "x0003_0_cough.wav", "f0003_0_speech.wav", "f0003_cough.wav"):
        assert parse_name(name) is None


def test_the_first_rows_are_development_and_speakers_are_clusters(tmp_path):
    source = published_source(published(tmp_path))
    assert [clip.split for clip in source.clips] == ["development"] * 24 + ["holdout"] * 12
    assert [clip.label for clip in source.clips[:6]] == list(LABELS)
    assert source.labels == LABELS
    assert (source.clips[7].speaker_id, source.clips[7].cluster_id) == ("m0001", "m0001")
    assert source.clips[7].source_id == "m0001_0"
    assert "'Throat clearing' is throat clearing" in source.notes[1]
    assert "known for 36 of 36 rows, 36 by the file name." in source.notes[2]
    guard = {overlap.what: overlap for overlap in plan_build(source).guard}
    assert (guard["speaker"].n_rows, guard["speaker"].n_unknown) == (0, 0)


def shared_speakers():
    """One row of hold-out, the sigh of the fifth speaker, is said to be by the first."""
    names = vocal_names(6)
    names[25] = "f0000_1_sigh.wav"
    return vocal_rows(names)


def test_shared_speakers_are_counted_and_may_be_left_out(tmp_path):
    found = published(tmp_path, shared_speakers())
    guard = {overlap.what: overlap for overlap in plan_build(published_source(found)).guard}
    assert (guard["speaker"].n_rows, guard["speaker"].shared) == (1, ("f0000",))
    planned = plan_build(published_source(found, speaker_disjoint=True))
    assert Counter(s.clip.split for s in planned.plan.clips) == {"development": 18, "holdout": 12}
    assert {s.clip.speaker_id for s in planned.plan.of_split("development")} == {
        "m0001", "f0002", "m0003",
    }  # fmt: skip
    assert len(planned.skipped) == 6
    assert "the 6 rows whose speaker" in planned.source.notes[3]


def renamed():
    """Rows whose files have lost their names."""
    return [row | {"file": f"clip_{i}.wav"} for i, row in enumerate(vocal_rows(vocal_names(6)))]


def test_rows_without_names_are_looked_up_by_audio(tmp_path):
    originals(tmp_path / "vs", vocal_names(5))  # not of the sixth speaker
    found = published(tmp_path, renamed(), original=open_original(tmp_path / "vs"))
    assert [clip.speaker_id for clip in found.clips[:6]] == ["f0000"] * 6
    assert [clip.cluster_id for clip in found.clips[29:]] == [
        "f0004", *[""] * 6,
    ]  # fmt: skip
    assert "known for 30 of 36 rows, 0 by the file name, 30 by audio among 30" in found.notes[2]
    assert "unknown for 6" in found.notes[2]
    assert "a cluster of its own" in found.notes[2]


def test_without_names_and_originals_every_row_is_a_cluster(tmp_path):
    found = published(tmp_path, renamed())
    assert len({clip.cluster for clip in found.clips}) == 36
    assert "known for 0 of 36 rows" in found.notes[2]
    with pytest.raises(CorpusError, match="--speaker-disjoint: no row says who is heard"):
        published_source(found, speaker_disjoint=True)


def one_label(word, at=2):
    rows = vocal_rows(vocal_names(6))
    rows[at]["label"] = word
    return rows


FAULTS = {
    "a missing row": (vocal_rows(vocal_names(6))[:-1], "has 35 rows, and the published set 36"),
    "another label": (one_label("Speech"), "'Speech' is none of them"),
    "a class missing": (
        [row for row in vocal_rows(vocal_names(8)) if row["label"] != "Sniff"][:36],
        "no row has 'sniff'",
    ),
    "a name that says another class": (
        one_label("Sneeze"), r"row-00002: the label is 'sneeze', and the original file .*'cough'",
    ),
    "no labels": (
        [{"file": row["file"], "audio": row["audio"]} for row in vocal_rows(vocal_names(6))],
        "no column 'label'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_not_the_published_set_is_named(tmp_path, fault):
    rows, message = FAULTS[fault]
    with pytest.raises(CorpusError, match=message):
        published(tmp_path, [dict(row) for row in rows])


def test_a_row_that_cannot_be_decoded_is_named(tmp_path):
    found = published(tmp_path)
    found.clips[3].path.write_bytes(b"RIFF")
    with pytest.raises(AudioError, match="f0000_0_sneeze"):
        plan_build(published_source(found))


def test_the_same_audio_under_two_labels_names_both(tmp_path):
    rows = vocal_rows(vocal_names(6))
    rows[1]["audio"] = rows[0]["audio"]
    with pytest.raises(CorpusError, match=r"f0000_0_laughter.wav \(laughter\)"):
        plan_build(published_source(published(tmp_path, rows)))


def test_a_fresh_holdout_has_unseen_speakers_and_every_class_alike(tmp_path):
    originals(tmp_path / "vs", vocal_names(20))
    original = open_original(tmp_path / "vs")
    planned = plan_build(fresh_source(published(tmp_path), original, 12))
    held = planned.plan.of_split("holdout")
    assert Counter(s.clip.label for s in held) == dict.fromkeys(LABELS, 2)
    assert len({s.clip.speaker_id for s in held}) == 12
    published_speakers = {name[:5] for name in vocal_names(6)}
    assert not {s.clip.speaker_id for s in held} & published_speakers
    assert len(planned.plan.of_split("development")) == 24
    guard = {overlap.what: overlap for overlap in planned.guard}
    assert (guard["speaker"].n_rows, guard["speaker"].n_unknown) == (0, 0)
    assert (
        "12 clips of the original VocalSound, 2 of each class, by 12 of"
        in (planned.source.notes[-2])
    )


def test_speakers_give_a_second_clip_once_all_gave_one(tmp_path):
    original = open_original(originals(tmp_path / "vs", vocal_names(3)))
    counted = Counter(clip.speaker_id for clip in fresh_clips(original, 12, seen=()))
    assert sorted(counted.values()) == [4, 4, 4]
    assert fresh_clips(original, 6, seen=()) != fresh_clips(original, 6, seen=(), seed=1)


@pytest.mark.parametrize(
    ("n", "message"), [(8, "must be a multiple of 6"), (24, "at most 18 can be had")]
)
def test_a_fresh_holdout_that_cannot_be_is_rejected(tmp_path, n, message):
    original = open_original(originals(tmp_path / "vs", vocal_names(3)))
    with pytest.raises(CorpusError, match=message):
        fresh_clips(original, n, seen=())


def test_nobody_is_unseen_where_speakers_are_unknown(tmp_path):
    original = open_original(originals(tmp_path / "vs", vocal_names(3, first=50), first=500))
    with pytest.raises(CorpusError, match="speaker of 36 of 36 published rows is unknown"):
        fresh_source(published(tmp_path, renamed()), original, 6)


def test_originals_with_other_names_or_twice_are_named(tmp_path):
    folder = originals(tmp_path / "vs", vocal_names(1))
    tone(folder / "audio_16k" / "m15_0_cough.wav", 9)
    with pytest.raises(CorpusError, match=r"m15_0_cough[.]wav is not a name of VocalSound"):
        open_original(folder)
    assert len(open_original(folder, skip=True).skipped) == 1
    (folder / "audio_16k" / "m15_0_cough.wav").unlink()
    tone(folder / "audio_44k" / vocal_names(1)[0], 9)
    with pytest.raises(CorpusError, match=r"f0000_0_laughter[.]wav is there twice"):
        open_original(folder)


def run(*arguments):
    result = CliRunner().invoke(app, ["build", "--out", "none", "--dry-run", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split())


def test_an_archive_of_the_original_is_to_be_unpacked(tmp_path):
    (tmp_path / "vocalsound_16k.zip").write_bytes(b"PK")
    code, printed = run("--original", tmp_path)
    assert code == 2
    assert "unpack vocalsound_16k.zip there first" in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--fresh-holdout", 720), "needs the original VocalSound"),
        (("--fresh-holdout", 6, "--original", ".", "--speaker-disjoint"), "has unseen speakers"),
        (("--seed", 1), "--seed is for --fresh-holdout"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    code, printed = run(*options)
    assert code == 2
    assert message in printed


@pytest.mark.slow
def test_the_dataset_comes_from_the_hub_at_its_revision(tmp_path):
    folder = parquet_copy(tmp_path / "copy", vocal_rows(vocal_names(120)))
    with Hub() as hub:
        revision = hub.commit("DynamicSuperb/VocalSoundRecognition_VocalSound", files_of(folder))
        dataset = f"DynamicSuperb/VocalSoundRecognition_VocalSound@{revision}"
        done = subprocess.run(
            [
                sys.executable, "-m", "builders.vocalsound_split", "build", "--from", dataset,
                "--out", str(tmp_path / "out"), "--num-proc", "1",
            ],
            env=hub.environment(tmp_path), cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    card = (tmp_path / "out" / "README.md").read_text()
    assert f"at revision {revision}, split test, 720 rows" in card
    assert all(f"{word!r} is " in card for word in SPELLINGS.values())
