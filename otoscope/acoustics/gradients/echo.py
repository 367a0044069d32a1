"""Echo: a Schroeder reverberator mixed in by a share that follows the trajectory."""

from functools import lru_cache

import numpy as np
from jaxtyping import Float32
from scipy import signal

from otoscope.acoustics.gradients.base import Changed, Gradient, Profile, controlled, split_at_span
from otoscope.acoustics.gradients.reasons import FILLS_SPECTRUM
from otoscope.acoustics.loudness import level_gain, match_gain, rms
from otoscope.acoustics.measures.envelope import reverberance
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.trajectories import Trajectory

ROOM = {"low": 0.55, "mid": 0.75, "high": 0.90}
WETTEST = {"low": 0.28, "mid": 0.40, "high": 0.52}
RESPONSE_S = 1.5
COMB_MS = (29.7, 37.1, 41.1, 43.7)
COMB_FEEDBACK = (0.805, 0.827, 0.783, 0.764)
ALL_PASS_MS = (5.0, 1.7)
ALL_PASS_GAIN = 0.7
NEGLIGIBLE = 1e-8
LEVEL_S = 0.5


def delay_of(ms: float, sampling_rate: int) -> int:
    """A delay in samples, at least one.

    >>> [delay_of(ms, 48_000) for ms in COMB_MS + ALL_PASS_MS]
    [1426, 1781, 1973, 2098, 240, 82]
    """
    return max(1, round(ms * sampling_rate / 1000))


@lru_cache(maxsize=32)
def impulse_response(sampling_rate: int, room: float) -> Float32[np.ndarray, " n_samples"]:
    """1.5 s of four feedback combs in parallel, averaged, and two all-passes in series."""
    # Schroeder (1962), "Natural sounding artificial reverberation": parallel combs give the decay,
    # all-passes in series the echo density; `room` scales all feedback gains
    impulse = np.zeros(round(RESPONSE_S * sampling_rate), np.float32)
    impulse[0] = 1
    combs = [
        _comb(impulse, delay_of(ms, sampling_rate), np.float32(feedback * room))
        for ms, feedback in zip(COMB_MS, COMB_FEEDBACK, strict=True)
    ]
    response = np.stack(combs).mean(axis=0, dtype=np.float64).astype(np.float32)
    # a gain this small changes no sample in float32, so the two filters are skipped
    gain = np.float32(ALL_PASS_GAIN * room)
    if abs(gain) >= NEGLIGIBLE:
        for ms in ALL_PASS_MS:
            response = _all_pass(response, delay_of(ms, sampling_rate), gain)
    response.setflags(write=False)
    return response


def _comb(x: np.ndarray, delay: int, gain: np.float32) -> np.ndarray:
    """y[n] = x[n] + gain·y[n − delay], one delay at a time."""
    y = x.copy()
    for n in range(delay, y.size, delay):
        block = y[n : n + delay]
        block += gain * y[n - delay : n][: block.size]
    return y


def _all_pass(x: np.ndarray, delay: int, gain: np.float32) -> np.ndarray:
    """y[n] = −gain·x[n] + v[n − delay] with v[n] = x[n] + gain·y[n], one delay at a time."""
    y = -gain * x
    for n in range(delay, y.size, delay):
        block = y[n : n + delay]
        before = slice(n - delay, n - delay + block.size)
        block += x[before] + gain * y[before]
    return y


def paper(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Dry and wet mixed sample by sample; the wet clip has the RMS of the dry one."""
    wet = channel.shared(("wet", tier), lambda: _wet(channel, ROOM[tier]))
    mix = trajectory.per_sample(channel.samples.size, *channel.span).astype(np.float32)
    changed = (1 - mix) * channel.samples + mix * wet
    return split_at_span(changed, channel.span)


def _wet(channel: SourceChannel, room: float) -> np.ndarray:
    response = impulse_response(channel.sampling_rate, room)
    wet = signal.fftconvolve(channel.samples.astype(np.float64), response)[: channel.samples.size]
    wet = wet.astype(np.float32)
    return wet * match_gain(rms(channel.samples), rms(wet))


def level(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """The same mixture at the short-time level of the dry clip.

    Matched over half a second: long enough to keep the envelope's valleys filled, short enough for
    the level to be the same in both directions.
    """
    wet = channel.shared(("wet", tier), lambda: _wet(channel, ROOM[tier]))
    rate = channel.sampling_rate
    mix = trajectory.at(channel.glide(trajectory.curve))
    changed = channel.samples + mix * (wet - channel.samples)
    return split_at_span(
        changed * level_gain(changed, channel.samples, rate, LEVEL_S), channel.span
    )


def applied(wet: float, tier: str, sampling_rate: int) -> dict[str, float]:
    """The wet share, and the room's scale, which is the same all through a clip."""
    return {"wet share": wet, "room scale": ROOM[tier]}


ECHO = Gradient(
    parameter="wet share",
    description="The share of reverberation in the mixture grows in an up clip and shrinks in a "
    "down clip.",
    cue=reverberance,
    intended=frozenset({"modulation", "tail"}),
    up_ends=lambda tier, sampling_rate, bit_depth: (0.0, WETTEST[tier]),
    profiles={
        "paper": Profile(paper, per_sample=True, applied=applied),
        "controlled": controlled(level, applied=applied),
    },
    unavoidable={
        **dict.fromkeys(("noise_floor", "snr", "bandwidth", "high_band_level"), FILLS_SPECTRUM),
        "tempo": "reverberation smears the spectral movement that tempo is measured by",
        "pitch": "reverberation carries over earlier F0, and F0 declines over an utterance",
    },
)
