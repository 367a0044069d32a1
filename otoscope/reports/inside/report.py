"""The report of a study: what is decodable, what is answered, and what fine-tuning changed.

    write_inside(Path("studies/listener"))

From files alone: no model is loaded and nothing is downloaded. An unfinished study has a report
too, which names the missing parts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from otoscope.reports.inside.columns import layers_of
from otoscope.reports.inside.findings import findings
from otoscope.reports.inside.plots import accuracy_panels, alignment_panels, decodable_panels
from otoscope.reports.inside.reading import BASE, StudyResults, model_name, read_study
from otoscope.reports.inside.stored_names import STUDY_KEYS
from otoscope.reports.inside.tables import STAGES, layer_rows, stage_rows, tables
from otoscope.reports.pairing import flat_settings
from otoscope.reports.strips import heat
from otoscope.reports.tables import ReportTable, in_markdown, per_cent
from otoscope.reports.terminal import setting
from otoscope.reports.writing import write_report

NOT_STATED = "study.json does not state which published models were not run."
SYNTHETIC = {
    True: "The voices are synthetic (text-to-speech). Whether a result holds for human speech is "
    "not known from it.",
    False: "The dataset's card does not call its voices synthetic.",
    None: "Whether the voices are synthetic is not known: the dataset's card is not available.",
}
SECTIONS = {
    "decodable": "decodable, not answered",
    "stages": "stages",
    "layers": "layers",
    "heat": "category × layer",
    "positions": "positions",
    "transfer": "transfer",
    "alignment": "alignment",
    "across": "across profiles",
}
"""Sections of the page, in order, and their names in its contents."""

ABSENT = {
    "stages": "no probes of the stages",
    "layers": "no probes where the answer is predicted",
    "positions": "no probes at token positions; extract sites such as audio.*@a* and, with the "
    "clip first in the prompt, text.*@q_*",
    "transfer": "no run with questions about a direction",
    "alignment": "no features where the answer is predicted",
    "decodable": "probes were not joined with a run; `trainers.linear_probe --run` does so",
    "across": "no probes trained on one profile and tested on the other",
}
"""What would fill a section that a study lacks."""


def write_inside(study: Path, out: Path | None = None, *, map_layers: Sequence[int] = ()) -> Path:
    """Writes `inside.html`, `inside.md` and `tables/`; returns the page.

    Args:
        study: A study's folder.
        out: Of the report; `report` in the study's folder when None.
        map_layers: Layers whose cosines of every two categories are shown, beside the last.

    Raises:
        StudyFolderError: The folder has no part of a study, or no such layer.
    """
    study = Path(study)
    found = read_study(study)
    sections = tables(found, map_layers)
    return write_report(
        study / "report" if out is None else Path(out),
        [table for section in sections.values() for table in section],
        heading="Inside",
        facts=map(
            in_markdown,
            [*findings(found), never_run(found), SYNTHETIC[found.synthetic], *found.missing],
        ),
        template="inside.html.jinja",
        values=_page(study.resolve().name, found, sections),
        page="inside.html",
        markdown="inside.md",
    )


def never_run(study: StudyResults) -> str:
    """The statement of study.json on what was not run, or that there is none."""
    return str(study.about.get("never_run") or NOT_STATED)


def _page(name: str, study: StudyResults, sections: dict[str, list[ReportTable]]) -> dict[str, Any]:
    config = study.about.get("config") or {}
    at_stages, at_layers = stage_rows(study), layer_rows(study)
    stages = [name for name in STAGES if any(row["stage"] == name for row in at_stages)]
    accuracy = "Linear-probe accuracy by"
    return {
        "title": f"Inside: {name}",
        "never_run": never_run(study),
        "synthetic": SYNTHETIC[study.synthetic],
        "is_synthetic": study.synthetic,
        "missing": study.missing,
        "about": {
            STUDY_KEYS.get(key, key).replace("_", " "): setting(value)
            for key, value in flat_settings(config).items()
            if value not in (None, "", [], {}) and key != "never_run"
        },
        "prompts": {model_name(model): prompt for model, prompt in study.prompts.items()},
        "findings": findings(study),
        "sections": sections,
        "contents": {name: text for name, text in SECTIONS.items() if name in sections},
        "absent": {name: why for name, why in ABSENT.items() if name not in sections},
        "n_tuned": len([model for model in study.models if model != BASE]),
        "stage_panels": accuracy_panels(at_stages, "stage", stages, f"{accuracy} stage"),
        "layer_panels": accuracy_panels(
            at_layers, "layer", layers_of(at_layers), f"{accuracy} layer"
        ),
        "alignment_panels": alignment_panels(sections.get("alignment", [])),
        "decodable_panels": decodable_panels(study),
        "per_cent": per_cent,
        "heat": heat,
        "heat_cosine": _heat_cosine,
        "cosine": _cosine,
    }


def _heat_cosine(value: float | None) -> Markup:
    """Colour of a cosine's cell: one for positive values, another for negative ones."""
    return heat(None if value is None else (1 + value) / 2)


def _cosine(value: float | None) -> str:
    """A cosine with two decimals.

    >>> _cosine(-0.126), _cosine(None)
    ('−0.13', '–')
    """
    return "–" if value is None else f"{value:.2f}".replace("-", "−")
