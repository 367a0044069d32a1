"""The real-speech set: recordings that lie beside the clone, and may not be there."""

import hashlib
from functools import cache
from pathlib import Path

import pytest

from otoscope.acoustics import codec, spans

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "real"

needs_real_speech = pytest.mark.skipif(
    not REAL.is_dir(), reason="the real-speech set lies beside the clone, and is not there"
)


@cache
def real_speech():
    """Every distinct real clip with a detected span of a second or more: name, PCM, rate, span."""
    clips = {}
    for folder in ("vctk", "librispeech"):
        for path in sorted((REAL / folder).rglob("*")):
            if path.suffix in {".wav", ".flac", ".mp3"}:
                recording = codec.read(path)
                key = hashlib.sha256(recording.pcm.tobytes()).hexdigest()
                clips.setdefault(key, (path.stem, recording.pcm, recording.sampling_rate))
    spanned = [
        (name, pcm, rate, spans.decide(codec.to_float(pcm), rate).span)
        for name, pcm, rate in clips.values()
    ]
    return [
        clip for clip in spanned if clip[3] is not None and clip[3].end - clip[3].start >= clip[2]
    ]


def speaker_of(name):
    """The speaker in a clip's name.

    >>> speaker_of("p225_001"), speaker_of("1988-24833-0000")
    ('p225', '1988')
    """
    return name.split("_")[0].split("-")[0]
