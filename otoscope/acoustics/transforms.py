"""Gradients as augmentation: in `audiomentations.Compose`, in `Dataset.map` and while streaming.

    augment = Compose([GradientTransform("background_noise", tier="high"), Gain()])
    noisy = augment(samples, sample_rate)  # another draw at each call
    augment.transforms[0].parameters["label"]  # what was drawn: "increase" or "decrease"

    transform = GradientTransform("echo", seed=3)
    echoes = ds.cast_column("audio", Audio(decode=False)).map(transform.map_row)

Nothing is drawn from a global generator. The condition of a dataset row and its noise follow from
its id, so neither the order of rows nor the number of workers matters. A waveform has no id: each
call draws anew, unless a seed is given, with which the draw follows from the samples.

A clip without detectable speech has no span in which a factor could change. Pass `policies=` to
take the whole clip instead, or give the span.
"""

import hashlib
import secrets
from collections.abc import Mapping
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
from otoscope.acoustics.rows import encoded_audio
from otoscope.acoustics.spans import DEFAULT_POLICIES, Policy, Problem, Span, decide
from otoscope.acoustics.trajectories import CURVES
from otoscope.registry import UnknownName

Waveform = Float[np.ndarray, "*n_channels n_samples"]
UNCHANGED, REJECT = "unchanged", "reject"

COLUMNS = (
    *("tier", "curve", "direction", "label", "category", "attribute", "profile"),
    *("start_value", "end_value", "clipped_fraction", "no_effect"),
    *("span_start_s", "span_end_s", "span_origin"),
)
"""Columns, by their names in the dataset, that a change of the audio makes untrue."""


class NoSpeech(codec.AudioError):
    """No span is given, and none is detected."""


class GradientTransform(BaseWaveformTransform):
    """One acoustic factor made to rise or fall, in a published condition drawn for each item.

    Args:
        category: A key of `GRADIENTS`.
        tier, curve, direction: Fixed, or None to draw for each item. Fixing one of them does not
            change what is drawn for the others.
        seed: Another seed, another draw for every item. None draws anew for each waveform; the
            rows of a dataset are drawn by their ids all the same, as with 0.
        profile: Which rules.
        policies: What to do where the span detector fails; see `spans.decide`.
        on_no_speech: "unchanged" or "reject" where no span of speech is found. None passes a
            waveform unchanged, as other augmentations do, and rejects a row by its id. An
            unchanged row has the label null.
        p: Share of items that `Compose` changes; `map_row` changes all.

    After each call `parameters` holds `should_apply`, `item_id`, `tier`, `curve`, `direction` and
    `label`, and, where the waveform was changed, `span_start_s`, `span_end_s`, `start_value`,
    `end_value` (in the category's units) and `no_effect`.

    Raises:
        LookupError: No such category, profile, tier, curve, direction or `on_no_speech`.
    """

    supports_multichannel = True

    def __init__(
        self,
        category: str,
        tier: str | None = None,
        curve: str | None = None,
        direction: str | None = None,
        seed: int | None = None,
        profile: str = "paper",
        policies: Mapping[Problem, Policy] | None = None,
        on_no_speech: str | None = None,
        p: float = 1.0,
    ) -> None:
        super().__init__(p)
        rules_of(category, profile)  # rejects an unknown one by name
        for value, known in (
            (tier, TIERS),
            (curve, tuple(CURVES)),
            (direction, DIRECTIONS),
            (on_no_speech, (UNCHANGED, REJECT)),
        ):
            if value is not None and value not in known:
                raise UnknownName(f"{value!r} is none of {known}")
        self.category, self.tier, self.curve, self.direction = category, tier, curve, direction
        self.seed, self.profile, self.on_no_speech = seed, profile, on_no_speech
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
            NoSpeech: No span is given and none is detected.
            AudioError: See `SourceRenderer`.
        """
        origin = "given"
        if span is None:
            span, origin, problems = decide(np.atleast_2d(samples), sample_rate, self.policies)
            if span is None:
                raise NoSpeech(
                    f"{item_id}: no span of speech ({', '.join(problems)}); "
                    'on_no_speech="unchanged" passes such clips'
                )
        # the condition is drawn from seed and id alone, so that order and workers change nothing
        condition = self.condition_of(item_id)
        clip_id = condition.clip_id(item_id, str(self.seed or 0))
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
        `prompt` about the row's former category is set to null. `label` is the integer of a
        VocalGrad dataset's ClassLabel in a row that has its columns, in `map` and while streaming
        alike, and otherwise the word.
        """
        item_id = str(row["id"])
        recording = codec.read(encoded_audio(row), name=item_id)
        rate = recording.sampling_rate
        # the span: of the row, or detected
        start_s, end_s, span = row.get("span_start_s"), row.get("span_end_s"), None
        if start_s is not None and end_s is not None:
            span = Span(round(start_s * rate), round(end_s * rate))
        try:
            condition, made, origin = self.render(
                codec.to_float(recording.pcm), rate,
                item_id=item_id, span=span, bit_depth=recording.bit_depth,
            )  # fmt: skip
        except NoSpeech:
            if self.on_no_speech != UNCHANGED:
                raise
            return dict(row) | dict.fromkeys(COLUMNS)
        # a path that depends on the id only
        path = hashlib.sha256(item_id.encode()).hexdigest()[:16] + ".flac"
        encoded = made.to_pcm()
        label: Any = LABELS[condition.direction]
        if "direction" in row and not isinstance(row.get("label"), str):
            # streaming does not encode: what `map` makes of it, by the dataset's order of names
            label = sorted(LABELS.values()).index(label)
        values = (
            *condition,
            label,
            self.category,
            attribute_of(self.category),
            self.profile,
            made.trajectory.start,
            made.trajectory.end,
            encoded.clipped_fraction,
            made.no_effect,
            made.span.start / rate,
            made.span.end / rate,
            origin,
        )
        changed: dict[str, Any] = dict(zip(COLUMNS, values, strict=True))
        changed["audio"] = {"bytes": codec.encode_flac(encoded.pcm, rate), "path": path}
        if "prompt" in row:
            changed["prompt"] = None
        return dict(row) | changed

    def randomize_parameters(self, samples: Waveform, sample_rate: int) -> None:
        """What `Compose` calls for each waveform.

        Without a seed the waveform's id is random: from the operating system, so that the forked
        workers of a data loader differ. With one it is a hash of the samples.
        """
        if self.seed is None:
            item_id = secrets.token_hex(32)
        else:
            digest = hashlib.sha256(f"{samples.shape} {sample_rate} ".encode())
            digest.update(np.ascontiguousarray(samples).data)
            item_id = digest.hexdigest()
        apply = bool(self._rng(item_id, "apply").random() < self.p)
        condition = self.condition_of(item_id)
        self.parameters: dict[str, Any] = {
            "should_apply": apply,
            "item_id": item_id,
            **condition._asdict(),
            "label": LABELS[condition.direction],
        }

    def apply(
        self, samples: Waveform, sample_rate: int
    ) -> Float[np.ndarray, "*n_channels n_changed"]:
        """The changed waveform, float32, not clipped."""
        try:
            _, made, _ = self.render(samples, sample_rate, item_id=self.parameters["item_id"])
        except NoSpeech:
            if self.on_no_speech == REJECT:
                raise
            self.parameters["should_apply"] = False
            return samples
        self.parameters |= {
            "span_start_s": made.span.start / sample_rate,
            "span_end_s": made.span.end / sample_rate,
            "start_value": made.trajectory.start,
            "end_value": made.trajectory.end,
            "no_effect": made.no_effect,
        }
        return made.samples.astype(np.float32)

    def get_transform_init_args(self) -> dict[str, Any]:
        """What `repr` and `Compose` show."""
        shown = ("category", "tier", "curve", "direction", "seed", "profile")
        return {name: getattr(self, name) for name in shown}

    def _rng(self, item_id: str, purpose: str) -> np.random.Generator:
        key = "\x1f".join([str(self.seed or 0), self.category, purpose, item_id])
        return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest(), "big"))
