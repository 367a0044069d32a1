"""Shares of answers that were parsed, and by which rule."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from otoscope.statistics.breakdowns import Scores, break_down, plain
from otoscope.statistics.intervals import wilson
from otoscope.statistics.labels import Column, ratio


def score_parsing(
    answers: Sequence[str | None],
    rules: Sequence[str],
    exact: Column,
    *,
    by: Mapping[str, Column] | None = None,
) -> Scores:
    """Shares of parsed and of exact answers, of labels and of parser rules.

    Undefined values are None. Keys: `n`, `n_parsed`, `n_exact`, `parsed_rate` with
    `wilson_low/high`, `exact_rate`; `labels`: share of each label among the parsed answers;
    `rules`: how often each rule fired.

    Args:
        answers: Parsed answers, None where unparsed.
        rules: The parser rule that applied to each.
        exact: Whether each raw answer was the bare word.
        by: Breakdowns: name to one value per item; nested under the name in the result.

    Raises:
        ValueError: Lengths differ.
    """
    n_items = len(answers)
    if not n_items == len(rules) == len(exact):
        raise ValueError(f"{n_items} answers, {len(rules)} rules, {len(exact)} exact flags")

    def score(items: np.ndarray, rng: np.random.Generator) -> Scores:
        chosen = items.tolist()
        labels = Counter(label for i in chosen if (label := answers[i]) is not None)
        fired = Counter(rules[i] for i in chosen)
        n, n_parsed, n_exact = len(chosen), labels.total(), sum(bool(exact[i]) for i in chosen)
        interval = wilson(n_parsed, n)
        return {
            "n": n,
            "n_parsed": n_parsed,
            "n_exact": n_exact,
            "parsed_rate": interval.estimate,
            "wilson_low": interval.low,
            "wilson_high": interval.high,
            "exact_rate": ratio(n_exact, n),
            "labels": {label: count / n_parsed for label, count in sorted(labels.items())},
            "rules": dict(sorted(fired.items())),
        }

    return plain(break_down(n_items, by, score, seed=0))
