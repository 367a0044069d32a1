"""The page and the files of a report: complete, self-contained, escaped, warning of gaps."""

import base64
import csv
import hashlib
import re

import datasets
import pytest

from otoscope.audits.runs import RunError
from otoscope.errors import InputError
from otoscope.reports import embedded_audio, strips
from otoscope.reports.perception.reading import read_perception
from otoscope.reports.perception.report import report
from otoscope.reports.samples import samples_of
from tests.reports.perception.tiny_runs import answer_line, eight_and_four, row, write_run

NASTY = "</script><b>bold</b> & \"quoted\" 'x' {{ 7 * 7 }} <img src=x onerror=alert(1)>"


def test_the_same_tables_come_as_page_markdown_and_csv(tmp_path):
    page = report([write_run(tmp_path / "run", eight_and_four())])
    assert page == tmp_path / "run" / "report" / "index.html"
    text, markdown = page.read_text(), (page.parent / "report.md").read_text()
    names = sorted(path.stem for path in (page.parent / "tables").iterdir())
    assert "accuracy_by_category" in names
    assert "accuracy_by_curve" not in names
    for name in set(names) - {"samples"}:
        assert f"tables/{name}.csv" in text, name
    with (page.parent / "tables" / "accuracy_by_category.csv").open() as file:
        volume = next(r for r in csv.DictReader(file) if r["category"] == "volume")
    assert float(volume["accuracy"]) == 3 / 8
    assert "| volume | run | 37.5 |" in markdown
    assert re.search(r">volume</bdi></td>\s*<td class=\"number\">37.5</td>", text)


def test_what_others_wrote_is_text_and_not_markup(tmp_path):
    answered = [
        (row(clip=NASTY, tier=NASTY, source_id=NASTY), NASTY),
        (row(category=NASTY, clip="b"), answer_line(None, "error", detail=NASTY)),
        (row(clip="c"), answer_line("increase", first_text=NASTY)),
    ]
    about = {"model": NASTY, "partial": NASTY, "more": {"x": NASTY}}
    run = write_run(tmp_path / "<b>bold<b>", answered, **about)
    page = report([run], tmp_path / "out")
    text = page.read_text()
    for bad in ("<b>bold", "onerror=alert(1)>", "<img", "</script>"):
        assert bad not in text, bad
    assert "{{ 7 * 7 }}" in text
    markdown = (page.parent / "report.md").read_text()
    assert "<b>" not in markdown
    assert "<img" not in markdown


def test_no_file_for_a_spreadsheet_or_a_terminal_runs_what_others_wrote(tmp_path):
    formula, steering = "=HYPERLINK(1)", "@x\0\x1b[2J"
    answered = [
        (row(category=formula, clip=formula, tier=formula), formula),
        (row(category=steering, clip=steering, source_id=steering), steering),
        (row(clip="c"), answer_line(None, "error", detail=formula)),
        (row(clip="d"), answer_line("increase", first_text=steering)),
    ]
    page = report([write_run(tmp_path / "=1+1", answered, model=steering, partial=steering)])
    files = [page.parent / "report.md", *(page.parent / "tables").iterdir()]
    for path in files:
        text = path.read_text()
        assert not re.search(r"[\x00-\x09\x0b-\x1f]", text), path
        if path.suffix == ".csv":
            rows = list(csv.reader(text.splitlines()))
            cells = [cell for cells in rows for cell in cells if not is_number(cell)]
            assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@")], path
    assert any("'=1+1" in path.read_text() for path in files)


def is_number(cell):
    return bool(re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell))


def test_the_page_loads_nothing(tmp_path):
    text = report([write_run(tmp_path / "run", eight_and_four())]).read_text()
    assert "default-src 'none'" in text
    assert not re.search(r"@import|url\(|fetch\(|<script", text)
    for address in re.findall(r"\b(?:src|href)=\"([^\"]*)\"", text):
        assert address.startswith(("#", "data:")), address


def test_a_partial_run_and_missing_answers_are_loud(tmp_path):
    complete = report([write_run(tmp_path / "complete", eight_and_four()[:4])]).read_text()
    assert 'class="warning"' not in complete
    run = write_run(tmp_path / "part", eight_and_four(), partial="2 of 100 sources")
    page = report([run])
    warned = '<p class="warning"><b>{}:</b> <bdi>part</bdi> (<bdi>{}</bdi>). {}'
    part = warned.format("Partial run", "2 of 100 sources", "Numbers hold for that part only.")
    assert part in page.read_text()
    none = warned.format("Unanswered questions", "1 of 12 (8.3 %)", "They count as not correct.")
    assert none in page.read_text()
    markdown = (page.parent / "report.md").read_text()
    assert "**1 unanswered**; **partial: 2 of 100 sources**" in markdown


def test_partial_runs_are_one_line(tmp_path):
    runs = [
        write_run(tmp_path / name, [(row(), "increase")], partial="2 of 100 sources")
        for name in "abc"
    ]
    text = report(runs).read_text()
    assert text.count('class="warning"') == 1
    assert re.search(r"<b>Partial runs:</b> <bdi>a</bdi> \(.*, <bdi>c</bdi> \(", text)


def test_the_page_begins_with_what_was_found(tmp_path):
    # Volume: 3 of 8 correct; echo 4 of 4; 7 of 12 together, an undecided 58.3 %.
    run = write_run(tmp_path / "run", eight_and_four(no_effect=False))
    page = report([run])
    text = page.read_text()
    assert 0 < text.index("Highest: echo 100.0 %; lowest: volume 37.5 %.") < text.index("<section")
    (line,) = re.findall(r": <bdi>(accuracy .*?)</bdi>", text)
    assert line.startswith("accuracy 58.3 % (95 % CI, clustered Wilson: ")
    assert "n = 12. No difference from chance level was found. Highest" in line
    assert f"- run: {line} 12 questions; **1" in (page.parent / "report.md").read_text()
    assert '<details class="table" open>' not in text


def test_a_run_of_nothing_and_one_without_answers_have_a_page(tmp_path):
    text = report([write_run(tmp_path / "empty", [])]).read_text()
    assert "No questions were planned" in text
    assert "there is no accuracy to show" in text
    text = report([write_run(tmp_path / "silent", [(row(), None)])]).read_text()
    assert "<bdi>silent</bdi> (<bdi>1 of 1 (100.0 %)</bdi>)" in text


def test_one_question_is_enough(tmp_path):
    text = report([write_run(tmp_path / "run", [(row(tier="low"), "increase")])]).read_text()
    assert "100.0" in text


def test_what_was_run_is_readable(tmp_path):
    run = write_run(
        tmp_path / "run", eight_and_four(),
        model_description={"revision": "abc123", "generation": {"do_sample": False}},
        prompts=["main"],
    )  # fmt: skip
    text = report([run]).read_text()
    for name, value in (
        ("model_description.revision", "abc123"),
        ("model_description.generation.do_sample", "false"),
        ("prompts", "[&#34;main&#34;]"),
    ):
        assert f'<th scope="row">{name}</th><td><bdi>{value}</bdi></td>' in text
    assert "Does the volume increase or decrease over time?" in text


def test_only_several_runs_are_named_in_tables(tmp_path):
    first, second = (write_run(tmp_path / name, eight_and_four()) for name in ("one", "two"))
    assert '<td class="run known">' not in report([first]).read_text().split("tables/published")[0]
    both = report([first, second], tmp_path / "both").read_text()
    assert both.count('<svg class="swatch"') > 10
    assert re.search(r'<g class="s1">.*<g class="s2">', both, re.DOTALL)


def test_a_second_report_leaves_no_table_of_the_first(tmp_path):
    out = tmp_path / "out"
    report([write_run(tmp_path / "run", eight_and_four())], out)
    assert (out / "tables" / "no_effect.csv").exists()
    report([write_run(tmp_path / "other", [(row(), "increase")])], out)
    assert not (out / "tables" / "no_effect.csv").exists()
    # and takes nothing away from a folder that is not a report
    (tmp_path / "mine" / "tables").mkdir(parents=True)
    (tmp_path / "mine" / "tables" / "precious.csv").write_text("1")
    (tmp_path / "mine" / "report.md").write_text("# Something else")
    report([tmp_path / "other"], tmp_path / "mine")
    assert (tmp_path / "mine" / "tables" / "precious.csv").exists()


def test_samples_begin_with_failures_and_vary(tmp_path):
    answered = [
        *((row(clip=f"a{i}"), "decrease") for i in range(20)),
        (row(clip="b"), "It decreases."),
        (row(category="echo", clip="c"), "decrease"),
        *eight_and_four(),
    ]
    (run,) = read_perception([write_run(tmp_path / "run", answered)])
    chosen = samples_of(run)
    outcomes = list(dict.fromkeys(chosen["outcome"]))
    assert outcomes == ["failed", "refused", "unparsed", "wrong", "correct"]
    wrong = chosen[chosen["outcome"] == "wrong"]
    assert set(zip(wrong["text"], wrong["category"], strict=True)) == {
        ("decrease", "volume"), ("decrease", "echo"), ("It decreases.", "volume"),
        ("increase", "volume"),
    }  # fmt: skip


def test_texts_not_shown_yet_come_before_categories_not_shown_yet(tmp_path):
    answered = [
        (row(clip="a"), "decrease"),
        (row(category="echo", clip="b"), "decrease"),
        (row(clip="c"), "It decreases."),
    ]
    (run,) = read_perception([write_run(tmp_path / "run", answered)])
    assert samples_of(run, n_each=2)["text"].tolist() == ["decrease", "It decreases."]


def a_dataset(clips):
    columns = {
        "id": list(clips),
        "audio": [{"bytes": data, "path": None} for data in clips.values()],
        "category": ["volume"] * len(clips),
        "label": ["increase"] * len(clips),
    }
    return datasets.Dataset.from_dict(columns).cast_column("audio", datasets.Audio(decode=False))


def test_players_hold_the_samples_of_the_question(tmp_path):
    audio = b"fLaC and more"
    questions = [row(clip=name, audio_sha256=[hashlib.sha256(audio).hexdigest()]) for name in "abc"]
    answers = ["decrease", "it decreases", "increase"]
    run = write_run(tmp_path / "run", list(zip(questions, answers, strict=True)))
    first, second, _ = (question["id"] for question in questions)
    page = report([run], dataset=a_dataset({first: audio, second: b"fLaC but another"}))
    text = page.read_text()
    assert text.count("<audio") == 1
    assert "data:audio/flac;base64,ZkxhQyBhbmQgbW9yZQ==" in text
    assert "other audio under this id" in text
    assert "not in the dataset given" in text
    without = report([run]).read_text()
    assert "<audio" not in without
    assert "No audio players: the report was written without --dataset." in without


def test_the_audio_of_a_page_is_limited(tmp_path, monkeypatch):
    audio = b"fLaC and more"
    monkeypatch.setattr(embedded_audio, "MAX_AUDIO_BYTES", len(audio))
    questions = [row(clip=name, audio_sha256=None) for name in "ab"]
    answers = ["decrease", "it decreases"]
    run = write_run(tmp_path / "run", list(zip(questions, answers, strict=True)))
    clips = {questions[0]["id"]: audio, questions[1]["id"]: audio[::-1]}
    text = report([run], dataset=a_dataset(clips)).read_text()
    assert text.count("<audio") == 1
    assert text.count("size limit of the page reached") == 1


def test_a_clip_has_one_player_and_every_run_has_some(tmp_path, monkeypatch):
    audio = {name: f"fLaC and {name}".encode() for name in "abcd"}
    monkeypatch.setattr(embedded_audio, "MAX_AUDIO_BYTES", 2 * len(audio["a"]))
    runs = []
    for folder, names in (("one", "abc"), ("two", "cd")):
        questions = [row(clip=name, audio_sha256=None, category=f"k{name}") for name in names]
        runs.append(write_run(tmp_path / folder, [(q, "increase") for q in questions]))
    ids = {name: row(clip=name, category=f"k{name}")["id"] for name in "abcd"}
    text = report(runs, dataset=a_dataset({ids[n]: data for n, data in audio.items()})).read_text()
    # The first answers of both runs have a player: c comes first in the second, since the first
    # run shows it too. There its only player is.
    players = re.findall(r'<audio id="(clip-\d)".*?base64,([\w=+/]+)"', text)
    coded = [base64.b64encode(audio[name]).decode() for name in "ac"]
    assert players == list(zip(("clip-1", "clip-2"), coded, strict=True))
    assert text.count('<a href="#clip-2">The player of this clip</a>') == 1
    assert text.count("size limit of the page reached") == 2  # b and d


@pytest.mark.slow
def test_a_page_of_five_runs_is_small(tmp_path):
    # Clips of 120 kB, as 3 s of speech have as FLAC.
    names = [f"category_{i}" for i in range(9)]
    planned = [
        row(category=name, tier=tier, clip=str(i), source_id=str(i), direction=way)
        for name in names for tier in ("low", "mid", "high")
        for i in range(4) for way in ("up", "down")
    ]  # fmt: skip
    wrong = {"up": "decrease", "down": "increase"}
    runs = [
        write_run(
            tmp_path / f"run{k}",
            [
                (q, wrong[q["direction"]] if i % (k + 2) else q["label"])
                for i, q in enumerate(planned)
            ],
        )
        for k in range(5)
    ]
    loud = {q["id"]: b"fLaC" + hashlib.sha256(q["id"].encode()).digest() * 3750 for q in planned}
    page = report(runs, dataset=a_dataset(loud))
    assert page.stat().st_size < 3_000_000
    assert page.read_text().count("<audio") == 1_800_000 // 120_004


def test_what_is_not_a_run_is_named(tmp_path):
    with pytest.raises(InputError, match="at least one run"):
        report([])
    with pytest.raises(RunError, match="not a run"):
        report([tmp_path])


def test_every_series_has_a_colour_and_a_shape(tmp_path):
    assert strips.css_class(strips.N_SERIES) == strips.css_class(0) == "s1"
    assert len({strips.shape_of(i) for i in range(8)}) == 8
    assert len({(strips.css_class(i), strips.shape_of(i)) for i in range(64)}) == 64
    text = report([write_run(tmp_path / "run", [(row(), "")])]).read_text()
    assert all(f".s{i + 1} {{ color" in text for i in range(strips.N_SERIES))


def test_players_are_found_in_a_folder_of_several_configs(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    audio = {"default": b"RIFF and more", "source": b"RIFF and less"}
    sha256 = hashlib.sha256(audio["default"]).hexdigest()
    questions = [
        row(clip="a", config="default", audio_sha256=[sha256]),
        row("source_bias@volume", "source", None, config="source"),
    ]
    for question, name in zip(questions, ("default", "source"), strict=True):
        (tmp_path / "data" / name).mkdir(parents=True)
        a_dataset({question["id"]: audio[name]}).to_parquet(
            tmp_path / "data" / name / "test.parquet"
        )
    configs = "".join(
        f"- config_name: {name}\n  data_files:\n  - split: test\n    path: {name}/test.parquet\n"
        for name in ("default", "source")
    )
    (tmp_path / "data" / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    run = write_run(tmp_path / "run", [(q, "increase") for q in questions])
    text = report([run], dataset=tmp_path / "data").read_text()
    assert text.count("data:audio/wav;base64") == 2
    assert "other audio under this id" not in text
