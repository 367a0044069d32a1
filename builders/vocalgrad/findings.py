"""What listening to a build brought, left under `.otoscope/` for whoever compares builds."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from builders.corpora.base import Corpus
from builders.vocalgrad.confounds_of_build import ConfoundReport
from builders.vocalgrad.making import BuildError, Built
from builders.vocalgrad.observe import ObserverRow, Rate, Report
from builders.vocalgrad.shards import STATE, making_folder, write_json
from otoscope.acoustics.confounds import ConfoundRow, Confounds, TogetherRow
from otoscope.statistics.intervals import Interval


class Findings(NamedTuple):
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
    observer: Report
    confounds: ConfoundReport


def keep_findings(
    built: Built, corpus: Corpus, observer: Report, confounds: ConfoundReport
) -> None:
    """Writes `.otoscope/findings.json`."""
    content = Findings(
        corpus.name,
        corpus.synthetic,
        built.plan.profile,
        built.plan.generator_version,
        [s.pcm_sha256 for s in built.plan.sources],
        observer,
        confounds,
    )._asdict()
    content |= {"observer": asdict(observer), "confounds": asdict(confounds)}
    write_json(_path(built.folder), content, via=making_folder(built.folder))


def kept_findings(folder: Path) -> Findings:
    """What `keep_findings` wrote.

    Raises:
        BuildError: The folder holds no build whose clips have been listened to.
    """
    try:
        content = json.loads(_path(folder).read_text())
        content["observer"] = _observer(**content["observer"])
        content["confounds"] = _confounds(**content["confounds"])
        found = Findings(**content)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BuildError(
            f"{folder} holds no finished build of this version ({type(error).__name__}); "
            "build it, or run the same build again, which makes nothing twice"
        ) from error
    if not found.observer.rows:
        raise BuildError(f"{folder}: nobody listened to it; build it with --verify sample")
    return found


def _path(folder: Path) -> Path:
    return folder / STATE / "findings.json"


def _observer(basis: str, rows: list[dict[str, Any]]) -> Report:
    return Report(
        basis,
        tuple(
            ObserverRow(
                **{**row, "alone": Rate(**row["alone"]), "with_source": Rate(**row["with_source"])}
            )
            for row in rows
        ),
    )


def _confounds(basis: str, **parts: dict[str, list[dict[str, Any]]]) -> ConfoundReport:
    def read(part: dict[str, list[dict[str, Any]]]) -> Confounds:
        rows = [ConfoundRow(**{**row, "auc": Interval(*row["auc"])}) for row in part["rows"]]
        together = [
            TogetherRow(**{**row, "auc": Interval(*row["auc"]), "names": tuple(row["names"])})
            for row in part["together"]
        ]
        return Confounds(tuple(rows), tuple(together))

    return ConfoundReport(basis, **{name: read(part) for name, part in parts.items()})
