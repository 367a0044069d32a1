"""The published list of LoquaciousSet clips, which ships with the builder (`data/`)."""

import csv
from pathlib import Path
from typing import NamedTuple

from otoscope.acoustics.spans import SHORT_S

LOQUACIOUS_LIST = Path(__file__).parents[1] / "data" / "loquacious_test_sources_100.csv"


class LoquaciousListRow(NamedTuple):
    """A row of the published list; times in seconds, `row` counted from 0.

    `whole_clip` says that the authors' detector found no speech, and they took everything.
    """

    item_id: str
    clip_id: str
    row: int
    onset_s: float
    offset_s: float
    whole_clip: bool

    @property
    def doubt(self) -> str:
        """Why the listed span should be reviewed; empty if there is no reason."""
        if self.whole_clip:
            return "listed without speech and with the whole clip as its span"
        if (length := self.offset_s - self.onset_s) < SHORT_S:
            return f"listed with {length:.2f} s of speech"
        return ""


def read_loquacious_list(path: Path = LOQUACIOUS_LIST) -> tuple[LoquaciousListRow, ...]:
    """The rows of the list, in published order."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            LoquaciousListRow(
                row["test_item_id"], row["clip_id"], int(row["source_row_index"]),
                float(row["onset_sec"]), float(row["offset_sec"]), row["fallback"] == "full_clip",
            )
            for row in csv.DictReader(file)
        )  # fmt: skip
