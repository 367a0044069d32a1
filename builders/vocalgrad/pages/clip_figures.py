"""Figures of clips: waveform, spectrogram and parameter curve, as inline SVG.

Lines and text are `currentColor`, so they follow the page's dark mode; text stays text, so it is
sharp at every size and can be searched.
"""

import base64
import io
import re
from dataclasses import dataclass
from typing import NamedTuple

import matplotlib
import numpy as np
from jaxtyping import Float
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

RANGE_DB = 75.0
STEP_DB = 1.5  # levels are drawn in such steps: invisible, and it halves the size of a picture
N_BANDS = 144
WINDOW_S = 0.032
HOP_S = 0.008
MAX_FRAMES = 480
N_WAVE_POINTS = 300
TICKS_HZ = (500.0, 1000.0, 2000.0, 4000.0, 8000.0, 16_000.0)
COLOURS = "magma"
INK = "#010203"  # stands for currentColor while matplotlib draws
MARK = "#2a9d8f"
MARGINS = (0.135, 0.985)  # where the time axis begins and ends, as shares of a picture's width
WIDTH_IN, ROW_IN = 4.0, {"wave": 0.45, "spectrogram": 1.55, "curve": 0.75}


@dataclass(frozen=True)
class Spectrogram:
    """Levels over time and frequency; bands are evenly spaced on the mel scale.

    Attributes:
        level_db: `(n_bands, n_frames)`, mean power in each band, 0 dB for a full-scale sine.
        top_hz: Upper edge of the highest band.
        duration_s: Length of the clip.
    """

    level_db: Float[np.ndarray, "n_bands n_frames"]
    top_hz: float
    duration_s: float


@dataclass(frozen=True)
class Curve:
    """A parameter over time: seconds, values, and its name with its unit."""

    times_s: Float[np.ndarray, " n_points"]
    values: Float[np.ndarray, " n_points"]
    name: str


class Scales(NamedTuple):
    """What clips that are to be compared by eye must share; None takes it from the clip itself.

    Attributes:
        duration_s: Length of the time axis.
        loudest_db: Level of the brightest colour; `RANGE_DB` below it is the darkest.
        peak: Full height of the waveform.
    """

    duration_s: float | None = None
    loudest_db: float | None = None
    peak: float | None = None


ALONE = Scales()


def mel(frequency_hz: np.ndarray | float) -> np.ndarray:
    """Hertz to mel, O'Shaughnessy's formula.

    >>> float(mel(1000.0).round())
    1000.0
    """
    return np.asarray(2595 * np.log10(1 + np.asarray(frequency_hz) / 700))


def spectrogram_of(samples: Float[np.ndarray, " n_samples"], sampling_rate: int) -> Spectrogram:
    """The spectrogram of a mono waveform, up to half its sampling rate.

    Args:
        samples: In [-1, 1); at least one.
        sampling_rate: In Hz.
    """
    window = max(16, round(WINDOW_S * sampling_rate))
    hop = max(1, round(HOP_S * sampling_rate), -(-samples.size // MAX_FRAMES))
    padded = np.pad(samples.astype(np.float64), window // 2)
    taper = np.hanning(window + 2)[1:-1]
    frames = np.lib.stride_tricks.sliding_window_view(padded, window)[::hop]
    spectrum = np.abs(np.fft.rfft(frames * taper, n=2 * window)) * (2 / taper.sum())
    frequency = np.fft.rfftfreq(2 * window, 1 / sampling_rate)
    power = _band_means(spectrum.T**2, frequency)
    level = 10 * np.log10(np.maximum(power, 1e-20))
    return Spectrogram(level, sampling_rate / 2, samples.size / sampling_rate)


def _band_means(
    power: Float[np.ndarray, "n_bins n_frames"], frequency: Float[np.ndarray, " n_bins"]
) -> Float[np.ndarray, "n_bands n_frames"]:
    """Mean power between neighbouring band edges, which may be closer than two bins."""
    edges = 700 * (10 ** (np.linspace(0, mel(frequency[-1]), N_BANDS + 1) / 2595) - 1)
    steps = np.diff(frequency)[:, None]
    area = np.vstack([np.zeros(power.shape[1]), np.cumsum(steps * (power[1:] + power[:-1]) / 2, 0)])
    position = np.interp(edges, frequency, np.arange(frequency.size))
    below = np.minimum(position.astype(int), frequency.size - 2)
    share = (position - below)[:, None]
    at_edges = (1 - share) * area[below] + share * area[below + 1]
    return np.maximum(np.diff(at_edges, axis=0) / np.diff(edges)[:, None], 0)


def clip_figure(
    samples: Float[np.ndarray, " n_samples"],
    sampling_rate: int,
    *,
    spectrogram: Spectrogram | None = None,
    span_s: tuple[float, float] | None = None,
    curve: Curve | None = None,
    value_range: tuple[float, float] | None = None,
    scales: Scales = ALONE,
    alt: str,
) -> Markup:
    """Waveform, spectrogram and, below, the parameter curve of one clip.

    Args:
        samples: Mono waveform.
        sampling_rate: In Hz.
        spectrogram: Its spectrogram, if that has been computed already.
        span_s: Marked with two lines.
        curve: Drawn under the spectrogram on the same time axis.
        value_range: Least and greatest value of the curve's axis.
        scales: Shared with the clips it is compared with.
        alt: What the picture shows, for those who cannot see it.
    """
    spectrogram = spectrogram or spectrogram_of(samples, sampling_rate)
    rows = ["wave", "spectrogram", *(["curve"] if curve else [])]
    heights = [ROW_IN[row] for row in rows]
    figure = Figure(figsize=(WIDTH_IN, sum(heights) + 0.42), facecolor="none")
    grid = figure.add_gridspec(
        len(rows), 1, height_ratios=heights, hspace=0.08,
        left=MARGINS[0], right=MARGINS[1], top=0.995, bottom=0.36 / (sum(heights) + 0.42),
    )  # fmt: skip
    axes = [figure.add_subplot(grid[i]) for i in range(len(rows))]
    _draw_wave(axes[0], samples, sampling_rate, scales.peak)
    _draw_spectrogram(axes[1], spectrogram, scales.loudest_db)
    if curve:
        _draw_curve(axes[2], curve, value_range)
    for axis in axes:
        _plain(axis, last=axis is axes[-1])
        axis.set_xlim(0, scales.duration_s or spectrogram.duration_s)
        for time in span_s or ():
            axis.axvline(time, color=MARK, linewidth=1.4, linestyle=(0, (4, 2)))
    axes[-1].set_xlabel("seconds", fontsize=9, color=INK, labelpad=1)
    return svg(figure, alt)


def _draw_wave(axis: Axes, samples: np.ndarray, sampling_rate: int, peak: float | None) -> None:
    low, high = envelope(samples, N_WAVE_POINTS)
    times = (np.arange(low.size) + 0.5) * (samples.size / low.size / sampling_rate)
    axis.fill_between(times, low, high, color=INK, linewidth=0.4, alpha=0.75)
    limit = peak or float(np.abs(samples).max()) or 1.0
    axis.set_ylim(-limit, limit)
    axis.set_yticks([])


def _draw_spectrogram(axis: Axes, spectrogram: Spectrogram, loudest_db: float | None) -> None:
    top = spectrogram.level_db.max() if loudest_db is None else loudest_db
    steps = np.round((spectrogram.level_db - top) / STEP_DB) * STEP_DB
    axis.imshow(
        steps, origin="lower", aspect="auto", cmap=COLOURS, vmin=-RANGE_DB, vmax=0,
        extent=(0, spectrogram.duration_s, 0, float(mel(spectrogram.top_hz))), interpolation="none",
    )  # fmt: skip
    ticks = [hz for hz in TICKS_HZ if hz <= spectrogram.top_hz]
    axis.set_yticks(mel(np.array(ticks)), [_short(hz) for hz in ticks])
    axis.set_facecolor("black")


def _draw_curve(axis: Axes, curve: Curve, value_range: tuple[float, float] | None) -> None:
    low, high = value_range or (float(np.min(curve.values)), float(np.max(curve.values)))
    room = 0.12 * (high - low) or 1.0
    axis.plot(curve.times_s, curve.values, color=MARK, linewidth=2)
    axis.set_ylim(low - room, high + room)
    axis.set_yticks([low, high] if high > low else [low], labels=None)
    axis.yaxis.set_major_formatter(lambda value, _: _short(float(value)))


def _short(value: float) -> str:
    """A number for a narrow margin: 48 000 is 48k, and a minus is as wide as a plus."""
    text = f"{value / 1000:.3g}k" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−")


def _plain(axis: Axes, *, last: bool) -> None:
    axis.tick_params(colors=INK, labelcolor=INK, labelsize=8.5, length=2.5, pad=2)
    if not last:
        axis.set_xticks([])
    for side, spine in axis.spines.items():
        spine.set_color(INK)
        spine.set_linewidth(0.6)
        spine.set_visible(side in ("left", "bottom"))
    axis.patch.set_alpha(0)


def envelope(
    samples: Float[np.ndarray, " n_samples"], n_points: int
) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest sample in each of at most `n_points` stretches of even length.

    >>> low, high = envelope(np.array([0.0, 0.5, -0.25, 0.25]), 2)
    >>> low.tolist(), high.tolist()
    ([0.0, -0.25], [0.5, 0.25])
    """
    edges = np.linspace(0, samples.size, min(n_points, samples.size) + 1).astype(int)[:-1]
    return np.minimum.reduceat(samples, edges), np.maximum.reduceat(samples, edges)


def svg(figure: Figure, alt: str) -> Markup:
    """A matplotlib figure as inline SVG that scales with the page and takes its ink from it."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "otoscope"}):
        figure.savefig(buffer, format="svg", transparent=True)
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"<(metadata|style).*?</\1>", "", text, flags=re.DOTALL)  # would reach the page
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # and so would names that every figure has
    text = re.sub(r"\s*\n\s*", " ", text)
    text = re.sub(r"(\d\.\d\d)\d+", r"\1", text)
    text = re.sub(r"(data:image/png;base64,)([\w+/=\s]+)", _with_palette, text)
    view = re.search(r'viewBox="[^"]*"', text)
    assert view is not None
    opening = Markup('<svg class="figure" role="img" aria-label="{}" ').format(alt)
    body = text[text.index(">") + 1 :]
    return opening + Markup(view.group(0) + ">" + body)


def _with_palette(found: re.Match[str]) -> str:
    """The same picture in a third of the bytes: it has few colours."""
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(found.group(2)))) as image:
        few = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(buffer, "PNG", optimize=True)
    return found.group(1) + base64.b64encode(buffer.getvalue()).decode()
