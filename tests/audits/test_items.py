"""Anybody's rows: what is needed, what is read, and what is named when it is missing."""

import hashlib
import inspect
import socket
import sys

import datasets
import numpy as np
import pytest

from otoscope.acoustics import codec
from otoscope.audits.items import Items, open_items
from otoscope.audits.opening import DatasetError, configs_in, splits_in
from tests.audits.tiny_dataset import RATE, clip, in_memory, row, rows, write


def table(**columns):
    """Two rows with some columns replaced; None takes one out."""
    stored = {"id": ["a", "b"], "category": ["echo", "echo"], "label": ["increase", "decrease"]}
    audio = columns.pop("audio", [{"bytes": clip(i), "path": None} for i in range(2)])
    stored = {name: values for name, values in (stored | columns).items() if values is not None}
    built = datasets.Dataset.from_dict(stored)
    return built if audio is None else built.add_column("audio", audio)


class TestRows:
    def test_four_columns_are_enough(self):
        items = open_items(in_memory(rows(2, "audio_distortion")))
        assert len(items) == 2
        assert items.rows[1]["label"] == "increase"
        assert items.rows[0]["attribute"] == "audio distortion"
        assert items.audio("audio_distortion-0").sampling_rate == RATE

    @pytest.mark.parametrize("missing", ["id", "audio", "category", "label"])
    def test_a_missing_column_is_named_with_those_there_are(self, missing):
        with pytest.raises(DatasetError, match=rf"lacks the column\(s\) \['{missing}'\]; it has"):
            open_items(table(**{missing: None}))

    def test_two_rows_of_one_id(self):
        with pytest.raises(DatasetError, match="two rows have the id 'a'"):
            open_items(table(id=["a", "a"]))
        one = open_items(table())
        with pytest.raises(DatasetError, match="two rows have the id 'a'"):
            one.extend(open_items(table()))

    def test_ids_that_are_numbers_are_text(self):
        items = open_items(table(id=[7, 8]))
        assert [r["id"] for r in items.rows] == ["7", "8"]
        assert items.audio("7").id == "7"

    def test_a_row_without_its_id_is_named_by_its_place(self):
        with pytest.raises(DatasetError, match="row 1 of config '' lacks its id"):
            open_items(table(id=["a", None]))

    @pytest.mark.parametrize("names", [["decrease", "increase"], ["increase", "decrease"]])
    def test_class_labels_are_names_in_whatever_order(self, names):
        built = table(label=[0, 1]).cast_column("label", datasets.ClassLabel(names=names))
        assert [r["label"] for r in open_items(built).rows] == names

    def test_configs_may_number_their_labels_differently(self):
        tables = [
            (config, table(id=[f"{config}0", f"{config}1"], label=[0, 1]).cast_column(
                "label", datasets.ClassLabel(names=names)
            ))
            for config, names in (("x", ["decrease", "increase"]), ("y", ["increase", "decrease"]))
        ]  # fmt: skip
        labels = {r["id"]: r["label"] for r in Items(tables).rows}
        assert labels == {"x0": "decrease", "x1": "increase", "y0": "increase", "y1": "decrease"}

    def test_a_class_label_that_stands_for_nothing(self):
        """-1 is what `datasets` writes where a test set hides its labels."""
        names = datasets.ClassLabel(names=["decrease", "increase"])
        built = table(label=[-1, 1]).cast_column("label", names)
        with pytest.raises(DatasetError, match="row 'a': label is -1; it must be one of"):
            open_items(built)

    def test_categories_may_be_class_labels(self):
        built = table(category=[0, 1]).cast_column(
            "category", datasets.ClassLabel(names=["voice_pitch", "echo"])
        )
        assert [r["attribute"] for r in open_items(built).rows] == ["voice pitch", "echo"]

    @pytest.mark.parametrize("read", [open_items, configs_in, splits_in])
    def test_a_readme_of_broken_yaml_is_named(self, tmp_path, read):
        write(tmp_path, {"all": {"test": [row(0)]}})
        (tmp_path / "README.md").write_text("---\nconfigs: [\n---\n")
        with pytest.raises(DatasetError, match=r"the YAML in its README\.md"):
            read(str(tmp_path))

    def test_attributes_that_are_numbers_are_text(self):
        assert [r["attribute"] for r in open_items(table(attribute=[0, 7])).rows] == ["0", "7"]

    @pytest.mark.parametrize("start", [float("nan"), float("inf")])
    def test_a_span_that_is_no_number_is_named(self, start):
        built = table(span_start_s=[0.0, start], span_end_s=[0.01, 0.02])
        with pytest.raises(DatasetError, match=r"row 'b': the span \(.* is not a range of seconds"):
            open_items(built)

    def test_a_span_of_text_is_named(self):
        built = table(span_start_s=["0", "0"], span_end_s=[0.01, 0.02])
        with pytest.raises(DatasetError, match="row 'a': the span"):
            open_items(built)


class TestAudio:
    @pytest.mark.parametrize("span", [(1.0, 2.0), (-0.01, 0.02), (0.02, 0.01)])
    def test_a_span_outside_the_clip_is_named(self, span):
        items = open_items(in_memory([row(3, span_start_s=span[0], span_end_s=span[1])]))
        with pytest.raises(codec.AudioError, match=r"row 'volume-3': the span .* within the clip"):
            items.audio("volume-3")

    def test_samples_rate_and_hash(self):
        data = clip(3)
        audio = open_items(
            in_memory([row(3, audio=data, span_start_s=0.01, span_end_s=0.04)])
        ).audio("volume-3")
        pcm, rate = codec.read(data).pcm, codec.read(data).sampling_rate
        assert np.array_equal(audio.samples, pcm[0] / np.float32(32768))
        assert audio.samples.dtype == np.float32
        assert audio.sampling_rate == rate
        assert audio.sha256 == hashlib.sha256(data).hexdigest()
        assert audio.span_s == (0.01, 0.04)

    def test_channels_are_averaged(self):
        data = clip(0, channels=2)
        pcm = codec.read(data).pcm
        audio = open_items(in_memory([row(0, audio=data)])).audio("volume-0")
        assert audio.samples == pytest.approx(pcm.mean(axis=0) / 32768, abs=1e-7)

    @pytest.mark.parametrize("absolute", [True, False])
    def test_audio_in_files_of_their_own(self, tmp_path, absolute):
        (tmp_path / "clips").mkdir()
        (tmp_path / "clips" / "a.wav").write_bytes(clip(1))
        path = str(tmp_path / "clips" / "a.wav") if absolute else "clips/a.wav"
        write(tmp_path, {"all": {"test": [row(0, audio=path)]}})
        items = open_items(tmp_path)
        assert items.audio_bytes("volume-0") == clip(1)
        sha256, length_s = items.facts("volume-0")
        assert length_s == 400 / RATE
        assert sha256 == items.audio("volume-0").sha256

    def test_a_column_of_paths(self, tmp_path):
        (tmp_path / "a.wav").write_bytes(clip(1))
        items = open_items(table(audio=[str(tmp_path / "a.wav")] * 2))
        assert items.audio("b").duration_s == 400 / RATE

    @pytest.mark.parametrize(
        ("audio", "complaint"),
        [
            (b"no sound at all", "row 'volume-0': not readable as audio"),
            (clip(0)[:300], "row 'volume-0': cut short"),
            ("absent.wav", "row 'volume-0': absent.wav: No such file"),
            (b"", "row 'volume-0' has no audio"),
        ],
    )
    def test_what_cannot_be_read_is_named_by_its_row(self, audio, complaint):
        items = open_items(in_memory([row(0, audio=audio), row(1)]))
        items.audio("volume-1")
        with pytest.raises((codec.AudioError, DatasetError), match=complaint):
            items.audio("volume-0")

    @pytest.mark.parametrize("audio", [[1, 2], [[0.0, 0.1], [0.2, 0.3]]])
    def test_a_column_that_holds_no_audio(self, audio):
        with pytest.raises(DatasetError, match="config '': column 'audio' is no audio"):
            open_items(table(audio=audio))

    def test_a_clip_is_decoded_and_hashed_once(self, monkeypatch):
        items = open_items(in_memory(rows(2)))
        counts = {"read": 0, "sha256": 0}
        read, sha256 = codec.read, hashlib.sha256
        monkeypatch.setattr(
            codec, "read", lambda *a, **k: counts.update(read=counts["read"] + 1) or read(*a, **k)
        )
        monkeypatch.setattr(
            hashlib, "sha256", lambda d: counts.update(sha256=counts["sha256"] + 1) or sha256(d)
        )
        for _ in range(3):
            items.facts("volume-0")
            items.audio("volume-0")
        assert counts == {"read": 1, "sha256": 1}

    def test_torchcodec_is_not_needed(self):
        open_items(in_memory(rows(1))).audio("volume-0")
        assert "torchcodec" not in sys.modules


class TestWhere:
    def test_a_folder_with_configs_and_splits(self, tmp_path):
        write(
            tmp_path,
            {
                "all": {"test": rows(2), "train": rows(3, "echo")},
                "source": {"test": rows(1, "source")},
            },
        )
        assert [r["id"] for r in open_items(tmp_path).rows] == ["volume-0", "volume-1"]
        assert len(open_items(str(tmp_path), split="train+test")) == 5
        both = open_items(tmp_path, ["all", "source"])
        assert [r["config"] for r in both.rows] == ["all", "all", "source"]
        assert both.rows[2]["attribute"] is None

    @pytest.mark.parametrize(
        ("configs", "split", "complaint"),
        [((), "dev", "Unknown split"), (("volum",), "test", "volum")],
    )
    def test_a_split_or_config_that_is_not_there(self, tmp_path, configs, split, complaint):
        write(tmp_path, {"all": {"test": rows(2)}, "volume": {"test": rows(2)}})
        with pytest.raises(DatasetError, match=complaint):
            open_items(tmp_path, configs, split=split)

    def test_a_folder_with_nothing_in_it(self, tmp_path):
        (tmp_path / "empty").mkdir()
        with pytest.raises(DatasetError, match="empty"):
            open_items(tmp_path / "empty")

    def test_files_that_are_no_tables(self, tmp_path):
        (tmp_path / "test-0.parquet").write_bytes(b"PAR1 and no more")
        with pytest.raises(DatasetError):
            open_items(tmp_path)

    def test_why_a_file_cannot_be_read(self, tmp_path):
        (tmp_path / "test.jsonl").write_text('{"id": \n')
        with pytest.raises(DatasetError, match=r"generating the dataset \(.*parse error"):
            open_items(tmp_path)

    def test_a_hub_repository_needs_a_revision(self):
        with pytest.raises(DatasetError, match=r"'someone/else' is no folder here; .* --revision"):
            open_items("someone/else")

    def test_a_hub_repository_out_of_reach(self, monkeypatch):
        monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        with pytest.raises(DatasetError, match="someone/else"):
            open_items("someone/else", revision="0" * 40)

    def test_nothing_local_asks_the_network(self, tmp_path, monkeypatch):
        def fail(*_, **__):
            raise AssertionError("the network was used")

        monkeypatch.setattr(socket.socket, "connect", fail)
        monkeypatch.setattr(socket, "getaddrinfo", fail)
        write(tmp_path, {"all": {"test": rows(1)}})
        open_items(tmp_path).audio("volume-0")

    def test_all_splits_at_once_are_rejected(self):
        both = datasets.DatasetDict({"test": in_memory(rows(1)), "train": in_memory(rows(1))})
        with pytest.raises(DatasetError, match=r"is one split, .* not a DatasetDict"):
            inspect.unwrap(open_items)(both)  # types are checked in tests only
