"""Pages that load nothing, escape what they are given, and are complete or absent."""

import jinja2
import pytest

from otoscope.reports.writing import render, write

CHILD = '{% extends "page.html.jinja" %}{% block content %}{{ text }}{% endblock %}'


@pytest.fixture
def templates(tmp_path):
    (tmp_path / "child.html.jinja").write_text(CHILD)
    return tmp_path


def test_what_people_say_is_text_and_not_markup(templates):
    page = render(
        "child.html.jinja", {"title": "</title>", "text": "</script><b>x</b>"}, folder=templates
    )
    assert "&lt;/script&gt;&lt;b&gt;x" in page
    assert page.count("</title>") == 1


def test_control_characters_are_written_out(templates):
    values = {"title": "", "text": "a\0b\x1b[2Jc\n\u202ed"}
    assert r"a\x00b\x1b[2Jc" + "\n" + r"\u202ed" in render(
        "child.html.jinja", values, folder=templates
    )


def test_a_missing_value_is_an_error_and_not_a_gap(templates):
    with pytest.raises(jinja2.UndefinedError, match="text"):
        render("child.html.jinja", {"title": ""}, folder=templates)


def test_the_shell_forbids_the_browser_to_fetch_anything(templates):
    page = render("child.html.jinja", {"title": "", "text": ""}, folder=templates)
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")


def test_half_a_surrogate_pair_does_not_stop_a_page(tmp_path):
    path = write(tmp_path / "new" / "page.html", "caf\udce9")
    assert path.read_text() == "caf?"
    assert [p.name for p in path.parent.iterdir()] == ["page.html"]
