"""Kimi-Audio by the open door, on a stand-in with the signatures of its package."""

import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import soundfile
from asking import ask, clip, silence

from otoscope.models.base import ModelError, Status
from otoscope.models.kimi_audio import PROVEN, KimiAudio
from otoscope.models.opening import open_model
from otoscope.prompts.parts import Text

MODULE = "kimia_infer.api.kimia"


class StandIn:
    """Takes what the real class takes, without its defaults: what is left out must show."""

    error = None

    def __init__(self, model_path: str, load_detokenizer: bool = True):
        self.opened = (model_path, load_detokenizer)
        self.calls = []

    def generate(
        self,
        chats,
        output_type=None,
        audio_temperature=None,
        audio_top_k=None,
        text_temperature=None,
        text_top_k=None,
        audio_repetition_penalty=None,
        audio_repetition_window_size=None,
        text_repetition_penalty=None,
        text_repetition_window_size=None,
        max_new_tokens=None,
    ):
        settings = {
            name: value for name, value in locals().items() if name not in ("self", "chats")
        }
        files = [m["content"] for m in chats if m["message_type"] == "audio"]
        self.calls.append((chats, settings, [soundfile.read(file) for file in files]))
        if self.error:
            raise self.error
        return None, "increase"


@pytest.fixture
def kimi(monkeypatch, tmp_path):
    module = ModuleType(MODULE)
    module.KimiAudio = StandIn
    for name in ("kimia_infer", "kimia_infer.api"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, MODULE, module)
    monkeypatch.setattr(StandIn, "error", None)
    (tmp_path / "config.json").write_text("{}")
    return open_model("otoscope.models.kimi_audio:KimiAudio", name=str(tmp_path))


def test_it_is_opened_without_the_speech_decoder(kimi, tmp_path):
    assert kimi._inner.opened == (str(tmp_path), False)


def test_text_then_audio_become_user_messages_in_order(kimi):
    (answer,) = kimi.answer([ask("Louder?", clip(seconds=0.5))])
    assert (answer.text, answer.status) == ("increase", Status.OK)
    (messages, _, ((samples, rate),)) = kimi._inner.calls[0]
    assert [(m["role"], m["message_type"]) for m in messages] == [
        ("user", "text"),
        ("user", "audio"),
    ]
    assert messages[0]["content"] == "Louder?"
    assert rate == 16000
    assert len(samples) == 8000


def test_a_question_needs_no_clip(kimi):
    kimi.answer([ask("Which colour?")])
    (messages, _, files) = kimi._inner.calls[0]
    assert messages == [{"role": "user", "message_type": "text", "content": "Which colour?"}]
    assert not files


def test_a_system_message_is_rejected(kimi):
    with pytest.raises(ModelError, match=r"'q\|main' has a system message"):
        kimi.answer([ask(Text("Be brief.", "system"), clip(), "Louder?")])


def test_files_are_gone_afterwards(kimi, monkeypatch):
    kimi.answer([ask(clip(1), "Louder?", clip(2))])
    monkeypatch.setattr(StandIn, "error", RuntimeError("shapes differ"))
    with pytest.raises(RuntimeError, match="shapes differ"):
        kimi.answer([ask(clip(3))])
    files = [
        Path(message["content"])
        for messages, *_ in kimi._inner.calls
        for message in messages
        if message["message_type"] == "audio"
    ]
    assert len(files) == 3
    assert not any(file.exists() or file.parent.exists() for file in files)


def test_decoding_is_the_published_one(kimi):
    kimi.answer([ask(clip())])
    kimi.with_settings(max_new_tokens=256).answer([ask(clip())])
    first, second = (settings for _, settings, _ in kimi._inner.calls)
    assert first == {
        "output_type": "text",
        "text_temperature": 0.0,
        "text_top_k": 5,
        "text_repetition_penalty": 1.0,
        "text_repetition_window_size": 16,
        "audio_temperature": 0.0,
        "audio_top_k": 5,
        "audio_repetition_penalty": 1.0,
        "audio_repetition_window_size": 64,
        "max_new_tokens": 128,
    }
    assert second == {**first, "max_new_tokens": 256}
    described = kimi.description()
    assert described["max_new_tokens"] == 128
    assert {k: v for k, v in first.items() if k in described["decoding"]} == {
        k: v for k, v in described["decoding"].items() if k != "preset"
    }
    json.dumps(described)


def test_its_input_changes_with_the_audio(kimi):
    inputs = [kimi.input_fingerprint(ask("?", sound)) for sound in (clip(1), clip(2), silence())]
    assert len(set(inputs)) == 3
    assert np.frombuffer(inputs[2], np.float32).any() is np.False_


def test_a_long_clip_is_rejected_or_flagged(kimi, tmp_path):
    long = clip(seconds=31, rate=16000)
    with pytest.raises(ModelError, match=r"31\.00 s but the model takes at most 30 s"):
        kimi.answer([ask(long)])
    flagging = KimiAudio(str(tmp_path), on_long="flag")
    (answer,) = flagging.answer([ask(long)])
    assert answer.audio_truncated
    assert len(flagging._inner.calls[0][2][0][0]) == 30 * 16000


def test_the_stored_word_of_a_rejected_clip_is_that_of_version_0_1(kimi, tmp_path):
    assert kimi.description()["on_long"] == "refuse"
    assert KimiAudio(str(tmp_path), on_long="reject").description() == kimi.description()


def test_no_memory_is_an_error_of_that_question(kimi, monkeypatch):
    pytest.importorskip("torch", reason="memory is given back through torch")
    monkeypatch.setattr(StandIn, "error", RuntimeError("CUDA out of memory. Tried"))
    (answer,) = kimi.answer([ask(clip())])
    assert (answer.text, answer.status) == (None, Status.ERROR)
    assert answer.detail == "out of memory with this question"


def test_without_its_package_it_says_where_to_get_it():
    with pytest.raises(ModelError, match=r"kimia_infer .*clone https://github\.com/MoonshotAI"):
        KimiAudio()


def test_it_says_that_it_has_not_been_run():
    assert PROVEN == "unrun"
    assert "UNRUN" in sys.modules["otoscope.models.kimi_audio"].__doc__
