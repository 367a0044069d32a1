"""Training examples: for each clip the tokens of its right answer; no loss on the question."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from otoscope.audits.splits import HOW_TO_BUILD_TRAIN
from otoscope.tuning.config import TuningError
from otoscope.tuning.splits import VALIDATION_SPLITS, TrainValidationSplit

TRAINING_SPLITS = ("train", "validation")
NO_TRAIN = f"and what a model is tested on must not be trained on; {HOW_TO_BUILD_TRAIN}"
HASHED = ("id", "category", "label_name", "prompt", "audio_sha256")

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class TrainingExamples:
    """Clips with their answers, and which of them are for training.

    Attributes:
        rows: Column to values, one for each clip.
        split: Indices of the clips for training, and of those for validation.
        targets: For each clip the tokens of its right answer.
        alternatives: For each clip and each wrong answer, the position where it first differs from
            the right one, and its token there.
        answer_tokens: Answer to its tokens.
    """

    rows: Mapping[str, Sequence[Any]]
    split: TrainValidationSplit
    targets: Sequence[Tokens]
    alternatives: Sequence[tuple[tuple[int, int], ...]]
    answer_tokens: Mapping[str, Tokens]

    def column(self, name: str, indices: Sequence[int]) -> list[str]:
        """Text of some clips."""
        return [str(self.rows[name][n]) for n in indices]

    def sha256(self) -> str:
        """Changes with any clip, question or answer, with the tokens, and with the split."""
        digest = hashlib.sha256()
        for indices in self.split:
            digest.update(b"part")
            for n in indices:
                values = [str(self.rows[name][n]) for name in HASHED]
                digest.update(json.dumps([values, list(self.targets[n])]).encode())
        return digest.hexdigest()


def select_rows(
    rows: Mapping[str, Sequence[Any]], categories: Sequence[str]
) -> tuple[dict[str, list[Any]], int]:
    """The labelled rows of these categories and of the splits `train` and `validation`.

    Rows whose transform has no effect are left out.

    Returns:
        Columns, and how many rows were left out for having no effect.

    Raises:
        TuningError: There are none, a category is not there, or has one label only.
    """
    found = sorted({str(name) for name in rows["category"]})
    for category in categories:
        if category not in found:
            raise TuningError(
                f"there are no clips of category {category!r}, only of {', '.join(found) or 'none'}"
            )
    splits = sorted({str(name) for name in rows["split"]})
    if "train" not in splits:
        raise TuningError(
            f"there is no split train, only {', '.join(splits) or 'none'}, {NO_TRAIN}"
        )
    mine = [
        n
        for n, (category, split, label) in enumerate(
            zip(rows["category"], rows["split"], rows["label"], strict=True)
        )
        if category in categories and split in TRAINING_SPLITS and label >= 0
    ]
    no_effect = {n for n in mine if rows.get("no_effect") is not None and rows["no_effect"][n]}
    mine = [n for n in mine if n not in no_effect]
    selected = {name: [column[n] for n in mine] for name, column in rows.items()}
    for category in categories:
        pairs = zip(selected["label_name"], selected["category"], strict=True)
        labels = {str(label) for label, own in pairs if own == category}
        if len(labels) < 2:
            has = f"only clips labelled {labels.pop()!r}" if labels else "no labelled clips"
            raise TuningError(
                f"category {category!r} has {has} for training; at least two labels are needed"
            )
    return selected, len(no_effect)


def examples_of(
    rows: Mapping[str, Sequence[Any]], answers: Sequence[tuple[str, Tokens]], split: str, seed: int
) -> TrainingExamples:
    """Rows with their right answers, split for training and validation.

    Args:
        rows: From `select_rows`.
        answers: For each row its right answer, and the tokens of it.
        split: A name in `VALIDATION_SPLITS`.
        seed: Of the split.

    Raises:
        TuningError: Two answers have the same tokens, or the rows cannot be split.
        UnknownName: No such split.
    """
    tokens_of: dict[str, Tokens] = {}
    for answer, tokens in answers:
        if tokens_of.setdefault(answer, tokens) != tokens:
            raise TuningError(
                f"the answer {answer!r} is {list(tokens_of[answer])} in one clip's tokens and "
                f"{list(tokens)} in another's; extract the hidden states again"
            )
    alternatives = {
        answer: tuple(
            _difference(answer, other, tokens_of) for other in tokens_of if other != answer
        )
        for answer in tokens_of
    }
    return TrainingExamples(
        rows,
        VALIDATION_SPLITS[split](rows, seed),
        [tokens for _, tokens in answers],
        [alternatives[answer] for answer, _ in answers],
        tokens_of,
    )


def _difference(answer: str, other: str, tokens_of: Mapping[str, Tokens]) -> tuple[int, int]:
    """First position where the tokens of another answer differ, and its token there."""
    pairs = zip(tokens_of[answer], tokens_of[other], strict=False)
    for position, (own, theirs) in enumerate(pairs):
        if own != theirs:
            return position, theirs
    raise TuningError(
        f"the answers {answer!r} ({list(tokens_of[answer])}) and {other!r} "
        f"({list(tokens_of[other])}) differ in none of their tokens: the tokenizer does not know "
        "these words"
    )


def validate_answer_tokens(
    answer: str, tokens: Tokens, tokenizer: Any, texts: tuple[str, str] | None = None
) -> None:
    """Checks that tokens stand for an answer, alone and after the question.

    Args:
        answer: Such as `increase`.
        tokens: The answer, and what ends it.
        tokenizer: Of the checkpoint.
        texts: The text of a question up to its answer, and the answer's; None if not available.

    Raises:
        TuningError: The answer is not in what they spell, one is unknown to the tokenizer, or the
            answer has other tokens after the question than alone.
    """
    spelt = tokenizer.decode(list(tokens))
    if answer not in spelt:
        raise TuningError(
            f"the answer {answer!r} becomes the tokens {list(tokens)}, which spell {spelt!r}"
        )
    if tokenizer.unk_token_id is not None and tokenizer.unk_token_id in tokens:
        raise TuningError(
            f"the answer {answer!r} becomes the tokens {list(tokens)}, one of which is the "
            "tokenizer's unknown token"
        )
    if texts is None:
        return
    before, text = texts
    together, alone = _encode(tokenizer, before + text), _encode(tokenizer, before)
    if together != alone + list(tokens):
        raise TuningError(
            f"after the question the answer {answer!r} becomes the tokens "
            f"{together[-len(tokens) :]}, not {list(tokens)}: the end of the question and the word "
            "share a token"
        )


def end_remarks(
    answer_tokens: Mapping[str, Tokens], tokenizer: Any, stops: int | Sequence[int] | None
) -> list[str]:
    """A remark where answers have no token at which generation stops.

    Args:
        answer_tokens: Answer to its tokens.
        tokenizer: Its end-of-sequence token counts where the model names none.
        stops: The model's.
    """
    if stops is None:
        stops = tokenizer.eos_token_id
    ids = {stops} if isinstance(stops, int) else set(stops or ())
    if not ids or all(ids.intersection(tokens) for tokens in answer_tokens.values()):
        return []
    named = " or ".join(repr(tokenizer.decode([token])) for token in sorted(ids))
    return [
        f"generation stops at {named}, which is not trained behind every answer: answers may run "
        "on to --max-new-tokens"
    ]


def _encode(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


def token_lines(
    answer_tokens: Mapping[str, Tokens], decode: Callable[[Sequence[int]], str]
) -> list[str]:
    """A line for each answer: the word, and its tokens one by one."""
    return [
        f"{answer:<9} {' '.join(repr(decode([token])) for token in tokens)}"
        for answer, tokens in sorted(answer_tokens.items())
    ]
