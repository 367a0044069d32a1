"""The build's page: everything on it comes from the build, and nothing from anywhere else."""

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pyarrow.parquet as pq
import pytest

from builders.building.finished import stored_rows
from builders.corpora.base import Corpus
from builders.vocalgrad.measuring.build_confounds import ConfoundReport
from builders.vocalgrad.measuring.observer_accuracy import ObserverReport, Rate, TierAccuracy
from builders.vocalgrad.pages import examples as examples_module
from builders.vocalgrad.pages.build_page import counts, write_page
from builders.vocalgrad.pages.examples import example_source, parameter_curve
from builders.vocalgrad.planning.build_plan import PlannedBuild
from builders.vocalgrad.planning.plan import OmittedTier
from builders.vocalgrad.rendering.rows import build
from otoscope.acoustics.confounds import Confounds
from otoscope.acoustics.design import PUBLISHED_CATEGORIES, TIERS
from otoscope.acoustics.rendering import render
from tests.builders.tiny_corpus import TinyBuild, one_beep, planned, speak

NASTY = "</script><b>bold</b> & \"quoted\" 'x' {{ 7 * 7 }}"
NOTHING = Rate(None, None, None)
ROWS = tuple(
    TierAccuracy(category, tier, n, 2, 1, Rate(0.75, 0.5, 0.9) if n else NOTHING, NOTHING)
    for category in PUBLISHED_CATEGORIES
    for tier, n in zip(TIERS, (0, 8, 80), strict=True)
)
REPORT = ObserverReport("made up for a test", ROWS)
NO_AREAS = ConfoundReport("no confounds", Confounds((), ()), Confounds((), ()))


class Elements(HTMLParser):
    """Every element's name and attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def of(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """All categories, one source, a beep; strings that would like to be markup."""
    root = tmp_path_factory.mktemp("page")
    plan, survey, corpus = planned(
        speak(root / "speech", n=1, duration_s=1.2),
        beeps=one_beep(root / "beeps"),
        categories=PUBLISHED_CATEGORIES,
    )
    sources = tuple(
        replace(s, source=replace(s.source, transcript=NASTY, speaker_id=NASTY))
        for s in plan.sources
    )
    plan = replace(plan, sources=sources)
    corpus = replace(corpus, name=NASTY, attribution=NASTY, synthetic=True)
    wanted = PlannedBuild(plan, survey, corpus)
    built = TinyBuild(build(plan, root / "vocalgrad"), wanted)
    path = write_page(built.build, wanted, REPORT, NO_AREAS)
    return built, path, path.read_text()


def test_the_page_loads_nothing(made):
    _, _, text = made
    for tag, attributes in Elements(text).found:
        for name in ("src", "href", "xlink:href", "srcset", "data", "poster", "action"):
            address = attributes.get(name) or "#"
            assert address.startswith(("#", "data:")), (tag, name, address[:80])
    without_data = re.sub(r"base64,[\w+/=]+", "", text)
    assert not re.search(r"@import|url\(\s*['\"]?(?!#|data:)|fetch\(|XMLHttp", without_data)
    assert "default-src 'none'" in text


def test_it_is_written_into_the_build_whole(made):
    built, path, text = made
    assert path == built.folder / "index.html"
    assert text.rstrip().endswith("</html>")
    assert not list(built.folder.glob("*.partial"))


def test_every_category_has_its_players_and_they_hold_the_dataset_s_bytes(made):
    built, _, text = made
    players = {a["data-clip"]: a["src"] for a in Elements(text).of("audio") if "data-clip" in a}
    for category in PUBLISHED_CATEGORIES:
        for tier in TIERS:
            for direction in ("up", "down"):
                (name,) = (
                    name
                    for name in players
                    if name.startswith(f"test-{category}-")
                    and name.endswith(f"__linear__{tier}__{direction}")
                    and "beep" not in name
                )
                flac = stored_rows(built.build, category, [name])[name]["audio"]["bytes"]
                assert base64.b64decode(players[name].partition(",")[2]) == flac
    beeps = [name for name in players if "beep" in name]
    assert len(beeps) == 2 * 4
    assert len(players) == len(beeps) + 6 * len(PUBLISHED_CATEGORIES)


def test_every_player_and_every_picture_has_words(made):
    elements = Elements(made[2])
    assert all(player["aria-label"] for player in elements.of("audio"))
    pictures = [a for a in elements.of("svg") if a.get("class") == "figure"]
    assert len(pictures) == 7 * len(PUBLISHED_CATEGORIES)
    assert all(picture["aria-label"] for picture in pictures)


def test_counts_are_those_of_the_parquet_files(made):
    built, _, text = made
    for count in counts(built.build, built.plan):
        tables = [
            pq.read_table(path, columns=["no_effect", "clipped_fraction"])
            for path in sorted((built.folder / count["config"]).glob("test-*.parquet"))
        ]
        n = sum(table.num_rows for table in tables)
        no_effect = sum(x is True for table in tables for x in table["no_effect"].to_pylist())
        clipped = sum(x > 0 for table in tables for x in table["clipped_fraction"].to_pylist())
        assert (count["rows"]["test"], count["no_effect"], count["clipped"]) == (
            n,
            no_effect,
            clipped,
        )
        line = re.search(rf'<tr data-config="{count["config"]}">.*?</tr>', text, re.DOTALL).group()
        assert re.findall(r'class="number">([\d,]+)<', line) == [
            f"{k:,}" for k in (n, no_effect, clipped)
        ]
    assert {count["config"] for count in counts(built.build, built.plan)} == {
        *PUBLISHED_CATEGORIES,
        "source",
        "beep",
    }


def test_a_condition_without_effect_is_marked(made):
    built, _, text = made
    # 16 kHz sources: a hold for 18 kHz never comes
    names = re.findall(r'data-clip="([^"]+)"', text)
    (name,) = (n for n in names if "audio_distortion" in n and n.endswith("low__up"))
    assert stored_rows(built.build, "audio_distortion", [name])[name]["no_effect"]
    after = text[text.index(f'data-clip="{name}"') :]
    assert 0 < after.index("No effect: at this") < after.index("data-clip", 10)


def test_what_sources_say_stays_text(made):
    _, _, text = made
    assert "<b>bold</b>" not in text
    assert "&lt;/script&gt;&lt;b&gt;bold" in text
    assert text.count("<script>") == text.count("</script>") == 1
    assert "{{ 7 * 7 }}" in text


def test_synthetic_voices_are_stated(made):
    assert "Synthetic voices." in made[2]


def test_cells_with_few_clips_are_grey_and_cells_with_none_have_no_number(made):
    text = made[2]
    for tier, few in (("low", True), ("mid", True), ("high", False)):
        line = re.search(rf'<tr([^>]*)data-cell="echo-{tier}">(.*?)</tr>', text, re.DOTALL)
        assert ("few" in line.group(1)) == few
        assert ("75.0" in line.group(2)) == (tier != "low")


def plain(built):
    """One category, and a corpus that has nothing to say."""
    plan = replace(built.plan, categories=("volume",), beeps=())
    sources = tuple(s.source for s in built.plan.sources)
    corpus = Corpus("Plain", "unknown", "", None, False, sources)
    return PlannedBuild(plan, built.survey, corpus)


def test_a_build_without_measurements_has_a_page(made):
    built, path, _ = made
    nothing = ObserverReport("no observer", ())
    text = write_page(built.build, plain(built), nothing, NO_AREAS).read_text()
    assert "no observer" in text
    assert "no confounds" in text
    assert "data-cell" not in text
    assert "data-confounds" not in text
    path.write_text(made[2])


def test_tiers_that_do_not_fit_are_left_out(made, monkeypatch):
    built, path, before = made
    monkeypatch.setattr(examples_module, "MAX_AUDIO_BYTES", 1)
    text = write_page(built.build, plain(built), REPORT, NO_AREAS).read_text()
    assert "__linear__high__up" in text
    assert "__linear__low__" not in text
    assert "mid, low: not on this page, which would get too large" in text
    path.write_text(before)


def test_the_example_is_the_first_test_source_with_a_detected_span(made):
    plan = made[0].plan
    first = replace(plan.sources[0], span_origin="detected")
    second = replace(first, pcm_sha256="another")
    assert example_source(replace(plan, sources=(first, second))) == first
    corrected = replace(first, span_origin="corrected")
    assert example_source(replace(plan, sources=(corrected, second))) == second
    assert example_source(replace(plan, sources=(corrected,))) == corrected
    long = replace(first, n_samples=20 * 48_000)
    longer = replace(first, n_samples=30 * 48_000)
    assert example_source(replace(plan, sources=(longer, second))) == second
    assert example_source(replace(plan, sources=(longer, long))) == long
    train = replace(first, source=replace(first.source, split="train"))
    assert example_source(replace(plan, sources=(train, second))) == second


def test_players_come_first_and_tables_are_folded(made):
    text = made[2]
    first = text.index("data-clip=")
    for title in ("counts", "observer", "confounds", "origin"):
        at = text.index(f'<h2 id="{title}">')
        assert at > first
        assert text[:at].endswith('<details class="fold"><summary>')
    assert text.index('id="source-audio"') < first


def test_empty_cells_say_why(made):
    built, path, before = made
    omitted = (OmittedTier("echo", "low", "it would be silent"),)
    (source,) = built.plan.sources
    plan = replace(built.plan, sources=(replace(source, omitted=omitted),))
    rows = (
        TierAccuracy("echo", "low", 0, 0, 0, NOTHING, NOTHING),
        TierAccuracy("echo", "mid", 0, 5, 0, NOTHING, NOTHING),
        TierAccuracy("echo", "high", 0, 0, 0, NOTHING, NOTHING),
        TierAccuracy("volume", "low", 3, 0, 3, NOTHING, NOTHING),
    )
    wanted = PlannedBuild(plan, built.survey, built.planned.corpus)
    text = write_page(built.build, wanted, ObserverReport("made up", rows), NO_AREAS).read_text()
    path.write_text(before)
    for cell, reason in (
        ("echo-low", "not made: it would be silent"),
        ("echo-mid", "changes nothing at these sampling rates"),
        ("echo-high", "none among those measured"),
        ("volume-low", "not measurable"),
    ):
        line = re.search(rf'data-cell="{cell}">(.*?)</tr>', text, re.DOTALL).group(1)
        assert reason in line
    assert "Not made: 8 clips of echo, since it would be silent." in text
    section = text[text.index('<section class="card" id="echo"') :]
    section = section[: section.index("</section>")]
    assert 'data-tier="low"><h4>' in section.replace("\n", "")
    assert "No clips: it would be silent." in section


def test_a_row_that_is_not_there_is_an_error_with_its_name(made):
    with pytest.raises(LookupError, match="no row 'test-volume-nobody' in config 'volume'"):
        stored_rows(made[0].build, "volume", ["test-volume-nobody"])


def test_a_curve_is_drawn_in_output_time():
    rng = np.random.default_rng(0)
    samples = rng.uniform(-0.1, 0.1, 16_000 * 2).astype(np.float32)
    span = (4_000, 28_000)
    made = render(
        samples, 16_000, span, category="speaking_speed", tier="high", curve="linear",
        direction="up", clip_id="x",
    )  # fmt: skip
    times_s, values = parameter_curve("speaking_speed", made, span, 16_000)
    assert times_s[0] == span[0] / 16_000
    assert times_s[-1] == pytest.approx(made.span.end / 16_000)
    # at 0.6 of the speed a stretch of source lasts 1.4 / 0.6 times as long as at 1.4
    steps = np.diff(times_s)[:-1]
    assert steps[0] / steps[-1] == pytest.approx(1.4 / 0.6, rel=0.06)
    assert (np.diff(values) >= 0).all()
