"""Scores of answers with the two labels `decrease` and `increase`."""

from collections.abc import Mapping, Sequence

import numpy as np

from otoscope.statistics.breakdowns import Scores, break_down, plain
from otoscope.statistics.chance import chance_p_value
from otoscope.statistics.intervals import clustered_interval, wilson
from otoscope.statistics.labels import (
    Column,
    IndexedAnswers,
    confusion,
    index_answers,
    of_length,
    ratio,
)
from otoscope.statistics.simulation import SEED, binomial_simulation

DIRECTION_LABELS = ("decrease", "increase")


def score_directions(
    references: Column,
    answers: Sequence[str | None],
    exact: Column,
    *,
    clusters: Column | None = None,
    no_effect: Column | None = None,
    by: Mapping[str, Column] | None = None,
    seed: int = SEED,
) -> Scores:
    """Accuracy, its intervals and its components, over all items.

    An unparsed answer is not correct. Undefined values are None. Keys, all shares from 0 to 1:

    - `n`, `n_correct`, `n_parsed`, `n_exact`: counts.
    - `accuracy`, with `wilson_low/high`, `simulation_low/high` (the published one), and
      `clustered_low/high` and `n_clusters` where clusters are given; `p_chance`, exact binomial
      against one half.
    - `accuracy_parsed`: among parsed answers. `accuracy_exact`: only exact answers can be correct.
    - `accuracy_decrease`, `accuracy_increase`: by gold label; `balanced_accuracy`: their mean, over
      the labels that occur.
    - `precision_increase`, `recall_increase`, `f1_increase`.
    - `parsed_rate`, `exact_rate`; `increase_share` of the parsed answers, `increase_share_all`.
    - `unparsed_decrease`, `unparsed_increase` by gold label, and `decrease_as_increase` and so on:
      counts, gold first.
    - Where `no_effect` is given: all of these are over the other items, `n_no_effect` counts those
      left out, and `accuracy_all` is over all `n_all`, the published denominator.

    Args:
        references: Gold labels: names, or positions in `DIRECTION_LABELS`.
        answers: Parsed answers, None where unparsed.
        exact: Whether each raw answer was the bare word.
        clusters: Source of each item.
        no_effect: Whether nothing changes in each item's clip.
        by: Breakdowns: name to one value per item; nested under the name in the result.

    Raises:
        ValueError: An unknown reference, or lengths that differ.
    """
    indexed = index_answers(references, answers, DIRECTION_LABELS)
    flags = of_length("exact flags", exact, len(answers)).astype(bool)
    names = None if clusters is None else of_length("clusters", clusters, len(answers)).astype(str)
    same = None
    if no_effect is not None:
        same = of_length("no-effect flags", no_effect, len(answers)).astype(bool)

    def score(all_items: np.ndarray, rng: np.random.Generator) -> Scores:
        items = all_items if same is None else all_items[~same[all_items]]
        chosen = indexed.at(items)
        result = _shares(chosen, flags[items]) | _intervals(chosen, rng)
        if names is not None:
            spread = clustered_interval(chosen.gold == chosen.answer, names[items])
            result |= {
                "clustered_low": spread.low,
                "clustered_high": spread.high,
                "n_clusters": len(np.unique(names[items])),
            }
        if same is not None:
            every = indexed.at(all_items)
            result |= {
                "n_no_effect": len(all_items) - len(items),
                "n_all": len(all_items),
                "accuracy_all": ratio(int(np.sum(every.gold == every.answer)), len(all_items)),
            }
        return result

    return plain(break_down(len(answers), by, score, seed=seed))


def _shares(indexed: IndexedAnswers, exact: np.ndarray) -> Scores:
    counts = confusion(indexed)
    (fall, fall_as_rise, *_), (rise_as_fall, rise, *_) = counts.tolist()
    n_fall, n_rise = counts.sum(axis=1).tolist()
    unparsed_fall, unparsed_rise = counts[:, -1].tolist()
    n, n_correct, n_exact = n_fall + n_rise, fall + rise, int(exact.sum())
    n_parsed, n_increase = n - unparsed_fall - unparsed_rise, rise + fall_as_rise
    by_label = [ratio(fall, n_fall), ratio(rise, n_rise)]
    occurring = [share for share, size in zip(by_label, (n_fall, n_rise), strict=True) if size]
    return {
        "n": n,
        "n_correct": n_correct,
        "n_parsed": n_parsed,
        "n_exact": n_exact,
        "accuracy": ratio(n_correct, n),
        "accuracy_parsed": ratio(n_correct, n_parsed),
        "accuracy_exact": ratio(int(np.sum(exact & (indexed.gold == indexed.answer))), n),
        "accuracy_decrease": by_label[0],
        "accuracy_increase": by_label[1],
        "balanced_accuracy": ratio(sum(occurring), len(occurring)),
        "precision_increase": ratio(rise, n_increase),
        "recall_increase": by_label[1],
        "f1_increase": ratio(2 * rise, n_increase + n_rise),
        "parsed_rate": ratio(n_parsed, n),
        "exact_rate": ratio(n_exact, n),
        "increase_share": ratio(n_increase, n_parsed),
        "increase_share_all": ratio(n_increase, n),
        "unparsed_decrease": unparsed_fall,
        "unparsed_increase": unparsed_rise,
        "decrease_as_decrease": fall,
        "decrease_as_increase": fall_as_rise,
        "increase_as_decrease": rise_as_fall,
        "increase_as_increase": rise,
    }


def _intervals(indexed: IndexedAnswers, rng: np.random.Generator) -> Scores:
    n, n_correct = indexed.gold.size, int(np.sum(indexed.gold == indexed.answer))
    score, simulated = wilson(n_correct, n), binomial_simulation(n_correct, n, rng=rng)
    return {
        "wilson_low": score.low,
        "wilson_high": score.high,
        "simulation_low": simulated.low,
        "simulation_high": simulated.high,
        "p_chance": chance_p_value(n_correct, n),
    }
