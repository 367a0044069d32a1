"""The published design, frozen: 24 conditions of every source, in the order of the manifests.

A published row number is a position in this order, and an id contains these names. So nothing here
follows from a table that can grow: a curve added to `CURVES` or a gradient added to `GRADIENTS` can
be rendered wherever it is named, and leaves ids, row numbers and the default build as they are.

Source: VocalGrad, sections 3.2 and 3.3, appendix B.2; the order is that of the published manifests.
"""

from itertools import product
from typing import NamedTuple

PUBLISHED_CATEGORIES = (
    "volume", "speaking_speed", "voice_pitch", "background_noise", "audio_distortion",
    "audio_roughness", "voice_clarity", "voice_vibration", "echo",
)  # fmt: skip
"""In the order of generation; the categories of a build that names none."""

SPEAKER_INTRINSIC = ("speaking_speed", "voice_pitch", "volume")
"""Published categories that a speaker can vary; the environment induces the other six (3.3)."""

TIERS = ("low", "mid", "high")
PUBLISHED_CURVES = ("linear", "quad_first_flat", "quad_last_flat", "jump")
DIRECTIONS = ("up", "down")
LABELS = {"up": "increase", "down": "decrease"}


class Condition(NamedTuple):
    """One condition of the design, within a category."""

    tier: str
    curve: str
    direction: str

    def clip_id(self, item_id: str, source_clip_id: str) -> str:
        """The published id; the same in every category.

        >>> Condition("low", "linear", "up").clip_id("p226_01", "p226_106")
        'p226_01__p226_106__linear__low__up'
        """
        return "__".join([item_id, source_clip_id, self.curve, self.tier, self.direction])


def group_of(category: str) -> str:
    """The published group of a category; empty for one that was not published.

    >>> group_of("volume"), group_of("echo")
    ('speaker-intrinsic', 'environment-induced')
    """
    if category not in PUBLISHED_CATEGORIES:
        return ""
    return "speaker-intrinsic" if category in SPEAKER_INTRINSIC else "environment-induced"


CONDITIONS = tuple(Condition(*names) for names in product(TIERS, PUBLISHED_CURVES, DIRECTIONS))
"""The 24 variants of a source, in manifest order."""
