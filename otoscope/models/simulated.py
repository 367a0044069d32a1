"""A simulated endpoint: it is told the right label, and gives it in a set share of questions.

For trying out an audit where no generative model can be called. It is no model, reads no audio, and
reports call it simulated.
"""

import hashlib
import math
import random
from collections.abc import Sequence
from typing import Any

from otoscope.models.base import Answer, ModelError, Request, Status


class SimulatedEndpoint:
    """Right with a given probability, else one of the other labels, all equally likely.

    The draw depends on the seed and the question's id alone, so neither the order of questions nor
    the number of processes changes it.

    Attributes:
        accuracy: The probability, 0 to 1.
    """

    def __init__(self, accuracy: float, seed: int = 0) -> None:
        self.accuracy, self.seed = accuracy, seed
        self.description: dict[str, Any] = {
            "kind": "simulated", "accuracy": accuracy, "seed": seed,
        }  # fmt: skip

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """A label each; a question without a right label is refused."""
        return [self._draw(request) for request in questions]

    def _draw(self, request: Request) -> Answer:
        question = request.question
        if question.label is None:
            detail = "the question has no right label to simulate an answer from"
            return Answer(None, Status.REFUSED, detail=detail)
        key = f"{self.seed}\x1f{question.question_id}".encode()
        rng = random.Random(int.from_bytes(hashlib.sha256(key).digest(), "big"))
        if rng.random() < self.accuracy:
            return Answer(question.label)
        return Answer(rng.choice([label for label in question.labels if label != question.label]))


def open_simulated(name: str | None, revision: str | None = None) -> SimulatedEndpoint:
    """`simulated:ACCURACY` or `simulated:ACCURACY,SEED`."""
    accuracy, _, seed = (name or "").partition(",")
    try:
        made = SimulatedEndpoint(float(accuracy), int(seed or 0))
        if revision is not None or not (0 <= made.accuracy <= 1 and math.isfinite(made.accuracy)):
            raise ValueError
    except ValueError:
        raise ModelError(
            "simulated: an accuracy from 0 to 1, and a seed where wanted, as in simulated:0.85,7, "
            f"not {name!r}"
        ) from None
    return made
