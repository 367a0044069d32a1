"""Measures against signals whose values follow from how they are made."""

import numpy as np
import pytest
from synthetic_speech import speech_like

from otoscope.acoustics.design import PUBLISHED_CATEGORIES
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import MEASURES, ClipAnalysis, head_tail_levels
from otoscope.acoustics.measures.base import band_powers, over_spectra, speech_of
from otoscope.acoustics.measures.levels import roll_off
from otoscope.acoustics.measures.voice import pace
from otoscope.acoustics.observers import slope
from otoscope.acoustics.spans import Span

RATE = 16_000


def whole(samples):
    return Span(0, samples.shape[-1])


def measured(name, samples, rate=RATE):
    """The finite values of a measure over the whole clip."""
    value = MEASURES[name](ClipAnalysis(samples, rate, whole(samples))).value
    return value[np.isfinite(value)]


def seconds(duration_s, rate=RATE):
    return np.arange(round(duration_s * rate)) / rate


def sine(hz, duration_s=1.0, rate=RATE, amplitude=0.5):
    return amplitude * np.sin(2 * np.pi * hz * seconds(duration_s, rate))


def harmonics(f0_hz, rate=RATE, n=8, level=lambda k: 1 / k):
    """A voice-like sum of harmonics; `f0_hz` is an array, one value a sample."""
    phase = 2 * np.pi * np.cumsum(f0_hz) / rate
    return 0.2 * sum(level(k) * np.sin(k * phase) for k in range(1, n + 1))


def noise(rms, duration_s=1.0, rate=RATE, seed=0):
    return rms * np.random.default_rng(seed).standard_normal(round(duration_s * rate))


@pytest.mark.parametrize("name", sorted(MEASURES))
class TestEveryMeasure:
    @pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 48_000])
    def test_measures_speech_at_any_usual_rate(self, name, rate):
        speech = speech_like(rate)
        place, value = MEASURES[name](ClipAnalysis(speech, rate, Span(rate // 5, rate)))
        assert place.shape == value.shape
        assert np.all(np.diff(place) > 0)
        assert np.all((place >= 0) & (place <= 1))
        assert not np.isinf(value).any()
        assert np.isfinite(value).sum() >= 2

    def test_silence_is_not_measurable(self, name):
        value = MEASURES[name](ClipAnalysis(np.zeros(RATE), RATE, Span(0, RATE))).value
        assert not np.isfinite(value).any()

    @pytest.mark.parametrize("n_samples", [1, 2, 80, 400, 1600, 3200])
    def test_a_span_of_any_length_has_a_decided_answer(self, name, n_samples):
        speech = speech_like(RATE)
        value = MEASURES[name](ClipAnalysis(speech, RATE, Span(6000, 6000 + n_samples))).value
        assert not np.isinf(value).any()

    def test_leaves_its_input_alone(self, name):
        speech = speech_like(RATE)
        before = speech.copy()
        MEASURES[name](ClipAnalysis(speech, RATE, whole(speech)))
        np.testing.assert_array_equal(speech, before)

    def test_ignores_what_is_outside_the_span(self, name):
        speech = speech_like(RATE)
        louder = speech.copy()
        louder[:4000], louder[14_000:] = 0.9, -0.9
        span = Span(4000, 14_000)
        for one, other in zip(
            MEASURES[name](ClipAnalysis(speech, RATE, span)),
            MEASURES[name](ClipAnalysis(louder, RATE, span)),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)

    def test_two_equal_channels_are_one(self, name):
        speech = np.rint(speech_like(RATE) * 32767).astype(np.int16)
        one = MEASURES[name](ClipAnalysis(speech, RATE, whole(speech)))
        two = MEASURES[name](ClipAnalysis(np.stack([speech, speech]), RATE, whole(speech)))
        np.testing.assert_array_equal(one.value, two.value)

    def test_pcm_and_float_give_the_same_value(self, name):
        pcm = np.rint(speech_like(RATE) * 32767).astype(np.int16)
        as_float = pcm.astype(np.float32) / np.float32(32768)
        np.testing.assert_array_equal(
            MEASURES[name](ClipAnalysis(pcm, RATE, whole(pcm))).value,
            MEASURES[name](ClipAnalysis(as_float, RATE, whole(pcm))).value,
        )

    @pytest.mark.parametrize("span", [Span(0, 0), Span(-1, 5), Span(0, RATE + 1), Span(9, 3)])
    def test_rejects_a_span_outside_the_clip(self, name, span):
        with pytest.raises(ValueError, match=rf"span \({span[0]}, {span[1]}\)"):
            MEASURES[name](ClipAnalysis(noise(0.1), RATE, span))

    def test_rejects_samples_that_are_not_numbers(self, name):
        samples = noise(0.1)
        samples[5:8] = np.nan
        with pytest.raises(ValueError, match="3 samples are NaN"):
            MEASURES[name](ClipAnalysis(samples, RATE, whole(samples)))

    def test_rejects_a_rate_that_is_none(self, name):
        with pytest.raises(ValueError, match="got 0"):
            MEASURES[name](ClipAnalysis(noise(0.1), 0, Span(0, 10)))


def test_every_category_has_a_cue_from_the_table_of_measures_or_a_keener_one():
    cues = {GRADIENTS[name].cue for name in PUBLISHED_CATEGORIES}
    assert len(cues) == 9
    assert cues - set(MEASURES.values()) == {pace, roll_off}


def test_a_sine_of_half_scale_is_at_minus_nine_db():
    # RMS = 0.5 / √2; 20·log10 of it = -9.03
    np.testing.assert_allclose(measured("level", sine(400)), 20 * np.log10(0.5 / 2**0.5), atol=0.02)


def test_a_gain_ramp_of_twenty_db_has_that_slope():
    n = 2 * RATE
    ramp = noise(0.01, 2.0) * 10 ** (np.linspace(0, 20, n) / 20)
    assert slope(MEASURES["level"](ClipAnalysis(ramp, RATE, Span(0, n)))) == pytest.approx(
        20, abs=0.5
    )


def test_a_glide_of_one_octave_has_twelve_semitones():
    f0 = 110 * 2 ** np.linspace(0, 1, 2 * RATE)
    glide = harmonics(f0)
    track = MEASURES["pitch"](ClipAnalysis(glide, RATE, whole(glide)))
    # the first and the last window have one neighbour, and do not count as lasting
    assert np.isfinite(track.value[1:-1]).all()
    # semitones re 100 Hz at the glide's own places: 12·log2(1.1) + 12·place. The first 25 ms are
    # compared with what follows, so a window sits before its middle by at most 9 ms, 0.05 st.
    expected = 12 * np.log2(1.1) + 12 * track.place
    np.testing.assert_allclose(track.value[1:-1], expected[1:-1], atol=0.15)
    assert slope(track) == pytest.approx(12, abs=0.1)


@pytest.mark.parametrize("f0_hz", [80.0, 140.0, 240.0, 400.0])
@pytest.mark.parametrize("rate", [8_000, 44_100])
def test_no_octave_errors_where_the_second_harmonic_is_strongest(f0_hz, rate):
    voice = harmonics(np.full(rate, f0_hz), rate, level=lambda k: 2.0 if k == 2 else 1 / k)
    np.testing.assert_allclose(measured("pitch", voice, rate), 12 * np.log2(f0_hz / 100), atol=0.1)


def test_noise_has_no_pitch():
    assert measured("pitch", noise(0.1, 3.0)).size < 0.02 * 300


def test_noise_floor_of_white_noise_follows_from_its_level():
    # Power of RMS² spread over 256 bins (half of 512 points), each exponentially distributed:
    # a tenth of them lie below -ln(0.9) = 0.105 of the mean.
    expected = 10 * np.log10(0.1**2 / 256 * -np.log(0.9))
    assert measured("noise_floor", noise(0.1, 4.0)).mean() == pytest.approx(expected, abs=0.3)


def test_noise_floor_sees_noise_between_syllables():
    speech = speech_like(RATE)
    span = Span(4000, 17_000)
    quiet, loud = (
        np.quantile(
            MEASURES["noise_floor"](ClipAnalysis(speech + noise(rms, 1.2), RATE, span)).value, 0.2
        )
        for rms in (0.01, 0.1)
    )
    assert loud - quiet == pytest.approx(20, abs=1)  # ten times the amplitude


def test_snr_of_nothing_but_noise_is_its_mean_over_its_lowest_tenth():
    # 10·log10(1 / 0.105) = 9.8
    snr_db = measured("snr", noise(0.1, 4.0)).mean()
    assert snr_db == pytest.approx(-10 * np.log10(-np.log(0.9)), abs=0.3)


@pytest.mark.parametrize("n_held", [1, 2, 3, 8])
def test_held_samples_last_as_long_as_they_were_held(n_held):
    x = np.rint(noise(3000, rate=48_000))
    held = x[np.arange(x.size) // n_held * n_held] / 32768
    np.testing.assert_allclose(measured("holding", held, 48_000), np.log2(n_held), atol=0.02)


@pytest.mark.parametrize("step", [1, 16, 64, 1024])
def test_the_grid_of_a_signal_has_the_spacing_it_was_given(step):
    x = np.round(noise(3000, 2.0) / step) * step / 32768
    assert np.mean(measured("quantisation_step", x)) == pytest.approx(np.log2(step), abs=0.3)


def test_holding_and_grid_do_not_mistake_one_another():
    held = np.rint(noise(3000))[np.arange(RATE) // 4 * 4] / 32768
    coarse = np.round(noise(3000) / 2048) * 2048 / 32768
    assert np.mean(measured("quantisation_step", held)) < 0.5
    assert measured("holding", coarse).size == 0  # equal neighbours prove nothing there


@pytest.mark.parametrize("rate", [8_000, 48_000])
def test_bandwidth_of_noise_cut_at_two_kilohertz_is_one_octave(rate):
    spectrum = np.fft.rfft(noise(0.1, 2.0, rate))
    hz = np.fft.rfftfreq(2 * rate, 1 / rate)
    cut = np.fft.irfft(np.where(hz < 2000, spectrum, 0))
    # 99 % of the magnitudes lie below 1980 Hz; bins are 16 or 23 Hz wide
    np.testing.assert_allclose(measured("bandwidth", cut, rate), np.log2(1.98), atol=0.06)


def test_high_band_holds_what_lies_above_three_kilohertz():
    np.testing.assert_allclose(measured("high_band_level", sine(4000)), 0, atol=0.1)
    mixed = measured("high_band_level", sine(1000) + 0.01 * sine(4000))
    np.testing.assert_allclose(mixed, -40, atol=0.2)
    assert measured("high_band_level", sine(1000)).size == 0, "nothing is there but rounding"


def test_modulation_of_known_depth():
    # 20 % at 15 Hz: power 0.2²/2; a window of 10 ms flattens it to sinc(0.15)² = 0.93 of that; the
    # soft limit adds 0.1 % of the squared peak, 1.2², to the mean square 1.02
    tremor = 1 + 0.2 * np.sin(2 * np.pi * 15 * seconds(3.0))
    got = measured("modulation", sine(1000, 3.0) * tremor)
    assert np.median(got) == pytest.approx(10 * np.log10(0.02 * 0.93 / 1.0214), abs=0.3)


def test_modulation_does_not_depend_on_level():
    speech = speech_like(RATE)
    np.testing.assert_allclose(
        measured("modulation", speech), measured("modulation", speech / 100), atol=1e-3
    )


@pytest.mark.parametrize("hz", [3, 60])
def test_modulation_outside_its_band_counts_little(hz):
    outside = sine(1000, 3.0) * (1 + 0.2 * np.sin(2 * np.pi * hz * seconds(3.0)))
    assert np.median(measured("modulation", outside)) < -27  # 10 dB and more below the same inside


def test_reverberance_is_the_depth_of_valleys():
    # Tones all over the spectrum, on for 100 ms, then at a tenth of that for 100 ms
    tones = sum(sine(hz, 3.0, amplitude=0.02) for hz in range(350, 7900, 150))
    gate = np.where(seconds(3.0) % 0.2 < 0.1, 1.0, 0.1)
    assert np.median(measured("reverberance", tones * gate)) == pytest.approx(0.1, abs=0.015)


def test_steady_noise_has_no_valleys_to_fill():
    assert measured("reverberance", noise(0.1, 3.0)).size == 0


def test_tempo_doubles_where_the_same_content_takes_half_the_time():
    # 0.8 s at half speed, then 0.4 s: equal content, one octave apart
    rng = np.random.default_rng(1)
    t = seconds(2.4)
    content = np.where(t < 1.6, t / 2, 0.8 + (t - 1.6))
    knots = np.linspace(0, 1.6, 28)
    bands = np.geomspace(200, 6000, 12)
    moving = sum(
        10 ** np.interp(content, knots, rng.uniform(-1.5, 0, knots.size)) * sine(hz, 2.4)
        for hz in bands
    )
    value = MEASURES["tempo"](ClipAnalysis(moving / 12, RATE, whole(moving))).value
    assert value[5:].mean() - value[:3].mean() == pytest.approx(1, abs=0.25)
    # the parts' shares of the time add up to all of it: Σ 2^-v / 8 = 1
    assert np.mean(2.0**-value) == pytest.approx(1)


def test_a_steady_tone_has_no_tempo():
    assert measured("tempo", sine(1000)).size == 0


def test_head_tail_levels():
    samples = np.concatenate([np.full(100, 0.1), np.full(200, 0.9), np.full(100, 0.01)])
    assert head_tail_levels(ClipAnalysis(samples, RATE, Span(100, 300))) == pytest.approx(
        (-20, -40)
    )
    assert np.isnan(head_tail_levels(ClipAnalysis(samples, RATE, Span(0, 400)))).all()


def test_channels_are_averaged():
    left, right = sine(300), sine(300, amplitude=0.1)
    np.testing.assert_allclose(
        speech_of(np.stack([left, right]), RATE, Span(10, 20)), ((left + right) / 2)[10:20]
    )


def test_power_of_a_sine_is_half_its_squared_amplitude():
    _, found = over_spectra(
        sine(1000), RATE, 0.032, 0.016, lambda p, hz: np.stack([p.sum(1), hz[p.argmax(1)]], axis=1)
    )
    np.testing.assert_allclose(found[:, 0], 0.125, rtol=1e-3)
    assert (found[:, 1] == 1000).all()


def test_bands_share_out_all_power_between_their_ends():
    power = np.ones((1, 257))
    bands = band_powers(power, np.linspace(0, 8000, 257), 10, 1000.0, 5000.0)
    assert bands.shape == (1, 10)
    assert bands.sum() == pytest.approx(4000 / 31.25)  # bins of 31.25 Hz
