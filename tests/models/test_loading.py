"""From a name to weights: which ones exactly, with what on top, and what is refused."""

import json
import shutil
import sys
import warnings

import huggingface_hub
import pytest
import tiny
from asking import ask, clip
from tiny import adapter, transformers

from otoscope.models.base import ModelError
from otoscope.models.opening import open_model
from otoscope.models.transformers_models import open_transformers

pytestmark = pytest.mark.filterwarnings(
    # peft asks transformers by an old name when it makes an adapter
    "ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"
)
COMMIT = "0a1b2c3d" * 5
REQUESTS = [ask("Louder?", clip())]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny.save(tiny.qwen2_audio(), tmp_path_factory.mktemp("checkpoint") / "tiny")


def cached(monkeypatch, cache, repository, folder, commit=COMMIT, branch="main"):
    """A repository as the Hub's cache keeps it after a download."""
    place = cache / f"models--{repository.replace('/', '--')}"
    shutil.copytree(folder, place / "snapshots" / commit)
    (place / "refs").mkdir(parents=True)
    (place / "refs" / branch).write_text(commit)
    for module in (huggingface_hub.constants, transformers.utils.hub.constants):
        monkeypatch.setattr(module, "HF_HUB_CACHE", str(cache))
        monkeypatch.setattr(module, "HF_HUB_OFFLINE", True)


class TestAdapter:
    def test_it_changes_the_answer_and_the_description(self, checkpoint, tmp_path):
        bare = open_transformers(checkpoint, label_scores=True, max_new_tokens=3)
        with_it = open_transformers(
            checkpoint, adapter=adapter(tmp_path / "lora"), label_scores=True, max_new_tokens=3
        )
        assert with_it.answer(REQUESTS)[0].logprobs != bare.answer(REQUESTS)[0].logprobs
        assert bare.description()["adapter"] is None
        described = with_it.description()
        assert described["adapter"]["name"] == "lora"
        assert {**described, "adapter": None} == bare.description()

    def test_another_adapter_of_the_same_shape_is_another_model(self, checkpoint, tmp_path):
        first, second = (
            open_transformers(checkpoint, adapter=adapter(tmp_path / "lora", seed)).description()
            for seed in (0, 1)
        )
        assert first["adapter"]["content"] != second["adapter"]["content"]

    def test_its_revision_is_recorded(self, checkpoint, tmp_path, monkeypatch):
        cached(monkeypatch, tmp_path / "hub", "me/lora", adapter(tmp_path / "lora"), branch="v2")
        model = open_transformers(checkpoint, adapter="me/lora@v2", max_new_tokens=2)
        assert model.description()["adapter"] == {
            "name": "me/lora",
            "revision": "v2",
            "commit": COMMIT,
        }

    def test_answers_in_batches_are_the_same_with_it(self, checkpoint, tmp_path):
        model = open_transformers(checkpoint, adapter=adapter(tmp_path), max_new_tokens=4)
        questions = [ask("Louder?", clip(1)), ask("Is it louder now?", clip(2, 0.6))]
        alone = [model.answer([request])[0].text for request in questions]
        assert [answer.text for answer in model.answer(questions)] == alone

    def test_one_for_a_causal_model_generates_too(self, checkpoint, tmp_path):
        lora = adapter(tmp_path, task_type="CAUSAL_LM")
        model = open_transformers(checkpoint, adapter=lora, label_scores=True, max_new_tokens=2)
        assert model.answer(REQUESTS)[0].logprobs

    def test_one_that_fits_nowhere_is_rejected(self, checkpoint, tmp_path):
        lora = adapter(tmp_path, target_modules=r".*language_model.*up_proj")
        settings = json.loads((tmp_path / "adapter_config.json").read_text())
        settings["target_modules"] = ["wrong_proj"]
        (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
        with pytest.raises(ModelError, match="does not fit this model"):
            open_transformers(checkpoint, adapter=lora)

    def test_one_that_fits_in_part_is_rejected(self, checkpoint, tmp_path):
        """peft only warns of it, and the answers would be those of some other model."""
        lora = adapter(tmp_path, target_modules=["up_proj"])
        settings = json.loads((tmp_path / "adapter_config.json").read_text())
        settings["target_modules"] = ["up_proj", "down_proj"]
        (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as a user may have it
            with pytest.raises(ModelError, match="missing adapter keys"):
                open_transformers(checkpoint, adapter=lora)

    def test_one_that_is_not_there_is_named(self, checkpoint):
        with pytest.raises(ModelError, match="no adapter 'me/none'"):
            open_transformers(checkpoint, adapter="me/none")

    @pytest.mark.parametrize("name", ["adapters/study/volume", "/no/such/folder"])
    def test_a_mistyped_folder(self, checkpoint, name):
        with pytest.raises(ModelError, match=f"no adapter '{name}': there is no folder here and"):
            open_transformers(checkpoint, adapter=name)


def test_truncated_weights(checkpoint, tmp_path):
    shutil.copytree(checkpoint, tmp_path / "torn")
    path = tmp_path / "torn" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ModelError, match=r"the weights of '.*torn' cannot be loaded"):
        open_transformers(str(tmp_path / "torn"))


class TestRevision:
    def test_the_commit_behind_a_branch_is_recorded(self, checkpoint, tmp_path, monkeypatch):
        cached(monkeypatch, tmp_path, "me/tiny", checkpoint, branch="v1")
        model = open_model("transformers:me/tiny@v1", max_new_tokens=2)
        described = model.description()
        assert (described["name"], described["revision"], described["commit"]) == (
            "me/tiny",
            "v1",
            COMMIT,
        )
        assert "content" not in described
        assert model.answer(REQUESTS)[0].text is not None

    def test_a_folder_has_none(self, checkpoint):
        with pytest.raises(ModelError, match="is a folder; it has no revision 'v1'"):
            open_transformers(checkpoint, "v1")


class TestRefusals:
    def edited(self, checkpoint, folder, file="config.json", **changes):
        shutil.copytree(checkpoint, folder, dirs_exist_ok=True)
        content = json.loads((folder / file).read_text())
        (folder / file).write_text(json.dumps(content | changes))
        return str(folder)

    @pytest.mark.parametrize("name", ["nobody/nothing", "/no/such/folder"])
    def test_a_name_without_a_checkpoint(self, name):
        with pytest.raises(ModelError, match=f"no checkpoint '{name}'"):
            open_transformers(name)

    def test_no_name_at_all(self):
        with pytest.raises(ModelError, match="transformers:PATH_OR_ID"):
            open_model("transformers")

    def test_a_folder_without_a_model(self, tmp_path):
        with pytest.raises(ModelError, match=r"the configuration of .* cannot be loaded"):
            open_transformers(str(tmp_path))

    def test_a_model_that_takes_no_audio(self, tmp_path):
        transformers.Qwen2Config(**tiny.WORDS).save_pretrained(tmp_path)
        with pytest.raises(ModelError, match=r"'qwen2', which takes no audio .*MyModel"):
            open_transformers(str(tmp_path))

    def test_an_audio_model_outside_the_table(self, tmp_path):
        transformers.GlmAsrConfig().save_pretrained(tmp_path)
        with pytest.raises(ModelError, match=r"'glmasr', which is not in the table .*MyModel"):
            open_transformers(str(tmp_path))

    def test_a_type_that_transformers_does_not_know(self, checkpoint, tmp_path):
        folder = self.edited(checkpoint, tmp_path, model_type="kimi_audio")
        with pytest.raises(ModelError, match=r"kimi_audio.*MyModel"):
            open_transformers(folder)

    def test_code_of_the_checkpoint_is_not_run_by_default(self, checkpoint, tmp_path):
        folder = self.edited(
            checkpoint,
            tmp_path,
            model_type="mine",
            auto_map={"AutoConfig": "configuration_mine.MyConfig"},
        )
        (tmp_path / "configuration_mine.py").write_text("raise SystemExit('it was run')")
        with pytest.raises(ModelError, match="which is run only with trust_remote_code=True"):
            open_transformers(folder)

    def test_a_processor_of_another_vocabulary(self, checkpoint, tmp_path):
        folder = self.edited(checkpoint, tmp_path, audio_token_index=7)
        with pytest.raises(ModelError, match=r"marks audio with token \d+ .* its model with 7"):
            open_transformers(folder)

    def test_a_processor_with_other_features(self, checkpoint, tmp_path):
        shutil.copytree(checkpoint, tmp_path, dirs_exist_ok=True)
        _, processor = tiny.qwen2_audio()
        processor.feature_extractor = transformers.WhisperFeatureExtractor(
            feature_size=24, chunk_length=tiny.WINDOW_S
        )
        processor.save_pretrained(tmp_path)
        with pytest.raises(ModelError, match="makes 24 mel bands, its model takes 16"):
            open_transformers(str(tmp_path))

    def test_a_processor_of_another_family(self, checkpoint, tmp_path):
        shutil.copytree(checkpoint, tmp_path, dirs_exist_ok=True)
        tiny.audioflamingo3()[1].save_pretrained(tmp_path)
        with pytest.raises(ModelError, match="but qwen2_audio needs a Qwen2AudioProcessor"):
            open_transformers(str(tmp_path))

    def test_no_chat_template(self, tmp_path):
        made, processor = tiny.audioflamingo3()
        processor.chat_template = None
        with pytest.raises(ModelError, match="has no chat template"):
            open_transformers(tiny.save((made, processor), tmp_path))

    def test_weights_that_would_be_random(self, tmp_path):
        """transformers fills them in and only says so."""
        made, processor = tiny.qwen2_audio()
        folder = tiny.save((made, processor), tmp_path)
        kept = {k: v for k, v in made.state_dict().items() if "projector" not in k}
        made.save_pretrained(folder, state_dict=kept)
        with pytest.raises(ModelError, match=r"lacks 2 weights .*multi_modal_projector"):
            open_transformers(folder)

    def test_no_weights(self, checkpoint, tmp_path):
        shutil.copytree(checkpoint, tmp_path, dirs_exist_ok=True)
        (tmp_path / "model.safetensors").unlink()
        with pytest.raises(ModelError, match=r"the weights of .* cannot be loaded"):
            open_transformers(str(tmp_path))

    def test_a_batch_of_none(self, checkpoint):
        with pytest.raises(ModelError, match="batch_size must be 1 or more, not 0"):
            open_transformers(checkpoint, batch_size=0)

    def test_a_library_that_is_not_installed(self, checkpoint, monkeypatch):
        monkeypatch.setitem(sys.modules, "transformers", None)
        with pytest.raises(ModelError, match=r'pip install "otoscope\[models\]"'):
            open_transformers(checkpoint)
