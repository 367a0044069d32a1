"""Pictures: what is where, one scale for what is compared, and nothing that leaks into a page."""

import re

import numpy as np
import pytest

from builders.vocalgrad.pages.clip_figures import (
    N_BANDS,
    RANGE_DB,
    Curve,
    Scales,
    clip_figure,
    mel,
    spectrogram_of,
)

RATE = 16_000


def tone(hz, seconds=0.5, amplitude=0.5, rate=RATE):
    return amplitude * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)


@pytest.mark.parametrize("hz", [150.0, 1000.0, 5000.0])
def test_a_tone_is_brightest_in_the_band_of_its_frequency(hz):
    level = spectrogram_of(tone(hz), RATE).level_db.mean(axis=1)
    assert abs(level.argmax() - N_BANDS * mel(hz) / mel(RATE / 2)) <= 1.5


def test_ten_times_the_amplitude_is_twenty_decibels():
    soft, loud = (spectrogram_of(tone(1000, amplitude=a), RATE).level_db.max() for a in (0.05, 0.5))
    assert loud - soft == pytest.approx(20, abs=0.01)


def test_a_full_scale_sine_is_about_zero_decibels_where_bins_are_wider_than_bands():
    assert spectrogram_of(tone(1000, amplitude=1.0), RATE).level_db.max() == pytest.approx(0, abs=1)


@pytest.mark.parametrize("n_samples", [1, 7, 400])
def test_very_short_and_silent_clips_have_a_spectrogram(n_samples):
    level = spectrogram_of(np.zeros(n_samples), RATE).level_db
    assert np.isfinite(level).all()
    assert level.max() < -RANGE_DB


def test_a_long_clip_has_a_bounded_picture():
    assert spectrogram_of(np.zeros(RATE * 60), RATE).level_db.shape[1] < 500


def test_a_figure_is_one_svg_whose_ink_is_the_page_s_and_that_styles_nothing_else():
    text = clip_figure(
        tone(440), RATE, span_s=(0.1, 0.4),
        curve=Curve(np.array([0.1, 0.4]), np.array([-6.0, 48_000.0]), "gain"), alt='a "tone" <b>',
    )  # fmt: skip
    assert text.startswith("<svg")
    assert text.count("<svg") == text.count("</svg>") == 1
    assert "currentColor" in text
    assert 'aria-label="a &#34;tone&#34; &lt;b&gt;"' in text
    assert not re.search(r"<style|<script|<metadata|#010203|<b>", text)
    assert "48k" in text
    assert "−6" in text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_the_same_clip_gives_the_same_picture():
    assert clip_figure(tone(440), RATE, alt="") == clip_figure(tone(440), RATE, alt="")


def test_a_softer_clip_is_darker_on_a_shared_scale_and_not_on_its_own():
    loud, soft = tone(440, amplitude=0.5), tone(440, amplitude=0.005)
    shared = Scales(loudest_db=spectrogram_of(loud, RATE).level_db.max(), peak=0.5)

    def image(samples, scales):
        text = clip_figure(samples, RATE, scales=scales, alt="")
        return re.search(r"data:image/png;base64,[\w+/=]+", text).group()

    assert image(loud, Scales()) == image(soft, Scales())
    assert image(loud, shared) != image(soft, shared)
