"""Second half minus first half, worked out by hand; a value or a reason for any clip."""

import numpy as np
import pytest
from scipy import signal
from synthetic_speech import speech_like

from otoscope.acoustics.contrasts import CONTRASTS, Reason, contrasts, mean_power_level
from otoscope.acoustics.measures import ClipAnalysis
from otoscope.acoustics.spans import Span

RATE = 16_000


def halves(first, second, rate=RATE):
    """A clip of two halves with 0.3 s of faint noise before and after."""
    edge = 1e-3 * np.random.default_rng(9).standard_normal(round(0.3 * rate))
    return (
        np.concatenate([edge, first, second, edge]),
        rate,
        Span(edge.size, edge.size + 2 * first.size),
    )


def noise(rms, duration_s=1.0, rate=RATE, seed=0):
    return rms * np.random.default_rng(seed).standard_normal(round(duration_s * rate))


def hum(hz, duration_s=1.0, rate=RATE, n_harmonics=8):
    t = np.arange(round(duration_s * rate)) / rate
    return 0.1 * sum(np.sin(2 * np.pi * k * hz * t) / k for k in range(1, n_harmonics + 1))


def value(clip, name):
    found = contrasts(ClipAnalysis(*clip), [name])
    assert found.reason == {}
    return found.value[name]


def why(clip, name):
    found = contrasts(ClipAnalysis(*clip), [name])
    assert np.isnan(found.value[name])
    return found.reason[name]


def test_ten_times_the_amplitude_is_twenty_db_more():
    assert value(halves(noise(0.01), noise(0.1)), "level") == pytest.approx(20, abs=0.3)
    assert value(halves(noise(0.1), noise(0.01)), "level") == pytest.approx(-20, abs=0.3)


def test_the_level_of_a_half_is_that_of_its_energy():
    # half of it silent: 3 dB less. The mean of its levels would not have moved at all.
    gated = noise(0.1)
    gated[: gated.size // 2] = 0
    assert value(halves(noise(0.1), gated), "level") == pytest.approx(-3.0, abs=0.3)


def test_levels_are_averaged_as_powers():
    # (1 + 0.1) / 2 = 0.55
    assert mean_power_level(np.array([0.0, -10.0])) == pytest.approx(10 * np.log10(0.55))


def test_a_fifth_up_is_seven_semitones():
    # 12·log2(3/2) = 7.02
    assert value(halves(hum(110), hum(165)), "pitch") == pytest.approx(7.02, abs=0.1)


def test_a_low_pass_in_the_second_half_takes_bandwidth_and_treble_away():
    # from 99 % of 8 kHz to little above 2 kHz
    low_pass = signal.butter(10, 2000, fs=RATE, output="sos")
    clip = halves(noise(0.1), signal.sosfilt(low_pass, noise(0.1)))
    assert -np.log2(7920 / 2000) <= value(clip, "bandwidth") < -np.log2(7920 / 2500)
    assert value(clip, "high_band_level") < -20


def test_head_tail_difference_is_tail_minus_head():
    samples, rate, span = halves(noise(0.1), noise(0.1))
    samples[span.end :] *= 10
    assert value((samples, rate, span), "edges") == pytest.approx(20)


def test_duration_is_that_of_the_span():
    assert value(halves(noise(0.1), noise(0.1)), "duration") == pytest.approx(2.0)


@pytest.mark.parametrize("channels", ["one", "one row", "two"])
@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000])
def test_speech_has_a_value_of_everything_at_any_rate(rate, channels):
    samples = np.rint(32767 * speech_like(rate, 2.0)).astype(np.int16)
    shaped = {"one": samples, "one row": samples[None], "two": np.stack([samples, samples])}
    found = contrasts(ClipAnalysis(shaped[channels], rate, Span(rate // 4, 7 * rate // 4)))
    assert found.reason == {}
    assert np.isfinite(list(found.value.values())).all()
    assert tuple(found.value) == CONTRASTS


@pytest.mark.parametrize("rate", [8_000, 96_000])
def test_a_span_of_a_fifth_of_a_second_has_values_or_is_too_short(rate):
    samples = speech_like(rate)
    found = contrasts(ClipAnalysis(samples, rate, Span(round(0.3 * rate), round(0.5 * rate))))
    assert set(found.reason) <= {"modulation", "reverberance", "pitch", "tempo"}
    assert found.reason["modulation"] is Reason.TOO_SHORT
    assert found.reason["reverberance"] is Reason.TOO_SHORT
    assert np.isfinite(found.value["level"])


@pytest.mark.parametrize("n_samples", [1, 2, 100, 800, 1600, 3200])
def test_exactly_what_is_not_measured_has_a_reason(n_samples):
    found = contrasts(ClipAnalysis(speech_like(RATE), RATE, Span(6000, 6000 + n_samples)))
    assert {n for n, v in found.value.items() if np.isnan(v)} == set(found.reason)
    assert np.isfinite([found.value["duration"], found.value["edges"]]).all()


def test_a_span_of_one_sample_is_too_short_for_everything_within_it():
    found = contrasts(ClipAnalysis(speech_like(RATE), RATE, Span(6000, 6001)))
    within = set(CONTRASTS) - {"edges", "duration"}
    assert found.reason == dict.fromkeys(within, Reason.TOO_SHORT)


def test_silence_is_its_own_reason():
    found = contrasts(ClipAnalysis(np.zeros(RATE), RATE, Span(100, 9000)))
    assert found.reason.pop("edges") is Reason.SILENT_HEAD
    assert set(found.reason.values()) == {Reason.SILENT}
    assert found.value["duration"] == pytest.approx(8900 / RATE)


def test_a_silent_half_is_named():
    clip = halves(np.zeros(RATE), noise(0.1))
    assert why(clip, "level") is Reason.FIRST_HALF
    assert why(clip, "high_band_level") is Reason.FIRST_HALF
    assert why(halves(noise(0.1), np.zeros(RATE)), "level") is Reason.SECOND_HALF


def test_noise_has_no_voiced_frame():
    assert why(halves(noise(0.1, 0.3), noise(0.1, 0.3, seed=4)), "pitch") is Reason.UNVOICED


def test_one_voiced_frame_gives_no_contrast():
    # 25 ms of voice: less than lasts, which is three frames of 10 ms
    first = noise(0.1, seed=2)
    first[4000:4400] = hum(150, 0.025)
    assert why(halves(first, noise(0.1, seed=3)), "pitch") is Reason.UNVOICED


def test_a_voice_in_one_half_only_gives_no_contrast():
    assert why(halves(hum(150), noise(0.1)), "pitch") is Reason.SECOND_HALF
    assert why(halves(noise(0.1), hum(150)), "pitch") is Reason.FIRST_HALF


def test_a_spectrum_that_stands_still_has_no_tempo():
    assert why((np.full(RATE, 0.5), RATE, Span(0, RATE)), "tempo") is Reason.NOWHERE


def test_absent_and_silent_heads_and_tails_are_distinguished():
    samples = noise(0.1)
    n = samples.size
    assert why((samples, RATE, Span(0, n - 10)), "edges") is Reason.NO_HEAD
    assert why((samples, RATE, Span(10, n)), "edges") is Reason.NO_TAIL
    samples[-10:] = 0
    assert why((samples, RATE, Span(10, n - 10)), "edges") is Reason.SILENT_TAIL
    samples[:10] = 0
    assert why((samples, RATE, Span(10, n - 10)), "edges") is Reason.SILENT_HEAD


def test_an_unknown_measure_is_named():
    with pytest.raises(LookupError, match="did you mean 'level'"):
        contrasts(ClipAnalysis(noise(0.1), RATE, Span(0, 100)), ["levels"])


@pytest.mark.parametrize("span", [Span(0, 0), Span(-1, 5), Span(0, RATE + 1)])
def test_a_span_outside_the_clip_is_rejected(span):
    with pytest.raises(ValueError, match="is not within the clip"):
        contrasts(ClipAnalysis(noise(0.1), RATE, span))
