"""Do answers depend on the batch that a question is in? `--batch-invariant-check N`."""

from collections.abc import Sequence
from typing import NamedTuple

from otoscope.errors import InvalidValue
from otoscope.models.base import Model, Request, batch_size_of


class BatchDifference(NamedTuple):
    """A question whose answer in a batch differs from its answer alone."""

    question_id: str
    in_batch: str | None
    alone: str | None


class BatchInvarianceCheck(NamedTuple):
    """Result of the check; `different` is empty when batches change no answer.

    Attributes:
        n_questions: Questions answered twice.
        batch_size: Of the first answers; the second ones are single.
        different: Those whose text was not the same, character by character.
    """

    n_questions: int
    batch_size: int
    different: tuple[BatchDifference, ...]


def batch_invariance_check(model: Model, questions: Sequence[Request]) -> BatchInvarianceCheck:
    """Answers all questions twice, in batches of the model's size and one by one.

    In low precision sums depend on the shape of a batch, so some difference is normal on a GPU. Its
    amount matters for a comparison of two runs.

    Args:
        model: Any model; with a `batch_size` of 1 this checks that answers are reproducible.
        questions: At least one.

    Raises:
        ValueError: There are no questions.
    """
    if not questions:
        raise InvalidValue("the batch check needs a question")
    size = batch_size_of(model)
    batches = [questions[n : n + size] for n in range(0, len(questions), size)]
    together = [answer.text for batch in batches for answer in model.answer(batch)]
    alone = [model.answer([request])[0].text for request in questions]
    different = tuple(
        BatchDifference(request.question.question_id, first, second)
        for request, first, second in zip(questions, together, alone, strict=True)
        if first != second
    )
    return BatchInvarianceCheck(len(questions), size, different)
