"""A plain folder of audio, with and without a table."""

import errno
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

from builders.corpora.base import CorpusError
from builders.corpora.folder import open_folder
from builders.corpora.reading.audio_files import EXTENSIONS
from builders.corpora.reading.item_ids import safe_id

DATA = Path(__file__).parents[2] / "data"
REAL = Path(__file__).parents[3].parent / "shared" / "data" / "real"


def second_of_silence():
    buffer = io.BytesIO()
    soundfile.write(buffer, np.zeros(8000), 8000, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


@pytest.fixture
def folder(tmp_path):
    for name in ("b/two.wav", "a one.wav", "b/.hidden.wav", ".cache/x.wav", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(second_of_silence())
    return tmp_path


def table(folder, text, name="metadata.csv", encoding="utf-8"):
    (folder / name).write_text(text, encoding=encoding)


def test_every_visible_audio_file_in_order_of_path(folder):
    corpus = open_folder(folder, licence="cc0-1.0")
    assert [(s.item_id, s.clip_id, s.split, s.position) for s in corpus.sources] == [
        ("a_one", "a_one", "test", 0),
        ("b_two", "b_two", "test", 1),
    ]
    assert corpus.sources[1].path == folder / "b" / "two.wav"
    assert (corpus.name, corpus.licence, corpus.notes) == (folder.name, "cc0-1.0", ())


class TestWhatIsNotTaken:
    def test_other_extensions_and_links_to_folders_are_listed(self, folder, tmp_path_factory):
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        (elsewhere / "far.wav").write_bytes(second_of_silence())
        (folder / "linked").symlink_to(elsewhere)
        (folder / "one_more.wav").symlink_to(elsewhere / "far.wav")
        for name in ("b/a.TXT", "clip.m4a", "README"):
            (folder / name).write_text("")
        os.mkfifo(folder / "b" / "pipe.wav")
        corpus = open_folder(folder)
        assert [s.item_id for s in corpus.sources] == ["a_one", "b_two", "one_more"]
        assert dict(corpus.skipped) == {
            "linked": "a link to a folder, not followed",
            "b/pipe.wav": "a device, pipe or socket",
            "files without an extension": "no audio by extension, 1 of them",
            "*.m4a": "no audio by extension, 1 of them",
            "*.txt": "no audio by extension, 2 of them",
        }

    def test_a_link_that_leads_nowhere_is_rejected(self, folder):
        (folder / "b" / "gone.wav").symlink_to("nowhere.wav")
        with pytest.raises(CorpusError, match=r"/b/gone\.wav: a link to nowhere\.wav, not there"):
            open_folder(folder)
        table(folder, "file_name\nb/two.wav\n")
        corpus = open_folder(folder)
        assert dict(corpus.skipped)["b/gone.wav"] == "a link to nowhere.wav, not there"

    def test_a_folder_that_may_not_be_opened_is_rejected(self, folder, monkeypatch):
        open_it = os.scandir

        def closed(path):
            if Path(path).name == "b":
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return open_it(path)

        monkeypatch.setattr(os, "scandir", closed)
        with pytest.raises(CorpusError, match=r"/b: Permission denied; mend or remove it"):
            open_folder(folder)


def test_everything_a_table_can_say(folder):
    table(
        folder,
        "file_name,speaker_id,sentence_id,text,onset_sec,offset_sec,item_id,clip_id,mood\n"
        './b/two.wav,s1,7,"Well,  then.",0.25,1,two_01,two,glad\n'
        "a one.wav,,,,,,,,\n",
        encoding="utf-8-sig",
    )
    first, second = open_folder(folder).sources
    assert (first.item_id, first.speaker_id, first.span_s) == ("a_one", "", None)
    assert (second.item_id, second.clip_id) == ("two_01", "two")
    assert (second.speaker_id, second.sentence_id) == ("s1", "7")
    assert (second.transcript, second.span_s) == ("Well, then.", (0.25, 1.0))


@pytest.mark.parametrize("name", ["Speaker_ID", "speaker", "client_id", "Speaker ID", "SPK-ID"])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_speakers_under_other_names_and_headers_with_blanks(folder, name, ending):
    if ending == "csv":
        table(folder, f"file_name, {name}\na one.wav, s1\nb/two.wav,s1\n")
    else:
        lines = (json.dumps({"file_name": f, name: "s1"}) for f in ("a one.wav", "b/two.wav"))
        table(folder, "\n".join(lines), name="metadata.jsonl")
    assert [s.speaker_id for s in open_folder(folder).sources] == ["s1", "s1"]
    with pytest.raises(CorpusError, match="all 2 clips are of one speaker"):
        open_folder(folder, splits=["train", "test"])


def test_two_tables_are_not_guessed_between(folder):
    table(folder, "file_name\na one.wav\n")
    table(folder, '{"file_name": "a one.wav"}', name="metadata.jsonl")
    with pytest.raises(CorpusError, match=r"metadata.csv and metadata.jsonl; name .* --metadata"):
        open_folder(folder)


def test_files_the_table_does_not_list_are_skipped(folder):
    table(folder, "file_name,transcript\na one.wav,hello\n", name="other.csv")
    corpus = open_folder(folder, metadata=folder / "other.csv")
    assert [s.transcript for s in corpus.sources] == ["hello"]
    assert corpus.skipped == (("b/two.wav", "not listed in other.csv"),)


def test_splits_of_the_table_are_kept(folder):
    table(folder, "file_name,split,speaker_id\na one.wav,train,s\nb/two.wav,test,s\n")
    corpus = open_folder(folder, splits=["train", "test"])
    assert [s.split for s in corpus.sources] == ["train", "test"]
    assert corpus.notes == (
        "Splits as metadata.csv gives them.",
        "1 speakers are in test and in train or validation.",
    )
    only = open_folder(folder)
    assert [s.item_id for s in only.sources] == ["b_two"]
    assert only.skipped == (("a_one", "train was not requested"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "path,speaker_id\na one.wav,s\n",
            r"no column 'file_name'; it has \['path', 'speaker_id'\]",
        ),
        ("", r"no column 'file_name'; it has \[\]"),
        ("file_name\n", "metadata.csv lists no file"),
        ("file_name,text,text\na one.wav,a,b\n", "has the column 'text' twice"),
        ("file_name,split\na one.wav,dev\n", "line 2: unknown split 'dev'; there are train, valid"),
        ("file_name,split\na one.wav,test\nb/two.wav,\n", "line 3 has no split while other rows"),
        (
            "file_name\na one.wav\n./a one.wav\n",
            "line 3: file_name 'a one.wav' is already on line 2",
        ),
        ("file_name\nc.wav\n", "line 2: there is no file 'c.wav'"),
        ("file_name\n../x.wav\n", "must be relative to the folder and stay inside"),
        ("file_name\n/x.wav\n", "must be relative to the folder and stay inside"),
        ("file_name,text\n,hello\n", "line 2: file_name is empty"),
        ("file_name\na one.wav,more\n", "line 2 has more cells than the header"),
        ("file_name,item_id\na one.wav,x\nb/two.wav,x\n", "a one.wav and b/two.wav .* item_id 'x'"),
        ("file_name,clip_id\na one.wav,x\nb/two.wav,x\n", "a one.wav and b/two.wav .* clip_id 'x'"),
        ("file_name,item_id\na one.wav,b__c\n", "line 2: the id 'b__c' must consist of"),
        ("file_name,onset_sec,offset_sec\na one.wav,0.2,\n", "offset_sec is missing; give both"),
        ("file_name,onset_sec\na one.wav,0.2\n", "offset_sec is missing; give both"),
        ("file_name,onset_sec,offset_sec\na one.wav,0.2,x\n", "offset_sec must be a number .* 'x'"),
        (
            "file_name,onset_sec,offset_sec\na one.wav,nan,1\n",
            "onset_sec must be a number .* 'nan'",
        ),
        ("file_name,onset_sec,offset_sec\na one.wav,-0.1,1\n", "from -0.1 to 1 s is not one"),
        ("file_name,onset_sec,offset_sec\na one.wav,0.5,0.5\n", "from 0.5 to 0.5 s is not one"),
        (
            "file_name,onset_sec,offset_sec\na one.wav,0,1.2\n",
            "ends at 1.2 s, after the end .* at 1 s",
        ),
    ],
)
def test_tables_that_do_not_fit_are_rejected(folder, text, message):
    table(folder, text)
    with pytest.raises(CorpusError, match=message):
        open_folder(folder)


def test_a_table_that_is_not_text_or_not_there(folder):
    table(folder, "file_name,text\na one.wav,é\n", encoding="latin-1")
    with pytest.raises(CorpusError, match="is not UTF-8 text"):
        open_folder(folder)
    with pytest.raises(CorpusError, match=r"none\.csv: No such file"):
        open_folder(folder, metadata=folder / "none.csv")


def test_clashing_and_impossible_ids_name_the_files(folder):
    (folder / "b_two.wav").write_bytes(second_of_silence())
    with pytest.raises(
        CorpusError, match=r"b/two\.wav and b_two\.wav have the same item_id 'b_two'"
    ):
        open_folder(folder)
    (folder / "b_two.wav").rename(folder / "声.wav")
    with pytest.raises(CorpusError, match="no id can be made of '声'"):
        open_folder(folder)


def test_no_audio_at_all(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(CorpusError, match="hold no audio file"):
        open_folder(tmp_path)
    with pytest.raises(CorpusError, match="there is no folder"):
        open_folder(tmp_path / "notes.txt")


@pytest.mark.parametrize("name", ["a__b", "_a", "a_", "a b", "ä-é.x", "a/../b", "x" * 9])
def test_safe_ids_survive_being_joined_and_split(name):
    assert f"{safe_id(name)}__tail".split("__") == [safe_id(name), "tail"]


def test_extensions_are_formats_the_reader_knows():
    formats = {name.lower() for name in soundfile.available_formats()}
    aliases = {
        "aif": "aiff",
        "aifc": "aiff",
        "wave": "wav",
        "oga": "ogg",
        "opus": "ogg",
        "snd": "au",
    }
    assert {aliases.get(e[1:], e[1:]) for e in EXTENSIONS} <= formats


@pytest.mark.parametrize("tree", [DATA, REAL / "librispeech", REAL / "vctk/VCTK-Corpus-0.80"])
def test_trees_of_recordings_work_as_plain_folders(tree):
    if not tree.is_dir():
        pytest.skip("an extra on recordings that lie beside the clone; none are there")
    corpus = open_folder(tree, splits=["train", "test"])
    audio = [p for p in tree.rglob("*") if p.suffix in {".wav", ".flac", ".mp3"}]
    assert len(corpus.sources) == len(audio)
    assert {s.split for s in corpus.sources} == {"train", "test"}
