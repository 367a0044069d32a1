"""One page that sets two builds side by side: what the signal says, and what else says it."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from builders.vocalgrad.confounds_of_build import COLUMNS
from builders.vocalgrad.findings import Findings, kept_findings
from builders.vocalgrad.heat import heat_table
from builders.vocalgrad.making import BuildError
from builders.vocalgrad.observe import ObserverRow, Rate
from builders.vocalgrad.page import FEW_CLIPS, TEMPLATES
from otoscope.acoustics.design import TIERS
from otoscope.acoustics.gradients import GRADIENTS, attribute_of
from otoscope.reports import figures
from otoscope.reports.html import render, write


class Side(NamedTuple):
    """One of the two builds.

    Attributes:
        name: What sets it apart: its profile, or its folder where the profiles are the same.
        page: Address of its own page, as seen from the page that compares; None where it has none.
        found: What listening to it brought.
    """

    name: str
    page: str | None
    found: Findings


def write_side_by_side(first: Path, second: Path, out: Path) -> Path:
    """Writes the page, from what the builds left under `.otoscope/`; returns its path.

    Raises:
        BuildError: A folder that holds no finished build, or one that nobody listened to, or twice
            the same folder.
    """
    if first.resolve() == second.resolve():
        raise BuildError(f"{first} is both builds; name two")
    sides = _sides([first, second], out)
    values = {
        "title": f"VocalGrad: {sides[0].name} and {sides[1].name}",
        "sides": sides,
        "same_sources": sides[0].found.sources == sides[1].found.sources,
        "synthetic": any(side.found.synthetic for side in sides),
        "observer": observer_groups(sides),
        "axis": figures.whisker_axis(),
        "few": FEW_CLIPS,
        "heat": [
            (
                name,
                heat_table({side.name: getattr(side.found.confounds, part) for side in sides}),
            )
            for name, part in (("all tiers", "all_tiers"), ("high tier", "widest"))
        ],
        "bound": list(dict.fromkeys(r for side in sides for r in side.found.confounds.bound)),
        "contrasts": COLUMNS,
        "attribute_of": attribute_of,
    }
    return write(out, render("side_by_side.html.jinja", values, folder=TEMPLATES))


def _sides(folders: list[Path], out: Path) -> list[Side]:
    found = [kept_findings(folder) for folder in folders]
    names = [f.profile for f in found]
    if names[0] == names[1]:
        names = [folder.resolve().name for folder in folders]
    if names[0] == names[1]:
        names = [str(folder) for folder in folders]
    pages = [folder / "index.html" for folder in folders]
    return [
        Side(name, _address(page, out) if page.is_file() else None, f)
        for name, page, f in zip(names, pages, found, strict=True)
    ]


def _address(page: Path, seen_from: Path) -> str:
    return Path(os.path.relpath(page.resolve(), seen_from.resolve().parent)).as_posix()


def observer_groups(sides: list[Side]) -> dict[str, list[dict[str, Any]]]:
    """By category a line for each tier that both builds may have, the two in turn."""
    tables = [{(r.category, r.tier): r for r in side.found.observer.rows} for side in sides]
    groups: dict[str, list[dict[str, Any]]] = {}
    for category in GRADIENTS:
        for tier in TIERS:
            rows = [table.get((category, tier)) for table in tables]
            if any(rows):
                groups.setdefault(category, []).append(_line(tier, rows))
    return groups


def _line(tier: str, rows: list[ObserverRow | None]) -> dict[str, Any]:
    nothing = Rate(None, None, None)
    alone = [row.alone if row else nothing for row in rows]
    return {
        "tier": tier,
        "n": [row.n if row else 0 for row in rows],
        "strip": figures.whiskers([figures.Estimate(r.share, r.low, r.high) for r in alone]),
        "alone": alone,
        "with_source": [row.with_source if row else nothing for row in rows],
        "few": max(row.n if row else 0 for row in rows) < FEW_CLIPS,
    }
