"""Accuracy of answers about a direction, over all questions."""

import datasets
import evaluate

from otoscope.responses.reading import read_answers
from otoscope.statistics.direction import score_directions

_DESCRIPTION = """
Accuracy of raw answers with the labels increase and decrease; an unparsed answer is not correct.
With Wilson's, the published and the clustered Wilson interval, and by direction, parsed and exact
rates, the share of "increase" and the confusion counts.
"""

_INPUTS = """
Args:
    predictions: raw answer texts, or None where there is none.
    references: "decrease" or "increase", or 0 or 1 (the ClassLabel of the data set).
    parser: name of an entry in otoscope.responses.PARSERS, "paper" by default.
    clusters: source of each question, for the clustered interval.
    no_effect: whether nothing changes in each question's clip; such questions are left out.
    by: breakdowns, name to one value per question; nested under the name in the result.
"""


class DirectionAccuracy(evaluate.Metric):
    """See `_DESCRIPTION`; the numbers come from `otoscope.statistics.direction`."""

    def _info(self):
        text = datasets.Value("large_string")  # "string" rejects a batch that begins with None
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation="",
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": text, "references": text}),
        )

    def _compute(
        self, predictions, references, parser="paper", clusters=None, no_effect=None, by=None
    ):
        read = read_answers(predictions, parser)
        return score_directions(
            references, read.labels, read.exact, clusters=clusters, no_effect=no_effect, by=by
        )
