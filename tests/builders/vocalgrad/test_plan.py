"""What a build will hold is settled by the plan alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders.building.folder import BuildError, outline_of
from builders.building.plan import MAX_FILE_BYTES
from builders.corpora.base import Corpus, SourceClip
from builders.vocalgrad.planning.build_plan import limited_sources, plan_build
from builders.vocalgrad.planning.estimate import estimate
from builders.vocalgrad.planning.plan import (
    GENERATOR_VERSION,
    MAX_CLIP_BYTES,
    OmittedTier,
    SurveyedClip,
    VocalGradPlan,
)
from otoscope.acoustics.design import CONDITIONS
from otoscope.acoustics.design import PUBLISHED_CATEGORIES as ALL


def surveyed(i, split="test", *, duration_s=4.0, rate=48_000, position=None, n_channels=1):
    name = f"s{i:04d}"
    source = SourceClip(
        f"{name}_01", name, split, i if position is None else position, Path(f"/corpus/{name}.wav"),
        f"speaker{i // 2}",
    )  # fmt: skip
    n = round(duration_s * rate)
    return SurveyedClip(source, rate, n_channels, n, 16, "PCM_16", (0, n), "detected", f"{i:064x}")


def plan_of(sources, beeps=(), categories=ALL):
    return VocalGradPlan(categories, "paper", tuple(sources), tuple(beeps))


@pytest.fixture(scope="module")
def published():
    """100 test sources and 500 others, one in ten of them for validation; ten tones."""
    train = [surveyed(100 + i, "train" if i % 10 else "validation", position=i) for i in range(500)]
    test = [surveyed(i, duration_s=3 + i % 5) for i in range(100)]
    return plan_of(
        [*test, *train], [surveyed(1000 + i, duration_s=3.6, position=i) for i in range(10)]
    )


def cells_of(plan, config, split):
    """`(source, cell)` of every row of a config, in the order of its files."""
    shards = [s for s in plan.shards if s.split == split and config in s.files]
    shards.sort(key=lambda s: s.files[config])  # what the pattern in the README does
    for shard in shards:
        for source in plan.sources_of(shard):
            for k in range(*shard.conditions):
                yield source, k


def test_as_many_clips_as_published(published):
    assert estimate(published).rows == {
        "all/test": 100 * 24 * 9,
        "source/test": 100,
        "all/train": 450 * 24 * 9,
        "source/train": 450,
        "all/validation": 50 * 24 * 9,
        "source/validation": 50,
        "beep/test": 10 * 24 * 4,
    }
    test = [s for s in published.shards if s.kind == "gradient" and s.split == "test"]
    assert sum(s.n_rows for s in test) == 21_600
    train = [s for s in published.shards if s.kind == "gradient" and s.split != "test"]
    assert sum(s.n_rows for s in train) == 108_000
    for category in ALL:
        of_category = [s for s in train if category in s.files]
        assert sum(s.n_rows for s in of_category) // len(ALL) == 12_000


@pytest.mark.parametrize("split", ["test", "train", "validation"])
def test_every_config_comes_in_published_order(published, split):
    sources = published.of_split(split)
    for category in ALL:
        wanted = [(s, k) for s in sources for k in range(24)]
        assert list(cells_of(published, category, split)) == wanted
    rows = [s.source.position * 24 + k for s, k in cells_of(published, "echo", split)]
    assert rows == sorted(rows)


def test_beeps_come_category_by_category(published):
    names = [s.categories[0] for s in published.shards if s.kind == "beep" for _ in range(s.n_rows)]
    order = ["volume", "voice_pitch", "background_noise", "voice_vibration"]
    assert names == [name for name in order for _ in range(240)]


def test_nothing_has_the_name_of_another(published):
    shards = published.shards
    files = [path for shard in shards for path in shard.files.values()]
    ids = [
        (config, shard.split, s.source.item_id, s.source.clip_id, category, cell)
        for shard in shards
        for config in shard.files
        for category in ([config] if config in ALL else shard.categories or ["source"])
        for s in published.sources_of(shard)
        for cell in (range(*shard.conditions) if shard.categories else [None])
    ]
    assert len({shard.name for shard in shards}) == len(shards)
    assert len(set(files)) == len(files)
    assert len(set(ids)) == len(ids) == 21_600 + 108_000 + 600 + 960


def pcm_bound(plan, shard):
    """The most PCM any one file of a shard can hold."""
    n_cells = max(1, shard.conditions[1] - shard.conditions[0])
    return sum(s.most_bytes for s in plan.sources_of(shard)) * n_cells


@pytest.mark.parametrize("durations_s", [[25] * 7, [60] * 3, [200], [4, 200, 4, 4], [1.0] * 40])
@pytest.mark.parametrize("n_channels", [1, 2])
def test_no_file_can_grow_beyond_its_bound(durations_s, n_channels):
    durations_s = [d / n_channels for d in durations_s]
    sources = [surveyed(i, duration_s=d, n_channels=n_channels) for i, d in enumerate(durations_s)]
    plan = plan_of(sources)
    for shard in plan.shards:
        assert pcm_bound(plan, shard) <= MAX_FILE_BYTES, shard
    wanted = [(s, k) for s in plan.sources for k in range(24)]
    assert list(cells_of(plan, "volume", "test")) == wanted


def test_a_long_source_is_cut_between_its_conditions_and_a_short_one_is_not():
    plan = plan_of([surveyed(0, duration_s=60), surveyed(1, duration_s=4)])
    cells = [s.conditions for s in plan.shards if s.kind == "gradient"]
    assert cells == [(0, 8), (8, 16), (16, 24), (0, 24)]  # 8 clips of at most 9.6 MB in 90 MB


def test_clips_of_every_allowed_length_fit():
    for clip_bytes in range(500_000, MAX_CLIP_BYTES + 1, 500_000):
        plan = plan_of([surveyed(0, duration_s=clip_bytes * 0.6 / 2 / 48_000)])
        assert max(pcm_bound(plan, shard) for shard in plan.shards) <= MAX_FILE_BYTES, clip_bytes
        covered = [k for s in plan.shards if s.kind == "gradient" for k in range(*s.conditions)]
        assert covered == list(range(len(CONDITIONS)))


def moved(s):
    return replace(s, source=replace(s.source, path=Path("/elsewhere") / s.source.path.name))


def test_where_files_lie_does_not_matter_and_all_else_does():
    plan = plan_of([surveyed(0), surveyed(1)])
    assert plan_of(map(moved, plan.sources)).fingerprint == plan.fingerprint
    first, second = plan.sources
    others = [
        plan_of([second, first]),
        plan_of([first]),
        plan_of([replace(first, span=(1, 5)), second]),
        plan_of([replace(first, pcm_sha256="f" * 64), second]),
        plan_of([replace(first, source=replace(first.source, transcript="Then.")), second]),
        plan_of(plan.sources, categories=ALL[1:]),
        replace(plan, profile="controlled"),
        replace(plan, generator_version=f"{GENERATOR_VERSION}.1"),
        replace(plan, libraries=("numpy 1",)),
        plan_of(plan.sources, beeps=[surveyed(2)]),
    ]
    assert len({p.fingerprint for p in [plan, *others]}) == len(others) + 1


def test_the_fingerprint_of_version_0_1():
    """Computed by the code of 0.1: with another one its unfinished builds would not go on."""
    given = SourceClip(
        "p226_01", "p226_106", "test", 3, Path("/corpus/a.wav"), "p226", "106", "Grüß Gott.",
        (0.1, 0.9), "short",
    )  # fmt: skip
    other = SourceClip("p300_02", "p300_007", "train", 0, Path("/corpus/b.flac"))
    beep = SourceClip("beep_01", "beep_01", "test", 0, Path("x.wav"))
    sources = (
        SurveyedClip(
            given, 48_000, 1, 96_000, 16, "PCM_16", (4_800, 43_200), "given", "ab" * 32,
            (OmittedTier("echo", "low", "silent"),),
        ),
        SurveyedClip(other, 16_000, 2, 20_000, 8, "PCM_U8", (0, 20_000), "whole_clip", "cd" * 32),
    )  # fmt: skip
    beeps = (
        SurveyedClip(beep, 48_000, 1, 172_800, 16, "PCM_16", (36_000, 136_800), "given", "ef" * 32),
    )
    libraries = ("numpy 1.0", "libsndfile 1.2")
    plan = VocalGradPlan(
        ("volume", "echo"), "controlled", sources, beeps, generator_version="1", libraries=libraries
    )
    assert plan.fingerprint == "bf4329be26104aed57cf54da57457077132f3ad01f530a485b4a82f9046c0969"
    assert set(outline_of(plan)) == {
        "fingerprint", "profile", "categories", "generator_version", "libraries", "n_sources",
        "n_beeps", "n_shards", "folders",
    }  # fmt: skip


def test_a_build_names_every_library_that_makes_its_bytes():
    named = [text.split()[0] for text in plan_of([surveyed(0)]).libraries]
    # FLAC comes from libsndfile, and `datasets` writes the features into each Parquet file
    assert {"numpy", "soxr", "librosa", "pyarrow", "datasets", "libsndfile"} <= set(named)
    assert len(named) == len(set(named))


def test_a_limit_is_spread_over_speakers_and_keeps_the_order():
    sources = [surveyed(i).source for i in range(8)]  # four speakers of two clips
    sources += [surveyed(8 + i, "train").source for i in range(4)]
    kept = limited_sources(sources, 3)
    assert [s.clip_id for s in kept] == ["s0000", "s0002", "s0004", "s0008", "s0009", "s0010"]
    assert [s.clip_id for s in limited_sources(sources, 6)][:6] == [
        "s0000", "s0001", "s0002", "s0003", "s0004", "s0006",
    ]  # fmt: skip
    assert limited_sources(sources, None) == sources


def test_an_unknown_category_is_rejected_with_a_suggestion():
    corpus = Corpus("x", "cc0-1.0", "", None, False, (surveyed(0).source,))
    with pytest.raises(LookupError, match="did you mean 'voice_pitch'"):
        plan_build(corpus, categories=["volume", "voice_pich"])


def test_a_corpus_without_sources_is_no_build():
    with pytest.raises(BuildError, match="none of the 0 sources"):
        plan_build(Corpus("x", "cc0-1.0", "", None, False, ()))
