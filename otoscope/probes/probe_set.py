"""A set of probes: one for each category, site, seed and fold, with its controls.

    PROBES/
      run.json                              everything that changes a number
      predictions/CATEGORY/SITE.parquet     predictions for every test item

A file is written when all probes of its category and site are trained, and is never trained again:
a killed process resumes, and sites may be added. What a file holds depends on run.json and its own
features only: neither on the number of threads or processes, nor on the other sites. Features are
in memory only while their own probes are trained.
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
from otoscope.probes.files import PROBES
from otoscope.probes.predictions import (
    PREDICTIONS,
    ProbeConfig,
    ProbeData,
    ProbeError,
    predictions,
)
from otoscope.probes.splits import ProbeColumns
from otoscope.representations.features import Features
from otoscope.representations.storage import ANSWER, NOT_COMPARED

SCHEMA = 1
PROBES_VERSION = 1
"""Rises whenever a number may change."""

FLOAT64, FLOAT32 = 8, 4
GIB = 2**30


@dataclass(frozen=True)
class ProbeSet:
    """Probes of some categories and sites, in one folder. Made by `plan_probes`.

    Attributes:
        features: To train on.
        test_features: To test on; often the same.
        folder: Of the predictions.
        config: Everything else that changes a number.
        categories, sites: Every pair of these has its file.
    """

    features: Features
    test_features: Features
    folder: Path
    config: ProbeConfig
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
            step: Called whenever one of the share is done.
            rank, world: Index and number of processes.
            n_threads: Trained in parallel; fewer where memory does not hold as many.
            memory_bytes: Limit for features in memory.

        Returns:
            How many were trained now.

        Raises:
            ProbeError: Rows or features cannot be used; category and site are named. Finished files
                stay.
        """
        own = self.jobs[rank::world]
        todo = [job for job in own if not self._file(*job).exists()]
        for _ in range(len(own) - len(todo)):
            step()
        largest = max((self._n_bytes(*job) for job in todo), default=1)
        if largest > memory_bytes:
            raise ProbeError(
                f"probes of one category and site need {largest / GIB:.2g} GiB, more than "
                f"{memory_bytes / GIB:.2g}; allow it with --memory-gib"
                + (", or leave out ridge regression, --no-ridge" if self.config.ridge else "")
            )
        with (
            threadpool_limits(1),  # sums then do not depend on the number of threads
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
        """Predictions of the probes of one category and site; columns as in `PREDICTIONS`.

        Raises:
            ProbeError: Rows or features cannot be used.
        """
        train_at, train_rows = rows_of(self.features, category)
        test_at, test_rows = rows_of(self.test_features, category)
        try:
            train = self.features.matrix(site, train_at)
            test = train if self._same else self.test_features.matrix(site, test_at)
            table = predictions(ProbeData(train, test, train_rows, test_rows), self.config)
        except ValueError as error:
            raise ProbeError(f"{category}, site {site}: {error}") from error
        for name, value in (("category", category), ("site", site)):
            table = table.append_column(name, pa.array([value] * len(table)))
        return table.select(PREDICTIONS.names).cast(PREDICTIONS)

    @property
    def _same(self) -> bool:
        return self.test_features is self.features

    def _write(self, category: str, site: str) -> None:
        path = self._file(category, site)
        path.parent.mkdir(parents=True, exist_ok=True)
        table = self.predict(category, site)
        write_atomic(path, lambda to: pq.write_table(table, to, compression="zstd"))

    def _file(self, category: str, site: str) -> Path:
        return self.folder / "predictions" / _as_name(category) / f"{_as_name(site)}.parquet"

    def _n_bytes(self, category: str, site: str) -> int:
        """Upper bound of the memory for one category and site.

        Features as they are stored, a split of them, and that split scaled; for ridge regression in
        double precision too, with the products that are decomposed.
        """
        width = self.features.width(site)
        both = (self.features, self.test_features)
        n_train, n_test = (len(rows_of(features, category)[0]) for features in both)
        n_bytes = (n_train if self._same else n_train + n_test) * width * 3 * FLOAT32
        if self.config.ridge:
            n_bytes += (2 * (n_train + n_test) * width + 3 * min(n_train, width) ** 2) * FLOAT64
        return n_bytes


def plan_probes(
    features: Features,
    folder: str | Path,
    *,
    config: ProbeConfig,
    sites: Sequence[str] = (),
    categories: Sequence[str] = (),
    test_features: Features | None = None,
) -> ProbeSet:
    """Decides which probes to train, and takes the folder for them.

    Args:
        features: To train on.
        folder: New, empty, or with probes of the same features and config.
        config: How.
        sites: Names; all but `answer` when empty.
        categories: Names; all when empty.
        test_features: Other features to test on, of the same model and prompt, such as the other
            profile of the same clips. The same features when None.

    Raises:
        ProbeError: A site or category that is not there, rows that cannot be split, or a folder
            with something else; what differs is named.
        FeaturesError: The test features are of another model or prompt.
    """
    test_features = features if test_features is None else test_features
    both = [features] if test_features is features else [features, test_features]
    if test_features is not features:
        same = {name: features.description.get(name) for name in ("version", "model", "prompt")}
        Features.open(test_features.folder, **same)
    shared = [site for site in features.sites if site in test_features.sites and site != ANSWER]
    probes = ProbeSet(
        features,
        test_features,
        Path(folder),
        config,
        tuple(categories) or categories_of(features),
        tuple(sites) or tuple(shared),
    )
    if not probes.sites:
        raise ProbeError(f"{features.folder} has no site that is there for every row; extract some")
    if not probes.categories:
        raise ProbeError(f"no row of {features.folder} has a label")
    for each in both:
        _validate_present(each, "site", probes.sites, [s for s in each.sites if s != ANSWER])
        _validate_present(each, "rows of category", probes.categories, categories_of(each))
    if wider := [s for s in probes.sites if features.width(s) != test_features.width(s)]:
        raise ProbeError(f"the two features differ in width at {', '.join(wider)}")
    for category in probes.categories:
        (_, train_rows), (_, test_rows) = (rows_of(f, category) for f in (features, test_features))
        try:
            config.splits(train_rows, test_rows, config.seeds[0])
        except ValueError as error:
            raise ProbeError(f"{category}: {error}") from error
    PROBES.claim(
        probes.folder,
        {
            "schema": SCHEMA,
            "version": PROBES_VERSION,
            "features": compared_description(features),
            "asked": None if probes._same else compared_description(test_features),
            "settings": asdict(config),
            "named": names_of(features),
        },
    )
    return probes


def rows_of(features: Features, category: str) -> tuple[np.ndarray, ProbeColumns]:
    """Indices and columns of the rows of a category; without any source, each row is its own."""
    indices = np.flatnonzero(features.rows["category"] == category)
    names = ("id", "source_id", "speaker_id", "split", "label", "no_effect")
    columns = {name: features.rows[name][indices] for name in names if name in features.rows}
    columns.setdefault("speaker_id", np.full(len(indices), ""))
    if not (features.rows["source_id"] != "").any():
        columns["source_id"] = columns["id"]
    return indices, columns


def categories_of(features: Features) -> tuple[str, ...]:
    """Categories that have labels, in order of appearance."""
    labelled = features.rows["category"][features.rows["label"] >= 0]
    return tuple(dict.fromkeys(labelled.tolist()))


def compared_description(features: Features) -> dict[str, Any]:
    """The part of a description that changes a number."""
    return {k: v for k, v in features.description.items() if k not in NOT_COMPARED}


def names_of(features: Features) -> dict[str, str]:
    """Names of model, adapter and dataset for tables; empty where the description has none."""
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


def _validate_present(
    features: Features, what: str, wanted: Sequence[str], present: Sequence[str]
) -> None:
    if absent := [name for name in wanted if name not in present]:
        raise ProbeError(
            f"{features.folder} has no {what} {', '.join(absent)}; it has "
            f"{', '.join(present) or 'none'}"
        )


def _as_name(text: str) -> str:
    """As part of a path."""
    return quote(text, safe="@ ")
