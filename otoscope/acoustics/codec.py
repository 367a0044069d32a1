"""Bytes to samples and back: audio files in without silent loss, 16-bit PCM out.

Everything downstream uses one form: 16-bit PCM of shape `(n_channels, n_samples)`. A file that
cannot be converted without loss (truncated, NaN, beyond full scale) is rejected with a reason.
"""

import io
import math
import stat
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
from jaxtyping import Float, Int16

from otoscope.acoustics.containers import ContainerError, Stream, streams
from otoscope.errors import InputError

FULL_SCALE = 32768
CEILING = 0.9886  # -0.1 dB re full scale
EIGHT_BIT = {"PCM_U8", "PCM_S8"}
MAX_PEAK = (FULL_SCALE - 1) / FULL_SCALE  # the largest value of 16 bits
LOSSY = {"VORBIS", "OPUS", "MPEG_LAYER_I", "MPEG_LAYER_II", "MPEG_LAYER_III"}
EXACT_IN_16_BITS = EIGHT_BIT | {"PCM_16", "ULAW", "ALAW", "MS_ADPCM", "IMA_ADPCM", "GSM610"}
MAX_CHANNELS = 8  # of FLAC


class AudioError(InputError, ValueError):
    """Audio, a span in it or a rate that cannot be used; the message says why."""


class Recording(NamedTuple):
    """A decoded file as 16-bit PCM.

    Attributes:
        pcm: Samples, `(n_channels, n_samples)`; 8-bit audio sits in the upper byte.
        sampling_rate: In Hz.
        bit_depth: 8 for 8-bit files, else 16.
        subtype: The encoding in the file as libsndfile names it, e.g. `PCM_24`.
        attenuation_db: By how much the clip was turned down as a whole, because its lossy codec
            decodes it to more than full scale; 0 for most.
    """

    pcm: Int16[np.ndarray, "n_channels n_samples"]
    sampling_rate: int
    bit_depth: int
    subtype: str
    attenuation_db: float = 0.0

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.pcm.shape[1] / self.sampling_rate


class Decoded(NamedTuple):
    """Decoded samples before conversion to 16 bits, `(n_channels, n_samples)`.

    int16 where that is exact, else float64, in which a lossy codec may exceed ±1.
    """

    samples: np.ndarray
    sampling_rate: int
    subtype: str


class Encoded(NamedTuple):
    """Samples as 16-bit PCM, with the effect of full scale on them.

    Attributes:
        pcm: The samples.
        clipped_fraction: Share of clipped samples, 0 to 1.
        gain: Factor that kept the clip within full scale; 1 where none was needed.
    """

    pcm: Int16[np.ndarray, "n_channels n_samples"]
    clipped_fraction: float
    gain: float = 1.0


class _Seekable(io.BytesIO):
    """Bytes in which a damaged header's seek before the start fails without output on stderr."""

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        try:
            return super().seek(offset, whence)
        except ValueError:
            return self.tell()


def read(source: Path | bytes, *, name: str | None = None) -> Recording:
    """An audio file as 16-bit PCM: WAV, FLAC, Ogg, MP3 or any other format of libsndfile.

    8-bit, 16-bit, µ-law and A-law are read exactly. Wider integers and floats are rounded to 16
    bits, ties to even. A lossy codec may decode to more than full scale; such a clip is turned down
    as a whole.

    Args:
        source: A path, or the bytes of a file.
        name: Its name in errors; the path by default.

    Raises:
        AudioError: Not readable, shorter or longer than its header says, empty, not finite, or a
            file of floats beyond full scale (16 bits would clip it).
    """
    name = name or _name_of(source)
    samples, rate, subtype = decode(source, name=name)
    attenuation_db = 0.0
    if subtype in LOSSY:
        samples, attenuation_db = within_full_scale(samples)
    pcm = samples if samples.dtype == np.int16 else round_to_pcm(samples, name=name)
    bit_depth = 8 if subtype in EIGHT_BIT else 16
    return Recording(np.ascontiguousarray(pcm), rate, bit_depth, subtype, attenuation_db)


def decode(source: Path | bytes, *, name: str | None = None) -> Decoded:
    """An audio file before rounding; see `read`.

    Raises:
        AudioError: Not readable, shorter or longer than its header says, or empty.
    """
    name = name or _name_of(source)
    data = _bytes_of(source, name) if isinstance(source, Path) else source
    try:
        parts = [_decode_stream(stream, name) for stream in streams(data)]
    except ContainerError as error:
        raise AudioError(f"{name}: {error}") from error
    first = parts[0]
    if len({(p.samples.shape[0], p.sampling_rate, p.subtype) for p in parts}) > 1:
        raise AudioError(f"{name}: a chain of streams that differ in rate or channels; split it")
    if len(parts) > 1:
        first = first._replace(samples=np.concatenate([p.samples for p in parts], axis=1))
    return first


def _bytes_of(path: Path, name: str) -> bytes:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise AudioError(f"{name}: a device or pipe; write its content to a file first")
        return path.read_bytes()
    except OSError as error:
        raise AudioError(f"{name}: {error.strerror or error}") from error


def _decode_stream(stream: Stream, name: str) -> Decoded:
    try:
        with soundfile.SoundFile(_Seekable(stream.data)) as file:
            # integers where 16 bits hold them, so that samples stay exact; floats otherwise
            exact = file.subtype in EXACT_IN_16_BITS
            promised, rate, subtype = file.frames, file.samplerate, file.subtype
            dtype = "int16" if exact else "float64"
            samples = file.read(promised, dtype=dtype, always_2d=True).T
    except (soundfile.LibsndfileError, ValueError, MemoryError) as error:
        reason = getattr(error, "error_string", None) or str(error)
        raise AudioError(f"{name}: not readable as audio ({reason.strip()})") from error
    # what libsndfile read may still be damaged, empty or of an unusable layout
    promised = promised if stream.n_samples is None else stream.n_samples
    if samples.shape[1] != promised:
        raise AudioError(
            f"{name}: its header promises {promised} samples but {samples.shape[1]} can be read; "
            "the file is damaged or cut short"
        )
    if samples.shape[1] == 0:
        raise AudioError(f"{name}: holds no samples")
    if samples.shape[0] > MAX_CHANNELS:
        raise AudioError(
            f"{name}: {samples.shape[0]} channels; at most {MAX_CHANNELS} are supported"
        )
    return Decoded(samples, rate, subtype)


def _name_of(source: Path | bytes) -> str:
    return str(source) if isinstance(source, Path) else "audio bytes"


def round_to_pcm(
    samples: Float[np.ndarray, "n_channels n_samples"], *, name: str = "audio"
) -> Int16[np.ndarray, "n_channels n_samples"]:
    """Rounds samples in [-1, 1] to 16 bits, ties to even.

    Raises:
        AudioError: A sample is NaN or infinite, or beyond full scale.
    """
    peak = float(np.max(np.abs(samples), initial=0.0))
    if not np.isfinite(peak):
        raise AudioError(f"{name}: {np.sum(~np.isfinite(samples))} samples are NaN or infinite")
    if peak > 1:
        raise AudioError(f"{name}: peak {peak:.4g} is beyond full scale; scale it down first")
    return np.clip(np.rint(samples * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def within_full_scale(
    samples: Float[np.ndarray, "*shape"], *, most: float = 1.0
) -> tuple[Float[np.ndarray, "*shape"], float]:
    """Samples turned down as a whole where their peak is beyond full scale; and by how many dB.

    Args:
        samples: Any shape; what is not finite is left alone.
        most: The peak from which on they are turned down, to the largest value of 16 bits.
    """
    peak = float(np.max(np.abs(samples), initial=0.0))
    if not most < peak < np.inf:
        return samples, 0.0
    return samples * (MAX_PEAK / peak), 20 * math.log10(peak / MAX_PEAK)


def to_float(pcm: Int16[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """PCM as float32 in [-1, 1)."""
    return pcm.astype(np.float32) / np.float32(FULL_SCALE)


def truncate_to_pcm(samples: Float[np.ndarray, "n_channels n_samples"]) -> Encoded:
    """Samples as the published generators encode them: clipped, then truncated toward zero.

    Source: `docs/papers.md`, VocalGrad generators, shared rules.
    """
    clipped = float(np.mean((samples < -1) | (samples > 1))) if samples.size else 0.0
    scaled = np.clip(samples * FULL_SCALE, -FULL_SCALE, FULL_SCALE - 1)
    return Encoded(scaled.astype(np.int16), clipped)


def round_within_scale(samples: Float[np.ndarray, "n_channels n_samples"]) -> Encoded:
    """Samples rounded to 16 bits, ties to even; nothing is ever clipped.

    A clip whose peak is beyond `CEILING` is scaled down as a whole.

    Raises:
        AudioError: A sample is NaN or infinite.
    """
    peak = float(np.max(np.abs(samples), initial=0.0))
    gain = CEILING / peak if peak > CEILING else 1.0
    return Encoded(round_to_pcm(samples * gain), 0.0, gain)


def encode(pcm: Int16[np.ndarray, "n_channels n_samples"], sampling_rate: int, form: str) -> bytes:
    """The bytes of a 16-bit file of a format of libsndfile, e.g. `WAV`."""
    buffer = io.BytesIO()
    soundfile.write(buffer, pcm.T, sampling_rate, format=form, subtype="PCM_16")
    return buffer.getvalue()


def encode_flac(pcm: Int16[np.ndarray, "n_channels n_samples"], sampling_rate: int) -> bytes:
    """The bytes of a 16-bit FLAC file."""
    return encode(pcm, sampling_rate, "FLAC")


def duration_s(source: bytes, *, name: str = "audio bytes") -> float:
    """Length of an encoded clip in seconds, from its header.

    Raises:
        AudioError: Not readable as audio.
    """
    try:
        parts = streams(source)
        lengths = [soundfile.info(_Seekable(part.data)).duration for part in parts]
    except (ContainerError, soundfile.LibsndfileError, ValueError) as error:
        raise AudioError(f"{name}: not readable as audio ({error})") from error
    return float(sum(lengths))
