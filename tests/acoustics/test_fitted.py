"""A listener that has learned how a cue moves: segments, weights, answers, numbers on paper."""

import json
from itertools import product

import numpy as np
import pytest
from real_speech import OWN_AND_REAL

from benchmarks.recordings import speaker_of
from otoscope.acoustics.design import CONDITIONS
from otoscope.acoustics.fitted import (
    N_SEGMENTS,
    FittedObserver,
    Weights,
    cross_fitted,
    fit,
    from_numbers,
    measurable,
    segments,
)
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import ClipAnalysis, Track
from otoscope.acoustics.rendering import SourceRenderer
from otoscope.acoustics.spans import Span
from otoscope.statistics.intervals import clustered_interval

RATE = 16_000
NAN = float("nan")


def track(values):
    n = len(values)
    return Track((np.arange(n) + 0.5) / n, np.array(values, float))


def planted(n_speakers=12, n_each=4, seed=0):
    """Tracks whose label is a bump of 3 in one sixteenth pair and a dent of 3 in another.

    Every other speaker falls by 20 over the clip and the rest rise, which drowns it for any slope.
    """
    rng = np.random.default_rng(seed)
    rows, rising, speakers = [], [], []
    for speaker, _, rises in product(range(n_speakers), range(n_each), (False, True)):
        value = np.linspace(0, -20 if speaker % 2 else 20, 64) + 100 * speaker
        value[32:40] -= 3 if rises else -3
        value[48:56] += 3 if rises else -3
        rows.append(segments(track(value + rng.normal(0, 0.1, 64))))
        rising.append(rises)
        speakers.append(f"p{speaker}")
    return np.array(rows), np.array(rising), np.array(speakers)


def flat(**changed):
    """Weights that look at the first segment alone."""
    first = (1.0, *[0.0] * 15)
    return Weights(
        **({"typical": (0.0,) * 16, "weight": first, "constant": 0.0, "shrinkage": 1.0} | changed)
    )


class TestSegments:
    def test_worked_by_hand(self):
        # 32 windows, two a segment: 0 and 1, 2 and 3, ...; their mean is 15.5
        expected = np.arange(16) * 2 + 0.5 - 15.5
        np.testing.assert_allclose(segments(track(np.arange(32))), expected)

    def test_the_level_of_a_voice_says_nothing(self):
        wave = np.sin(np.arange(40))
        np.testing.assert_allclose(segments(track(wave + 7)), segments(track(wave)))

    def test_what_was_not_measured_is_nan_and_moves_nothing(self):
        found = segments(track([1, NAN, 3, NAN] + [NAN] * 12))
        assert found[[0, 2]].tolist() == [-1, 1]
        assert np.isnan(np.delete(found, [0, 2])).all()

    def test_fewer_windows_than_segments_leave_gaps(self):
        found = segments(track(np.arange(8)))
        assert np.isfinite(found).sum() == 8

    @pytest.mark.parametrize("values", [[], [NAN] * 16])
    def test_nothing_measured_gives_nothing(self, values):
        assert np.isnan(segments(track(values))).all()

    def test_one_segment_is_too_little_and_two_are_enough(self):
        rows = np.full((3, N_SEGMENTS), NAN)
        rows[1, 3], rows[2, 3:5] = 0, 0
        assert measurable(rows).tolist() == [False, False, True]


class TestWeights:
    def test_log_odds_worked_by_hand(self):
        weights = flat(weight=(2.0, -1.0, *[0.0] * 14), constant=0.5)
        rows = np.zeros((1, 16))
        rows[0, :2] = 3, 4
        assert weights.log_odds(rows).tolist() == [2 * 3 - 4 + 0.5]

    def test_a_gap_takes_the_typical_value(self):
        rows = np.zeros((1, 16))
        rows[0, 0] = NAN
        assert flat(typical=(-8.0, *[0.0] * 15)).log_odds(rows).tolist() == [-8]

    def test_too_little_measured_gives_no_odds(self):
        rows = np.full((1, 16), NAN)
        rows[0, 5] = 1
        assert np.isnan(flat().log_odds(rows)).all()


class TestFit:
    def test_a_planted_cue_is_fitted_exactly(self):
        rows, rising, speakers = planted()
        slopes = rows @ (np.arange(16) - 7.5)
        assert 0.4 < np.mean((slopes > np.median(slopes)) == rising) < 0.6
        odds = cross_fitted(rows, rising, speakers, n_folds=3)
        np.testing.assert_array_equal(odds > 0, rising)
        weights = fit(rows, rising, speakers)
        assert set(np.argsort(weights.weight)[[0, 1]]) == {8, 9}
        assert set(np.argsort(weights.weight)[[-2, -1]]) == {12, 13}

    def test_is_the_discriminant_written_out(self):
        rows, rising, speakers = planted(seed=1)
        weights = fit(rows, rising, speakers)
        means = np.stack([rows[~rising].mean(axis=0), rows[rising].mean(axis=0)])
        around = rows - means[rising.astype(int)]
        covariance = around.T @ around / len(rows)  # both labels are as frequent
        spread = np.eye(16) * np.trace(covariance) / 16
        shrunken = (1 - weights.shrinkage) * covariance + weights.shrinkage * spread
        expected = np.linalg.solve(shrunken, means[1] - means[0])
        np.testing.assert_allclose(weights.weight, expected, rtol=1e-6)
        assert weights.constant == pytest.approx(-expected @ means.mean(axis=0), rel=1e-6)

    def test_nothing_is_drawn(self):
        assert fit(*planted()) == fit(*planted())

    def test_a_speaker_is_tested_by_what_was_fitted_to_others(self):
        # Each speaker's label hangs on a segment of their own: only they themselves could teach it.
        rng = np.random.default_rng(0)
        rows = rng.normal(0, 0.01, (160, 16))
        speakers, rising = np.repeat(np.arange(16), 10), np.tile([False, True], 80)
        rows[np.arange(160), speakers] += np.where(rising, 1, -1)
        assert np.mean((fit(rows, rising, speakers).log_odds(rows) > 0) == rising) == 1
        assert np.mean((cross_fitted(rows, rising, speakers, n_folds=2) > 0) == rising) < 0.7

    def test_unmeasurable_clips_are_not_fitted_and_get_no_odds(self):
        rows, rising, speakers = planted(n_speakers=4)
        silent = np.full((5, 16), NAN)
        more = (
            np.vstack([rows, silent]),
            np.append(rising, [True] * 5),
            np.append(speakers, ["x"] * 5),
        )
        assert fit(*more) == fit(rows, rising, speakers)
        odds = cross_fitted(*more, n_folds=2)
        assert np.isnan(odds[-5:]).all()
        assert np.isfinite(odds[:-5]).all()

    def test_a_segment_that_is_never_measured_counts_for_nothing(self):
        rows, rising, speakers = planted()
        rows[:, 5] = NAN
        weights = fit(rows, rising, speakers)
        assert weights.typical[5] == 0
        assert weights.weight[5] == pytest.approx(0, abs=1e-9)

    def test_one_speaker_is_not_enough(self):
        rows, rising, _ = planted()
        with pytest.raises(ValueError, match=r"96 measurable clips of 1 speaker.* at least 2"):
            fit(rows, rising, np.full(len(rows), "p1"))

    def test_nor_are_clips_of_one_label(self):
        rows, _, speakers = planted()
        with pytest.raises(ValueError, match="both labels"):
            fit(rows, np.ones(len(rows), bool), speakers)


class TestObserver:
    def level(self, db, seed=0):
        noise = 0.01 * np.random.default_rng(seed).standard_normal(RATE)
        return noise * 10 ** (np.linspace(0, db, RATE) / 20), RATE, Span(0, RATE)

    def test_answers_with_a_direction(self):
        observer = FittedObserver({"volume": flat()})
        # the first segment lies below the mean of a clip that rises
        assert observer.answer(*self.level(9), "volume") == "decrease"
        assert observer.answer(*self.level(-9), "volume") == "increase"

    def test_no_answer_where_the_cue_cannot_be_measured(self):
        silence = np.zeros(RATE), RATE, Span(0, RATE)
        guess = FittedObserver({"voice_pitch": flat(constant=9.0)})
        assert guess.answer(*silence, "voice_pitch") is None

    def test_a_category_it_was_not_fitted_to_is_an_error(self):
        with pytest.raises(KeyError, match="echo"):
            FittedObserver({"volume": flat()}).answer(*self.level(1), "echo")

    def test_json_and_back_answers_bit_for_bit_the_same(self):
        rows, rising, speakers = planted()
        observer = FittedObserver({"volume": fit(rows, rising, speakers)})
        again = from_numbers(json.loads(json.dumps(observer.numbers())))
        assert again == observer
        odds = [one.weights["volume"].log_odds(rows).tobytes() for one in (observer, again)]
        assert odds[0] == odds[1]

    @pytest.mark.parametrize(
        ("changed", "complaint"),
        [
            ({"weight": [1.0] * 15}, "volume: expected 16 finite numbers"),
            ({"typical": [NAN] * 16}, "volume: expected 16 finite numbers"),
            ({"constant": "high"}, "volume: could not convert"),
            ({"constant": None}, "volume: "),
            ({"weight": 3}, "volume: "),
        ],
    )
    def test_damaged_numbers_are_named(self, changed, complaint):
        numbers = FittedObserver({"volume": flat()}).numbers()
        with pytest.raises(ValueError, match=complaint):
            from_numbers({"volume": numbers["volume"] | changed})

    def test_missing_numbers_and_unknown_categories_are_named(self):
        numbers = FittedObserver({"volume": flat()}).numbers()["volume"]
        with pytest.raises(ValueError, match="volume: no 'weight'"):
            from_numbers({"volume": {k: v for k, v in numbers.items() if k != "weight"}})
        with pytest.raises(LookupError, match="did you mean 'volume'"):
            from_numbers({"volumes": numbers})


LEAST = {"voice_pitch": 0.90, "speaking_speed": 0.85}
"""Share correct at the high tier, of held-out speakers; 0.95 in the other categories."""


def tracks(speech, category, profile):
    """Segments, labels, speakers and sources of all clips at the high tier."""
    clips = []
    for name, pcm, rate, span in speech():
        source = SourceRenderer(pcm, rate, span)
        if source.not_applicable(category, "high", profile):
            continue
        for condition in (condition for condition in CONDITIONS if condition.tier == "high"):
            made = source.render(
                category, condition, clip_id=condition.clip_id(name, name), profile=profile
            )
            if not made.no_effect:
                cue = GRADIENTS[category].cue(ClipAnalysis(made.to_pcm().pcm, rate, made.span))
                clips.append((segments(cue), condition.direction == "up", speaker_of(name), name))
    return (np.array(column) for column in zip(*clips, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("speech", OWN_AND_REAL)
@pytest.mark.parametrize(
    ("category", "profile"), [(c, p) for c in sorted(GRADIENTS) for p in GRADIENTS[c].profiles]
)
def test_held_out_speakers_are_identified_at_the_high_tier(category, profile, speech):
    rows, rising, speakers, names = tracks(speech, category, profile)
    odds = cross_fitted(rows, rising, speakers)
    right = np.isfinite(odds) & ((odds > 0) == rising)
    reached = clustered_interval(right, names)
    assert reached.high >= LEAST.get(category, 0.95), reached
