"""Files in, 16-bit samples out, and which files are refused."""

import csv
import io
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from otoscope.acoustics import codec
from otoscope.acoustics.codec import AudioError

DATA = Path(__file__).parents[1] / "data"
REAL = Path(__file__).parents[2].parent / "shared" / "data" / "real"
RAMP = np.arange(-8, 8, dtype=np.int16)[:, None] * 4096  # 16 samples, from −32768 to 28672
FULL_SCALE = 2.0**15


def written(samples, *, form="WAV", subtype="PCM_16", rate=16_000, endian="FILE"):
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=form, subtype=subtype, endian=endian)
    return buffer.getvalue()


def cut(data, n_bytes=20):
    return data[:-n_bytes]


def streamed():
    """A WAV as a program writes it to a pipe: sizes unknown."""
    data = bytearray(written(RAMP))
    data[4:8] = data[40:44] = b"\xff\xff\xff\xff"
    return bytes(data)


def cut_between_pages():
    data = written(noise(80_000), form="OGG", subtype="VORBIS")
    return data[: data.rfind(b"OggS")]


def noise(n_samples=16_000):
    return (0.1 * np.random.default_rng(0).standard_normal((n_samples, 1))).clip(-1, 1)


# what comes in → (bytes), and what comes out: (first channel, bit depth), or the reason
BAD_INPUT = {
    "no bytes": (lambda: b"", "holds no samples"),
    "text": (lambda: b"id,audio\n1,a.wav\n" * 9, "not readable as audio"),
    "header and nothing else": (lambda: written(RAMP[:0]), "holds no samples"),
    "one sample": (lambda: written(RAMP[:1]), ([-32768], 16)),
    "silence": (lambda: written(0 * RAMP), ([0] * 16, 16)),
    "16-bit": (lambda: written(RAMP), (RAMP[:, 0], 16)),
    "16-bit big-endian": (lambda: written(RAMP, endian="BIG"), (RAMP[:, 0], 16)),
    "8 kHz": (lambda: written(RAMP, rate=8_000), (RAMP[:, 0], 16)),
    "8-bit": (lambda: written(RAMP, subtype="PCM_U8"), (RAMP[:, 0], 8)),
    "8-bit AIFF": (lambda: written(RAMP, form="AIFF", subtype="PCM_S8"), (RAMP[:, 0], 8)),
    # 0.5, 1.5 and 2.5 steps of 16 bits: ties go to the even number
    "24-bit": (
        lambda: written(np.int32([[128], [384], [640], [-128]]) * 256, subtype="PCM_24"),
        ([0, 2, 2, 0], 16),
    ),
    "24-bit at its maximum": (
        lambda: written(np.int32([[2**31 - 1]]), subtype="PCM_24"),
        ([32767], 16),
    ),
    "32-bit": (lambda: written(RAMP.astype(np.int32) * 65536, subtype="PCM_32"), (RAMP[:, 0], 16)),
    "float": (lambda: written(RAMP / FULL_SCALE, subtype="FLOAT"), (RAMP[:, 0], 16)),
    "float at +1": (lambda: written(np.float32([[1.0]]), subtype="FLOAT"), ([32767], 16)),
    "float beyond full scale": (
        lambda: written(np.float32([[1.5]]), subtype="FLOAT"),
        "peak 1.5 is beyond full scale",
    ),
    "float with NaN": (
        lambda: written(np.float32([[0.1], [np.nan]]), subtype="FLOAT"),
        "1 samples are NaN or infinite",
    ),
    "float with infinity": (
        lambda: written(np.float32([[0.1], [np.inf]]), subtype="FLOAT"),
        "1 samples are NaN or infinite",
    ),
    # G.711: µ-law 0x80 is the largest positive value, A-law 0xD5 the smallest
    "µ-law": (lambda: g711(7, b"\x80\x00\xff"), ([32124, -32124, 0], 16)),
    "A-law": (lambda: g711(6, b"\xaa\x2a\xd5"), ([32256, -32256, 8], 16)),
    "stereo": (lambda: written(np.hstack([RAMP, -RAMP // 2])), (RAMP[:, 0], 16)),
    "8 channels": (lambda: written(np.tile(RAMP, 8)), (RAMP[:, 0], 16)),
    "9 channels": (lambda: written(np.tile(RAMP, 9)), "9 channels; at most 8"),
    "sizes unknown": (streamed, (RAMP[:, 0], 16)),
    "cut WAV": (lambda: cut(written(RAMP)), "cut short, at least 20 bytes"),
    "cut big-endian WAV": (lambda: cut(written(RAMP, endian="BIG")), "cut short, at least 20"),
    "cut float WAV": (lambda: cut(written(RAMP / FULL_SCALE, subtype="FLOAT")), "cut short"),
    "cut RF64": (lambda: cut(written(RAMP, form="RF64")), "cut short, at least 20 bytes"),
    "cut W64": (lambda: cut(written(RAMP, form="W64")), "cut short, at least 20 bytes"),
    "cut AIFF": (lambda: cut(written(RAMP, form="AIFF")), "cut short, at least 20 bytes"),
    "cut AU": (lambda: cut(written(RAMP, form="AU")), "cut short, at least 20 bytes"),
    "cut CAF": (lambda: cut(written(RAMP, form="CAF")), "cut short"),
    "cut NIST": (lambda: cut(written(RAMP, form="NIST")), "cut short, at least 20 bytes"),
    "cut FLAC": (lambda: cut(written(noise(), form="FLAC"), 9000), "not readable as audio"),
    "cut Ogg": (lambda: cut(written(noise(), form="OGG", subtype="VORBIS"), 900), "cut short"),
    "cut Opus": (lambda: cut(written(noise(), form="OGG", subtype="OPUS"), 900), "cut short"),
    "Ogg cut between two pages": (cut_between_pages, "cut short, at least 1 bytes"),
    "cut MP3": (
        lambda: cut(written(noise(), form="MP3", subtype="MPEG_LAYER_III"), 900),
        "cut short: its header counts 30 frames but 25 are there",
    ),
}


def g711(tag, data):
    """A WAV of one-byte samples: format 6 is A-law, 7 µ-law."""
    form = struct.pack("<HHIIHHH", tag, 1, 8_000, 8_000, 1, 8, 0)
    body = b"fmt " + struct.pack("<I", len(form)) + form
    body += b"data" + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


@pytest.mark.parametrize("kind", BAD_INPUT)
def test_every_kind_of_file_is_read_whole_or_rejected_by_name(kind, tmp_path):
    make, expected = BAD_INPUT[kind]
    path = tmp_path / f"{kind.replace(' ', '_')}.wav"
    path.write_bytes(make())
    if isinstance(expected, str):
        with pytest.raises(AudioError, match=expected) as refusal:
            codec.read(path)
        assert str(path) in str(refusal.value)
    else:
        samples, bit_depth = expected
        made = codec.read(path)
        assert made.pcm[0].tolist() == list(samples)
        assert made.bit_depth == bit_depth
        assert codec.read(path.read_bytes()).pcm.tolist() == made.pcm.tolist()


@pytest.mark.parametrize("where", ["missing.wav", "."])
def test_a_missing_file_and_a_folder_are_rejected_by_name(where, tmp_path):
    with pytest.raises(AudioError, match=r"No such file|Is a directory") as refusal:
        codec.read(tmp_path / where)
    assert str(tmp_path) in str(refusal.value)


def test_channels_come_first_and_the_rate_is_kept():
    made = codec.read(written(np.hstack([RAMP, 0 * RAMP]), rate=44_100))
    assert made.pcm.shape == (2, 16)
    assert made.sampling_rate == 44_100
    assert made.duration_s == pytest.approx(16 / 44_100)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 400))
def test_no_cut_of_a_wav_is_read(n_bytes):
    data = written(noise(200))
    with pytest.raises(AudioError):
        codec.read(data[: len(data) - n_bytes])


def awkward_files():
    folder = REAL / "awkward"
    return sorted(p.relative_to(REAL).as_posix() for p in folder.rglob("*") if p.is_file())


def manifest():
    with (REAL / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["path"]: row for row in rows}


# what the manifest says of shape (n_samples, n_channels), where it does, and values known apart
STATED_SHAPES = {
    "scipy/test-1234Hz-le-1ch-10S-20bit-extra.wav": (10, 1),
    "scipy/test-44100Hz-2ch-32bit-float-le.wav": (441, 2),
    "scipy/test-44100Hz-le-1ch-4bytes.wav": (4410, 1),
    "scipy/test-8000Hz-le-2ch-1byteu.wav": (800, 2),
    "scipy/test-8000Hz-le-4ch-9S-12bit.wav": (9, 4),
    "scipy/test-8000Hz-be-3ch-5S-24bit.wav": (5, 3),
    "scipy/test-8000Hz-le-3ch-5S-24bit-rf64.wav": (5, 3),
}


# that program rejects these: STREAMINFO says 4096; the other is one frame of MPEG-1 layer III
NOT_COUNTED = {"non_subset.flac": 4096, "too-short.mp3": 1152}
# 40 frames of MPEG-1 layer III in a WAV; that program guesses 41 from the number of bytes
GUESSED = {"mp3_audio.wav": 40 * 1152}


@pytest.mark.parametrize("form", ["WAV", "RF64", "W64", "AIFF", "AU", "CAF", "FLAC"])
def test_one_clip_in_any_lossless_container(form):
    clip = codec.read(DATA / "alpha_001.flac")
    buffer = io.BytesIO()
    soundfile.write(buffer, clip.pcm.T, clip.sampling_rate, format=form, subtype="PCM_16")
    again = codec.read(buffer.getvalue())
    assert (again.pcm == clip.pcm).all()
    assert again.sampling_rate == 48_000


@pytest.mark.skipif(not REAL.exists(), reason="an extra on files that lie beside the clone")
class TestAwkwardFiles:
    @pytest.mark.parametrize("name", awkward_files())
    def test_is_read_whole_or_rejected_by_name(self, name, capfd):
        try:
            made = codec.read(REAL / name)
        except AudioError as error:
            made, refusal = None, str(error)
        assert "Traceback" not in capfd.readouterr().err
        if made is None:
            assert name in refusal
            return
        # frames counted when the collection was made, by another program; absent for one file
        counted = manifest()[name]["format_read"]
        promised = int(counted.split("frames hdr ")[1].split()[0]) if counted else None
        known = {**NOT_COUNTED, **GUESSED}
        assert made.pcm.shape[1] == known.get(Path(name).name, promised)

    @pytest.mark.parametrize("name", STATED_SHAPES)
    def test_has_the_stated_shape(self, name):
        assert codec.read(REAL / "awkward" / name).pcm.shape == STATED_SHAPES[name][::-1]

    def test_the_same_audio_in_three_containers(self):
        big, rf64 = (
            codec.read(REAL / "awkward/scipy" / name).pcm
            for name in ("test-8000Hz-be-3ch-5S-24bit.wav", "test-8000Hz-le-3ch-5S-24bit-rf64.wav")
        )
        assert (big == rf64).all()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-32768, 32767), min_size=1, max_size=50), st.integers(1, 8))
def test_flac_gives_back_what_it_was_given(values, n_channels):
    pcm = np.tile(np.array(values, np.int16), (n_channels, 1))
    made = codec.read(codec.encode_flac(pcm, 22_050))
    assert (made.pcm == pcm).all()
    assert made.sampling_rate == 22_050


def test_published_encoding_clips_and_cuts_toward_zero():
    steps = np.array([[0.9, -0.9, 1.5, -1.5, 32767.9, 40_000, -40_000]])
    made = codec.truncate_to_pcm(steps / FULL_SCALE)
    assert made.pcm.tolist() == [[0, 0, 1, -1, 32767, 32767, -32768]]
    assert made.clipped_fraction == 2 / 7


def test_exactly_full_scale_does_not_count_as_clipped():
    made = codec.truncate_to_pcm(np.array([[1.0, -1.0]]))
    assert made.pcm.tolist() == [[32767, -32768]]
    assert made.clipped_fraction == 0


def test_every_16_bit_value_survives_the_way_to_float_and_back():
    pcm = np.arange(-32768, 32768).astype(np.int16)[None]
    assert (codec.truncate_to_pcm(codec.to_float(pcm)).pcm == pcm).all()
    assert (codec.round_to_pcm(codec.to_float(pcm)) == pcm).all()


@pytest.mark.parametrize(("form", "subtype"), [("MP3", "MPEG_LAYER_III"), ("OGG", "OPUS")])
def test_a_lossy_clip_beyond_full_scale_is_turned_down_as_a_whole(form, subtype):
    square = np.sign(np.sin(np.arange(16_000) / 8))[:, None]
    data = written(0.95 * square, form=form, subtype=subtype)
    decoded, _ = soundfile.read(io.BytesIO(data))
    peak = np.abs(decoded).max()
    assert peak > 1.02
    made = codec.read(data)
    assert made.attenuation_db == pytest.approx(20 * np.log10(peak), abs=0.001)
    assert np.abs(made.pcm[0] - decoded / peak * 32767).max() < 0.51
    quiet = codec.read(written(square / 4, form=form, subtype=subtype))
    assert quiet.attenuation_db == 0
