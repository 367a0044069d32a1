"""One page of waveforms with their spans, on which a person corrects them by ear and eye."""

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soxr

from builders.corpora.base import SourceClip
from builders.vocalgrad.pages.clip_figures import envelope
from builders.vocalgrad.planning.plan import SurveyedClip
from builders.vocalgrad.planning.survey import DROPPED, Survey
from otoscope.acoustics import codec
from otoscope.reports.writing import data_uri, render, write

TEMPLATES = Path(__file__).parent / "templates"
MOST_WITH_AUDIO = 300
AUDIO_HZ = 16_000
N_POINTS = 500
HEIGHT = 100  # of a waveform's drawing units
ORDER = {"rejected": 0, "doubtful": 1, "fine": 2}


def write_spans_page(
    out: Path, sources: Sequence[SourceClip], seen: Survey, *, with_audio: bool | None = None
) -> None:
    """Writes the page: rejected sources first, then those in doubt, then the rest.

    The page saves a CSV that `read_corrections` reads. It holds what a person changed, and what
    earlier corrections had changed before, so that it replaces the earlier file. A clip id that
    is in two splits is one row, since a correction names nothing but the clip id.

    Args:
        out: The HTML file.
        sources: What was surveyed.
        seen: What the survey made of them.
        with_audio: Whether the page carries the clips (mono, 16 kHz); by default up to 300 sources.
    """
    distinct = {source.clip_id: source for source in reversed(sources)}
    listed = [distinct[name] for name in dict.fromkeys(source.clip_id for source in sources)]
    with_audio = len(listed) <= MOST_WITH_AUDIO if with_audio is None else with_audio
    surveyed = {s.source.clip_id: s for s in reversed(seen.sources)}
    rejected = {skipped.name: skipped.reason for skipped in (*seen.rejected, *seen.dropped)}
    doubtful = {skipped.name: skipped.reason for skipped in reversed(seen.doubtful)}
    rows = [
        _row(source, surveyed.get(source.clip_id), rejected, doubtful, with_audio=with_audio)
        for source in listed
    ]
    rows.sort(key=lambda row: ORDER[row["state"]])
    spans = [
        {key: row[key] for key in ("clip_id", "onset", "offset", "drop", "known", "duration")}
        for row in rows
    ]
    values = {
        "title": "Spans of speech",
        "rows": rows,
        "spans": spans,
        "n_of": {state: sum(row["state"] == state for row in rows) for state in ORDER},
        "with_audio": with_audio,
        "most_with_audio": MOST_WITH_AUDIO,
        "audio_megabytes": sum(len(row["audio"]) for row in rows) / 1e6,
        "list_id": hashlib.sha256(json.dumps(spans).encode()).hexdigest(),
        "height": HEIGHT,
        "n_points": N_POINTS,
    }
    write(out, render("spans.html.jinja", values, folder=TEMPLATES))


def _row(
    source: SourceClip,
    surveyed: SurveyedClip | None,
    rejected: dict[str, str],
    doubtful: dict[str, str],
    *,
    with_audio: bool,
) -> dict[str, Any]:
    """What the page shows of one source; times in seconds, None where there is none."""
    reason = rejected.get(source.clip_id) if surveyed is None else doubtful.get(source.clip_id)
    row: dict[str, Any] = {
        "clip_id": source.clip_id,
        "source": source,
        "state": "rejected" if surveyed is None else "doubtful" if reason else "fine",
        "reason": (reason or "").removeprefix(f"{source.path}: "),
        "origin": surveyed.span_origin if surveyed else "",
        "drop": surveyed is None and DROPPED in (reason or ""),
        "onset": None,
        "offset": None,
        "duration": None,
        "wave": "",
        "audio": "",
    }
    row["known"] = row["drop"] or row["origin"] == "corrected"
    if surveyed:
        rate = surveyed.sampling_rate
        row["onset"], row["offset"] = (_down(t / rate) for t in surveyed.span)
    try:
        recording = codec.read(source.path)
    except codec.AudioError:
        return row
    mono = codec.to_float(recording.pcm).mean(axis=0)
    row |= {"duration": _down(recording.duration_s), "wave": wave_path(mono)}
    if with_audio:
        row["audio"] = data_uri(_small(mono, recording.sampling_rate), "audio/flac")
    return row


def wave_path(samples: np.ndarray) -> str:
    """An SVG path of the waveform's envelope, `N_POINTS` wide and `HEIGHT` high, at full height.

    >>> wave_path(np.array([0.5, -0.5]))
    'M0 0V50M250 50V100'
    """
    low, high = envelope(samples, N_POINTS)
    peak = max(float(np.abs(samples).max()), 1e-9)
    middle = HEIGHT / 2
    top, bottom = (np.rint(middle - middle * x / peak).astype(int) for x in (high, low))
    top = np.minimum(top, HEIGHT // 2)
    bottom = np.maximum(bottom, np.maximum(HEIGHT // 2, top + 1))  # silence shows as a line
    x = np.arange(low.size) * N_POINTS // low.size
    return "".join(f"M{i} {a}V{b}" for i, a, b in zip(x, top, bottom, strict=True))


def _small(mono: np.ndarray, sampling_rate: int) -> bytes:
    if sampling_rate != AUDIO_HZ:
        mono = soxr.resample(mono, sampling_rate, AUDIO_HZ)
    if mono.size == 0:  # shorter than one sample at the new rate
        mono = np.zeros(1, np.float32)
    return codec.encode_flac(codec.truncate_to_pcm(mono[None, :]).pcm, AUDIO_HZ)


def _down(seconds: float) -> float:
    """To the microsecond, never beyond the end of the clip."""
    return math.floor(seconds * 1e6 + 1e-3) / 1e6
