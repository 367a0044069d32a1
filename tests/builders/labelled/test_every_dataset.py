"""What every labelled dataset can do, whoever wrote it. A new one needs an entry in `TINY`."""

import json
import re
from importlib import import_module

import pytest
from datasets import Audio, load_dataset
from typer.testing import CliRunner

from builders import LABELLED
from builders.building.finished import open_build
from otoscope.audits.call_value.contract import sha256_of
from otoscope.audits.labelled import open_labelled
from tests.builders.labelled.tiny_labelled import LARGE, TINY
from tests.builders.tiny_corpus import contents, leftovers

COLUMNS = [
    "id", "task", "audio", "label", "text", "cluster_id", "speaker_id", "source_id", "transcript",
    "duration_s", "audio_sha256", "row",
]  # fmt: skip


def build(name, arguments, *more, code=0):
    app = import_module(f"{LABELLED[name]}.__main__").app
    result = CliRunner().invoke(app, ["build", *arguments, "--num-proc", "1", *more])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in sorted(LABELLED)
    ]
)
def dataset(request, tmp_path):
    arguments = TINY[request.param](tmp_path)
    build(request.param, arguments, "--out", str(tmp_path / "built"))
    return request.param, arguments, tmp_path / "built"


def test_keeps_the_contract(dataset, tmp_path):
    _, _, folder = dataset
    loaded = load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["development", "holdout"]
    assert loaded["holdout"].column_names == COLUMNS
    rows = [
        row for split in loaded.values() for row in split.cast_column("audio", Audio(decode=False))
    ]
    assert len({row["id"] for row in rows}) == len(rows)
    assert len({row["task"] for row in rows}) == 1
    assert all(re.fullmatch("[0-9a-f]{16}[.]flac", row["audio"]["path"]) for row in rows)
    assert all(row["audio"]["bytes"].startswith(b"fLaC") for row in rows)

    streamed = load_dataset(str(folder), split="holdout", streaming=True)
    streamed = streamed.cast_column("audio", Audio(decode=False))
    assert [row["id"] for row in streamed] == loaded["holdout"]["id"]

    data = open_labelled(str(folder))
    assert data.labels == tuple(loaded["holdout"].features["label"].names)
    for split in ("development", "holdout"):
        assert {row.label for row in data.of(split)} == set(data.labels)
        record = open_build(folder).outline["splits"][split]
        ids = sorted(loaded[split]["id"])
        assert record == {"n": len(ids), "sha256": sha256_of(ids)}
        assert record["sha256"] in (folder / "README.md").read_text()
    development = {row.cluster_id for row in data.of("development")}
    assert not development & {row.cluster_id for row in data.of("holdout")}
    assert data.audio(data.rows[0].id).sampling_rate > 0

    page = (folder / "index.html").read_text()
    assert page.count("<audio") >= len(data.labels)
    assert leftovers(folder) == []
    findings = json.loads((folder / ".otoscope" / "findings.json").read_text())
    assert findings["guard"][0]["what"] == "audio"
    assert findings["guard"][0]["n_rows"] == 0


def test_the_same_command_makes_nothing_twice(dataset):
    name, arguments, folder = dataset
    before = contents(folder)
    assert "0 rows made now" in build(name, arguments, "--out", str(folder)).output
    assert contents(folder) == before
    file = next(folder.glob("data/holdout-*.parquet"))
    file.unlink()
    assert "were made again" in build(name, arguments, "--out", str(folder)).output
    assert contents(folder) == before


def test_a_dry_run_writes_nothing(dataset):
    name, arguments, folder = dataset
    result = build(name, arguments, "--out", str(folder.parent / "none"), "--dry-run")
    assert "nothing was written" in result.output
    assert not (folder.parent / "none").exists()


def test_another_build_is_not_replaced_unless_told(tmp_path):
    first = TINY["labelled_folder"](tmp_path / "a")
    build("labelled_folder", first, "--out", str(tmp_path / "out"))
    other = [*first, "--seed", "1"]
    result = build("labelled_folder", other, "--out", str(tmp_path / "out"), code=2)
    assert "holds another build" in result.output
    build("labelled_folder", other, "--out", str(tmp_path / "out"), "--overwrite")


@pytest.mark.slow
def test_bytes_do_not_depend_on_processes(tmp_path):
    arguments = TINY["labelled_folder"](tmp_path)
    for n in (1, 2):
        build(
            "labelled_folder",
            arguments,
            "--out",
            str(tmp_path / f"{n}" / "d"),
            "--num-proc",
            f"{n}",
        )
    assert contents(tmp_path / "1" / "d") == contents(tmp_path / "2" / "d")
