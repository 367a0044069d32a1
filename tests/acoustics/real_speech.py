"""The real-speech set: recordings that lie beside the clone, and may not be there."""

from functools import cache
from pathlib import Path

import pytest

from benchmarks.recordings import recordings

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "real"

needs_real_speech = pytest.mark.skipif(
    not REAL.is_dir(), reason="the real-speech set lies beside the clone, and is not there"
)


@cache
def real_speech():
    """Every distinct real clip with a detected span of a second or more: name, PCM, rate, span."""
    found, _ = recordings([REAL / "vctk", REAL / "librispeech"])
    return [(each.name, each.pcm, each.sampling_rate, each.span) for each in found]
