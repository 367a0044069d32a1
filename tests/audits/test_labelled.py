"""Labelled datasets: two splits of clips with one label each of a closed set."""

import datasets
import pytest

from otoscope.audits.labelled import open_labelled
from otoscope.audits.opening import DatasetError
from tests.audits.tiny_dataset import RATE, clip, full_row, in_memory, write

ANIMALS = ("sheep", "cow", "hen")


def animal(i, split, **more):
    return {"id": f"{split}-{i}", "audio": clip(i), "label": ANIMALS[i % 3]} | more


def splits(development="development", holdout="holdout", n=3, **more):
    return {name: [animal(i, name, **more) for i in range(n)] for name in (development, holdout)}


def memory(parts, *, names=ANIMALS):
    made = datasets.DatasetDict({name: in_memory(rows) for name, rows in parts.items()})
    if names:
        label = datasets.ClassLabel(names=list(names))
        made = made.cast_column("label", label)
    return made


def test_a_folder_with_its_audio(tmp_path):
    data = open_labelled(write(tmp_path, {"default": splits(task="animals", text="quoted")}))
    assert (data.task, data.labels, data.splits) == (
        "animals", ("cow", "hen", "sheep"), ("development", "holdout"),
    )  # fmt: skip
    first = data.rows[0]
    assert (first.id, first.split, first.label, first.text) == (
        "development-0", "development", "sheep", "quoted",
    )  # fmt: skip
    assert [row.id for row in data.of("holdout")] == ["holdout-0", "holdout-1", "holdout-2"]
    assert data.audio("holdout-1").sampling_rate == RATE


def test_class_labels_keep_their_order():
    assert open_labelled(memory(splits())).labels == ANIMALS
    assert open_labelled(memory(splits(), names=())).labels == tuple(sorted(ANIMALS))


@pytest.mark.parametrize("names", [("train", "test"), ("dev", "test"), ("validation", "test")])
def test_usual_names_of_splits(names):
    data = open_labelled(memory(splits(*names)))
    assert data.splits == names
    assert {row.split for row in data.rows} == {"development", "holdout"}


def test_splits_that_are_named():
    three = memory(splits("a", "b") | splits("c", "d"))
    data = open_labelled(three, development="c", holdout="b")
    assert data.splits == ("c", "b")
    with pytest.raises(DatasetError, match="has the splits a, b, c, d; name two"):
        open_labelled(three)
    with pytest.raises(DatasetError, match="no split 'e'"):
        open_labelled(three, development="e")
    with pytest.raises(DatasetError, match="both the split 'a'"):
        open_labelled(three, development="a", holdout="a")


def test_clusters():
    plain = open_labelled(memory(splits()))
    assert plain.rows[1].cluster_id == "development-1"
    spoken = splits(speaker_id="p1", source_id="s1")
    assert open_labelled(memory(spoken)).rows[0].cluster_id == "s1"
    assert open_labelled(memory(spoken), cluster="speaker_id").rows[0].cluster_id == "p1"
    assert open_labelled(memory(splits(cluster_id="c", source_id="s"))).rows[0].cluster_id == "c"
    with pytest.raises(DatasetError, match="no 'sentence_id' to cluster by"):
        open_labelled(memory(spoken), cluster="sentence_id")


def test_a_perception_dataset_is_one(tmp_path):
    parts = {
        split: [full_row(100 * k + i) for i in range(4)]
        for k, split in enumerate(("train", "test"))
    }
    data = open_labelled(write(tmp_path, {"volume": parts}))
    assert data.labels == ("decrease", "increase")
    assert data.task == "generic"
    assert open_labelled(tmp_path, task="direction").task == "direction"


def test_rows_with_a_value():
    parts = splits(n=6, tier="low")
    for rows in parts.values():
        for row in rows[:4]:
            row["tier"] = "high"
    assert len(open_labelled(memory(parts), where=["tier=high"]).rows) == 8
    assert len(open_labelled(memory(parts), where=["tier=low", "label=cow"]).rows) == 2
    with pytest.raises(DatasetError, match="no row of development has tier=mid; tier is 'high'"):
        open_labelled(memory(parts), where=["tier=mid"])
    with pytest.raises(DatasetError, match="'teir=low' is no COLUMN=VALUE; there are id"):
        open_labelled(memory(parts), where=["teir=low"])


def test_what_is_wrong_is_named():
    none = splits()
    none["holdout"][1]["label"] = None
    with pytest.raises(DatasetError, match="'holdout-1' has no label"):
        open_labelled(memory(none, names=()))
    with pytest.raises(DatasetError, match=r"two labels or more; there is \('sheep',\)"):
        open_labelled(memory(splits(n=1), names=()))
    twice = splits()
    twice["holdout"][0]["id"] = "development-0"
    with pytest.raises(DatasetError, match="in development and in hold-out: 'development-0'"):
        open_labelled(memory(twice))
    tasks = splits(task="a")
    tasks["holdout"][0]["task"] = "b"
    with pytest.raises(DatasetError, match="several tasks: 'a', 'b'"):
        open_labelled(memory(tasks))
    other = memory(splits())
    other["holdout"] = other["holdout"].cast_column(
        "label", datasets.ClassLabel(names=["cow", "hen", "sheep", "dog"])
    )
    with pytest.raises(DatasetError, match="declare other labels"):
        open_labelled(other)
    with pytest.raises(DatasetError, match="needs both splits"):
        open_labelled(memory(splits())["holdout"])
