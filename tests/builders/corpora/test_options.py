"""Kinds of corpora, the options that each takes, and how a new one is added."""

import sys
from importlib import import_module
from inspect import getsource, signature
from types import ModuleType

import pytest

from builders.corpora import CORPORA, VERIFIERS
from builders.corpora.base import Corpus, CorpusError, SourceClip
from builders.corpora.options import CorpusOptions, open_corpus, verify_corpus
from otoscope.registry import UnknownName
from tests.builders.corpora.recorded_progress import RecordedProgress


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


@pytest.mark.parametrize(
    ("source", "options", "flag"),
    [
        ("folder:x", {"selection": "nonsense"}, "--selection"),
        ("folder:x", {"microphone": "mic2"}, "--microphone"),
        ("vctk:x", {"metadata": "x.csv"}, "--metadata"),
        ("dataset:x", {"selection": "all"}, "--selection"),
        ("voices:3", {"licence": "cc0-1.0"}, "--licence"),
        ("loquacious", {"from_split": "train"}, "--from-split"),
        ("cv-spontaneous:x", {"config": "c"}, "--config"),
        ("beep", {"splits": "train"}, "--splits"),
    ],
)
def test_every_corpus_rejects_the_options_of_others(source, options, flag):
    with pytest.raises(CorpusError, match=f"does not take {flag}; it takes "):
        open_corpus(CorpusOptions(source, **options))


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
