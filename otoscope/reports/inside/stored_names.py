"""Names that files of version 0.1 store, and their names today; the files keep the old ones."""

from collections.abc import Mapping
from typing import Any

STUDY_SCHEMA = 1
"""Of `study.json`."""

STUDY_KEYS = {
    "other": "other_profile",
    "teach": "fine_tune",
    "probe_taught": "probe_fine_tuned",
    "never_run": "not_run",
}
"""Keys of `study.json`."""

DECODABLE_COLUMNS = {
    "encoded": "decodable",
    "said": "answered",
    "encoded_not_said": "decodable_not_answered",
    "said_not_encoded": "answered_not_decodable",
    "encoded_less_said": "decodable_minus_answered",
    "beyond_guessing": "chance_corrected",
    "encoded_where_wrong": "probe_where_wrong",
    "n_not_asked": "n_not_in_run",
}
"""Columns of `encoded.parquet`; the ends of intervals are named alike."""

_ENDS = {
    old + end: new + end for old, new in DECODABLE_COLUMNS.items() for end in ("", "_low", "_high")
}


def decodable_row(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A row of `encoded.parquet` with today's names.

    >>> decodable_row({"site": "text.2", "said": 0.5, "said_low": 0.4})
    {'site': 'text.2', 'answered': 0.5, 'answered_low': 0.4}
    """
    return {_ENDS.get(name, name): value for name, value in stored.items()}
