"""Columns and cells of a row, as the interface of a perception dataset fixes them."""

import hashlib
import io
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile

from builders.vocalgrad.rendering.rows import COLUMNS as COLUMNS_OF_ROWS
from builders.vocalgrad.rendering.rows import features, rows
from otoscope.acoustics import codec
from otoscope.acoustics.design import CONDITIONS, Condition
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.rendering import render
from tests.builders.tiny_corpus import built_from, one_beep, planned, speak

COLUMNS = [
    *("id", "audio", "category", "attribute", "label", "prompt", "clip_id"),
    *("direction", "curve", "tier", "profile"),
    *("source_id", "speaker_id", "sentence_id", "transcript"),
    *("span_start_s", "span_end_s", "source_span_start_s", "source_span_end_s", "span_origin"),
    *("start_value", "end_value", "parameters", "noise_seed", "duration_s"),
    *("clipped_fraction", "no_effect", "generator_version", "row"),
]


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    return speak(tmp_path_factory.mktemp("speech"), n=2)


@pytest.fixture(scope="module")
def built(speech, tmp_path_factory):
    beeps = one_beep(tmp_path_factory.mktemp("beeps"))
    return built_from(speech, tmp_path_factory.mktemp("out") / "vocalgrad", beeps=beeps)


def table(built, config):
    paths = sorted((built.folder / config).glob("*.parquet"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def test_columns_in_order():
    columns = features(48_000)
    assert list(columns) == COLUMNS
    assert columns["label"].names == ["decrease", "increase"]
    assert columns["audio"].sampling_rate == 48_000
    kinds = {name: getattr(feature, "dtype", None) for name, feature in columns.items()}
    assert {n for n, k in kinds.items() if k == "float64"} == {
        "span_start_s", "span_end_s", "source_span_start_s", "source_span_end_s", "start_value",
        "end_value", "duration_s", "clipped_fraction",
    }  # fmt: skip
    assert (kinds["no_effect"], kinds["row"], kinds["label"]) == ("bool", "int64", "int64")
    assert kinds["noise_seed"] == "uint64"
    of_parameters = {name: each.dtype for name, each in columns["parameters"].feature.items()}
    assert of_parameters == {"parameter": "string", "start": "float64", "end": "float64"}


def test_every_file_has_these_columns(built):
    for path in built.files:
        assert pq.read_schema(built.folder / path).names == COLUMNS


@pytest.mark.parametrize(
    ("category", "words"),
    [("volume", "volume"), ("background_noise", "background noise"), ("echo", "echo")],
)
def test_the_question_byte_for_byte(category, words):
    for direction, label in (("up", 1), ("down", 0)):
        clip = SimpleNamespace(category=category, condition=Condition("low", "linear", direction))
        names = ("prompt", "label", "attribute")
        question = {name: COLUMNS_OF_ROWS[name].value(clip) for name in names}
        assert (
            question["prompt"].encode()
            == (
                f"Does the {words} increase or decrease over time?\n\n"
                'Answer with only one word: "increase" or "decrease".'
            ).encode()
        )
        assert (question["label"], question["attribute"]) == (label, words)


def test_ids_and_file_names(built):
    ids = []
    for config in ("volume", "background_noise", "source", "beep"):
        for row in table(built, config):
            ids.append(row["id"])
            name = hashlib.sha256(row["id"].encode()).hexdigest()[:16]
            assert row["audio"]["path"] == f"{name}.flac"
    first = table(built, "volume")[0]
    assert first["id"] == "test-volume-clip0__clip0__linear__low__up"
    assert first["clip_id"] == "clip0__clip0__linear__low__up"
    assert len(set(ids)) == len(ids) == 2 * 24 * 2 + 2 + 2 * 24


def test_labels_are_balanced_in_every_condition(built):
    for config, n_sources in (("volume", 2), ("background_noise", 2), ("beep", 1)):
        cells = {}
        for row in table(built, config):
            cell = cells.setdefault((row["category"], row["tier"], row["curve"]), [0, 0])
            cell[row["label"]] += 1
        n_categories = 2 if config == "beep" else 1
        assert len(cells) == 12 * n_categories
        assert set(map(tuple, cells.values())) == {(n_sources, n_sources)}


def test_labels_are_those_of_the_directions(built):
    for row in table(built, "volume"):
        rises = row["start_value"] < row["end_value"]
        assert rises == (row["direction"] == "up") == (row["label"] == 1)


def test_clips_are_what_render_gives(built, speech):
    by_path = {s.source.clip_id: s for s in built.plan.sources}
    for category in ("volume", "background_noise"):
        for row in table(built, category)[5::7]:
            surveyed = by_path[row["source_id"]]
            pcm, rate = soundfile.read(surveyed.source.path, dtype="int16")
            made = render(
                pcm, rate, surveyed.span, category=category, tier=row["tier"], curve=row["curve"],
                direction=row["direction"], clip_id=row["clip_id"],
            )  # fmt: skip
            wanted = np.clip(np.float64(made.samples) * 32768, -32768, 32767).astype(np.int16)
            found, found_rate = soundfile.read(io.BytesIO(row["audio"]["bytes"]), dtype="int16")
            assert found_rate == rate
            assert np.array_equal(found, wanted)
            assert (row["span_start_s"], row["span_end_s"]) == (
                made.span.start / rate, made.span.end / rate,
            )  # fmt: skip
            assert row["clipped_fraction"] == np.mean(np.abs(made.samples) > 1)


def test_rows_stand_in_the_order_of_the_published_manifest(built):
    for config in ("volume", "background_noise"):
        made = table(built, config)
        assert [row["row"] for row in made] == list(range(48))
        cells = [(row["tier"], row["curve"], row["direction"]) for row in made]
        assert cells == [tuple(cell) for cell in CONDITIONS] * 2
    assert [row["row"] for row in table(built, "source")] == [0, 1]


def test_train_and_validation_are_one_manifest(tmp_path):
    plan, _, _ = planned(
        speak(tmp_path, n=5), splits=("train", "validation"), categories=["volume"]
    )
    found = {"train": [], "validation": []}
    for shard in plan.shards:
        if shard.kind == "gradient":
            found[shard.split] += [row.cells["row"] for row in rows(plan, shard)]
    assert (len(found["train"]), len(found["validation"])) == (96, 24)
    assert sorted(found["train"] + found["validation"]) == list(range(120))


def test_sources_are_unchanged_and_have_no_label(built):
    for row, surveyed in zip(table(built, "source"), built.plan.sources, strict=True):
        pcm, _ = soundfile.read(surveyed.source.path, dtype="int16")
        found, _ = soundfile.read(io.BytesIO(row["audio"]["bytes"]), dtype="int16")
        assert np.array_equal(found, pcm)
        unset = ("label", "prompt", "attribute", "direction", "curve", "tier")
        assert [row[name] for name in unset] == [None] * 6
        assert row["category"] == "source"
        assert row["span_start_s"] == row["source_span_start_s"] == surveyed.span[0] / 16_000


@pytest.mark.parametrize("profile", ["paper", "controlled"])
def test_a_noise_seed_gives_the_noise_that_is_in_the_clip(tmp_path, profile):
    plan, _, _ = planned(speak(tmp_path, n=1), profile=profile)
    source = codec.to_float(codec.read(plan.sources[0].source.path).pcm)[0]
    for row in rows(plan, plan.shards[0]):
        cells, changed = row.cells, row.config == "background_noise"
        assert (cells["noise_seed"] is not None) == changed
        if changed and (cells["tier"], cells["curve"]) == ("high", "linear"):
            text = "42:" + cells["clip_id"].removesuffix(
                "" if profile == "paper" else "__" + cells["direction"]
            )
            digest = hashlib.sha256(text.encode()).digest()[:8]
            assert cells["noise_seed"] == int.from_bytes(digest, "big")
            # what is not the source is that generator's noise at a level that varies
            start, end = plan.sources[0].span
            made = codec.to_float(codec.read(cells["audio"]["bytes"]).pcm)[0][start:end]
            speech = source[start:end]
            added = made - speech * (made @ speech) / (speech @ speech)
            dtype = np.float64 if profile == "paper" else np.float32
            whole = source.size if profile == "paper" else end - start
            noise = np.random.default_rng(cells["noise_seed"]).standard_normal(whole, dtype=dtype)
            noise = noise[start:end] if profile == "paper" else noise
            assert np.corrcoef(added, noise)[0, 1] > 0.8


@pytest.mark.parametrize(
    ("category", "profile", "rate", "low_up"),
    [
        ("volume", "paper", 48_000, [("gain (dB)", -6, 6)]),
        ("speaking_speed", "paper", 16_000, [("rate (1 = unchanged)", 0.8, 1.2)]),
        ("background_noise", "paper", 16_000, [("noise RMS (share of speech RMS)", 0, 0.03)]),
        # spec of the published rules: holds of 1, then 2, then 3 samples, so 16 kHz and not 18
        (
            "audio_distortion", "paper", 48_000,
            [("effective sampling rate (Hz)", 48_000, 18_000), ("hold (samples)", 1, 3)],
        ),
        (
            "audio_distortion", "paper", 16_000,
            [("effective sampling rate (Hz)", 16_000, 16_000), ("hold (samples)", 1, 1)],
        ),
        ("audio_roughness", "paper", 16_000, [("bit depth", 16, 8)]),
        ("voice_clarity", "paper", 16_000, [("cutoff (Hz)", 5_000, 8_000)]),
        (
            "voice_vibration", "controlled", 16_000,
            [("modulation depth", 0, 0.6), ("modulation rate (Hz)", 0, 20)],
        ),
        ("echo", "paper", 16_000, [("wet share", 0, 0.28), ("room scale", 0.55, 0.55)]),
    ],
)  # fmt: skip
def test_parameters_as_they_are_applied(tmp_path, category, profile, rate, low_up):
    root = speak(tmp_path, n=1, sampling_rate=rate)
    plan, _, _ = planned(root, categories=[category], profile=profile)
    for row in (row.cells for row in rows(plan, plan.shards[0])):
        if row["tier"] == "low":
            found = [tuple(each.values()) for each in row["parameters"]]
            wanted = low_up if row["direction"] == "up" else [(n, b, a) for n, a, b in low_up]
            assert found == [(name, pytest.approx(a), pytest.approx(b)) for name, a, b in wanted]


def test_a_span_of_one_step_has_only_the_end_value():
    made = render(
        np.zeros(16_000) + 0.1, 16_000, (4_000, 4_640), category="volume", tier="low",
        curve="linear", direction="up", clip_id="a",
    )  # fmt: skip
    assert made.trajectory[:2] == (-6, 6)
    assert made.applied == (("gain (dB)", 6.0, 6.0),)


def test_the_duration_is_that_of_the_stored_audio(tmp_path):
    plan, _, _ = planned(speak(tmp_path, n=1), categories=["speaking_speed"])
    lengths = set()
    for shard in plan.shards:
        for row in (row.cells for row in rows(plan, shard)):
            info = soundfile.info(io.BytesIO(row["audio"]["bytes"]))
            assert row["duration_s"] == info.frames / info.samplerate
            lengths.add(row["duration_s"])
    assert len(lengths) > 5


def test_a_category_that_was_not_published_has_no_row_number(tmp_path, monkeypatch):
    monkeypatch.setitem(GRADIENTS, "loudness", GRADIENTS["volume"])
    plan, _, _ = planned(speak(tmp_path, n=1), categories=["volume", "loudness"])
    found = {}
    for row in rows(plan, plan.shards[0]):
        found.setdefault(row.config, set()).add(row.cells["row"])
    assert found == {"volume": set(range(24)), "loudness": {None}}


def test_conditions_that_do_nothing_are_marked_and_counted(speech, tmp_path):
    built = built_from(speech, tmp_path / "out", categories=["audio_distortion"])
    silent = [row["tier"] for row in table(built, "audio_distortion") if row["no_effect"]]
    assert set(silent) == {"low", "mid"}  # an 18 or 12 kHz hold on 16 kHz audio
    (record,) = (f for f in built.files.values() if f["config"] == "audio_distortion")
    assert record["no_effect"] == len(silent) == 2 * 16
    up, down = (
        next(
            r
            for r in table(built, "audio_distortion")
            if r["tier"] == "low" and r["direction"] == d
        )
        for d in ("up", "down")
    )
    assert up["audio"]["bytes"] == down["audio"]["bytes"]


def test_what_a_list_says_of_a_source_reaches_its_rows(tmp_path):
    root = speak(tmp_path / "speech", n=2)
    (root / "metadata.csv").write_text(
        "file_name,item_id,clip_id,speaker_id,sentence_id,text,split,onset_sec,offset_sec\n"
        'clip1.wav,a_01,a_7,anna,7,"Grüß  Gott.",test,0.3,1.1\n'
        "clip0.wav,b_01,b_3,bert,3,,train,,\n"
    )
    plan, _, _ = planned(root, splits=("test", "train"))
    by_split = {s.split: next(rows(plan, s)).cells for s in plan.shards if s.kind == "gradient"}
    test, train = by_split["test"], by_split["train"]
    assert test["id"] == "test-volume-a_01__a_7__linear__low__up"
    assert (test["source_id"], test["speaker_id"], test["sentence_id"]) == ("a_7", "anna", "7")
    assert (test["transcript"], test["span_origin"]) == ("Grüß Gott.", "given")
    assert (test["source_span_start_s"], test["source_span_end_s"]) == (0.3, 1.1)
    assert (train["transcript"], train["span_origin"]) == ("", "kept")
    assert train["id"].startswith("train-volume-b_01__b_3__")


@pytest.mark.parametrize(("subtype", "bits"), [("PCM_U8", 8), ("PCM_24", 16), ("ULAW", 16)])
def test_the_depth_of_the_source_reaches_the_gradient(tmp_path, subtype, bits):
    speech = speak(tmp_path / "speech", n=1)
    samples, rate = soundfile.read(speech / "clip0.wav")
    soundfile.write(speech / "clip0.wav", samples, rate, subtype=subtype)
    plan, _, _ = planned(speech, categories=["audio_roughness"])
    shard = plan.shards[0]
    starts = {
        row.cells["start_value"] for row in rows(plan, shard) if row.cells["direction"] == "up"
    }
    assert starts == {bits}
    assert codec.read(speech / "clip0.wav").subtype == plan.sources[0].subtype == subtype
