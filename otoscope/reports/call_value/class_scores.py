"""Macro F1 of policies, with bootstrap intervals, and its paired differences.

All policies share their resamples, so that a difference is between answers to the same examples.
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from otoscope.audits.call_value.audit import CallAudit
from otoscope.reports.call_value.outcomes import policy_of, resampled
from otoscope.statistics.intervals import Interval, percentile_interval
from otoscope.statistics.macro_f1 import f1_of_sums, mean_of_classes


class PolicyF1:
    """Macro F1 of named policies on held-out examples: the classes that occur, equally weighted."""

    def __init__(self, audit: CallAudit, names: Iterable[str]) -> None:
        self.audit, self.names = audit, tuple(dict.fromkeys(names))

    @cached_property
    def _scores(self) -> Float[np.ndarray, "n_draws_and_estimate n_policies"]:
        """Row 0 is the estimate, the others are resamples."""
        gold, n_labels = self.audit.holdout.gold, len(self.audit.contract.labels)
        assert gold is not None
        predicted = [policy_of(self.audit, name).predicted for name in self.names]
        true = _one_hot(gold, n_labels)
        columns = [true]
        for own in predicted:
            columns += [_one_hot(np.where(own == gold, own, -1), n_labels), _one_hot(own, n_labels)]
        values = np.hstack(columns)
        sums = np.vstack([values.sum(axis=0), resampled(self.audit, list(values.T))[:, :-1]])
        counts = sums.reshape(len(sums), -1, n_labels)
        return mean_of_classes(f1_of_sums(counts[:, 1::2], counts[:, 2::2], counts[:, :1]))

    def of(self, name: str) -> Interval:
        """One policy's."""
        return _interval(self._scores[:, self.names.index(name)])

    def difference(self, name: str, reference: str) -> Interval:
        """One policy's minus another's."""
        own, other = (self._scores[:, self.names.index(each)] for each in (name, reference))
        return _interval(own - other)


def _interval(scores: np.ndarray) -> Interval:
    return percentile_interval(float(scores[0]), scores[1:], 0.95)


def _one_hot(index: Int[np.ndarray, " n"], n_labels: int) -> Float[np.ndarray, "n n_labels"]:
    """One column for each label; all 0 where the index is none."""
    return (index[:, None] == np.arange(n_labels)).astype(np.float64)
