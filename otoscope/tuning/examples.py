"""What is taught: for each clip the tokens of its right answer, and nothing of its question."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from otoscope.tuning.config import TuningError
from otoscope.tuning.splits import VALIDATION_SPLITS, TrainValidationSplit

TAUGHT = ("train", "validation")
HASHED = ("id", "category", "label_name", "prompt", "audio_sha256")

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class TrainingExamples:
    """Clips with their answers, and which of them teach.

    Attributes:
        rows: Column to values, one for each clip.
        parts: Places of the clips that teach, and of those that validate.
        targets: For each clip the tokens of its right answer.
        others: For each clip where and with which token a wrong answer first leaves the right one:
            what "increase" is weighed against where "decrease" would stand.
        words: Answer to its tokens.
    """

    rows: Mapping[str, Sequence[Any]]
    parts: TrainValidationSplit
    targets: Sequence[Tokens]
    others: Sequence[tuple[tuple[int, int], ...]]
    words: Mapping[str, Tokens]

    def column(self, name: str, places: Sequence[int]) -> list[str]:
        """Text of some clips."""
        return [str(self.rows[name][n]) for n in places]

    def sha256(self) -> str:
        """Changes with any clip, question or answer, with the tokens, and with the division."""
        digest = hashlib.sha256()
        for places in self.parts:
            digest.update(b"part")
            for n in places:
                told = [str(self.rows[name][n]) for name in HASHED]
                digest.update(json.dumps([told, list(self.targets[n])]).encode())
        return digest.hexdigest()


def select_rows(
    rows: Mapping[str, Sequence[Any]], categories: Sequence[str]
) -> tuple[dict[str, list[Any]], int]:
    """The rows to learn from: of these categories, of the splits `train` and `validation`.

    Rows to which nothing was done teach nothing, and are left out.

    Returns:
        Columns, and how many rows were left out because nothing was done to them.

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
            f"there is no split train, only {', '.join(splits) or 'none'}, and what a model is "
            "asked about must not teach it; build one: python -m builders.vocalgrad build "
            "--source voices:40 --splits train,test --out ./vocalgrad"
        )
    mine = [
        n
        for n, (category, split, label) in enumerate(
            zip(rows["category"], rows["split"], rows["label"], strict=True)
        )
        if category in categories and split in TAUGHT and label in (0, 1)
    ]
    silent = {n for n in mine if rows.get("no_effect") is not None and rows["no_effect"][n]}
    mine = [n for n in mine if n not in silent]
    chosen = {name: [column[n] for n in mine] for name, column in rows.items()}
    for category in categories:
        labels = {
            int(label)
            for label, own in zip(chosen["label"], chosen["category"], strict=True)
            if own == category
        }
        if len(labels) < 2:
            told = {0: "decrease", 1: "increase"}
            has = f"only clips labelled {told[labels.pop()]!r}" if labels else "no labelled clips"
            raise TuningError(
                f"category {category!r} has {has} to learn from; both labels are needed"
            )
    return chosen, len(silent)


def examples_of(
    rows: Mapping[str, Sequence[Any]], answers: Sequence[tuple[str, Tokens]], split: str, seed: int
) -> TrainingExamples:
    """Rows with their right answers, divided.

    Args:
        rows: From `select_rows`.
        answers: For each row the word of its right answer, and its tokens.
        split: A name in `VALIDATION_SPLITS`.
        seed: Of the division.

    Raises:
        TuningError: An answer has tokens that cannot tell it from another, or the rows cannot be
            divided.
        LookupError: No such split.
    """
    words: dict[str, Tokens] = {}
    for word, tokens in answers:
        if words.setdefault(word, tokens) != tokens:
            raise TuningError(
                f"the answer {word!r} is {list(words[word])} in one clip's tokens and "
                f"{list(tokens)} in another's; extract the states anew"
            )
    others = {word: tuple(_leaving(word, other, words) for other in words if other != word)
              for word in words}  # fmt: skip
    return TrainingExamples(
        rows,
        VALIDATION_SPLITS[split](rows, seed),
        [tokens for _, tokens in answers],
        [others[word] for word, _ in answers],
        words,
    )


def _leaving(word: str, other: str, words: Mapping[str, Tokens]) -> tuple[int, int]:
    """Where the tokens of another answer first differ, and the one that stands there."""
    for place, (own, theirs) in enumerate(zip(words[word], words[other], strict=False)):
        if own != theirs:
            return place, theirs
    raise TuningError(
        f"the answers {word!r} ({list(words[word])}) and {other!r} ({list(words[other])}) are told "
        "apart by none of their tokens: the tokenizer does not know these words"
    )


def validate_answer_tokens(
    word: str, tokens: Tokens, tokenizer: Any, texts: tuple[str, str] | None = None
) -> None:
    """Refuses an answer whose tokens are not what a model would be taught to say.

    Args:
        word: Such as `increase`.
        tokens: The word, and what ends an answer.
        tokenizer: Of the checkpoint.
        texts: The text of a question up to its answer, and the answer's; None where they are not at
            hand.

    Raises:
        TuningError: They do not spell the word, one is unknown to the tokenizer, or the answer has
            other tokens behind the question than alone.
    """
    spelt = tokenizer.decode(list(tokens))
    if not spelt.strip().startswith(word):
        raise TuningError(
            f"the answer {word!r} becomes the tokens {list(tokens)}, which spell {spelt!r}"
        )
    if tokenizer.unk_token_id is not None and tokenizer.unk_token_id in tokens:
        raise TuningError(
            f"the answer {word!r} becomes the tokens {list(tokens)}, one of which stands for what "
            "the tokenizer does not know"
        )
    if texts is None:
        return
    before, answer = texts
    together, lock = _encoded(tokenizer, before + answer), _encoded(tokenizer, before)
    if together != lock + list(tokens):
        raise TuningError(
            f"behind the question the answer {word!r} becomes the tokens "
            f"{together[-len(tokens) :]}, not {list(tokens)}: the end of the question and the word "
            "share a token"
        )


def _encoded(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


def told(words: Mapping[str, Tokens], decode: Callable[[Sequence[int]], str]) -> list[str]:
    """A line for each answer: the word, and its tokens one by one."""
    return [
        f"{word:<9} {' '.join(repr(decode([token])) for token in tokens)}"
        for word, tokens in sorted(words.items())
    ]
