"""The tables and the figure of `benchmarks.encoder_layers`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from matplotlib.figure import Figure

from benchmarks.recordings import DecodedRecording
from builders.vocalgrad.measuring.observer_accuracy import Rate
from otoscope.acoustics.gradients import attribute_of
from otoscope.probes.table import ALL
from otoscope.statistics.intervals import Interval
from otoscope.version import __version__

WITHIN_POINTS = 1.0
"""How far probes of a shorter window may be from those of the encoder's own."""
METHODS = ("probe", "ridge")
COLOURS = {"paper": "#0072b2", "controlled": "#d55e00"}
TITLES = {"mel": "mel", "audio.0": "conv"}
CROPPED, OWN = "cropped", "own window"


class LayerResult(NamedTuple):
    """Figures of one profile.

    Attributes:
        rows: Of `probe_table`.
        observer: Accuracy of the fitted classical observer, by category.
        n_clips, n_idle: Clips probed, and those in which nothing would change.
    """

    rows: list[dict[str, Any]]
    observer: Mapping[str, Interval]
    n_clips: int
    n_idle: int


class WindowRow(NamedTuple):
    """Mean accuracy over categories of probes on the same clips, by what the encoder was given.

    Attributes:
        site, method, profile: Which probes.
        n_clips: Over all categories.
        cropped, own: With the shorter window, and with the encoder's own.
    """

    site: str
    method: str
    profile: str
    n_clips: int
    cropped: float
    own: float

    @property
    def points(self) -> float:
        """Cropped less own, in percentage points."""
        return round(100 * (self.cropped - self.own), 6)


def report(
    found: Sequence[DecodedRecording],
    without: Counter[str],
    results: Mapping[str, LayerResult],
    own_window: Sequence[WindowRow],
) -> str:
    """All tables in Markdown, with what they rest on."""
    left_out = ", ".join(f"{n} {reason}" for reason, n in without.items() if n) or "none"
    n_clips = ", ".join(
        f"{each.n_clips:,} clips of {profile} (left out: {each.n_idle} in which nothing would "
        "change)"
        for profile, each in results.items()
    )
    parts = [
        f"{len(found)} recordings of {len({r.speaker for r in found})} speakers, high tier: "
        f"{n_clips}; recordings left out: {left_out}. Otoscope {__version__}.",
        "Per cent correct [95 % CI, clustered Wilson by recording] of linear probes about speakers "
        "that they were not trained on; `cue`: weights fitted to the category's own acoustic cue.",
    ]
    for profile, each in results.items():
        parts += [f"**{profile}**", layer_table(each)]
    parts += ["Means over categories:", mean_table(results)]
    if own_window:
        parts += [window_text(own_window), window_table(own_window)]
    return "\n\n".join(parts)


def layer_table(result: LayerResult) -> str:
    """Accuracy of the probe by category and site, and of the classical observer."""
    rows = {(r["category"], r["site"]): r for r in result.rows if r["method"] == "probe"}
    sites = _sites(result.rows)
    lines = [_line(["category", *(_title(s) for s in sites), "cue"]), _rule(len(sites) + 1)]
    for category, observer in result.observer.items():
        cells = [_rate(rows[category, site], "accuracy") for site in sites]
        lines.append(_line([attribute_of(category), *cells, str(Rate(*observer))]))
    return "\n".join(lines)


def mean_table(results: Mapping[str, LayerResult]) -> str:
    """By profile and site: the probe, its area under the curve, its controls, and ridge."""
    titles = ["profile", "site", "probe", "AUC", "control labels", "ridge", "converged"]
    lines = [_line(titles), _rule(len(titles) - 2, n_left=2)]
    for profile, result in results.items():
        mean = {(r["site"], r["method"]): r for r in result.rows if r["category"] == ALL}
        for site in _sites(result.rows):
            probe = mean[site, "probe"]
            auc = f"{probe['auc']:.3f} [{probe['auc_low']:.3f}, {probe['auc_high']:.3f}]"
            more = [
                _rate(mean[site, method], "accuracy") if (site, method) in mean else "–"
                for method in ("ridge", "converged")
            ]
            cells = [_rate(probe, "accuracy"), auc, _rate(probe, "control_accuracy"), *more]
            lines.append(_line([profile, _title(site), *cells]))
    return "\n".join(lines)


def window_text(rows: Sequence[WindowRow]) -> str:
    """Whether both windows agree, in a sentence."""
    n, most = rows[0].n_clips, max(abs(row.points) for row in rows)
    verdict = "agree" if most <= WITHIN_POINTS else "do not agree"
    return (
        f"Windows cropped to each recording's longest clip and a second, against the encoder's own "
        f"window, on the same {n} clips of {rows[0].profile}: mean accuracies over categories "
        f"{verdict} within {WITHIN_POINTS:g} point (largest difference {most:.1f})."
    )


def window_table(rows: Sequence[WindowRow]) -> str:
    """Both windows side by side."""
    lines = [_line(["site", "method", CROPPED, OWN, "points"]), _rule(3, n_left=2)]
    for r in rows:
        both = [f"{100 * accuracy:.1f}" for accuracy in (r.cropped, r.own)]
        lines.append(_line([_title(r.site), r.method, *both, f"{r.points:+.1f}"]))
    return "\n".join(lines)


def figure(results: Mapping[str, LayerResult], path: Path) -> None:
    """A panel a category: accuracy of the probe over sites, a line a profile."""
    categories = list(next(iter(results.values())).observer)
    n_columns = min(3, len(categories))
    n_rows = -(-len(categories) // n_columns)
    with matplotlib.rc_context({"font.size": 9}):
        drawn = Figure(figsize=(2.9 * n_columns, 2.1 * n_rows + 0.5), layout="constrained")
        axes = drawn.subplots(n_rows, n_columns, sharey=True, squeeze=False).ravel()
        for panel, category in zip(axes, categories, strict=False):
            for offset, (profile, result) in zip((-0.06, 0.06), results.items(), strict=False):
                _draw(panel, result, category, profile, offset)
            panel.axhline(50, color="0.6", lw=0.8, ls=":")
            panel.set(title=attribute_of(category), ylim=(30, 102))
            panel.grid(axis="y", color="0.92")
        for panel in axes[len(categories) :]:
            panel.set_axis_off()
        drawn.supylabel("Direction decoded, % of clips")
        drawn.supxlabel("Layer")
        handles, labels = axes[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        drawn.savefig(path, dpi=110)


def _draw(panel: Any, result: LayerResult, category: str, profile: str, offset: float) -> None:
    sites = _sites(result.rows)
    of = {r["site"]: r for r in result.rows if (r["category"], r["method"]) == (category, "probe")}
    values = [[100 * of[site][f"accuracy{end}"] for site in sites] for end in ("", "_low", "_high")]
    low, high = ([abs(a - b) for a, b in zip(values[0], v, strict=True)] for v in values[1:])
    style = "-o" if profile == "paper" else "--s"
    panel.errorbar(
        [n + offset for n in range(len(sites))], values[0], yerr=[low, high], fmt=style, ms=3.5,
        lw=1.2, elinewidth=0.8, color=COLOURS.get(profile), label=f"{profile}, probe",
    )  # fmt: skip
    cue = 100 * result.observer[category].estimate
    panel.axhline(cue, color=COLOURS.get(profile), lw=0.7, alpha=0.5, label=f"{profile}, cue")
    panel.set_xticks(range(len(sites)), [_title(site).removeprefix("layer ") for site in sites])


def _sites(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sites in the order in which the audio passes them."""
    return sorted(
        dict.fromkeys(row["site"] for row in rows), key=lambda site: (site != "mel", site)
    )


def _title(site: str) -> str:
    return TITLES.get(site, site.replace("audio.", "layer "))


def _rate(row: Mapping[str, Any], name: str) -> str:
    return str(Rate(row[name], row[f"{name}_low"], row[f"{name}_high"]))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rule(n: int, n_left: int = 1) -> str:
    return "|" + "---|" * n_left + "---:|" * n
