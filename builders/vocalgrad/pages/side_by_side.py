"""One page that sets two builds side by side: observers and confounds."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from builders.building.folder import BuildError
from builders.vocalgrad.measuring.build_confounds import CONFOUND_COLUMNS
from builders.vocalgrad.measuring.findings import BuildFindings, stored_findings
from builders.vocalgrad.measuring.observer_accuracy import NO_RATE, TierAccuracy
from builders.vocalgrad.pages.build_page import FEW_CLIPS, TEMPLATES, accuracy_strip
from builders.vocalgrad.pages.heat import heat_table
from otoscope.acoustics.contrasts import contrast_title
from otoscope.acoustics.design import TIERS
from otoscope.acoustics.gradients import GRADIENTS, attribute_of
from otoscope.reports import strips
from otoscope.reports.writing import render, write


class ComparedBuild(NamedTuple):
    """One of the two builds.

    Attributes:
        name: What sets it apart: its profile, or its folder where the profiles are the same.
        page: Address of its own page, as seen from the page that compares; None where it has none.
        findings: What was measured of it.
    """

    name: str
    page: str | None
    findings: BuildFindings


def write_side_by_side(first: Path, second: Path, out: Path) -> Path:
    """Writes the page, from what the builds stored under `.otoscope/`; returns its path.

    Raises:
        BuildError: A folder that holds no finished build, or one that was not measured, or twice
            the same folder.
    """
    if first.resolve() == second.resolve():
        raise BuildError(f"{first} is both builds; name two")
    builds = _compared_builds([first, second], out)
    values = {
        "title": f"VocalGrad: {builds[0].name} and {builds[1].name}",
        "builds": builds,
        "same_sources": builds[0].findings.sources == builds[1].findings.sources,
        "synthetic": any(build.findings.synthetic for build in builds),
        "observer": observer_groups(builds),
        "swatch": [strips.swatch(0), strips.swatch(1)],
        "few": FEW_CLIPS,
        "heat": [
            (name, heat_table({b.name: getattr(b.findings.confounds, part) for b in builds}))
            for name, part in (("all tiers", "all_tiers"), ("high tier", "widest"))
        ],
        "unavoidable": list(
            dict.fromkeys(r for b in builds for r in b.findings.confounds.unavoidable)
        ),
        "contrasts": list(map(contrast_title, CONFOUND_COLUMNS)),
        "attribute_of": attribute_of,
    }
    return write(out, render("side_by_side.html.jinja", values, folder=TEMPLATES))


def _compared_builds(folders: list[Path], out: Path) -> list[ComparedBuild]:
    findings = [stored_findings(folder) for folder in folders]
    names = [f.profile for f in findings]
    if names[0] == names[1]:
        names = [folder.resolve().name for folder in folders]
    if names[0] == names[1]:
        names = [str(folder) for folder in folders]
    pages = [folder / "index.html" for folder in folders]
    return [
        ComparedBuild(name, _address(page, out) if page.is_file() else None, f)
        for name, page, f in zip(names, pages, findings, strict=True)
    ]


def _address(page: Path, seen_from: Path) -> str:
    return Path(os.path.relpath(page.resolve(), seen_from.resolve().parent)).as_posix()


def observer_groups(builds: list[ComparedBuild]) -> dict[str, list[dict[str, Any]]]:
    """By category a line for each tier that both builds may have, the two in turn."""
    tables = [{(r.category, r.tier): r for r in build.findings.observer.rows} for build in builds]
    groups: dict[str, list[dict[str, Any]]] = {}
    for category in GRADIENTS:
        for tier in TIERS:
            rows = [table.get((category, tier)) for table in tables]
            if any(rows):
                groups.setdefault(category, []).append(_line(tier, rows))
    return groups


def _line(tier: str, rows: list[TierAccuracy | None]) -> dict[str, Any]:
    alone = [row.alone if row else NO_RATE for row in rows]
    return {
        "tier": tier,
        "n": [row.n if row else 0 for row in rows],
        "strip": accuracy_strip(alone),
        "alone": alone,
        "with_source": [row.with_source if row else NO_RATE for row in rows],
        "few": max(row.n if row else 0 for row in rows) < FEW_CLIPS,
    }
