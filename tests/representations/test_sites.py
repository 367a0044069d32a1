"""Names of sites: what is meant, what is there, and what is said about the rest."""

import re

import pytest

from otoscope.representations.sites import UnknownSite, parse_sites, site_names, site_of

NAMES = site_names(12)
PUBLISHED_KINDS = ("mel", "pre_llm", "audio", "text", "answer")


def test_every_name_is_its_site_and_back():
    assert [str(site_of(name)) for name in NAMES] == NAMES
    assert len(set(NAMES)) == len(NAMES)
    # 3 without a layer, and for 13 hidden states: 2 plain, 4 quarters, 3 places in the question
    published = [name for name in NAMES if site_of(name).kind in PUBLISHED_KINDS]
    assert len(published) == 3 + 13 * (2 + 4 + 3)


@pytest.mark.parametrize(
    ("requested", "found"),
    [
        ("mel", ["mel"]),
        ("answer,mel", ["mel", "answer"]),
        ("text.3,text.3", ["text.3"]),
        ("text.last", ["text.12"]),
        ("audio.last@a4", ["audio.12@a4"]),
        ("text.7@o", ["text.7"]),
        ("text.1?", ["text.10", "text.11", "text.12"]),
        ("text.*", [f"text.{k}" for k in range(13)]),
        ("text.10@*", ["text.10@q_attr", "text.10@q_p", "text.10@q_l"]),
        ("audio.1@a*", ["audio.1@a1", "audio.1@a2", "audio.1@a3", "audio.1@a4"]),
    ],
)
def test_sites_are_found_in_order(requested, found):
    assert parse_sites(requested, NAMES) == found


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        ("text.13", "no site 'text.13'; there are mel"),
        ("text.-1", "no site 'text.-1'"),
        ("audio.3@q_l", "no site 'audio.3@q_l'"),
        ("pre_lm", "did you mean 'pre_llm'?"),
        ("mel,", "no site ''"),
        ("text.13", "text.0 … text.12"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(requested, message):
    with pytest.raises(UnknownSite, match=re.escape(message)):
        parse_sites(requested, NAMES)


def test_sites_of_ones_own_go_by_the_same_rules():
    names = ["ear.0", "ear.1", "brain"]
    assert parse_sites("ear.last,brain", names) == ["ear.1", "brain"]
    with pytest.raises(UnknownSite, match=r"there are brain, ear.0 … ear.1"):
        parse_sites("mel", names)
