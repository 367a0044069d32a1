"""Does leakage predict published transfer? A classifier of the side effects alone, by signs.

    python -m benchmarks.leakage_and_transfer --speech FOLDER [FOLDER …]

Kimi-Audio was published fine-tuned on one category and tested on another: nine by nine accuracies,
many of them far above or below one half. Here a logistic regression takes its place. It is trained
on clips of one category, but only on measures that are not part of that category's factor, and
tested on clips of another category and of other speakers. Where its accuracy differs from one half
and the published one does too, leakage predicts the sign.

Clips follow the published rules (`paper`), are rendered at their own rate and resampled to 16 kHz,
the model's input rate. Only recordings of at least `--least-rate` count: the published had 48 kHz.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soxr
from scipy.stats import norm, rankdata
from threadpoolctl import threadpool_limits

from benchmarks.recordings import DecodedRecording, recordings
from benchmarks.relabelling import relabelling_test
from builders.corpora.base import CorpusError
from otoscope.acoustics import codec
from otoscope.acoustics.confounds import NUMBERS_ONLY, intends
from otoscope.acoustics.contrasts import CONTRASTS, contrasts
from otoscope.acoustics.design import CONDITIONS
from otoscope.acoustics.gradients import GRADIENTS, attribute_of
from otoscope.acoustics.measures import ClipAnalysis
from otoscope.acoustics.rendering import SourceRenderer
from otoscope.acoustics.spans import Span
from otoscope.progress import ProgressBars
from otoscope.reports.perception.published import CATEGORIES, PUBLISHED_SCOPES, results
from otoscope.statistics.design_effect import paired_design_effect
from otoscope.statistics.intervals import Interval, clustered_interval
from otoscope.statistics.multiplicity import holm
from otoscope.version import __version__

MODEL_HZ = 16_000
NAMES = tuple(name for name in CONTRASTS if name not in NUMBERS_ONLY)
N_FOLDS = 5
ALPHA = 0.05
N_PER_SOURCE = 24
FEATURE_SETS: dict[str, Callable[[str, str], bool]] = {
    "side effects": lambda category, name: not intends(category, name),
    "avoidable side effects": lambda category, name: (
        not (intends(category, name) or name in GRADIENTS[category].unavoidable)
    ),
    "the factor itself": intends,
    "everything": lambda category, name: True,
}
"""By name, which measures the classifier of a category has as features.

Side effects are the measures that are not part of the factor. Those that no rendering of it can be
free of (`unavoidable`) are no leak of the published rules; the avoidable ones leave them out.
"""
OFF = ~np.eye(len(CATEGORIES), dtype=bool)


class Clips(NamedTuple):
    """All clips, measured: one row each."""

    values: np.ndarray
    category: np.ndarray
    rising: np.ndarray
    source: np.ndarray
    speaker: np.ndarray


class Transfer(NamedTuple):
    """Accuracies, trained on a category (row) and tested on another (column).

    Attributes:
        share: Correct predictions.
        sign: 1 where their interval by source lies above one half, -1 below, else 0.
        design_effect: Of the predictions of each cell.
    """

    share: np.ndarray
    sign: np.ndarray
    design_effect: np.ndarray


@dataclass(frozen=True)
class Score:
    """Agreement of predicted with published signs off the diagonal.

    Attributes:
        n_above, n_below: Published cells that differ from one half.
        n_right, n_wrong, n_undecided: Of these, by the predicted sign.
        by_row, by_column: Correct of those decided, intervals by training or test category.
        p: Of the relabelling test of predicted against published signs.
    """

    n_above: int
    n_below: int
    n_right: int
    n_wrong: int
    n_undecided: int
    by_row: Interval
    by_column: Interval
    p: float


def measured(recorded: DecodedRecording) -> list[tuple[str, bool, list[float]]]:
    """Category, whether the label is `increase`, and `NAMES`, of all clips of one recording."""
    source = SourceRenderer(recorded.pcm, recorded.sampling_rate, recorded.span)
    found = []
    for category in CATEGORIES:
        for condition in CONDITIONS:
            clip_id = condition.clip_id(recorded.name, recorded.name)
            made = source.render(category, condition, clip_id=clip_id, profile="paper")
            if not made.no_effect:
                clip = at_model_rate(made.to_pcm().pcm, recorded.sampling_rate, made.span)
                value = contrasts(ClipAnalysis(*clip), NAMES).value
                found.append((category, condition.direction == "up", [value[n] for n in NAMES]))
    return found


def at_model_rate(pcm: np.ndarray, sampling_rate: int, span: Span) -> tuple[np.ndarray, int, Span]:
    """Samples, rate and span at 16 kHz; lower rates are unchanged.

    >>> samples, rate, span = at_model_rate(np.zeros((1, 480), np.int16), 48_000, Span(48, 480))
    >>> samples.shape, rate, tuple(span)
    ((1, 160), 16000, (16, 160))
    """
    samples = codec.to_float(pcm)
    if sampling_rate <= MODEL_HZ:
        return samples, sampling_rate, span
    samples = np.stack([soxr.resample(c, sampling_rate, MODEL_HZ, "HQ") for c in samples])
    start, end = (round(at * MODEL_HZ / sampling_rate) for at in span)
    return samples, MODEL_HZ, Span(start, min(end, samples.shape[1]))


def measure(found: Sequence[DecodedRecording], *, num_proc: int) -> Clips:
    """All clips of all recordings."""
    columns: list[tuple[list[float], str, bool, str, str]] = []
    pool = ProcessPoolExecutor(num_proc, get_context("spawn"), threadpool_limits, (1,))
    progress = ProgressBars(write_line=partial(print, file=sys.stderr))
    with pool, progress.bar("Measuring", len(found)) as step:
        for recorded, clips in zip(found, pool.map(measured, found), strict=True):
            step()
            columns += [(v, c, up, recorded.name, recorded.speaker) for c, up, v in clips]
    return Clips(*(np.array(column) for column in zip(*columns, strict=True)))


def transfer(clips: Clips, given: Callable[[str, str], bool]) -> Transfer:
    """Accuracy of a classifier of each category on the clips of all of them.

    Args:
        clips: Measured.
        given: Whether the classifier of a category has a measure as a feature.
    """
    size = len(CATEGORIES), len(CATEGORIES)
    share, effect, sign = np.empty(size), np.empty(size), np.zeros(size)
    for row, trained_on in enumerate(CATEGORIES):
        right = predicted_right(clips, trained_on, [n for n in NAMES if given(trained_on, n)])
        for column, tested_on in enumerate(CATEGORIES):
            at = clips.category == tested_on
            found = clustered_interval(right[at], clips.source[at])
            share[row, column] = found.estimate
            sign[row, column] = float(found.low > 0.5) - float(found.high < 0.5)
            effect[row, column] = paired_design_effect(
                right[at], np.zeros(at.sum(), bool), clips.source[at]
            )
    return Transfer(share, sign, effect)


def predicted_right(clips: Clips, trained_on: str, names: Sequence[str]) -> np.ndarray:
    """Whether the label of each clip, of any category, is predicted from other speakers' clips."""
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    values = clips.values[:, [NAMES.index(name) for name in names]]
    right = np.zeros(len(values), bool)
    folds = GroupKFold(min(N_FOLDS, len(np.unique(clips.speaker))))
    with threadpool_limits(1):  # small fits: threads would only wait for one another
        for train, test in folds.split(values, groups=clips.speaker):
            train = train[clips.category[train] == trained_on]
            model = make_pipeline(
                SimpleImputer(strategy="median", keep_empty_features=True),
                StandardScaler(),
                LogisticRegression(),
            ).fit(values[train], clips.rising[train])
            right[test] = model.predict(values[test]) == clips.rising[test]
    return right


def published(scope: str) -> tuple[np.ndarray, np.ndarray]:
    """Correct and all answers, by training category (row) and test category (column)."""
    chosen = results().query("experiment == 'finetune_eval' and model == 'kimi-audio'")
    chosen = chosen[chosen["scope"] == scope].set_index(["train_category", "test_category"])
    correct, n = (
        chosen[name].unstack().loc[list(CATEGORIES), list(CATEGORIES)].to_numpy(float)
        for name in ("n_correct", "n")
    )
    return correct, n


def signs(correct: np.ndarray, n: np.ndarray, design_effect: float) -> np.ndarray:
    """1 or -1 where a cell off the diagonal lies above or below one half, Holm's p < 0.05; else 0.

    The binomial variance is `design_effect` times that of independent answers.
    """
    z = (correct - n / 2) / np.sqrt(design_effect * n / 4)
    found = np.zeros(correct.shape)
    found[OFF] = np.where(holm(2 * norm.sf(np.abs(z[OFF]))) < ALPHA, np.sign(z[OFF]), 0)
    return found


def score(predicted: np.ndarray, seen: np.ndarray) -> Score:
    """Counts of equal and opposite signs."""
    row, column = np.nonzero(OFF & (seen != 0))
    agreement = predicted[row, column] * seen[row, column]
    decided, right = agreement != 0, agreement > 0
    return Score(
        int(np.sum(seen[OFF] > 0)),
        int(np.sum(seen[OFF] < 0)),
        int(np.sum(agreement > 0)),
        int(np.sum(agreement < 0)),
        int(np.sum(agreement == 0)),
        clustered_interval(right[decided], row[decided]),
        clustered_interval(right[decided], column[decided]),
        relabelling_test(predicted, seen)[1],
    )


def likeness(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Spearman's correlation over the cells off the diagonal, and its p by relabelling."""
    return relabelling_test(_ranks(first), _ranks(second))


def _ranks(table: np.ndarray) -> np.ndarray:
    ranks = np.zeros(table.shape)
    ranks[OFF] = rankdata(table[OFF])
    ranks[OFF] -= ranks[OFF].mean()
    ranks[OFF] /= np.linalg.norm(ranks[OFF])
    return ranks


def report(clips: Clips, without: Mapping[str, int]) -> tuple[str, dict[str, object]]:
    """Tables in Markdown, and every figure."""
    by_features = {name: transfer(clips, given) for name, given in FEATURE_SETS.items()}
    main = by_features["side effects"]
    own = float(np.nanquantile(main.design_effect[OFF], 0.9))
    n_sources, n_speakers = len(np.unique(clips.source)), len(np.unique(clips.speaker))
    left_out = ", ".join(f"{n} {why}" for why, n in without.items()) or "none"
    parts = [
        f"{len(clips.source):,} clips of {n_sources} recordings of {n_speakers} speakers "
        f"(recordings left out: {left_out}). Otoscope {__version__}.",
    ]
    figures: dict[str, object] = {"n_recordings": n_sources, "n_speakers": n_speakers}
    figures["trained on, tested on"] = CATEGORIES
    for name, found in by_features.items():
        figures[f"{name}, share right"] = found.share.tolist()
        figures[f"{name}, sign"] = found.sign.tolist()
    rows = []
    for scope in PUBLISHED_SCOPES[::-1]:
        correct, n = published(scope)
        for effect, what in ((1.0, "1"), (own, f"{own:.1f}"), (N_PER_SOURCE, f"{N_PER_SOURCE}")):
            seen = signs(correct, n, effect)
            for name, found in by_features.items():
                scored = score(found.sign, seen)
                rows.append(_line(scope, what, name, scored))
                figures[f"{scope}, design effect {what}, {name}"] = _plain(scored)
        for name, found in by_features.items():
            figures[f"{scope}, correlation, {name}"] = likeness(found.share, correct / n)
    parts.append(
        "Published cells off the diagonal that differ from one half, and those whose sign a "
        "classifier has [95 % of those decided, by category trained on; by category tested on]:"
    )
    head = "| scope | design effect | cells (above) | features | right | wrong | undecided |"
    head += " right of decided, % | p |"
    parts.append("\n".join([head, "|---|---:|---:|---|---:|---:|---:|---|---:|", *rows]))
    correlations = [
        f"{scope}, {name}: {rho:.2f} (p {_probability(p)})"
        for scope in PUBLISHED_SCOPES[::-1]
        for name in FEATURE_SETS
        for rho, p in [figures[f"{scope}, correlation, {name}"]]  # type: ignore[misc]
    ]
    parts.append(f"Rank correlation of the accuracies, 72 cells: {'; '.join(correlations)}.")
    seen = signs(*published("all_linear"), own)
    parts.append(
        "Side effects alone, % right, trained on by tested on (+ or − after it: all_linear was "
        f"published above or below one half, design effect {own:.1f}):"
    )
    parts.append(_matrix(main, seen))
    return "\n\n".join(parts), figures


def _plain(scored: Score) -> dict[str, object]:
    """Ready for JSON, which knows no NaN."""
    record: dict[str, object] = asdict(scored)
    if not scored.n_right + scored.n_wrong:
        record |= {"by_row": None, "by_column": None}
    return record


def _line(scope: str, effect: str, name: str, s: Score) -> str:
    decided = s.n_right + s.n_wrong
    share = "–" if not decided else f"{100 * s.n_right / decided:.0f} {_bounds(s.by_row)}"
    share += "" if not decided else f"; {_bounds(s.by_column)}"
    return (
        f"| {scope} | {effect} | {s.n_above + s.n_below} ({s.n_above}) | {name} | {s.n_right} "
        f"| {s.n_wrong} | {s.n_undecided} | {share} | {_probability(s.p)} |"
    )


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _bounds(interval: Interval) -> str:
    return f"[{100 * interval.low:.0f}, {100 * interval.high:.0f}]"


def _matrix(found: Transfer, seen: np.ndarray) -> str:
    heads = " | ".join(attribute_of(category) for category in CATEGORIES)
    lines = [f"| trained on | {heads} |", f"|---|{'---:|' * len(CATEGORIES)}"]
    for row, category in enumerate(CATEGORIES):
        cells = [
            f"{100 * share:.0f}{ {1: ' +', -1: ' −', 0: ''}[int(sign)] }"
            for share, sign in zip(found.share[row], seen[row], strict=True)
        ]
        lines.append(f"| {attribute_of(category)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speech", type=Path, nargs="+", required=True, help="folders")
    parser.add_argument("--least-rate", type=int, default=48_000, help="Hz; 0 takes all")
    parser.add_argument("--num-proc", type=int, default=2)
    parser.add_argument("--out", type=Path, help="JSON with every figure")
    args = parser.parse_args()
    try:
        found, without = recordings(args.speech)
    except CorpusError as error:
        parser.error(str(error))
    kept = [r for r in found if r.sampling_rate >= args.least_rate]
    if len({r.speaker for r in kept}) < 2:
        parser.error(f"fewer than two speakers at {args.least_rate} Hz or more; say --least-rate 0")
    without += Counter({f"under {args.least_rate} Hz": len(found) - len(kept)})
    text, figures = report(measure(kept, num_proc=args.num_proc), without)
    print(text)
    if args.out:
        args.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
