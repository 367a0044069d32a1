"""Evidence folders: written as tables that an audit accepts, or not at all."""

import datasets
import pytest

from otoscope.audits.call_value.evidence import EXAMPLES, example_rows, tables_in, write_evidence
from otoscope.audits.call_value.schema import CallValueError
from otoscope.audits.call_value.tables import read_call_tables
from otoscope.audits.labelled import open_labelled
from tests.audits.tiny_dataset import clip, in_memory

LABELS = ("cow", "hen")


@pytest.fixture
def data():
    rows = {
        split: [
            {"id": f"{split}-{i}", "audio": clip(i), "label": LABELS[i % 2], "speaker_id": f"p{i}"}
            for i in range(4)
        ]
        for split in ("development", "holdout")
    }
    return open_labelled(datasets.DatasetDict({n: in_memory(r) for n, r in rows.items()}))


def predictions(data, **more):
    for row in data.rows:
        known = {"example_id": row.id, "action": "probe", "kind": "encoder", "label": "cow"}
        fold = int(row.id[-1]) % 2 if row.split == "development" else None
        yield known | {"conf": 0.5, "scores": [0.5, 0.5], "fold": fold} | more


def test_an_audit_reads_what_was_written(data, tmp_path):
    write_evidence(tmp_path, predictions(data), example_rows(data), data.labels)
    tables = read_call_tables(tables_in(tmp_path), holdout_labels=True)
    assert tables.examples.loc["holdout-1", "label"] == "hen"
    assert tables.examples.loc["holdout-1", "cluster_id"] == "p1"
    assert tables.examples.loc["holdout-1", "duration"] == pytest.approx(400 / 8000)
    assert set(tables.predictions["action"]) == {"probe"}


def test_tables_that_an_audit_rejects_are_not_left_behind(data, tmp_path):
    rows = predictions(data, label="dog")
    with pytest.raises(CallValueError, match="label 'dog' is not in the set"):
        write_evidence(tmp_path, rows, example_rows(data), data.labels)
    assert not list(tmp_path.iterdir())


def test_what_a_path_stands_for(tmp_path):
    assert tables_in(tmp_path / "table.csv") == [tmp_path / "table.csv"]
    (tmp_path / EXAMPLES).touch()
    with pytest.raises(CallValueError, match=r"holds no predictions\.parquet"):
        tables_in(tmp_path)
