"""Tables of angles between the directions along which states move as different factors rise."""

from collections.abc import Sequence

import numpy as np

from otoscope.probes.alignment import alignment_table
from otoscope.reports.inside.columns import CATEGORY, LAYER, MODEL, category_rank, named
from otoscope.reports.inside.reading import StudyFolderError, StudyResults, model_name
from otoscope.reports.tables import BOOTSTRAP_CI, ReportTable, TableColumn, with_interval
from otoscope.representations.sites import site_of
from otoscope.statistics.breakdowns import plain


def tables(study: StudyResults, map_layers: Sequence[int] = ()) -> list[ReportTable]:
    """Means by layer, then maps of the last layer, and of `map_layers`.

    Raises:
        StudyFolderError: No model has such a layer.
    """
    last_sites = dict(study.alignments.keys())
    there = sorted({layer_of(site) for _, site in study.alignments})
    if absent := [layer for layer in map_layers if layer not in there]:
        raise StudyFolderError(
            f"there are no directions of change at layer {absent[0]}; there are some at "
            f"{', '.join(map(str, there)) or 'none: extract text.* with trainers.extract'}"
        )
    chosen = [
        _map(study, model, site, f"_layer_{layer_of(site)}")
        for model, site in study.alignments
        if layer_of(site) in map_layers and site != last_sites[model]
    ]
    return [_by_layer(study), *(_map(study, *last) for last in last_sites.items()), *chosen]


def layer_of(site: str) -> int:
    """The layer of a site that has one."""
    layer = site_of(site).layer
    assert layer is not None
    return layer


def _by_layer(study: StudyResults) -> ReportTable:
    """Mean cosines of the pairs of categories by layer."""
    found = alignment_table(study.alignments).to_pylist() if study.alignments else []
    return ReportTable(
        "alignment", "Alignment of directions of change",
        (MODEL, LAYER,
         *with_interval("absolute", "mean |cosine|", BOOTSTRAP_CI, kind="number"),
         TableColumn("random_null", "random null", "number"),
         *with_interval("signed", "mean cosine", BOOTSTRAP_CI, kind="number"),
         TableColumn("n_pairs", "pairs", "count")),
        tuple(plain(row) | named(row["model"]) for row in found),
        ("Cosines between mean differences of rising and falling clips, over all pairs of "
         "categories. Random null: the same with labels swapped at random, source by source; only "
         "what exceeds it indicates shared directions. 95 % intervals resample sources.",),
    )  # fmt: skip


def _map(study: StudyResults, model: str, site: str, suffix: str = "") -> ReportTable:
    """Signed cosines of every two categories."""
    found = study.alignments[model, site]
    names = sorted(found.categories, key=lambda name: category_rank(study, name))
    order = [found.categories.index(name) for name in names]
    cosines = found.cosines[np.ix_(order, order)].tolist()
    columns = [TableColumn(name, name.replace("_", " "), "number") for name in names]
    return ReportTable(
        f"alignment_map_{model}{suffix}",
        f"Cosines between directions at {site}: {model_name(model)}",
        (CATEGORY, *columns),
        tuple(
            plain({"category": name, **dict(zip(names, line, strict=True))})
            for name, line in zip(names, cosines, strict=True)
        ),
    )
