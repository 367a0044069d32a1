"""The builder's own commands, in this process."""

import csv
import io
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile

from builders.corpora import CORPORA
from builders.corpora.loquacious.frozen import read_loquacious_list
from builders.corpora.voices import ENGINE
from builders.vocalgrad.__main__ import app
from tests.builders.corpora.test_loquacious import ids_of_the_set, write_set
from tests.builders.own_vctk import LAYOUTS, write_own_vctk
from tests.builders.tiny_corpus import contents, speak

ROOT = Path(__file__).parents[3]
QUICK = ("--no-beeps", "--verify", "none", "--num-proc", "1", "--categories", "volume,echo")


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Runs a command; `(exit code, stdout, stderr)`."""
    monkeypatch.setenv("OTOSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["vocalgrad", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            app()
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return run


@pytest.fixture
def speech(tmp_path):
    root = speak(tmp_path / "speech")
    (root / "metadata.csv").write_text(
        "file_name,speaker_id,split\nclip0.wav,a,test\nclip1.wav,a,test\nclip2.wav,b,train\n"
    )
    return root


def n_rows(out, config, split):
    return sum(pq.read_metadata(p).num_rows for p in (out / config).glob(f"{split}-*.parquet"))


def test_a_build(call, speech, tmp_path):
    out = tmp_path / "vocalgrad"
    code, printed, _ = call("build", "--source", f"folder:{speech}", "--out", out, *QUICK)
    assert code == 0
    assert "98 rows in 3 files, 98 made now; 1 left out of the corpus" in printed
    assert f"load it: load_dataset({str(out)!r}, 'volume').cast_column(" in printed
    assert f"next: otoscope run perception --dataset {out} --model observer --out " in printed
    assert {path.split("/")[0] for path in contents(out)} == {
        "README.md", "index.html", "volume", "echo", "source",
    }  # fmt: skip
    complete = contents(out)
    code, printed, _ = call("build", "--source", f"folder:{speech}", "--out", out, *QUICK)
    assert (code, "98 rows in 3 files, 0 made now" in printed) == (0, True)
    assert contents(out) == complete


@pytest.mark.parametrize("beeps", ["--beeps", "--no-beeps"])
def test_a_dry_run_writes_nothing_and_counts_what_the_build_makes(call, speech, tmp_path, beeps):
    out = tmp_path / "vocalgrad"
    options = ("build", "--source", f"folder:{speech}", "--out", out, "--splits", "test,train")
    options += (*QUICK[1:5], "--categories", "background_noise", beeps)
    code, printed, _ = call(*options, "--dry-run")
    assert code == 0
    assert not out.exists()
    assert "nothing was written" in printed
    counted = {}
    for line in printed.splitlines():
        cells = line.split()
        if cells[-1:] == ["clips"]:
            counted[cells[0]] = int(cells[1].replace(",", ""))
    code, _, _ = call(*options)
    assert code == 0
    made = {}
    for name in counted:
        config, split = name.split("/")
        made[name] = n_rows(out, "background_noise" if config == "all" else config, split)
    assert made == counted
    assert counted == {"all/test": 48, "source/test": 2, "all/train": 24, "source/train": 1} | (
        {"beep/test": 240} if beeps == "--beeps" else {}
    )
    n_files = len(list(out.rglob("*.parquet")))
    assert f"{n_files} files, " in printed
    n_bytes = sum(path.stat().st_size for path in out.rglob("*.parquet"))
    number, unit = printed.split("(at most ")[1].split(")")[0].split()
    at_most = float(number) * {"MB": 1e6, "GB": 1e9}[unit]
    assert n_bytes <= 1.05 * at_most  # as rounded


def test_a_dry_run_of_voices_rejects_what_the_build_would(call, tmp_path):
    options = ("build", "--source", "voices:5", "--dry-run", "--out", tmp_path / "x")
    for arguments, complaint in (
        (("--profile", "papr"), "volume has no profile 'papr'"),
        (("--categories", "volum"), "did you mean 'volume'?"),
    ):
        code, _, printed = call(*options, *arguments)
        assert (code, complaint in printed) == (2, True)


def test_a_page_that_cannot_be_written(call, speech, tmp_path):
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "spans.html"
    code, _, printed = call("spans", "--source", f"folder:{speech}", "--out", out)
    assert (code, "Traceback" in printed) == (2, False)
    assert "error: " in printed
    assert str(tmp_path / "file") in printed


def test_a_dry_run_of_voices_does_not_speak(call, tmp_path):
    code, printed, _ = call(
        "build", "--source", "voices:5", "--dry-run", "--out", tmp_path / "x", "--no-beeps",
        "--categories", "volume",
    )  # fmt: skip
    assert code == 0
    assert "120 clips" in printed
    assert not (tmp_path / "cache").exists()


def test_limits_and_splits(call, speech, tmp_path):
    out = tmp_path / "vocalgrad"
    code, _, _ = call(
        "build", "--source", f"folder:{speech}", "--out", out, "--limit-sources", 1, *QUICK,
        "--splits", "test,train", "--licence", "cc-by-4.0", "--language", "de",
        "--attribution", "Anna",
    )  # fmt: skip
    assert code == 0
    assert (n_rows(out, "echo", "test"), n_rows(out, "echo", "train")) == (24, 24)
    card = (out / "README.md").read_text()
    assert "Anna Licence of the source: `cc-by-4.0`" in card
    assert "language:\n- de\n" in card


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--source", "fodler:x"), "no source corpus named 'fodler'; did you mean 'folder'?"),
        (("--source", "folder:/does/not/exist"), "there is no folder '/does/not/exist'"),
        (("--source", "folder"), "a folder is needed, as in --source KIND:PATH"),
        (("--source", "vctk:/does/not/exist"), "there is no folder"),
        (("--source", "voices:many"), "N must be a whole number from 1"),
        (("--source", "dataset"), "needs a path or a repository"),
        (("--source", "loquacious"), "speechbrain/LoquaciousSet is not on this disk"),
        (("--source", "loquacious:/does/not/exist"), "/does/not/exist is not on this disk"),
        (("--source", "loquacious", "--splits", "train"), "use --splits test"),
        (("--source", "cv-spontaneous"), "a folder is needed, as in --source KIND:PATH"),
        (("--source", f"cv-spontaneous:{ROOT / 'docs'}"), "holds no ss-corpus-LOCALE.tsv"),
        (("--categories", "volum"), "no category named 'volum'; did you mean 'volume'?"),
        (("--profile", "papr"), "has no profile 'papr'; there are ['controlled', 'paper'"),
        (("--splits", ""), "no split requested"),
        (("--splits", "tset"), "no split 'tset'"),
        (("--selection", "all"), "--source folder does not take --selection; it takes --splits"),
        (("--splits", "validation"), "puts nothing into validation"),
        (("--corrections", "/does/not/exist.csv"), "/does/not/exist.csv: No such file"),
        (("--metadata", "/does/not/exist.csv"), "/does/not/exist.csv: No such file"),
        (("--on-short", "quietest_floor"), "answers speech_from_first_frame only"),
        (("--on-nothing-found", "quietest_floor"), "answers speech_from_first_frame only"),
        (("--on-error", "ignore"), "'ignore' is not one of 'stop', 'skip'"),
        (("--verify", "some"), "'some' is not one of 'sample', 'all', 'none'"),
        (("--num-proc", "0"), "Invalid value for '--num-proc': "),
        (("--limit-sources", "0"), "Invalid value for '--limit-sources': "),
        (("--on-short", "maybe"), "'maybe' is not one of"),
        (("--no-such-option",), "No such option"),
    ],
)
def test_wrong_options_are_one_clear_line(call, speech, tmp_path, options, complaint):
    out = tmp_path / "vocalgrad"
    standard = ("build", "--source", f"folder:{speech}", "--out", out, *QUICK)
    code, _, printed = call(*standard, *options)
    assert code == 2
    assert complaint in " ".join(printed.replace("│", " ").split())
    assert "Traceback" not in printed
    assert not out.exists()


def test_a_clip_that_cannot_be_used(call, speech, tmp_path):
    (speech / "clip1.wav").write_bytes(b"RIFF")
    options = ("build", "--source", f"folder:{speech}", "--out", tmp_path / "out", *QUICK)
    code, _, printed = call(*options)
    assert code == 2
    assert "error: 1 of 2 sources cannot be used:" in printed
    assert "clip1.wav: not readable as audio" in printed
    assert "--on-error skip" in printed
    code, printed, warned = call(*options, "--on-error", "skip")
    assert code == 0
    assert "49 rows in 3 files, 49 made now; 2 left out of the corpus" in printed
    assert "left out: clip1: " in warned
    assert "clip1.wav: not readable as audio" in warned


def test_a_folder_without_audio(call, tmp_path):
    (tmp_path / "notes.txt").write_text("")
    code, _, printed = call(
        "build", "--source", f"folder:{tmp_path}", "--out", tmp_path / "o", *QUICK
    )
    assert (code, "hold no audio file" in printed) == (2, True)


def test_another_build_and_its_overwriting(call, speech, tmp_path):
    out = tmp_path / "vocalgrad"
    options = ("build", "--source", f"folder:{speech}", "--out", out, *QUICK)
    assert call(*options)[0] == 0
    code, _, printed = call(*options, "--categories", "volume")
    assert code == 2
    assert (
        "holds another build: categories ['volume', 'echo'], now ['volume']; choose another --out"
        in printed
    )
    assert call(*options, "--categories", "volume", "--overwrite")[0] == 0
    assert not (out / "echo").exists()


def test_sources_list(call, speech):
    code, printed, _ = call("sources", "list", "--source", f"folder:{speech}", "--limit-sources", 1)
    assert code == 0
    header, *lines = csv.reader(io.StringIO(printed))
    assert header[:3] == ["split", "item_id", "clip_id"]
    assert header[7:] == ["duration_s", "gender", "accent"]
    path = str(speech / "clip0.wav")
    assert lines == [["test", "clip0", "clip0", "a", "", path, "", "1.300000", "", ""]]


def test_a_list_says_what_it_leaves_out(call, speech):
    (speech / "metadata.csv").unlink()
    (speech / "b.m4a").write_bytes(b"x")
    code, printed, errors = call("sources", "list", "--source", f"folder:{speech}")
    assert (code, len(printed.splitlines())) == (0, 4)
    assert "left out: *.m4a: no audio by extension, 1 of them" in errors


def test_a_dry_run_of_voices_reads_the_corrections(call, tmp_path):
    options = ("build", "--source", "voices:5", "--dry-run", "--out", tmp_path / "x")
    code, _, errors = call(*options, "--corrections", tmp_path / "none.csv")
    assert code == 2
    assert "none.csv: No such file" in errors


def test_a_list_has_what_is_known_of_speakers(call, tmp_path):
    write_own_vctk(tmp_path / "vctk", LAYOUTS[0])
    source = ("--source", f"vctk:{tmp_path / 'vctk'}", "--selection", "all")
    _, printed, _ = call("sources", "list", *source)
    lines = list(csv.DictReader(io.StringIO(printed)))
    assert {(line["gender"], line["accent"]) for line in lines} == {("F", "English")}
    info = soundfile.info(lines[0]["path"])
    assert float(lines[0]["duration_s"]) == pytest.approx(info.frames / info.samplerate, abs=1e-6)
    speech = speak(tmp_path / "folder", n=2)
    (speech / "metadata.csv").write_text(
        "file_name,gender,accent\nclip0.wav,female,Scottish\nclip1.wav,,\n"
    )
    _, printed, _ = call("sources", "list", "--source", f"folder:{speech}")
    found = [(line["gender"], line["accent"]) for line in csv.DictReader(io.StringIO(printed))]
    assert found == [("female", "Scottish"), ("", "")]


def test_a_list_holds_nothing_that_a_spreadsheet_or_a_terminal_runs(call, speech):
    table = "file_name,transcript\nclip0.wav,=1+1\nclip1.wav,a\x1b[31m\n"
    (speech / "listed.csv").write_text(table)
    listed = ("--source", f"folder:{speech}", "--metadata", speech / "listed.csv")
    _, printed, _ = call("sources", "list", *listed)
    lines = list(csv.DictReader(io.StringIO(printed)))
    assert [line["transcript"] for line in lines] == ["'=1+1", "a\\x1b[31m"]


def test_voices_are_listed_without_a_word_synthesised(call, tmp_path, monkeypatch):
    def synthesise(*given, **named):
        raise AssertionError("nothing needs to be synthesised for a list")

    monkeypatch.setattr(ENGINE, "synthesise", synthesise)
    monkeypatch.setattr(ENGINE, "check_packages", synthesise)
    code, printed, _ = call("sources", "list", "--source", "voices:3")
    assert code == 0
    lines = list(csv.DictReader(io.StringIO(printed)))
    assert [(line["speaker_id"], line["gender"]) for line in lines] == [
        ("jf_alpha", "F"), ("jf_gongitsune", "F"), ("jf_nezumi", "F"),
    ]  # fmt: skip
    assert {(line["duration_s"], line["accent"]) for line in lines} == {("", "Japanese")}
    assert not (tmp_path / "cache").exists()
    path = Path(lines[1]["path"])  # one that an earlier build has synthesised has a length
    path.parent.mkdir(parents=True)
    soundfile.write(path, np.zeros(48_000), 24_000)
    _, printed, _ = call("sources", "list", "--source", "voices:3")
    lengths = [line["duration_s"] for line in csv.DictReader(io.StringIO(printed))]
    assert lengths == ["", "2.000000", ""]


def test_sources_list_and_verify_of_rows(call, tmp_path):
    copy = write_set(tmp_path / "set", ids_of_the_set())
    listed = ("sources", "list", "--selection", "frozen", "--source")
    code, printed, _ = call(*listed, f"loquacious:{copy}")
    lines = list(csv.reader(io.StringIO(printed)))[1:]
    assert code == 0
    assert [line[2] for line in lines] == [row.clip_id for row in read_loquacious_list()]
    code, _, printed = call(*listed, f"loquacious:{copy}@whatever")
    assert (code, "leave @whatever out" in printed) == (2, True)
    code, printed, _ = call("sources", "verify", f"loquacious:{copy}")
    assert code == 1
    assert "0 of 100 listed clips compared, 0 missing, 0 in another row" in printed
    assert "100 unreadable" in printed


def test_verify_of_what_has_no_list_and_of_what_is_no_corpus(call, tmp_path):
    for arguments, complaint in (
        ("cv-spontaneous:x", "no corpus with a published list of clips named 'cv-spontaneous'"),
        (tmp_path, "holds no speaker-info.txt, so it is not a VCTK folder"),
        (f"vctk:{tmp_path}", "holds no speaker-info.txt, so it is not a VCTK folder"),
        (tmp_path / "gone", f"there is no folder '{tmp_path / 'gone'}'"),
        ("loquacious", "pin it with a revision"),
    ):
        code, _, printed = call("sources", "verify", arguments)
        assert (code, complaint in printed) == (2, True)


@pytest.mark.parametrize("command", ["build", "spans"])
def test_help_names_every_corpus(call, command):
    code, printed, _ = call(command, "--help")
    assert code == 0
    for source in CORPORA:
        assert f"`{source}`" in printed
    assert "@REVISION" in printed
    code, printed, _ = call("--help")
    assert command in printed


def test_help_of_sources(call):
    code, printed, _ = call("sources", "--help")
    assert (code, "list" in printed, "verify" in printed) == (0, True, True)
    assert call()[0] == 2  # no arguments: the help
