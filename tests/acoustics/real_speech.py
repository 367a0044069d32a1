"""Speech that is not a formula: the clips of `tests/data`, and recordings that may lie beside."""

from functools import cache
from pathlib import Path

import pytest

from benchmarks.recordings import recordings

DATA = Path(__file__).parents[1] / "data"
REAL = Path(__file__).parents[2].parent / "shared" / "data" / "real"

needs_real_speech = pytest.mark.skipif(
    not REAL.is_dir(), reason="an extra on recordings that lie beside the clone; none are there"
)


def own_speech():
    """The clips of `tests/data`: name, PCM, rate, span."""
    return _speech(DATA)


def real_speech():
    """Every distinct real clip with a detected span of a second or more."""
    return _speech(REAL / "vctk", REAL / "librispeech")


@cache
def _speech(*folders):
    found, _ = recordings(folders)
    return [(each.name, each.pcm, each.sampling_rate, each.span) for each in found]


OWN_AND_REAL = [
    pytest.param(own_speech, id="own clips"),
    pytest.param(real_speech, id="real", marks=[needs_real_speech, pytest.mark.timeout(600)]),
]
"""Our own clips in any clone, and the extra on real recordings."""
