"""Labels of a closed set from what was recognised, with how sure they are.

To add a labeller: write a class with the methods of `Labeller` and a function that opens it, then
name that below.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from otoscope.models.opening import parse_spec
from otoscope.prompts.tasks import task_named
from otoscope.registry import Registry, imported
from otoscope.responses.closed_set import closed_set, normalised
from otoscope.speech.base import SpeechError
from otoscope.speech.word_errors import edit_similarity

LABELLERS: Registry[str] = Registry(
    "labeller",
    {
        "matching": "otoscope.speech.transcript_labels:Matching",
        "keywords": "otoscope.speech.transcript_labels:Keywords",
        "transformers": "otoscope.speech.label_models:open_text_model",
        "openai": "otoscope.speech.label_models:open_server",
    },
)
"""What stands before the colon of `--labeller` to the function that opens it."""


class TranscriptItem(NamedTuple):
    """What a labeller knows of one example.

    Attributes:
        transcript: What was recognised; may be empty.
        quoted: Words that the task's question quotes, or None.
        label: The right one, of development examples that a labeller may be fitted on, else None.
    """

    id: str
    transcript: str
    quoted: str | None = None
    label: str | None = None


@dataclass(frozen=True)
class TranscriptLabel:
    """A label from a transcript.

    Attributes:
        label: None where an answer could not be read.
        scores: One for each label, which add up to 1; None where the labeller gives none.
        rule: How it came about, such as a parser's rule.
        wall_s: Seconds; a batch shares its time evenly.
        n_tokens_in, n_tokens_out: Of a text model.
        price: Of a server's answer; 0 where nothing leaves the machine.
    """

    label: str | None
    scores: tuple[float, ...] | None
    rule: str
    wall_s: float = 0.0
    n_tokens_in: int | None = None
    n_tokens_out: int | None = None
    price: float | None = 0.0

    @property
    def conf(self) -> float:
        """The largest score; without scores 1 for a label and 0 for none."""
        if self.scores is None:
            return float(self.label is not None)
        return max(self.scores)

    @property
    def uncertainty(self) -> float:
        """Entropy of the scores over its largest value, within 0 to 1.

        >>> TranscriptLabel("a", (0.5, 0.5), "").uncertainty
        1.0
        """
        if self.scores is None:
            return 1 - self.conf
        entropy = -sum(p * math.log(p) for p in self.scores if p > 0)
        return min(1.0, max(0.0, entropy / math.log(len(self.scores))))


@runtime_checkable
class Labeller(Protocol):
    """Gives transcripts labels.

    Attributes:
        description: Everything that changes a label, ready for JSON.
        is_fitted: Whether it learns from development labels; it is then fitted anew in each fold.
        batch_size: Items labelled at once.
    """

    description: Mapping[str, Any]
    is_fitted: bool
    batch_size: int

    def fit(self, items: Sequence[TranscriptItem]) -> None:
        """Learns from items with labels; nothing where `is_fitted` is false."""

    def predict(self, items: Sequence[TranscriptItem]) -> list[TranscriptLabel]:
        """A label of each item, whose own `label` is not read."""


def open_labeller(spec: str, labels: Sequence[str], task: str, **options: Any) -> Labeller:
    """Opens the labeller that a specification names.

    Args:
        spec: `matching`, `keywords`, `transformers:PATH_OR_ID@REVISION` (a text model), or
            `openai:NAME`.
        labels: The closed set, in its order.
        task: Names the question and synonyms, see `otoscope.prompts.tasks`.
        options: `batch_size`, `device`; None means "not given".

    Raises:
        UnknownName: No such labeller.
        SpeechError: A part of the specification is missing or superfluous.
        ModelError: A model cannot be used.
    """
    kind, name, revision = parse_spec(spec)
    opener = imported(LABELLERS[kind])
    if kind in ("matching", "keywords"):
        if name is not None or revision is not None:
            raise SpeechError(f"{spec!r}: {kind} takes no name behind it")
        found: Labeller = opener(labels, task)
        return found
    if name is None:
        raise SpeechError(f"{spec!r} names no model, as in {kind}:NAME@REVISION")
    given = {key: value for key, value in options.items() if value is not None}
    found = opener(labels, task, name, revision, **given)
    return found


class Matching:
    """How alike transcript and quoted text are, against a threshold fitted on development."""

    is_fitted = True
    batch_size = 1024

    def __init__(self, labels: Sequence[str], task: str) -> None:
        """Takes a closed set of two.

        Raises:
            SpeechError: It has more.
        """
        if len(labels) != 2:
            raise SpeechError(f"matching tells two labels apart, and there are {len(labels)}")
        self.labels = tuple(labels)
        self.description = {"kind": "matching", "similarity": "edit distance in characters"}

    def fit(self, items: Sequence[TranscriptItem]) -> None:
        """Fits the threshold with the most right labels, then how steep the confidence is.

        Raises:
            SpeechError: A row quotes nothing, or only one label is there.
        """
        found = [item.label for item in items]
        if len(set(found)) < 2:
            raise SpeechError(
                f"matching: {len(items)} development examples have one label, {found[:1]}; a "
                "threshold needs two"
            )
        is_first = np.array([label == self.labels[0] for label in found])
        self.threshold, self.first_is_alike = best_threshold(self._similarities(items), is_first)
        self.slope = 1.0
        distances = self._distances(items)
        self.slope = _slope(distances, is_first)

    def predict(self, items: Sequence[TranscriptItem]) -> list[TranscriptLabel]:
        """The label on each item's side of the threshold; the first one's score is logistic."""
        made = []
        for distance in self._distances(items):
            first = float(1 / (1 + np.exp(-distance)))
            made.append(_likeliest(self.labels, (first, 1 - first), "similarity"))
        return made

    def _distances(self, items: Sequence[TranscriptItem]) -> np.ndarray:
        sign = 1 if self.first_is_alike else -1
        return sign * self.slope * (self._similarities(items) - self.threshold)

    def _similarities(self, items: Sequence[TranscriptItem]) -> np.ndarray:
        for item in items:
            if not (item.quoted or "").strip():
                raise SpeechError(
                    f"matching: row {item.id!r} has no `text` to compare the transcript with; use "
                    "another --labeller"
                )
        return np.array([edit_similarity(item.quoted or "", item.transcript) for item in items])


def best_threshold(
    similarities: Float[np.ndarray, " n"], is_first: Bool[np.ndarray, " n"]
) -> tuple[float, bool]:
    """The threshold with the most right labels, and whether the first label lies above it.

    Thresholds are midway between neighbours; of equal ones that with the widest gap counts.

    >>> best_threshold(np.array([0.2, 0.4, 0.8, 1.0]), np.array([False, False, True, True]))
    (0.6000000000000001, True)
    """
    values = np.unique(similarities)
    if len(values) == 1:
        return float(values[0]), True
    best: tuple[int, float, float, bool] = (-1, 0.0, 0.0, True)
    for low, high in pairwise(values):
        above = similarities > low
        for first_is_alike in (True, False):
            right = int(np.sum((above == is_first) == first_is_alike))
            best = max(best, (right, float(high - low), float((low + high) / 2), first_is_alike))
    return best[2], best[3]


def _slope(distances: Float[np.ndarray, " n"], is_first: Bool[np.ndarray, " n"]) -> float:
    """Of a logistic curve through one half at distance 0, above 0."""
    from sklearn.linear_model import LogisticRegression

    scale = float(np.std(distances)) or 1.0
    curve = LogisticRegression(fit_intercept=False).fit(distances[:, None] / scale, is_first)
    return max(float(curve.coef_[0, 0]), 1e-3) / scale


class Keywords:
    """The label whose words the transcript has most often, else the most frequent one."""

    is_fitted = True
    batch_size = 1024

    def __init__(self, labels: Sequence[str], task: str) -> None:
        self.labels = tuple(labels)
        known = task_named(task).synonyms
        synonyms = {word: label for word, label in known.items() if label in labels}
        self.words = dict(closed_set(labels, synonyms).words)
        longest_first = sorted(map(re.escape, self.words), key=len, reverse=True)
        self.pattern = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)")
        self.description = {"kind": "keywords", "words": self.words}

    def fit(self, items: Sequence[TranscriptItem]) -> None:
        """Counts labels."""
        counts = Counter(item.label for item in items)
        self.shares = tuple(counts[label] / max(1, len(items)) for label in self.labels)

    def predict(self, items: Sequence[TranscriptItem]) -> list[TranscriptLabel]:
        """A label of each; `rule` is `words` or `most frequent`."""
        made = []
        for item in items:
            counts = dict.fromkeys(self.labels, 0)
            for word in self.pattern.findall(normalised(item.transcript)):
                counts[self.words[word]] += 1
            if total := sum(counts.values()):
                scores = tuple(counts[label] / total for label in self.labels)
                made.append(_likeliest(self.labels, scores, "words"))
            else:
                made.append(_likeliest(self.labels, self.shares, "most frequent"))
        return made


def _likeliest(labels: Sequence[str], scores: tuple[float, ...], rule: str) -> TranscriptLabel:
    """The label with the largest score; of equal ones the first."""
    return TranscriptLabel(labels[int(np.argmax(scores))], scores, rule)
