"""Tables of a study: linear-probe accuracy by stage, layer, position and profile."""

from collections.abc import Sequence

from otoscope.reports.inside import alignment, decodable, transfer
from otoscope.reports.inside.columns import (
    CATEGORY,
    CONTROL,
    CONVERGED_ACCURACY,
    LAYER,
    MODEL,
    N_SOURCES,
    N_TEST,
    PROBE_ACCURACY,
    PROBES_NOTE,
    RIDGE_ACCURACY,
    SITE,
    StudyRow,
    by_category,
    category_map,
    layers_of,
    named,
    probe_rows,
    with_ridge,
)
from otoscope.reports.inside.reading import BASE, StudyResults, model_name, predicts_answer
from otoscope.reports.tables import AREA_CI, ReportTable, TableColumn, with_interval
from otoscope.representations.sites import OUTPUT_POSITION

STAGES = ("mel", "pre_llm", "audio.last", "text.last")
POSITION_LAYERS = (1, 10, 25)
"""Those of the published tables."""

POSITIONS = ("a1", "a2", "a3", "a4", "q_attr", "q_p", "q_l", OUTPUT_POSITION)
PROFILES = {
    BASE: ("the study's profile", "the study's profile"),
    "base-on-other": ("the study's profile", "the other profile"),
    "other-on-base": ("the other profile", "the study's profile"),
}
"""What probes were trained and tested on, by their folder."""


def tables(study: StudyResults, map_layers: Sequence[int] = ()) -> dict[str, list[ReportTable]]:
    """Tables with rows, by section of the page; `map_layers` as in `alignment.tables`."""
    found = {
        "stages": [stages(study)],
        "layers": [layers(study)],
        "heat": layer_maps(study),
        "positions": [positions(study), *position_maps(study)],
        "transfer": transfer.tables(study),
        "alignment": alignment.tables(study, map_layers),
        "decodable": decodable.tables(study),
        "across": [across_profiles(study)],
    }
    filled = {name: [t for t in section if t.rows] for name, section in found.items()}
    return {name: section for name, section in filled.items() if section}


def stage_rows(study: StudyResults) -> list[StudyRow]:
    """For each category and model, the stages that there are."""
    found = []
    for model, rows in study.probes.items():
        own = with_ridge(rows)
        for stage, site in stages_of(own).items():
            at_stage = [row for row in own if row["site"] == site]
            found += [row | named(model) | {"stage": stage} for row in at_stage]
    return by_category(study, found)


def stages_of(rows: Sequence[StudyRow]) -> dict[str, str]:
    """Site of each stage that was probed.

    >>> stages_of([{"site": "text.4", "kind": "text", "layer": 4, "position": ""}])
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


def stages(study: StudyResults) -> ReportTable:
    """Probe accuracy from the mel spectrogram to the last hidden state."""
    return ReportTable(
        "stages", "Linear-probe accuracy by stage",
        (CATEGORY, MODEL, TableColumn("stage", "stage"), SITE, *PROBE_ACCURACY, CONTROL,
         RIDGE_ACCURACY, CONVERGED_ACCURACY, N_TEST, N_SOURCES),
        tuple(stage_rows(study)), (PROBES_NOTE,),
    )  # fmt: skip


def layer_rows(study: StudyResults) -> list[StudyRow]:
    """For each category, model and layer where the answer is predicted, with answer accuracy."""
    answered = {(row["key"], row["category"]): row["accuracy"] for row in study.answered}
    found = [
        row | named(model) | {"answer": answered.get((model, row["category"]))}
        for model, rows in study.probes.items()
        for row in with_ridge(rows)
        if predicts_answer(row["site"])
    ]
    return by_category(study, found)


def layers(study: StudyResults) -> ReportTable:
    """Probe accuracy by layer beside the model's own answers."""
    return ReportTable(
        "layers", "Linear-probe accuracy where the answer is predicted, by layer",
        (CATEGORY, MODEL, LAYER, *PROBE_ACCURACY,
         TableColumn("answer", "answer accuracy, %", "share"),
         *with_interval("auc", "AUC, %", AREA_CI),
         CONTROL, TableColumn("selectivity", "selectivity, points", "share"), RIDGE_ACCURACY,
         CONVERGED_ACCURACY, N_TEST, N_SOURCES),
        tuple(layer_rows(study)),
        (PROBES_NOTE, "Answer accuracy: of the same model in the study's run, for all layers."),
    )  # fmt: skip


def layer_maps(study: StudyResults) -> list[ReportTable]:
    """Category by layer: one map for each model."""
    rows = layer_rows(study)
    maps = []
    for model in study.probes:
        own = [row for row in rows if row["key"] == model]
        values = {(row["category"], str(row["layer"])): row["accuracy"] for row in own}
        at = [str(layer) for layer in layers_of(own)]
        maps.append(
            category_map(
                study, f"category_by_layer_{model}",
                f"Linear-probe accuracy by category and layer, %: {model_name(model)}", values, at,
                ("Columns are layers; chance level 50 %. The table by layer has the intervals.",),
            )
        )  # fmt: skip
    return maps


def position_rows(study: StudyResults) -> list[StudyRow]:
    """Balanced accuracy at token positions, at the layers nearest to the published ones."""
    found: list[StudyRow] = []
    for model, rows in study.probes.items():
        own = [r for r in probe_rows(rows) if r["position"] or predicts_answer(r["site"])]
        there = layers_of(row for row in own if row["position"])
        nearest = {
            min(there, key=lambda k: (abs(k - layer), k)) for layer in POSITION_LAYERS if there
        }
        found += [
            row | named(model) | {"position": row["position"] or OUTPUT_POSITION}
            for row in sorted(own, key=lambda row: row["layer"])
            if row["layer"] in nearest
        ]
    return by_category(study, found)


def positions(study: StudyResults) -> ReportTable:
    """The long table of positions."""
    return ReportTable(
        "positions", "Balanced linear-probe accuracy at token positions",
        (CATEGORY, MODEL, LAYER, TableColumn("position", "position"),
         *with_interval("balanced_accuracy", "balanced accuracy, %"), N_TEST, N_SOURCES),
        tuple(position_rows(study)),
        ("a1 to a4: last token of each quarter of the clip. q_attr: last token of the attribute; "
         "q_p, q_l: last but one and last token of the question. o: where the answer is predicted. "
         "Layers 1, 10 and 25 as published, or the nearest available.",),
    )  # fmt: skip


def position_maps(study: StudyResults) -> list[ReportTable]:
    """Category by position: one map for each model and layer."""
    rows = position_rows(study)
    maps = []
    for key, layer in sorted({(row["key"], row["layer"]) for row in rows}):
        own = [row for row in rows if (row["key"], row["layer"]) == (key, layer)]
        values = {(row["category"], row["position"]): row["balanced_accuracy"] for row in own}
        at = [name for name in POSITIONS if any(row["position"] == name for row in own)]
        maps.append(
            category_map(
                study, f"category_by_position_{key}_{layer}",
                f"Balanced accuracy by position, %: {model_name(key)}, layer {layer}", values, at,
            )
        )  # fmt: skip
    return maps


def across_profiles(study: StudyResults) -> ReportTable:
    """Probes trained on one profile and tested on the other, beside those of one profile."""
    probes = {BASE: study.probes.get(BASE, [])} | dict(study.across) if study.across else {}
    rows = [
        row | {"trained": PROFILES[name][0], "tested": PROFILES[name][1], "key": name}
        for name, found in probes.items()
        for row in with_ridge(found)
        if not row["position"]
    ]
    return ReportTable(
        "across_profiles", "Trained on one profile, tested on the other",
        (CATEGORY, TableColumn("trained", "trained on"), TableColumn("tested", "tested on"), SITE,
         *PROBE_ACCURACY, CONTROL, RIDGE_ACCURACY, CONVERGED_ACCURACY, N_TEST,
         N_SOURCES),
        tuple(by_category(study, rows)),
        ("Artefacts of one profile do not help on the other. A probe that decodes the change "
         "itself keeps its accuracy.",),
    )  # fmt: skip
