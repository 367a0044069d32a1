"""Reports from run folders: no model, key or network is needed.

To add a report: write `report(runs, out, *, dataset)` in a file of its own, then name it below.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from otoscope.errors import InputError
from otoscope.registry import Registry, imported

REPORTS: Registry[str] = Registry(
    "report",
    {
        "perception": "otoscope.reports.perception.report:report",
        "meld": "otoscope.reports.meld:report",
        "labels": "otoscope.reports.labels:report",
    },
)
"""Name of an audit, as in run.json, to `module:function`."""


def report(
    runs: Sequence[Path | str], out: Path | str | None = None, *, dataset: Any = None
) -> Path:
    """Writes the report of the runs' audit; returns the path of its page.

    Args:
        runs: Run folders of one audit, side by side in this order.
        out: Folder to write into; by default one in the first run's folder: `report` for one run,
            `report-with-…` and the others' names for several.
        dataset: Where the clips are, for audio players; none without it.

    Raises:
        InputError: No run, runs of several audits, or of an audit without a report.
        RunError: A folder is not a run, or of another schema.
    """
    from otoscope.audits.runs import read_about

    audits = {str(run): read_about(Path(run)).get("audit") for run in runs}
    if not audits:
        raise InputError("a report needs at least one run")
    if len(set(audits.values())) > 1:
        found = ", ".join(f"{run}: {audit!r}" for run, audit in audits.items())
        raise InputError(f"one report is about runs of one audit; these are of several: {found}")
    (audit,) = map(str, set(audits.values()))
    if audit not in REPORTS:
        raise InputError(
            f"{runs[0]} is a run of {audit!r}, which has no report; there are reports for "
            f"{', '.join(map(repr, sorted(REPORTS)))}"
        )
    page: Path = imported(REPORTS[audit])(runs, out, dataset=dataset)
    return page
