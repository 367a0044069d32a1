"""The page of an audit: figures, cards with audio, and what it says of simulated endpoints."""

import base64
import re

import datasets
import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from otoscope.audits.labelled import open_labelled
from otoscope.reports.call_value.breakdowns import changed_examples
from otoscope.reports.call_value.changed_audio import MOST_CARDS, changed_cards
from otoscope.reports.call_value.contrasts import contrasts
from otoscope.reports.call_value.figures import forest, signed
from otoscope.reports.call_value.outcomes import policy_of
from otoscope.reports.call_value.pictures import UNPARSED, confusion_table
from otoscope.reports.call_value.policy_rows import policies_table
from otoscope.reports.call_value.report import write_call_report
from tests.audits.tiny_dataset import in_memory
from tests.reports.call_value.audits import make_audit, with_right


def labelled(clips):
    """A labelled dataset with the given (id, bytes, label) held out."""
    held = [{"id": i, "audio": data, "label": k} for i, data, k in clips]
    other = [{"id": "other", "audio": b"x", "label": "wheeze"}]
    splits = {"development": in_memory(other), "holdout": in_memory(held)}
    return open_labelled(datasets.DatasetDict(splits))


@pytest.fixture
def one_changed(audit):
    """Full alone is right on the first example, and on no other."""
    full = np.zeros(240, dtype=bool)
    full[0] = True
    return with_right(audit, full=full, no_call=np.zeros(240, dtype=bool))


def test_a_changed_example_has_its_audio_and_every_answer(one_changed, tmp_path):
    rows = changed_examples(one_changed).rows
    name = rows[0]["example_id"]
    data = labelled([(name, b"fLaC and more", rows[0]["label"])])
    (card,) = changed_cards(one_changed, rows, data)
    coded = base64.b64encode(b"fLaC and more").decode()
    assert card.audio.address == f"data:audio/flac;base64,{coded}"
    assert [own.action for own in card.answers] == ["wavlm", "clap", "text", "omni"]
    k = one_changed.holdout.index("clap")
    assert card.answers[1].right == bool(one_changed.holdout.correct[0, k])


@pytest.mark.parametrize(
    ("name", "label", "why"),
    [("h999", "cough", "not in the dataset given"), ("h000", "hum", "another label")],
)
def test_without_its_audio_an_example_says_why(one_changed, name, label, why):
    data = labelled([(name, b"fLaC", label)])
    (card,) = changed_cards(one_changed, changed_examples(one_changed).rows, data)
    assert why in card.audio.missing
    assert card.audio.address == ""


def test_cards_take_turns_between_outcomes_and_are_few(audit):
    i = np.arange(240)
    mixed = with_right(audit, full=i < 100, no_call=(i >= 100) & (i < 140))
    cards = changed_cards(mixed, changed_examples(mixed).rows)
    assert len(cards) == MOST_CARDS
    outcomes = [card.row["outcome"] for card in cards[:4]]
    assert len(set(outcomes)) == len({row["outcome"] for row in changed_examples(mixed).rows})


def test_confusion_is_that_of_scikit_learn(audit):
    rows = [row for row in confusion_table(audit).rows if row["policy"] == "full"]
    labels = sorted(audit.contract.labels)
    found = [[row[label] for label in labels] for row in rows]
    predicted = policy_of(audit, "full").predicted
    assert np.array_equal(found, confusion_matrix(audit.holdout.gold, predicted))
    assert all(row[UNPARSED] == 0 for row in rows)


def test_unparsed_answers_have_a_column_of_their_own(audit):
    never = with_right(audit, full=np.zeros(240, dtype=bool))
    rows = [row for row in confusion_table(never).rows if row["policy"] == "full"]
    assert [row[UNPARSED] for row in rows] == [80, 80, 80]
    counts = {row["policy"]: row.get("n_unparsed") for row in policies_table(never).rows}
    assert (counts["full"], counts["no_call"]) == (240, 0)


def test_limits_of_the_paper_stand_in_every_report(audit, tmp_path):
    page, _ = write_call_report(audit, tmp_path)
    for text in (page.read_text(), (tmp_path / "report.md").read_text()):
        for words in ("accents, dialects", "code-switching", "fairness", "calibrated", "closed"):
            assert words in text, words


def test_the_forest_has_a_row_for_each_contrast_on_one_scale(audit):
    made = contrasts(audit)
    rows, ticks = forest(made)
    assert [(row.policy, row.reference) for row in rows] == [
        (own.policy, own.reference) for own in made
    ]
    assert [at for at, _ in ticks] == [0, 25, 50, 75, 100]
    assert ticks[2][1] == "0"
    reach = float(ticks[-1][1])
    place = float(re.search(r'<svg x="([\d.]+)%"', rows[0].picture)[1])
    assert (place / 50 - 1) * reach == pytest.approx(
        100 * made[0].evidence.two_sided.estimate, abs=0.01 * reach
    )
    assert signed(-0.04) == "0.0"


def test_a_simulated_endpoint_is_called_so_everywhere(tmp_path):
    def simulated(examples, predictions):
        for row in predictions:
            row["simulated"] = row["action"] == "omni"

    audit = make_audit(tmp_path, n_holdout=40, change=simulated, draws=100)
    page, sentences = write_call_report(audit, tmp_path / "out")
    assert any(
        text.startswith("Simulated: omni (simulated) is no model; what") for text in sentences
    )
    for table in (tmp_path / "out" / "tables").glob("*.md"):
        assert "Simulated: omni (simulated)" in table.read_text(), table.name
    text = page.read_text()
    assert not re.search(r"omni(?! \(simulated\))", text)
    legend = re.search(r'<p class="legend">.*?</p>', text, re.DOTALL)[0]
    assert "no_call→omni (simulated), random" in legend
    assert text.count("Simulated: omni (simulated)") > 5
