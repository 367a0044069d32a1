"""Builds of a few short clips: the same bytes every time, and one clear line for each mishap."""

import contextlib
import errno
import hashlib
import io
import json
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile

from builders.building import build_folder as build_module
from builders.building import shards
from builders.building.finished import open_build
from builders.building.folder import BuildError
from builders.building.shards import record_path, write_shard
from builders.corpora.base import Corpus, CorpusError, SourceClip
from builders.corpora.folder import open_folder
from builders.vocalgrad.planning import plan as plan_module
from builders.vocalgrad.planning.build_plan import plan_build
from builders.vocalgrad.planning.corrections import Correction, read_corrections
from builders.vocalgrad.planning.plan import GENERATOR_VERSION, MAX_CLIP_BYTES
from builders.vocalgrad.planning.survey import survey
from builders.vocalgrad.rendering.rows import RECIPE, build
from otoscope.acoustics.spans import DEFAULT_POLICIES, Policy, Problem
from tests.builders.tiny_corpus import (
    built_from,
    contents,
    leftovers,
    one_beep,
    planned,
    speak,
)


@pytest.fixture
def speech(tmp_path):
    return speak(tmp_path / "speech")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "vocalgrad"


@pytest.fixture
def many_shards(monkeypatch):
    """One source a shard, as in a build of many sources."""
    monkeypatch.setattr(plan_module, "MAX_SOURCES_PER_SHARD", 1)


def stamps(folder):
    return {
        path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.rglob("*.parquet")
    }


def finished_stamps(folder):
    """Those of finished shards: a file that was moved before its shard's record is made again."""
    records = (folder / ".otoscope" / "shards").glob("*.json")
    named = {folder / name for path in records for name in json.loads(path.read_text())["files"]}
    return {path: stamp for path, stamp in stamps(folder).items() if path in named}


class TestBytes:
    def test_the_same_for_one_worker_and_two_and_on_every_run(self, speech, tmp_path):
        beeps = one_beep(tmp_path / "beeps")
        one, two, again = (tmp_path / name / "vocalgrad" for name in ("one", "two", "again"))
        built_from(speech, one, beeps=beeps)
        built_from(speech, two, beeps=beeps, num_proc=2)
        built_from(speech, again, beeps=beeps)
        assert contents(one) == contents(two) == contents(again)
        assert set(contents(one)) >= {"README.md", "volume/test-00000-of-00001.parquet"}

    def test_they_do_not_depend_on_where_the_sources_lie(self, speech, tmp_path):
        built_from(speech, tmp_path / "a" / "vocalgrad")
        moved = shutil.copytree(speech, tmp_path / "elsewhere" / "speech")
        built_from(moved, tmp_path / "b" / "vocalgrad")
        assert contents(tmp_path / "a") == contents(tmp_path / "b")

    def test_nothing_is_made_twice(self, speech, out):
        first = built_from(speech, out)
        before = stamps(out)
        second = built_from(speech, out)
        assert (first.n_rows_made, second.n_rows_made) == (3 * 24 * 2 + 3, 0)
        assert stamps(out) == before
        assert second.files == first.files

    @pytest.mark.usefixtures("many_shards")
    def test_only_what_is_damaged_is_made_again(self, speech, out):
        built_from(speech, out)
        complete, before = contents(out), stamps(out)
        cut, gone = sorted((out / "volume").glob("*"))[:2]
        cut.write_bytes(cut.read_bytes()[:1000])
        gone.unlink()
        record = out / ".otoscope" / "shards" / "source_test-00000-of-00001.json"
        record.write_text("[]")
        again = built_from(speech, out)
        assert again.n_rows_made == 2 * 48 + 3
        assert contents(out) == complete
        kept = [p for p in before if "00002-of-00003" in p.name]
        assert [stamps(out)[p] for p in kept] == [before[p] for p in kept]

    @pytest.mark.parametrize("damage", ["flipped", "zeros"])
    def test_a_file_of_the_same_length_and_other_content_is_made_again(self, speech, out, damage):
        built_from(speech, out)
        complete, before = contents(out), stamps(out)
        path = out / "volume" / "test-00000-of-00001.parquet"
        data = path.read_bytes()
        changed = data[:5000] + bytes([data[5000] ^ 1]) + data[5001:]
        path.write_bytes(changed if damage == "flipped" else bytes(len(data)))
        with pytest.raises(BuildError, match=rf"{path} is gone or is not as it was written; run"):
            open_build(out)
        again = built_from(speech, out)
        assert again.build.changed == ("volume/test-00000-of-00001.parquet",)
        assert contents(out) == complete
        source = out / "source" / "test-00000-of-00001.parquet"
        assert stamps(out)[source] == before[source]
        assert built_from(speech, out).build.changed == ()

    @pytest.mark.usefixtures("many_shards")
    def test_a_shard_is_finished_with_its_record_and_not_before(self, speech, out, monkeypatch):
        """The disk is full as the second of its two files is moved into place."""
        moved, move = [], os.replace

        def full(source, target):
            if len([path for path in moved if path.suffix == ".parquet"]) == 3:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
            move(source, target)
            moved.append(Path(target))

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", full)
            with pytest.raises(BuildError, match="the disk is full; finished shards stay"):
                built_from(speech, out)
        first, second, third = (path for path in moved if path.suffix == ".parquet")
        before = stamps(out)
        assert finished_stamps(out).keys() == {first, second}
        data = third.read_bytes()
        built_from(speech, out)
        after = stamps(out)
        assert (after[first], after[second]) == (before[first], before[second])
        assert after[third] != before[third]
        assert third.read_bytes() == data

    def test_what_is_called_finished_has_reached_the_disk(self, speech, out, monkeypatch):
        order, move, sync = [], os.replace, os.fsync

        def note_sync(handle):
            order.append(("sync", os.fstat(handle).st_ino))
            sync(handle)

        def note_move(source, target):
            order.append(("move", os.stat(source).st_ino))
            move(source, target)

        monkeypatch.setattr(os, "fsync", note_sync)
        monkeypatch.setattr(os, "replace", note_move)
        built = built_from(speech, out)
        for path in built.files:
            inode, folder = (out / path).stat().st_ino, (out / path).parent.stat().st_ino
            assert order.index(("sync", inode)) < order.index(("move", inode))
            assert order.index(("move", inode)) < order.index(("sync", folder))
        record = record_path(out, planned(speech)[0].shards[-1]).stat().st_ino
        last = max(order.index(("move", (out / path).stat().st_ino)) for path in built.files)
        assert order.index(("move", record)) > order.index(("sync", record)) > last

    def test_what_a_killed_run_left_is_cleared_away(self, speech, out):
        built_from(speech, out)
        complete = contents(out)
        making = out / ".otoscope" / "making" / "volume_test-00000-of-00001.abc"
        making.mkdir(parents=True)
        (making / "volume.parquet").write_bytes(b"half")
        (out / ".otoscope" / "making" / ".README.md.abc").write_text("half")
        record = record_path(out, planned(speech)[0].shards[0])
        record.unlink()
        built_from(speech, out)
        assert contents(out) == complete
        assert leftovers(out) == []

    def test_a_reader_never_meets_half_a_file(self, speech, out, tmp_path, monkeypatch):
        reference = tmp_path / "reference" / "vocalgrad"
        built_from(speech, reference)
        complete, moved, move = contents(reference), [], os.replace

        def watched(source, target):
            met = {p: data for p, data in contents(out).items() if p.endswith(".parquet")}
            assert met.items() <= complete.items()
            move(source, target)
            moved.append(target)

        monkeypatch.setattr(os, "replace", watched)
        built_from(speech, out)
        assert contents(out) == complete
        assert set(moved) >= {out / path for path in complete}

    def test_the_last_breath_of_a_killed_build_does_no_harm(self, speech, out):
        """A worker outlives its build by a moment, while the next build makes the same shard."""
        plan, _, _ = planned(speech)
        (index,) = [i for i, s in enumerate(plan.shards) if s.kind == "gradient"]
        n_rows = 0

        def successor_begins():
            nonlocal n_rows
            n_rows += 1
            if n_rows == 100:
                write_shard(RECIPE, plan, index, out)
                made.update(contents(out))

        made: dict[str, bytes] = {}
        write_shard(RECIPE, plan, index, out, on_row=successor_begins)
        assert contents(out) == made
        for path in made:
            assert pq.read_metadata(out / path).num_rows == 72


class TestSpans:
    def test_corrections_win_and_leave_out(self, speech, tmp_path, out):
        page = tmp_path / "corrections.csv"
        page.write_bytes(
            b"\xef\xbb\xbfclip_id,onset_sec,offset_sec,drop\n"  # as a spreadsheet saves it
            b"clip0,0.3,1.1,\nclip2,,,yes\n"
        )
        corrections = read_corrections(page)
        built = built_from(speech, out, corrections=corrections)
        rows = pq.read_table(out / "source").to_pylist()
        found = [(r["source_id"], r["span_start_s"], r["span_origin"]) for r in rows]
        assert found[0] == ("clip0", 0.3, "corrected")
        assert found[1][2] != "corrected"
        assert built.survey.dropped == (("clip2", "left out by a correction"),)
        assert built.survey.rejected == ()
        assert "clip2" in (out / "README.md").read_text()

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("clip_id,onset_sec\nclip0,1\n", r"lacks the column\(s\) \['offset_sec'\]"),
            (
                "clip_id,onset_sec,offset_sec\nclip0,1,2\nclip0,1,2\n",
                "line 3: 'clip0' appears twice",
            ),
            ("clip_id,onset_sec,offset_sec\nclip0,a,2\n", "line 2: times must be numbers"),
            ("clip_id,onset_sec,offset_sec\nclip0,1\n", "line 2: times must be numbers"),
            ("clip_id,onset_sec,offset_sec\nclip0,0,inf\n", "line 2: times must be numbers"),
            ("clip_id,onset_sec,offset_sec\nclip0,nan,1\n", "line 2: times must be numbers"),
            ("clip_id,onset_sec,offset_sec,drop\nclip0,0,1,maybe\n", "line 2: drop must be `yes`"),
            ("clip_id,onset_sec,offset_sec\nclip0,0,1,yes\n", "line 2 has more cells"),
            ('clip_id,onset_sec,offset_sec\n"clip0,1,2\n', "not a readable CSV"),
            ("", "lacks the column"),
        ],
    )
    def test_corrections_that_cannot_be_read(self, tmp_path, text, complaint):
        page = tmp_path / "corrections.csv"
        page.write_text(text)
        with pytest.raises(CorpusError, match=complaint):
            read_corrections(page)

    def test_corrections_that_are_no_text_or_not_there(self, tmp_path):
        page = tmp_path / "corrections.csv"
        page.write_bytes(b"clip_id,onset_sec,offset_sec\n\xff\xfe,1,2\n")
        with pytest.raises(CorpusError, match=r"corrections\.csv is not UTF-8 text"):
            read_corrections(page)
        with pytest.raises(CorpusError, match=r"absent\.csv: No such file"):
            read_corrections(tmp_path / "absent.csv")

    def test_a_correction_may_name_a_source_beyond_the_limit_but_not_a_stranger(self, speech):
        of_last = {"clip2": Correction((0.2, 1.0))}
        plan, _, _ = planned(speech, corrections=of_last, limit_sources=1)
        assert [s.source.clip_id for s in plan.sources] == ["clip0"]
        with pytest.raises(CorpusError, match=r"not among the sources: \['clip9'\]"):
            planned(speech, corrections={"clip9": Correction(None)})

    @pytest.mark.parametrize("span_s", [(0.5, 1.4), (-0.1, 1), (1, 1), (0, float("inf")), (2, 3)])
    def test_a_span_outside_the_clip_is_rejected(self, speech, span_s):
        with pytest.raises(
            BuildError, match=r"clip1\.wav: span .* is not within the clip's 1\.3 s"
        ):
            planned(speech, corrections={"clip1": Correction(span_s)})

    @pytest.mark.parametrize("length_s", [2 / 16_000, 0.05, 0.0999])
    def test_a_correction_too_short_for_speech_is_rejected(self, speech, length_s):
        complaint = r"clip1\.wav: the correction, 0\.5 to 0\.5\d* s, is shorter than 0\.1 s"
        with pytest.raises(BuildError, match=complaint):
            planned(speech, corrections={"clip1": Correction((0.5, 0.5 + length_s))})
        plan, _, _ = planned(speech, corrections={"clip1": Correction((0.5, 0.6))})
        assert plan.sources[1].span == (8_000, 9_600)

    @pytest.mark.parametrize("problem", [Problem.NOTHING_FOUND, Problem.SHORT])
    def test_a_policy_that_does_not_answer_its_problem(self, speech, problem):
        policies = DEFAULT_POLICIES | {problem: Policy.QUIETEST_FLOOR}
        with pytest.raises(
            CorpusError, match=f"answers speech_from_first_frame only, not {problem}"
        ):
            planned(speech, policies=policies)

    @pytest.mark.parametrize(
        ("policy", "origin"), [(Policy.KEEP, "kept"), (Policy.WHOLE_CLIP, "whole_clip")]
    )
    def test_the_policy_taken_is_recorded(self, speech, policy, origin):
        plan, survey, _ = planned(speech, policies=DEFAULT_POLICIES | {Problem.SHORT: policy})
        assert {s.span_origin for s in plan.sources} == {origin}
        assert [s.name for s in survey.doubtful] == ["clip0", "clip1", "clip2"]
        complete = origin == "whole_clip"
        assert all((s.span == (0, s.n_samples)) == complete for s in plan.sources)


def wav(path, samples, rate=16_000, **options):
    soundfile.write(path, samples, rate, format="WAV", **options)


def cut_short(path):
    wav(path, np.full(16_000, 0.1))
    path.write_bytes(path.read_bytes()[:9000])


UNUSABLE = {
    "empty": (lambda p: p.write_bytes(b""), "holds no samples: an empty file"),
    "no_sound": (lambda p: p.write_text("<html>not found</html>"), "not readable as audio"),
    "header_only": (lambda p: wav(p, np.zeros(0)), "holds no samples"),
    "cut_short": (cut_short, "cut short"),
    "silent": (lambda p: wav(p, np.zeros(16_000)), "no usable span of speech"),
    "one_sample": (lambda p: wav(p, [0.5]), "no usable span of speech"),
    "nan": (lambda p: wav(p, [0.1, np.nan] * 9000, subtype="FLOAT"), "NaN or infinite"),
    "too_loud": (lambda p: wav(p, [0.1, 1.5] * 9000, subtype="FLOAT"), "beyond full scale"),
    "too_fast": (lambda p: wav(p, np.zeros(9000), rate=768_000), "768000 Hz; FLAC holds at most"),
    "too_long": (lambda p: wav(p, np.ones(15_100_000), subtype="PCM_U8"), "too long for one row"),
    "folder_link": (lambda p: p.symlink_to(p.with_name("nowhere")), "No such file"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_file_is_named_and_left_out_on_demand(speech, out, name):
    damage, complaint = UNUSABLE[name]
    (speech / "clip1.wav").unlink()
    damage(speech / "clip1.wav")
    options = {"categories": ["volume"]}
    sources = tuple(
        SourceClip(f"clip{i}", f"clip{i}", "test", i, speech / f"clip{i}.wav") for i in range(3)
    )
    corpus = Corpus("x", "cc0-1.0", "", None, False, sources)
    if name == "too_long":
        span = {"clip1": Correction((0, 1))}  # the search for a span would find none
        options["corrections"] = span
    with pytest.raises(
        BuildError, match=rf"1 of 3 sources cannot be used:\n.*clip1\.wav: .*{complaint}"
    ):
        plan_build(corpus, **options)
    plan, survey, _ = plan_build(corpus, **options, on_error="skip")
    built = build(plan, out)
    assert {s.source.clip_id for s in plan.sources} == {"clip0", "clip2"}
    assert complaint in survey.rejected[0].reason
    assert built.n_rows_made == 2 * 24 + 2


def test_sources_that_cannot_be_used_are_separated_in_one_line(speech):
    for name in ("clip0.wav", "clip2.wav"):
        (speech / name).write_bytes(b"text")
    with pytest.raises(BuildError) as raised:
        planned(speech)
    one_line = " ".join(str(raised.value).split())
    reasons = "; ".join(
        f"{speech / name}: not readable as audio: none of WAV, FLAC, Ogg, MP3, AIFF, AU, CAF, W64 "
        "or NIST; convert it to one"
        for name in ("clip0.wav", "clip2.wav")
    )
    assert one_line == (
        f"2 of 3 sources cannot be used: {reasons}; mend or correct them, or leave them out with "
        "--on-error skip"
    )


def test_a_lossy_source_beyond_full_scale_is_turned_down_and_counted(speech, out):
    samples, rate = soundfile.read(speech / "clip1.wav")
    (speech / "clip1.wav").unlink()
    loud = np.clip(samples * 0.99 / np.abs(samples).max() * 20, -0.99, 0.99)
    soundfile.write(speech / "clip1.mp3", loud, rate, format="MP3", subtype="MPEG_LAYER_III")
    peak = np.abs(soundfile.read(speech / "clip1.mp3")[0]).max()
    built_from(speech, out, categories=["volume"])
    assert (
        "- 1 of 3 clips was beyond full scale after decoding, and was attenuated as a whole, by "
        f"{20 * np.log10(peak):.1f} dB at most."
    ) in (out / "README.md").read_text().splitlines()


def test_8_bit_stereo_other_rates_and_tiny_clips_are_taken(tmp_path, out):
    speech = speak(tmp_path / "speech", n=1)
    samples, _ = soundfile.read(speech / "clip0.wav")
    wav(speech / "eight_bit.wav", samples, subtype="PCM_U8")
    wav(speech / "float.wav", samples, subtype="FLOAT")
    wav(speech / "law.wav", samples, 8_000, subtype="ULAW")
    soundfile.write(speech / "three.flac", np.stack([samples] * 3, axis=1), 44_100)
    (speech / "metadata.csv").write_text(
        "file_name,onset_sec,offset_sec\nclip0.wav,,\nfloat.wav,0,0.0001\nlaw.wav,,\n"
        "three.flac,0.1,0.4\neight_bit.wav,0.4,0.4001\n"
    )
    built = built_from(speech, out, categories=None)
    assert built.n_rows_made == 5 * (24 * 9 + 1)
    doubts = {s.name for s in built.survey.doubtful if "listed span under 0.1 s" in s.reason}
    assert doubts == {"float", "eight_bit"}
    rows = pq.read_table(out / "volume").to_pylist()
    formats = {}
    for row in rows:
        info = soundfile.info(io.BytesIO(row["audio"]["bytes"]))
        formats[row["source_id"]] = (info.samplerate, info.channels, info.subtype)
    assert formats == {
        "clip0": (16_000, 1, "PCM_16"),
        "eight_bit": (16_000, 1, "PCM_16"),
        "float": (16_000, 1, "PCM_16"),
        "law": (8_000, 1, "PCM_16"),
        "three": (44_100, 3, "PCM_16"),
    }
    assert "dtype: audio\n" in (out / "README.md").read_text()  # no one rate for all


def test_duplicate_ids_are_rejected(speech):
    one = SourceClip("a_01", "a", "test", 0, speech / "clip0.wav")
    for other in (
        SourceClip("a_01", "b", "test", 1, speech / "clip1.wav"),
        SourceClip("b_01", "a", "test", 1, speech / "clip1.wav"),
    ):
        with pytest.raises(
            CorpusError, match=r"two test sources have .*clip0\.wav and .*clip1\.wav"
        ):
            survey([one, other])
    survey(
        [one, SourceClip("a_01", "a", "train", 0, speech / "clip1.wav")]
    )  # other splits, other ids


def test_a_source_with_the_id_of_a_beep_is_rejected(speech, tmp_path):
    (speech / "clip1.wav").rename(speech / "beep_01.wav")
    with pytest.raises(CorpusError, match=r"test sources have the item id 'beep_01'"):
        planned(speech, beeps=one_beep(tmp_path / "beeps"))
    planned(speech)


def test_a_table_without_file_names_is_rejected(speech):
    (speech / "metadata.csv").write_text("path,text\nclip0.wav,Hello\n")
    with pytest.raises(CorpusError, match="has no column 'file_name'; it has"):
        open_folder(speech)


class TestFolder:
    def test_another_build_stays_unless_it_is_overwritten(self, speech, out):
        built_from(speech, out, categories=["volume", "echo"])
        complete = contents(out)
        with pytest.raises(
            BuildError,
            match=r"holds another build: categories .*; n_sources.test 3, now 2; choose",
        ):
            built_from(speech, out, categories=["volume"], limit_sources=2)
        assert contents(out) == complete
        (out / ".gitattributes").write_text("*.parquet filter=lfs\n")
        (out / "link").symlink_to(speech, target_is_directory=True)
        mine = ("notes.txt", "echo/listening.csv", "extra/test-00000-of-00001.parquet")
        for name in mine:
            (out / name).parent.mkdir(exist_ok=True)
            (out / name).write_text("mine")
        built_from(speech, out, categories=["volume"], overwrite=True)
        parquet = {f"{name}/test-00000-of-00001.parquet" for name in ("volume", "source")}
        left = {path for path in contents(out) if not path.startswith("link/")}
        assert left == {"README.md", ".gitattributes", *mine, *parquet}
        assert all((out / name).read_text() == "mine" for name in mine)
        assert (out / "link").is_symlink()
        assert len(list(speech.iterdir())) == 3  # what a link leads to is not ours

    def test_overwriting_a_build_whose_plan_is_unreadable(self, speech, out):
        built_from(speech, out, categories=["volume", "echo"])
        (out / ".otoscope" / "plan.json").write_text("")
        (out / "notes.txt").write_text("mine")
        built_from(speech, out, categories=["volume"], overwrite=True)
        assert {p.name for p in out.iterdir() if p.is_dir()} == {".otoscope", "volume", "source"}
        assert (out / "notes.txt").read_text() == "mine"

    def test_an_unfinished_build_of_another_generator_is_named(self, speech, out):
        built_from(speech, out)
        note = out / ".otoscope" / "plan.json"
        before = json.loads(note.read_text()) | {"generator_version": "1", "fingerprint": "0"}
        note.write_text(json.dumps(before))
        with pytest.raises(BuildError) as raised:
            built_from(speech, out)
        assert str(raised.value) == (
            f"{out} was made by generator 1, and this is generator {GENERATOR_VERSION}, which "
            "makes other bytes: it cannot go on there; choose another --out, or --overwrite it"
        )
        built_from(speech, out, overwrite=True)

    def test_another_span_makes_another_build(self, speech, out):
        built_from(speech, out)
        with pytest.raises(BuildError, match=r"other sources; choose another"):
            built_from(speech, out, corrections={"clip0": Correction((0.2, 1.0))})

    @pytest.mark.parametrize("note", ["", "{", "[]", "{}", '{"fingerprint": "0"}'])
    def test_a_note_that_says_nothing_does_not_let_files_mix(self, speech, out, note):
        built_from(speech, out)
        (out / ".otoscope" / "plan.json").write_text(note)
        with pytest.raises(BuildError, match="holds another build"):
            built_from(speech, out)
        built_from(speech, out, overwrite=True)

    def test_a_run_killed_before_its_first_note_can_go_on(self, speech, out):
        (out / ".otoscope").mkdir(parents=True)
        (out / ".otoscope" / "making").mkdir()
        (out / ".otoscope" / "making" / ".plan.json.abc").write_text("{")
        built_from(speech, out)
        assert leftovers(out) == []

    def test_a_folder_of_something_else_is_left_alone(self, speech, out):
        for overwrite in (False, True):
            with pytest.raises(BuildError, match="holds something that is no build"):
                built_from(speech, speech, overwrite=overwrite)
        assert len(list(speech.iterdir())) == 3

    def test_an_empty_folder_is_taken(self, speech, out):
        out.mkdir()
        built_from(speech, out)

    @pytest.mark.parametrize("inside", ["", "deeper/vocalgrad"])
    def test_a_file_is_no_folder(self, speech, tmp_path, inside):
        (tmp_path / "file").write_text("")
        with pytest.raises(BuildError, match=r"file is a file|Not a directory"):
            built_from(speech, tmp_path / "file" / inside)

    def test_a_name_that_no_disk_takes(self, speech, tmp_path):
        with pytest.raises(BuildError, match="File name too long"):
            built_from(speech, tmp_path / ("v" * 300))

    def test_two_builds_do_not_share_a_folder(self, speech, out):
        plan, _, _ = planned(speech)
        with (
            build_module.claimed_folder(out, plan),
            pytest.raises(BuildError, match="another build is at work"),
        ):
            build(plan, out)
        build(plan, out)

    def test_the_card_names_the_folder_even_when_it_is_called_by_a_dot(
        self, speech, out, monkeypatch
    ):
        out.mkdir()
        monkeypatch.chdir(out)
        built_from(speech, build_module.Path("."))
        assert 'load_dataset("vocalgrad"' in (out / "README.md").read_text()

    def test_a_source_with_a_name_that_is_no_text(self, speech, out):
        odd = os.fsencode(speech) + b"/\xff\xfe odd.wav"
        with open(odd, "wb") as file:
            file.write(b"nothing")
        built_from(speech, out, on_error="skip")
        assert "odd.wav" in (out / "README.md").read_text(encoding="utf-8")


@contextlib.contextmanager
def mounted(folder, *options):
    """A real file system at `folder`, or a skip where this user may not mount."""
    folder.mkdir(exist_ok=True)
    call = ["mount", *options, str(folder)]
    if shutil.which("mount") is None or subprocess.run(call, capture_output=True).returncode:
        pytest.skip("this user cannot mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


class TestDisk:
    def test_a_read_only_folder(self, speech, out):
        with (
            mounted(out, "-t", "tmpfs", "-o", "ro", "tmpfs"),
            pytest.raises(BuildError, match=r"cannot be written \(Read-only file system\)"),
        ):
            built_from(speech, out)
        built_from(speech, out)

    @pytest.mark.parametrize("call", ["mkdir", "replace"])
    @pytest.mark.parametrize(
        ("number", "complaint"),
        [
            (errno.EACCES, r"cannot be written \(Permission denied\)"),
            (errno.ENOSPC, "the disk is full; finished shards stay"),
            (errno.EDQUOT, "the disk is full; finished shards stay"),
            (errno.EIO, "Input/output error"),
        ],
    )
    def test_every_error_of_a_disk(self, speech, out, monkeypatch, call, number, complaint):
        def fail(path, *rest, **options):
            raise OSError(number, os.strerror(number), str(path))

        with monkeypatch.context() as patched:
            patched.setattr(os, call, fail)
            with pytest.raises(BuildError, match=complaint):
                built_from(speech, out)
        built_from(speech, out)
        assert leftovers(out) == []

    @pytest.mark.usefixtures("many_shards")
    @pytest.mark.parametrize("num_proc", [1, 2])
    def test_a_full_disk(self, speech, out, tmp_path, monkeypatch, num_proc):
        reference = tmp_path / "reference" / "vocalgrad"
        built_from(speech, reference)
        size = sum(map(len, contents(reference).values()))
        with mounted(out, "-t", "tmpfs", "-o", f"size={int(0.8 * size)}", "tmpfs"):
            monkeypatch.setattr(plan_module, "FLAC_SHARE", 5.0)
            with pytest.raises(
                BuildError, match=r"about .* [kM]B are needed but .* [kM]B are free"
            ):
                built_from(speech, out)
            monkeypatch.setattr(build_module, "check_space", lambda *_: None)
            with pytest.raises(BuildError, match="the disk is full; finished shards stay"):
                built_from(speech, out, num_proc=num_proc)
            assert leftovers(out) == []
            done = contents(out)
            assert done  # the shards before the one that did not fit
            assert all(contents(reference)[path] == data for path, data in done.items())
            before = finished_stamps(out)
            subprocess.run(["mount", "-o", f"remount,size={3 * size}", str(out)], check=True)
            built_from(speech, out)
            assert contents(out) == contents(reference)
            records = (out / ".otoscope" / "shards").glob("*.json")
            assert {p: stamps(out)[p] for p in before} == before
            assert len(list(records)) == 4

    def test_a_limit_on_the_size_of_files(self, speech, out):
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
            with pytest.raises(BuildError, match="File too large"):
                built_from(speech, out)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)
        assert leftovers(out) == []
        built_from(speech, out)


class TestMeanwhile:
    """Things that happen between the look at the sources and the end of the build."""

    @pytest.mark.parametrize("num_proc", [1, 2])
    def test_a_source_that_changed(self, speech, out, num_proc):
        plan, _, _ = planned(speech)
        shutil.copy(speech / "clip2.wav", speech / "clip1.wav")
        with pytest.raises(CorpusError, match=r"clip1\.wav: changed since the build began; start"):
            build(plan, out, num_proc=num_proc)
        assert leftovers(out) == []

    def test_a_source_that_is_gone(self, speech, out):
        plan, _, _ = planned(speech)
        (speech / "clip1.wav").unlink()
        with pytest.raises(
            CorpusError, match=r"clip1\.wav: No such file or directory; it could be"
        ):
            build(plan, out)

    def test_a_worker_that_is_killed(self, speech, out):
        plan, _, _ = planned(speech)

        def kill_one(n):
            for child in multiprocessing.active_children():
                child.kill()

        class Watching(build_module.Progress):
            @contextlib.contextmanager
            def bar(self, name, n):
                yield lambda n=1, total=False: kill_one(n)

        with pytest.raises(
            BuildError, match=r"a worker process was killed .* run again with a smaller"
        ):
            build(plan, out, num_proc=2, progress=Watching())
        built_from(speech, out)

    def test_a_file_that_vanishes(self, speech, out, monkeypatch):
        plan, _, _ = planned(speech)

        def run_and_lose(recipe, plan, todo, folder, **options):
            for index in todo:
                write_shard(recipe, plan, index, folder)
            next((folder / "volume").iterdir()).unlink()

        monkeypatch.setattr(build_module, "run", run_and_lose)
        with pytest.raises(BuildError, match="vanished or changed meanwhile"):
            build(plan, out)


def test_row_groups_and_files_stay_small(tmp_path, out, monkeypatch):
    speech = speak(tmp_path / "speech", n=2)
    monkeypatch.setattr(shards, "ROW_GROUP_BYTES", 200_000)
    built = built_from(speech, out, categories=["background_noise"])
    metadata = pq.read_metadata(out / "background_noise" / "test-00000-of-00001.parquet")
    sizes = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
    longest = max(s.most_bytes for s in built.plan.sources)
    assert len(sizes) > 5
    assert max(sizes) < 200_000 + longest + 20_000
    monkeypatch.undo()
    assert shards.ROW_GROUP_BYTES + MAX_CLIP_BYTES < 100_000_000


def test_a_record_says_what_its_files_hold(speech, out):
    built = built_from(speech, out)
    for path, record in built.files.items():
        data = (out / path).read_bytes()
        assert record["bytes"] == len(data)
        assert record["sha256"] == hashlib.sha256(data).hexdigest()
        assert record["rows"] == pq.read_metadata(out / path).num_rows
    assert json.loads((out / ".otoscope" / "plan.json").read_text())["n_sources"]["test"] == 3
