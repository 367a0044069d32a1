"""Datasets in the layouts that people put on the Hub, and files that change under a reader."""

import json
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from otoscope.audits.items import open_items
from otoscope.audits.opening import DatasetError, load_table, pinned, splits_in
from otoscope.audits.perception import plan
from tests.audits.published_layout import write_dataset
from tests.audits.tiny_dataset import RATE, clip, row, write

LABELS = ["increase", "decrease", "increase"]


def lay_out(folder, layout, *, path="path", blank="", **more):
    """Three rows with the path of a file each; `layout` is the table's file."""
    (folder / "clips").mkdir(parents=True)
    rows = []
    for n, label in enumerate(LABELS):
        (folder / "clips" / f"{n}.wav").write_bytes(clip(n))
        cells = {"id": f"00{n}", path: f"clips/{n}.wav", "category": "echo", "label": label}
        rows.append(cells | {name: values[n] for name, values in more.items()})
    table = folder / layout
    table.parent.mkdir(exist_ok=True)
    if table.suffix in (".csv", ".tsv"):
        comma = {".csv": ",", ".tsv": "\t"}[table.suffix]
        lines = [f"{comma}{blank}".join(rows[0]), *(comma.join(r.values()) for r in rows)]
        table.write_text("\n".join(lines) + "\n")
    elif table.suffix == ".jsonl":
        table.write_text("".join(json.dumps(r) + "\n" for r in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), table)
    return folder


@pytest.fixture
def no_torchcodec(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchcodec", None)


@pytest.mark.usefixtures("no_torchcodec")
class TestLayouts:
    @pytest.mark.parametrize(
        "layout", ["metadata.csv", "metadata.jsonl", "metadata.parquet", "test.csv", "test.tsv",
                   "test.jsonl", "test.parquet", "data/test.csv", "data/test.jsonl"],
    )  # fmt: skip
    def test_cells_that_are_paths(self, tmp_path, layout):
        path = "file_name" if layout.startswith("metadata") else "path"
        folder = lay_out(tmp_path / "d", layout, path=path, blank=" ", client_id=["s", "t", "s"])
        split = "train" if layout.startswith("metadata") else "test"
        items = open_items(folder, split=split)
        assert [r["id"] for r in items.rows] == ["000", "001", "002"]
        assert [r["label"] for r in items.rows] == LABELS
        assert [r["speaker_id"] for r in items.rows] == ["s", "t", "s"]
        assert items.audio("002").sampling_rate == RATE
        assert items.audio_bytes("001") == clip(1)

    def test_paths_relative_to_the_folder_of_their_table(self, tmp_path):
        folder = lay_out(tmp_path / "d", "test.jsonl", path="audio_filepath")
        (folder / "set").mkdir()
        (folder / "clips").rename(folder / "set" / "clips")
        (folder / "test.jsonl").rename(folder / "set" / "test.jsonl")
        assert open_items(folder).audio_bytes("002") == clip(2)

    def test_a_split_column_counts_where_there_is_one_split(self, tmp_path):
        parts = ["test", "train", "test"]
        folder = lay_out(tmp_path / "d", "metadata.csv", path="file_name", split=parts)
        assert splits_in(folder) == ["test", "train"]
        assert [r["id"] for r in open_items(folder).rows] == ["000", "002"]
        assert len(open_items(folder, split="train+test")) == 3
        with pytest.raises(DatasetError, match=r"Unknown split .dev."):
            open_items(folder, split="dev")

    def test_metadata_above_the_folders_of_splits(self, tmp_path):
        folder = tmp_path / "d"
        lines = ["file_name,category,label"]
        for n, split in enumerate(("train", "test", "test")):
            (folder / split).mkdir(parents=True, exist_ok=True)
            (folder / split / f"{n}.wav").write_bytes(clip(n))
            lines.append(f"{split}/{n}.wav,echo,{LABELS[n]}")
        (folder / "metadata.csv").write_text("\n".join(lines))
        assert [r["id"] for r in open_items(folder).rows] == ["test/1.wav", "test/2.wav"]

    def test_the_published_layout_has_clusters_and_the_split_of_its_rows(self, tmp_path):
        items = open_items(write_dataset(tmp_path / "d"))
        assert splits_in(tmp_path / "d") == ["test"]
        first = items.rows[0]
        assert first["id"] == "test-volume-p226_01__p226_106__linear__low__up"
        assert first["clip_id"] == "p226_01__p226_106__linear__low__up"
        assert (first["source_id"], first["speaker_id"]) == ("p226_106", "p226")
        assert (first["source_span_start_s"], first["source_span_end_s"]) == (0.01, 0.04)
        assert "span_start_s" not in first
        assert len(items) == 24

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("file_name,id\n../x.wav,a\n", r"row 1: file_name '\.\./x\.wav' must name a file in"),
            ("id,label\na,increase\n", r"metadata\.csv has no column 'file_name'"),
            ("file_name,id\na.wav,a,b\n", r"line 2 has more cells than the header has columns"),
            ("file_name,id,id\n", r"has the column 'id' twice"),
            ("file_name,id\n", r"its table has no rows"),
            ('file_name,id\n"a.wav,1\n', r"is not a readable CSV"),
        ],
    )
    def test_metadata_that_are_wrong_are_one_line(self, tmp_path, text, complaint):
        (tmp_path / "a.wav").write_bytes(clip(0))
        (tmp_path / "metadata.csv").write_text(text)
        with pytest.raises(DatasetError, match=complaint) as caught:
            open_items(tmp_path, split="train")
        assert "\n" not in str(caught.value)

    def test_files_that_no_metadata_name_are_logged(self, tmp_path, caplog):
        folder = lay_out(tmp_path / "d", "metadata.csv", path="file_name")
        (folder / "clips" / "more.wav").write_bytes(clip(9))
        open_items(folder, split="train")
        assert "1 audio files are in no metadata and are left out" in caplog.text

    def test_a_file_that_is_missing_is_named_by_its_row(self, tmp_path):
        folder = lay_out(tmp_path / "d", "metadata.csv", path="file_name")
        (folder / "clips" / "1.wav").unlink()
        with pytest.raises(DatasetError, match=r"row '001': clips/1\.wav: No such file"):
            open_items(folder, split="train").audio("001")

    def test_two_columns_that_may_be_one_are_named(self, tmp_path):
        more = {"Speaker": list("abc"), "speaker ": list("abc")}
        folder = lay_out(tmp_path / "d", "test.jsonl", **more)
        with pytest.raises(DatasetError, match=r"\['Speaker', 'speaker '\] may all be 'speaker'"):
            open_items(folder)

    def test_a_table_without_rows(self, tmp_path):
        schema = pa.schema({n: pa.string() for n in ("id", "audio", "category", "label")})
        pq.write_table(schema.empty_table(), tmp_path / "test.parquet")
        with pytest.raises(DatasetError, match="a Parquet file without rows; leave it out"):
            plan(tmp_path)


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: bytes(len(b)), lambda b: b""])
def test_a_damaged_shard_is_named(tmp_path, damage):
    folder = tmp_path / "d"
    write(folder, {"all": {"test": [row(0), row(1)]}})
    (shard,) = folder.rglob("*.parquet")
    shard.write_bytes(damage(shard.read_bytes()))
    with pytest.raises(DatasetError, match=rf"{shard.name}: damaged \(.*build it anew"):
        open_items(folder)


def test_a_shard_that_is_missing_is_told_by_its_rows(tmp_path):
    for n in range(2):
        pq.write_table(pa.table({"id": [f"{n}"]}), tmp_path / f"test-0000{n}-of-00002.parquet")
    (tmp_path / "README.md").write_text(
        "---\ndataset_info:\n  features: [{name: id, dtype: string}]\n"
        "  splits: [{name: test, num_examples: 2, num_bytes: 2}]\n---\n"
    )
    assert load_table(tmp_path, split="test", revision=None)[0].num_rows == 2
    (tmp_path / "test-00001-of-00002.parquet").unlink()
    with pytest.raises(DatasetError, match="README counts 2 rows in split 'test', its files"):
        load_table(tmp_path, split="test", revision=None)


@pytest.mark.parametrize("kind", ["parquet with a card", "csv", "jsonl"])
def test_a_file_replaced_under_the_same_time_is_read_anew(tmp_path, kind):
    def write_labels(labels):
        if kind == "parquet with a card":
            rows = [row(n, label=label) for n, label in enumerate(labels)]
            write(tmp_path / "d", {"all": {"test": rows}})
            return tmp_path / "d" / "all" / "test-0.parquet"
        (tmp_path / "d").mkdir(exist_ok=True)
        (tmp_path / "d" / "a.wav").write_bytes(clip(0))
        path = tmp_path / "d" / f"test.{kind}"
        rows = [{"id": f"r{n}", "path": "a.wav", "category": "echo", "label": label}
                for n, label in enumerate(labels)]  # fmt: skip
        lines = [json.dumps(r) for r in rows]
        if kind == "csv":
            lines = [",".join(rows[0]), *(",".join(r.values()) for r in rows)]
        path.write_text("\n".join(lines) + "\n")
        return path

    path = write_labels(["increase", "decrease"])
    before = path.stat()
    assert [r["label"] for r in open_items(tmp_path / "d").rows] == ["increase", "decrease"]
    other = write_labels(["decrease", "increase"])
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
    assert [r["label"] for r in open_items(tmp_path / "d").rows] == ["decrease", "increase"]


def test_an_unchanged_file_is_not_converted_again(tmp_path, monkeypatch):
    write(tmp_path / "d", {"all": {"test": [row(0)]}})
    first, _ = load_table(tmp_path / "d", split="test", revision=None)
    second, _ = load_table(tmp_path / "d", split="test", revision=None)
    assert first.cache_files == second.cache_files != []


@pytest.mark.parametrize(
    ("dataset", "revision", "expected"),
    [
        ("org/name@abc", None, ("org/name", "abc")),
        ("org/name@abc", "abc", ("org/name", "abc")),
        ("org/name", "v1.0", ("org/name", "v1.0")),
    ],
)
def test_a_repository_is_pinned_behind_its_name_or_apart(dataset, revision, expected):
    assert pinned(dataset, revision) == expected


def test_two_revisions_are_rejected():
    with pytest.raises(DatasetError, match="org/name@abc has another revision than --revision d"):
        pinned("org/name@abc", "d")
