"""Every probe of a study: one for each category, site, seed and fold, with its controls.

    PROBES/
      run.json                              everything that changes a number
      predictions/CATEGORY/SITE.parquet     what each probe says of each item it was asked about

A file is written when all probes of its category and site are done, and is never trained again, so
a run that was killed goes on where it was and sites may be added. What a file holds depends on
nothing but run.json and its own features: neither on the number of threads or processes, nor on
what was trained beside it. Features are in memory only while their own probes are trained.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from otoscope.atomic import write_atomic
from otoscope.claims import FolderKind
from otoscope.probes.predicting import PREDICTIONS, Material, ProbeError, Settings, predictions
from otoscope.probes.splits import Columns
from otoscope.representations.features import ANSWER, NOT_COMPARED, Features

SCHEMA = 1
PROBES_VERSION = 1
"""Rises whenever a number may change."""

PROBES = FolderKind(
    "set of probes", "run.json", ProbeError, (".*",), frozenset({"named"}), "choose another folder"
)
FLOAT64, FLOAT32 = 8, 4
GIB = 2**30


@dataclass(frozen=True)
class Study:
    """Probes of some categories and sites, in one folder. Made by `plan_study`.

    Attributes:
        features: What is learnt from.
        asked: What is asked about; often the same.
        folder: Where predictions go.
        settings: Everything else that changes a number.
        categories, sites: Every pair of these has its file.
    """

    features: Features
    asked: Features
    folder: Path
    settings: Settings
    categories: tuple[str, ...]
    sites: tuple[str, ...]

    @property
    def jobs(self) -> list[tuple[str, str]]:
        """Every category and site."""
        return [(category, site) for category in self.categories for site in self.sites]

    def missing(self) -> list[tuple[str, str]]:
        """Those that have no file yet."""
        return [job for job in self.jobs if not self._file(*job).exists()]

    def train(
        self,
        step: Callable[[], object] = lambda: None,
        *,
        rank: int = 0,
        world: int = 1,
        n_threads: int = 1,
        memory_bytes: int = 8 * GIB,
    ) -> int:
        """Trains what is missing of this process's share, every `world`-th category and site.

        Args:
            step: Called whenever one of the share is there.
            rank, world: Which share of how many.
            n_threads: How many to train side by side; fewer where memory does not hold as many.
            memory_bytes: What features in memory may take.

        Returns:
            How many were trained now.

        Raises:
            ProbeError: Rows or features cannot be used; category and site are named. What was
                finished stays.
        """
        own = self.jobs[rank::world]
        todo = [job for job in own if not self._file(*job).exists()]
        for _ in range(len(own) - len(todo)):
            step()
        largest = max((self._n_bytes(*job) for job in todo), default=1)
        if largest > memory_bytes:
            raise ProbeError(
                f"probes of one category and site need {largest / GIB:.2g} GiB, more than "
                f"{memory_bytes / GIB:.2g}; allow it with --memory"
                + (", or do without ridge regression, --no-ridge" if self.settings.ridge else "")
            )
        with (
            threadpool_limits(1),  # sums then do not depend on how many threads share them
            ThreadPoolExecutor(max(1, min(n_threads, memory_bytes // largest))) as pool,
        ):
            try:
                for _ in pool.map(lambda job: self._write(*job), todo):
                    step()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return len(todo)

    def predict(self, category: str, site: str) -> pa.Table:
        """What the probes of one category and site say; columns as in `PREDICTIONS`.

        Raises:
            ProbeError: Rows or features cannot be used.
        """
        (at, learn), (asked_at, ask) = (rows_of(f, category) for f in (self.features, self.asked))
        try:
            taught = self.features.matrix(site, at)
            tested = taught if self._same else self.asked.matrix(site, asked_at)
            table = predictions(Material(taught, tested, learn, ask), self.settings)
        except ValueError as error:
            raise ProbeError(f"{category}, site {site}: {error}") from error
        for name, value in (("category", category), ("site", site)):
            table = table.append_column(name, pa.array([value] * len(table)))
        return table.select(PREDICTIONS.names).cast(PREDICTIONS)

    @property
    def _same(self) -> bool:
        return self.asked is self.features

    def _write(self, category: str, site: str) -> None:
        path = self._file(category, site)
        path.parent.mkdir(parents=True, exist_ok=True)
        table = self.predict(category, site)
        write_atomic(path, lambda to: pq.write_table(table, to, compression="zstd"))

    def _file(self, category: str, site: str) -> Path:
        return self.folder / "predictions" / _as_name(category) / f"{_as_name(site)}.parquet"

    def _n_bytes(self, category: str, site: str) -> int:
        """At most what is held at once for one category and site.

        Features as they are stored, a part of them, and that part scaled; for ridge regression in
        double precision too, with the products that are decomposed.
        """
        width = self.features.width(site)
        n_learn, n_ask = (len(rows_of(f, category)[0]) for f in (self.features, self.asked))
        held = (n_learn if self._same else n_learn + n_ask) * width * 3 * FLOAT32
        if self.settings.ridge:
            held += (2 * (n_learn + n_ask) * width + 3 * min(n_learn, width) ** 2) * FLOAT64
        return held


def plan_study(
    features: Features,
    folder: str | Path,
    *,
    settings: Settings,
    sites: Sequence[str] = (),
    categories: Sequence[str] = (),
    asked: Features | None = None,
) -> Study:
    """Decides which probes there will be, and takes the folder for them.

    Args:
        features: What to learn from.
        folder: New, empty, or with probes of the same features and settings.
        settings: How.
        sites: Names; all but `answer` when empty.
        categories: Names; all when empty.
        asked: Other features to ask about, of the same model and prompt: of the other profile of
            the same clips, say. The same features when None.

    Raises:
        ProbeError: A site or category that is not there, rows that cannot be split, or a folder
            with something else; what differs is named.
        FeaturesError: The other features are of another model or prompt.
    """
    asked = features if asked is None else asked
    both = [features] if asked is features else [features, asked]
    if asked is not features:
        _refuse_another_model(features, asked)
    shared = [site for site in features.sites if site in asked.sites and site != ANSWER]
    study = Study(
        features,
        asked,
        Path(folder),
        settings,
        tuple(categories) or categories_of(features),
        tuple(sites) or tuple(shared),
    )
    if not study.sites:
        raise ProbeError(f"{features.folder} has no site that is there for every row; extract some")
    if not study.categories:
        raise ProbeError(f"no row of {features.folder} has a label")
    for each in both:
        _refuse_absent(each, "site", study.sites, [s for s in each.sites if s != ANSWER])
        _refuse_absent(each, "rows of category", study.categories, categories_of(each))
    if wider := [site for site in study.sites if features.width(site) != asked.width(site)]:
        raise ProbeError(f"the two features differ in width at {', '.join(wider)}")
    for category in study.categories:
        (_, learn), (_, ask) = (rows_of(f, category) for f in (features, asked))
        try:
            settings.parts(learn, ask, settings.seeds[0])
        except ValueError as error:
            raise ProbeError(f"{category}: {error}") from error
    _claim(study)
    return study


def rows_of(features: Features, category: str) -> tuple[np.ndarray, Columns]:
    """Places and columns of the rows of a category; where no row has a source, each is its own."""
    places = np.flatnonzero(features.rows["category"] == category)
    names = ("id", "source_id", "split", "label", "no_effect")
    columns = {name: features.rows[name][places] for name in names}
    if not (features.rows["source_id"] != "").any():
        columns["source_id"] = columns["id"]
    return places, columns


def categories_of(features: Features) -> tuple[str, ...]:
    """Categories that have labels, in order of appearance."""
    labelled = features.rows["category"][features.rows["label"] >= 0]
    return tuple(dict.fromkeys(labelled.tolist()))


def described(features: Features) -> dict[str, Any]:
    """What features are of, as far as it changes a number."""
    return {k: v for k, v in features.description.items() if k not in NOT_COMPARED}


def names_of(features: Features) -> dict[str, str]:
    """What model, adapter and dataset are called in tables; empty where nothing is said."""
    about = features.description
    model = about.get("model") or ""
    adapter = model.get("adapter") if isinstance(model, Mapping) else None
    return {
        "model": str(about.get("spec") or _name_of(model)),
        "adapter": _name_of(adapter or ""),
        "dataset": str(about.get("dataset") or ""),
    }


def _name_of(described: Any) -> str:
    return str(described.get("name", "") if isinstance(described, Mapping) else described)


def _refuse_another_model(features: Features, asked: Features) -> None:
    same = {name: features.description.get(name) for name in ("version", "model", "prompt")}
    Features.open(asked.folder, **same)


def _refuse_absent(
    features: Features, what: str, wanted: Sequence[str], there: Sequence[str]
) -> None:
    if absent := [name for name in wanted if name not in there]:
        raise ProbeError(
            f"{features.folder} has no {what} {', '.join(absent)}; it has "
            f"{', '.join(there) or 'none'}"
        )


def _claim(study: Study) -> None:
    PROBES.claim(
        study.folder,
        {
            "schema": SCHEMA,
            "version": PROBES_VERSION,
            "features": described(study.features),
            "asked": None if study.asked is study.features else described(study.asked),
            "settings": asdict(study.settings),
            "named": names_of(study.features),
        },
    )


def _as_name(text: str) -> str:
    """As part of a path."""
    return quote(text, safe="@ ")
