"""The two reports of a build, stored under `.otoscope/` for whoever compares builds."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from builders.building.finished import FinishedBuild, open_build
from builders.building.folder import BuildError
from builders.vocalgrad.measuring.build_confounds import ConfoundReport
from builders.vocalgrad.measuring.observer_accuracy import ObserverReport, Rate, TierAccuracy
from builders.vocalgrad.planning.build_plan import PlannedBuild
from otoscope.acoustics.confounds import ConfoundRow, Confounds, JointRow
from otoscope.statistics.intervals import Interval

STORED_NAMES = {"unavoidable": "bound", "avoidable_only": "free", "joint": "together"}
"""Fields that the stored findings have under their names of version 0.1."""


class BuildFindings(NamedTuple):
    """A build's two reports, and what they are about.

    Attributes:
        corpus, synthetic, profile, generator_version: Of the build.
        sources: SHA-256 of the samples of each source, in order.
        observer, confounds: The reports.
    """

    corpus: str
    synthetic: bool
    profile: str
    generator_version: str
    sources: list[str]
    observer: ObserverReport
    confounds: ConfoundReport


def store_findings(
    build: FinishedBuild, planned: PlannedBuild, observer: ObserverReport, confounds: ConfoundReport
) -> None:
    """Stores the reports in the build's folder."""
    plan, _, corpus = planned
    build.write_findings(
        {
            "corpus": corpus.name,
            "synthetic": corpus.synthetic,
            "profile": plan.profile,
            "generator_version": plan.generator_version,
            "sources": [s.pcm_sha256 for s in plan.sources],
            "observer": asdict(observer),
            "confounds": _renamed(asdict(confounds), STORED_NAMES),
        }
    )


def stored_findings(folder: Path) -> BuildFindings:
    """What `store_findings` wrote.

    Raises:
        BuildError: The folder holds no build whose clips have been measured.
    """
    content = open_build(folder).findings
    try:
        content["observer"] = _observer(**content["observer"])
        fields = {stored: name for name, stored in STORED_NAMES.items()}
        content["confounds"] = _confounds(**_renamed(content["confounds"], fields))
        findings = BuildFindings(**content)
    except (TypeError, KeyError) as error:
        raise BuildError(
            f"{folder} holds no finished build of this version ({type(error).__name__}); "
            "run the same build again, which makes nothing twice"
        ) from error
    if not findings.observer.rows:
        raise BuildError(f"{folder}: its clips were not measured; build it with --verify sample")
    return findings


def _renamed(content: Any, names: Mapping[str, str]) -> Any:
    """JSON content in which keys have other names."""
    if isinstance(content, dict):
        return {names.get(key, key): _renamed(value, names) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_renamed(each, names) for each in content]
    return content


def _observer(basis: str, rows: list[dict[str, Any]]) -> ObserverReport:
    return ObserverReport(
        basis,
        tuple(
            TierAccuracy(
                **{**row, "alone": Rate(**row["alone"]), "with_source": Rate(**row["with_source"])}
            )
            for row in rows
        ),
    )


def _confounds(basis: str, **parts: dict[str, list[dict[str, Any]]]) -> ConfoundReport:
    def read(part: dict[str, list[dict[str, Any]]]) -> Confounds:
        rows = [ConfoundRow(**{**row, "auc": Interval(*row["auc"])}) for row in part["rows"]]
        joint = [
            JointRow(**{**row, "auc": Interval(*row["auc"]), "names": tuple(row["names"])})
            for row in part["joint"]
        ]
        return Confounds(tuple(rows), tuple(joint))

    return ConfoundReport(basis, **{name: read(part) for name, part in parts.items()})
