"""The fitted observer as a model: weights in a JSON file, evaluated on other sources only.

`otoscope fit-observer` writes the file. Beside the weights it holds the training sources and
speakers; a run about any of these is rejected.
"""

import hashlib
import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from otoscope.acoustics.fitted import FittedObserver, from_numbers
from otoscope.atomic import write_json
from otoscope.models.base import ModelError
from otoscope.models.simple import MeasurementModel
from otoscope.version import __version__

KIND = "fitted observer"
SCHEMA = 1
SAME_MEASURES = ("0.3.0", "0.4.0")
"""Versions of otoscope whose measures give the same values."""

WAY_OUT = "write one with: otoscope fit-observer --dataset FOLDER --out observer.json"


@dataclass(frozen=True)
class TrainedOn:
    """An observer's training clips.

    Attributes:
        dataset, revision, split: Where they are from, as it was named.
        content_sha256: Of the ids and audio hashes of all clips.
        profiles: Of the gradients; empty where the rows do not say.
        n_clips: How many of each category.
        sources, speakers: Of the clips.
    """

    dataset: str
    revision: str | None
    split: str
    content_sha256: str
    profiles: tuple[str, ...]
    n_clips: Mapping[str, int]
    sources: tuple[str, ...]
    speakers: tuple[str, ...]

    @property
    def summary(self) -> dict[str, Any]:
        """The same with counts instead of names."""
        names = asdict(self)
        n_sources, n_speakers = len(names.pop("sources")), len(names.pop("speakers"))
        counts = {"n_sources": n_sources, "n_speakers": n_speakers}
        return names | {"profiles": list(self.profiles)} | counts


class FittedObserverModel(MeasurementModel):
    """Answers from fitted weights, see `otoscope.acoustics.fitted`."""

    def __init__(self, observer: FittedObserver, trained_on: TrainedOn) -> None:
        self.observer: FittedObserver = observer
        self.trained_on = trained_on

    @property
    def categories(self) -> Container[str]:
        """Those with weights."""
        return self.observer.weights

    @property
    def description(self) -> dict[str, Any]:
        """What it was trained on, and a hash of its weights."""
        weights = json.dumps(self.observer.numbers(), sort_keys=True)
        return {
            "kind": "fitted",
            "categories": list(self.observer.weights),
            "weights_sha256": hashlib.sha256(weights.encode()).hexdigest(),
            "trained_on": self.trained_on.summary,
        }

    def check_rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rejects rows of its training sources or speakers.

        Raises:
            ModelError: There are such rows.
        """
        rows = list(rows)
        shared = overlap(rows, self.trained_on.sources, self.trained_on.speakers)
        if shared:
            raise ModelError(
                f"this observer was trained on {shared} of this dataset; take other rows, or fit "
                "it on a split whose speakers are not in this one"
            )

    def save(self, path: Path) -> None:
        """Writes everything as JSON numbers and names."""
        content = {
            "kind": KIND,
            "schema": SCHEMA,
            "otoscope_version": __version__,
            "trained_on": asdict(self.trained_on),
            "categories": self.observer.numbers(),
        }
        write_json(path, content)


def source_of(row: Mapping[str, Any]) -> str:
    """The source clip of a row; a row that names none is its own."""
    return str(row.get("source_id") or row["id"])


def speaker_of(row: Mapping[str, Any]) -> str | None:
    """The speaker of a row, if it says."""
    speaker = row.get("speaker_id")
    return None if speaker in (None, "") else str(speaker)


def overlap(
    rows: Iterable[Mapping[str, Any]], sources: Iterable[str], speakers: Iterable[str]
) -> str:
    """Which of these sources or speakers some rows are of, in words; empty when none is.

    >>> overlap([{"id": "a", "speaker_id": "p1"}, {"id": "b", "speaker_id": "p2"}], (), ["p2"])
    "1 speaker(s) ('p2')"
    """
    rows = list(rows)
    for what, known, of in (
        ("source", set(sources), source_of),
        ("speaker", set(speakers), speaker_of),
    ):
        if shared := sorted({name for row in rows if (name := of(row)) in known}):
            return f"{len(shared)} {what}(s) ({', '.join(map(repr, shared[:3]))})"
    return ""


def open_fitted(name: str | None, revision: str | None = None) -> FittedObserverModel:
    """`fitted:FILE`.

    Raises:
        ModelError: There is no such file, it is not of this kind, or of another version.
    """
    if not name or revision is not None:
        raise ModelError(f"fitted: name its file, as in fitted:observer.json; {WAY_OUT}")
    try:
        content = json.loads(Path(name).read_bytes())
    except OSError as error:
        raise ModelError(f"fitted: {name}: {error.strerror}; {WAY_OUT}") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"fitted: {name} is not JSON ({error}); {WAY_OUT}") from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise ModelError(f"fitted: {name} holds no fitted observer; {WAY_OUT}")
    found = content.get("schema"), content.get("otoscope_version")
    if found[0] != SCHEMA or found[1] not in SAME_MEASURES:
        raise ModelError(
            f"fitted: {name} was written by otoscope {found[1]} (schema {found[0]}), whose "
            f"measures may differ from those of {__version__}; fit it again"
        )
    try:
        known = content["trained_on"]
        values: dict[str, Any] = {
            field.name: tuple(value) if isinstance(value := known[field.name], list) else value
            for field in fields(TrainedOn)
        }
        for name in ("profiles", "sources", "speakers"):
            if not isinstance(values[name], tuple) or not all(
                isinstance(each, str) for each in values[name]
            ):
                raise TypeError(f"trained_on.{name} is no list of names")
        trained_on = TrainedOn(**values)
        return FittedObserverModel(from_numbers(content["categories"]), trained_on)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelError(f"fitted: {name} is damaged ({error}); fit it again") from None
