"""Two runs compared, on numbers worked by hand."""

import csv
import io
import json

import pytest

from otoscope.audits.plans import SCHEMA_1_COLUMNS, plan_sha256
from otoscope.audits.runs import RunError, read_plan
from otoscope.models.base import Answer, Status
from otoscope.reports.compare import compare
from otoscope.reports.pairing import differences, flat_settings
from otoscope.reports.parse_audit import audit_run
from otoscope.reports.show import show
from tests.reports.written_runs import question, right_or_wrong, write_run


def pattern(**counts):
    """Right or wrong for both: how many of `both`, `first`, `second`, `neither`."""
    kinds = {"both": (1, 1), "first": (1, 0), "second": (0, 1), "neither": (0, 0)}
    outcomes = [kinds[kind] for kind, n in counts.items() for _ in range(n)]
    return [bool(a) for a, _ in outcomes], [bool(b) for _, b in outcomes]


def two_runs(folder, first, second, **columns):
    rows = [question(f"clip{i}", **columns) for i in range(len(first))]
    return (
        write_run(folder / "a", rows, right_or_wrong(rows, first)),
        write_run(folder / "b", rows, right_or_wrong(rows, second)),
    )


class TestNumbers:
    def test_a_difference_that_an_unpaired_test_would_miss(self, tmp_path):
        # 60 against 50 of 100. Unpaired: z = 0.1 / sqrt(2 · 0.55 · 0.45 / 100) = 1.42, p = 0.155.
        # Paired: 12 against 2 discordant, p = 2 · (1 + 14 + 91) / 2**14.
        first, second = pattern(both=48, first=12, second=2, neither=38)
        cell = compare(*two_runs(tmp_path, first, second)).overall
        assert cell.counts == (48, 12, 2, 38)
        assert cell.accuracies == (0.6, 0.5)
        assert cell.p_value == pytest.approx(212 / 16384)
        assert not cell.in_doubt
        assert cell.by_source.estimate == pytest.approx(0.1)
        assert 0 < cell.by_source.low < 0.1 < cell.by_source.high
        assert 0 < cell.bootstrap.low < 0.1 < cell.bootstrap.high

    def test_the_interval_is_that_of_the_paired_gains(self, tmp_path):
        # Every clip is its own source: gains have variance (14 - 100 · 0.01) / 99 = 13 / 99, and
        # t with 99 degrees of freedom is 1.98422.
        first, second = pattern(both=48, first=12, second=2, neither=38)
        cell = compare(*two_runs(tmp_path, first, second)).overall
        reach = 1.98422 * (13 / 99 / 100) ** 0.5
        assert cell.by_source.low == pytest.approx(0.1 - reach, abs=1e-6)
        assert cell.by_source.high == pytest.approx(0.1 + reach, abs=1e-6)

    def test_clips_of_one_source_are_taken_together(self, tmp_path):
        # Ten sources of four clips; in three the first is right about all, the second about none.
        # Gains by source 4 4 4 0 … 0, mean 1.2: squares 3 · 2.8² + 7 · 1.2² = 33.6;
        # error sqrt(10 / 9 · 33.6) / 40; t with 9 degrees of freedom is 2.262157.
        rows = [question(f"s{s}_{k}", source_id=f"s{s}") for s in range(10) for k in range(4)]
        first = [row["source_id"] in ("s0", "s1", "s2") for row in rows]
        a = write_run(tmp_path / "a", rows, right_or_wrong(rows, first))
        b = write_run(tmp_path / "b", rows, right_or_wrong(rows, [False] * 40))
        cell = compare(a, b).overall
        reach = 2.262157 * (10 / 9 * 33.6) ** 0.5 / 40
        assert cell.n_clusters == 10
        assert cell.by_source.low == pytest.approx(0.3 - reach, abs=1e-6)
        assert cell.by_source.high == pytest.approx(0.3 + reach, abs=1e-6)
        assert cell.bootstrap.low > 0.1  # as if there were forty sources
        assert cell.p_value < 0.001
        assert cell.in_doubt

    def test_what_could_have_been_found_shrinks_with_what_clusters_are_worth(self, tmp_path):
        rows = [question(f"c{i}") for i in range(400)]
        first = [i % 2 == 0 for i in range(400)]
        second = [i % 4 < 2 for i in range(400)]
        runs = [
            write_run(tmp_path / name, rows, right_or_wrong(rows, right))
            for name, right in (("a", first), ("b", second))
        ]
        # Connor, n = 400, half of them discordant: sqrt(.5) · (1.96 · 20 + .8416 · sqrt(396.87)) /
        # 400.71, where 396.87 = 400 + .8416² - 1.96².
        alone = compare(*runs).overall.detectable
        assert alone == pytest.approx(0.0988, abs=1e-4)
        for row, i in zip(rows, range(400), strict=True):
            row["source_id"] = f"s{'abcd'[i % 4]}{i // 40}"  # ten of one outcome each
        together = [
            write_run(tmp_path / f"{name}2", rows, right_or_wrong(rows, right))
            for name, right in (("a", first), ("b", second))
        ]
        # A tenth of the questions, but for 40 / 39: 39 of them.
        assert compare(*together).overall.detectable == pytest.approx(0.3063, abs=2e-3)

    def test_holm_over_categories_and_sums_by_themselves(self, tmp_path):
        # Discordant 8:0, 5:0, 1:1: p = 2/256, 2/32, 1. Holm: 3 · 2/256, 2 · 2/32, 1.
        rows, first, second = [], [], []
        for category, n in (("volume", 8), ("echo", 5), ("voice_pitch", 2)):
            rows += [question(f"{category}{i}", category=category) for i in range(n)]
            first += [True] * n if n > 2 else [True, False]
            second += [False] * n if n > 2 else [False, True]
        a = write_run(tmp_path / "a", rows, right_or_wrong(rows, first))
        b = write_run(tmp_path / "b", rows, right_or_wrong(rows, second))
        cells = {cell.category: cell for cell in compare(a, b).groups}
        assert list(cells) == ["echo", "voice_pitch", "volume", None]
        p_values = {name: (cell.p_value, cell.p_holm) for name, cell in cells.items()}
        assert p_values["volume"] == pytest.approx((2 / 256, 6 / 256))
        assert p_values["echo"] == pytest.approx((2 / 32, 4 / 32))
        assert p_values["voice_pitch"] == (1.0, 1.0)
        assert p_values[None] == (pytest.approx(2 * (1 + 15) / 2**15), None)  # 14 against 1

    def test_a_sum_costs_the_categories_nothing(self, tmp_path):
        first, second = pattern(both=48, first=12, second=2, neither=38)
        category, overall = compare(*two_runs(tmp_path, first, second)).groups
        assert category.p_holm == category.p_value == overall.p_value

    def test_a_run_with_itself_differs_in_nothing(self, tmp_path):
        first, _ = pattern(both=6, neither=4)
        a, _ = two_runs(tmp_path, first, first)
        compared = compare(a, a)
        cell = compared.overall
        assert compared.different == ()
        assert compared.n_same_text == compared.n_compared == 10
        assert (cell.by_source.estimate, cell.p_value, cell.p_holm) == (0.0, 1.0, None)
        assert cell.by_source == (0, 0, 0)
        assert not cell.in_doubt
        assert compared.to_dict()["groups"][-1]["detectable_difference"] is None

    def test_order_of_the_plan_does_not_matter(self, tmp_path):
        first, second = pattern(both=3, first=4, second=1, neither=2)
        rows = [question(f"clip{i}") for i in range(10)]
        a = write_run(tmp_path / "a", rows, right_or_wrong(rows, first))
        answers = right_or_wrong(rows, second)
        b = write_run(tmp_path / "b", rows[::-1], answers)
        assert compare(a, b).overall.counts == (3, 4, 1, 2)
        assert compare(b, a).overall.counts == (3, 1, 4, 2)


class TestAnswersThatDoNotCount:
    @pytest.mark.parametrize(
        ("bad", "outcome"),
        [
            (None, "unanswered"),
            ("Not sure.", "unparsed"),
            ("", "unparsed"),
            (Answer(None, Status.TIMEOUT), "failed"),
            (Answer(None, Status.ERROR), "failed"),
            (Answer("increase", Status.REFUSED), "refused"),
            (Answer("increase", Status.FILTERED), "filtered"),
        ],
    )
    def test_they_are_not_correct_on_either_side(self, tmp_path, bad, outcome):
        rows = [question("x"), question("y")]
        good = write_run(tmp_path / "a", rows, [("x|main", "increase"), ("y|main", "increase")])
        worse = write_run(tmp_path / "b", rows, [("x|main", bad), ("y|main", "increase")])
        compared = compare(good, worse)
        assert compared.overall.counts == (1, 1, 0, 0)
        assert compared.second.outcomes == {"correct": 1, outcome: 1}
        assert compare(worse, good).overall.counts == (1, 0, 1, 0)

    def test_unanswered_by_both_is_wrong_in_both(self, tmp_path):
        rows = [question("x"), question("y")]
        runs = [
            write_run(tmp_path / name, rows, [("x|main", "increase"), ("y|main", None)])
            for name in "ab"
        ]
        compared = compare(*runs)
        assert compared.overall.counts == (1, 0, 0, 1)
        assert compared.n_same_text == 1  # nothing is not the same text as nothing

    def test_a_torn_last_line_is_no_answer(self, tmp_path):
        rows = [question("x"), question("y")]
        answers = [("x|main", "increase"), ("y|main", "increase")]
        a, b = (write_run(tmp_path / name, rows, answers) for name in "ab")
        journal = b / "answers" / "rank-000.jsonl"
        journal.write_bytes(journal.read_bytes()[:-10])
        assert compare(a, b).second.outcomes == {"correct": 1, "unanswered": 1}

    def test_each_side_is_read_by_its_own_plans_parser(self, tmp_path):
        answers = [("x|main", "It is rising."), ("y|main", "rise")]
        paper = write_run(tmp_path / "a", [question("x"), question("y")], answers)
        other = [question(name, parser="paraphrase") for name in "xy"]
        paraphrase = write_run(tmp_path / "b", other, answers)
        compared = compare(paper, paraphrase)
        assert compared.overall.counts == (0, 0, 2, 0)
        assert ("parser of 2 questions, as in", "paper", "paraphrase") in compared.different


class TestWhichQuestions:
    def test_other_items_are_rejected_and_named(self, tmp_path):
        a = write_run(tmp_path / "a", [question(n) for n in ("p", "q", "r", "s", "t")])
        b = write_run(tmp_path / "b", [question(n) for n in ("t", "u")])
        with pytest.raises(RunError) as caught:
            compare(a, b)
        message = str(caught.value)
        assert f"4 questions only in {a} ('p|main', 'q|main', 'r|main' and 1 more)" in message
        assert f"1 question only in {b} ('u|main')" in message
        assert message.endswith("--common compares the 1 they share")
        compared = compare(a, b, common=True)
        assert (compared.n_compared, compared.first.n_left_out) == (1, 4)
        assert (compared.second.n_left_out, compared.second.n_planned) == (1, 2)

    @pytest.mark.parametrize("common", [False, True])
    def test_nothing_in_common(self, tmp_path, common):
        a = write_run(tmp_path / "a", [question("p")])
        b = write_run(tmp_path / "b", [question("q")])
        with pytest.raises(RunError, match="they share no question"):
            compare(a, b, common=common)

    def test_the_same_name_with_other_audio_is_another_question(self, tmp_path):
        rows = [question("x"), question("y")]
        other = [question("x", audio_sha256=["another"]), question("y")]
        a = write_run(tmp_path / "a", rows, right_or_wrong(rows, [True, True]))
        b = write_run(tmp_path / "b", other, right_or_wrong(other, [True, False]))
        with pytest.raises(
            RunError, match=r"1 question about other audio under the same name \('x\|main'\)"
        ):
            compare(a, b)
        compared = compare(a, b, common=True)
        assert (compared.n_compared, compared.n_other_audio) == (1, 1)
        assert compared.first.n_left_out == compared.second.n_left_out == 1
        assert compared.overall.counts == (0, 1, 0, 0)

    def test_the_same_name_with_another_right_answer_is_another_question(self, tmp_path):
        a = write_run(tmp_path / "a", [question("x"), question("y")])
        b = write_run(tmp_path / "b", [question("x", label="decrease"), question("y")])
        with pytest.raises(RunError, match=r"another reference label .*\('x\|main'\)"):
            compare(a, b)
        assert compare(a, b, common=True).n_other_labels == 1

    def test_runs_that_ask_in_one_way_each_are_joined_by_row(self, tmp_path):
        one = [question("x"), question("y")]
        other = [question(n, prompt="swap_order") for n in "xy"]
        a = write_run(tmp_path / "a", one, right_or_wrong(one, [True, True]))
        b = write_run(tmp_path / "b", other, right_or_wrong(other, [True, False]))
        compared = compare(a, b)
        assert compared.joined_by == "id"
        assert compared.overall.counts == (1, 1, 0, 0)
        assert [(c.prompt, c.category) for c in compared.groups] == [(None, "volume"), (None, None)]

    def test_examples_before_the_question_are_no_other_clip(self, tmp_path):
        plain = [question("x")]
        few_shot = [
            question(
                "x",
                prompt="few_shot",
                audio_ids=["e1", "e2", "x"],
                audio_sha256=["1", "2", "sha of x"],
            )
        ]
        a, b = write_run(tmp_path / "a", plain), write_run(tmp_path / "b", few_shot)
        assert compare(a, b).n_compared == 1
        few_shot[0]["audio_sha256"] = ["1", "2", "another"]
        with pytest.raises(RunError, match="1 question about other audio"):
            compare(a, write_run(tmp_path / "c", few_shot))

    def test_other_examples_before_the_same_question_are_other_audio(self, tmp_path):
        runs = [
            write_run(
                tmp_path / example,
                [question("x", audio_ids=[example, "x"], audio_sha256=[example, "sha of x"])],
            )
            for example in ("e1", "e2")
        ]
        with pytest.raises(RunError, match="1 question about other audio"):
            compare(*runs)

    def test_prompts_with_another_label_set_do_not_compare(self, tmp_path):
        a = write_run(tmp_path / "a", [question("x")])
        ternary = question("x", prompt="ternary", labels=["increase", "decrease", "constant"])
        with pytest.raises(RunError, match="reference label or label set"):
            compare(a, write_run(tmp_path / "b", [ternary]))

    def test_several_ways_of_asking_are_separate_groups(self, tmp_path):
        rows = [question(n, prompt=p) for p in ("main", "audio_ref") for n in "xy"]
        a = write_run(tmp_path / "a", rows, right_or_wrong(rows, [True] * 4))
        b = write_run(tmp_path / "b", rows, right_or_wrong(rows, [True, True, False, False]))
        compared = compare(a, b)
        assert compared.joined_by == "question_id"
        assert {(c.prompt, c.category): c.counts for c in compared.groups} == {
            ("audio_ref", "volume"): (0, 2, 0, 0),
            ("main", "volume"): (2, 0, 0, 0),
            ("audio_ref", None): (0, 2, 0, 0),
            ("main", None): (2, 0, 0, 0),
            (None, None): (2, 2, 0, 0),
        }
        assert compared.overall.n_clusters == 2  # two questions about one clip are one cluster

    def test_questions_without_a_right_answer_are_left_out_and_counted(self, tmp_path):
        rows = [question("x"), question("y", label=None)]
        runs = [write_run(tmp_path / name, rows, [("x|main", "increase")]) for name in "ab"]
        compared = compare(*runs)
        assert (compared.n_compared, compared.n_without_label) == (1, 1)
        assert compared.first.n_left_out == 1
        only = [question("y", label=None)]
        runs = [write_run(tmp_path / name, only) for name in "cd"]
        with pytest.raises(RunError, match="nothing to compare"):
            compare(*runs)

    def test_a_plan_with_a_question_twice_is_rejected(self, tmp_path):
        twice = write_run(tmp_path / "a", [question("x"), question("x")])
        with pytest.raises(RunError, match=r"has 'x\|main' twice"):
            compare(twice, twice)


LETTERS = {"labels": list("ABCDEFG"), "parser": "option_letter", "category": None}


class TestOtherLabelSets:
    """Nothing here is about directions: seven letters do as well."""

    def test_letters_are_compared_and_counted(self, tmp_path):
        rows = [
            question(name, label=label, **LETTERS) for name, label in zip("xyz", "ABC", strict=True)
        ]
        texts = {"a": ("A", "(B)", "C. fear"), "b": ("A", "C", "A or B")}
        runs = [
            write_run(
                tmp_path / name,
                rows,
                [(row["question_id"], text) for row, text in zip(rows, answers, strict=True)],
                audit="taste",
            )
            for name, answers in texts.items()
        ]
        compared = compare(*runs)
        assert compared.overall.counts == (1, 2, 0, 0)
        assert compared.first.outcomes == {"correct": 3}
        assert compared.second.outcomes == {"correct": 1, "unparsed": 1, "wrong": 1}
        assert [group.category for group in compared.groups] == ["no category", None]

    def test_show_and_audit_parse_read_them_too(self, tmp_path):
        row = question("x", label="C", **LETTERS)
        run = write_run(tmp_path / "a", [row], [("x|main", "The answer is C")], audit="taste")
        assert "outcome  correct: C (parser option_letter)" in show(run, "x").text()
        assert audit_run(run).by_parser["option_letter"].by_rule["marked letter"] == 1


class TestWhatDiffers:
    def test_models_first_and_times_never(self):
        first = {
            "created": "now", "audit": "a", "model": "m", "otoscope_version": "1",
            "model_description": {"revision": "r1", "generation": {"seed": 0}, "dtype": "f4"},
        }  # fmt: skip
        second = {
            "created": "then", "audit": "b", "model": "n", "otoscope_version": "2",
            "model_description": {"revision": "r2", "generation": {"seed": 0, "top_k": 5}},
        }  # fmt: skip
        assert differences(first, second) == [
            ("model", "m", "n"),
            ("model_description.dtype", "f4", None),
            ("model_description.generation.top_k", None, 5),
            ("model_description.revision", "r1", "r2"),
            ("otoscope_version", "1", "2"),
            ("audit", "a", "b"),
        ]

    def test_columns_and_schema_are_no_settings(self, tmp_path):
        old, new = (write_run(tmp_path / name, [question("x")], model="m") for name in "ab")
        about = json.loads((old / "run.json").read_text())
        del about["columns"]
        about |= {"schema": 1, "plan_sha256": plan_sha256(read_plan(old), SCHEMA_1_COLUMNS)}
        (old / "run.json").write_text(json.dumps(about))
        assert compare(old, new).different == ()
        settings = flat_settings(about | {"m": {"columns": 2}})
        assert settings == {**flat_settings(about), "m.columns": 2}
        assert not {name.split(".")[0] for name in settings} & {"schema", "columns"}

    def test_texts_that_differ_under_one_name_are_named(self, tmp_path):
        a = write_run(tmp_path / "a", [question("x"), question("y")])
        b = write_run(tmp_path / "b", [question("x") | {"prompt": "Up?"}, question("y")])
        different = {d.name: d for d in compare(a, b).different}
        assert different["text of 1 questions, as in"].second == "Up?"


class TestFiles:
    def test_csv_and_json_say_the_same(self, tmp_path):
        first, second = pattern(both=48, first=12, second=2, neither=38)
        compared = compare(*two_runs(tmp_path, first, second))
        rows = list(csv.DictReader(io.StringIO(compared.to_csv())))
        cells = json.loads(compared.to_json())["groups"]
        assert [row["category"] for row in rows] == ["volume", ""]
        for row, cell in zip(rows, cells, strict=True):
            assert row == {k: "" if v is None else str(v) for k, v in cell.items()}
        assert cells[-1]["p_mcnemar"] == pytest.approx(212 / 16384)
        assert (cells[-1]["only_first"], cells[-1]["only_second"]) == (12, 2)
        assert cells[-1]["accuracy_first"] == 0.6

    def test_the_same_runs_give_the_same_numbers(self, tmp_path):
        first, second = pattern(both=300, first=260, second=240, neither=200)
        runs = two_runs(tmp_path, first, second)
        assert len({compare(*runs).to_json() for _ in range(5)}) == 1


def test_clips_in_which_nothing_changes_are_left_out_and_counted(tmp_path):
    rows = [question(f"clip{i}", no_effect=i >= 4) for i in range(6)]
    a = write_run(tmp_path / "a", rows, right_or_wrong(rows, [1, 1, 1, 0, 1, 1]))
    b = write_run(tmp_path / "b", rows, right_or_wrong(rows, [1, 0, 0, 0, 1, 0]))
    compared = compare(a, b)
    assert (compared.n_compared, compared.n_no_effect) == (4, 2)
    assert compared.overall.accuracies == (3 / 4, 1 / 4)
    assert compared.accuracies_all == (5 / 6, 2 / 6)
    rows = [row | {"no_effect": True} for row in rows]
    c = write_run(tmp_path / "c", rows, right_or_wrong(rows, [1] * 6))
    with pytest.raises(RunError, match="a clip in which something changes"):
        compare(c, c)


def test_a_run_that_is_not_readable_is_named(tmp_path):
    good = write_run(tmp_path / "a", [question("x")])
    old = write_run(tmp_path / "old", [question("x")])
    about = json.loads((old / "run.json").read_text())
    (old / "run.json").write_text(json.dumps(about | {"schema": 0}))
    with pytest.raises(RunError, match=r"old.*: schema 0, and this version reads 1"):
        compare(good, old)
    broken = write_run(tmp_path / "broken", [question("x")], [("x|main", "increase")])
    (broken / "answers" / "rank-000.jsonl").write_text("no json\n")
    with pytest.raises(RunError, match=r"broken/answers/rank-000.jsonl, line 1: damaged"):
        compare(good, broken)
    (broken / "plan.parquet").unlink()
    with pytest.raises(RunError, match=r"broken/plan.parquet: not readable"):
        compare(broken, good)
