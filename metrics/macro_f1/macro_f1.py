"""Macro F1 of closed answers, with guessing baselines."""

import datasets
import evaluate

from otoscope.responses.reading import read_answers
from otoscope.statistics.macro_f1 import score_macro_f1

_DESCRIPTION = """
Mean F1 over the labels that occur, each with the same weight; an unparsed answer is a miss of its
label. With the constant-answer and guessing baselines for these class sizes, which are not one over
the number of labels. The interval is a bootstrap, of whole clusters where they are given.
"""

_INPUTS = """
Args:
    predictions: raw answer texts, or None where there is none.
    references: names of labels, or their positions in `labels`.
    parser: name of an entry in otoscope.responses.PARSERS, "paper" by default.
    labels: all labels, ("decrease", "increase") by default.
    clusters: source of each question, for the interval.
    by: breakdowns, name to one value per question; nested under the name in the result.
"""


class MacroF1(evaluate.Metric):
    """See `_DESCRIPTION`; the numbers come from `otoscope.statistics.macro_f1`."""

    def _info(self):
        text = datasets.Value("large_string")  # "string" rejects a batch that begins with None
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation="",
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": text, "references": text}),
        )

    def _compute(
        self,
        predictions,
        references,
        parser="paper",
        labels=("decrease", "increase"),
        clusters=None,
        by=None,
    ):
        read = read_answers(predictions, parser)
        return score_macro_f1(references, read.labels, labels, clusters=clusters, by=by)
