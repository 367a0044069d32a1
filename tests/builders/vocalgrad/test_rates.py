"""The card on sources below 48 kHz, compared with the rows themselves."""

import pyarrow.parquet as pq
import soundfile

from builders.vocalgrad.planning.rates import IdleConditions, low_rates
from tests.acoustics.synthetic_speech import speech_pcm
from tests.builders.tiny_corpus import built_from, planned, speak


def speak_at(root, *rates):
    for i, rate in enumerate(rates):
        root.mkdir(parents=True, exist_ok=True)
        soundfile.write(root / f"clip{i}.wav", speech_pcm(rate, 1.3, seed=i).T, rate)
    return root


def test_at_16_khz_two_of_three_tiers_of_distortion_do_nothing(tmp_path):
    plan, _, _ = planned(speak(tmp_path, n=2), categories=None)
    low = low_rates(plan)
    assert low.counts == {16_000: 2}
    assert low.idle == (IdleConditions("audio_distortion", 32, 48, ("low", "mid")),)
    assert low.other_ends == ("audio_distortion", "voice_clarity")
    assert low.window_ms == 32


def test_at_8_khz_all_of_distortion_and_a_tier_of_clarity_do_nothing(tmp_path):
    # 6 kHz out of 8 is no whole hold but one; a cutoff of 5 kHz lies above the 4 kHz there are
    plan, _, _ = planned(speak_at(tmp_path, 8_000, 48_000), categories=None)
    low = low_rates(plan)
    assert (low.counts, low.n_sources) == ({8_000: 1}, 2)
    by_category = {idle.category: idle for idle in low.idle}
    assert by_category["audio_distortion"] == IdleConditions(
        "audio_distortion", 24, 48, ("low", "mid", "high")
    )
    assert set(by_category) <= {"audio_distortion", "voice_clarity"}


def test_at_48_khz_and_above_there_is_nothing_to_say(tmp_path):
    plan, _, _ = planned(speak_at(tmp_path, 48_000, 96_000))
    assert low_rates(plan) is None


def test_the_card_counts_what_the_rows_say(tmp_path):
    speech = speak_at(tmp_path / "speech", 16_000, 48_000)
    names = ["audio_distortion", "voice_clarity"]
    built_from(speech, tmp_path / "out", categories=names)
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    idle = sum(
        sum(pq.read_table(path, columns=["no_effect"])["no_effect"].to_pylist())
        for path in (tmp_path / "out" / "audio_distortion").glob("*.parquet")
    )
    assert idle == 16
    assert (
        f"There, {idle} of the 48 conditions of audio_distortion (low and mid) change nothing"
        in card
    )
    assert "of these 2 sources\n1 has 16,000 Hz and nothing above 8,000 Hz." in card
    assert "audio_distortion and voice_clarity move between other ends than at 48,000 Hz" in card
    assert "last 32 ms instead of 11 at the lowest rate" in card


def test_a_card_of_48_khz_says_nothing_of_it(tmp_path):
    built_from(speak_at(tmp_path / "speech", 48_000), tmp_path / "out", categories=["volume"])
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "Below 48,000 Hz" not in card
