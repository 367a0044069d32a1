"""The fitted observer as a model: its file, what it refuses, what it says of itself."""

import json

import numpy as np
import pytest
from chat_server import request_about

from otoscope.acoustics.fitted import FittedObserver, Weights
from otoscope.models.base import AudioInput, ModelError, Status, description_of
from otoscope.models.fitted_observer import FittedObserverModel, TrainedOn, open_fitted, overlap
from otoscope.models.opening import open_model
from otoscope.prompts.parts import Text
from otoscope.version import __version__

RATE = 16_000
SILENCE = AudioInput("a", np.zeros(RATE, np.float32), RATE, "sha", (0.0, 1.0))
RISES = tuple(np.linspace(-1, 1, 16).tolist())


def trained_on(**changed):
    known = {
        "dataset": "./data",
        "revision": None,
        "split": "train",
        "content_sha256": "ab" * 32,
        "profiles": ("controlled",),
        "n_clips": {"volume": 48},
        "sources": ("s1", "s2", "s3"),
        "speakers": ("p1", "p2"),
    }
    return TrainedOn(**(known | changed))


def model(**changed):
    weights = Weights(typical=(0.0,) * 16, weight=RISES, constant=0.0, shrinkage=0.5)
    return FittedObserverModel(FittedObserver({"volume": weights}), trained_on(**changed))


def about(db, clip="a", **more):
    noise = 0.01 * np.random.default_rng(0).standard_normal(RATE)
    loud = (noise * 10 ** (np.linspace(0, db, RATE) / 20)).astype(np.float32)
    return request_about(clip, Text("?"), AudioInput(clip, loud, RATE, "sha", (0.0, 1.0)), **more)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "me@work.json"
    model().save(path)
    return path


def test_answers_from_its_weights():
    answers = model().answer([about(9), about(-9)])
    assert [answer.text for answer in answers] == ["increase", "decrease"]


def test_a_file_gives_the_same_model_back(saved):
    again = open_model(f"fitted:{saved}")
    assert again.observer == model().observer
    assert again.trained_on == model().trained_on
    assert description_of(again) == model().description


def test_says_on_what_it_was_trained():
    description = model().description
    assert description["trained_on"] == {
        "dataset": "./data",
        "revision": None,
        "split": "train",
        "content_sha256": "ab" * 32,
        "profiles": ["controlled"],
        "n_clips": {"volume": 48},
        "n_sources": 3,
        "n_speakers": 2,
    }
    assert description["categories"] == ["volume"]
    assert json.loads(json.dumps(description, allow_nan=False)) == description


def test_another_weight_is_another_model():
    other = model()
    weights = Weights((0.0,) * 16, RISES[::-1], 0.0, 0.5)
    other.observer = FittedObserver({"volume": weights})
    assert other.description["weights_sha256"] != model().description["weights_sha256"]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (about(9, attribute="echo"), "it has not learned echo"),
        (about(9, attribute="warmth"), "no measure for 'warmth'"),
        (about(9, labels=("yes", "no")), "not yes from no"),
        (request_about("a", Text("?"), SILENCE), "the cue of volume cannot be measured in 'a'"),
    ],
)
def test_not_applicable_rather_than_a_guess(question, reason):
    (answer,) = model().answer([question])
    assert (answer.text, answer.status) == (None, Status.REFUSED)
    assert reason in answer.detail


class TestLeakage:
    def test_rows_of_other_sources_and_speakers_are_fine(self):
        model().check_rows([{"id": "a", "source_id": "s9", "speaker_id": "p9"}, {"id": "b"}])

    @pytest.mark.parametrize(
        ("row", "named"),
        [
            ({"id": "a", "source_id": "s2", "speaker_id": "p9"}, r"1 source\(s\) \('s2'\)"),
            ({"id": "a", "source_id": "s9", "speaker_id": "p1"}, r"1 speaker\(s\) \('p1'\)"),
            ({"id": "s3"}, r"1 source\(s\) \('s3'\)"),
        ],
    )
    def test_rows_it_was_trained_on_are_rejected(self, row, named):
        with pytest.raises(ModelError, match=rf"trained on {named}.*take other rows"):
            model().check_rows([{"id": "z", "source_id": "s9"}, row])

    def test_numbers_as_names_are_the_same_names(self):
        assert overlap([{"id": "a", "speaker_id": 7}], (), ["7"])

    def test_rows_without_a_speaker_share_none(self):
        assert not overlap(
            [{"id": "a", "speaker_id": None}, {"id": "b", "speaker_id": ""}], (), [""]
        )


class TestDamagedFiles:
    def test_needs_a_name(self):
        with pytest.raises(ModelError, match=r"as in fitted:observer\.json.*fit-observer"):
            open_fitted(None)

    def test_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(ModelError, match=r"nothing\.json: No such file.*fit-observer"):
            open_fitted(str(tmp_path / "nothing.json"))

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("{", "is not JSON"),
            ("[]", "holds no fitted observer"),
            ('{"kind": "probe"}', "holds no fitted observer"),
        ],
    )
    def test_another_kind_of_file(self, text, complaint, tmp_path):
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(ModelError, match=complaint):
            open_fitted(str(path))

    def changed(self, saved, **changed):
        content = json.loads(saved.read_text())
        saved.write_text(json.dumps(content | changed))
        return str(saved)

    @pytest.mark.parametrize("version", ["0.3.0", __version__])
    def test_a_version_with_the_same_measures_is_read(self, saved, version):
        open_fitted(self.changed(saved, otoscope_version=version))

    # until 0.2 the cue of voice clarity was the bandwidth, since then the roll-off
    @pytest.mark.parametrize("change", [{"otoscope_version": "0.2.0"}, {"schema": 2}])
    def test_other_measures_are_not_taken_for_these(self, saved, change):
        with pytest.raises(ModelError, match=rf"may differ from those of {__version__}; fit it"):
            open_fitted(self.changed(saved, **change))

    @pytest.mark.parametrize(
        "change",
        [
            {"categories": {"volume": {"weight": []}}},
            {"categories": {"loudness": {}}},
            {"categories": None},
            {"trained_on": {"dataset": "x"}},
            {"trained_on": None},
        ],
    )
    def test_missing_parts(self, saved, change):
        with pytest.raises(ModelError, match=r"(?s)is damaged \(.*fit it again"):
            open_fitted(self.changed(saved, **change))

    @pytest.mark.parametrize("change", [{"sources": 5}, {"speakers": None}, {"profiles": [[1]]}])
    def test_other_content_for_names(self, saved, change):
        known = json.loads(saved.read_text())["trained_on"] | change
        with pytest.raises(ModelError, match=rf"trained_on\.{next(iter(change))} is no list"):
            open_fitted(self.changed(saved, trained_on=known))
