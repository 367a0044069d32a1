"""A leak that was put there is found, and one that was not is not."""

from functools import cache

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from synthetic_speech import speech_like

from otoscope.acoustics.confounds import (
    ClipContrasts,
    Confounds,
    intends,
    measure_confounds,
    measured_in,
)
from otoscope.acoustics.contrasts import CONTRASTS, contrasts
from otoscope.acoustics.design import CONDITIONS, PUBLISHED_CATEGORIES, PUBLISHED_CURVES
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import ClipAnalysis
from otoscope.acoustics.spans import Span
from otoscope.acoustics.trajectories import CURVES

N_SOURCES = 12

# The specification of the intended measures, word for word.
SPECIFIED = """
volume: level, noise_floor, head, tail
background_noise: noise_floor, snr, bandwidth
voice_clarity: bandwidth, high_band_level
audio_roughness: noise_floor, bandwidth
audio_distortion: noise_floor, bandwidth
echo: modulation, tail
voice_vibration: modulation
voice_pitch: pitch
speaking_speed: tempo, duration
"""


def made_up(category="echo", *, n_sources=N_SOURCES, seed=0, **leaks):
    """Clips of random contrasts, each of which the label may move by so many deviations."""
    rng = np.random.default_rng(seed)
    clips = []
    for k in range(n_sources):
        for tier, curve, direction in CONDITIONS:
            sign = 1 if direction == "up" else -1
            value = {n: rng.normal() + sign * leaks.get(n, 0) / 2 for n in measured_in(category)}
            clips.append(ClipContrasts(category, tier, curve, direction, f"s{k}", value, {}))
    return clips


def row(found, name):
    return next(r for r in found.rows if r.name == name)


def without(clip, name, reason):
    return clip._replace(value={**clip.value, name: np.nan}, reason={**clip.reason, name: reason})


def test_intended_measures_are_the_specified_ones():
    lines = [line.split(": ") for line in SPECIFIED.split("\n") if line]
    intended = {name: GRADIENTS[name].intended for name in PUBLISHED_CATEGORIES}
    assert {name: set(listed.split(", ")) for name, listed in lines} == intended


@pytest.mark.parametrize("category", PUBLISHED_CATEGORIES)
def test_a_category_intends_what_its_line_says_its_cue_and_nothing_else(category):
    listed = GRADIENTS[category].intended
    cue = {"audio_distortion": "holding", "audio_roughness": "quantisation_step"}.get(category)
    cue = {"echo": "reverberance"}.get(category, cue)
    expected = listed - {"head", "tail"} | ({cue} if cue else set())
    if category in ("volume", "echo"):
        expected |= {"edges"}
    assert {n for n in CONTRASTS if intends(category, n)} == expected


def test_measures_of_the_numbers_are_taken_only_where_they_are_the_cue():
    for name, at in (("holding", "audio_distortion"), ("quantisation_step", "audio_roughness")):
        assert [c for c in PUBLISHED_CATEGORIES if name in measured_in(c)] == [at]
    assert all(
        set(CONTRASTS) - {"holding", "quantisation_step"} <= set(measured_in(c)) for c in GRADIENTS
    )


def test_what_is_unavoidable_is_a_confound_and_has_a_reason():
    for category, gradient in GRADIENTS.items():
        names = gradient.unavoidable
        confounds = {n for n in measured_in(category) if not intends(category, n)}
        assert set(names) <= confounds
        assert all(names.values())


def test_rows_say_what_is_unavoidable_and_the_avoidable_ones_jointly_do_without():
    unavoidable = GRADIENTS["echo"].unavoidable
    leaks = dict.fromkeys(unavoidable, 3.0)
    found = measure_confounds(made_up("echo", **leaks))
    assert {r.name: r.unavoidable for r in found.rows if r.unavoidable} == unavoidable
    everything, free = found.joint
    assert set(everything.names) - set(free.names) == set(unavoidable)
    assert everything.auc.estimate > 0.95
    assert 0.4 < free.auc.estimate < 0.6


@pytest.mark.parametrize(("category", "name"), [("volumes", "level"), ("volume", "levels")])
def test_what_is_unknown_is_named(category, name):
    with pytest.raises(LookupError, match="did you mean"):
        intends(category, name)


def test_rows_come_in_the_order_of_the_tables():
    found = measure_confounds([*made_up("echo"), *made_up("volume")])
    assert [r.name for r in found.rows if r.category == "echo"] == list(measured_in("echo"))
    assert [(r.category, r.avoidable_only) for r in found.joint] == [
        ("volume", False), ("volume", True), ("echo", False), ("echo", True),
    ]  # fmt: skip


def test_a_planted_confound_is_found_and_an_absent_one_is_not():
    found = measure_confounds(made_up(level=2.0))
    # two normals two deviations apart: Φ(2/√2) = 0.921
    level = row(found, "level").auc
    assert level.low < 0.921 < level.high
    assert level.low > 0.85
    absent = row(found, "bandwidth").auc
    assert absent.low < 0.5 < absent.high
    assert 0.4 < absent.estimate < 0.6


def test_an_area_is_what_scikit_learn_says_of_its_strata():
    clips = made_up(pitch=0.7)
    areas = []
    for tier in ("low", "mid", "high"):
        for curve in PUBLISHED_CURVES:
            chosen = [c for c in clips if (c.tier, c.curve) == (tier, curve)]
            ups = [c.direction == "up" for c in chosen]
            areas.append(roc_auc_score(ups, [c.value["pitch"] for c in chosen]))
    found = row(measure_confounds(clips), "pitch")
    assert found.auc.estimate == pytest.approx(np.mean(areas))  # as many pairs in each
    assert (found.n, found.n_sources) == (24 * N_SOURCES, N_SOURCES)


def test_one_tier_alone():
    clips = [
        c if c.tier == "high" else c._replace(value=dict.fromkeys(c.value, 0.0))
        for c in made_up(level=3.0)
    ]
    alone = row(measure_confounds(clips, tier="high"), "level")
    assert alone.n == 8 * N_SOURCES
    assert alone.auc.estimate > 0.95
    assert row(measure_confounds(clips), "level").auc.estimate < 0.7


def test_what_could_not_be_measured_is_counted_by_reason_and_left_out():
    clips = made_up(level=2.0)
    clips[:5] = [without(c, "level", "silent span") for c in clips[:5]]
    clips[7] = without(clips[7], "level", "span too short")
    found = row(measure_confounds(clips), "level")
    assert found.n_not_measurable == {"silent span": 5, "span too short": 1}
    assert found.n == len(clips) - 6
    assert found.auc.estimate > 0.8


def test_what_could_nowhere_be_measured_has_no_area():
    clips = [without(c, "pitch", "no voiced frame") for c in made_up()]
    found = measure_confounds(clips)
    assert np.isnan(row(found, "pitch").auc).all()
    assert row(found, "pitch").n == 0
    assert np.isfinite(found.joint[0].auc.estimate)


def test_all_confounds_together_tell_what_none_tells_alone():
    # the label is the sum of two contrasts that mostly cancel what each has of its own
    rng = np.random.default_rng(1)
    clips = []
    for clip in made_up():
        own, sign = 3 * rng.normal(), 1 if clip.direction == "up" else -1
        value = {**clip.value, "level": own + sign, "pitch": -own + sign}
        clips.append(clip._replace(value=value))
    found = measure_confounds(clips)
    assert max(row(found, n).auc.estimate for n in ("level", "pitch")) < 0.75
    assert found.joint[0].auc.estimate > 0.99


def test_together_leaves_out_what_is_intended():
    found = measure_confounds(made_up(modulation=9.0, reverberance=9.0, edges=9.0))
    together = found.joint[0]
    assert set(together.names) == set(measured_in("echo")) - {"modulation", "reverberance", "edges"}
    assert 0.4 < together.auc.estimate < 0.6


def test_a_source_the_model_has_seen_is_no_evidence():
    # one label a source, and contrasts that name the source and nothing else: whoever has heard
    # some of its clips knows the label of the others
    rng = np.random.default_rng(2)
    own = {f"s{k}": rng.normal(size=len(CONTRASTS)) for k in range(N_SOURCES)}
    clips = [
        c._replace(value=dict(zip(CONTRASTS, own[c.source_id], strict=True)))
        for c in made_up()
        if (c.direction == "up") == (int(c.source_id[1:]) % 2 == 0)
    ]
    assert measure_confounds(clips).joint[0].auc.estimate < 0.7


def test_not_being_measurable_can_give_the_label_away():
    clips = [
        without(c, "pitch", "not measurable in the second half") if c.direction == "up" else c
        for c in made_up()
    ]
    found = measure_confounds(clips)
    assert np.isnan(row(found, "pitch").auc.estimate)  # no pair is left to compare
    assert found.joint[0].auc.estimate > 0.95


def test_too_few_sources_for_a_model_and_one_source_for_an_interval():
    few = measure_confounds(made_up(n_sources=3)).joint[0]
    assert np.isnan(few.auc).all()
    assert few.n_sources == 3
    alone = measure_confounds(made_up(n_sources=1))
    assert row(alone, "level").auc[1:] == (0, 1)


def test_one_label_alone_tells_nothing():
    clips = [c for c in made_up() if c.direction == "up"]
    found = measure_confounds(clips)
    assert np.isnan([r.auc.estimate for r in (*found.rows, *found.joint)]).all()


def test_no_clips_no_rows():
    assert measure_confounds([]) == Confounds((), ())


def test_an_unknown_category_is_named():
    with pytest.raises(LookupError, match="did you mean 'echo'"):
        measure_confounds([clip._replace(category="ecko") for clip in made_up()])


def tremor(speech, rate, curve, direction, *, level_kept):
    """A tremor that gets deeper, or calms down; its gain is at most 1, unless the level is kept."""
    t = np.linspace(0, 1, speech.size)
    progress = CURVES[curve](t if direction == "up" else 1 - t)
    depth = 0.9 * progress
    phase = 2 * np.pi * np.cumsum(20 * progress) / rate
    gain = 1 - depth / 2 * (1 + np.sin(phase))
    return (
        speech * gain / np.sqrt((1 - depth / 2) ** 2 + depth**2 / 8)
        if level_kept
        else speech * gain
    )


@cache
def trembling(level_kept):
    rate, clips = 8000, []
    for k in range(8):
        speech = speech_like(rate, 2.2, seed=k) + 0.05 * np.random.default_rng(k).standard_normal(
            17_600
        )
        for tier, curve, direction in CONDITIONS[-8:]:
            samples = tremor(speech, rate, curve, direction, level_kept=level_kept)
            found = contrasts(
                ClipAnalysis(samples, rate, Span(0, samples.size)), measured_in("voice_vibration")
            )
            clips.append(ClipContrasts("voice_vibration", tier, curve, direction, f"s{k}", *found))
    return measure_confounds(clips)


def test_a_tremor_that_costs_level_gives_itself_away():
    level = row(trembling(level_kept=False), "level").auc
    assert level.estimate < 0.05
    assert level.high < 0.4


def test_a_tremor_that_keeps_its_level_does_not():
    level = row(trembling(level_kept=True), "level").auc
    assert 0.4 < level.estimate < 0.6
    assert level.low < 0.5 < level.high
