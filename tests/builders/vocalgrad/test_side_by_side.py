"""Two builds on one page, line by line the same conditions."""

import re
import sys

import pytest

from builders.building.folder import BuildError
from builders.vocalgrad.__main__ import app
from builders.vocalgrad.finishing import finish
from builders.vocalgrad.measuring.build_confounds import auc_text, confound_report
from builders.vocalgrad.measuring.findings import store_findings, stored_findings
from builders.vocalgrad.measuring.measurement import measure_build
from builders.vocalgrad.measuring.observer_accuracy import observer_report
from builders.vocalgrad.pages.side_by_side import write_side_by_side
from builders.vocalgrad.rendering.rows import build
from tests.builders.tiny_corpus import planned, speak


def made(root, out, categories):
    wanted = planned(root, categories=categories)
    built = build(wanted.plan, out)
    finish(built, wanted, verify="all")
    return built


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Two finished builds of one source each; the second has a category more."""
    root = tmp_path_factory.mktemp("both")
    first = made(speak(root / "a", n=1), root / "one", ["volume"])
    second = made(speak(root / "b", n=1, duration_s=1.5), root / "two", ["volume", "echo"])
    return first.folder, second.folder


@pytest.fixture(scope="module")
def page(both):
    return write_side_by_side(*both, both[0].parent / "pages" / "index.html").read_text()


def test_each_condition_is_one_line_with_both_builds(page, both):
    for category, tier in (("volume", "high"), ("echo", "low")):
        line = re.search(rf'data-cell="{category}-{tier}">(.*?)</tr>', page, re.DOTALL).group(1)
        counts = re.findall(r'<td class="number">(\d+)</td>', line)
        assert counts == (["8", "8"] if category == "volume" else ["0", "8"])
    found = [stored_findings(folder) for folder in both]
    for part in ("all_tiers", "widest"):
        for side, name in zip(found, ("one", "two"), strict=True):
            rows = getattr(side.confounds, part).rows
            pitch = next(r for r in rows if (r.category, r.name) == ("volume", "pitch"))
            cells = re.findall(
                rf'data-confounds="volume" data-build="{name}">(.*?)</tr>', page, re.DOTALL
            )
            assert any(f"<b>{auc_text(pitch.auc)[:4]}</b>" in text for text in cells)
    assert page.count('data-confounds="volume"') == 4
    assert page.count('data-confounds="echo"') == 2


def test_builds_of_one_profile_are_named_by_their_folders(page):
    assert "<title>VocalGrad: one and two</title>" in page


def test_builds_of_two_profiles_are_named_by_them(both, tmp_path):
    wanted = planned(both[0].parent / "a", categories=["volume"], profile="controlled")
    built = build(wanted.plan, tmp_path / "controlled")
    measured = measure_build(wanted.plan, built.folder)
    store_findings(built, wanted, observer_report(measured), confound_report(measured))
    text = write_side_by_side(both[0], built.folder, tmp_path / "index.html").read_text()
    assert "<title>VocalGrad: paper and controlled</title>" in text
    assert "not made from the same sources" not in text
    assert text.count("Its page</a>") == 1  # the other has no page yet


def test_other_sources_are_stated(page):
    assert "not made from the same sources" in page


def test_links_lead_to_the_builds_from_where_the_page_is(page, both):
    links = re.findall(r'<a href="(?!#)([^"]+)"', page)
    assert links == ["../one/index.html", "../two/index.html"]
    assert all((both[0].parent / "pages" / link).resolve().is_file() for link in links)


def test_a_build_cannot_stand_beside_itself(both, tmp_path):
    with pytest.raises(BuildError, match="is both builds; name two"):
        write_side_by_side(both[0], both[0] / ".." / "one", tmp_path / "index.html")


def test_the_command(both, tmp_path, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["vocalgrad", "compare", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            app()
        return ended.value.code or 0, *capsys.readouterr()

    out = tmp_path / "new" / "index.html"
    assert run(*both, "--out", out) == (0, f"comparison: {out}\n", "")
    assert out.is_file()
    code, _, output = run(both[0], tmp_path)
    assert code == 2
    assert output.startswith(f"error: {tmp_path} holds no finished build")
