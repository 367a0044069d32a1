"""Tables of several studies side by side: one for each model, or each scope of fine-tuning.

Source: VocalGrad, 5.3 (Figures 2 and 3) and appendix C.11 (Table 20).
"""

from collections.abc import Callable, Mapping, Sequence

from otoscope.probes.table import ALL
from otoscope.reports.inside.columns import (
    CATEGORY,
    CONTROL,
    CONVERGED_ACCURACY,
    LAYER,
    N_SOURCES,
    N_TEST,
    PROBE_ACCURACY,
    PROBES_NOTE,
    RIDGE_ACCURACY,
    SITE,
    StudyRow,
)
from otoscope.reports.inside.reading import BASE, TUNED, StudyResults
from otoscope.reports.inside.tables import layer_rows, stage_rows
from otoscope.reports.tables import ReportTable, TableColumn, share_matrix, with_interval
from otoscope.statistics.method_names import CLUSTERED_NOTE

STUDY = TableColumn("study", "study", "run")
MODEL_SPEC = TableColumn("spec", "model")
SCOPE = TableColumn("scope", "fine-tuned layers")
Studies = Mapping[str, StudyResults]


def tables(studies: Studies) -> list[ReportTable]:
    """In-domain accuracy, probes by stage and by layer; those without rows are left out."""
    found = [in_domain(studies), in_domain_matrix(studies), stages(studies), layers(studies)]
    return [table for table in found if table.rows]


def about(study: StudyResults) -> StudyRow:
    """The model of a study and the scope of its fine-tuning, as study.json has them."""
    config = study.about.get("config") or {}
    return {"spec": config.get("model"), "scope": config.get("scope")}


def in_domain_rows(studies: Studies) -> list[StudyRow]:
    """For each study and category, answers of the base and of the model fine-tuned on it."""
    found = []
    for name, study in studies.items():
        by_key = {(row["key"], row["category"]): row for row in study.answered}
        for category in study.categories:
            base, tuned = by_key.get((BASE, category)), by_key.get((TUNED + category, category))
            row = {"study": name, **about(study), "category": category}
            for role, answers in (("base", base), ("tuned", tuned)):
                for end in ("", "_low", "_high"):
                    row[role + end] = answers and answers["accuracy" + end]
            if tuned is not None:
                row |= {k: tuned[k] for k in ("n", "n_sources")}
                row |= {k: tuned.get(k) for k in ("change", "change_low", "change_high")}
                found.append(row)
    return found


def in_domain(studies: Studies) -> ReportTable:
    """The long table of fine-tuned models, each tested on its own category."""
    return ReportTable(
        "models_in_domain", "Fine-tuned and tested on the same category",
        (CATEGORY, STUDY, MODEL_SPEC, SCOPE,
         *with_interval("base", "base, answer accuracy, %"),
         *with_interval("tuned", "fine-tuned, answer accuracy, %"),
         *with_interval("change", "change, points"),
         TableColumn("n", "clips", "count"), N_SOURCES),
        tuple(_category_first(studies, in_domain_rows(studies))),
        ("All planned questions count; an answer that is missing or unparsed is not correct. "
         "Changes are paired. " + CLUSTERED_NOTE,),
    )  # fmt: skip


def in_domain_matrix(studies: Studies) -> ReportTable:
    """A line for the base and one for the fine-tuned models of each study."""
    rows = in_domain_rows(studies)
    lines: list[StudyRow] = []
    for name in studies:
        own = [row for row in rows if row["study"] == name]
        for role, text in (("base", "base"), ("tuned", "fine-tuned")):
            shares = {row["category"]: row[role] for row in own if row[role] is not None}
            if shares:
                mean = sum(shares.values()) / len(shares)
                lines.append({"line": f"{name}, {text}", **shares, ALL: mean})
    columns = [c for c in (*categories_of(studies), ALL) if any(c in line for line in lines)]
    return share_matrix(
        "models_in_domain_matrix", "Answer accuracy of base and fine-tuned models, %",
        (TableColumn("line", "study", "name"),), columns, lines,
        ("Each category is that of a model fine-tuned on it. All: the mean of the line.",),
    )  # fmt: skip


def stages(studies: Studies) -> ReportTable:
    """Probes from the mel spectrogram to the last hidden state, base models only."""
    rows = _of_bases(studies, stage_rows)
    return ReportTable(
        "models_stages", "Linear-probe accuracy by stage, base models",
        (CATEGORY, STUDY, MODEL_SPEC, TableColumn("stage", "stage"), SITE, *PROBE_ACCURACY,
         CONTROL, RIDGE_ACCURACY, CONVERGED_ACCURACY, N_TEST, N_SOURCES),
        tuple(rows), (PROBES_NOTE,),
    )  # fmt: skip


def layers(studies: Studies) -> ReportTable:
    """Probes where the answer is predicted, base models only."""
    rows = _of_bases(studies, layer_rows)
    return ReportTable(
        "models_layers", "Linear-probe accuracy where the answer is predicted, base models",
        (CATEGORY, STUDY, MODEL_SPEC, LAYER, *PROBE_ACCURACY,
         TableColumn("answer", "answer accuracy, %", "share"), CONTROL, RIDGE_ACCURACY,
         CONVERGED_ACCURACY, N_TEST, N_SOURCES),
        tuple(rows), (PROBES_NOTE,),
    )  # fmt: skip


def categories_of(studies: Studies) -> list[str]:
    """Categories of all studies, each once, in order."""
    return list(dict.fromkeys(name for study in studies.values() for name in study.categories))


def _of_bases(
    studies: Studies, rows_of: Callable[[StudyResults], list[StudyRow]]
) -> list[StudyRow]:
    rows = [
        row | {"study": name, **about(study)}
        for name, study in studies.items()
        for row in rows_of(study)
        if row["key"] == BASE
    ]
    return _category_first(studies, rows)


def _category_first(studies: Studies, rows: Sequence[StudyRow]) -> list[StudyRow]:
    order = [*categories_of(studies), ALL]
    return sorted(rows, key=lambda row: order.index(row["category"]))
