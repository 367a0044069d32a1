"""Splits share neither speakers nor texts, and hold still when a source is added."""

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from builders.corpora.base import CorpusError, SourceClip
from builders.corpora.reading.partition import (
    carve_validation,
    check_splits,
    given_splits,
    leaks,
    normalise_text,
    partition,
)

ALL = ("train", "validation", "test")


def source(item_id, speaker="", text="", split=""):
    return SourceClip(item_id, item_id, split, 0, Path(f"{item_id}.wav"), speaker, "", text)


def crowd(n_speakers=30, n_clips=4):
    """Neighbouring speakers 2k and 2k+1 share one sentence, spelt differently."""
    return [
        source(
            f"s{k:02d}-{n}",
            f"s{k:02d}",
            f"Shared, {k // 2}!"
            if n == 0 and k % 2
            else f"shared {k // 2}"
            if n == 0
            else f"{k} {n}",
        )
        for k in range(n_speakers)
        for n in range(n_clips)
    ]


def side(sources, *splits):
    return [s for s in sources if s.split in splits]


def test_no_speaker_and_no_text_on_both_sides():
    divided = partition(crowd(), splits=ALL)
    test, train = side(divided.clips, "test"), side(divided.clips, "train", "validation")
    assert not {s.speaker_id for s in test} & {s.speaker_id for s in train}
    assert not {normalise_text(s.transcript) for s in test} & {
        normalise_text(s.transcript) for s in train
    }
    assert not divided.skipped
    assert leaks(divided.clips) == []


def test_shares_and_positions():
    # 15 components of 8 sources: a third of 120 is 40, five whole components.
    # Validation is a tenth of the 80 others.
    divided = partition(crowd(), splits=ALL)
    assert Counter(s.split for s in divided.clips) == {"train": 72, "validation": 8, "test": 40}
    assert [s.position for s in side(divided.clips, "test")] == list(range(40))
    assert [s.position for s in side(divided.clips, "train", "validation")] == list(range(80))
    assert [s.item_id for s in divided.clips] == [s.item_id for s in crowd()]


def test_only_the_requested_splits():
    assert {s.split for s in partition(crowd(), splits=["test"]).clips} == {"test"}
    both = partition(crowd(), splits=["train", "test"])
    assert Counter(s.split for s in both.clips) == {"train": 80, "test": 40}
    assert {s.split for s in partition(crowd(), splits=["train"]).clips} == {"train"}
    fitted = partition(crowd(), splits=["train", "validation"])
    assert Counter(s.split for s in fitted.clips) == {"train": 108, "validation": 12}


def test_a_new_source_moves_few_others():
    before = {s.item_id: s.split for s in partition(crowd(), splits=ALL).clips}
    for extra in (source("new", "s31", "new text"), source("s00-9", "s00", "new text")):
        after = {s.item_id: s.split for s in partition([*crowd(), extra], splits=ALL).clips}
        moved = [i for i, split in before.items() if (split == "test") != (after[i] == "test")]
        assert len(moved) <= 8  # one component


def test_order_does_not_matter():
    there = {s.item_id: s.split for s in partition(crowd(), splits=ALL).clips}
    back = {s.item_id: s.split for s in partition(crowd()[::-1], splits=ALL).clips}
    assert there == back


def test_unknown_speakers_and_texts_stand_alone():
    divided = partition([source(f"x{n}") for n in range(9)], splits=["train", "test"])
    assert Counter(s.split for s in divided.clips) == {"train": 6, "test": 3}
    assert leaks(divided.clips) == [
        "The speaker of 9 sources is unknown, so splits may share speakers."
    ]


def test_a_giant_component_goes_to_train():
    giant = [source(f"g{n}", "giant", f"g {n}") for n in range(30)]
    divided = partition([*giant, source("a", "a", "a"), source("b", "b", "b")], splits=ALL)
    assert [s.item_id for s in side(divided.clips, "test")] == ["a", "b"]


def test_a_chain_of_shared_texts_is_one_component():
    # a shares with b, b with c: a and c are connected without sharing anything.
    chain = [source(f"{w}{t}", w, t) for w, t in ("a1", "b1", "b2", "c2")]
    with pytest.raises(
        CorpusError, match=r"the 3 speakers are all connected .* 'drop'|shared_texts"
    ):
        partition(chain, splits=["train", "test"])
    loose = partition([*chain, source("d3", "d", "3")], splits=["train", "test"])
    assert [s.item_id for s in side(loose.clips, "test")] == ["d3"]


def test_shared_texts_can_be_dropped_from_train():
    read = [source(f"{w}{n}", w, f"sentence {n}") for w in "abc" for n in (1, 2)]
    own = [source(f"{w}3", w, f"own of {w}") for w in "abc"]
    divided = partition(read + own, splits=["train", "test"], shared_texts="drop")
    test = side(divided.clips, "test")
    assert len({s.speaker_id for s in test}) == 1
    assert len(test) == 3
    assert [s.item_id[1] for s in side(divided.clips, "train")] == ["3", "3"]
    assert {reason for _, reason in divided.skipped} == {"its text is in the test split"}
    assert len(divided.skipped) == 4
    with pytest.raises(CorpusError, match="every text is in the test split"):
        partition(read, splits=["train", "test"], shared_texts="drop")


def test_one_speaker_cannot_be_divided():
    alone = [source(f"x{n}", "x", f"{n}") for n in range(5)]
    with pytest.raises(CorpusError, match=r"all 5 clips are of one speaker \(x\)"):
        partition(alone, splits=["train", "test"])


def test_validation_is_chosen_by_hash_of_the_id():
    ids = [f"p{n}" for n in range(20)]
    by_hash = sorted(ids, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    assert carve_validation(ids) == set(by_hash[:2])
    assert carve_validation(ids[:2]) == {min(ids[:2], key=by_hash.index)}
    with pytest.raises(CorpusError, match="1 train clips cannot be divided"):
        carve_validation(["p0"])


def test_given_splits_are_used_and_their_leaks_reported():
    given = [
        source("a", "s", "one", "test"),
        source("b", "s", "One.", "train"),
        source("c", "t", "", "train"),
    ]
    divided = given_splits(given, ["train", "test"], given_by="the table")
    assert [(s.item_id, s.split, s.position) for s in divided.clips] == [
        ("a", "test", 0),
        ("b", "train", 0),
        ("c", "train", 1),
    ]
    assert leaks(divided.clips) == [
        "1 speakers are in test and in train or validation.",
        "1 texts are in test and in train or validation.",
    ]
    only = given_splits(given, ["test"], given_by="the table")
    assert only.skipped == (("b", "train was not requested"), ("c", "train was not requested"))
    with pytest.raises(CorpusError, match="the table puts nothing into validation; it has train 2"):
        given_splits(given, ["validation"], given_by="the table")


def test_names_of_splits():
    assert check_splits(["test", "train"]) == ("train", "test")
    assert check_splits("test") == ("test",)
    with pytest.raises(CorpusError, match="no split 'dev'; there are train, validation, test"):
        check_splits(["dev"])
    with pytest.raises(CorpusError, match="no split requested"):
        check_splits([])
    with pytest.raises(CorpusError, match="there are no clips"):
        partition([])
    with pytest.raises(CorpusError, match="shared_texts must be one of"):
        partition(crowd(), shared_texts="keep")


def test_a_split_that_is_requested_twice_is_rejected():
    with pytest.raises(CorpusError, match="split 'test' is requested twice"):
        check_splits(("test", "train", "test"))
