"""A study read for its report: probes, runs, features, and the parts that are missing.

A study may be unfinished, so any part may be missing. A part that cannot be read is named and left
out.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from otoscope.audits.runs import RunError, read_about
from otoscope.errors import InputError
from otoscope.probes import decodable, table
from otoscope.probes.alignment import Alignment, AlignmentError, align, validate_same_rows
from otoscope.probes.files import site_order
from otoscope.probes.predictions import ProbeError
from otoscope.reports.inside.answers import answered_rows
from otoscope.reports.inside.stored_names import STUDY_SCHEMA
from otoscope.reports.perception.reading import distinct, read_perception
from otoscope.reports.perception.scores import selected_prompt
from otoscope.reports.tables import Record
from otoscope.representations.features import Features, FeaturesError
from otoscope.representations.sites import site_of
from otoscope.statistics.breakdowns import plain

BASE, TUNED = "base", "tuned-"
ACROSS = ("base-on-other", "other-on-base")
READ_SPLIT = "test"
UNREADABLE = (
    OSError, pa.ArrowException, RunError, ProbeError, FeaturesError, AlignmentError, LookupError,
    ValueError,
)  # fmt: skip


class StudyFolderError(InputError, LookupError):
    """A folder that is not a study."""


@dataclass(frozen=True)
class StudyResults:
    """The contents of a study's folder, by model: `base`, or `tuned-CATEGORY`.

    Attributes:
        about: The content of study.json.
        categories: In the order of the tables, without `all`.
        models: Those that are there or planned, base first.
        probes: Rows of probes.parquet.
        decodable: Rows of encoded.parquet.
        across: Rows of probes.parquet of the controls across profiles, by folder.
        runs: Scored answers about a clip's direction, to one prompt.
        prompts: Its name.
        alignments: Angles at each site where the answer is predicted, by model and site.
        synthetic: Whether the voices are synthetic; None where that is not known.
        missing: A sentence for each part that is missing or cannot be used.
    """

    about: Record
    categories: tuple[str, ...]
    models: tuple[str, ...]
    probes: Mapping[str, list[dict[str, Any]]]
    decodable: Mapping[str, list[dict[str, Any]]]
    across: Mapping[str, list[dict[str, Any]]]
    runs: Mapping[str, pd.DataFrame]
    prompts: Mapping[str, str]
    alignments: Mapping[tuple[str, str], Alignment]
    synthetic: bool | None
    missing: tuple[str, ...]

    @cached_property
    def answered(self) -> list[dict[str, Any]]:
        """Accuracy of each model on each category, see `answered_rows`."""
        return answered_rows(self.runs, self.models, self.categories, BASE)


@dataclass
class _Parts:
    """Reads part after part, and collects a sentence for each that is missing."""

    missing: list[str] = field(default_factory=list)

    def read_all(
        self, folder: Path, names: Mapping[str, str], reader: Callable[[Path], Any]
    ) -> dict[str, Any]:
        """The parts that can be read, by the keys of `names`."""
        found = {key: self.read(folder, name, reader) for key, name in names.items()}
        return {key: part for key, part in found.items() if part is not None}

    def read(self, folder: Path, name: str, reader: Callable[[Path], Any]) -> Any:
        """The result of `reader`; None, and a sentence in `missing`, where it fails."""
        path = folder / name
        if not path.exists():
            self.missing.append(f"{name} is not there yet")
            return None
        try:
            return reader(path)
        except UNREADABLE as error:
            text = error.args[0] if isinstance(error, LookupError) and error.args else error
            self.missing.append(f"{name} is left out: {text}")
            return None


def model_name(model: str) -> str:
    """The name of a model in print.

    >>> model_name("base"), model_name("tuned-voice_pitch")
    ('base', 'fine-tuned on voice pitch')
    """
    category = tuned_category(model)
    return f"fine-tuned on {category.replace('_', ' ')}" if category else model


def tuned_category(model: str) -> str:
    """The category that a model was fine-tuned on; empty for the base.

    >>> tuned_category("tuned-volume"), tuned_category("base")
    ('volume', '')
    """
    return model.removeprefix(TUNED) if model.startswith(TUNED) else ""


def read_study(folder: Path) -> StudyResults:
    """Reads every part that is there.

    Raises:
        NoStudy: Nothing of a study is in the folder.
    """
    about = _about(folder)
    config = about.get("config") or {}
    models = _models(folder, config)
    parts = _Parts()
    probed = [m for m in models if m == BASE or config.get("probe_taught", True)]
    crossed = [n for n in ACROSS if config.get("other") or (folder / "probes" / n).is_dir()]
    runs = parts.read_all(folder, {m: f"runs/{m}" for m in models}, _answers)
    joined = parts.read_all(
        folder, {m: f"probes/{m}/encoded.parquet" for m in probed}, _rows(decodable.COLUMNS)
    )
    all_probes = parts.read_all(
        folder,
        {name: f"probes/{name}/probes.parquet" for name in (*probed, *crossed)},
        _rows(table.COLUMNS),
    )
    probes = {name: rows for name, rows in all_probes.items() if name in probed}
    alignments = _alignments(folder, probed, parts)
    seen = [row["category"] for rows in (*probes.values(), *joined.values()) for row in rows]
    seen += [name for _, answers in runs.values() for name in distinct(answers, "category")]
    order = dict.fromkeys([*config.get("categories", ()), *sorted(set(seen) - {table.ALL})])
    return StudyResults(
        about,
        tuple(name for name in order if name in set(seen)),
        models,
        probes,
        joined,
        {name: rows for name, rows in all_probes.items() if name in crossed},
        {model: answers for model, (_, answers) in runs.items()},
        {model: prompt for model, (prompt, _) in runs.items()},
        alignments,
        _synthetic(folder, about),
        tuple(parts.missing),
    )


def _about(folder: Path) -> dict[str, Any]:
    path = folder / "study.json"
    if not path.exists():
        if not any((folder / name).is_dir() for name in ("runs", "probes", "features")):
            raise StudyFolderError(f"{folder} is not a study; `python -m trainers.study` makes one")
        return {}
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise StudyFolderError(f"{path} cannot be read: {error}") from error
    if not isinstance(about, dict):
        raise StudyFolderError(f"{path} is not a JSON object")
    if fault := _fault_of(about):
        raise StudyFolderError(f"{path} is no record of a study: {fault}")
    return about


def _fault_of(about: Record) -> str:
    """What keeps a record from being that of a study; empty if nothing does."""
    if about.get("schema") != STUDY_SCHEMA:
        return f"schema is {about.get('schema')!r}, not {STUDY_SCHEMA}"
    if not isinstance(config := about.get("config"), dict):
        return f"config is {config!r}, not names and values"
    for key in ("categories", "teach"):
        names = config.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            return f"config.{key} is {names!r}, not a list of categories"
    return ""


def _models(folder: Path, config: Record) -> tuple[str, ...]:
    found = {
        path.name
        for part in ("runs", "probes", "features")
        for path in folder.glob(f"{part}/{TUNED}*")
    }
    planned = [TUNED + name for name in config.get("teach", ())]
    return (BASE, *dict.fromkeys([*planned, *sorted(found)]))


ADDED_COLUMNS = {"majority"}
"""Columns that probes of version 0.2 lack."""


def _rows(columns: pa.Schema) -> Callable[[Path], list[dict[str, Any]]]:
    """A reader of a table with at least these columns; NaN becomes None."""

    def read(path: Path) -> list[dict[str, Any]]:
        rows = pq.read_table(path)
        if lacking := sorted(set(columns.names) - ADDED_COLUMNS - set(rows.column_names)):
            raise ProbeError(f"it lacks the columns {', '.join(lacking)}; probe again")
        return [plain(row) for row in rows.to_pylist()]

    return read


def _answers(path: Path) -> tuple[str, pd.DataFrame]:
    (run,) = read_perception([path])
    prompt = selected_prompt(run, [run])
    if prompt is None:
        raise RunError("it has no question about the direction of a change")
    return prompt, run.clips[run.clips["base_prompt"] == prompt]


def _alignments(
    folder: Path, models: Sequence[str], parts: _Parts
) -> dict[tuple[str, str], Alignment]:
    found: dict[tuple[str, str], Alignment] = {}
    opened = parts.read_all(folder, {m: f"features/{m}" for m in models}, Features.open)
    for model, features in opened.items():
        try:
            if model != BASE and BASE in opened:
                validate_same_rows({BASE: opened[BASE], model_name(model): features})
            for site in sorted(filter(predicts_answer, features.sites), key=site_order):
                found[model, site] = align(features, site, split=READ_SPLIT, pairs_per_source=None)
        except (AlignmentError, FeaturesError) as error:
            parts.missing.append(f"angles between directions of features/{model}: {error}")
    return found


def predicts_answer(site: str) -> bool:
    """Whether a site is the hidden state that predicts the answer: `text.K`."""
    place = site_of(site)
    return place.kind == "text" and place.position is None and place.layer is not None


def _synthetic(folder: Path, about: Record) -> bool | None:
    """Whether the dataset's own card has the tag `synthetic`."""
    from huggingface_hub import DatasetCard

    source = (about.get("config") or {}).get("dataset")
    if source is None:
        with suppress(RunError):
            source = read_about(folder / "runs" / BASE).get("dataset")
    if not source or not (Path(str(source)) / "README.md").is_file():
        return None
    try:
        tags = DatasetCard.load(Path(str(source)) / "README.md").data.tags
    except (ValueError, OSError):
        return None
    return None if tags is None else "synthetic" in tags
