"""Measures that share spectra and tracks have the values that they have alone."""

import numpy as np
import pytest
from synthetic_speech import speech_pcm

from otoscope.acoustics.confounds import measured_in
from otoscope.acoustics.contrasts import contrasts
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import MEASURES, ClipAnalysis, analysis, levels
from otoscope.acoustics.measures.base import over_spectra, quantile
from otoscope.acoustics.measures.levels import roll_off
from otoscope.acoustics.measures.voice import pace
from otoscope.acoustics.spans import Span

ALL = (*MEASURES.values(), pace, roll_off)

VALUES = {
    "level": 0.7691926, "tempo": -0.010921593, "pitch": 1.3632578, "noise_floor": 3.2540357,
    "holding": -4.1855249e-05, "quantisation_step": 0.058881493,
    "high_band_level": -0.56863823, "edges": -0.10188515, "duration": 1.65,
}  # fmt: skip
"""Of two seconds at 24 kHz, by version 0.2.0, in which each measure had spectra of its own."""


def clip(rate=24_000):
    return speech_pcm(rate, 2.0), rate, Span(rate // 5, int(1.85 * rate))


def test_contrasts_are_those_of_the_version_that_shared_nothing():
    assert contrasts(ClipAnalysis(*clip()), VALUES).value == pytest.approx(VALUES, rel=1e-6)


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000, 48_000])
@pytest.mark.parametrize("order", [1, -1])
def test_shared_and_alone_are_the_same(rate, order):
    shared = ClipAnalysis(*clip(rate))
    for measure in ALL[::order]:
        for one, other in zip(
            shared.once(measure), measure(ClipAnalysis(*clip(rate))), strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_what_is_shared_is_computed_once(monkeypatch):
    made, tracked = [], []

    def counted(*arguments):
        made.append(arguments[2])
        return over_spectra(*arguments)

    def pitch(clip):
        tracked.append(clip)
        return MEASURES["pitch"](clip)

    monkeypatch.setattr(analysis, "over_spectra", counted)
    shared = ClipAnalysis(*clip())
    for _ in range(2):
        shared.once(GRADIENTS["echo"].cue)
        shared.once(pitch)
        contrasts(shared, measured_in("echo"))
    # windows of 20 ms for echo, 28 ms for tempo, 32 ms for level of the floor and of the high
    # band, 50 ms for bandwidth: four lengths, four computations
    assert sorted(made) == [0.02, 0.028, 0.032, 0.05]
    assert len(tracked) == 1


@pytest.mark.parametrize("highest_hz", [np.inf, 2000.0])
@pytest.mark.parametrize(
    ("rate", "length_s", "hop_s"), [(16_000, 0.032, 0.016), (44_100, 0.05, 0.01)]
)
def test_spectra_are_those_of_the_formula(rate, length_s, hop_s, highest_hz):
    speech = np.random.default_rng(0).standard_normal(rate)
    length, hop = round(length_s * rate), round(hop_s * rate)
    # |DFT of the windowed samples|² · 2 / (n_fft · sum of the window's squares), n_fft a power of 2
    taper = np.hanning(length + 2)[1:-1]
    n_fft = 2 ** int(np.ceil(np.log2(length)))
    starts = range(0, rate - length + 1, hop)
    plain = np.array(
        [np.abs(np.fft.rfft(speech[s : s + length] * taper, n_fft)) ** 2 for s in starts]
    )
    plain *= 2 / (n_fft * np.sum(taper**2))
    place, power = over_spectra(speech, rate, length_s, hop_s, lambda p, hz: p, highest_hz)
    _, hz = over_spectra(speech, rate, length_s, hop_s, lambda p, hz: 0 * p + hz, highest_hz)
    n_bins = n_fft // 2 + 1 if highest_hz == np.inf else int(np.ceil(2000 * n_fft / rate)) + 1
    np.testing.assert_allclose(power, plain[:, :n_bins], rtol=1e-3, atol=1e-9)
    np.testing.assert_allclose(hz[0], np.arange(n_bins) * rate / n_fft)
    np.testing.assert_allclose(place, (np.array(starts) + length / 2) / rate)


@pytest.mark.parametrize("n", [1, 2, 3, 20, 391])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.1, 0.5, 0.95, 1.0])
def test_quantiles_are_those_of_numpy(n, share):
    values = np.random.default_rng(n).standard_normal((7, n))
    found = quantile(np.sort(values, axis=1), share)
    np.testing.assert_array_equal(found, np.quantile(values, share, axis=1))


def test_whole_steps_and_others_are_measured_alike():
    # a gain takes samples off the 16-bit grid, where they are compared in double precision
    pcm, rate, span = clip()
    on_grid = ClipAnalysis(pcm, rate, span)
    off_grid = ClipAnalysis(pcm[0] / 32768 * 0.99, rate, span)
    held = [MEASURES["holding"](c).value for c in (on_grid, off_grid)]
    np.testing.assert_allclose(*held, atol=1e-12)


def test_bandwidth_leaves_out_what_is_faint_and_roll_off_does_not():
    # tones at 1 kHz and, 36 dB below, at 6 kHz, which has 1.6 % of the summed magnitudes: the place
    # below which 99 % lie is at the faint tone, or at the strong one if the faint one is left out
    t = np.arange(16_000) / 16_000
    both = 0.5 * (np.sin(2 * np.pi * 1000 * t) + 10 ** (-36 / 20) * np.sin(2 * np.pi * 6000 * t))
    whole = ClipAnalysis(both, 16_000, Span(0, t.size))
    # octaves re 1 kHz: log2(6) = 2.585, and log2(1) = 0
    np.testing.assert_allclose(roll_off(whole).value, np.log2(6), atol=0.02)
    np.testing.assert_allclose(MEASURES["bandwidth"](whole).value, 0, atol=0.05)


@pytest.mark.parametrize("rate", [8_000, 24_000])
@pytest.mark.parametrize(
    "silent", [slice(0, 1), slice(1, 2), slice(2, 3)], ids=["start", "middle", "end"]
)
@pytest.mark.parametrize("measure", [MEASURES["tempo"], pace])
def test_parts_of_equal_content_last_as_long_as_the_span(rate, silent, measure):
    # 8 parts, of which one with speed v octaves over the mean takes 2 ** -v eighths; digital
    # silence, in which nothing moves, is part of the time as well
    pcm = speech_pcm(rate, 3.0)
    pcm[:, silent.start * rate : silent.stop * rate] = 0
    speed = measure(ClipAnalysis(pcm, rate, Span(0, 3 * rate))).value
    assert np.sum(2.0**-speed) == pytest.approx(8)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 500])
@pytest.mark.parametrize("share", [0.5, 0.99, 1.0])
def test_the_place_of_a_share_is_that_of_the_running_sum(n, share):
    values = np.random.default_rng(n).integers(0, 9, (50, n)).astype(float)
    values[0] = 0
    plain = [int(np.sum(np.cumsum(row) < share * row.sum())) for row in values]
    np.testing.assert_array_equal(levels._place_of(share, values), plain)


@pytest.mark.parametrize("measure", [MEASURES["noise_floor"], MEASURES["snr"]])
def test_a_rate_too_low_for_a_noise_floor_has_none(measure):
    noise = np.random.default_rng(0).integers(-999, 999, (1, 1200)).astype(np.int16)
    assert np.isnan(measure(ClipAnalysis(noise, 400, Span(0, 1200))).value).all()
