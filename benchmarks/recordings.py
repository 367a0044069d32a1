"""Real recordings, rendered and measured clip by clip; what `benchmarks.real_speech` counts."""

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from builders.corpora.reading.audio_files import list_audio
from otoscope.acoustics import codec
from otoscope.acoustics.confounds import ClipContrasts, measured_in
from otoscope.acoustics.contrasts import contrasts
from otoscope.acoustics.design import CONDITIONS
from otoscope.acoustics.fitted import segments
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import ClipAnalysis
from otoscope.acoustics.observers import direction_with_source, slope
from otoscope.acoustics.rendering import NotApplicable, SourceRenderer
from otoscope.acoustics.spans import Span, decide

SHORTEST_S = 1.0


class DecodedRecording(NamedTuple):
    """A recording and where speech is in it."""

    name: str
    speaker: str
    pcm: np.ndarray
    sampling_rate: int
    bit_depth: int
    span: Span


class MeasuredClip(NamedTuple):
    """What the measures say of one clip; `named` is None and numbers NaN where they say nothing."""

    speaker: str
    slope: float
    segments: np.ndarray
    named: str | None
    contrasted: ClipContrasts


class MeasuredRecording(NamedTuple):
    """What they say of all clips of one recording.

    Attributes:
        speaker: Of the recording.
        source_slopes: Of the recording itself, by category.
        clips: By profile.
        n_idle: Clips in which nothing would change, by profile and category.
    """

    speaker: str
    source_slopes: dict[str, float]
    clips: dict[str, list[MeasuredClip]]
    n_idle: dict[str, Counter[str]]


def recordings(folders: Sequence[Path]) -> tuple[list[DecodedRecording], Counter[str]]:
    """Distinct recordings with a detected span that is long enough; why others do not count.

    Raises:
        CorpusError: Not a folder, or no audio in it.
    """
    found: dict[str, DecodedRecording] = {}
    without: Counter[str] = Counter()
    for path in (path for folder in folders for _, path in sorted(list_audio(folder).items())):
        try:
            recording = codec.read(path)
        except codec.AudioError as error:
            print(f"left out: {error}", file=sys.stderr)
            without["not readable"] += 1
            continue
        key = hashlib.sha256(recording.pcm.tobytes()).hexdigest()
        rate = recording.sampling_rate
        span = decide(codec.to_float(recording.pcm), rate).span
        if key in found:
            without["the same samples as another"] += 1
        elif span is None:
            without["no speech found"] += 1
        elif span.end - span.start < SHORTEST_S * rate:
            without[f"less than {SHORTEST_S:g} s of speech"] += 1
        else:
            found[key] = DecodedRecording(
                path.stem, speaker_of(path.stem), recording.pcm, rate, recording.bit_depth, span
            )
    return list(found.values()), without


def speaker_of(name: str) -> str:
    """The speaker in a recording's name.

    >>> speaker_of("p225_001"), speaker_of("1988-24833-0000")
    ('p225', '1988')
    """
    return re.split("[_-]", name)[0]


def measure_recording(
    recorded: DecodedRecording, profiles: Sequence[str], tiers: Sequence[str]
) -> MeasuredRecording:
    """Renders and measures all conditions of one recording."""
    pcm, rate, span = recorded.pcm, recorded.sampling_rate, recorded.span
    source = SourceRenderer(pcm, rate, span, bit_depth=recorded.bit_depth)
    measured = MeasuredRecording(
        recorded.speaker, {}, {p: [] for p in profiles}, {p: Counter() for p in profiles}
    )
    unmodified = ClipAnalysis(pcm, rate, span)
    for category, gradient in GRADIENTS.items():
        before = unmodified.once(gradient.cue)
        measured.source_slopes[category] = slope(before)
        for profile in (name for name in profiles if name in gradient.profiles):
            for condition in (condition for condition in CONDITIONS if condition.tier in tiers):
                clip_id = condition.clip_id(recorded.name, recorded.name)
                try:
                    made = source.render(category, condition, clip_id=clip_id, profile=profile)
                except NotApplicable:
                    measured.n_idle[profile][category] += 1
                    continue
                if made.no_effect:
                    measured.n_idle[profile][category] += 1
                    continue
                clip = ClipAnalysis(made.to_pcm().pcm, rate, made.span)
                track = clip.once(gradient.cue)
                found = contrasts(clip, measured_in(category))
                measured.clips[profile].append(
                    MeasuredClip(
                        recorded.speaker,
                        slope(track),
                        segments(track),
                        direction_with_source(track, before, category),
                        ClipContrasts(category, *condition, recorded.name, *found),
                    )
                )
    return measured


def measure_recordings(
    found: Sequence[DecodedRecording],
    profiles: Sequence[str],
    tiers: Sequence[str],
    *,
    num_proc: int,
) -> Iterator[MeasuredRecording]:
    """`measure_recording` for each recording, on several processes."""
    longest_first = sorted(found, key=lambda r: -(r.span.end - r.span.start) / r.sampling_rate)
    work = partial(measure_recording, profiles=profiles, tiers=tiers)
    with ProcessPoolExecutor(num_proc, get_context("spawn"), threadpool_limits, (1,)) as pool:
        yield from pool.map(work, longest_first)
