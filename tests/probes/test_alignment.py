"""Directions of change and their angles, against work by hand and a plain loop."""

from itertools import combinations, product

import numpy as np
import pytest

from otoscope.probes.alignment import (
    AlignmentError,
    align,
    alignment_table,
    angles,
    changes_by_source,
    validate_same_rows,
)
from otoscope.representations.features import write_features

CONDITIONS = list(
    product(("low", "mid", "high"), ("linear", "jump", "quad_first_flat", "quad_last_flat"))
)


def clips(categories, n_sources=3, split="test"):
    """Rows of every category, source, tier, curve and direction, in an order of no meaning."""
    rows = [
        (category, f"s{k}", tier, curve, direction)
        for category in categories
        for k in range(n_sources)
        for tier, curve in CONDITIONS
        for direction in ("up", "down")
    ]
    rows = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]
    names = ("category", "source_id", "tier", "curve", "direction")
    columns = dict(zip(names, (list(column) for column in zip(*rows, strict=True)), strict=True))
    return columns | {
        "id": [f"{split}-" + "-".join(row) for row in rows],
        "label": [int(row[-1] == "up") for row in rows],
        "split": [split] * len(rows),
        "prompt": [f"Does the {row[0]} rise?" for row in rows],
    }


def features(folder, states_of, categories=("volume", "speed", "echo"), **kwargs):
    """Features whose one site holds what `states_of(columns)` says."""
    columns = clips(categories, **kwargs)
    return write_features(folder, columns, {"text.2": states_of(columns)}, model="m", prompt="main")


def noisy(columns):
    """A direction of its own for each category, and a source effect, in five dimensions."""
    rng = np.random.default_rng(1)
    states = rng.standard_normal((len(columns["id"]), 5)).astype(np.float32)
    for k, category in enumerate(columns["category"]):
        sign = 1 if columns["direction"][k] == "up" else -1
        states[k, {"volume": 0, "speed": 1, "echo": 2}[category]] += 0.3 * sign
    return states


def plainly(features, site):
    """Mean differences and cosines by loops, as the paper words them."""
    rows, states = features.rows, features.matrix(site).astype(np.float64)
    directions = []
    for category in ("volume", "speed", "echo"):
        of_sources = []
        for source in sorted(set(rows["source_id"])):
            pairs = []
            for tier, curve in CONDITIONS:
                here = (rows["category"] == category) & (rows["source_id"] == source)
                here &= (rows["tier"] == tier) & (rows["curve"] == curve)
                (up,), (down,) = (
                    states[here & (rows["direction"] == way)] for way in ("up", "down")
                )
                pairs.append(up - down)
            of_sources.append(np.mean(pairs, axis=0))
        directions.append(np.mean(of_sources, axis=0))
    return np.array(
        [[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in directions] for a in directions]
    )


def test_angles_are_those_of_a_plain_loop(tmp_path):
    made = features(tmp_path / "f", noisy)
    found, cosines = align(made, "text.2"), plainly(made, "text.2")
    assert sorted(found.categories) == ["echo", "speed", "volume"]
    order = [("volume", "speed", "echo").index(name) for name in found.categories]
    assert found.cosines == pytest.approx(cosines[np.ix_(order, order)])
    pairs = [cosines[a, b] for a, b in combinations(range(3), 2)]
    assert found.signed.estimate == pytest.approx(np.mean(pairs))
    assert found.absolute.estimate == pytest.approx(np.mean(np.abs(pairs)))


def test_angles_worked_by_hand():
    # Directions (3, 0), (-2, 0) and (1, 1): cosines -1, 1/√2 and -1/√2.
    changes = np.array([[[2.0, 0], [4, 0]], [[-2, 0], [-2, 0]], [[1, 1], [1, 1]]])
    found = angles(("a", "b", "c"), changes)
    root = 1 / np.sqrt(2)
    assert found.cosines == pytest.approx(
        np.array([[1, -1, root], [-1, 1, -root], [root, -root, 1]])
    )
    assert found.norms == pytest.approx([3, 2, np.sqrt(2)])
    assert found.signed.estimate == pytest.approx(-1 / 3)
    assert found.absolute.estimate == pytest.approx((1 + 2 * root) / 3)
    # The two sources differ in the length of one direction only, so no resample moves an angle.
    assert found.signed[1:] == pytest.approx((-1 / 3, -1 / 3))


def test_a_direction_without_length_has_no_angle():
    changes = np.array([[[1.0, 0], [-1, 0]], [[1, 0], [1, 0]], [[0, 1], [0, 1]]])
    found = angles(("still", "b", "c"), changes)
    assert np.isnan(found.cosines[0]).all()
    assert found.cosines[1, 2] == 0
    assert np.isnan([found.signed.estimate, found.absolute.estimate]).all()


def test_intervals_are_those_of_a_plain_bootstrap():
    rng = np.random.default_rng(3)
    changes = rng.standard_normal((3, 12, 6)) + rng.standard_normal((3, 1, 6))
    found = angles(("a", "b", "c"), changes, n_resamples=4000)
    plain = []
    for _ in range(4000):
        means = changes[:, rng.integers(12, size=12)].mean(axis=1)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        plain.append(np.mean([abs(means[a] @ means[b]) for a, b in combinations(range(3), 2)]))
    assert found.absolute[1:] == pytest.approx(np.quantile(plain, [0.025, 0.975]), abs=0.02)


def test_noise_is_no_more_aligned_than_by_chance():
    rng = np.random.default_rng(4)
    many = [
        angles(("a", "b", "c"), rng.standard_normal((3, 20, 40)), n_resamples=50) for _ in range(40)
    ]
    random_null = np.mean([found.random_null for found in many])
    assert np.mean([found.absolute.estimate for found in many]) == pytest.approx(
        random_null, abs=0.02
    )
    # In 40 dimensions a cosine has variance 1/40, so its mean size is √(2/π/40) = 0.126.
    assert random_null == pytest.approx(0.126, abs=0.01)


def test_a_direction_that_sources_share_is_beyond_chance():
    # Squared length of a mean of 500: 0.16 along the shared axis, 40/500 by noise; so cosines are
    # about 0.16/0.24, and those of the random null are those of noise.
    changes = np.random.default_rng(5).standard_normal((3, 500, 40))
    changes[:, :, 0] += 0.4
    found = angles(("a", "b", "c"), changes, n_resamples=200)
    assert found.absolute.estimate == pytest.approx(0.16 / 0.24, abs=0.1)
    assert found.random_null == pytest.approx(0.126, abs=0.02)


def test_categories_of_other_sources_have_no_angle(tmp_path):
    rows = drop(clips(["volume", "echo"]), category="echo", source_id="s2")
    made = write_features(tmp_path / "f", rows, {"text.2": np.ones((len(rows["id"]), 2), "f4")})
    with pytest.raises(AlignmentError, match="not made from the same sources"):
        align(made, "text.2", categories=("volume", "echo"))


def test_opposed_directions_have_a_negative_cosine_and_one_axis_is_high_by_chance_too(tmp_path):
    def states_of(columns):
        states = noisy(columns) * 0.1
        for k, category in enumerate(columns["category"]):
            way = 1 if columns["direction"][k] == "up" else -1
            states[k, 0] += -way if category == "echo" else way
        return states

    found = align(features(tmp_path / "f", states_of), "text.2", categories=("volume", "echo"))
    assert found.cosines[0, 1] < -0.95
    assert found.signed.high < -0.95
    assert min(found.absolute.estimate, found.random_null) > 0.95


def test_the_table_has_a_row_a_model_and_site(tmp_path):
    found = align(features(tmp_path / "f", noisy), "text.2")
    (row,) = alignment_table({("base", "text.2"): found}).to_pylist()
    assert (row["model"], row["layer"], row["n_pairs"]) == ("base", 2, 3)
    assert row["absolute"] == found.absolute.estimate


def drop(rows, **values):
    """Columns without the rows that have these values."""
    out = np.all([np.array(rows[name]) == value for name, value in values.items()], axis=0)
    return {
        name: [v for v, gone in zip(column, out, strict=True) if not gone]
        for name, column in rows.items()
    }


def changes_of(rows, **kwargs):
    rows = {name: np.array(column) for name, column in rows.items()}
    return changes_by_source(np.ones((len(rows["id"]), 2)), rows, **kwargs)


def test_a_change_is_up_less_down_and_a_mean_over_pairs():
    rows = {
        "source_id": ["b", "b", "a", "b", "b", "a"],
        "tier": ["low", "low", "low", "mid", "mid", "low"],
        "curve": ["jump"] * 6,
        "direction": ["up", "down", "up", "down", "up", "down"],
    }
    rows = {name: np.array(column) for name, column in rows.items()}
    states = np.float16([[5], [1], [7], [2], [4], [7]])
    low_only = {name: column[[0, 1, 2, 5]] for name, column in rows.items()}
    assert changes_by_source(states[[0, 1, 2, 5]], low_only, 1).tolist() == [[0], [4]]
    b_only = {name: column[[0, 1, 3, 4]] for name, column in rows.items()}
    assert changes_by_source(states[[0, 1, 3, 4]], b_only, 2).tolist() == [[(4 + 2) / 2]]


def test_a_clip_without_its_counterpart_is_named():
    rows = drop(clips(["volume"]), source_id="s1", tier="low", curve="jump", direction="up")
    with pytest.raises(AlignmentError, match=r"1 clips have no counterpart .* s1/low/jump"):
        changes_of(rows)


def test_a_source_with_fewer_pairs_is_named():
    rows = drop(clips(["volume"]), source_id="s1", tier="low", curve="jump")
    for pairs in (12, None):
        with pytest.raises(
            AlignmentError, match="1 of 3 sources have not 12 pairs, such as s1 with 11"
        ):
            changes_of(rows, pairs_per_source=pairs)


def test_fewer_tiers_are_allowed_where_they_are_for_all():
    rows = drop(clips(["volume"]), tier="low")
    assert changes_of(rows, pairs_per_source=None).tolist() == [[0, 0]] * 3
    with pytest.raises(AlignmentError, match="3 of 3 sources have not 12 pairs"):
        changes_of(rows)


def test_the_same_clip_twice_is_named():
    rows = clips(["volume"])
    twice = {name: column + column[:1] for name, column in rows.items()}
    with pytest.raises(AlignmentError, match="two clips"):
        changes_of(twice)


def test_a_split_without_clips_is_named(tmp_path):
    made = features(tmp_path / "f", noisy, split="train")
    with pytest.raises(AlignmentError, match="split test: there are no clips"):
        align(made, "text.2")


def test_a_single_category_has_no_angle(tmp_path):
    made = features(tmp_path / "f", noisy, categories=("volume",))
    with pytest.raises(AlignmentError, match="needs two categories, and there is volume"):
        align(made, "text.2")


def test_models_over_other_clips_or_prompts_are_rejected(tmp_path):
    base = features(tmp_path / "base", noisy)
    fewer = features(tmp_path / "fewer", noisy, n_sources=2)
    with pytest.raises(AlignmentError, match=r"base and tuned .* 72 are in one only"):
        validate_same_rows({"base": base, "tuned": fewer})
    columns = clips(("volume", "speed", "echo"))
    columns["prompt"][5] = "Other words?"
    other = write_features(tmp_path / "other", columns, {"text.2": noisy(columns)})
    with pytest.raises(AlignmentError, match="differ in label or question"):
        validate_same_rows({"base": base, "tuned": other})
    validate_same_rows({"base": base, "again": features(tmp_path / "again", noisy)})
