"""Training data of the tiny listener: clips of some categories, and the same changes in others."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from otoscope.acoustics import codec
from otoscope.acoustics.design import LABELS
from otoscope.acoustics.gradients import GRADIENTS, attribute_of
from otoscope.acoustics.transforms import GradientTransform
from otoscope.errors import InputError
from otoscope.models.base import Request
from otoscope.models.simple import span_of
from otoscope.prompts.parts import Clip
from otoscope.prompts.questions import answer_word, question

CATEGORIES = ("volume", "background_noise")
FINAL_RATE_SHARE = 0.1
"""Of the learning rate, at the last step."""


class ListenerError(InputError, ValueError):
    """A listener that cannot be trained as requested; the message says why, and the way out."""


@dataclass(frozen=True)
class ListenerConfig:
    """Everything that changes the weights, apart from the clips.

    Attributes:
        categories: That it is trained on.
        overlaid: Whether their changes are applied to clips of the other categories too.
        n_steps, batch_size: Optimizer steps, and clips in each.
        learning_rate: Of AdamW; rises over `warm_up` steps, then falls along a cosine.
        warm_up: Steps.
        max_norm: Longer gradients are clipped to it.
        seed: Of first weights, order and overlays.
        size: Of the model, arguments of `TinyModelSize`.

    Raises:
        ListenerError: A value out of range.
    """

    categories: tuple[str, ...] = CATEGORIES
    overlaid: bool = True
    n_steps: int = 150
    batch_size: int = 16
    learning_rate: float = 3e-3
    warm_up: int = 30
    max_norm: float = 1.0
    seed: int = 0
    size: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.categories or len(set(self.categories)) < len(self.categories):
            raise ListenerError(f"name each category once, not {self.categories}")
        for name in ("n_steps", "batch_size", "learning_rate", "max_norm"):
            if not getattr(self, name) > 0:
                raise ListenerError(f"{name} must be above 0, not {getattr(self, name)}")
        if not 0 <= self.seed < 2**63:
            raise ListenerError(f"seed must be 0 or more and below 2**63, not {self.seed}")

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        falling = (1 + np.cos(np.pi * step / self.n_steps)) / 2
        share = FINAL_RATE_SHARE + (1 - FINAL_RATE_SHARE) * falling
        return float(self.learning_rate * share * min(1, (step + 1) / max(1, self.warm_up)))

    def record(self) -> dict[str, Any]:
        """As listener.json stores it, with the names of version 0.1."""
        stored = asdict(self)
        return {"asked": stored.pop("categories"), "shape": stored.pop("size"), **stored}


class ListenerClips:
    """Clips of the trained categories, and the others with one of their changes on top.

    Args:
        splits: Of the split `train`, from `open_splits`.
        config: Categories and overlays.

    Raises:
        ListenerError: A category is absent, or cannot be applied to the others.
    """

    def __init__(self, splits: Any, config: ListenerConfig) -> None:
        self.splits, self.config = splits, config
        rows, names = splits.rows, config.categories
        present = dict.fromkeys(rows["category"])
        if absent := [name for name in names if name not in present]:
            raise ListenerError(f"no clips of {', '.join(absent)}; there are {', '.join(present)}")
        columns = zip(rows["question_id"], rows["category"], rows["label"], strict=True)
        self.question_ids = [
            question_id
            for question_id, category, label in columns
            if label >= 0 and (category in names or config.overlaid)
        ]
        self.overlays = {}
        if config.overlaid and len(present) > len(names):
            if unknown := [name for name in names if name not in GRADIENTS]:
                raise ListenerError(
                    f"{', '.join(unknown)} cannot be applied to other clips; give --no-overlaid"
                )
            profile = next((p for p in rows.get("profile", ()) if p), "paper")
            self.overlays = {
                name: GradientTransform(name, seed=config.seed, profile=profile) for name in names
            }

    def __getitem__(self, index: int) -> tuple[Request, str]:
        """A request, and its right answer."""
        request = self.splits.fill(self.question_ids[index])
        if request.question.category not in self.config.categories:
            request = self._overlaid(request)
        return request, str(answer_word(request.question))

    def order(self) -> Iterator[list[int]]:
        """Indices of each step's clips; every clip once before any comes again."""
        rng = np.random.default_rng(self.config.seed)
        size = self.config.batch_size
        waiting: list[int] = []
        for _ in range(self.config.n_steps):
            while len(waiting) < size:
                waiting += rng.permutation(len(self.question_ids)).tolist()
            yield waiting[:size]
            del waiting[:size]

    def _overlaid(self, request: Request) -> Request:
        """A clip with one of the trained changes on top, and the question about that."""
        (audio,) = request.audio_inputs
        draw = hashlib.sha256(f"{self.config.seed} {audio.id}".encode()).digest()[0]
        category = self.config.categories[draw % len(self.config.categories)]
        condition, rendered, _ = self.overlays[category].render(
            audio.samples, audio.sampling_rate, item_id=audio.id, span=span_of(audio)
        )
        row = {
            "id": request.question.id,
            "category": category,
            "attribute": attribute_of(category),
            "label": LABELS[condition.direction],
        }
        changed = question(row, request.question.prompt_name)
        samples = codec.to_float(rendered.to_pcm().pcm)[0].astype(np.float32)
        overlaid = replace(audio, samples=samples)
        return Request(
            changed, tuple(overlaid if isinstance(part, Clip) else part for part in changed.parts)
        )
