"""From the text behind `--model` to a model."""

import inspect
import re
import sys
import textwrap
from pathlib import Path

import pytest
from chat_server import request_about

from otoscope.errors import InputError
from otoscope.models import MODELS
from otoscope.models.base import ModelError, description_of, stream
from otoscope.models.kimi_audio import KimiAudio
from otoscope.models.opening import ModelSpec, open_model, parse_spec
from otoscope.models.transformers_models import open_transformers

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("observer", ("observer", None, None)),
        ("constant:increase", ("constant", "increase", None)),
        ("constant:up@noon: yes", ("constant", "up@noon: yes", None)),
        ("random:7", ("random", "7", None)),
        ("replay:a@b.jsonl", ("replay", "a@b.jsonl", None)),
        ("transformers:Qwen/Qwen2-Audio@main", ("transformers", "Qwen/Qwen2-Audio", "main")),
        ("transformers:Qwen/Qwen2-Audio", ("transformers", "Qwen/Qwen2-Audio", None)),
        ("transformers:a@b@refs/pr/3", ("transformers", "a@b", "refs/pr/3")),
        ("transformers:x@", ("transformers", "x", None)),
        ("openai:gpt-audio", ("openai", "gpt-audio", None)),
        ("my_package.my_module:MyModel", ("my_package.my_module", "MyModel", None)),
        ("", ("", None, None)),
    ],
)
def test_parts_of_a_specification(spec, expected):
    assert parse_spec(spec) == ModelSpec(*expected)


def test_a_path_that_exists_keeps_its_at_sign(tmp_path):
    folder = tmp_path / "me@work"
    folder.mkdir()
    assert parse_spec(f"transformers:{folder}") == ("transformers", str(folder), None)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("obsever", "no kind of model named 'obsever'; did you mean 'observer'"),
        ("transformer:Qwen/Qwen2-Audio", "did you mean 'transformers'"),
        ("open-ai:gpt-audio", "did you mean 'openai'"),
        ("zzz:x", "my_package.my_module:MyModel"),
        ("", "no kind of model named ''"),
        ("observer:volume", "takes no name"),
        ("observer@main", "takes no name and no revision"),
        ("no_such_package.module:Model", "no module named 'no_such_package.module'"),
        ("otoscope.models.simple:Nothing", "has no 'Nothing'"),
        ("otoscope.models.simple:span_of", "not a class but a function"),
        ("otoscope.models.base:AudioInput", r"needs a method `answer\(questions\)`"),
        ("otoscope.models.simple:Constant@v1", "has no revision"),
        ("otoscope.models.simple:Constant", "needs the option 'text'"),
    ],
)
def test_what_cannot_be_opened_is_named(spec, complaint):
    with pytest.raises(ModelError, match=complaint):
        open_model(spec)


def test_every_kind_is_where_the_table_says():
    import importlib

    for target in MODELS.values():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function)), target


def test_options_reach_the_model_and_none_means_not_given():
    model = open_model("openai:x", base_url="http://localhost:1/v1", max_new_tokens=5, preset=None)
    assert model.description["settings"]["max_tokens"] == 5


@pytest.mark.parametrize("word", ["refuse", "truncate", ""])
def test_what_to_do_with_long_clips_is_one_of_two_words(word, tmp_path):
    for opener in (open_transformers, KimiAudio.__init__):
        unchecked = inspect.unwrap(opener)  # types are checked in tests alone
        arguments = [object()] * (opener is not open_transformers)
        with pytest.raises(InputError, match=f"on_long must be 'reject' or 'flag', not '{word}'"):
            unchecked(*arguments, str(tmp_path), on_long=word)


def test_none_is_not_given_even_where_nothing_is_taken():
    assert open_model("observer", base_url=None).answer([]) == []


def test_an_option_that_a_kind_does_not_take_is_named():
    with pytest.raises(ModelError, match="'observer' takes no option 'base_url'; it takes none"):
        open_model("observer", base_url="http://localhost")
    with pytest.raises(ModelError, match=r"takes no option 'batch'; it takes \['api_key_env', "):
        open_model("openai:x", batch=3)


def test_a_missing_package_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("otoscope.models.")]:
        if "openai" in name or "server_calls" in name:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(
        ModelError, match=r"needs the package 'openai': pip install \"otoscope\[api"
    ):
        open_model("openai:x")


class TestOwnModel:
    @pytest.fixture(autouse=True)
    def here(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
        before = set(sys.modules)
        yield tmp_path
        for name in set(sys.modules) - before:
            if name.startswith(("own_", "my_model")):
                del sys.modules[name]

    def write(self, folder, name, text):
        (folder / f"{name}.py").write_text(textwrap.dedent(text))

    def test_is_found_in_the_current_folder(self, here):
        self.write(
            here,
            "own_a",
            """
            from otoscope.models.base import Answer

            class Mine:
                def __init__(self, volume=1):
                    self.volume = volume

                def answer(self, questions):
                    return [Answer(f"{self.volume} {len(q.audio_inputs)}") for q in questions]
            """,
        )
        assert [a.text for a in open_model("own_a:Mine").answer([request_about()])] == ["1 1"]
        assert [a.text for a in open_model("own_a:Mine", volume=3).answer([request_about()])] == [
            "3 1"
        ]
        with pytest.raises(ModelError, match=r"'own_a:Mine' takes no option 'loud'; it takes \["):
            open_model("own_a:Mine", loud=True)

    def test_a_nested_class_and_a_package(self, here):
        (here / "own_pkg").mkdir()
        self.write(
            here / "own_pkg",
            "inner",
            """
            class Outer:
                class Model:
                    def answer(self, questions):
                        return []
            """,
        )
        assert open_model("own_pkg.inner:Outer.Model").answer([]) == []

    def test_a_method_with_its_old_name_is_an_error(self, here):
        self.write(
            here,
            "own_d",
            """
            class Mine:
                def answer(self, questions):
                    return []

                def heard(self, question):
                    return b""
            """,
        )
        with pytest.raises(ModelError, match=r"Mine.heard: .*'input_fingerprint'"):
            open_model("own_d:Mine")

    @pytest.mark.parametrize(
        ("line", "new"),
        [
            ("from otoscope.models.sound import resampled", "otoscope.models.audio"),
            ("import otoscope.models.sound", "otoscope.models.audio"),
            ("from otoscope.models import sound", "audio"),
            ("from otoscope.models.base import Asked", "Request"),
            ("from otoscope.models.base import Answer, Sound", "AudioInput"),
        ],
    )
    def test_an_import_of_an_old_name_is_an_error_that_has_the_new_one(self, here, line, new):
        self.write(here, "own_e", f"{line}\n")
        with pytest.raises(ModelError, match=f"own_e:Mine: .*since version 0.2 it is '{new}'"):
            open_model("own_e:Mine")

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("from otoscope.models.base import Asking", "imported .ImportError: .*Asking"),
            ("1 / 0", "imported .ZeroDivisionError: division by zero"),
            ("class Mine", "imported .SyntaxError"),
            (
                "class Mine:\n    answer = print\n    def __init__(self): self.absent",
                "constructed .AttributeError: .*'absent'",
            ),
            (
                "class Mine:\n    answer = print\n    def __init__(self): import not_there",
                "constructed .ModuleNotFoundError: .*not_there",
            ),
        ],
    )
    def test_own_code_that_raises_is_named_with_its_cause(self, here, text, complaint):
        self.write(here, "own_f", f"{text}\n")
        with pytest.raises(ModelError, match=f"own_f:Mine: .*{complaint}") as raised:
            open_model("own_f:Mine")
        assert raised.value.__cause__ is not None

    def test_what_own_code_says_can_be_mended_stays(self, here):
        text = "from otoscope.models.base import ModelError\nraise ModelError('no key')\n"
        self.write(here, "own_g", text)
        with pytest.raises(ModelError, match=r"^no key$"):
            open_model("own_g:Mine")

    def test_a_description_that_is_no_mapping_is_an_error(self, here):
        text = "class Mine:\n    description = 'mine'\n    answer = print\n"
        self.write(here, "own_h", text)
        with pytest.raises(ModelError, match="own_h:Mine: its `description` is a dict, not a str"):
            description_of(open_model("own_h:Mine"))

    def test_a_module_that_misses_something_says_what(self, here):
        self.write(here, "own_b", "import surely_not_installed\n")
        with pytest.raises(ModelError, match="needs 'surely_not_installed', not installed"):
            open_model("own_b:Mine")

    def test_a_model_that_gives_too_few_answers_is_found_out(self, here):
        self.write(
            here, "own_c", "class Mine:\n    def answer(self, questions):\n        return []\n"
        )
        with pytest.raises(ModelError, match="returned 0 answers to 1 questions"):
            list(stream(open_model("own_c:Mine"), [request_about()]))

    def test_the_documented_example_runs(self, here):
        text = (DOCS / "bring-your-own.md").read_text()
        code, *_ = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        (here / "my_model.py").write_text(code)
        (spec,) = set(re.findall(r"--model (\S+:\S+)", text))
        model = open_model(spec)
        arrived = dict(stream(model, [request_about("a"), request_about("b")]))
        assert [arrived[i].text for i in (0, 1)] == [arrived[0].text] * 2
        assert arrived[0].text in ("increase", "decrease")
