"""The command `trainers.extract`: hidden states for the questions of a run."""

import re

import numpy as np
import pytest
import tiny
import tiny_encoders
import typer
from outcomes import error_of, output_of
from tiny import torch
from typer.testing import CliRunner

from otoscope.audits.perception import run
from otoscope.audits.runs import load_run
from otoscope.cli.errors import program
from otoscope.models.opening import open_model
from otoscope.representations.features import Features, FeaturesError
from tests.audits.tiny_dataset import clip, full_row, row, write
from tests.builders.tiny_corpus import built_from, speak
from tests.representations.folder import files
from trainers.extract import confirm_size, extract

pytestmark = pytest.mark.filterwarnings(
    # peft asks transformers by an old name when it makes an adapter
    "ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"
)
APP = program(extract)
N = 6


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny.save(tiny.qwen2_audio(), tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture
def data(tmp_path):
    """Two splits of two categories; clips of other lengths, half a second and longer."""
    splits = {
        split: [
            full_row(first + i, c, tier=tier) | {"audio": clip(i, n_samples=4000 + 3000 * i)}
            for c in ("volume", "echo")
            for i in range(N)
        ]
        for split, first, tier in (("train", 0, "low"), ("test", 10, "mid"))
    }
    return write(tmp_path / "data", {"all": splits})


def called(data, checkpoint, out, *options, sites="pre_llm,text.*", model=None):
    """The output of a command that succeeded."""
    return output_of(command(data, checkpoint, out, *options, sites=sites, model=model))


def rejected(*given, **named):
    """The command's one-line error."""
    return error_of(command(*given, **named))


def command(data, checkpoint, out, *options, sites="pre_llm,text.*", model=None):
    named = ["--dataset", str(data), "--model", model or f"transformers:{checkpoint}"]
    named += ["--sites", sites, "--out", str(out), "--rows-per-block", "5", *options]
    return CliRunner().invoke(APP, named)


class TestFeatures:
    def test_rows_are_those_of_all_splits(self, data, checkpoint, tmp_path):
        out = tmp_path / "features"
        output = called(data, checkpoint, out, sites="mel,text.last,answer")
        assert "24 rows to extract" in output
        assert "24 of 24 rows extracted now" in output
        features = Features.open(out, prompt="main")
        assert features.sites == ["mel", "text.2", "answer"]
        rows = features.rows
        assert list(rows["split"]) == ["train"] * 12 + ["test"] * 12
        assert list(rows["tier"]) == ["low"] * 12 + ["mid"] * 12
        assert list(rows["label"][:4]) == [0, 1, 0, 1]
        assert list(rows["id"][:2]) == ["volume-0", "volume-1"]
        assert list(rows["source_id"][:6]) == ["s0", "s1", "s2", "s3", "s4", "s0"]
        assert set(rows["category"]) == {"volume", "echo"}
        assert set(rows["prompt_name"]) == {"main"}
        assert features.description["model"]["model_type"] == "qwen2_audio"

    @pytest.mark.parametrize("family", ["qwen2_audio", "audioflamingo3"])
    def test_states_are_of_the_very_question_that_a_run_asks(self, data, family, tmp_path):
        folder = tiny.save(getattr(tiny, family)(), tmp_path / family)
        model = open_model(f"transformers:{folder}", max_new_tokens=3)
        run(data, model, out=tmp_path / "run", split="test")
        texts = {row["id"]: row["text"] for row in load_run(tmp_path / "run")}
        called(data, folder, tmp_path / "features", "--split", "test", "--store-dtype", "float32")
        features = Features.open(tmp_path / "features")
        last = torch.from_numpy(features.matrix("text.2"))
        with torch.no_grad():
            tokens = model.loaded.model.lm_head(last).argmax(dim=1)
        output = [
            model.loaded.processor.tokenizer.decode(t, skip_special_tokens=True) for t in tokens
        ]
        stored = [texts[name] for name in features.rows["id"]]
        assert [text.startswith(begin) for text, begin in zip(stored, output, strict=True)] == [
            True
        ] * 12
        assert len(set(stored)) > 1, "the model must listen for this"

    def test_an_encoder_alone_has_layers_and_no_text(self, data, tmp_path):
        spec = f"encoder:wavlm-base-plus:{tiny_encoders.wavlm(tmp_path / 'wavlm')}"
        called(data, None, tmp_path / "f", sites="mel,audio.*", model=spec)
        features = Features.open(tmp_path / "f")
        assert features.sites == ["mel", "audio.0", "audio.1", "audio.2"]
        assert features.width("audio.2") == 16 * 16
        assert features.description["model"]["model_type"] == "wavlm"
        message = rejected(data, None, tmp_path / "g", sites="text.*", model=spec)
        assert "no site 'text.*'" in message

    def test_clips_longer_than_the_window_of_an_encoder_are_counted(self, data, tmp_path):
        spec = f"encoder:whisper:{tiny_encoders.whisper(tmp_path / 'whisper')}"
        message = rejected(data, None, tmp_path / "f", sites="audio.0", model=spec)
        assert "4 clips are longer than the model's input of 2 s" in message

    @pytest.mark.slow
    def test_of_a_built_vocalgrad(self, checkpoint, tmp_path):
        built_from(speak(tmp_path / "corpus", n=2), tmp_path / "vocalgrad")
        called(tmp_path / "vocalgrad", checkpoint, tmp_path / "f", sites="mel,pre_llm,text.*")
        rows = Features.open(tmp_path / "f").rows
        # 2 sources x 3 tiers x 4 curves x 2 directions in each of two categories; no unchanged clip
        assert np.unique(rows["category"], return_counts=True)[1].tolist() == [48, 48]
        design = {tuple(rows[n][i] for n in ("tier", "curve", "direction")) for i in range(96)}
        assert len(design) == 24
        assert len(set(rows["source_id"])) == 2

    def test_another_prompt_has_other_states(self, data, checkpoint, tmp_path):
        for prompt in ("main", "main_audio_first"):
            called(data, checkpoint, tmp_path / prompt, "--prompt", prompt, sites="text.2")
        first, other = (
            Features.open(tmp_path / prompt).matrix("text.2")
            for prompt in ("main", "main_audio_first")
        )
        assert (first != other).any(axis=1).all()

    def test_an_adapter_is_looked_through(self, data, checkpoint, tmp_path):
        lora = tiny.adapter(tmp_path / "lora")
        called(data, checkpoint, tmp_path / "base", sites="text.2")
        called(data, checkpoint, tmp_path / "tuned", "--adapter", lora, sites="text.2")
        base, tuned = (Features.open(tmp_path / name) for name in ("base", "tuned"))
        assert np.abs(base.matrix("text.2") - tuned.matrix("text.2")).max() > 1e-3
        assert tuned.description["model"]["adapter"]["name"] == "lora"
        output = rejected(data, checkpoint, tmp_path / "base", "--adapter", lora, sites="text.2")
        assert "adapter None, now {'" in output

    def test_again_and_with_another_layer(self, data, checkpoint, tmp_path):
        out = tmp_path / "features"
        called(data, checkpoint, out, sites="text.1")
        before = files(out)
        assert "0 of 24 rows extracted now" in called(data, checkpoint, out, sites="text.1")
        assert files(out) == before
        called(data, checkpoint, out, sites="text.*")
        assert files(out).items() > before.items()

    def test_two_processes_make_what_one_makes(self, data, checkpoint, tmp_path, monkeypatch):
        called(data, checkpoint, tmp_path / "one")
        monkeypatch.setenv("WORLD_SIZE", "2")
        for rank in "10":
            monkeypatch.setenv("RANK", rank)
            output = called(data, checkpoint, tmp_path / "two")
            assert f"by process {rank} of 2" in output
        assert files(tmp_path / "two") == files(tmp_path / "one")

    def test_a_model_of_ones_own_takes_part(self, data, tmp_path, monkeypatch):
        (tmp_path / "my_ear.py").write_text(
            "class Ear:\n"
            "    sites = {'ear': 1}\n"
            "    description = {'kind': 'ear'}\n"
            "    def answer(self, questions):\n"
            "        return []\n"
            "    def states(self, questions, sites):\n"
            "        return {'ear': [[q.audio_inputs[0].duration_s] for q in questions]}\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        called(data, None, tmp_path / "features", model="my_ear:Ear", sites="ear,mel")
        states = Features.open(tmp_path / "features").matrix("ear")
        np.testing.assert_allclose(states[:2, 0], [0.5, 0.875])  # 4,000, 7,000 samples at 8 kHz


class TestRejected:
    def test_more_than_allowed_is_rejected_with_the_size(self, data, checkpoint, tmp_path):
        output = rejected(
            data, checkpoint, tmp_path / "f", "--max-disk-gib", "0.000001", sites="text.*"
        )
        # 24 rows of 3 states of 32 numbers of 2 bytes
        assert (
            f"{24 * 3 * 32 * 2 / 2**30:.3g} GiB are to be written, more than --max-disk-gib 1e-06"
            in output
        )
        allowed = re.search(r"with --max-disk-gib (\S+)", output).group(1)
        called(data, checkpoint, tmp_path / "f", "--max-disk-gib", allowed, sites="text.*")

    def test_a_terminal_needs_confirmation(self, tmp_path, monkeypatch):
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        texts = []
        monkeypatch.setattr(typer, "confirm", lambda text: texts.append(text) or len(texts) == 1)
        confirm_size(0.5, 8, tmp_path, interactive=True)
        assert texts == []
        confirm_size(9e-9, 8e-9, tmp_path, interactive=True)
        assert texts == [f"Write 9e-09 GiB to {tmp_path}?"]
        for interactive in (True, False):  # the second answer is no; several processes do not ask
            with pytest.raises(FeaturesError, match="more than --max-disk-gib 8e-09"):
                confirm_size(9e-9, 8e-9, tmp_path, interactive=interactive)
        assert len(texts) == 2

    def test_a_full_disk_is_an_error(self, tmp_path):
        with pytest.raises(FeaturesError, match=r"more than the disk of .* has left"):
            confirm_size(1e9, 1e10, tmp_path, interactive=True)

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            (["--split", "dev"], "dev"),
            (["--prompt", "mian"], "did you mean 'main'?"),
            (["--config", "none"], "none"),
            (["--store-dtype", "int8"], "not 'int8'"),
            (["--prompt", "few_shot"], "few_shot takes its examples from"),
        ],
    )
    def test_options_that_fit_nothing(self, data, checkpoint, tmp_path, options, named):
        assert named in rejected(data, checkpoint, tmp_path / "f", *options)
        assert not (tmp_path / "f" / "features.json").exists()

    def test_a_site_that_is_not_there(self, data, checkpoint, tmp_path):
        output = rejected(data, checkpoint, tmp_path / "f", sites="text.3")
        assert "no site 'text.3'; there are mel, pre_llm, answer, audio.0 … audio.2" in output

    def test_a_place_that_the_prompt_has_not(self, data, checkpoint, tmp_path):
        output = rejected(data, checkpoint, tmp_path / "f", sites="text.1@q_l")
        assert "text before the clip" in output

    def test_a_dataset_that_is_not_there(self, checkpoint, tmp_path):
        assert "is no folder here" in rejected(tmp_path / "none", checkpoint, tmp_path / "f")

    def test_a_clip_that_is_no_audio_is_named_before_anything_is_looked_at(
        self, checkpoint, tmp_path
    ):
        bad = [row(0), row(1) | {"audio": b"no audio"}]
        data = write(tmp_path / "data", {"all": {"test": bad}})
        output = rejected(data, checkpoint, tmp_path / "f")
        assert "1 clips cannot be read, 'volume-1'" in output

    def test_a_clip_that_is_too_long(self, checkpoint, tmp_path):
        long = [row(0), row(1) | {"audio": clip(1, n_samples=5 * 8000)}]
        data = write(tmp_path / "data", {"all": {"test": long}})
        output = rejected(data, checkpoint, tmp_path / "f")
        assert "1 clips are longer than the model's input of 4 s, 'volume-1'" in output
        called(data, checkpoint, tmp_path / "f", "--on-long", "flag")

    def test_an_id_in_two_splits(self, checkpoint, tmp_path):
        data = write(tmp_path / "data", {"all": {"train": [row(0)], "test": [row(0)]}})
        output = rejected(data, checkpoint, tmp_path / "f")
        assert "row 'volume-0' is in the splits 'train' and 'test'" in output
