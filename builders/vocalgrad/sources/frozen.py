"""The published lists of sources that ship with the builder (`data/`)."""

import csv
from pathlib import Path
from typing import NamedTuple

VCTK_TEST = Path(__file__).parent / "data" / "vctk_test_sources_100.csv"


class FrozenClip(NamedTuple):
    """A row of a published list; times in seconds, `n_segments` as the detector counted them."""

    item_id: str
    clip_id: str
    duration_s: float
    onset_s: float
    offset_s: float
    n_segments: int

    @property
    def speaker_id(self) -> str:
        """The speaker, which is the first part of a VCTK clip id."""
        return self.clip_id.partition("_")[0]


def read_frozen(path: Path = VCTK_TEST) -> tuple[FrozenClip, ...]:
    """The rows of a published list, in published order."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            FrozenClip(
                row["test_item_id"],
                row["clip_id"],
                float(row["audio_duration_sec"]),
                float(row["onset_sec"]),
                float(row["offset_sec"]),
                int(row["onset_num_segments"]),
            )
            for row in csv.DictReader(file)
        )
