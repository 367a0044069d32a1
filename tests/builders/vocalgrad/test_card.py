"""README.md: what the Hub reads of it, and what people read of it."""

import ast
import re
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import jinja2
import pyarrow.parquet as pq
import pytest
import soundfile
import yaml

from builders.building.repository import content_hash
from builders.corpora.base import Skipped
from builders.vocalgrad.pages.card import write_card
from builders.vocalgrad.planning.build_plan import PlannedBuild
from builders.vocalgrad.rendering.rows import build
from cards import render_card
from otoscope.acoustics.design import PUBLISHED_CATEGORIES as ALL
from tests.builders.tiny_corpus import CONFOUNDS, OBSERVER, built_from, one_beep, planned, speak


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    speech = speak(tmp_path_factory.mktemp("speech"), n=4)
    (speech / "metadata.csv").write_text(
        "file_name,speaker_id,split\nclip0.wav,a,test\nclip1.wav,a,test\n"
        "clip2.wav,c,test\nclip3.wav,d,validation\n"
    )
    (speech / "clip2.wav").write_bytes(b"")
    return built_from(
        speech, tmp_path_factory.mktemp("out") / "vocalgrad", splits=("test", "validation"),
        beeps=one_beep(tmp_path_factory.mktemp("beeps")), categories=None, on_error="skip",
    )  # fmt: skip


@pytest.fixture(scope="module")
def card(built):
    return (built.folder / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def header(card):
    _, text, _ = card.split("---\n", 2)
    return yaml.safe_load(text)


def rows(built, config, split=""):
    columns = ["id", "category", "no_effect", "clipped_fraction", "source_id", "speaker_id"]
    columns += ["duration_s"]
    for path in sorted((built.folder / config).glob(f"{split}*.parquet")):
        yield from pq.read_table(path, columns=columns).to_pylist()


def table(card, first_column):
    """The rows of the Markdown table whose first heading is given, as lists of cells."""
    lines = card.splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.startswith(f"| {first_column} |")]
    body = []
    for line in lines[at + 2 :]:
        if not line.startswith("|"):
            return body
        body.append([cell.strip() for cell in line.strip("|").split("|")])
    return body


def test_neither_card_nor_records_name_a_folder_of_this_machine(built, card):
    assert "Left out (1): clip2 (clip2.wav: " in card
    folders = {str(s.source.path.parent) for s in built.plan.sources} | {str(built.folder.parent)}
    for path in [*built.folder.rglob("*.json"), built.folder / "README.md"]:
        assert not [folder for folder in folders if folder in path.read_text()], path


def test_configs_and_their_files(built, header):
    configs = {config["config_name"]: config for config in header["configs"]}
    assert set(configs) == {"all", *ALL, "source", "beep"}
    assert [name for name, config in configs.items() if config.get("default")] == ["all"]
    for name, config in configs.items():
        splits = [files["split"] for files in config["data_files"]]
        assert splits == (["test"] if name == "beep" else ["test", "validation"])
    for files in configs["all"]["data_files"]:
        assert files["path"] == [f"{name}/{files['split']}-*.parquet" for name in ALL]
    assert configs["echo"]["data_files"][0]["path"] == "echo/test-*.parquet"
    for config in configs.values():
        for files in config["data_files"]:
            patterns = files["path"] if isinstance(files["path"], list) else [files["path"]]
            assert all(list(built.folder.glob(pattern)) for pattern in patterns)


def test_counts_and_sizes_of_the_header(built, header):
    for info in header["dataset_info"]:
        name = info["config_name"]
        parts = [*ALL] if name == "all" else [name]
        for split in info["splits"]:
            n_rows = sum(1 for part in parts for _ in rows(built, part, split["name"]))
            assert split["num_examples"] == n_rows > 0
        paths = [path for part in parts for path in (built.folder / part).iterdir()]
        assert info["download_size"] == sum(path.stat().st_size for path in paths)
    assert header["size_categories"] == ["n<1K"]  # 3 sources, 9 categories, 24 clips
    assert header["license"] == "cc0-1.0"


def test_the_card_gives_the_ends_at_every_rate_and_depth(tmp_path):
    speech = speak(tmp_path / "speech", n=1)
    samples, _ = soundfile.read(speech / "clip0.wav")
    soundfile.write(speech / "slow.wav", samples, 8_000, subtype="PCM_U8")
    built_from(speech, tmp_path / "out", categories=["audio_roughness", "voice_clarity"])
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "| audio_roughness | bit depth | 8 → 8, 16 → 8 |" in card
    assert "| 1200 → 4000, 1200 → 8000 |" in card


def test_every_config_has_a_hash_of_its_own_content(built, header):
    output = {info["config_name"]: info["description"] for info in header["dataset_info"]}
    assert len(set(output.values())) == len(output) == 12
    path = next((built.folder / "echo").glob("test*"))
    name = path.relative_to(built.folder).as_posix()
    other = dict(built.files) | {name: built.files[name] | {"sha256": "0" * 64}}
    described = {config: hash_of(other, config) for config in ("all", "echo", "volume")}
    assert described["echo"] not in output["echo"]
    assert described["all"] not in output["all"]
    assert described["volume"] in output["volume"]


def hash_of(files, config):
    parts = [*ALL] if config == "all" else [config]
    return content_hash({path: file for path, file in files.items() if file["config"] in parts})


def test_the_numbers_people_read_are_those_of_the_files(built, card):
    for name, n_sources, n_speakers, n_clips, hours, mean_s, n_no_effect, n_clipped in table(
        card, "split"
    ):
        clips = [row for category in ALL for row in rows(built, category, name)]
        sources = list(rows(built, "source", name))
        assert int(n_sources) == len(sources) == len({row["source_id"] for row in clips})
        assert int(n_speakers) == len({row["speaker_id"] for row in sources})
        assert int(n_clips) == len(clips)
        total_s = sum(row["duration_s"] for row in clips)
        assert float(hours) == pytest.approx(total_s / 3600, rel=0.01)
        assert float(mean_s) == pytest.approx(total_s / len(clips), abs=0.005)
        assert int(n_no_effect) == sum(row["no_effect"] for row in clips)
        assert int(n_clipped) == sum(row["clipped_fraction"] > 0 for row in clips)
    by_category = {line[0]: int(line[-1]) for line in table(card, "category")}
    counted = Counter({name: sum(r["no_effect"] for r in rows(built, name)) for name in ALL})
    assert list(by_category) == [*ALL]
    assert by_category == counted
    assert sum(counted.values()) == 3 * 16  # low and mid distortion at 16 kHz
    assert f"holds {len(list(rows(built, 'beep')))} clips made from ten" in card
    assert "Left out (1): clip2" in card
    assert "Sampling rate: 16,000 Hz. Spans of speech: 3 kept." in card
    assert "**Chance level of the main question: 50.0 %**" in card


def test_lengths_clipping_and_groups_by_category(built, card):
    found = {line[0]: line[1:] for line in table(card, "clips of")}
    assert list(found) == [*ALL, "all"]
    # section 3.3 of the paper: three are speaker-intrinsic, six environment-induced
    intrinsic = {name for name, cells in found.items() if cells[0] == "speaker-intrinsic"}
    assert intrinsic == {"speaking_speed", "voice_pitch", "volume"}
    assert [cells[0] for cells in found.values()].count("environment-induced") == 6
    for name, (_, n, hours, mean_s, clips_clipped, samples_clipped) in found.items():
        clips = [row for c in (ALL if name == "all" else [name]) for row in rows(built, c)]
        total_s = sum(row["duration_s"] for row in clips)
        beyond_s = sum(row["clipped_fraction"] * row["duration_s"] for row in clips)
        n_clipped = sum(row["clipped_fraction"] > 0 for row in clips)
        assert int(n) == len(clips)
        assert float(hours) == pytest.approx(total_s / 3600, rel=0.01)
        assert float(mean_s) == pytest.approx(total_s / len(clips), abs=0.005)
        assert float(clips_clipped) == pytest.approx(100 * n_clipped / len(clips), rel=0.01)
        assert float(samples_clipped) == pytest.approx(100 * beyond_s / total_s, rel=0.06)
    assert float(found["volume"][-1]) > 0


def test_spans_in_doubt_are_listed(built, card):
    names = [skipped.name for skipped in built.survey.doubtful]
    assert names
    listed = f"Spans of speech in doubt ({len(names)}), used as they are: {names[0]} "
    assert listed + "(under_one_second; span kept)" in card


HOSTILE = (
    "--- </p><script>alert(1)</script> ![x](http://evil) `a` | b\n---\n# c\x00\x1b[31m\u202e é"
)


@pytest.mark.parametrize("place", ["attribution", "name", "note", "file", "folder", "reason"])
def test_text_from_outside_is_neither_markup_nor_control(tmp_path, place):
    name = HOSTILE.replace("/", "").replace("\x00", "") if place == "folder" else "vocalgrad"
    built = built_from(speak(tmp_path / "speech", n=1), tmp_path / name, categories=["volume"])
    plan, survey, corpus = built.planned
    if place == "note":
        corpus = replace(corpus, notes=(HOSTILE,))
    elif place in ("attribution", "name"):
        corpus = replace(corpus, **{place: HOSTILE})
    elif place == "file":
        survey = survey._replace(doubtful=(Skipped(HOSTILE, "x"),))
    elif place == "reason":
        corpus = replace(corpus, skipped=(Skipped("x", HOSTILE),))
    write_card(built.build, PlannedBuild(plan, survey, corpus), OBSERVER, CONFOUNDS)
    card = (built.folder / "README.md").read_text(encoding="utf-8")
    _, front, body = card.split("---\n", 2)
    assert yaml.safe_load(front)["configs"]
    assert "alert(1)" in body
    assert ("é" in body) == (place != "folder")  # \\u00e9 in code with what is not printable
    assert not set(card) & set("\x00\x1b\u202e")
    text = "".join(body.split("```")[::2]) if place == "folder" else body
    assert "<script" not in text
    assert not re.search(r"(?<!\\)\]\(", text)
    assert not [line for line in body.splitlines() if line.startswith(("---", "# c"))]
    if place == "folder":
        code = body.split("```python\n")[1].split("\n```")[0]
        call = ast.parse(code).body[-1].value
        assert ast.literal_eval(call.args[0]) == name


def test_the_parameters_people_read(card):
    by_name = {line[0]: line[1:5] for line in table(card, "category")}
    assert by_name["volume"][1:] == ["-6 → 6", "-12 → 12", "-18 → 18"]
    assert by_name["voice_clarity"][1:] == ["5000 → 8000", "2500 → 8000", "1200 → 8000"]


def test_the_lines_that_read_audio_run(built, card, tmp_path, monkeypatch):
    """What the card tells people to type."""
    monkeypatch.chdir(built.folder.parent)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path))
    code = "\n".join(card.split("```python\n")[i].split("```")[0] for i in (1, 2))
    names: dict[str, object] = {}
    exec(code, names)
    assert names["sampling_rate"] == 16_000
    assert names["samples"].ndim == 1


def test_a_missing_value_fails_instead_of_leaving_a_gap(built):
    with pytest.raises(jinja2.UndefinedError, match="'plan' is undefined"):
        render_card("vocalgrad.md.jinja", pretty_name="VocalGrad")
    before = (built.folder / "README.md").read_text()
    with pytest.raises(jinja2.UndefinedError, match="no attribute 'table'"):
        write_card(built.build, built.planned, SimpleNamespace(basis="not measured"), CONFOUNDS)
    assert (built.folder / "README.md").read_text() == before


def test_only_what_was_built_is_described(tmp_path):
    speech = speak(tmp_path / "speech", n=1)
    built = built_from(speech, tmp_path / "vocalgrad", categories=["echo"], beeps=None)
    card = (built.folder / "README.md").read_text()
    header = yaml.safe_load(card.split("---\n", 2)[1])
    assert [c["config_name"] for c in header["configs"]] == ["all", "echo", "source"]
    assert header["configs"][0]["data_files"][0]["path"] == "echo/test-*.parquet"
    assert "ten sine tones" not in card
    assert "Left out" not in card
    assert [line[0] for line in table(card, "category")] == ["echo"]


def test_what_the_corpus_says_of_itself(tmp_path):
    speech = speak(tmp_path / "speech", n=1)
    plan, survey, corpus = planned(speech, categories=["volume"])
    built = build(plan, tmp_path / "vocalgrad")
    corpus = replace(
        corpus, name="Märchen {{ 7 * 7 }}", licence="cc-by-4.0", attribution="Anna: \"I\" & 'O'.",
        language="de", synthetic=True, notes=("Read aloud in 1999.",),
        skipped=tuple(Skipped(f"x{i}", "too | short") for i in range(30)),
    )  # fmt: skip
    write_card(built, PlannedBuild(plan, survey, corpus), OBSERVER, CONFOUNDS)
    card = (built.folder / "README.md").read_text(encoding="utf-8")
    header = yaml.safe_load(card.split("---\n", 2)[1])
    assert (header["license"], header["language"]) == ("cc-by-4.0", ["de"])
    assert "synthetic" in header["tags"]
    assert (
        "Märchen {{ 7 \\* 7 }}. Anna: \"I\" &amp; 'O'. Licence of the source: `cc-by-4.0`." in card
    )
    assert "**The voices are synthetic**" in card
    assert "- Read aloud in 1999." in card
    assert "Left out (30): x0 (too \\| short); " in card
    assert "x29 (too \\| short)." in card
