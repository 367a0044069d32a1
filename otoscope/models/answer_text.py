"""The text of an answer as a training target: the word, in what the chat template puts around it.

Templates differ in what stands between a question and its answer, a blank, a line break or an empty
thinking block, and in what ends it. What the template writes is what is trained; where that is not
what the model gets when it is asked, or does not end, a remark says so.
"""

from collections.abc import Callable
from typing import NamedTuple

MARK = "qXanswerXq"
"""Stands for a word when a template writes an answer; a template that changes case changes it."""


class AnswerText(NamedTuple):
    """An answer behind a question.

    Attributes:
        before: All text that the model gets, up to where it answers; None if it is not known.
        text: What is trained.
        remarks: Where that differs from what the template writes, or lacks an end.
    """

    before: str | None
    text: str
    remarks: tuple[str, ...]


def answer_text(
    word: str,
    before: str | None,
    written: str | None,
    *,
    has_end: Callable[[str], bool],
    end: str | None,
) -> AnswerText:
    """The answer behind a question, as its chat template writes it.

    Args:
        word: Of the answer, such as `increase`.
        before: The question, up to where the model answers; None if it is not known.
        written: The question and `MARK` as its answer; None where the template cannot write it.
        has_end: Whether a text has a special token.
        end: The tokenizer's end-of-sequence token, if it has one.

    >>> before, written = "Q: louder? A:", f"Q: louder? A: {MARK}</s>"
    >>> answer_text("yes", before, written, has_end=lambda text: "</s>" in text, end="</s>").text
    ' yes</s>'
    """
    lead, behind, remarks = "", "", []
    if before is not None:
        if written is None or written.count(MARK) != 1:
            remarks.append("the chat template writes no answers; the word alone is trained")
        else:
            head, _, behind = written.partition(MARK)
            pairs = enumerate(zip(before, head, strict=False))
            shared = next((n for n, (a, b) in pairs if a != b), min(len(before), len(head)))
            prompted, lead = before[shared:], head[shared:]
            if prompted:
                remarks.append(
                    f"where it asks, the chat template puts {prompted!r} before the answer, and "
                    f"where it writes one {lead!r}; the word is trained behind the former"
                )
                lead = ""
    if not has_end(behind):
        behind += end or ""
        if end is None:
            remarks.append(
                "neither the chat template nor the tokenizer has an end token: answers will not "
                "learn to end"
            )
        elif before is not None:
            remarks.append(
                f"the chat template writes no end token behind an answer; {end!r} is added"
            )
    return AnswerText(before, f"{lead}{word}{behind}", tuple(remarks))
