"""The last samples of a span shifted in pitch, where the resampler gives one sample too few."""

import numpy as np
import plain_gradients
import pytest

from otoscope.acoustics.design import TIERS, Condition
from otoscope.acoustics.gradients.voice_pitch import REACH_SEMITONES
from otoscope.acoustics.rendering import SourceRenderer
from otoscope.acoustics.spans import Span

START = 400


def one_too_few(rate, semitones):
    """Length of a span whose last context comes back from the resampler one sample short."""
    step = round(0.05 * rate)
    ratio = 2 ** (-semitones / 12)
    for rest in range(step // 3, step):
        length = step + rest  # a last segment of `rest` samples and the whole one before it
        if round(round(length / ratio) * ratio) < length:
            return 2 * step + rest
    return None


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000, 48_000])
def test_a_span_ends_as_in_the_reference(rate):
    loud = 0.3 * np.random.default_rng(0).standard_normal(rate).clip(-3, 3)
    pcm = np.rint(loud * 32767).astype(np.int16)[None]
    n_cases = 0
    for tier in TIERS:
        for direction, sign in (("up", 1), ("down", -1)):
            n_span = one_too_few(rate, sign * REACH_SEMITONES[tier])
            if n_span is None:
                continue
            condition, span = Condition(tier, "linear", direction), Span(START, START + n_span)
            made = SourceRenderer(pcm, rate, span).render("voice_pitch", condition, clip_id="a")
            wanted, _ = plain_gradients.render(pcm, rate, span, "voice_pitch", *condition, "a")
            speech = slice(START, made.span.end)
            error = made.to_pcm().pcm[0, speech].astype(float) - wanted[0, speech]
            assert wanted[0, made.span.end - 1] == 0  # librosa fills up with zeros
            assert abs(error[-1]) <= 1
            assert np.mean(error**2) <= 1e-7 * np.mean(wanted[0, speech].astype(float) ** 2)
            n_cases += 1
    assert n_cases >= 2
