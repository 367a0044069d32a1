"""The report on labels, from runs whose answers are written by hand."""

import pytest

from otoscope.audits.journal import open_journal
from otoscope.audits.labels import COLUMNS, run
from otoscope.audits.plans import CORE
from otoscope.audits.runs import write_plan
from otoscope.models.base import Answer
from otoscope.reports import report
from otoscope.reports.compare import compare
from otoscope.reports.compare_text import result
from otoscope.reports.headline import headline
from otoscope.reports.labels import chosen_prompt, findings, tables
from otoscope.reports.parse_audit import audit_run, print_audit
from otoscope.reports.scoring import score_runs
from otoscope.reports.show import show
from otoscope.reports.terminal import console
from otoscope.responses.closed_set import closed_set_name
from tests.audits.tiny_dataset import clip, write

ANIMALS = ["cow", "hen", "sheep"]
REFERENCE = ["cow", "cow", "hen", "sheep"]
ANSWERS = {
    ("plain", "development"): ["cow", "hen", "hen", "hen"],
    ("letters", "development"): ["A", "A", "B", "cow or sheep"],
    ("plain", "holdout"): ["cow", "cow", "hen", "sheep"],
    ("letters", "holdout"): ["A", "B", "cow or hen", "what?"],
}
"""Development: plain 2 of 4, letters 3; hold-out: plain 4, letters 1."""


def labels_run(folder, answers=ANSWERS, **about):
    rows, written = [], []
    for (prompt, split), texts in answers.items():
        for n, (label, text) in enumerate(zip(REFERENCE, texts, strict=True)):
            name = f"{split}-{n}"
            rows.append({
                "question_id": f"{name}|{prompt}", "id": name, "prompt_name": prompt,
                "prompt": "Which?", "label": label, "labels": ANIMALS, "category": "generic",
                "parser": closed_set_name(ANIMALS, letters=prompt == "letters"),
                "audio_ids": [name], "audio_sha256": [f"sha {name}"], "split": split,
                "task": "generic", "cluster_id": f"{split}-{n // 2}",
            })  # fmt: skip
            written.append((rows[-1]["question_id"], text))
    known = {"audit": "labels", "model": folder.name, "labels": ANIMALS, "task": "generic",
             "splits": ["development", "holdout"]}  # fmt: skip
    write_plan(folder, rows, known | about, {**CORE, **COLUMNS})
    with open_journal(folder) as journal:
        for question_id, text in written:
            journal.append(question_id, 0, text if isinstance(text, Answer) else Answer(text))
    return folder


@pytest.fixture
def scored(tmp_path):
    return score_runs([labels_run(tmp_path / "mine")])


def rows_of(scored):
    chosen = {r.name: chosen_prompt(r.answers) for r in scored}
    return {table.name: table.rows for table in tables(scored, chosen)}


def test_the_prompt_is_chosen_on_development_whatever_hold_out_would_prefer(scored):
    rows = {(r["prompt"], r["split"]): r for r in rows_of(scored)["labels_scores"]}
    assert {key: r["accuracy"] for key, r in rows.items()} == {
        ("plain", "development"): 0.5, ("plain", "holdout"): 1.0,
        ("letters", "development"): 0.75, ("letters", "holdout"): 0.25,
    }  # fmt: skip
    assert {key[0] for key, r in rows.items() if r["chosen"]} == {"letters"}
    assert all(r["n_clusters"] == 2 for r in rows.values())


def test_equal_prompts_are_chosen_by_name(tmp_path):
    answers = ANSWERS | {("letters", "development"): ["A", "B", "B", "B"]}
    (tied,) = score_runs([labels_run(tmp_path / "tied", answers)])
    assert chosen_prompt(tied.answers) == "letters"


def test_scores_worked_by_hand(scored):
    rows = {(r["prompt"], r["split"]): r for r in rows_of(scored)["labels_scores"]}
    held = rows["letters", "holdout"]
    # cow: right once, answered once, true twice, F1 2/3; hen: answered once, wrongly; sheep: never
    assert held["macro_f1"] == pytest.approx((2 / 3) / 3)
    assert (held["unparsed"], held["ambiguous"], held["most_frequent"]) == (0.5, 0.25, 0.5)
    assert 0 <= held["unparsed_low"] < 0.5 < held["unparsed_high"] <= 1
    assert (held["conf_source"], held["n_scored"]) == ("constant", 0)


def test_confusion_has_a_column_for_answers_without_a_label(scored):
    rows = rows_of(scored)["labels_confusion_mine"]
    found = [[r["answer 0"], r["answer 1"], r["answer 2"], r["none"]] for r in rows]
    assert found == [[1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]]


def test_positions_of_answers_and_of_the_truth(scored):
    rows = [r for r in rows_of(scored)["labels_by_position"] if r["prompt"] == "plain"]
    # of 8 plain answers 3 are cow, 4 hen, 1 sheep; 4 clips are cows, 2 hens, 2 sheep
    assert [(r["answered"], r["true"]) for r in rows] == [(3 / 8, 0.5), (0.5, 0.25), (1 / 8, 0.25)]


def test_scores_of_labels_are_a_confidence(tmp_path):
    scored = Answer("cow", logprobs={"cow": -0.1})
    answers = {("plain", "development"): [scored] * 4, ("plain", "holdout"): [scored] * 3 + ["cow"]}
    rows = rows_of(score_runs([labels_run(tmp_path / "mine", answers)]))["labels_scores"]
    assert [(r["conf_source"], r["n_scored"]) for r in rows] == [("logprob", 4), ("constant", 3)]


def test_findings_and_headline_are_about_the_chosen_prompt_on_hold_out(scored, tmp_path):
    table = tables(scored, {"mine": "letters"})[0]
    first, second, third = findings(scored[0], table)
    assert first.startswith("mine: 25.0 % of 4 hold-out clips correct (95 % CI ")
    assert first.endswith("chosen on development; a constant answer gives 50.0 %.")
    assert second == (
        "50.0 % of these answers name no single label and count as wrong, 25.0 % because they "
        "name several."
    )
    assert third == "Over 2 prompts, accuracy on hold-out is 25.0 to 100.0 %."
    assert headline(tmp_path / "mine").startswith("accuracy 25.0 % (95 % CI")


def test_a_page_with_players_of_a_real_run(tmp_path):
    splits = {
        split: [
            {"id": f"{split}-{i}", "audio": clip(100 * k + i), "label": ANIMALS[i % 3],
             "cluster_id": f"{split}-{i}"}
            for i in range(3)
        ]
        for k, split in enumerate(("development", "holdout"))
    }  # fmt: skip
    dataset = write(tmp_path / "set", {"default": splits})
    run(dataset, "constant:hen", out=tmp_path / "hen", prompts=["plain"])
    page = report([tmp_path / "hen"], dataset=str(dataset)).read_text(encoding="utf-8")
    assert "hen: 33.3 % of 3 hold-out clips correct" in page
    assert page.count("<audio ") == 3, "one wrong cow, one wrong sheep, one right hen"
    assert "Scores by prompt and split" in page
    assert page.count("<title>cow as hen: 1 (100 %)</title>") == 1
    assert page.count('role="img" aria-label="Confusion of labels by hen: rows are true') == 1


def test_two_runs_are_compared_by_clusters(tmp_path):
    better = ANSWERS | {("letters", "holdout"): ["A", "A", "B", "C"]}
    first = labels_run(tmp_path / "first")
    found = compare(first, labels_run(tmp_path / "second", better))
    assert found.overall.counts == (10, 0, 3, 3)  # right in both, in one only, in neither
    assert found.overall.n_clusters == 4
    headline, _, by_split = result(found)
    assert headline.endswith("n = 16, both splits together.")
    assert by_split.startswith("By split, after Holm's correction: undecided in ")
    held = next(g for g in found.groups if (g.prompt, g.category) == ("letters", "holdout"))
    assert held.counts == (1, 0, 3, 0)


def test_long_names_of_parsers_are_not_shown(tmp_path, capsys):
    folder = labels_run(tmp_path / "mine")
    text = show(folder, "holdout-2").text()
    assert "no prediction (parser closed set of 3 labels, or their letters)" in text
    assert "    closed set of 3 labels *  hen (exact)" in text
    assert not [line for line in text.splitlines() if line.strip() == "attribute"]
    print_audit(audit_run(folder), console())
    text += capsys.readouterr().out
    assert "Parser closed set of 3 labels: 8 answers" in text
    assert "closed_set:" not in text
    assert "closed_set:" in audit_run(folder).to_csv(), "files keep what scores them"
