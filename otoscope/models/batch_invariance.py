"""Does it matter for an answer what else is asked at the same time? `--batch-invariant-check N`."""

from collections.abc import Sequence
from typing import NamedTuple

from otoscope.errors import InvalidValue
from otoscope.models.base import Model, Request


class BatchDifference(NamedTuple):
    """A question with another answer in company than alone."""

    question_id: str
    in_batch: str | None
    alone: str | None


class BatchInvarianceCheck(NamedTuple):
    """What came of it; `different` is empty when batches change nothing.

    Attributes:
        n_questions: Questions answered twice.
        batch_size: At the first time.
        different: Those whose text was not the same, character by character.
    """

    n_questions: int
    batch_size: int
    different: tuple[BatchDifference, ...]


def batch_invariance_check(model: Model, questions: Sequence[Request]) -> BatchInvarianceCheck:
    """Asks everything twice, in batches of the model's size and one by one.

    Low precision makes sums depend on the shapes they are made in, so some difference is normal
    on a GPU; how much of it there is, is worth knowing before two runs are compared.

    Args:
        model: Any model; a `batch_size` of 1, or none, makes this a check that it repeats itself.
        questions: At least one.

    Raises:
        ValueError: There are no questions.
    """
    if not questions:
        raise InvalidValue("nothing can be said about batches without a question")
    size = max(1, int(getattr(model, "batch_size", 1)))
    batches = [questions[n : n + size] for n in range(0, len(questions), size)]
    together = [answer.text for batch in batches for answer in model.answer(batch)]
    alone = [model.answer([request])[0].text for request in questions]
    different = tuple(
        BatchDifference(request.question.question_id, first, second)
        for request, first, second in zip(questions, together, alone, strict=True)
        if first != second
    )
    return BatchInvarianceCheck(len(questions), size, different)
