"""Which clips are for validation: by source, and as published by clip."""

from random import Random

import pytest

from otoscope.tuning.config import TuningError
from otoscope.tuning.splits import by_clip, by_source
from tests.tuning.tiny_training import rows


def clips(columns, places):
    return [columns["clip_id"][n] for n in places]


class TestBySource:
    def test_a_tenth_of_the_sources_is_held_out_whole(self):
        columns = rows(80)  # 20 sources of 4 clips
        split = by_source(columns, 1234)
        held = {columns["source_id"][n] for n in split.validation}
        train = {columns["source_id"][n] for n in split.train}
        assert len(held) == 2
        assert not held & train
        assert sorted(split.train + split.validation) == list(range(80))

    def test_another_seed_holds_out_others_and_order_of_rows_does_not_matter(self):
        columns = rows(80)
        backwards = {name: values[::-1] for name, values in columns.items()}
        found = clips(columns, by_source(columns, 1).validation)
        assert found == clips(backwards, by_source(backwards, 1).validation)
        assert any(clips(columns, by_source(columns, s).validation) != found for s in (2, 3, 4))

    def test_of_two_sources_one_is_held_out(self):
        assert [len(part) for part in by_source(rows(8), 0)] == [4, 4]

    def test_a_split_of_the_dataset_is_taken_as_it_is(self):
        columns = rows(8)
        columns["split"] = ["train"] * 4 + ["validation"] * 4
        assert by_source(columns, 7) == ((0, 1, 2, 3), (4, 5, 6, 7))

    def test_splits_that_share_a_source_are_rejected(self):
        columns = rows(8)
        columns["split"] = ["train"] * 3 + ["validation"] * 5
        with pytest.raises(TuningError, match=r"1 sources are in train and in validation.* 's0'"):
            by_source(columns, 7)

    def test_one_source_is_rejected(self):
        with pytest.raises(TuningError, match="all clips are of one source, 's0'"):
            by_source(rows(4), 0)


class TestByClip:
    def test_it_is_the_published_division(self):
        columns = rows(60)
        # the published rule, word for word: increase first, one generator, a tenth, then sorted
        lot, held = Random(1234), []
        for label in (1, 0):
            places = [n for n in range(60) if columns["label"][n] == label]
            lot.shuffle(places)
            held += places[:3]
        split = by_clip(columns, 1234)
        assert split.validation == tuple(sorted(held))
        assert split.train == tuple(n for n in range(60) if n not in held)

    def test_of_twelve_thousand_clips_six_hundred_of_each_label_validate(self):
        columns = rows(12_000, per_source=24)
        split = by_clip(columns, 1234)
        assert (len(split.train), len(split.validation)) == (10_800, 1_200)
        assert sum(columns["label"][n] for n in split.validation) == 600
        held = {columns["source_id"][n] for n in split.validation}
        assert len(held & {columns["source_id"][n] for n in split.train}) > 400, "sources in both"

    @pytest.mark.parametrize("seed", [1234, 7])
    def test_of_two_splits_the_published_clips_validate(self, seed):
        # An independent, plain version of the rule (VocalGrad's data): the manifest's order is
        # source, tier, curve, direction; increase first, then decrease; one generator.
        conditions = [
            (tier, curve, direction)
            for tier in ("low", "mid", "high")
            for curve in ("linear", "quad_first_flat", "quad_last_flat", "jump")
            for direction in ("up", "down")
        ]
        manifest = [
            (f"p{225 + s // 9}_{1 + s % 9:02d}__p{s:03d}", *condition)
            for s in range(500)
            for condition in conditions
        ]
        rng, published = Random(seed), set()
        for wanted in ("up", "down"):
            names = [f"{s}__{c}__{t}__{d}" for s, t, c, d in manifest if d == wanted]
            rng.shuffle(names)
            published |= set(names[:600])

        # the dataset: a tenth of the sources is its validation split, and comes last
        places = list(range(12_000))
        split_of = ["validation" if n // 24 % 10 == 3 else "train" for n in places]
        places.sort(key=lambda n: split_of[n] == "validation")
        columns = {
            "id": [f"q{n}" for n in places],
            "clip_id": [
                "{0}__{2}__{1}__{3}".format(*manifest[n])  # the order of names in an id
                for n in places
            ],
            "category": ["volume"] * 12_000,
            "label": [int(manifest[n][3] == "up") for n in places],
            "source_id": [manifest[n][0] for n in places],
            "split": [split_of[n] for n in places],
            "row": places,
        }
        split = by_clip(columns, seed)
        assert set(clips(columns, split.validation)) == published
        assert (len(split.train), len(split.validation)) == (10_800, 1_200)
        without = by_clip({k: v for k, v in columns.items() if k != "row"}, seed)
        assert len(set(clips(columns, without.validation)) & published) < 300

    def test_train_and_validation_of_the_dataset_are_one(self):
        columns = rows(40)
        columns["split"] = ["train"] * 30 + ["validation"] * 10
        assert by_clip(columns, 1) == by_clip(rows(40), 1)

    def test_splits_are_sorted_by_category_and_clip(self):
        columns = rows(40)
        columns["category"] = ["volume", "echo"] * 20
        columns["clip_id"] = [f"c{39 - i:02d}" for i in range(40)]
        train, _ = by_clip(columns, 1)
        keys = [(columns["category"][n], columns["clip_id"][n]) for n in train]
        assert keys == sorted(keys)

    def test_too_few_clips_are_rejected(self):
        with pytest.raises(TuningError, match="a tenth of 5 clips is none"):
            by_clip(rows(10), 0)
