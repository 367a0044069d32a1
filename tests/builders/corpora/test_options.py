"""Kinds of corpora, the options that each takes, and how a new one is added."""

import sys
from dataclasses import fields, replace
from importlib import import_module
from inspect import getsource, signature
from pathlib import Path
from types import ModuleType

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.corpora import CORPORA, VERIFIERS
from builders.corpora.base import Corpus, CorpusError, SourceClip
from builders.corpora.options import (
    FOR_EVERY_CORPUS,
    CorpusOptions,
    open_corpus,
    verify_corpus,
)
from builders.vocalgrad.planning.estimate import plan_without_audio
from otoscope.registry import UnknownName
from tests.builders.corpora.recorded_progress import RecordedProgress
from tests.builders.own_vctk import LAYOUTS, write_own_vctk
from tests.builders.tiny_corpus import speak


def open_toy(where, *, splits=("test",), language=None, revision=None, progress=None):
    """All that a corpus needs."""
    with progress.bar("Reading", 1) as step:
        step()
    return Corpus(
        name=f"Toy {where}@{revision}",
        licence="cc0-1.0",
        attribution="nobody",
        language=language,
        synthetic=True,
        sources=(SourceClip("a_01", "a", splits[0], 0, where),),
    )


@pytest.fixture
def toy(monkeypatch):
    module = ModuleType("toy_corpus")
    module.open_toy = open_toy
    monkeypatch.setitem(sys.modules, "toy_corpus", module)
    monkeypatch.setitem(CORPORA, "toy", "toy_corpus:open_toy")


def test_a_corpus_is_a_function_and_a_line_in_the_table(toy):
    progress = RecordedProgress()
    options = CorpusOptions("toy:there@v2", splits="train,test", language="de", limit_sources=3)
    corpus = open_corpus(options, progress)
    assert (corpus.name, corpus.language) == ("Toy there@v2", "de")
    assert corpus.sources[0].split == "train"
    assert progress.steps == [(1, 1)]
    assert open_corpus(CorpusOptions("toy")).name == "Toy @None"


def test_an_option_that_a_corpus_does_not_take_is_rejected(toy):
    with pytest.raises(
        CorpusError,
        match="--source toy does not take --selection, --audio-column; it takes --splits, "
        "--language",
    ):
        open_corpus(CorpusOptions("toy", selection="nonsense", audio_column="sound"))


PLACES = {
    "voices": "voices:3",
    "vctk": "vctk:{root}/vctk",
    "folder": "folder:{root}/folder",
    "dataset": "dataset:{root}/dataset",
    "loquacious": "loquacious:{root}/folder",
    "cv-spontaneous": "cv-spontaneous:{root}/folder",
    "beep": "beep",
}
WRONG = {
    "splits": ("train,tset", "no split 'tset'"),
    "selection": ("nonsense", "'nonsense'; there are published"),
    "microphone": ("mic3", "no microphone 'mic3'; there are mic1, mic2"),
    "metadata": (Path("missing.csv"), "missing.csv: No such file"),
    "licence": ("cc-by4", "no licence 'cc-by4'; there are cc-by-4.0"),
    "language": ("English", "no language 'English'"),
    "from_split": ("trian", "'trian'"),
    "config": ("nonsense", "'nonsense'"),
    "audio_column": ("sound", "has no column 'sound'; it has"),
}
"""Of every option that only some corpora take: a value that none has, and the complaint.

Any text is an attribution; `limit_sources` and `on_error` are for every corpus.
"""
TAKEN = {
    "voices": {"splits"},
    "vctk": {"splits", "selection", "microphone"},
    "folder": {"splits", "metadata", "licence", "attribution", "language"},
    "dataset": {
        "splits", "licence", "attribution", "language", "from_split", "config", "audio_column",
    },
    "loquacious": {"splits", "selection"},
    "cv-spontaneous": {"splits", "selection"},
    "beep": set(),
}  # fmt: skip


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    root = tmp_path_factory.mktemp("places")
    speak(root / "folder", n=2)
    write_own_vctk(root / "vctk", LAYOUTS[1])
    (root / "dataset").mkdir()
    cells = [
        {"bytes": path.read_bytes(), "path": path.name} for path in (root / "folder").iterdir()
    ]
    pq.write_table(pa.table({"audio": cells}), root / "dataset" / "test-00000-of-00001.parquet")
    return {kind: place.format(root=root) for kind, place in PLACES.items()}


def test_the_contract_is_about_every_corpus_and_every_option():
    options = {f.name for f in fields(CorpusOptions)} - {"source", *FOR_EVERY_CORPUS}
    assert TAKEN.keys() == PLACES.keys() == CORPORA.keys()
    assert {*WRONG, "attribution"} == options


@pytest.mark.parametrize("kind", sorted(PLACES))
@pytest.mark.parametrize("option", [*WRONG, "attribution"])
def test_an_option_is_checked_or_rejected_and_never_ignored(places, kind, option, monkeypatch):
    wrong, complaint = WRONG.get(option, ("Anna", ""))
    if option in TAKEN[kind]:
        if complaint:
            with pytest.raises(CorpusError) as raised:
                open_corpus(CorpusOptions(places[kind], **{option: wrong}))
            assert complaint in str(raised.value)
        else:
            assert open_corpus(CorpusOptions(places[kind], **{option: wrong})).attribution == wrong
        return
    # one that it does not take is rejected whatever its value, also at another corpus's default
    for value in (wrong, {"splits": "test", "selection": "published"}.get(option, "x")):
        with pytest.raises(CorpusError) as raised:
            open_corpus(CorpusOptions(places[kind], **{option: value}))
        flag = "--" + option.replace("_", "-")
        assert str(raised.value).startswith(f"--source {kind} does not take {flag}; it takes ")


@pytest.mark.parametrize(
    ("licence", "complaint"),
    [
        ("cc-by-4.0", "demands that whoever made the recordings is named: give --attribution"),
        ("cc-by-nc-sa-3.0", "cc-by-nc-sa-3.0 demands"),
        ("odc-by", "odc-by demands"),
        ("cc0-1.0", None),
        ("other", None),
    ],
)
@pytest.mark.parametrize("kind", ["folder", "dataset"])
def test_a_licence_gets_what_it_demands(places, kind, licence, complaint):
    options = CorpusOptions(places[kind], licence=licence)
    if complaint is None:
        assert open_corpus(options).licence == licence
        return
    for attribution in (None, "", " "):
        with pytest.raises(CorpusError, match=complaint):
            open_corpus(replace(options, attribution=attribution))
    assert open_corpus(replace(options, attribution="Anna")).licence == licence


def test_what_a_place_has_no_use_for_is_rejected(places, tmp_path):
    with pytest.raises(CorpusError, match="on this disk, where nothing has a revision; leave @v2"):
        open_corpus(CorpusOptions(places["dataset"] + "@v2"))
    with pytest.raises(CorpusError, match="leave @v2 out"):
        open_corpus(CorpusOptions(places["loquacious"] + "@v2"))
    saved = tmp_path / "saved"
    datasets.Dataset.from_dict({"audio": [b"RIFF"]}).save_to_disk(saved)
    for option in ("config", "from_split"):
        flag = "--" + option.replace("_", "-")
        with pytest.raises(CorpusError, match=f"leave out {flag}"):
            open_corpus(CorpusOptions(f"dataset:{saved}", **{option: "train"}))
    write_own_vctk(tmp_path / "old", LAYOUTS[0])
    assert open_corpus(CorpusOptions(f"vctk:{tmp_path}/old", selection="all")).sources
    for function in (open_corpus, verify_corpus):
        with pytest.raises(CorpusError, match=r"no file of wav48/ has a microphone in its name"):
            function(CorpusOptions(f"vctk:{tmp_path}/old", microphone="mic1"))


def test_a_dry_run_of_voices_checks_the_same():
    with pytest.raises(CorpusError, match="--source voices does not take --selection"):
        plan_without_audio(CorpusOptions("voices:3", selection="nonsense"), None, beeps=False)


def test_options_for_every_corpus_are_never_rejected(tmp_path, monkeypatch):
    monkeypatch.setenv("OTOSCOPE_CACHE", str(tmp_path))
    corpus = open_corpus(CorpusOptions("beep", limit_sources=2, on_error="skip"))
    assert len(corpus.sources) == 10  # whoever builds from it applies the limit


@pytest.mark.parametrize("entry", [*CORPORA.values(), *VERIFIERS.values()])
def test_every_entry_is_a_documented_function_of_a_place_and_keywords(entry):
    module, _, name = entry.partition(":")
    source = getsource(import_module(module))
    function = getattr(import_module(module), name)
    first, *others = signature(function).parameters.values()
    assert first.kind is first.POSITIONAL_OR_KEYWORD
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in others)
    assert "Raises:" in function.__doc__ or "Error" not in source


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("vctk", "a folder is needed, as in --source KIND:PATH"),
        ("folder:", "a folder is needed"),
        ("cv-spontaneous", "a folder is needed"),
        ("dataset", "needs a path or a repository"),
        ("loquacious", "is not on this disk, so it must be a Hub repository; pin it"),
        ("voices:none", "N must be a whole number from 1"),
    ],
)
def test_a_source_without_its_place_says_what_is_needed(source, complaint):
    with pytest.raises(CorpusError, match=complaint):
        open_corpus(CorpusOptions(source))


def test_names_that_do_not_exist():
    with pytest.raises(UnknownName, match="no source corpus named 'vtck'; did you mean 'vctk'"):
        open_corpus(CorpusOptions("vtck:somewhere"))
    with pytest.raises(UnknownName, match=r"no corpus with a published list .* named 'folder'"):
        verify_corpus(CorpusOptions("folder:x"))
    with pytest.raises(CorpusError, match="does not take --microphone; it takes no option"):
        verify_corpus(CorpusOptions("loquacious", microphone="mic2"))
    assert VERIFIERS.keys() <= CORPORA.keys()
