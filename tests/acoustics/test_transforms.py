"""Gradients as augmentation: seeded by item, wherever they run."""

import io
import pickle
import random
from collections import Counter

import datasets
import numpy as np
import pytest
import soundfile
from audiomentations import Compose, Gain
from synthetic_speech import speech_like, speech_pcm

from otoscope.acoustics import codec
from otoscope.acoustics.design import CONDITIONS, Condition
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.rendering import render
from otoscope.acoustics.spans import Policy, Problem, Span, decide
from otoscope.acoustics.transforms import GradientTransform

RATE = 16_000
FIRST_PROFILES = [(name, next(iter(gradient.profiles))) for name, gradient in GRADIENTS.items()]
TAKE_ALL = {Problem.NOTHING_FOUND: Policy.WHOLE_CLIP}


def row(number, **more):
    data = codec.encode_flac(speech_pcm(RATE, seed=number), RATE)
    return {"id": f"item-{number}", "audio": {"bytes": data, "path": None}, **more}


@pytest.fixture(scope="module")
def rows():
    return [row(number) for number in range(6)]


def samples_of(made):
    return {r["id"]: (r["audio"]["bytes"], r["label"], r["tier"], r["curve"]) for r in made}


@pytest.mark.parametrize(("category", "profile"), FIRST_PROFILES)
def test_a_row_has_the_audio_that_its_id_names(category, profile, rows):
    made = GradientTransform(category, seed=3, profile=profile).map_row(rows[0])
    samples = codec.to_float(codec.read(rows[0]["audio"]["bytes"]).pcm)
    span, origin, _ = decide(samples, RATE)
    condition = {name: made[name] for name in ("tier", "curve", "direction")}
    clip_id = f"item-0__3__{condition['curve']}__{condition['tier']}__{condition['direction']}"
    wanted = render(
        samples, RATE, span, category=category, **condition, clip_id=clip_id, profile=profile
    )
    assert (codec.read(made["audio"]["bytes"]).pcm == wanted.to_pcm().pcm).all()
    assert made["category"] == category
    assert made["label"] == {"up": "increase", "down": "decrease"}[condition["direction"]]
    assert made["no_effect"] == wanted.no_effect
    assert made["span_origin"] == origin
    assert [made["span_start_s"] * RATE, made["span_end_s"] * RATE] == list(wanted.span)


def test_a_row_keeps_its_other_columns_and_is_not_changed_itself():
    before = row(1, transcript="hello", speaker_id="p1")
    copy = dict(before)
    made = GradientTransform("volume").map_row(before)
    assert before == copy
    assert (made["transcript"], made["speaker_id"], made["id"]) == ("hello", "p1", "item-1")
    assert made["audio"]["path"].endswith(".flac")
    assert "item" not in made["audio"]["path"], "a file name must not give the answer away"


def test_neither_order_nor_workers_nor_streaming_matter(rows):
    transform = GradientTransform("background_noise")
    wanted = samples_of(map(transform.map_row, rows))
    assert samples_of(map(transform.map_row, rows[::-1])) == wanted
    data = datasets.Dataset.from_list(rows)
    for made in (
        data.map(transform.map_row),
        data.map(transform.map_row, num_proc=2),
        data.select([4, 0, 2, 1, 5, 3]).map(transform.map_row),
        data.to_iterable_dataset(num_shards=3).map(transform.map_row).shuffle(seed=1),
    ):
        assert samples_of(made) == wanted


def test_global_generators_play_no_part(rows, monkeypatch):
    transform = GradientTransform("background_noise", p=0.9, seed=0)
    unseeded = GradientTransform("volume")
    samples = speech_like(RATE)
    first = transform.map_row(rows[0]), transform(samples, RATE)

    def fail(*args):
        raise AssertionError("a global generator was used")

    for name in ("random", "uniform", "choice", "randint"):
        monkeypatch.setattr(random, name, fail)
        monkeypatch.setattr(np.random, name, fail)
    second = transform.map_row(rows[0]), transform(samples, RATE)
    unseeded(samples, RATE)
    assert first[0]["audio"] == second[0]["audio"]
    assert (first[1] == second[1]).all()


def test_map_row_leaves_the_transform_as_it_was(rows):
    # `datasets` keys its cache by the transform's pickle
    transform = GradientTransform("volume")
    before = pickle.dumps(transform)
    transform.map_row(rows[0])
    assert pickle.dumps(transform) == before


def test_conditions_are_spread_over_items_and_follow_the_seed():
    transform = GradientTransform("echo")
    conditions = [transform.condition_of(str(i)) for i in range(2_400)]
    counts = Counter(conditions)
    assert set(counts) == set(CONDITIONS)
    # 100 expected in each of 24; chi-square with 23 degrees of freedom exceeds 60 once in 30,000
    assert sum((n - 100) ** 2 / 100 for n in counts.values()) < 60
    assert conditions != [
        GradientTransform("echo", seed=1).condition_of(str(i)) for i in range(2_400)
    ]
    assert conditions != [GradientTransform("volume").condition_of(str(i)) for i in range(2_400)]


def test_fixing_one_name_leaves_the_others_as_drawn():
    free = GradientTransform("echo").condition_of("a")
    fixed = GradientTransform("echo", tier="high", direction="up").condition_of("a")
    assert (fixed.tier, fixed.curve, fixed.direction) == ("high", free.curve, "up")


def test_a_given_span_is_used_and_its_new_place_returned():
    made = GradientTransform("voice_pitch").map_row(row(0, span_start_s=0.5, span_end_s=1.0))
    assert made["span_origin"] == "given"
    assert made["span_start_s"] == 0.5
    assert made["span_end_s"] == pytest.approx(1.0 - 9 * 0.005)  # 10 segments, 9 joints
    null = GradientTransform("voice_pitch").map_row(row(0, span_start_s=None, span_end_s=None))
    assert null["span_origin"] != "given"


def test_a_file_may_be_given_by_its_path(tmp_path, rows):
    path = tmp_path / "a.flac"
    path.write_bytes(rows[0]["audio"]["bytes"])
    by_path = {"id": "item-0", "audio": {"bytes": None, "path": str(path)}}
    transform = GradientTransform("volume")
    assert transform.map_row(by_path)["audio"] == transform.map_row(rows[0])["audio"]


def test_8_bit_audio_is_crushed_from_8_bits(rows):
    data = codec.read(rows[0]["audio"]["bytes"]).pcm
    item = {"id": "a", "audio": {"bytes": wav_u8(data), "path": None}}
    assert GradientTransform("audio_roughness", tier="low").map_row(item)["no_effect"]


def wav_u8(pcm):
    buffer = io.BytesIO()
    soundfile.write(buffer, pcm.T, RATE, format="WAV", subtype="PCM_U8")
    return buffer.getvalue()


def test_a_clip_without_speech_is_rejected_by_name_unless_a_policy_says_otherwise():
    silent = codec.encode_flac(np.zeros((1, 9_000), np.int16), RATE)
    item = {"id": "quiet-one", "audio": {"bytes": silent, "path": None}}
    with pytest.raises(ValueError, match=r"quiet-one: no span of speech \(nothing_found\)"):
        GradientTransform("volume").map_row(item)
    made = GradientTransform("volume", policies=TAKE_ALL).map_row(item)
    assert made["span_origin"] == "whole_clip"


def test_unreadable_and_decoded_audio_are_rejected_by_name():
    transform = GradientTransform("volume")
    with pytest.raises(codec.AudioError, match="item-7"):
        transform.map_row({"id": "item-7", "audio": {"bytes": b"nothing", "path": None}})
    with pytest.raises(codec.AudioError, match=r"item-7.*decode=False"):
        transform.map_row({"id": "item-7", "audio": [0.1, 0.2]})


@pytest.mark.parametrize(
    "wrong",
    [
        {"tier": "medium"},
        {"curve": "jmp"},
        {"direction": "left"},
        {"profile": "plain"},
        {"on_no_speech": "skip"},
    ],
)
def test_unknown_names_are_rejected_when_made(wrong):
    with pytest.raises(LookupError, match=next(iter(wrong.values()))):
        GradientTransform("volume", **wrong)
    with pytest.raises(LookupError, match="did you mean 'volume'"):
        GradientTransform("volum")


@pytest.mark.parametrize(("category", "profile"), FIRST_PROFILES)
def test_it_composes(category, profile):
    samples = speech_like(RATE)
    before = samples.copy()
    transform = GradientTransform(category, direction="up", profile=profile, seed=0)
    augment = Compose([transform, Gain(0.0, 0.0, p=1.0)])
    made = augment(samples, RATE)
    assert made.dtype == np.float32
    assert (made == augment(samples, RATE)).all()
    assert (samples == before).all()
    assert category in repr(augment)
    stereo = augment(np.stack([samples, samples]), RATE)
    assert stereo.shape[0] == 2


def test_composed_waveforms_differ_by_their_samples():
    transform = GradientTransform("volume", seed=0)
    conditions = set()
    for seed in range(12):
        transform(speech_like(RATE, seed=seed), RATE)
        conditions.add(transform.condition_of(transform.parameters["item_id"]))
    assert len(conditions) > 6


def test_without_a_seed_each_call_is_another_draw_and_parameters_say_which():
    transform = GradientTransform("volume")
    samples, drawn = speech_like(RATE), set()
    for _ in range(12):  # 3 of 24 conditions or fewer in 12 draws: less than once in a million
        made = transform(samples, RATE)
        said = transform.parameters
        condition = Condition(said["tier"], said["curve"], said["direction"])
        drawn.add(condition)
        span, _, _ = decide(samples[None], RATE)
        wanted = render(
            samples, RATE, span, category="volume", **condition._asdict(), clip_id="any"
        )
        assert (made == wanted.samples.astype(np.float32)).all()
        assert said["label"] == {"up": "increase", "down": "decrease"}[condition.direction]
        ends = wanted.trajectory.start, wanted.trajectory.end
        assert (said["start_value"], said["end_value"]) == ends
        assert (said["span_start_s"], said["span_end_s"]) == (span.start / RATE, span.end / RATE)
    assert len(drawn) > 3


@pytest.mark.parametrize("samples", [np.zeros(9_000, np.float32), np.zeros((2, 900), np.float32)])
def test_silence_passes_unchanged_or_is_rejected_by_choice(samples):
    transform = GradientTransform("volume")
    assert (Compose([transform])(samples, RATE) == samples).all()
    assert transform.parameters["should_apply"] is False
    with pytest.raises(codec.AudioError, match='on_no_speech="unchanged"'):
        GradientTransform("volume", on_no_speech="reject")(samples, RATE)


def test_a_silent_row_passes_with_a_null_label_by_choice():
    silent = codec.encode_flac(np.zeros((1, 9_000), np.int16), RATE)
    item = {"id": "quiet", "audio": {"bytes": silent, "path": None}, "speaker_id": "a"}
    made = GradientTransform("volume", on_no_speech="unchanged").map_row(item)
    assert made["audio"] == item["audio"]
    assert (made["label"], made["category"], made["speaker_id"]) == (None, None, "a")


def test_labels_are_the_same_in_map_and_while_streaming():
    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            "audio": {"bytes": datasets.Value("binary"), "path": datasets.Value("string")},
            "direction": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["decrease", "increase"]),
        }
    )
    wholes = [row(number, direction=None, label=None) for number in range(6)]
    data = datasets.Dataset.from_list(wholes, features=features)
    transform = GradientTransform("volume")
    mapped = [(r["direction"], r["label"]) for r in data.map(transform.map_row)]
    streamed = data.to_iterable_dataset().map(transform.map_row)
    assert mapped == [(r["direction"], r["label"]) for r in streamed]
    assert set(mapped) == {("up", 1), ("down", 0)}


def test_frozen_parameters_keep_the_condition_and_the_noise():
    transform = GradientTransform("background_noise")
    first, second = speech_like(RATE, seed=1), speech_like(RATE, seed=2)
    transform(first, RATE)
    cell_id = transform.parameters["item_id"]
    transform.freeze_parameters()
    made = transform(second, RATE)
    _, wanted, _ = transform.render(second, RATE, item_id=cell_id)
    assert (made == wanted.samples).all()


def test_p_is_the_share_of_items_changed_and_follows_the_item():
    transform = GradientTransform("volume", p=0.5, policies=TAKE_ALL, seed=0)
    clips = [np.full(2_000, 0.1 + i / 1_000, np.float32) for i in range(200)]
    changed = [not np.array_equal(transform(c, RATE), c) for c in clips]
    assert 70 < sum(changed) < 130  # 100 ± 4 standard deviations
    assert changed == [not np.array_equal(transform(c, RATE), c) for c in clips]


def test_a_waveform_with_a_given_span():
    _, made, origin = GradientTransform("volume").render(
        speech_like(RATE), RATE, item_id="a", span=Span(100, 9_000)
    )
    assert made.span == Span(100, 9_000)
    assert origin == "given"
