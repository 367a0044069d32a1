"""Share of answers that a parser maps to a label, by rule and label."""

import datasets
import evaluate

from otoscope.responses.reading import read_answers
from otoscope.statistics.parsing import score_parsing

_DESCRIPTION = """
Share of raw answers that a parser maps to a label and of those that are exactly one of the words,
how often each rule of the parser applied, and the share of each label among the parsed answers.
Needs no references.
"""

_INPUTS = """
Args:
    predictions: raw answer texts, or None where there is none.
    parser: name of an entry in otoscope.responses.PARSERS, "paper" by default.
    by: breakdowns, name to one value per answer; nested under the name in the result.
"""


class AnswerParsing(evaluate.Metric):
    """See `_DESCRIPTION`; the numbers come from `otoscope.statistics.parsing`."""

    def _info(self):
        text = datasets.Value("large_string")  # "string" rejects a batch that begins with None
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation="",
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": text}),
        )

    def _compute(self, predictions, parser="paper", by=None):
        read = read_answers(predictions, parser)
        return score_parsing(read.labels, read.rules, read.exact, by=by)
