"""The published design stays as it is, whatever is added to the tables."""

import runpy

import numpy as np
import pytest
from synthetic_speech import speech_like

from otoscope.acoustics import design
from otoscope.acoustics.design import CONDITIONS, Condition
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.gradients.speaking_speed import elapsed
from otoscope.acoustics.rendering import SourceRenderer
from otoscope.acoustics.spans import Span
from otoscope.acoustics.trajectories import CURVES, Trajectory
from otoscope.acoustics.transforms import GradientTransform

# Curve, tier and direction of the published ids, a line for each curve of each tier.
MANIFEST_ORDER = """
linear__low__up           linear__low__down
quad_first_flat__low__up  quad_first_flat__low__down
quad_last_flat__low__up   quad_last_flat__low__down
jump__low__up             jump__low__down
linear__mid__up           linear__mid__down
quad_first_flat__mid__up  quad_first_flat__mid__down
quad_last_flat__mid__up   quad_last_flat__mid__down
jump__mid__up             jump__mid__down
linear__high__up          linear__high__down
quad_first_flat__high__up quad_first_flat__high__down
quad_last_flat__high__up  quad_last_flat__high__down
jump__high__up            jump__high__down
"""
RATE = 16_000


def renderer():
    return SourceRenderer(speech_like(RATE), RATE, Span(4_000, 14_000))


@pytest.fixture
def toy_curve(monkeypatch):
    """A curve of one more shape, added as a contributor would."""
    monkeypatch.setitem(CURVES, "cosine", lambda t: 0.5 - 0.5 * np.cos(np.pi * t))
    return "cosine"


def test_24_conditions_in_the_order_of_the_published_manifests():
    names = [c.clip_id("i", "s") for c in CONDITIONS]
    assert [n.removeprefix("i__s__") for n in names] == MANIFEST_ORDER.split()


def test_a_new_curve_changes_no_published_id_and_no_row_number(toy_curve):
    assert runpy.run_path(design.__file__)["CONDITIONS"] == CONDITIONS
    names = [clip_id for _, clip_id, _ in renderer().variants("volume", "i", "s")]
    assert [name.removeprefix("i__s__") for name in names] == MANIFEST_ORDER.split()


def test_a_new_curve_changes_no_draw_of_the_augmentation(monkeypatch):
    transform = GradientTransform("echo")
    before = [transform.condition_of(str(i)) for i in range(50)]
    monkeypatch.setitem(CURVES, "cosine", lambda t: 0.5 - 0.5 * np.cos(np.pi * t))
    assert [transform.condition_of(str(i)) for i in range(50)] == before
    assert GradientTransform("echo", curve="cosine").condition_of("0").curve == "cosine"


@pytest.mark.parametrize(
    ("category", "profile"), [(c, p) for c, g in GRADIENTS.items() for p in g.profiles]
)
def test_a_new_curve_is_rendered_where_it_is_named(toy_curve, category, profile):
    condition = Condition("high", toy_curve, "up")
    made = renderer().render(category, condition, clip_id="i__s", profile=profile)
    assert np.isfinite(made.samples).all()
    assert made.parameter[0] == pytest.approx(made.trajectory.start, rel=0.02, abs=0.02)
    assert made.parameter[-1] == pytest.approx(made.trajectory.end, rel=0.02, abs=0.02)


def test_time_along_a_curve_without_a_closed_form_is_integrated(monkeypatch):
    monkeypatch.setitem(CURVES, "line", lambda t: t)
    at = np.linspace(0, 1, 7)
    closed, summed = (elapsed(Trajectory(0.6, 1.4, name), at) for name in ("linear", "line"))
    assert summed == pytest.approx(closed, rel=1e-6)
