"""The study of leakage and transfer: what a listener is given, which signs count, what is told."""

import json
import sys

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks import leakage_and_transfer as study
from benchmarks.leakage_and_transfer import (
    CATEGORIES,
    FEATURE_SETS,
    NAMES,
    OFF,
    Clips,
    at_model_rate,
    likeness,
    predicted_right,
    published,
    score,
    signs,
    transfer,
)
from otoscope.acoustics.spans import Span
from tests.benchmarks.test_real_speech import written

ECHO, VOLUME, NOISE = (CATEGORIES.index(name) for name in ("echo", "volume", "background_noise"))


def clips(moves, *, n_speakers=8, n_each=6, seed=0):
    """Measures of every category, noise but for those that move with the label."""
    rng = np.random.default_rng(seed)
    rows = []
    for category in CATEGORIES:
        for speaker in range(n_speakers):
            for k in range(n_each):
                rising = bool(k % 2)
                value = rng.normal(size=len(NAMES))
                for name, size in moves.get(category, {}).items():
                    value[NAMES.index(name)] += size if rising else -size
                rows.append((value, category, rising, f"s{speaker}", f"p{speaker}"))
    return Clips(*(np.array(column) for column in zip(*rows, strict=True)))


LEAKING = {"echo": {"level": -5.0}, "volume": {"level": 5.0}, "background_noise": {"snr": -5.0}}


class TestListeners:
    def test_what_leaks_is_fitted_and_inverts_another_category(self):
        found = transfer(clips(LEAKING), FEATURE_SETS["side effects"])
        assert found.share[ECHO, ECHO] > 0.95
        assert found.share[ECHO, VOLUME] < 0.05
        assert (found.sign[ECHO, ECHO], found.sign[ECHO, VOLUME]) == (1, -1)
        assert found.sign[ECHO, NOISE] == 0

    def test_the_factor_is_hidden_from_listeners_of_side_effects_alone(self):
        made = clips(LEAKING)
        aside = transfer(made, FEATURE_SETS["side effects"])
        itself = transfer(made, FEATURE_SETS["the factor itself"])
        assert abs(aside.share[VOLUME, VOLUME] - 0.5) < 0.2
        assert itself.share[VOLUME, VOLUME] > 0.95
        assert itself.sign[VOLUME, ECHO] == -1
        assert abs(itself.share[ECHO, ECHO] - 0.5) < 0.2

    def test_what_is_unavoidable_is_a_side_effect_but_not_an_avoidable_one(self):
        made = clips({"echo": {"bandwidth": 5.0}})  # bound in echo
        shares = [
            transfer(made, FEATURE_SETS[name]).share[ECHO, ECHO]
            for name in ("side effects", "avoidable side effects", "the factor itself")
        ]
        assert shares[0] > 0.95
        assert max(abs(share - 0.5) for share in shares[1:]) < 0.2

    def test_no_classifier_is_tested_on_training_speakers(self):
        # what predicts the label is each speaker's own measure, so only they could teach it
        made = clips({}, n_speakers=len(NAMES), n_each=8)
        own = np.array([int(name[1:]) for name in made.speaker])
        made.values[np.arange(len(own)), own] += np.where(made.rising, 6, -6)
        right = predicted_right(made, "volume", list(NAMES))
        assert right.mean() < 0.75

    def test_what_cannot_be_measured_takes_a_middle_value(self):
        made = clips(LEAKING)
        made.values[::7, NAMES.index("pitch")] = np.nan
        made.values[:, NAMES.index("edges")] = np.nan
        assert transfer(made, FEATURE_SETS["side effects"]).share[ECHO, ECHO] > 0.95


class TestPublished:
    def test_conditions_that_the_paper_prints(self):
        correct, n_questions = published("all_linear")
        vibration = CATEGORIES.index("voice_vibration")
        assert (n_questions == 2400).all()
        assert round(100 * correct[ECHO, VOLUME] / 2400, 1) == 1.7
        assert round(100 * correct[vibration, VOLUME] / 2400, 1) == 8.8
        assert round(100 * correct[VOLUME, VOLUME] / 2400, 1) == 100.0

    def test_signs_worked_by_hand(self):
        n_questions = np.full((3, 3), 2400.0)
        correct = np.full((3, 3), 1200.0)
        correct[0, 1], correct[1, 0], correct[2, 1], correct[1, 1] = 1300, 1100, 1240, 2400
        # z = 100 / sqrt(600) = 4.08, p = 4.5e-5, six tests; 40 / sqrt(600) = 1.63, p = 0.10
        expected = np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 0]])
        np.testing.assert_array_equal(signs_of(correct, n_questions, 1.0), expected)
        # with a variance four times as large z = 2.04, p = 0.041, and six times that is no less
        assert 6 * 2 * norm.sf(100 / np.sqrt(2400)) > 0.05
        assert not signs_of(correct, n_questions, 4.0).any()


def signs_of(correct, n_questions, effect):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "OFF", ~np.eye(3, dtype=bool))
        return signs(correct, n_questions, effect)


def test_a_score_worked_by_hand():
    seen = np.zeros((9, 9))
    seen[0, 1:5], seen[1, 2:4] = (1, 1, -1, -1), (1, 1)
    predicted = np.zeros((9, 9))
    predicted[0, 1:5], predicted[1, 2:4], predicted[5, 6] = (1, -1, -1, 0), (1, 1), 1
    found = score(predicted, seen)
    assert (found.n_above, found.n_below) == (4, 2)
    assert (found.n_right, found.n_wrong, found.n_undecided) == (4, 1, 1)
    assert found.by_row.estimate == 4 / 5
    assert found.p < 0.05


def test_likeness_is_spearmans_off_the_diagonal():
    from scipy.stats import spearmanr

    first, second = np.random.default_rng(0).normal(size=(2, 9, 9))
    rho, _ = likeness(first + 100 * np.eye(9), second)
    assert rho == pytest.approx(spearmanr(first[OFF], second[OFF]).statistic)


def test_clips_are_measured_at_the_models_rate():
    samples, rate, span = at_model_rate(
        np.zeros((1, 48_000), np.int16), 48_000, Span(4_800, 48_000)
    )
    assert (samples.shape, rate, tuple(span)) == ((1, 16_000), 16_000, (1_600, 16_000))
    slow = np.zeros((1, 800), np.int16)
    assert at_model_rate(slow, 8_000, Span(8, 800))[1:] == (8_000, Span(8, 800))


class TestCommand:
    def call(self, monkeypatch, *arguments):
        monkeypatch.setattr(sys, "argv", ["study", *map(str, arguments)])
        study.main()

    def test_prints_tables_and_writes_figures(self, monkeypatch, tmp_path, capsys):
        root = written(tmp_path / "speech", n=3)
        monkeypatch.setattr(study, "measure", lambda found, num_proc: clips(LEAKING))
        monkeypatch.setattr(study, "relabelling_test", lambda first, second: (0.25, 0.5))
        out = tmp_path / "figures.json"
        self.call(monkeypatch, "--speech", root, "--least-rate", 0, "--out", out)
        output = capsys.readouterr().out
        assert "432 clips of 8 recordings of 8 speakers" in output
        assert "| all_linear | 24 | 18 (8) | side effects |" in output
        figures = json.loads(out.read_text(), parse_constant=pytest.fail)
        assert figures["all_linear, design effect 24, side effects"]["n_below"] == 10

    def test_recordings_below_the_rate_are_left_out_by_name(self, monkeypatch, tmp_path, capsys):
        root = written(tmp_path / "speech", n=3)
        with pytest.raises(SystemExit):
            self.call(monkeypatch, "--speech", root)
        assert "fewer than two speakers at 48000 Hz or more" in capsys.readouterr().err
