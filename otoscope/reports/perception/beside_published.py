"""Runs beside the models and human participants of the VocalGrad paper."""

from collections.abc import Sequence
from fractions import Fraction

import pandas as pd

from otoscope.reports.perception.published import CATEGORIES, PUBLISHED, published_table
from otoscope.reports.perception.reading import BEEP, CLIP, PerceptionRun, counts_by
from otoscope.reports.perception.scores import HUMAN_NOTE
from otoscope.reports.tables import ReportTable, TableColumn, Ties, cross_shares, share_matrix

HUMAN = Fraction(944, 1000)
"""Human accuracy, the mean over categories. Source: VocalGrad, Table 2."""

PUBLISHED_NOTE = (
    "Published models answered 2,400 clips of each category made from VCTK. Only a run on those "
    "clips is directly comparable. Every row counts all clips, also those in which nothing changes."
)
WITH_RESULTS = ("main", "few_shot", "audio_ref", "swap_order", "beeps")
BEEP_NOTE = (
    "Published models answered 240 beeps of each category with the prompt audio_ref; rounded as in "
    "the paper, where 46.25 became 46.3."
)


def comparison_table(
    answered: Sequence[tuple[PerceptionRun, pd.DataFrame]], prompt: str, *, kind: str = CLIP
) -> ReportTable:
    """Runs, the published models and humans, by category; averages are over the columns shown.

    Args:
        answered: Runs with the answers that represent them.
        prompt: Of the published rows, if there are any for it.
        kind: `clip`, or `beep` for the published rows on beeps.
    """
    counts = pd.concat([counts_by(own, "category").assign(name=run.name) for run, own in answered])
    columns = sorted(counts["category"].unique())
    rows = [
        row | {"origin": "this report"}
        for row in cross_shares(counts, "name", "category", columns=columns)
    ]
    published = "beeps" if kind == BEEP else prompt
    notes: tuple[str, ...] = ()
    ties: Ties = "even"
    if published in WITH_RESULTS:
        ties = PUBLISHED[published].ties
        if set(columns) & set(PUBLISHED[published].columns):
            models = published_table(published, columns=columns).rows
            rows += [{"name": row["model"], "origin": "published"} | dict(row) for row in models]
            notes = (BEEP_NOTE if kind == BEEP else PUBLISHED_NOTE,)
        if kind != BEEP and set(columns) == set(CATEGORIES):
            rows.append({"name": "human", "origin": "published", "average": HUMAN})
            notes += (HUMAN_NOTE,)
    corner = (
        TableColumn("name", "model or run", "run"),
        TableColumn("origin", "from"),
        TableColumn("average", "average", "share"),
    )
    name, on = ("published_on_beeps", " on beeps") if kind == BEEP else ("published", "")
    title = f"Beside the published models{on}: accuracy, %"
    return share_matrix(name, title, corner, columns, rows, notes, ties)
