"""The detector's numbers for every source, as the published pipeline writes them, with histograms.

Source: VocalGrad, section 3.2; names of columns and the 25 bins are in the authors' data.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from builders.corpora.base import SourceClip
from otoscope.acoustics import codec
from otoscope.acoustics.spans import Detection, detect
from otoscope.atomic import write_atomic
from otoscope.reports.tables import csv_text
from otoscope.reports.writing import write

TABLE, SUMMARY, HISTOGRAMS = "selected_clip_onset_times.csv", "summary.json", "histograms.svg"
COLUMNS = (
    "test_item_id", "clip_id", "speaker_id", "sentence_id", "audio_path", "detected", "onset_sec",
    "offset_sec", "speech_duration_sec", "num_segments", "threshold", "noise_floor", "peak_rms",
)  # fmt: skip
N_BINS = 25
SHOWN = {"onset_sec": "onset (s)", "offset_sec": "offset (s)"}


def write_spans_export(
    folder: Path, sources: Sequence[SourceClip], on_source: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Writes the table, the histograms of onset and offset, and the summary; returns the last.

    The numbers are those of the published detector, before any policy or correction. A source that
    cannot be read is named in the summary.
    """
    rows, unreadable = [], {}
    for source in sources:
        try:
            rows.append(detection_row(source))
        except codec.AudioError as error:
            unreadable[source.clip_id] = str(error)
        on_source()
    summary = summary_of(rows) | {"unreadable": unreadable}
    write(folder / TABLE, csv_text(COLUMNS, rows))
    write(folder / SUMMARY, json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    write_atomic(folder / HISTOGRAMS, lambda path: _draw(summary["histograms"], path))
    return summary


def detection_row(source: SourceClip) -> dict[str, Any]:
    """One line of the table; times in seconds, levels as RMS of the pre-emphasised frames.

    Raises:
        AudioError: It cannot be read.
    """
    recording = codec.read(source.path)
    found = detect(codec.to_float(recording.pcm), recording.sampling_rate)
    ids = (source.item_id, source.clip_id, source.speaker_id, source.sentence_id, source.path)
    return dict(
        zip(COLUMNS, (*map(str, ids), *_numbers(found, recording.sampling_rate)), strict=True)
    )


def _numbers(found: Detection, rate: int) -> tuple[str, ...]:
    times = ("", "", "")
    if found.span is not None:
        start, end = (at / rate for at in found.span)
        times = tuple(f"{t:.6f}" for t in (start, end, end - start))  # type: ignore[assignment]
    levels = (found.threshold, found.noise_floor, found.peak_rms)
    detected = str(found.span is not None)
    return (detected, *times, str(found.n_segments), *(f"{level:.8f}" for level in levels))


def summary_of(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Counts, and of the detected spans the mean, median and range of each time.

    `histograms` has for onset and offset 25 counts and their 26 edges.
    """
    detected = [row for row in rows if row["onset_sec"]]
    times = {
        name: np.array([float(row[name]) for row in detected])
        for name in (*SHOWN, "speech_duration_sec")
    }
    statistics: dict[str, Callable[..., Any]]
    statistics = {"mean": np.mean, "median": np.median, "min": np.min, "max": np.max}
    histograms = {}
    for name in SHOWN:
        counts, edges = np.histogram(times[name], N_BINS)
        histograms[name] = {"counts": counts.tolist(), "edges": np.round(edges, 6).tolist()}
    return {
        "n_sources": len(rows),
        "n_detected": len(detected),
        "not_detected": [row["clip_id"] for row in rows if not row["onset_sec"]],
        **{
            name: {key: round(float(of(values)), 6) for key, of in statistics.items()}
            for name, values in times.items()
            if values.size
        },
        "histograms": histograms,
    }


def _draw(histograms: dict[str, Any], path: Path) -> None:
    with matplotlib.rc_context({"svg.hashsalt": "spans", "font.size": 9}):
        figure = Figure(figsize=(7, 2.6), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        for ax, (name, label) in zip(axes, SHOWN.items(), strict=True):
            ax.stairs(histograms[name]["counts"], histograms[name]["edges"], fill=True)
            ax.set_xlabel(label)
            ax.spines[["top", "right"]].set_visible(False)
        axes[0].set_ylabel("clips")
        figure.savefig(path, format="svg", metadata={"Date": None})
