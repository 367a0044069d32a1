from collections import Counter

import pytest
from typer.testing import CliRunner

from builders.corpora.base import CorpusError
from builders.esc50_animals.__main__ import app
from builders.esc50_animals.reading import open_esc50_animals
from builders.labelled import plan_build
from tests.builders.labelled.tiny_labelled import ANIMALS, esc50, tone


def small(folder, **options):
    return open_esc50_animals(folder, clips_of_a_class=8, **options)


def test_half_of_each_class_is_held_out_and_no_source_is_in_both(tmp_path):
    planned = plan_build(small(esc50(tmp_path, 8)))
    counted = Counter((s.clip.split, s.clip.label) for s in planned.plan.clips)
    assert counted == {(split, a): 4 for split in ("development", "holdout") for a in ANIMALS}
    assert planned.plan.labels == tuple(ANIMALS)
    guard = {overlap.what: overlap for overlap in planned.guard}
    assert guard["source recording"].shared == ()
    assert guard["source recording"].n_unknown == 0
    assert planned.source.licence == "cc-by-nc-3.0"
    assert [s.reason for s in planned.skipped] == ["no animals, 1 of them"]


def test_twenty_of_forty_are_held_out_by_default(tmp_path):
    """On names alone: only the division is looked at."""
    source = open_esc50_animals(esc50(tmp_path, 40, empty=True))
    assert len(source.clips) == 400
    assert source.division.holdout * 40 == 20


def test_folds_may_be_held_out_instead(tmp_path):
    folder = esc50(tmp_path, 10)
    planned = plan_build(open_esc50_animals(folder, clips_of_a_class=10, holdout_folds=(4, 5)))
    folds = {(s.clip.split, s.clip.note) for s in planned.plan.clips}
    assert folds == {
        ("development", "fold 1"), ("development", "fold 2"), ("development", "fold 3"),
        ("holdout", "fold 4"), ("holdout", "fold 5"),
    }  # fmt: skip
    assert "fold 4, 5 of ESC-50" in planned.source.notes[0]


@pytest.mark.parametrize("folds", [(6,), (1, 2, 3, 4, 5)])
def test_folds_that_are_none_are_rejected(tmp_path, folds):
    with pytest.raises(CorpusError, match="--holdout-folds is"):
        small(esc50(tmp_path, 8), holdout_folds=folds)


FAULTS = {
    "another label": ("1-0-A-0.wav,1,0,dog", "1-0-A-0.wav,1,0,hen", "line 2: target 0 with the"),
    "no number": ("1-0-A-0.wav,1,0,dog", "1-0-A-0.wav,1,x,dog", "line 2: target is 'x'"),
    "a missing row": ("1-0-A-0.wav,1,0,dog,False,0,A\n", "", "7 of dog; ESC-50 has 8 clips"),
    "a name that is none": ("1-0-A-0.wav,1,0,dog", "dog.wav,1,0,dog", "'dog.wav' is not a name"),
    "another fold": ("1-0-A-0.wav,1,0,dog", "1-0-A-0.wav,2,0,dog", "another fold or target"),
    "no such file": ("1-0-A-0.wav,1,0,dog", "1-99-A-0.wav,1,0,dog", "no file 1-99-A-0.wav"),
    "no such column": ("category", "animal", "no column 'category'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_the_table_are_named(tmp_path, fault):
    right, wrong, message = FAULTS[fault]
    table = esc50(tmp_path, 8) / "meta" / "esc50.csv"
    table.write_text(table.read_text().replace(right, wrong))
    with pytest.raises(CorpusError, match=message):
        small(tmp_path)


def test_the_same_audio_under_two_labels_names_both(tmp_path):
    folder = esc50(tmp_path, 8)
    tone(folder / "audio" / "1-0-A-0.wav", 999)
    tone(folder / "audio" / "1-100-A-1.wav", 999)
    with pytest.raises(CorpusError, match=r"two labels: '1-0-A-0.wav \(dog\).*\(rooster\)"):
        plan_build(small(folder))


def run(folder, *more):
    arguments = ["build", "--from", str(folder), "--out", "none", "--dry-run", *more]
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, " ".join(result.output.split())


def test_an_archive_is_to_be_unpacked(tmp_path):
    (tmp_path / "ESC-50-master.zip").write_bytes(b"PK")
    code, printed = run(tmp_path)
    assert code == 2
    assert "no meta/esc50.csv" in printed
    assert "unpack ESC-50-master.zip there first" in printed
    code, printed = run(tmp_path / "ESC-50-master.zip")
    assert code == 2
    assert "is an archive; unpack it and give the folder" in printed


def test_folds_are_numbers(tmp_path):
    code, printed = run(tmp_path, "--holdout-folds", "four")
    assert code == 2
    assert "write e.g. 4,5" in printed
