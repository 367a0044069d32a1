"""From one audio file to another."""

import math
from pathlib import Path
from typing import NamedTuple

import soundfile

from otoscope.acoustics import codec
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.rendering import Condition, Rendering, Source
from otoscope.acoustics.spans import Span, decide

FORMATS = {".wav": "WAV", ".flac": "FLAC"}


class MadeFile(NamedTuple):
    """What was written, and how."""

    path: Path
    rendering: Rendering
    category: str
    cell: Condition
    span_s: tuple[float, float]
    span_origin: str
    clipped_fraction: float
    gain: float

    def describe(self) -> str:
        """A few lines for a person."""
        gradient, t = GRADIENTS[self.category], self.rendering.trajectory
        tier, curve, direction = self.cell
        lines = [
            f"{self.path}: {self.category} {direction} ({tier}, {curve})",
            f"{gradient.parameter}: {t.start:g} to {t.end:g} over {self.span_s[0]:.2f} to "
            f"{self.span_s[1]:.2f} s of the source ({self.span_origin})",
        ]
        if self.rendering.no_effect:
            lines.append("at this rate the change does nothing; only its joints may be heard")
        if self.clipped_fraction:
            lines.append(f"{100 * self.clipped_fraction:.3f} % of samples were clipped")
        if self.gain < 1:
            lines.append(f"turned down by {-20 * math.log10(self.gain):.1f} dB, not to be clipped")
        return "\n".join(lines)


def render_file(
    source: Path,
    out: Path,
    *,
    category: str,
    cell: Condition,
    profile: str = "paper",
    span_s: tuple[float, float] | None = None,
    clip_id: str | None = None,
    overwrite: bool = False,
) -> MadeFile:
    """Reads a file, renders one cell and writes a 16-bit file.

    Args:
        source: Any audio file.
        out: Ends in `.wav` or `.flac`.
        category, cell, profile: What to render.
        span_s: Speech in seconds; detected when absent.
        clip_id: Seeds the noise; by default made from the file's name as the published ids are.
        overwrite: Whether `out` may replace a file; never the source itself.

    Raises:
        codec.AudioError: The file cannot be used, or `out` cannot be written.
        NothingChanges: The profile refuses this cell, which would do nothing to this clip.
        ValueError: No span of speech was found, the span is not in the clip, `out` has another
            ending, or it would replace a file.
        LookupError: No such category, tier or curve.
    """
    if out.suffix.lower() not in FORMATS:
        raise ValueError(f"{out}: ends in none of {', '.join(FORMATS)}")
    if out.exists() and (out.samefile(source) or not overwrite):
        way = "write elsewhere" if out.samefile(source) else "--overwrite replaces it"
        raise ValueError(f"{out}: is there already; {way}")
    recording = codec.read(source)
    rate = recording.sampling_rate
    if span_s is not None:
        if not all(map(math.isfinite, span_s)):
            raise ValueError(f"span {span_s} is not a stretch of seconds")
        span, origin = Span(*(round(t * rate) for t in span_s)), "given"
    else:
        decision = decide(codec.to_float(recording.pcm), rate)
        if decision.span is None:
            raise ValueError(
                f"{source}: no speech found ({', '.join(decision.problems)}); give --span START:END"
            )
        span, origin = decision.span, decision.origin
    clip_id = clip_id or cell.clip_id(source.stem, source.stem)
    made = Source(recording.pcm, rate, span, bit_depth=recording.bit_depth).render(
        category, cell, clip_id=clip_id, profile=profile
    )
    encoded = made.to_pcm()
    kind = FORMATS[out.suffix.lower()]
    try:
        soundfile.write(out, encoded.pcm.T, rate, format=kind, subtype="PCM_16")
    except soundfile.LibsndfileError as error:
        raise codec.AudioError(f"{out}: cannot be written ({error.error_string})") from error
    seconds = (span.start / rate, span.end / rate)
    return MadeFile(
        out, made, category, cell, seconds, origin, encoded.clipped_fraction, encoded.gain
    )
