"""Renders one audio file to another."""

import errno
import math
import os
from pathlib import Path
from typing import NamedTuple

from otoscope.acoustics import codec
from otoscope.acoustics.design import Condition
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.rendering import Rendering, SourceRenderer
from otoscope.acoustics.spans import Span, decide
from otoscope.atomic import write_atomic

FORMATS = {".wav": "WAV", ".flac": "FLAC"}


class RenderedFile(NamedTuple):
    """A written file and its parameters."""

    path: Path
    rendering: Rendering
    category: str
    condition: Condition
    span_s: tuple[float, float]
    span_origin: str
    clipped_fraction: float
    gain: float
    attenuation_db: float = 0.0

    def describe(self) -> str:
        """A few lines for a person."""
        gradient, t = GRADIENTS[self.category], self.rendering.trajectory
        tier, curve, direction = self.condition
        lines = [
            f"{self.path}: {self.category} {direction} ({tier}, {curve})",
            f"{gradient.parameter}: {t.start:g} to {t.end:g} over {self.span_s[0]:.2f} to "
            f"{self.span_s[1]:.2f} s of the source ({self.span_origin})",
        ]
        # what else happened to the samples, where it did
        if self.rendering.no_effect:
            lines.append("no effect at this rate; only crossfades between segments may be audible")
        if self.attenuation_db:
            lines.append(
                "the source is beyond full scale after decoding: it was attenuated as a whole, by "
                f"{self.attenuation_db:.1f} dB"
            )
        if self.clipped_fraction:
            lines.append(f"{100 * self.clipped_fraction:.3f} % of samples were clipped")
        if self.gain < 1:
            lines.append(f"attenuated by {-20 * math.log10(self.gain):.1f} dB to avoid clipping")
        return "\n".join(lines)


def render_file(
    source: Path,
    out: Path,
    *,
    category: str,
    condition: Condition,
    profile: str = "paper",
    span_s: tuple[float, float] | None = None,
    clip_id: str | None = None,
    overwrite: bool = False,
) -> RenderedFile:
    """Reads a file, renders one condition and writes a 16-bit file, as a whole or not at all.

    Args:
        source: Any audio file.
        out: Ends in `.wav` or `.flac`.
        category, condition, profile: What to render.
        span_s: Speech in seconds; detected when absent.
        clip_id: Seeds the noise; by default derived from the file's name as published ids are.
        overwrite: Whether `out` may replace a file; never the source itself.

    Raises:
        AudioError: The file or the span cannot be used, no speech was found, or `out` cannot be
            written, has another suffix, or would replace a file.
        NotApplicable: The profile rejects this condition, which would change nothing.
        LookupError: No such category, profile, tier, curve or direction.
    """
    if out.suffix.lower() not in FORMATS:
        raise codec.AudioError(f"{out}: ends in none of {', '.join(FORMATS)}")
    if out.exists() and not out.is_file():
        raise codec.AudioError(f"{out}: a device, pipe or folder, which is not written to")
    if out.exists() and (out.samefile(source) or not overwrite):
        way = "write elsewhere" if out.samefile(source) else "--overwrite replaces it"
        raise codec.AudioError(f"{out}: already exists; {way}")
    # the span: given, or detected as in a build
    recording = codec.read(source)
    rate = recording.sampling_rate
    if span_s is not None:
        if not all(map(math.isfinite, span_s)):
            raise codec.AudioError(f"span {span_s} is not a range of seconds")
        span, origin = Span(*(round(t * rate) for t in span_s)), "given"
    else:
        decision = decide(codec.to_float(recording.pcm), rate)
        if decision.span is None:
            raise codec.AudioError(
                f"{source}: no speech found ({', '.join(decision.problems)}); give --span START:END"
            )
        span, origin = decision.span, decision.origin
    # the id seeds the noise, so that a file renders the same every time
    clip_id = clip_id or condition.clip_id(source.stem, source.stem)
    made = SourceRenderer(recording.pcm, rate, span, bit_depth=recording.bit_depth).render(
        category, condition, clip_id=clip_id, profile=profile
    )
    encoded = made.to_pcm()
    # 16 bits, as everywhere in a build; the file is there as a whole or not at all
    content = codec.encode(encoded.pcm, rate, FORMATS[out.suffix.lower()])
    try:
        if not out.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        write_atomic(out.resolve(), content)
    except OSError as error:
        raise codec.AudioError(f"{out}: cannot be written ({error.strerror or error})") from error
    seconds = (span.start / rate, span.end / rate)
    return RenderedFile(
        out, made, category, condition, seconds, origin, encoded.clipped_fraction, encoded.gain,
        recording.attenuation_db,
    )  # fmt: skip
