"""Tables of a study: what is encoded where, what is said, and what teaching changed."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from otoscope.probes.alignment import alignment_table
from otoscope.probes.predictions import PROBE, RIDGE
from otoscope.probes.table import ALL
from otoscope.reports.inside.reading import BASE, Study, is_said, model_name, taught
from otoscope.reports.sheets import Column, Kind, Sheet, matrix
from otoscope.representations.sites import OUTPUT_POSITION

STAGES = ("mel", "pre_llm", "audio.last", "text.last")
POSITION_LAYERS = (1, 10, 25)
"""Those of the published tables."""

POSITIONS = ("a1", "a2", "a3", "a4", "q_attr", "q_p", "q_l", OUTPUT_POSITION)

Row = dict[str, Any]

MODEL = Column("model", "model", "run")
CATEGORY = Column("category", "category", "name")
LAYER = Column("layer", "layer", "count")
ACCURACY = Column("accuracy", "probe right, %", "share")
INTERVAL = Column("accuracy_low", "95 % by source", "interval", high="accuracy_high")
N_TEST = Column("n_test", "clips", "count")
N_SOURCES = Column("n_sources", "sources", "count")
CONTROL = Column("control_accuracy", "control, %", "share")
RIDGE_ACCURACY = Column("ridge", "ridge, %", "share")
SAID = Column("answer", "answers right, %", "share")

PROBES_NOTE = (
    "Chance is 50 %. Control: the same probe with labels of which half are swapped, source by "
    "source; it should be at chance. Ridge: a second opinion in closed form. Intervals are 95 % "
    "and clustered by source."
)


def tables(study: Study) -> dict[str, list[Sheet]]:
    """Sheets with rows, by section of the page."""
    made = {
        "stages": [stages(study)],
        "layers": [layers(study)],
        "heat": heat_maps(study),
        "positions": [positions(study), *position_maps(study)],
        "transfer": [transfer(study), transfer_matrix(study)],
        "alignment": [alignment(study), *alignment_maps(study)],
        "encoded": [encoded_at_last(study), encoded_by_layer(study)],
        "across": [across(study)],
    }
    return {name: kept for name, found in made.items() if (kept := [s for s in found if s.rows])}


def probed(rows: Iterable[Row], method: str = PROBE) -> list[Row]:
    """Rows of one method."""
    return [row for row in rows if row["method"] == method]


def stage_rows(study: Study) -> list[Row]:
    """For each category and model, the stages that there are."""
    found = []
    for model, rows in study.probes.items():
        own = _with_ridge(rows)
        for stage, site in stages_of(own).items():
            found += [
                row | {"model": model_name(model), "key": model, "stage": stage}
                for row in own
                if row["site"] == site
            ]
    return _by_category(study, found)


def stages_of(rows: Sequence[Row]) -> dict[str, str]:
    """Site of each stage that was probed.

    >>> rows = [{"site": s, "kind": s[:4], "layer": 4, "position": ""} for s in ("text.4",)]
    >>> stages_of(rows)
    {'text.last': 'text.4'}
    """
    sites = {row["site"] for row in rows}
    found = {}
    for stage in STAGES:
        kind, _, last = stage.partition(".")
        at = [r for r in rows if r["kind"] == kind and not r["position"] and r["layer"] is not None]
        if last and at:
            found[stage] = max(at, key=lambda row: row["layer"])["site"]
        elif stage in sites:
            found[stage] = stage
    return found


def stages(study: Study) -> Sheet:
    """Probe accuracy from the spectrogram to the state that is read out."""
    return Sheet(
        "stages", "What a line can tell, stage by stage",
        (CATEGORY, MODEL, Column("stage", "stage"), Column("site", "site"), ACCURACY, INTERVAL,
         CONTROL, RIDGE_ACCURACY, N_TEST, N_SOURCES),
        tuple(stage_rows(study)), (PROBES_NOTE,),
    )  # fmt: skip


def layer_rows(study: Study) -> list[Row]:
    """For each category, model and layer where the answer is predicted, with what was answered."""
    said = {(row["key"], row["asked"]): row["accuracy"] for row in transfer_rows(study)}
    found = [
        row
        | {"model": model_name(model), "key": model, "answer": said.get((model, row["category"]))}
        for model, rows in study.probes.items()
        for row in _with_ridge(rows)
        if is_said(row["site"])
    ]
    return _by_category(study, found)


def layers(study: Study) -> Sheet:
    """Probe accuracy by layer beside the model's own answers."""
    return Sheet(
        "layers", "What a line can tell where the answer is predicted, layer by layer",
        (CATEGORY, MODEL, LAYER, ACCURACY, INTERVAL, SAID,
         Column("auc", "AUC, %", "share"), Column("auc_low", "95 % by source", "interval",
         high="auc_high"), CONTROL, Column("selectivity", "selectivity, points", "share"),
         RIDGE_ACCURACY, N_TEST, N_SOURCES),
        tuple(layer_rows(study)),
        (PROBES_NOTE, "Answers: of the same model in the study's run; the layer does not matter."),
    )  # fmt: skip


def heat_maps(study: Study) -> list[Sheet]:
    """Category by layer: one map a model."""
    rows = layer_rows(study)
    made = []
    for model in study.probes:
        own = [row for row in rows if row["key"] == model]
        found = {(row["category"], str(row["layer"])): row["accuracy"] for row in own}
        at = [str(layer) for layer in sorted({row["layer"] for row in own})]
        made.append(
            matrix(
                f"category_by_layer_{model}",
                f"Probe accuracy by category and layer, %: {model_name(model)}",
                (CATEGORY,), at, _grid(study, found, at),
                ("Columns are layers; chance is 50 %. Intervals stand in the table by layer.",),
            )
        )  # fmt: skip
    return made


def position_rows(study: Study) -> list[Row]:
    """Balanced accuracy at token positions, at the layers nearest to the published ones."""
    found: list[Row] = []
    for model, rows in study.probes.items():
        own = [row for row in probed(rows) if row["position"] or is_said(row["site"])]
        if not any(row["position"] for row in own):
            continue
        there = sorted({row["layer"] for row in own if row["position"]})
        nearest = {min(there, key=lambda k: (abs(k - layer), k)) for layer in POSITION_LAYERS}
        found += [
            row
            | {
                "model": model_name(model),
                "key": model,
                "position": row["position"] or OUTPUT_POSITION,
            }
            for row in sorted(own, key=lambda row: row["layer"])
            if row["layer"] in nearest
        ]
    return _by_category(study, found)


def positions(study: Study) -> Sheet:
    """The positions' long table."""
    return Sheet(
        "positions", "Balanced accuracy at token positions",
        (CATEGORY, MODEL, LAYER, Column("position", "position"),
         Column("balanced_accuracy", "balanced, %", "share"),
         Column("balanced_accuracy_low", "95 % by source", "interval",
                high="balanced_accuracy_high"), N_TEST, N_SOURCES),
        tuple(position_rows(study)),
        ("a1 to a4: ends of the clip's quarters. q_attr, q_p, q_l: the attribute's last token, the "
         "question's last but one and last. o: where the answer is predicted. Layers 1, 10 and 25 "
         "as published, or the nearest there are.",),
    )  # fmt: skip


def position_maps(study: Study) -> list[Sheet]:
    """Category by position: one map a model and layer."""
    rows = position_rows(study)
    made = []
    for key, layer in sorted({(row["key"], row["layer"]) for row in rows}):
        own = [row for row in rows if (row["key"], row["layer"]) == (key, layer)]
        found = {(row["category"], row["position"]): row["balanced_accuracy"] for row in own}
        at = [name for name in POSITIONS if any(row["position"] == name for row in own)]
        made.append(
            matrix(
                f"category_by_position_{key}_{layer}",
                f"Balanced accuracy by position, %: {model_name(key)}, layer {layer}",
                (CATEGORY,), at, _grid(study, found, at),
            )
        )  # fmt: skip
    return made


def transfer_rows(study: Study) -> list[Row]:
    """What each model answers about each category, and what teaching changed."""
    return [
        row | {"model": model_name(row["key"]), "taught": taught(row["key"]) or BASE}
        for row in study.answered
    ]


def transfer(study: Study) -> Sheet:
    """The transfer matrix with its intervals, a row a cell."""
    return Sheet(
        "transfer", "Taught one category, asked about all",
        (MODEL, Column("asked", "asked about", "name"),
         Column("accuracy", "answers right, %", "share"), INTERVAL,
         Column("change", "less base, points", "share"),
         Column("change_low", "95 % by source", "interval", high="change_high"),
         Column("n", "clips", "count"), Column("n_shared", "shared with base", "count"), N_SOURCES),
        tuple(transfer_rows(study)),
        ("Right of all that were planned; one that was never answered or names no direction is not "
         "right. Differences are paired, over the clips that both were asked about; all: "
         "categories count alike.",),
    )  # fmt: skip


def transfer_matrix(study: Study) -> Sheet:
    """Rows: what was taught; columns: what is asked about."""
    rows = transfer_rows(study)
    tested_on = [name for name in (*study.categories, ALL) if any(r["asked"] == name for r in rows)]
    made: dict[str, Row] = {}
    for row in rows:
        made.setdefault(row["key"], {"taught": row["taught"]})[row["asked"]] = row["accuracy"]
    return matrix(
        "transfer_matrix", "Answers right, %: rows were taught, columns are asked about",
        (Column("taught", "taught", "name"),), tested_on, list(made.values()),
        ("Intervals and differences from the base stand in the long table.",),
    )  # fmt: skip


def alignment(study: Study) -> Sheet:
    """Mean cosines of the pairs of categories by layer."""
    rows = [
        row | {"model": model_name(row["model"]), "key": row["model"]}
        for row in alignment_table(study.alignments).to_pylist()
    ] if study.alignments else []  # fmt: skip
    number: Kind = "number"
    return Sheet(
        "alignment", "Do states move the same way whatever rises?",
        (MODEL, LAYER, Column("absolute", "mean |cosine|", number),
         Column("absolute_low", "from", number), Column("absolute_high", "to", number),
         Column("random_null", "random null", number), Column("signed", "mean cosine", number),
         Column("signed_low", "from ", number), Column("signed_high", "to ", number),
         Column("n_pairs", "pairs", "count")),
        tuple(_without_nan(row) for row in rows),
        ("Cosines between mean changes from falling to rising, over all pairs of categories. By "
         "lot: the same where what rises is decided by lot, source by source; only what lies "
         "beyond it speaks of directions. 95 % intervals resample sources.",),
    )  # fmt: skip


def alignment_maps(study: Study) -> list[Sheet]:
    """Signed cosines of every two categories at the last layer: one map a model."""
    made = []
    for model in dict.fromkeys(model for model, _ in study.alignments):
        site = [site for key, site in study.alignments if key == model][-1]
        found = study.alignments[model, site]
        names = sorted(found.categories, key=lambda name: _place(study, name))
        places = [found.categories.index(name) for name in names]
        cosines = found.cosines[np.ix_(places, places)].tolist()
        rows = tuple(
            _without_nan({"category": name, **dict(zip(names, line, strict=True))})
            for name, line in zip(names, cosines, strict=True)
        )
        columns = [Column(name, name.replace("_", " "), "number") for name in names]
        made.append(
            Sheet(
                f"alignment_map_{model}",
                f"Cosines between directions at {site}: {model_name(model)}",
                (CATEGORY, *columns), rows,
            )
        )  # fmt: skip
    return made


def encoded_rows(study: Study) -> list[Row]:
    """What is encoded and not said, at every layer where the answer is predicted."""
    found = [
        row | {"model": model_name(model), "key": model}
        for model, rows in study.encoded.items()
        for row in probed(rows)
        if is_said(row["site"])
    ]
    return _by_category(study, found)


def encoded_at_last(study: Study) -> Sheet:
    """At the last layer of each model."""
    rows = encoded_rows(study)
    last = {
        key: max(row["layer"] for row in rows if row["key"] == key)
        for key in dict.fromkeys(row["key"] for row in rows)
    }
    return _encoded_sheet(
        "encoded_at_last", "Encoded and not said, at the last layer",
        [row for row in rows if row["layer"] == last[row["key"]]],
    )  # fmt: skip


def encoded_by_layer(study: Study) -> Sheet:
    """At every layer."""
    return _encoded_sheet("encoded", "Encoded and not said, by layer", encoded_rows(study))


def _encoded_sheet(name: str, title: str, rows: Sequence[Row]) -> Sheet:
    def with_interval(key: str, head: str) -> tuple[Column, Column]:
        return (
            Column(key, head, "share"),
            Column(f"{key}_low", "95 % by source", "interval", high=f"{key}_high"),
        )

    return Sheet(
        name, title,
        (CATEGORY, MODEL, LAYER, *with_interval("encoded_not_said", "encoded, not said, %"),
         *with_interval("beyond_guessing", "beyond guessing, points"),
         *with_interval("encoded_less_said", "encoded less said, points"),
         Column("encoded", "encoded, %", "share"), Column("said", "said, %", "share"),
         *with_interval("said_not_encoded", "said, not encoded, %"),
         *with_interval("encoded_where_wrong", "encoded where wrong, %"),
         *with_interval("control_where_wrong", "control where wrong, %"),
         Column("p_mcnemar", "p, McNemar", "p"), Column("p_holm", "p, Holm", "p"),
         Column("n", "clips", "count"), N_SOURCES, Column("n_not_asked", "not asked", "count")),
        tuple(rows),
        ("A probe that guesses is right about half of what is answered wrongly, so the share that "
         "is encoded and not said holds luck. Beyond guessing: only the probe right, less neither "
         "right; 0 for a probe that guesses where the answer is wrong.",
         "Encoded less said is paired, with an interval by source. McNemar's test takes clips as "
         "independent, which clips of one source are not: where they disagree, believe the "
         "interval. Holm: over all sites and categories."),
    )  # fmt: skip


ACROSS_NAMES = {
    BASE: "the study's profile, asked about it",
    "base-on-other": "the study's profile, asked about the other",
    "other-on-base": "the other profile, asked about the study's",
}


def across_rows(study: Study) -> list[Row]:
    """Probes of one profile asked about the other, beside those asked about their own."""
    if not study.across:
        return []
    own = {BASE: study.probes[BASE]} if BASE in study.probes else {}
    found = [
        row | {"probe": ACROSS_NAMES[name], "key": name}
        for name, rows in (own | dict(study.across)).items()
        for row in _with_ridge(rows)
        if not row["position"]
    ]
    return _by_category(study, found)


def across(study: Study) -> Sheet:
    """The control across profiles."""
    return Sheet(
        "across_profiles", "Learnt from one profile, asked about the other",
        (CATEGORY, Column("probe", "probe learnt from"), Column("site", "site"), ACCURACY,
         INTERVAL, CONTROL, RIDGE_ACCURACY, N_TEST, N_SOURCES),
        tuple(across_rows(study)),
        ("What one profile's traces give away does not help with the other: a probe that hears the "
         "change itself stays right.",),
    )  # fmt: skip


def _with_ridge(rows: Sequence[Row]) -> list[Row]:
    second = {(row["site"], row["category"]): row["accuracy"] for row in probed(rows, RIDGE)}
    return [row | {"ridge": second.get((row["site"], row["category"]))} for row in probed(rows)]


def _by_category(study: Study, rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: _place(study, row["category"]))


def _place(study: Study, category: str) -> int:
    """Where a category stands in tables; one that the study does not name stands last."""
    order = (*study.categories, ALL)
    return order.index(category) if category in order else len(order)


def _grid(study: Study, found: dict[tuple[str, str], Any], columns: Sequence[str]) -> list[Row]:
    return [
        {"category": category, **{at: found.get((category, at)) for at in columns}}
        for category in (*study.categories, ALL)
        if any((category, at) in found for at in columns)
    ]


def _without_nan(row: Row) -> Row:
    return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in row.items()}
