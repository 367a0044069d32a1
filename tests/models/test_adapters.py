"""Adapters that are damaged, incomplete or of another model are errors, never the base model."""

import json
import re
import shutil
import warnings
from pathlib import Path

import pytest
import tiny
from safetensors.torch import load_file, save_file
from tiny import torch

from otoscope.models.adapters import CONFIG, RECORD, WEIGHTS
from otoscope.models.base import ModelError
from otoscope.models.checkpoints import identity
from otoscope.models.transformers_models import open_transformers

pytestmark = pytest.mark.filterwarnings(
    # peft asks transformers by an old name when it makes an adapter
    "ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"
)
SAFETENSORS, PICKLE = WEIGHTS


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny.save(tiny.qwen2_audio(), tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # marks do not reach a module's fixtures
        return tiny.adapter(tmp_path_factory.mktemp("adapter") / "lora")


@pytest.fixture
def lora(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "lora"))


def tensors(change):
    def edit(folder):
        path = folder / SAFETENSORS
        save_file(change(load_file(path)), path)

    return edit


def settings(**changes):
    def edit(folder):
        path = folder / CONFIG
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return edit


def content(file, change):
    return lambda folder: (folder / file).write_bytes(change((folder / file).read_bytes()))


def without(*files, then=lambda folder: None):
    def edit(folder):
        for file in files:
            (folder / file).unlink()
        then(folder)

    return edit


def more(name):
    return tensors(lambda read: read | {name: torch.zeros(4, 32)})


def pickled(data):
    return without(SAFETENSORS, then=lambda folder: (folder / PICKLE).write_bytes(data))


BROKEN = {
    "a layer that the model lacks": (
        more("base_model.model.model.language_model.layers.7.self_attn.q_proj.lora_A.weight"),
        r"adapter_model\.safetensors: 1 weights have no place .*layers\.7\.self_attn",
    ),
    "a layer that is not adapted": (
        more("base_model.model.model.language_model.layers.0.self_attn.k_proj.lora_A.weight"),
        r"1 weights have no place .*layers\.0\.self_attn\.k_proj",
    ),
    "a foreign name": (more("step"), "1 weights have no place in this model, 'step' the first"),
    "all of another layer": (
        tensors(lambda read: {k.replace("q_proj", "k_proj"): v for k, v in read.items()}),
        "does not fit this model: Found missing adapter keys",
    ),
    "other layers": (settings(target_modules=["v_proj"]), "does not fit this model: Found missing"),
    "more layers": (settings(target_modules=["q_proj", "v_proj"]), "Found missing adapter keys"),
    "a larger rank": (settings(r=8), r"size mismatch for .*\[4, 32\].*\[8, 32\]"),
    "a smaller rank": (settings(r=2), r"size mismatch for .*\[4, 32\].*\[2, 32\]"),
    "a rank of one layer": (settings(rank_pattern={"layers.0.self_attn.q_proj": 2}), "size misma"),
    "no scale": (settings(lora_alpha=float("nan")), r"adapter_config\.json .*NaN is no value"),
    "an unknown method": (settings(peft_type="NEWEST"), "does not fit this model: 'NEWEST'"),
    "values that are no numbers": (
        tensors(lambda read: {k: v * float("nan") for k, v in read.items()}),
        r"adapter_model\.safetensors: .*q_proj\.lora_A\.weight' has values that are not finite",
    ),
    "one that is infinite": (
        tensors(lambda read: {k: v.fill_diagonal_(-float("inf")) for k, v in read.items()}),
        "has values that are not finite",
    ),
    "no tensors": (tensors(lambda read: {}), r"adapter_model\.safetensors holds no weights"),
    "an empty file": (content(SAFETENSORS, lambda read: b""), r"safetensors is empty"),
    "a cut file": (
        content(SAFETENSORS, lambda read: read[:-1]), r"_model\.safetensors is damaged or cut"
    ),
    "a cut header": (content(SAFETENSORS, lambda read: read[:40]), "safetensors is damaged or"),
    "no file of weights": (without(SAFETENSORS), "weights are missing, adapter_model.safetensors"),
    "a folder instead": (
        without(SAFETENSORS, then=lambda folder: (folder / SAFETENSORS).mkdir()),
        "weights are missing, adapter_model.safetensors",
    ),
    "a pickle of something else": (pickled(b"junk"), "does not fit this model"),
    "an empty pickle": (pickled(b""), r"adapter_model\.bin is empty"),
    "no config": (without(CONFIG), r"adapter_config\.json is missing"),
    "a cut config": (content(CONFIG, lambda read: read[:99]), r"config\.json is no configuration"),
    "a config of something else": (
        content(CONFIG, lambda read: b"[]"), r"config\.json is no configuration"
    ),
    "an empty config": (content(CONFIG, lambda read: b""), r"config\.json is no configuration"),
    "nothing": (without(CONFIG, SAFETENSORS), r"lora is no adapter: it has no adapter_config"),
    "weights gone after training": (
        without(SAFETENSORS, then=lambda folder: (folder / RECORD).write_text("{}")),
        r"safetensors is missing, though training\.json says that training is finished",
    ),
    "a training that is not finished": (
        without(CONFIG, SAFETENSORS, then=lambda folder: (folder / ".training").mkdir()),
        "lora is a training that is not finished; run its trainers.lora command again",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_adapter_is_one_line_that_names_it(name, checkpoint, lora):
    edit, message = BROKEN[name]
    edit(lora)
    with pytest.raises(ModelError, match=message) as raised:
        open_transformers(checkpoint, adapter=str(lora))
    assert str(lora) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_files_are_checked_before_the_base_model_is_loaded(checkpoint, lora, monkeypatch):
    content(SAFETENSORS, lambda read: read[:-1])(lora)
    monkeypatch.setattr("otoscope.models.loading._weights", lambda *given: 1 / 0)
    with pytest.raises(ModelError, match="damaged or cut short"):
        open_transformers(checkpoint, adapter=str(lora))


def test_a_folder_of_something_else_is_not_hashed(checkpoint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("otoscope.models.adapters.identity", lambda *given: 1 / 0)
    monkeypatch.setattr("otoscope.models.loading.identity", lambda *given: {"content": "0"})
    for name in ("", ".", str(tmp_path)):
        with pytest.raises(ModelError, match="is no adapter: it has no adapter_config"):
            open_transformers(checkpoint, adapter=name)


def test_a_folder_has_no_revision(checkpoint, lora):
    with pytest.raises(ModelError, match=r"lora' is a folder; it has no revision 'v2'"):
        open_transformers(checkpoint, adapter=f"{lora}@v2")


def test_weights_as_a_pickle_are_loaded(checkpoint, lora):
    read = load_file(lora / SAFETENSORS)
    torch.save(read, lora / PICKLE)
    (lora / SAFETENSORS).unlink()
    model = open_transformers(checkpoint, adapter=str(lora)).loaded.model
    name = next(name for name in read if "lora_B" in name)
    loaded = model.get_parameter(name.replace("lora_B.", "lora_B.default."))
    assert torch.equal(loaded, read[name])


class TestBaseModel:
    """An adapter is added to the model it was trained on, or nothing is."""

    def record(self, folder, model):
        record = {"begun": {"model": model, "settings": {}}, "history": {}}
        (folder / RECORD).write_text(json.dumps(record))

    def test_its_own_is_taken_wherever_it_lies(self, checkpoint, lora, tmp_path):
        self.record(lora, identity(checkpoint, None))
        settings(base_model_name_or_path="/where/it/was/base")(lora)
        open_transformers(str(shutil.copytree(checkpoint, tmp_path / "moved")), adapter=str(lora))

    @pytest.mark.parametrize("same_name", [True, False])
    def test_another_is_rejected_by_its_hash(self, checkpoint, lora, same_name):
        name = Path(checkpoint).name if same_name else "other"
        self.record(lora, {"name": name, "content": "0" * 64})
        with pytest.raises(
            ModelError, match=rf"was trained on another model: .*'0000.* of '{name}'"
        ):
            open_transformers(checkpoint, adapter=str(lora))

    def test_weights_trained_further_are_another(self, checkpoint, lora, tmp_path):
        self.record(lora, identity(checkpoint, None))
        made = tiny.qwen2_audio(seed=1)
        with pytest.raises(ModelError, match="was trained on another model"):
            open_transformers(tiny.save(made, tmp_path / "tiny"), adapter=str(lora))

    def test_a_damaged_record(self, checkpoint, lora):
        (lora / RECORD).write_text('{"begun": {"mod')
        with pytest.raises(ModelError, match=r"training\.json is damaged"):
            open_transformers(checkpoint, adapter=str(lora))

    @pytest.mark.parametrize("name", ["org/other", "/home/me/other/"])
    def test_another_name_alone_is_a_warning(self, checkpoint, lora, name):
        """Of adapters from elsewhere no hash is known, and a copy may have any name."""
        settings(base_model_name_or_path=name)(lora)
        with pytest.warns(UserWarning, match=re.escape(f"names {name!r} as its base model, not")):
            open_transformers(checkpoint, adapter=str(lora))

    @pytest.mark.parametrize("name", ["org/Tiny", "/home/me/tiny/", None, ""])
    def test_the_same_name_is_none(self, checkpoint, lora, name):
        settings(base_model_name_or_path=name)(lora)
        open_transformers(checkpoint, adapter=str(lora))
