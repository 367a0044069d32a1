"""How well does each layer of a real speech encoder decode the direction of each factor?

    python -m benchmarks.encoder_layers --speech FOLDER [FOLDER …] --out OUT

Every distinct recording of the folders with a second or more of speech is rendered at the high
tier, in both profiles; clips go through Whisper tiny.en, and linear probes are trained on every
layer, on the mel spectrogram, and on control labels. Folds are of whole speakers (a file's name up
to the first `_` or `-`). Printed: tables in Markdown, which `OUT/report.md` has too; drawn:
`OUT/encoder_layers.png`. The same command resumes.

Windows are cropped to each recording's longest clip and a second, and so far from the 30 s that the
encoder was trained on; probes of both windows on the same `--n-compared` clips say whether it
matters. `--window model` keeps the 30 s. Any other encoder is named by `--encoder`.
"""

import argparse
import hashlib
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.encoder_report import LayerResult, WindowRow, figure, report
from benchmarks.encoder_states import (
    LayerSettings,
    OpenEncoder,
    RecordingStates,
    clips_of,
    features_of,
    states_of,
    stored_states,
    write_states,
    written_features,
)
from benchmarks.recordings import DecodedRecording, recordings
from otoscope.acoustics.design import PUBLISHED_CATEGORIES, PUBLISHED_CURVES
from otoscope.acoustics.fitted import cross_fitted
from otoscope.atomic import write_atomic
from otoscope.claims import FolderKind
from otoscope.errors import InputError, InvalidValue
from otoscope.probes.files import write_tables
from otoscope.probes.predictions import ProbeConfig
from otoscope.probes.probe_set import plan_probes
from otoscope.probes.table import probe_table
from otoscope.progress import ProgressBars
from otoscope.representations.encoders import AudioEncoder, open_encoder
from otoscope.representations.features import Features
from otoscope.statistics.intervals import Interval, clustered_interval
from otoscope.version import __version__

LONGEST_S = 20.0
"""A recording's clips are up to a fifth longer, and the encoder's own window holds 30 s."""
PROFILES = ("paper", "controlled")
N_FOLDS, LEAST_SPEAKERS = 5, 5
LEAST_CATEGORIES = 2
WHISPER = "whisper-tiny.en"
COMPARED_PROFILE = "paper"
LAYER_FOLDERS = FolderKind(
    "bench of layers",
    "encoder_layers.json",
    InvalidValue,
    may_hold=("states", "features", "probes", "compared", "report.md", "*.png"),
    way_out="choose another --out",
)


def probed(features: Features, out: Path, *, ridge: bool, n_controls: int) -> list[dict[str, Any]]:
    """Probes of all sites and categories, speaker by speaker; rows of `probe_table`."""
    config = ProbeConfig(split="speaker", n_folds=N_FOLDS, n_controls=n_controls, ridge=ridge)
    probes = plan_probes(features, out, config=config)
    aside = ProgressBars(write_line=lambda line: print(line, file=sys.stderr))
    with aside.bar(f"Probing {out.name}", len(probes.jobs)) as step:
        probes.train(step)
    table = probe_table(out)
    write_tables(out, table)
    return list(table.to_pylist())


def observed(features: Features, cues: np.ndarray) -> dict[str, Interval]:
    """Accuracy of weights fitted to the cue's sixteen segments, on other speakers."""
    found = {}
    for category in dict.fromkeys(features.rows["category"].tolist()):
        at = features.rows["category"] == category
        rising = features.rows["label"][at] == 1
        odds = cross_fitted(cues[at].astype(float), rising, features.rows["speaker_id"][at])
        right = np.isfinite(odds) & ((odds > 0) == rising)
        found[category] = clustered_interval(right, features.rows["source_id"][at])
    return found


def stored_profile(
    found: Sequence[DecodedRecording],
    out: Path,
    profile: str,
    settings: LayerSettings,
    open_window: OpenEncoder,
) -> list[RecordingStates]:
    """States of every recording, stored file by file."""
    states = []
    aside = ProgressBars(write_line=lambda line: print(line, file=sys.stderr))
    with aside.bar(f"Encoding {profile}", len(found)) as step:
        for recorded in found:
            path = out / "states" / profile / f"{recorded.name}.npz"
            states.append(stored_states(path, recorded, profile, settings, open_window))
            step()
    return states


def compared(
    found: Sequence[DecodedRecording],
    cropped: Features,
    out: Path,
    profile: str,
    settings: LayerSettings,
    open_window: OpenEncoder,
) -> list[WindowRow]:
    """Accuracies of probes on cropped windows and on the encoder's own, on the same clips.

    Recordings are taken in order of reversed name until there are enough clips, of the first curve.
    """
    own = open_window(None)
    rows: list[dict[str, Any]] = []
    states: list[dict[str, np.ndarray]] = []
    for recorded in sorted(found, key=lambda r: r.name[::-1]):
        speakers = {row["speaker_id"] for row in rows}
        if len(rows) >= settings.n_compared and len(speakers) >= LEAST_SPEAKERS:
            break
        path = out / "states" / "own_window" / f"{recorded.name}.npz"
        clips = [
            c
            for c in clips_of(recorded, profile, settings._replace(curves=settings.curves[:1]))
            if c
        ]
        if not path.exists() and clips:
            write_states(path, states_of(clips, own))
        if clips:
            with np.load(path) as stored:
                states.append({name: stored[name] for name in stored.files if name != "about"})
            rows += [clip.row for clip in clips]
    at = {name: n for n, name in enumerate(cropped.rows["id"].tolist())}
    chosen = np.array([at[row["id"]] for row in rows])
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    both = {
        "cropped": {site: cropped.matrix(site, chosen) for site in states[0]},
        "own": {site: np.concatenate([s[site] for s in states]) for site in states[0]},
    }
    accuracy = {}
    for window, sites in both.items():
        folder = out / "compared" / window
        features = written_features(folder, columns, sites)
        accuracy[window] = {
            (row["site"], row["method"]): row["accuracy"]
            for row in probed(
                features, out / "compared" / f"{window}_probes", ridge=True, n_controls=0
            )
            if row["category"] == "all" and row["method"] in ("probe", "ridge")
        }
    return [
        WindowRow(site, method, profile, len(rows), accuracy["cropped"][site, method], full)
        for (site, method), full in accuracy["own"].items()
    ]


def window_of_spec(spec: str, window_s: float | None) -> AudioEncoder:
    """An encoder at a window of so many seconds, or at its own."""
    return open_encoder(spec if window_s is None else f"{spec}:{window_s:g}s")


def main(open_window: OpenEncoder | None = None) -> None:
    """Prints the tables, and writes them and the figure.

    Args:
        open_window: In place of `--encoder`; tests give a tiny one.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speech", type=Path, nargs="+", required=True, help="folders")
    parser.add_argument("--out", type=Path, required=True, help="folder, resumed where it exists")
    parser.add_argument("--encoder", default=WHISPER, help="as in trainers.extract")
    parser.add_argument("--categories", default=",".join(PUBLISHED_CATEGORIES))
    parser.add_argument("--curves", default=",".join(PUBLISHED_CURVES))
    parser.add_argument("--window", choices=("recording", "model"), help="for Whisper tiny.en")
    parser.add_argument(
        "--n-compared", type=int, default=500, help="clips in both windows; 0: none"
    )
    args = parser.parse_args()
    if args.window == "recording" and args.encoder != WHISPER:
        parser.error(f"only {WHISPER} has windows; {args.encoder} gets each clip as it is")
    window = args.window or ("recording" if args.encoder == WHISPER else "model")
    open_window = open_window or partial(window_of_spec, args.encoder)
    settings = LayerSettings(
        tuple(args.categories.split(",")), tuple(args.curves.split(",")),
        window == "recording", args.n_compared,
    )  # fmt: skip
    for given, known in zip(settings[:2], (PUBLISHED_CATEGORIES, PUBLISHED_CURVES), strict=True):
        if unknown := [name for name in given if name not in known]:
            parser.error(f"no {unknown[0]!r}; there are {', '.join(known)}")
    if len(settings.categories) < LEAST_CATEGORIES:
        parser.error(f"--categories needs {LEAST_CATEGORIES}, to take means over")
    try:
        own = open_window(None)
        every, without = recordings(args.speech)
    except InputError as error:
        parser.error(str(error))
    found = [r for r in every if r.pcm.shape[-1] <= LONGEST_S * r.sampling_rate]
    without[f"longer than {LONGEST_S:g} s"] = len(every) - len(found)
    if (n := len({r.speaker for r in found})) < LEAST_SPEAKERS:
        parser.error(f"{n} speakers in {len(found)} recordings that count; {LEAST_SPEAKERS} needed")
    described = {
        **own.description,
        "recordings": sorted(hashlib.sha256(r.pcm.tobytes()).hexdigest()[:16] for r in found),
        "categories": list(settings.categories),
        "curves": list(settings.curves),
        "window": window,
        "otoscope_version": __version__,
    }
    try:
        LAYER_FOLDERS.claim(args.out, described)
    except InputError as error:
        parser.error(str(error))
    results, own_window = {}, []
    for profile in PROFILES:
        states = stored_profile(found, args.out, profile, settings, open_window)
        about = {"model": described, "prompt": "none", "spec": args.encoder}
        features, cues = features_of(args.out / "features" / profile, states, **about)
        if settings.cropped and settings.n_compared and profile == COMPARED_PROFILE:
            own_window = compared(found, features, args.out, profile, settings, open_window)
        rows = probed(features, args.out / "probes" / profile, ridge=True, n_controls=1)
        n_idle = sum(s.n_idle for s in states)
        results[profile] = LayerResult(rows, observed(features, cues), len(features), n_idle)
    text = report(found, without, results, own_window)
    print(text)
    write_atomic(args.out / "report.md", (text + "\n").encode())
    figure(results, args.out / "encoder_layers.png")


if __name__ == "__main__":
    main()
