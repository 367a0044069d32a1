"""Folder ownership: a folder is free, the same work's, another work's, or something else's."""

import errno
import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from otoscope.atomic import naming_disk_errors, write_atomic, write_json
from otoscope.claims import FolderKind, agreed, differences, locked
from otoscope.errors import InputError


class BoxError(InputError):
    pass


BOXES = FolderKind("box", "box.json", BoxError, may_hold=("parts",), ignored={"path", "m.date"})
RECORD = {"seed": 0, "sizes": (1, 2), "rate": math.nan, "path": "here", "m": {"name": "a"}}


class TestDifferences:
    @pytest.mark.parametrize(
        ("stored", "wanted", "named"),
        [
            ({"a": 1}, {"a": 2}, ["a"]),
            ({"a": 1}, {}, ["a"]),
            ({"a": None}, {}, []),
            ({"a": math.nan}, {"a": math.nan}, []),
            ({"a": [1, math.nan]}, {"a": [1, math.nan]}, []),
            ({"a": {"b": {"c": 1}, "d": 2}}, {"a": {"b": {"c": 3}, "d": 2}}, ["a.b.c"]),
            ({"a": {"b": 1}}, {"a": 1}, ["a"]),
            ({"a": {}}, {"a": {"b": 1, "c": 2}}, ["a.b", "a.c"]),
            ({"b": 1, "a": 1}, {"b": 2, "a": 2}, ["a", "b"]),
        ],
    )
    def test_are_named_with_nested_keys_joined_by_dots(self, stored, wanted, named):
        assert [found.name for found in differences(stored, wanted)] == named
        assert [found.name for found in differences(wanted, stored)] == named

    def test_ignored_names_are_whole_paths(self):
        stored, wanted = {"x": 1, "m": {"x": 1}}, {"x": 2, "m": {"x": 2}}
        assert [found.name for found in differences(stored, wanted, ignored={"x"})] == ["m.x"]
        assert [found.name for found in differences(stored, wanted, ignored={"m.x"})] == ["x"]
        assert [found.name for found in differences(stored, wanted, ignored={"m"})] == ["x"]


class TestFolderKind:
    def test_a_free_folder_is_claimed_and_the_same_claim_changes_nothing(self, tmp_path):
        folder = tmp_path / "new"
        assert BOXES.claim(folder, RECORD)
        before = (folder / "box.json").read_bytes()
        assert not BOXES.claim(folder, RECORD | {"path": "there", "m": {"name": "a", "date": 1}})
        assert (folder / "box.json").read_bytes() == before
        assert [path.name for path in folder.iterdir()] == ["box.json"]

    def test_another_record_is_an_error_that_names_every_difference(self, tmp_path):
        BOXES.claim(tmp_path, RECORD)
        message = r"holds another box: m\.name 'a', now 'b'; seed 0, now 1; choose another --out"
        with pytest.raises(BoxError, match=message):
            BOXES.claim(tmp_path, RECORD | {"seed": 1, "m": {"name": "b"}})

    def test_a_stored_record_may_have_more_where_the_kind_says_so(self, tmp_path):
        BOXES.claim(tmp_path, RECORD | {"result": 1})
        with pytest.raises(BoxError, match="another box: result 1, now None"):
            BOXES.matching(tmp_path, RECORD)
        found = replace(BOXES, may_have_more=True).matching(tmp_path, RECORD)
        assert found is not None
        assert found["result"] == 1

    def test_something_else_is_left_alone(self, tmp_path):
        (tmp_path / "thesis.tex").touch()
        with pytest.raises(BoxError, match="holds something that is no box"):
            BOXES.claim(tmp_path, RECORD)
        assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]

    def test_what_an_unfinished_claim_leaves_is_in_nobodys_way(self, tmp_path):
        (tmp_path / "parts").mkdir()
        (tmp_path / ".box.json.0123").touch()
        assert BOXES.claim(tmp_path, RECORD)

    @pytest.mark.parametrize("text", ["", "{", "[]", "[1]", "1", "null"])
    def test_a_record_that_is_none_is_named(self, tmp_path, text):
        (tmp_path / "box.json").write_text(text)
        with pytest.raises(BoxError, match=r"box\.json is not readable"):
            BOXES.claim(tmp_path, RECORD)

    def test_a_description_that_is_no_json_is_an_error(self, tmp_path):
        with pytest.raises(BoxError, match=r"cannot be put in box\.json: .*object"):
            BOXES.claim(tmp_path, {"m": object()})
        assert list(tmp_path.iterdir()) == []


def test_a_lock_is_held_by_one(tmp_path):
    for path in (tmp_path, tmp_path / "lock"):
        with locked(path), pytest.raises(BoxError), locked(path, BoxError("busy")):
            pass
        with locked(path, BoxError("busy")):
            pass


def test_holders_of_a_file_agree_with_the_first(tmp_path):
    path = tmp_path / "world"
    with agreed(path, "2") as first, agreed(path, "3") as second:
        assert (first, second) == ("2", "2")
    with agreed(path, "3") as third:
        assert third == path.read_text() == "3"


@pytest.mark.parametrize(
    ("pattern", "home"),
    [(r"\bfcntl\b", "claims.py"), (r"write_atomic\([^\n]*json\.dumps", "atomic.py")],
)
def test_locks_and_json_files_are_written_in_one_place(pattern, home):
    root = Path(__file__).parents[1]
    files = [
        p for name in ("otoscope", "builders", "trainers") for p in (root / name).rglob("*.py")
    ]
    found = {p for p in files if re.search(pattern, p.read_text(encoding="utf-8"))}
    assert found <= {root / "otoscope" / home}


class TestWriteAtomic:
    def test_json_is_written_with_a_line_break_or_not_at_all(self, tmp_path):
        path = write_json(tmp_path / "a", {"b": 1, "a": "é"}, via=tmp_path / "staging")
        assert path.read_text() == '{\n "b": 1,\n "a": "\\u00e9"\n}\n'
        write_json(path, {"b": 1, "a": "é"}, sort_keys=True, indent=None, ensure_ascii=False)
        with pytest.raises(TypeError):
            write_json(path, {"a": object()})
        assert path.read_text(encoding="utf-8") == '{"a": "é", "b": 1}\n'

    def test_the_same_bytes_are_not_written_again(self, tmp_path):
        path = write_atomic(tmp_path / "a" / "b", b"x")
        before = path.stat().st_ino
        assert write_atomic(path, b"x").stat().st_ino == before
        assert write_atomic(path, b"y").stat().st_ino != before

    @pytest.mark.parametrize("sync", [False, True])
    def test_a_function_may_write(self, tmp_path, sync):
        path = write_atomic(tmp_path / "a", lambda to: to.write_text("x"), sync=sync)
        assert path.read_text() == "x"
        assert os.listdir(tmp_path) == ["a"]

    def test_a_full_disk_names_the_file(self, tmp_path):
        def fail(path):
            raise OSError(errno.ENOSPC, "No space left on device")

        with pytest.raises(OSError, match="No space left") as raised:
            write_atomic(tmp_path / "a", fail)
        assert raised.value.filename == str(tmp_path / "a")
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize(
        ("error", "named"),
        [
            (OSError(errno.ENOSPC, "full"), "mine"),
            (OSError(errno.ENOSPC, "full", "other"), "other"),
            (ConnectionResetError(errno.ECONNRESET, "reset"), None),
        ],
    )
    def test_only_an_error_of_the_disk_is_named(self, error, named):
        with pytest.raises(OSError, match=r"full|reset"), naming_disk_errors(Path("mine")):
            raise error
        assert error.filename == named

    def test_a_writer_that_fails_leaves_the_old_file_alone(self, tmp_path):
        def fail(path):
            path.write_text(json.dumps({"half": 1}))
            raise BoxError("full")

        (tmp_path / "a").write_text("old")
        with pytest.raises(BoxError):
            write_atomic(tmp_path / "a", fail)
        assert (tmp_path / "a").read_text() == "old"
        assert os.listdir(tmp_path) == ["a"]
