"""A model that is not given the sound is found out before it is scored."""

import math
import os

import numpy as np
import pytest
from chat_server import audio_input, request_about

from otoscope.models.base import AudioInput, ModelError
from otoscope.models.guards import (
    AUDIBLE_DB,
    audio_input_check,
    lost_bandwidth,
    with_silence,
)
from otoscope.models.openai_server import open_openai
from otoscope.models.simple import open_constant, open_observer
from otoscope.prompts.parts import Text

CLIP, OTHER = (
    request_about(name, Text("?"), audio_input(name, seed=i)) for i, name in enumerate("ab")
)


class Fingerprinting:
    """Says what `given` makes of the samples of the first clip."""

    def __init__(self, given):
        self.given = given

    def input_fingerprint(self, request):
        return self.given(request.audio_inputs[0].samples)

    def answer(self, questions):
        return []


def check(model, request=CLIP, other=OTHER):
    return audio_input_check(model, request, with_silence(request), other)


class TestAudioInput:
    def test_a_model_whose_input_changes_passes(self):
        report = check(Fingerprinting(lambda samples: samples.tobytes()))
        assert report.checked

    @pytest.mark.parametrize(
        ("given", "alike"),
        [
            (lambda samples: b"<audio>", "the same for a clip and for silence"),
            (lambda samples: bytes([len(samples) % 7]), "for a clip and for silence"),
            (lambda samples: bytes([int(samples.any())]), "for a clip and for another clip"),
            (
                lambda samples: bytes([np.array_equal(samples, CLIP.audio_inputs[0].samples)]),
                "for silence and for another clip",
            ),
            (lambda samples: b"", "its input for a clip is empty"),
            (lambda samples: samples.tobytes() if samples.any() else b"", "for silence is empty"),
        ],
        ids=[
            "text only",
            "length only",
            "loud or not",
            "one clip only",
            "nothing",
            "nothing for silence",
        ],
    )
    def test_one_that_does_not_is_rejected(self, given, alike):
        with pytest.raises(ModelError, match="audio does not reach the model") as raised:
            check(Fingerprinting(given))
        assert alike in str(raised.value)

    def test_input_that_differs_by_itself_proves_nothing(self):
        report = check(Fingerprinting(lambda samples: os.urandom(8)))
        assert not report.checked
        assert "the input for one clip varies" in report.message

    def test_a_model_that_does_not_say_is_not_checked(self):
        report = check(open_constant("increase"))
        assert not report.checked
        assert report.message.startswith("not checked")

    @pytest.mark.parametrize("other", [CLIP, with_silence(CLIP)], ids=["the same", "silence"])
    def test_equal_clips_prove_nothing(self, other):
        if other is CLIP:
            report = check(Fingerprinting(lambda samples: b"x"), CLIP, CLIP)
        else:
            report = check(Fingerprinting(lambda samples: b"x"), other, CLIP)
        assert not report.checked
        assert "are the same" in report.message

    def test_one_that_raises_is_named(self):
        with pytest.raises(ModelError, match=r"Fingerprinting\.input_fingerprint raised TypeError"):
            check(Fingerprinting(None))

    @pytest.mark.parametrize("given", [None, "text", 3, [1.0]])
    def test_one_that_returns_no_bytes_is_named(self, given):
        kind = type(given).__name__
        message = f"Fingerprinting.input_fingerprint returns a {kind}, not bytes"
        with pytest.raises(ModelError, match=message):
            check(Fingerprinting(lambda samples: given))

    def test_a_method_with_its_old_name_is_an_error(self):
        class Old:
            def heard(self, request):
                return b""

        with pytest.raises(ModelError, match=r"Old.heard: .* called 'input_fingerprint' now"):
            check(Old())

    def test_our_own_adapters_pass(self):
        for model in (open_observer(None), open_openai("x", base_url="http://localhost:1/v1")):
            assert check(model).checked


def test_silence_is_of_the_same_length_and_changes_nothing_else():
    silent = with_silence(CLIP)
    assert silent.question == CLIP.question
    assert silent.parts[0] == CLIP.parts[0]
    (clip,) = silent.audio_inputs
    assert (len(clip.samples), clip.sampling_rate) == (1600, 16_000)
    assert not clip.samples.any()
    assert CLIP.audio_inputs[0].samples.any()


def tones(clip, *levels, rate=48_000):
    """Sines, each given as (Hz, amplitude)."""
    t = np.arange(rate) / rate
    wave = sum(amplitude * np.sin(2 * np.pi * hz * t) for hz, amplitude in levels)
    return AudioInput(clip, wave.astype(np.float32), rate, "sha")


class TestInaudible:
    def test_level_worked_by_hand(self):
        # a tone above 8 kHz of a tenth of the amplitude: 1 / 101 of the power
        found = lost_bandwidth(16_000, [tones("a", (1000, 0.5), (12_000, 0.05))])
        assert (found.n_clips, found.n_affected, found.limit_hz) == (1, 1, 8000)
        assert found.worst_db == pytest.approx(10 * math.log10(1 / 101), abs=0.01)
        assert "1 of 1 checked clips have content above 8000 Hz" in found.message

    def test_what_is_far_below_counts_as_none(self):
        quiet, audible = (10 ** ((AUDIBLE_DB + db) / 20) * 0.5 for db in (-3, 3))
        clips = [tones("a", (1000, 0.5), (12_000, amp)) for amp in (quiet, audible)]
        assert lost_bandwidth(16_000, clips).n_affected == 1

    def test_a_clip_at_the_models_rate_or_below_loses_nothing(self):
        clips = [tones("a", (3900, 0.5), rate=rate) for rate in (8000, 16_000)]
        found = lost_bandwidth(16_000, clips)
        assert (found.n_affected, found.worst_db, found.message) == (0, -np.inf, "")

    def test_silence_and_nothing_at_all(self):
        silent = AudioInput("a", np.zeros(4800, np.float32), 48_000, "sha")
        assert lost_bandwidth(16_000, [silent]).n_affected == 0
        assert lost_bandwidth(16_000, []) == (0, 0, 8000, -np.inf)

    def test_a_model_without_a_rate(self):
        assert lost_bandwidth(None, [tones("a", (12_000, 0.5))]) is None
