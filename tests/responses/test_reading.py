import pytest

from otoscope.responses import PARSERS
from otoscope.responses.reading import read_answers

TEXTS = [
    "Increase",
    " decrease\n",
    "Increases",
    "It increases.",
    "increase.",
    "",
    None,
    "Rise",
    "C",
    "<think>no</think>increase",
]


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_reads_what_the_parser_reads(name):
    read = read_answers([*TEXTS, *TEXTS], name)
    assert [*zip(read.labels, read.rules, strict=True)] == [PARSERS[name](t) for t in TEXTS] * 2


@pytest.mark.parametrize(
    ("name", "exact"),
    [
        (
            "paper",
            ["Increase", " decrease\n", TEXTS[-1]],
        ),  # bare words, as published
        ("strict", ["Increase", " decrease\n", TEXTS[-1]]),
        ("paraphrase", ["Increase", " decrease\n", "Increases", "Rise", TEXTS[-1]]),
        ("option_letter", ["C"]),
    ],
)
def test_exact_is_nothing_but_a_word(name, exact):
    flags = read_answers(TEXTS, name).exact
    assert [text for text, flag in zip(TEXTS, flags, strict=True) if flag] == exact


def test_unknown_parser_is_named_even_without_answers():
    with pytest.raises(LookupError, match="no parser named 'papper'"):
        read_answers([], "papper")
