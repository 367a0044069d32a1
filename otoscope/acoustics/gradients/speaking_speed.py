"""Speaking speed: the span stretched in time; head and tail untouched."""

import math

import librosa
import numpy as np
from jaxtyping import Float

from otoscope.acoustics.gradients.base import Changed, Gradient, Profile, controlled
from otoscope.acoustics.grains import SimilaritySearch, stretch_time
from otoscope.acoustics.measures.voice import pace
from otoscope.acoustics.segments import crossfade_length, join
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.trajectories import CURVES, Trajectory
from otoscope.acoustics.vocoder import short_window

REACH = {"low": 0.20, "mid": 0.30, "high": 0.40}
N_KNOTS = 4097


def paper(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Even segments, each cut out of its stretched context by rounding its bounds down."""
    s = channel.even.segments
    rates = trajectory.per_segment(len(s))
    n_stretched = np.rint(s.context_length / rates).astype(int)
    first = np.minimum(((s.start - s.context_start) / rates).astype(int), n_stretched - 1)
    last = np.minimum(((s.end - s.context_start) / rates).astype(int), n_stretched)
    last = np.maximum(last, first + 1)

    def alone(context: np.ndarray, i: int) -> np.ndarray:
        with short_window(context.size) as sizes:
            stretched = librosa.effects.time_stretch(context, rate=float(rates[i]), **sizes)
        return stretched[first[i] : last[i]]

    # phase vocoder on each context, of which the segment itself is cut out
    pieces = channel.even.by_length(
        lambda long: channel.even.spectra.stretch(rates[long], first[long], last[long]), alone
    )
    return Changed(
        channel.head, join(pieces, crossfade_length(channel.sampling_rate)), channel.tail
    )


def exact(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """WSOLA with grains of 25 ms; the length of the span is exactly the integral of 1 / rate."""
    start, end = channel.span
    n_out = max(1, round(channel.speech.size * float(elapsed(trajectory, np.array([1.0]))[0])))
    # The time map, tabulated: output time of each source time, then inverted by interpolation.
    source = np.linspace(0, 1, N_KNOTS)
    out = elapsed(trajectory, source)
    out *= n_out / out[-1]
    rate = channel.sampling_rate
    waveform = channel.shared("searchable", lambda: SimilaritySearch(channel.samples, rate))
    speech = stretch_time(
        waveform,
        n_out,
        lambda at: start + (end - start) * np.interp(at, out, source),
    )
    return Changed(channel.head, speech, channel.tail)


def elapsed(
    trajectory: Trajectory, source: Float[np.ndarray, " n_places"]
) -> Float[np.ndarray, " n_places"]:
    """Output time of a position in the source, both as fractions of the source's length.

    The integral of 1 / rate over the source, in closed form for the published curves; at 1 it is
    the factor by which the span grows.

    >>> round(float(elapsed(Trajectory(0.5, 2.0, "jump"), np.array([1.0]))[0]), 9)
    1.25
    """
    start, end, curve, _ = trajectory
    change = end - start
    if curve == "jump":
        return np.minimum(source, 0.5) / start + np.maximum(source - 0.5, 0) / end
    if change == 0:
        return source / start
    if curve == "linear":
        return np.log1p(source * change / start) / change
    # a curve that is flat at its end is one that is flat at its start, read backwards
    if curve == "quad_first_flat":
        return _over_a_parabola(start, change, source)
    if curve == "quad_last_flat":
        return _over_a_parabola(end, -change, np.ones(1)) - _over_a_parabola(
            end, -change, 1 - source
        )
    knots = np.linspace(0, 1, N_KNOTS)  # of any other curve: the trapezoid rule
    slowness = 1 / trajectory.at(CURVES[curve](knots))
    steps = (slowness[1:] + slowness[:-1]) / 2 / (N_KNOTS - 1)
    return np.interp(source, knots, np.append(0, np.cumsum(steps)))


def _over_a_parabola(flat: float, change: float, x: np.ndarray) -> np.ndarray:
    """∫ 1 / (flat + change·u²) du from 0 to x: arctan where it grows, artanh where it falls."""
    root = math.sqrt(flat * abs(change))
    way = x * math.sqrt(abs(change) / flat)
    return (np.arctan(way) if change > 0 else np.arctanh(way)) / root


SPEAKING_SPEED = Gradient(
    parameter="rate (1 = unchanged)",
    description="Speech gets faster in an up clip and slower in a down clip; its F0 is unchanged.",
    cue=pace,
    intended=frozenset({"tempo", "duration"}),
    up_ends=lambda tier, sampling_rate, bit_depth: (1 - REACH[tier], 1 + REACH[tier]),
    profiles={"paper": Profile(paper), "controlled": controlled(exact)},
    unavoidable={
        "modulation": "faster speech has a faster envelope",
        "reverberance": "the envelope of faster speech has shorter and shallower valleys",
        **dict.fromkeys(
            ("level", "pitch", "noise_floor", "snr", "bandwidth", "high_band_level"),
            "halves of equal duration hold unequal parts of the sentence",
        ),
    },
)
