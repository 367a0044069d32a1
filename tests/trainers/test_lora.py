"""The command `trainers.lora`: what it lists, writes and rejects."""

import json
import re
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
import tiny
from outcomes import error_of, output_of
from safetensors.torch import load_file, save_file
from tiny import torch
from typer.testing import CliRunner

from otoscope.audits.perception import run
from otoscope.audits.runs import load_run
from otoscope.audits.splits import open_splits
from otoscope.cli.errors import program
from otoscope.models.checkpoints import folder_hash
from otoscope.models.encoding import RequestEncoder
from otoscope.models.opening import open_model
from otoscope.representations.extraction import plan_extraction
from otoscope.representations.hidden_states import extractor_for
from otoscope.tuning.scopes import SCOPES
from tests.audits.tiny_dataset import clip, full_row, write
from tests.representations.folder import files
from trainers.lora import lora

pytestmark = pytest.mark.filterwarnings(
    # peft asks transformers by an old name when it reads an adapter
    "ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"
)
APP = program(lora)
N = 16


def rows(first, n=N, categories=("volume", "echo")):
    """Clips of other lengths, four of each source."""
    return [
        full_row(first + i, c)
        | {"audio": clip(first + i, n_samples=3000 + 500 * (i % 3)),
           "source_id": f"s{(first + i) // 4}", "clip_id": f"c{first + i:03d}"}
        for c in categories
        for i in range(n)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny.save(tiny.qwen2_audio(), tmp_path_factory.mktemp("checkpoint") / "tiny", scale=1.0)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "vocalgrad"
    return write(folder, {"all": {"train": rows(0), "test": rows(400, 8)}})


@pytest.fixture(scope="module")
def states(data, checkpoint, tmp_path_factory):
    """Features of both splits, as `trainers.extract` makes them."""
    return extracted(data, checkpoint, tmp_path_factory.mktemp("states") / "features")


def extracted(data, checkpoint, out, prompt="main"):
    splits = open_splits(data, prompt=prompt)
    seen = extractor_for(open_model(f"transformers:{checkpoint}"))
    plan = plan_extraction(seen, splits.rows, splits.fill, ["answer"], out, prompt=prompt,
                           dataset=str(data))  # fmt: skip
    plan.run(lambda n: None)
    return out


def command(out, checkpoint, *options, data=None, states=None, category="volume"):
    given = ["--model", f"transformers:{checkpoint}", "--category", category, "--out", str(out)]
    given += ["--dataset", str(data)] if data else []
    given += ["--features", str(states)] if states else []
    return CliRunner().invoke(APP, [*given, *options])


def called(*given, **named):
    """The output of a command that succeeded."""
    return output_of(command(*given, **named))


def rejected(*given, **named):
    """The command's one-line error."""
    return error_of(command(*given, **named))


class TestListing:
    def test_a_dry_run_lists_layers_clips_and_tokens_and_leaves_nothing(
        self, data, checkpoint, tmp_path
    ):
        output = called(tmp_path / "a", checkpoint, "--scope", "all_linear", "--dry-run", data=data)
        assert "tower        2 x model.audio_tower.layers.*.self_attn.q_proj\n" in output
        assert "projector    1 x model.multi_modal_projector.linear\n" in output
        assert "decoder      2 x model.language_model.layers.*.mlp.down_proj\n" in output
        assert "head         1 x lm_head\n28 layers, 18,224 trainable parameters\n" in output
        assert "answer    decrease  'd' 'e' 'c' 'r' 'e' 'a' 's' 'e' '<|im_end|>' '\\n'\n" in output
        # a tenth of 4 sources is none, but one validates
        assert "12 clips for training, 4 for validation" in output
        assert "16 clips a step, 16 by each of 1 process(es)" in output
        assert not (tmp_path / "a").exists()

    @pytest.mark.parametrize(
        ("end", "stops", "named"),
        [("<|im_end|>", None, ["writes no end token behind an answer; '<|im_end|>' is added\n"]),
         (None, None, ["neither the chat template nor the tokenizer has an end token"]),
         ("<|im_end|>", 3, ["'<|im_end|>' is added\n", "note      generation stops at"])],
    )  # fmt: skip
    def test_a_template_without_an_end_is_told(self, data, tmp_path, end, stops, named):
        made, processor = tiny.audioflamingo3()
        processor.chat_template = tiny.CHAT.replace("PLACEHOLDER", "<sound>").replace(tiny.END, "")
        processor.tokenizer.eos_token = end
        made.generation_config.eos_token_id = stops
        folder = tiny.save((made, processor), tmp_path / "tiny")
        output = called(tmp_path / "a", folder, "--dry-run", data=data)
        for part in named:
            assert part in output
        assert output.count("note      ") == len(named)
        assert "'N' 'o' 'n' 'e'" not in output

    def test_what_the_template_puts_before_an_answer_is_trained_too(self, data, tmp_path):
        made, processor = tiny.audioflamingo3()
        turn = "{{ message['role'] }}\n"
        processor.chat_template = tiny.CHAT.replace("PLACEHOLDER", "<sound>").replace(
            turn,
            turn + "{% if message['role'] == 'assistant' %}{{ '<think></think> ' }}{% endif %}",
        )
        folder = tiny.save((made, processor), tmp_path / "tiny")
        output = called(tmp_path / "a", folder, data=data)
        assert "increase  '<' 't' 'h' 'i' 'n' 'k' '>' '<' '/' 't'" in output
        assert "'>' ' ' 'i' 'n' 'c' 'r' 'e' 'a' 's' 'e' '<|im_end|>' '\\n'\n" in output
        assert "note      " not in output

    def test_the_published_split(self, data, checkpoint, tmp_path):
        output = called(tmp_path / "a", checkpoint, "--validation", "paper", "--dry-run", data=data)
        # a tenth of 8 clips of each label is, rounded, one
        assert "14 clips for training, 2 for validation" in output

    def test_features_without_row_numbers_say_how_to_get_them(self, checkpoint, tmp_path):
        """They give the published split when the same extraction is run once more."""
        numbered = {
            split: [row | {"row": 2 * i + at} for i, row in enumerate(rows(8 * at, 8, ("volume",)))]
            for at, split in enumerate(("train", "validation"))
        }
        data = write(tmp_path / "data", {"all": numbered})
        old = extracted(data, checkpoint, tmp_path / "features")
        table = pq.read_table(old / "rows.parquet")
        assert sorted(table["row"].to_pylist()) == list(range(16))
        pq.write_table(table.drop_columns("row"), old / "rows.parquet")
        options = ("--validation", "paper", "--dry-run")
        error = rejected(tmp_path / "a", checkpoint, *options, states=old)
        assert error.endswith("run the same trainers.extract once more, which adds it\n")
        extracted(data, checkpoint, old)
        for source in ({"states": old}, {"data": data}):
            output = called(tmp_path / "a", checkpoint, *options, **source)
            assert "14 clips for training, 2 for validation" in output

    def test_clips_without_effect_are_counted(self, checkpoint, tmp_path):
        some = [row | {"no_effect": i < 3} for i, row in enumerate(rows(0, 16, ("volume",)))]
        data = write(tmp_path / "data", {"all": {"train": some}})
        output = called(tmp_path / "a", checkpoint, "--dry-run", data=data)
        assert "3 clips are left out: their transform has no effect" in output


class TestAdapter:
    def test_it_is_what_a_run_takes_and_changes_answers(self, data, checkpoint, tmp_path):
        out = tmp_path / "adapters" / "volume"
        output = called(
            out, checkpoint, "--scope", "all_linear", "--learning-rate", "0.01", "--epochs", "3",
            data=data,
        )  # fmt: skip
        assert f"{out}: 3 steps; the right answer is the most likely one for" in output
        assert sorted(path.name for path in out.iterdir()) == [
            "README.md", "adapter_config.json", "adapter_model.safetensors", "training.json",
        ]  # fmt: skip
        texts = []
        for adapter in (None, str(out)):
            model = open_model(f"transformers:{checkpoint}", adapter=adapter, max_new_tokens=3)
            folder = tmp_path / f"run-{adapter is None}"
            run(data, model, out=folder, limit_sources=1)
            texts.append([row["text"] for row in load_run(folder)])
        assert texts[0] != texts[1]
        history = json.loads((out / "training.json").read_text())["history"]
        assert len(history["losses"]) == len(history["norms"]) == 3
        assert history["losses"][-1] < 0.98 * history["losses"][0]

    def test_its_card_says_what_was_done(self, data, checkpoint, tmp_path):
        called(tmp_path / "a", checkpoint, "--validation", "paper", "--seed", "7", data=data)
        card = (tmp_path / "a" / "README.md").read_text()
        record = json.loads((tmp_path / "a" / "training.json").read_text())
        assert "# volume: LoRA on the lm_head of tiny\n" in card
        assert f"SHA-256 {record['begun']['data_sha256']}" in card
        assert f"content {record['begun']['model']['content'][:16]} (qwen2_audio, float32)" in card
        assert "14 clips for training, 2 for validation" in card
        assert "| rank, alpha, dropout, bias | 8, 16, 0.05, none |" in card
        assert "| seed | 7 |" in card
        assert "their sources are in training too" in card
        assert "otoscope had never run qwen2_audio with published weights" in card
        assert re.search(r"\| 1 \| \d\.\d{4} \| \d+\.\d % \[\d+\.\d, \d+\.\d\] \|", card)
        assert str(tmp_path) not in card

    def test_a_second_time_it_is_there(self, data, checkpoint, tmp_path):
        called(tmp_path / "a", checkpoint, data=data)
        before = files(tmp_path / "a")
        assert "is finished: the right answer" in called(tmp_path / "a", checkpoint, data=data)
        assert files(tmp_path / "a") == before
        output = rejected(tmp_path / "a", checkpoint, "--lora-rank", "4", data=data)
        assert "holds another adapter: settings.rank 8, now 4" in output

    @pytest.mark.parametrize(
        ("change", "named"),
        [(lambda path: path.unlink(), "adapter_model.safetensors is missing, though training.json"),
         (lambda path: path.write_bytes(path.read_bytes()[:-9]), "safetensors is damaged or cut")],
    )  # fmt: skip
    def test_a_finished_one_whose_weights_are_gone(self, data, checkpoint, tmp_path, change, named):
        called(tmp_path / "a", checkpoint, data=data)
        change(tmp_path / "a" / "adapter_model.safetensors")
        assert named in rejected(tmp_path / "a", checkpoint, data=data)

    def test_its_own_configs_are_read_where_there_are_such(self, checkpoint, tmp_path):
        tables = {"all": {"test": rows(400, 4)}, "volume": {"train": rows(0, 8, ("volume",))}}
        data = write(tmp_path / "data", tables)
        output = called(tmp_path / "a", checkpoint, "--dry-run", data=data)
        assert "4 clips for training, 4 for validation" in output

    def test_of_two_categories(self, data, checkpoint, tmp_path):
        out = tmp_path / "a"
        called(out, checkpoint, "--category", "echo", data=data)
        record = json.loads((out / "training.json").read_text())
        assert record["begun"]["categories"] == ["echo", "volume"]
        assert record["begun"]["n_train"] == 24


class TestBatches:
    def test_the_mode_is_recorded_and_kept_by_the_next_call(self, data, checkpoint, tmp_path):
        out = tmp_path / "a"
        called(out, checkpoint, "--no-reproducible", "--clips-per-pass", "4", data=data)
        record = json.loads((out / "training.json").read_text())
        assert record["begun"]["settings"]["reproducible"] is False
        assert "clips in batches" in (out / "README.md").read_text()
        assert "is finished" in called(out, checkpoint, data=data)
        output = rejected(out, checkpoint, "--reproducible", data=data)
        assert "holds another adapter: settings.reproducible False, now None" in output

    def test_an_unfinished_training_keeps_its_mode(self, data, checkpoint, tmp_path, monkeypatch):
        out = tmp_path / "a"
        monkeypatch.setattr("trainers.lora.write", lambda *_: 1 / 0)
        command(out, checkpoint, "--no-reproducible", data=data)
        monkeypatch.undo()
        called(out, checkpoint, data=data)
        record = json.loads((out / "training.json").read_text())
        assert record["begun"]["settings"]["reproducible"] is False

    def test_reproducible_is_the_default_and_recorded_as_in_version_0_1(
        self, data, checkpoint, tmp_path
    ):
        called(tmp_path / "a", checkpoint, data=data)
        record = json.loads((tmp_path / "a" / "training.json").read_text())
        assert sorted(record["begun"]["settings"]) == [
            "alpha", "batch_size", "dropout", "epochs", "learning_rate", "max_norm", "rank",
            "scope", "seed", "weight_decay",
        ]  # fmt: skip
        assert "one clip in a forward pass" in (tmp_path / "a" / "README.md").read_text()


class TestOnHiddenStates:
    def test_the_weights_are_those_of_the_whole_model(self, data, checkpoint, states, tmp_path):
        options = ("--epochs", "3", "--learning-rate", "0.01")
        called(tmp_path / "model", checkpoint, *options, data=data)
        called(tmp_path / "states", checkpoint, *options, states=states)
        made = [load_file(tmp_path / n / "adapter_model.safetensors") for n in ("model", "states")]
        assert made[0].keys() == made[1].keys()
        for name, weight in made[0].items():
            assert (weight - made[1][name]).norm() <= 1e-5 * weight.norm()
        configs = [
            json.loads((tmp_path / n / "adapter_config.json").read_text())
            for n in ("model", "states")
        ]
        assert configs[0] == configs[1]
        begun = [
            json.loads((tmp_path / n / "training.json").read_text())["begun"]
            for n in ("model", "states")
        ]
        assert begun[0]["data_sha256"] == begun[1]["data_sha256"]
        assert begun[0]["model"] == begun[1]["model"]
        assert "from cached hidden states of the base model" in (
            tmp_path / "states" / "README.md"
        ).read_text()  # fmt: skip

    def test_the_model_is_not_loaded(self, checkpoint, states, tmp_path, monkeypatch):
        monkeypatch.setattr(tiny.transformers.Qwen2AudioForConditionalGeneration, "__init__", None)
        called(tmp_path / "a", checkpoint, states=states)

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            (
                ("--scope", "decoder"),
                "cached hidden states train the output layer only, not 'decoder'",
            ),
            (("--dtype", "bfloat16"), "--dtype was decided when features were extracted"),
            (("--prompt", "main_audio_first"), "prompt 'main', now 'main_audio_first'"),
            (("--category", "pitch"), "no clips of category 'pitch', only of echo, volume"),
        ],
    )
    def test_what_does_not_fit_is_rejected(self, checkpoint, states, tmp_path, options, named):
        assert named in rejected(tmp_path / "a", checkpoint, *options, states=states)

    def test_states_of_another_model_are_rejected(self, states, tmp_path):
        other = tiny.save(tiny.qwen2_audio(seed=1), tmp_path / "other")
        output = rejected(tmp_path / "a", other, states=states)
        assert "states of another model: content" in output

    def test_states_of_another_version_are_rejected(self, checkpoint, states, tmp_path):
        old = shutil.copytree(states, tmp_path / "old")
        path = old / "features.json"
        path.write_text(path.read_text().replace('"version": 1', '"version": 0'))
        output = rejected(tmp_path / "a", checkpoint, states=old)
        assert "holds another feature set: version 0, now 1" in output

    def test_a_head_that_is_quantised_is_rejected(self, checkpoint, states, tmp_path):
        folder = tmp_path / "rounded"
        shutil.copytree(checkpoint, folder)
        features = shutil.copytree(states, tmp_path / "f")
        weights = load_file(folder / "model.safetensors")
        name = "language_model.lm_head.weight"
        weights[name] = weights[name].to(torch.int8)
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        path = features / "features.json"
        about = json.loads(path.read_text())
        about["model"]["content"] = folder_hash(folder)
        path.write_text(json.dumps(about))
        assert "is quantised (int8)" in rejected(tmp_path / "a", folder, states=features)


class TestRejected:
    def test_neither_or_both_of_dataset_and_states(self, data, checkpoint, tmp_path):
        for given in ({}, {"data": data, "states": tmp_path}):
            assert "give either --dataset, or" in rejected(tmp_path / "a", checkpoint, **given)

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            (("--scope", "head"), f"no scope named 'head'; there are {', '.join(SCOPES)}"),
            (("--validation", "clip"), "no validation split named 'clip'"),
            (("--lora-dropout", "1"), "dropout is a share below 1, not 1.0"),
            (("--category", "pitch"), "no clips of category 'pitch', only of echo, volume"),
            (("--prompt", "mian"), "did you mean 'main'?"),
            (("--config", "none"), "none"),
        ],
    )
    def test_options_that_fit_nothing(self, data, checkpoint, tmp_path, options, named):
        assert named in rejected(tmp_path / "a", checkpoint, *options, data=data)
        assert not (tmp_path / "a").exists()

    @pytest.mark.parametrize(
        ("splits", "named"),
        [
            ({"test": rows(0, 8)}, "has no split train, only test, and what a model is tested"),
            (
                {"train": [r for r in rows(0, 8) if r["label"] == "increase"]},
                "has only clips labelled 'increase' for training",
            ),
            (
                {"train": rows(0, 8), "test": rows(4, 8)},
                "test shares 1 source(s) ('s1') with the training data",
            ),
            (
                {"train": rows(0, 4)},
                "all clips are of one source, 's0': none is left for validation",
            ),
        ],
    )
    def test_data_that_cannot_be_trained_on(self, checkpoint, tmp_path, splits, named):
        distinct = {
            split: [row | {"id": f"{split}-{row['id']}"} for row in some]
            for split, some in splits.items()
        }
        data = write(tmp_path / "data", {"all": distinct})
        assert named in rejected(tmp_path / "a", checkpoint, data=data)

    def test_a_model_that_is_not_of_transformers(self, data, tmp_path):
        result = CliRunner().invoke(
            APP,
            ["--model", "constant:increase", "--category", "volume", "--out", str(tmp_path / "a"),
             "--dataset", str(data)],
        )  # fmt: skip
        assert "takes no option" in result.output or "only models of transformers" in result.output

    def test_a_folder_with_something_else(self, data, checkpoint, tmp_path):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "notes.txt").touch()
        output = rejected(tmp_path / "a", checkpoint, data=data)
        assert "holds something that is no adapter" in output

    @pytest.mark.parametrize(
        "content",
        ["{}", "[]", "null", "5", '{"begun": null}', '{"begun": {"settings": null}, "history": 5}',
         '{"begun": {"settings": {}}, "history": null}', '{"begun": 5, "history": {}}',
         '{"begun": {"settings": {}}, "history": {"losses": [], "norms": [], "validations": []}}'],
    )  # fmt: skip
    def test_a_record_with_other_content(self, data, checkpoint, tmp_path, content):
        (tmp_path / "training.json").write_text(content)
        assert "training.json is no" in rejected(tmp_path, checkpoint, data=data)

    def test_a_number_of_processes_that_does_not_divide_a_step(
        self, data, checkpoint, tmp_path, monkeypatch
    ):
        group = type("Group", (), {"num_processes": 3, "process_index": 0})
        monkeypatch.setattr("trainers.lora.start_processes", group)
        output = rejected(tmp_path / "a", checkpoint, data=data)
        assert "16 clips a step cannot be shared out to 3 processes" in output

    def test_a_precision_given_to_accelerate(self, data, checkpoint, tmp_path, monkeypatch):
        monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
        output = rejected(tmp_path / "a", checkpoint, data=data)
        assert "accelerate has --mixed_precision bf16; give `no`" in output

    @pytest.mark.parametrize(
        ("environment", "named"),
        [
            ({"WORLD_SIZE": "x"}, "WORLD_SIZE is 'x'"),
            ({"RANK": "abc"}, "RANK is 'abc'"),
            ({"LOCAL_RANK": "x"}, "LOCAL_RANK is 'x'"),
            ({"RANK": "5", "WORLD_SIZE": "2"}, "rank 5 is not below a world size of 2"),
        ],
    )
    def test_an_environment_that_makes_no_sense(
        self, data, checkpoint, tmp_path, monkeypatch, environment, named
    ):
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        assert named in rejected(tmp_path / "a", checkpoint, data=data)

    def test_answers_that_the_tokenizer_does_not_know(
        self, data, checkpoint, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(RequestEncoder, "answer_tokens", lambda self, request, word: [5, 6])
        output = rejected(tmp_path / "a", checkpoint, data=data)
        assert "becomes the tokens [5, 6], which spell" in output

    def test_a_loss_that_is_not_finite(self, data, tmp_path):
        made = tiny.qwen2_audio()
        with torch.no_grad():
            made[0].model.language_model.norm.weight.fill_(np.nan)
        folder = tiny.save(made, tmp_path / "nan")
        output = rejected(tmp_path / "a", folder, data=data)
        assert "the loss of 12 clip(s) is not finite in step 1" in output
        assert "the last checkpoint is kept" in output
        assert list((tmp_path / "a" / ".training").glob("step-00000000-*.pt"))
        assert not (tmp_path / "a" / "adapter_config.json").exists()


def test_help_names_the_commands():
    output = CliRunner().invoke(APP, ["--help"]).output
    for line in ("python -m trainers.lora --dataset ./vocalgrad",
                 "--multi_gpu --num_processes 2", "Try --dry-run first"):  # fmt: skip
        assert line in output
