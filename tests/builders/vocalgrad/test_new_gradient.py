"""A gradient beyond the published ones is built where it is named, and changes no default build."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest
import yaml

from builders.corpora.options import CorpusOptions
from builders.vocalgrad.planning.estimate import estimate, plan_without_audio
from builders.vocalgrad.planning.plan import chosen_categories
from builders.vocalgrad.rendering.rows import build
from otoscope.acoustics.design import PUBLISHED_CATEGORIES
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.registry import UnknownName
from tests.builders.tiny_corpus import built_from, contents, one_beep, planned, speak
from trainers.study_config import StudyConfig

BEEP_CATEGORIES = {
    "paper": ["volume", "voice_pitch", "background_noise", "voice_vibration"],
    "controlled": ["volume", "background_noise", "voice_vibration"],
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    root = tmp_path_factory.mktemp("corpus")
    return speak(root / "speech", n=1, duration_s=1.2), one_beep(root / "beeps")


@pytest.fixture(params=["paper", "controlled", "both"])
def toy(request):
    """A copy of volume with some of its profiles, named first in the table; its profiles."""
    published, volume = dict(GRADIENTS), GRADIENTS["volume"]
    names = ("paper", "controlled") if request.param == "both" else (request.param,)
    new = replace(volume, profiles={name: volume.profiles[name] for name in names})
    GRADIENTS.clear()
    GRADIENTS.update({"toy": new, **published})
    yield names
    GRADIENTS.clear()
    GRADIENTS.update(published)


def default_plan(corpus, profile):
    speech, beep = corpus
    return planned(speech, beeps=beep, categories=None, profile=profile).plan


@pytest.fixture(scope="module")
def before(corpus):
    """The default plans without a toy."""
    return {profile: default_plan(corpus, profile) for profile in BEEP_CATEGORIES}


@pytest.mark.parametrize("profile", sorted(BEEP_CATEGORIES))
def test_the_default_plan_is_the_published_one(corpus, before, toy, profile):
    plan, old = default_plan(corpus, profile), before[profile]
    assert plan.categories == PUBLISHED_CATEGORIES
    assert (plan.fingerprint, plan.outline) == (old.fingerprint, old.outline)
    assert plan.shards == old.shards
    assert estimate(plan) == estimate(old)
    beeps = [s.categories[0] for s in plan.shards if s.kind == "beep"]
    assert beeps == BEEP_CATEGORIES[profile]
    options = CorpusOptions("voices:2", splits="test")
    assert plan_without_audio(options, None, profile=profile, beeps=True).shards


def test_the_default_build_has_the_published_bytes(corpus, toy, tmp_path):
    speech, beep = corpus
    few = {"categories": PUBLISHED_CATEGORIES[:2], "beeps": beep}
    build(planned(speech, **few).plan, tmp_path / "new")
    saved = GRADIENTS.pop("toy")
    build(planned(speech, **few).plan, tmp_path / "old")
    GRADIENTS["toy"] = saved
    assert contents(tmp_path / "new") == contents(tmp_path / "old")


def test_it_is_built_where_it_is_named(corpus, toy, tmp_path):
    speech, beep = corpus
    for profile in toy:
        out = tmp_path / profile
        built_from(speech, out, categories=["toy", "echo"], beeps=beep, profile=profile)
        _, header, _ = (out / "README.md").read_text(encoding="utf-8").split("---\n", 2)
        configs = {config["config_name"] for config in yaml.safe_load(header)["configs"]}
        assert configs == {"all", "echo", "toy", "source", "beep"}
        (path,) = (out / "toy").glob("*.parquet")
        rows = pq.read_table(path, columns=["id", "prompt"]).to_pylist()
        assert {row["prompt"].split("\n")[0] for row in rows} == {
            "Does the toy increase or decrease over time?"
        }
        assert all(row["id"].startswith("test-toy-") for row in rows)


def test_a_profile_that_it_does_not_have_is_named(toy):
    for profile in {"paper", "controlled"} - set(toy):
        with pytest.raises(UnknownName, match=f"toy has no profile '{profile}'"):
            chosen_categories(["toy"], profile)


def test_a_study_takes_it_only_where_it_is_named(toy):
    about = {"dataset": "d", "model": "m", "out": "o"}
    assert StudyConfig(**about).categories == StudyConfig(**about).fine_tune
    assert StudyConfig(**about).categories == PUBLISHED_CATEGORIES
    assert StudyConfig(**about, categories=["toy"]).categories == ("toy",)
