"""Gradients as augmentation: in `audiomentations.Compose`, in `Dataset.map` and while streaming.

Nothing is drawn from a global generator. The condition of an item and its noise follow from its id
(or, where there is none, from its samples), so neither the order of items nor the number of workers
matters.

A clip without detectable speech is rejected by name, since its label could not be trusted. Pass
`policies=` to take the whole clip instead, or give the span.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from audiomentations.core.transforms_interface import BaseWaveformTransform
from jaxtyping import Float

from otoscope.acoustics import codec
from otoscope.acoustics.design import (
    DIRECTIONS,
    LABELS,
    PUBLISHED_CURVES,
    TIERS,
    Condition,
)
from otoscope.acoustics.gradients import attribute_of
from otoscope.acoustics.rendering import NotApplicable, Rendering, SourceRenderer, rules_of
from otoscope.acoustics.spans import DEFAULT_POLICIES, Policy, Problem, Span, decide
from otoscope.acoustics.trajectories import CURVES
from otoscope.registry import UnknownName

Waveform = Float[np.ndarray, "*n_channels n_samples"]


class GradientTransform(BaseWaveformTransform):
    """One acoustic factor made to rise or fall, in a published condition drawn for each item.

    Args:
        category: A key of `GRADIENTS`.
        tier, curve, direction: Fixed, or None to draw for each item. Fixing one of them does not
            change what is drawn for the others.
        seed: Another seed, another draw for every item.
        profile: Which rules.
        policies: What to do where the span detector fails; see `spans.decide`.
        p: Share of items that `Compose` changes; `map_row` changes all.

    Raises:
        LookupError: No such category, profile, tier, curve or direction.
    """

    supports_multichannel = True

    def __init__(
        self,
        category: str,
        tier: str | None = None,
        curve: str | None = None,
        direction: str | None = None,
        seed: int = 0,
        profile: str = "paper",
        policies: Mapping[Problem, Policy] | None = None,
        p: float = 1.0,
    ) -> None:
        super().__init__(p)
        rules_of(category, profile)  # rejects an unknown one by name
        for value, known in ((tier, TIERS), (curve, tuple(CURVES)), (direction, DIRECTIONS)):
            if value is not None and value not in known:
                raise UnknownName(f"{value!r} is none of {known}")
        self.category, self.tier, self.curve, self.direction = category, tier, curve, direction
        self.seed, self.profile = seed, profile
        self.policies = {**DEFAULT_POLICIES, **(policies or {})}

    def condition_of(self, item_id: str) -> Condition:
        """The item's condition."""
        rng = self._rng(item_id, "cell")  # part of the key of every draw: the word stays
        tier, curve, direction = (str(rng.choice(x)) for x in (TIERS, PUBLISHED_CURVES, DIRECTIONS))
        return Condition(self.tier or tier, self.curve or curve, self.direction or direction)

    def render(
        self,
        samples: Waveform,
        sample_rate: int,
        *,
        item_id: str,
        span: Span | None = None,
        bit_depth: int = 16,
    ) -> tuple[Condition, Rendering, str]:
        """The item's condition, its rendering, and the origin of the span.

        Raises:
            NotApplicable: The profile rejects the item's condition, which would change nothing.
            AudioError: No span is given and none is detected; see also `SourceRenderer`.
        """
        origin = "given"
        if span is None:
            span, origin, problems = decide(np.atleast_2d(samples), sample_rate, self.policies)
            if span is None:
                raise codec.AudioError(f"{item_id}: no span of speech ({', '.join(problems)})")
        # the condition is drawn from seed and id alone, so that order and workers change nothing
        condition = self.condition_of(item_id)
        clip_id = condition.clip_id(item_id, str(self.seed))
        source = SourceRenderer(samples, sample_rate, span, bit_depth=bit_depth)
        try:
            made = source.render(self.category, condition, clip_id=clip_id, profile=self.profile)
        except NotApplicable as error:
            raise NotApplicable(f"{item_id}: {error}") from error
        return condition, made, origin

    def map_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row with changed audio, for `Dataset.map` and `IterableDataset.map`.

        Reads `id`, `audio` (`{"bytes", "path"}`, as under `Audio(decode=False)`) and, where they
        are not null, `span_start_s` and `span_end_s`; the span in the result is the new one. A
        `prompt` about the row's former category is set to null.
        """
        item_id, audio = str(row["id"]), row["audio"]
        if not isinstance(audio, dict):
            raise codec.AudioError(
                f"{item_id}: audio is {type(audio)}; cast to Audio(decode=False)"
            )
        data = Path(audio["path"]) if audio.get("bytes") is None else audio["bytes"]
        pcm, rate, bit_depth, _ = codec.read(data, name=item_id)
        # the span: of the row, or detected
        start_s, end_s, span = row.get("span_start_s"), row.get("span_end_s"), None
        if start_s is not None and end_s is not None:
            span = Span(round(start_s * rate), round(end_s * rate))
        condition, made, origin = self.render(
            codec.to_float(pcm), rate, item_id=item_id, span=span, bit_depth=bit_depth
        )
        # a path that depends on the id only
        path = hashlib.sha256(item_id.encode()).hexdigest()[:16] + ".flac"
        encoded = made.to_pcm()
        # all columns that the change makes untrue, by their names in the dataset
        changed = {
            "audio": {"bytes": codec.encode_flac(encoded.pcm, rate), "path": path},
            "label": LABELS[condition.direction],
            "category": self.category,
            "attribute": attribute_of(self.category),
            "profile": self.profile,
            "start_value": made.trajectory.start,
            "end_value": made.trajectory.end,
            "clipped_fraction": encoded.clipped_fraction,
            "no_effect": made.no_effect,
            "span_start_s": made.span.start / rate,
            "span_end_s": made.span.end / rate,
            "span_origin": origin,
        }
        if "prompt" in row:
            changed["prompt"] = None
        return dict(row) | condition._asdict() | changed

    def randomize_parameters(self, samples: Waveform, sample_rate: int) -> None:
        """What `Compose` calls for each waveform; its id is a hash of its samples."""
        digest = hashlib.sha256(f"{samples.shape} {sample_rate} ".encode())
        digest.update(np.ascontiguousarray(samples).data)
        item_id = digest.hexdigest()
        apply = bool(self._rng(item_id, "apply").random() < self.p)
        self.parameters: dict[str, Any] = {"should_apply": apply, "item_id": item_id}

    def apply(
        self, samples: Waveform, sample_rate: int
    ) -> Float[np.ndarray, "*n_channels n_changed"]:
        """The changed waveform, float32, not clipped."""
        _, made, _ = self.render(samples, sample_rate, item_id=self.parameters["item_id"])
        return made.samples.astype(np.float32)

    def get_transform_init_args(self) -> dict[str, Any]:
        """What `repr` and `Compose` show."""
        shown = ("category", "tier", "curve", "direction", "seed", "profile")
        return {name: getattr(self, name) for name in shown}

    def _rng(self, item_id: str, purpose: str) -> np.random.Generator:
        key = "\x1f".join([str(self.seed), self.category, purpose, item_id])
        return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest(), "big"))
