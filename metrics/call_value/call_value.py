"""What calls of a generative model add to the accuracy of a policy that could do without."""

import datasets
import evaluate

from otoscope.statistics.policy_pair import score_policy_pair

_DESCRIPTION = """
Compares the labels of a policy that may call a generative model with those of its matched policy
that may not, on the same examples. Difference in accuracy with Tango's interval (clustered where
clusters are given), exact McNemar test, equivalence at a margin, smallest detectable gain, what
the calls corrected and harmed, and the sentences that these numbers allow.
"""

_INPUTS = """
Args:
    predictions: labels of the policy with calls; None where an answer could not be parsed.
    baselines: labels of the matched policy without calls.
    references: true labels: names, or their positions in `labels`.
    labels: all labels; by default those that occur among the references.
    clusters: speaker or source of each example, for intervals and a test over whole clusters.
    called: whether the policy called a generative model for each example.
    cost: of each example's call, in any unit; None where unknown.
    margin: largest difference, in either direction, that counts as none; 0.03 by default.
    by: breakdowns, name to one value per example; nested under the name in the result.
"""


class CallValue(evaluate.Metric):
    """See `_DESCRIPTION`; the numbers come from `otoscope.statistics.policy_pair`."""

    def _info(self):
        text = datasets.Value("large_string")  # "string" rejects a batch that begins with None
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation="",
            inputs_description=_INPUTS,
            features=datasets.Features(
                {"predictions": text, "baselines": text, "references": text}
            ),
        )

    def _compute(
        self, predictions, baselines, references, labels=None, clusters=None, called=None,
        cost=None, margin=0.03, by=None,
    ):  # fmt: skip
        return score_policy_pair(
            references, predictions, baselines, labels=labels, clusters=clusters, called=called,
            cost=cost, margin=margin, by=by,
        )  # fmt: skip
