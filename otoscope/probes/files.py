"""Files of a folder of probes: what is read from it, and how its tables are written and shown."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from otoscope.atomic import write_atomic
from otoscope.claims import FolderKind
from otoscope.errors import first_line
from otoscope.probes.predictions import CONVERGED, PREDICTIONS, PROBE, RIDGE, ProbeError
from otoscope.representations.sites import site_of
from otoscope.statistics.method_names import CLUSTERED, CLUSTERED_NOTE

PROBES = FolderKind(
    "set of probes", "run.json", ProbeError, (".*",), frozenset({"named"}), "choose another folder"
)
MISSING = "–"
UNBALANCED = 0.51
"""A share of one label above this makes a constant prediction look better than chance."""


def read_about(folder: Path) -> dict[str, Any]:
    """Content of run.json of a folder of probes.

    Raises:
        ProbeError: There is none, or it cannot be read.
    """
    about = PROBES.read(folder)
    if about is None:
        raise ProbeError(
            f"{folder} holds no probes; train them with `python -m trainers.linear_probe`"
        )
    return about


def prediction_files(folder: str | Path) -> dict[tuple[str, str], Path]:
    """The file of each category and site that is done.

    Raises:
        ProbeError: There is none, or one cannot be read or holds something else.
    """
    files = {}
    for path in sorted(Path(folder).glob("predictions/*/*.parquet")):
        try:
            file = pq.ParquetFile(path)
            if missing := set(PREDICTIONS.names) - set(file.schema_arrow.names):
                raise LookupError(f"it lacks {', '.join(sorted(missing))}")
            first = file.read_row_group(0, columns=["category", "site"])
            files[str(first["category"][0]), str(first["site"][0])] = path
        except (OSError, LookupError, RuntimeError, pa.ArrowException) as error:
            raise ProbeError(
                f"{path} holds no predictions ({first_line(error)}); delete it and train again"
            ) from error
    if not files:
        raise ProbeError(f"{folder} holds no predictions yet")
    return files


def site_order(site: str) -> tuple[str, str, int]:
    """Sort key: kinds and positions together, layers in order."""
    parsed = site_of(site)
    return parsed.kind, parsed.position or "", -1 if parsed.layer is None else parsed.layer


def site_columns(site: str) -> dict[str, Any]:
    """What a table says of a site.

    >>> site_columns("text.3")
    {'site': 'text.3', 'kind': 'text', 'layer': 3, 'position': ''}
    """
    parsed = site_of(site)
    return {
        "site": site, "kind": parsed.kind, "layer": parsed.layer, "position": parsed.position or "",
    }  # fmt: skip


def write_parquet(table: pa.Table, path: Path) -> None:
    """Writes a table so that it is either complete or as it was."""
    write_atomic(path, lambda to: pq.write_table(table, to))


def write_tables(folder: Path, table: pa.Table) -> None:
    """Writes `probes.parquet` and `probes.md` of a table from `probe_table`."""
    write_parquet(table, folder / "probes.parquet")
    write_atomic(folder / "probes.md", probe_markdown(table).encode())


def probe_markdown(table: pa.Table) -> str:
    """Accuracy in per cent with its interval: a table for each kind of site, a line for each layer.

    At token positions, and where one label is more frequent, it is the balanced accuracy. The
    columns that follow are of all categories together, or of the only one.
    """
    rows = table.to_pylist()
    majority = max(row["majority"] for row in rows)
    about = [f"{name}: {rows[0][name]}" for name in ("model", "adapter", "prompt", "split")]
    texts = [
        "# Linear-probe accuracy",
        f"{', '.join(about)}. In per cent, with 95 % CI, {CLUSTERED}. Control labels are "
        f"swapped for half of the sources. {CLUSTERED_NOTE}",
        *([unbalanced_note(majority)] if majority > UNBALANCED else []),
        *([CONVERGED_NOTE] if any(row["method"] == CONVERGED for row in rows) else []),
    ]
    for kind, position in dict.fromkeys((row["kind"], row["position"]) for row in rows):
        own = [row for row in rows if (row["kind"], row["position"]) == (kind, position)]
        measure = "balanced_accuracy" if position or majority > UNBALANCED else "accuracy"
        texts.append(f"## {kind}{'@' + position if position else ''}, {measure.replace('_', ' ')}")
        texts.append(_by_layer(own, measure))
    return "\n\n".join(texts) + "\n"


def unbalanced_note(majority: float) -> str:
    """What to say of labels of which one is more frequent."""
    return (
        f"Labels are not balanced: a constant prediction is correct for up to {majority:.0%} of "
        "the clips. Balanced accuracy, the mean over labels, has chance level 50 %; selectivity "
        "compares balanced accuracies."
    )


CONVERGED_NOTE = (
    "Not converged: where `converged` has a value, the published recipe ended while the training "
    "loss was still more than 0.05 nats above its least, as with few clips, which give few steps. "
    "`converged` is the accuracy of the probe with the least loss."
)


def _by_layer(rows: list[dict[str, Any]], measure: str) -> str:
    found = {(row["layer"], row["category"], row["method"]): row for row in rows}
    categories = list(dict.fromkeys(row["category"] for row in rows))
    shown = [(category, PROBE, measure) for category in categories]
    shown += [
        (categories[-1], method, name)
        for method, name in (
            (PROBE, "auc"), (PROBE, "control_accuracy"), (PROBE, "selectivity"), (RIDGE, measure),
        )
    ]  # fmt: skip
    titles = [*categories, "AUC", "control", "selectivity", "ridge"]
    if any(row["method"] == CONVERGED for row in rows):
        shown.append((categories[-1], CONVERGED, measure))
        titles.append("converged")
    lines = [
        f"| layer | {' | '.join(title.replace('_', ' ') for title in titles)} |",
        f"|---:|{'---:|' * len(titles)}",
    ]
    for layer in dict.fromkeys(row["layer"] for row in rows):
        cells = [
            _percent(found.get((layer, category, method)), name) for category, method, name in shown
        ]
        lines.append(f"| {MISSING if layer is None else layer} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _percent(row: Mapping[str, Any] | None, measure: str) -> str:
    if row is None or math.isnan(row[measure]):
        return MISSING
    value, low, high = (100 * row[name] for name in (measure, f"{measure}_low", f"{measure}_high"))
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"
