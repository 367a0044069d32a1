"""The published lists of sources that ship with the builder (`data/`)."""

import csv
from pathlib import Path
from typing import NamedTuple

from otoscope.acoustics.spans import SHORT_S

DATA = Path(__file__).parent / "data"
VCTK_TEST = DATA / "vctk_test_sources_100.csv"
LOQUACIOUS_TEST = DATA / "loquacious_test_sources_100.csv"


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
    """The rows of the published VCTK list, in published order."""
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


class ListedRow(NamedTuple):
    """A row of the published LoquaciousSet list; times in seconds, `row` counted from 0.

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
        """Why the listed span should be looked at; empty if nothing speaks against it."""
        if self.whole_clip:
            return "listed without speech and with the whole clip as its span"
        if (length := self.offset_s - self.onset_s) < SHORT_S:
            return f"listed with {length:.2f} s of speech"
        return ""


def read_loquacious(path: Path = LOQUACIOUS_TEST) -> tuple[ListedRow, ...]:
    """The rows of the published LoquaciousSet list, in published order."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            ListedRow(
                row["test_item_id"],
                row["clip_id"],
                int(row["source_row_index"]),
                float(row["onset_sec"]),
                float(row["offset_sec"]),
                row["fallback"] == "full_clip",
            )
            for row in csv.DictReader(file)
        )
