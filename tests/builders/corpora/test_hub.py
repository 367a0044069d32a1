"""Datasets with an audio column, streamed from disk without a decoder."""

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile

from builders.corpora.base import CorpusError
from builders.corpora.hub import open_dataset

AUDIO = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def clip(level, file_format="WAV"):
    buffer = io.BytesIO()
    soundfile.write(buffer, np.full(800, level), 8000, format=file_format, subtype="PCM_16")
    return buffer.getvalue()


ROWS = {
    "audio": [
        {"bytes": clip(0.1), "path": "one.wav"},
        {"bytes": clip(0.2, "FLAC"), "path": None},
        {"bytes": None, "path": "three.wav"},
        None,
        {"bytes": clip(0.3), "path": "../../evil.sh"},
    ],
    "text": ["one  text", None, "three", "four", "five"],
    "spk_id": [11, 12, 13, 14, None],
}


@pytest.fixture
def dataset(tmp_path):
    return write(tmp_path / "speech", ROWS)


def write(folder, rows, split="train"):
    folder.mkdir(exist_ok=True)
    columns = {
        name: pa.array(v, AUDIO if v and name == "audio" else None) for name, v in rows.items()
    }
    pq.write_table(pa.table(columns), folder / f"{split}-00000-of-00001.parquet")
    return folder


def test_a_readme_of_broken_yaml_is_named(dataset):
    (dataset / "README.md").write_text("---\nconfigs: [\n---\n")
    with pytest.raises(CorpusError, match=r"speech: the YAML in its README\.md"):
        open_dataset(dataset, from_split="train")


def test_rows_become_files_named_after_their_bytes(dataset, tmp_path):
    work = tmp_path / "work"
    corpus = open_dataset(dataset, from_split="train", work_folder=work)
    assert [s.item_id for s in corpus.sources] == ["row_000000", "row_000001", "row_000004"]
    assert [s.path.suffix for s in corpus.sources] == [".wav", ".flac", ".wav"]
    assert [s.path.read_bytes() for s in corpus.sources] == [
        ROWS["audio"][n]["bytes"] for n in (0, 1, 4)
    ]
    assert set(work.iterdir()) == {s.path for s in corpus.sources}
    assert [s.transcript for s in corpus.sources] == ["one text", "", "five"]
    assert [s.speaker_id for s in corpus.sources] == ["11", "12", ""]
    assert [s.split for s in corpus.sources] == ["test"] * 3
    assert corpus.skipped == (
        ("row 2", "three.wav: No such file"),
        ("row 3", "no audio in 'audio'"),
    )
    assert corpus.notes == ("Rows of speech, configuration default, split train.",)
    assert open_dataset(dataset, from_split="train", work_folder=work) == corpus


def test_limit_and_another_audio_column(tmp_path):
    folder = write(tmp_path / "d", {"audio": ROWS["audio"][:2], "id": ["a/1", "b 2"]})
    corpus = open_dataset(folder, from_split="train", work_folder=tmp_path / "w", limit_sources=1)
    assert corpus.notes[0].endswith("split train, none after row 1.")
    assert [s.item_id for s in corpus.sources] == ["a_1"]
    with pytest.raises(CorpusError, match=r"has no column 'sound'; it has \['audio', 'id'\]"):
        open_dataset(folder, from_split="train", work_folder=tmp_path / "w", audio_column="sound")
    with pytest.raises(CorpusError, match="limit_sources must be at least 1, got 0"):
        open_dataset(folder, from_split="train", work_folder=tmp_path / "w", limit_sources=0)


def test_raw_bytes_will_do(tmp_path):
    folder = tmp_path / "d"
    folder.mkdir()
    pq.write_table(pa.table({"sound": [clip(0.1)]}), folder / "test.parquet")
    corpus = open_dataset(
        folder, from_split="test", work_folder=tmp_path / "w", audio_column="sound"
    )
    assert corpus.sources[0].path.read_bytes() == clip(0.1)


def test_a_split_column_decides(tmp_path):
    rows = {"audio": ROWS["audio"][:2], "split": ["test", "train"]}
    folder = write(tmp_path / "d", rows)
    corpus = open_dataset(
        folder, from_split="train", splits=["train", "test"], work_folder=tmp_path
    )
    assert [s.split for s in corpus.sources] == ["test", "train"]
    write(folder, rows | {"split": ["test", "dev"]})
    with pytest.raises(CorpusError, match="row 1: unknown split 'dev'"):
        open_dataset(folder, from_split="train", work_folder=tmp_path)


def test_without_a_split_column_speakers_are_kept_apart(tmp_path):
    audio = [{"bytes": clip(n / 40), "path": None} for n in range(12)]
    speakers = [f"s{n // 2}" for n in range(12)]
    folder = write(tmp_path / "d", {"audio": audio, "speaker": speakers})
    corpus = open_dataset(
        folder, from_split="train", splits=["train", "test"], work_folder=tmp_path
    )
    sides = {
        side: {s.speaker_id for s in corpus.sources if s.split == side}
        for side in ("train", "test")
    }
    assert len(sides["test"]) == 2
    assert not sides["test"] & sides["train"]


def lay_out(folder, layout, rows):
    """Rows with the path of a file each, as people put them on the Hub."""
    (folder / "clips").mkdir(parents=True)
    for n in range(len(rows)):
        (folder / "clips" / f"{n}.wav").write_bytes(clip(0.01 * (n + 1)))
    audio = "file_name" if layout.startswith("metadata") else "path"
    rows = [{audio: f"clips/{n}.wav"} | row for n, row in enumerate(rows)]
    path = folder / layout
    if path.suffix == ".csv":
        lines = [", ".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return folder


@pytest.mark.parametrize("speaker", ["speaker_id", "Speaker_ID", "speaker", "client_id"])
@pytest.mark.parametrize(
    "layout",
    ["metadata.csv", "metadata.jsonl", "metadata.parquet", "train.csv", "train.jsonl",
     "train.parquet"],
)  # fmt: skip
def test_tables_of_paths_keep_speakers_apart(tmp_path, layout, speaker):
    rows = [{speaker: f"s{n // 3}", "transcription": f"text {n}"} for n in range(12)]
    folder = lay_out(tmp_path / "d", layout, rows)
    corpus = open_dataset(
        folder, from_split="train", splits=["train", "test"], work_folder=tmp_path / "w"
    )
    assert len(corpus.sources) == 12
    assert {s.path.read_bytes() for s in corpus.sources} == {
        clip(0.01 * (n + 1)) for n in range(12)
    }
    assert {s.transcript for s in corpus.sources} == {f"text {n}" for n in range(12)}
    sides = [{s.speaker_id for s in corpus.sources if s.split == x} for x in ("train", "test")]
    assert set.union(*sides) == {"s0", "s1", "s2", "s3"}
    assert not set.intersection(*sides)
    assert len(corpus.notes) == 1


def test_an_id_of_several_rows_is_numbered(tmp_path):
    """FLEURS: `id` is the sentence, which several people read."""
    rows = [{"id": n, "client_id": f"s{i}"} for i, n in enumerate((7, 7, 8, 7))]
    folder = lay_out(tmp_path / "d", "train.jsonl", rows)
    corpus = open_dataset(folder, from_split="train", work_folder=tmp_path / "w")
    assert [s.item_id for s in corpus.sources] == ["7", "7_2", "8", "7_3"]
    assert corpus.notes[1].startswith("Several rows have the same 'id' ('7'); a number is added")
    part = open_dataset(folder, from_split="train", work_folder=tmp_path / "w", limit_sources=2)
    assert [s.item_id for s in part.sources] == ["7", "7_2"]


def test_two_columns_that_may_be_the_speaker_are_named(tmp_path):
    folder = lay_out(tmp_path / "d", "train.jsonl", [{"reader": 1, "narrator": 2}])
    with pytest.raises(CorpusError, match=r"\['reader', 'narrator'\] may all say who speaks"):
        open_dataset(folder, from_split="train", work_folder=tmp_path / "w")


def test_a_folder_of_audio_alone(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.wav").write_bytes(clip(0.1))
    corpus = open_dataset(tmp_path / "d", from_split="train", work_folder=tmp_path / "w")
    assert [s.path.read_bytes() for s in corpus.sources] == [clip(0.1)]


def test_a_table_that_cannot_be_read_is_one_line(tmp_path):
    empty = write(tmp_path / "empty", {"audio": []})
    with pytest.raises(CorpusError, match="empty: a Parquet file without rows; leave it out"):
        open_dataset(empty, from_split="train", work_folder=tmp_path)
    (empty / "train-00000-of-00001.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(CorpusError, match="empty"):
        open_dataset(empty, from_split="train", work_folder=tmp_path)


def test_saved_datasets_open_too(tmp_path):
    datasets = pytest.importorskip("datasets")
    saved = datasets.Dataset(pa.table({"audio": pa.array(ROWS["audio"][:2], AUDIO)}))
    saved.save_to_disk(tmp_path / "one")
    datasets.DatasetDict({"dev": saved}).save_to_disk(tmp_path / "dict")
    for folder, split in (("one", None), ("dict", "dev")):
        corpus = open_dataset(tmp_path / folder, from_split=split, work_folder=tmp_path / "w")
        assert len(corpus.sources) == 2


def test_refusals_say_what_to_do(dataset, tmp_path):
    with pytest.raises(
        CorpusError, match=r"org/speech is not on this disk.* pin it with a revision"
    ):
        open_dataset("org/speech", from_split="train", work_folder=tmp_path)
    with pytest.raises(CorpusError, match=r"speech has no split 'dev'; it has train$"):
        open_dataset(dataset, from_split="dev", work_folder=tmp_path)
    silent = write(tmp_path / "silent", {"audio": [{"bytes": None, "path": "x.wav"}]})
    with pytest.raises(
        CorpusError, match=r"none of 1 rows has audio \(row 0: x.wav: No such file\)"
    ):
        open_dataset(silent, from_split="train", work_folder=tmp_path)
    twice = write(tmp_path / "twice", {"audio": ROWS["audio"][:2], "id": ["a/b", "a b"]})
    with pytest.raises(CorpusError, match="row 0 and row 1 have the same item_id 'a_b'"):
        open_dataset(twice, from_split="train", work_folder=tmp_path)
