"""What a call costs, worked by hand; unknown where a price that it needs is."""

import pytest

from otoscope.models.prices import Price


def price(audio_in=10.0, rate=25.0):
    return Price("m", "", "2026-11-01", "USD", 2.0, 4.0, audio_in, rate, "")


def test_audio_tokens_are_priced_apart():
    usage = {"prompt_tokens": 1_100, "completion_tokens": 50,
             "prompt_tokens_details": {"audio_tokens": 1_000}}  # fmt: skip
    # 100 text at 2, 1,000 audio at 10, 50 out at 4, each a million
    assert price().cost(usage, 40.0) == pytest.approx((200 + 10_000 + 200) / 1e6)


def test_audio_that_is_not_counted_is_taken_from_the_rate():
    usage = {"prompt_tokens": 1_100, "completion_tokens": 0}
    assert price().cost(usage, 40.0) == pytest.approx((100 * 2 + 1_000 * 10) / 1e6)


@pytest.mark.parametrize("n_in", [0, 1_100])
def test_audio_without_a_price_costs_nobody_knows_what(n_in):
    usage = {"prompt_tokens": n_in, "completion_tokens": 5}
    assert price(audio_in=None).cost(usage, 40.0) is None
