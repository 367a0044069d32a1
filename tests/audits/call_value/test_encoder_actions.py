"""Actions of encoders: planted embeddings, and what fitting may not see."""

import numpy as np
import pytest

from otoscope.audits.call_value.encoder_actions import (
    JOINT,
    EncoderEvidence,
    Fitting,
    actions_of,
    choose_layer,
    development_folds,
    out_of_fold,
    scoring,
)
from otoscope.audits.call_value.schema import CallValueError

N, K = 120, 4
NAMES = ("a", "b", "c", "d")


def fitting(labels, clusters=None, **more):
    clusters = np.arange(len(labels)) // 2 if clusters is None else clusters
    return Fitting(
        labels, clusters, K, **{"n_folds": 5, "seed": 0, "C": 1.0} | more
    )  # labels of pairs agree, as clips of one source do


@pytest.fixture
def planted():
    """Two encoders: each tells two pairs of labels apart; `clap` scores labels, one too high."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(N // 2) % K, 2)

    def noise(width):
        return 0.5 * rng.standard_normal((N, width))

    first, second = noise(12), noise(12)
    first[:, 3] += 3 * (labels >= 2)
    second[:, 5] += 3 * (labels % 2)
    scores = noise(K) + 1.5 * np.eye(K)[labels] + [1.2, 0, 0, 0]
    wall_s = np.full(N, 0.1)
    return {
        "clap": EncoderEvidence("clap", {"embedding": first}, scores, wall_s, "r1"),
        "wavlm": EncoderEvidence(
            "wavlm", {"layer.0": noise(6), "layer.1": second, "layer.2": noise(6)}, None, wall_s, ""
        ),
    }, labels


def accuracy(planted, action, labels=None):
    evidence, gold = planted
    on = fitting(gold if labels is None else labels)
    found = out_of_fold(
        action, actions_of(scoring(evidence))[action], evidence, on, development_folds(on, NAMES)
    )
    return (found.scores.argmax(axis=1) == on.labels).mean()


def test_names_of_actions(planted):
    assert list(actions_of(scoring(planted[0]))) == [
        "clap_zero_shot", "clap_class_bias", "clap_score_probe", "clap_embedding_probe",
        "wavlm_embedding_probe", JOINT,
    ]  # fmt: skip
    assert list(actions_of({"mfcc": False})) == ["mfcc_embedding_probe"]


def test_zero_shot_is_the_softmax_of_the_scores_and_has_no_fold(planted):
    evidence, labels = planted
    on = fitting(labels)
    fit = actions_of(scoring(evidence))["clap_zero_shot"]
    found = out_of_fold("clap_zero_shot", fit, evidence, on, development_folds(on, NAMES))
    exp = np.exp(evidence["clap"].zero_shot)
    assert found.scores == pytest.approx(exp / exp.sum(axis=1, keepdims=True))
    assert found.confidence == pytest.approx(found.scores.max(axis=1))
    assert found.folds is None


def test_each_fitted_action_gains_what_was_planted(planted):
    zero_shot = accuracy(planted, "clap_zero_shot")
    assert accuracy(planted, "clap_class_bias") > zero_shot + 0.03
    assert accuracy(planted, "clap_score_probe") > zero_shot + 0.03
    # one encoder tells halves apart: 1/2 at best; both together all four
    assert 0.38 < accuracy(planted, "clap_embedding_probe") < 0.62
    assert 0.38 < accuracy(planted, "wavlm_embedding_probe") < 0.62
    assert accuracy(planted, JOINT) > 0.9


@pytest.mark.parametrize("action", ["clap_class_bias", "clap_score_probe", JOINT])
def test_permuted_labels_are_predicted_at_chance(planted, action):
    # clusters of two: 60 of them, so that chance is 0.25 with a deviation of 0.056
    drawn = np.repeat(np.random.default_rng(5).permutation(planted[1][::2]), 2)
    assert accuracy(planted, action, labels=drawn) < 0.25 + 3 * 0.056


@pytest.mark.parametrize(
    "action", ["clap_class_bias", "clap_score_probe", "wavlm_embedding_probe", JOINT]
)
def test_labels_of_a_fold_change_nothing_in_it(planted, action):
    evidence, labels = planted
    on = fitting(labels)
    folds = development_folds(on, NAMES)
    poisoned = np.where(folds == 2, (labels + 1) % K, labels)
    fit = actions_of(scoring(evidence))[action]
    clean = out_of_fold(action, fit, evidence, on, folds)
    other = out_of_fold(action, fit, evidence, on._replace(labels=poisoned), folds)
    assert (clean.scores[folds == 2] == other.scores[folds == 2]).all()
    if action != "clap_class_bias":  # the best bias may well be the same
        assert (clean.scores[folds == 1] != other.scores[folds == 1]).any()


def test_the_layer_with_the_signal_is_chosen(planted):
    evidence, labels = planted
    assert choose_layer(evidence["wavlm"], fitting(labels)) == "layer.1"


def test_clusters_stay_together_in_folds(planted):
    folds = development_folds(fitting(planted[1]), NAMES)
    assert (folds[::2] == folds[1::2]).all()
    assert sorted(set(folds)) == [0, 1, 2, 3, 4]


def test_joint_ridge_is_as_confident_as_its_margin(planted):
    evidence, labels = planted
    fitted = actions_of(scoring(evidence))[JOINT](evidence, fitting(labels))
    scores = fitted.scores(evidence)
    second, first = np.sort(scores, axis=1)[:, -2:].T
    assert fitted.confidence(scores) == pytest.approx(first - second)
    assert fitted.chosen["layers"] == {"clap": "embedding", "wavlm": "layer.1"}


def test_a_label_that_a_fit_would_lack_is_named():
    labels = np.arange(40) % 3
    with pytest.raises(CallValueError, match="label 'd' has no development example"):
        development_folds(fitting(labels), NAMES)
    labels = np.array([*labels, 3, 3])
    clusters = np.array([*range(40), 40, 40])
    with pytest.raises(CallValueError, match=r"label 'd' has .* in one fold \(1 cluster"):
        development_folds(fitting(labels, clusters), NAMES)
