"""The published list of VCTK test clips, which ships with the builder (`data/`)."""

import csv
from pathlib import Path
from typing import NamedTuple

VCTK_LIST = Path(__file__).parents[1] / "data" / "vctk_test_sources_100.csv"


class VctkListRow(NamedTuple):
    """A row of the published list; times in seconds, `n_segments` as the detector counted them."""

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


def read_vctk_list(path: Path = VCTK_LIST) -> tuple[VctkListRow, ...]:
    """The rows of the list, in published order."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            VctkListRow(
                row["test_item_id"], row["clip_id"], float(row["audio_duration_sec"]),
                float(row["onset_sec"]), float(row["offset_sec"]), int(row["onset_num_segments"]),
            )
            for row in csv.DictReader(file)
        )  # fmt: skip
