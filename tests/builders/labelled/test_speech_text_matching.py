from collections import Counter
from pathlib import Path

import pytest
from datasets import Audio, Dataset, load_dataset
from typer.testing import CliRunner

from builders.corpora.base import CorpusError, SourceClip
from builders.corpora.voices import planned_clips
from builders.labelled import plan_build
from builders.speech_text_matching.__main__ import app
from builders.speech_text_matching.opening import open_dynamic_superb
from builders.speech_text_matching.pairing import (
    ONE_WORD,
    OTHER,
    one_word_replaced,
    pairs_of,
    sentence_key,
)
from tests.builders.labelled.tiny_labelled import SENTENCES, readings, tone


@pytest.fixture(scope="module")
def pairs():
    """Of the 120 clips that `voices:120` stands for; nothing is synthesised."""
    return pairs_of(planned_clips(120, ["test"]))


def test_classes_are_balanced_with_120_rows_in_each_split(pairs):
    assert Counter((pair.split, pair.label) for pair in pairs) == {
        (split, label): 60
        for split in ("development", "holdout")
        for label in ("match", "no match")
    }


def test_half_of_the_mismatches_are_near_misses(pairs):
    assert Counter((pair.split, pair.kind) for pair in pairs if pair.kind) == {
        (split, kind): 30 for split in ("development", "holdout") for kind in (OTHER, ONE_WORD)
    }


def test_no_sentence_is_in_both_splits_spoken_or_written(pairs):
    of = {"development": set(), "holdout": set()}
    for pair in pairs:
        of[pair.split].add(sentence_key(pair.clip.transcript))
        if pair.kind != ONE_WORD:
            of[pair.split].add(sentence_key(pair.text))
    assert not of["development"] & of["holdout"]


def test_a_match_is_what_is_spoken_and_a_mismatch_is_another_text(pairs):
    for pair in pairs:
        same = sentence_key(pair.text) == sentence_key(pair.clip.transcript)
        assert same == (pair.label == "match")


def test_a_near_miss_differs_in_one_word_of_similar_length(pairs):
    for pair in (pair for pair in pairs if pair.kind == ONE_WORD):
        spoken, read = pair.clip.transcript.split(), pair.text.split()
        assert len(spoken) == len(read)
        ((old, new),) = [(a, b) for a, b in zip(spoken, read, strict=True) if a != b]
        assert abs(len(old) - len(new)) <= 1
        assert old[0].isupper() == new[0].isupper()


def test_the_share_of_near_misses_is_kept(pairs):
    clips = [pair.clip for pair in pairs if pair.label == "match"]
    for share, kinds in ((0.0, {OTHER}), (1.0, {ONE_WORD})):
        assert {p.kind for p in pairs_of(clips, near_misses=share) if p.kind} == kinds
    with pytest.raises(CorpusError, match="near-misses is 2"):
        pairs_of(clips, near_misses=2.0)


def said(*sentences):
    return [
        SourceClip(f"c{i}", f"c{i}", "test", i, Path(), transcript=s)
        for i, s in enumerate(sentences)
    ]


def test_a_sentence_that_several_say_is_one():
    clips = said("One two three.", "one, two three", *SENTENCES)
    splits = {pair.sentence: pair.split for pair in pairs_of(clips)}
    assert len(splits) == 1 + len(SENTENCES)


def test_too_few_sentences_are_an_error():
    with pytest.raises(CorpusError, match=r"3 different sentence\(s\)"):
        pairs_of(said("a one", "b two", "c three"))


def test_a_word_is_never_replaced_by_one_of_the_sentence_itself():
    clip = said("Seven geese live here.")[0]
    assert one_word_replaced(clip, ["geese live"]) is None
    assert one_word_replaced(clip, ["Eight ducks died there."]).split()[1] != "Eight"


def test_a_dry_run_of_voices_synthesises_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("OTOSCOPE_CACHE", str(tmp_path / "cache"))
    arguments = ["build", "--source", "voices:40", "--out", str(tmp_path / "o"), "--dry-run"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "holdout: 20 rows with the label no match" in result.output
    assert not (tmp_path / "cache").exists()


def test_clips_without_transcript_are_named_or_an_error(tmp_path):
    root = readings(tmp_path / "r", (*SENTENCES, ""))
    run = ["build", "--source", f"folder:{root}", "--out", str(tmp_path / "o"), "--num-proc", "1"]
    result = CliRunner().invoke(app, run)
    assert result.exit_code == 0, result.output
    assert "left out: r8: no transcript" in result.output
    silent = readings(tmp_path / "s", ("", ""))
    run[2] = f"folder:{silent}"
    result = CliRunner().invoke(app, [*run, "--overwrite"])
    assert result.exit_code == 2
    assert "none of 2 clips has a transcript" in result.output


def superb(folder, n=240, *, words=("Yes", "No"), columns=None):
    """A copy of the published form: file, audio, text, instruction, label."""
    rows = []
    for i in range(n):
        name = f"{100 + i // 20}-{7 + i // 10 % 2}-{i:04d}.flac"
        path = tone(folder / "in" / f"{i}.wav", i, duration_s=0.05)
        rows.append(
            {
                "file": name,
                "audio": {"bytes": path.read_bytes(), "path": name},
                "text": f"SENTENCE {i}",
                "instruction": "Do they match?",
                "label": words[i % 2],
            }
        )
    rows = [{k: row[k] for k in columns or row} for row in rows]
    table = Dataset.from_list(rows).cast_column("audio", Audio(decode=False))
    (folder / "copy" / "data").mkdir(parents=True)
    table.cast_column("audio", Audio()).to_parquet(
        folder / "copy" / "data" / "test-00000-of-00001.parquet"
    )
    return str(folder / "copy")


def test_a_hundred_published_rows_are_held_out_fifty_of_each_label(tmp_path):
    source = open_dynamic_superb(superb(tmp_path), work_folder=tmp_path / "work")
    planned = plan_build(source)
    counted = Counter((s.clip.split, s.clip.label) for s in planned.plan.clips)
    assert counted == {
        ("holdout", "match"): 50, ("holdout", "no match"): 50,
        ("development", "match"): 70, ("development", "no match"): 70,
    }  # fmt: skip
    first = source.clips[0]
    assert (first.speaker_id, first.source_id, first.text) == ("100", "100-7", "SENTENCE 0")
    guard = {overlap.what: overlap for overlap in planned.guard}
    assert guard["speaker"].n_rows > 90

    apart = open_dynamic_superb(
        str(tmp_path / "copy"), apart=("speaker_id",), work_folder=tmp_path / "work"
    )
    guard = {overlap.what: overlap for overlap in plan_build(apart).guard}
    assert guard["speaker"].shared == ()


def test_labels_that_are_not_known_are_listed(tmp_path):
    copy = superb(tmp_path, 8, words=("oui", "non"))
    with pytest.raises(CorpusError, match=r"labels \['non', 'oui'\].*--match-label"):
        open_dynamic_superb(copy, work_folder=tmp_path / "work")
    source = open_dynamic_superb(copy, match_label="oui", work_folder=tmp_path / "work")
    assert [clip.label for clip in source.clips[:2]] == ["match", "no match"]
    with pytest.raises(CorpusError, match="no row has the label 'si'"):
        open_dynamic_superb(copy, match_label="si", work_folder=tmp_path / "work")


def test_other_columns_are_listed(tmp_path):
    copy = superb(tmp_path, 4, columns=("file", "audio", "label"))
    with pytest.raises(CorpusError, match="no column 'text'; it has file, audio, label"):
        open_dynamic_superb(copy, work_folder=tmp_path / "work")


@pytest.mark.parametrize("where", ["", "some-org/of-nobody"])
def test_a_repository_has_to_be_pinned(where):
    with pytest.raises(CorpusError, match="a Hub repository needs --revision"):
        open_dynamic_superb(where)


def test_the_text_of_a_row_reaches_the_dataset(tmp_path):
    root = readings(tmp_path / "r")
    out = tmp_path / "o"
    run = ["build", "--source", f"folder:{root}", "--out", str(out), "--num-proc", "1"]
    assert CliRunner().invoke(app, run).exit_code == 0
    rows = load_dataset(str(out), split="holdout", cache_dir=str(tmp_path / "c"))
    rows = rows.remove_columns("audio")
    match = rows.features["label"].str2int("match")
    assert all((row["text"] == row["transcript"]) == (row["label"] == match) for row in rows)
    assert Counter(rows["label"]) == {0: 4, 1: 4}
