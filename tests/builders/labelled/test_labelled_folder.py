import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from typer.testing import CliRunner

from builders.corpora.base import CorpusError
from builders.labelled_folder.__main__ import app
from builders.labelled_folder.reading import open_labelled_folder
from tests.builders.labelled.tiny_labelled import folder_of, tone

REAL = Path(__file__).parents[4] / "shared" / "data" / "real"
ROWS = [
    {"path": f"{label}{i}.wav", "class": label, "speaker": f"s{i}", "sentence": f"Say {label}."}
    for label in ("no", "yes")
    for i in range(4)
]


def table_of(folder, suffix, rows=ROWS):
    for i, row in enumerate(rows):
        tone(folder / row["path"], i)
    path = folder / f"rows{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, rows[0], delimiter="\t" if suffix == ".tsv" else ",")
            table.writeheader()
            table.writerows(rows)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["build", *map(str, arguments), "--num-proc", "1"])


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_table_of_any_format_with_usual_names(tmp_path, suffix):
    source = open_labelled_folder(table_of(tmp_path, suffix))
    assert source.labels == ("no", "yes")
    first = source.clips[0]
    assert (first.label, first.speaker_id, first.cluster_id, first.text) == (
        "no", "s0", "s0", "Say no.",
    )  # fmt: skip
    assert first.path == tmp_path / "no0.wav"
    assert source.division is not None


def test_folders_of_labels_below_folders_of_splits(tmp_path):
    for i, split in enumerate(("train", "test")):
        folder_of(tmp_path / split, {"a": 2, "b": 2}, first=10 * i)
    source = open_labelled_folder(tmp_path)
    assert source.division is None
    assert {(c.split, c.label) for c in source.clips} == {
        (split, label) for split in ("development", "holdout") for label in "ab"
    }


def test_the_order_of_labels_can_be_given(tmp_path):
    folder_of(tmp_path, {"a": 2, "b": 2})
    assert open_labelled_folder(tmp_path, labels=("b", "a")).labels == ("b", "a")


def test_a_cluster_column_is_never_divided(tmp_path):
    rows = [{**row, "room": f"r{i // 2}"} for i, row in enumerate(ROWS)]
    table = table_of(tmp_path, ".csv", rows)
    result = run("--from", table, "--cluster", "room", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "cluster in both splits: none" in result.output
    loaded = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "c"))
    assert {c for split in loaded.values() for c in split["cluster_id"]} == {"r0", "r1", "r2", "r3"}


def test_speakers_can_be_kept_apart_from_clusters_that_share_them(tmp_path):
    rows = [
        {"path": f"p{i}.wav", "class": "ab"[i % 2], "speaker": f"s{i // 4}", "source": f"r{i}"}
        for i in range(24)
    ]
    table = table_of(tmp_path, ".csv", rows)
    shared = run("--from", table, "--out", tmp_path / "out", "--dry-run")
    assert "speaker in both splits: none" not in shared.output
    apart = run("--from", table, "--out", tmp_path / "out", "--dry-run", "--speaker-disjoint")
    assert "speaker in both splits: none" in apart.output


def test_what_is_no_clip_is_named_and_counted(tmp_path):
    root = folder_of(tmp_path / "clips", {"a": 2, "b": 2})
    (root / "a" / ".hidden.wav").write_bytes(b"")
    (root / "a" / "notes.txt").write_text("hello")
    (root / "empty").mkdir()
    result = run("--from", root, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "left out: empty/: no audio in it" in result.output
    assert "left out: *.txt: no audio by extension, 1 of them" in result.output
    assert "left out: 'a/.hidden.wav': hidden, 1 of them" in result.output
    assert "no audio in it" in (tmp_path / "out" / "README.md").read_text()


def test_labels_in_file_names_are_counted_and_hidden(tmp_path):
    result = run("--from", table_of(tmp_path, ".csv"), "--out", tmp_path / "out")
    assert "the label stands in 8 file names" in result.output
    loaded = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "c"))
    assert not [i for split in loaded.values() for i in split["id"] if "yes" in i or "no" in i]
    files = (tmp_path / "out" / ".otoscope" / "files.csv").read_text()
    assert ",yes3.wav," in files


BAD = {
    "no such thing": ("nowhere", [], "there is no folder or table"),
    "one label": ("one", [], "only 'a'"),
    "no audio": ("empty", [], "hold no audio file"),
    "clips beside the folders": ("loose", [], "not in a folder that says the label"),
    "a label twice": ("twice", [], "the same audio under two labels"),
    "a share of one": ("good", ["--holdout-share", "1"], "must lie between 0 and 1"),
    "a cluster without a table": ("good", ["--cluster", "x"], "names a column of a table"),
    "speakers of folders": ("good", ["--speaker-disjoint"], "needs a table with the column"),
    "splits that are given": ("split", ["--speaker-disjoint"], "gives the splits"),
    "an unreadable clip": ("broken", [], "n0.wav"),
    "a licence without an author": ("good", ["--licence", "cc-by-4.0"], "give --attribution"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_folders_are_one_line_and_exit_code_2(tmp_path, case):
    name, more, message = BAD[case]
    folder_of(tmp_path / "good", {"a": 2, "b": 2})
    folder_of(tmp_path / "one", {"a": 3})
    folder_of(tmp_path / "split" / "dev", {"a": 1, "b": 1})
    folder_of(tmp_path / "split" / "test", {"a": 1, "b": 1}, first=5)
    (tmp_path / "empty").mkdir()
    tone(folder_of(tmp_path / "loose", {"a": 2, "b": 2}) / "x.wav", 9)
    tone(folder_of(tmp_path / "twice", {"a": 2, "b": 2}) / "b" / "n9.wav", 0)
    folder_of(tmp_path / "broken", {"a": 2, "b": 2})
    (tmp_path / "broken" / "a" / "n0.wav").write_bytes(b"no audio")
    result = run("--from", tmp_path / name, "--out", tmp_path / "out", *more)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len([line for line in result.stderr.splitlines() if line.startswith("error:")]) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "gone.wav"}, "there is no file 'gone.wav'"),
        ({"class": ""}, "has no label"),
        ({"split": "spare"}, "split is 'spare'"),
        ({"split": "test"}, "some clips have a split and others not"),
    ],
)
def test_bad_rows_name_their_line(tmp_path, change, message):
    rows = [{**row, "split": ""} for row in ROWS]
    table = table_of(tmp_path, ".jsonl", rows)
    rows[3] = {**rows[3], **change}
    table.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(CorpusError, match=message):
        open_labelled_folder(table)


def test_a_table_without_labels_says_which_columns_it_has(tmp_path):
    rows = [{"path": row["path"], "loudness": 1} for row in ROWS]
    with pytest.raises(CorpusError, match=r"no column label .*; it has path, loudness"):
        open_labelled_folder(table_of(tmp_path, ".csv", rows))


@pytest.mark.skipif(not REAL.is_dir(), reason="no recordings in ../shared/data/real")
@pytest.mark.parametrize("name", ["animals", "vocal"])
def test_real_recordings_of_many_formats(tmp_path, name):
    root = tmp_path / "clips"
    for path in sorted((REAL / name).glob("*/*")):
        if len(list(path.parent.iterdir())) > 1:
            (root / path.parent.name).mkdir(parents=True, exist_ok=True)
            (root / path.parent.name / path.name).symlink_to(path)
    result = run("--from", root, "--task", name, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    loaded = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "c"))
    n = sum(1 for _ in root.glob("*/*"))
    assert loaded["development"].num_rows + loaded["holdout"].num_rows == n > 6
