"""Files whose header and content disagree: read as a whole, or rejected with the reason.

All are made here byte by byte, from sound whose length is known. Those that lie beside a clone are
read as well.
"""

import csv
import io
import os
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile

from otoscope.acoustics import codec
from otoscope.acoustics.codec import AudioError

RATE, N = 16_000, 16_000
NOISE = (3000 * np.random.default_rng(0).standard_normal(N)).astype(np.int16)
CASES = Path(__file__).parents[2].parent / "shared" / "cases"
LITTLE, BIG = NOISE.astype("<i2").tobytes(), NOISE.astype(">i2").tobytes()
SIZE = len(LITTLE)

ID3V2 = b"ID3\3\0\0" + bytes([0, 0, 1, 44]) + b"\0" * (128 + 44)
ID3V1 = b"TAG" + b"title".ljust(125, b"\0")
APE = b"APETAGEX" + struct.pack("<IIII", 2000, 32, 0, 0x8000_0000) + bytes(8)
JUNK = bytes(range(1, 200)) * 9


def chunk(name, content, *, size=None, pad=True, order="<"):
    size = len(content) if size is None else size
    return name + struct.pack(order + "I", size) + content + b"\0" * (pad and len(content) % 2)


def fmt(tag=1, bits=16, n_channels=1, more=b""):
    block = n_channels * bits // 8
    return chunk(
        b"fmt ", struct.pack("<HHIIHH", tag, n_channels, RATE, RATE * block, block, bits) + more
    )


def wav(*chunks, size=None):
    body = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body) if size is None else size) + body


def piped(size, riff=None, *, audio=LITTLE):
    return wav(
        fmt(), chunk(b"data", audio, size=size, pad=False), size=size if riff is None else riff
    )


EXTENSIBLE = (
    struct.pack("<HHI", 22, 16, 4)
    + struct.pack("<H", 1)
    + bytes.fromhex("000000001000800000aa00389b71")
)


def aiff(n_samples=N, sound_size=None, audio=BIG, extra=b""):
    rate = bytes.fromhex("400cfa00000000000000")  # 16,000 as an 80-bit float
    common = chunk(b"COMM", struct.pack(">HIH", 1, n_samples, 16) + rate, order=">")
    sound = chunk(b"SSND", bytes(8) + audio, size=sound_size, pad=False, order=">")
    body = b"AIFF" + common + extra + sound
    return b"FORM" + struct.pack(">I", len(body)) + body


def au(size, audio=BIG):
    return b".snd" + struct.pack(">IIIII", 24, size, 3, RATE, 1) + audio


def rf64(size_32, size_64):
    sizes = struct.pack("<QQQI", 0, size_64, N, 0)
    body = b"WAVE" + chunk(b"ds64", sizes) + fmt() + chunk(b"data", LITTLE, size=size_32)
    return b"RF64" + b"\xff" * 4 + body


def written(form, subtype=None, samples=NOISE, rate=RATE):
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=form, subtype=subtype)
    return buffer.getvalue()


def w64(size=None):
    data = bytearray(written("W64", "PCM_16"))
    at = data.find(b"data") + 16
    if size is not None:
        data[at : at + 8] = struct.pack("<Q", size)
    return bytes(data)


LEVELS = (  # a chunk of Wave64: its name, its size with this header, content
    b"levl" + bytes.fromhex("f3acd3118cd100c04f8edb8a") + struct.pack("<Q", 40) + bytes(range(16))
)
MPEG_FMT = chunk(  # MPEGLAYER3WAVEFORMAT
    b"fmt ", struct.pack("<HHIIHH6H", 0x55, 1, RATE, 4000, 1, 0, 12, 1, 2, 0, 144, 1)
)


def changed(data):
    """The same bytes but for one in the middle."""
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :]


def caf(size):
    data = bytearray(written("CAF", "PCM_16"))
    at = data.find(b"data") + 4
    data[at : at + 8] = struct.pack(">q", size)
    return bytes(data)


def flac(total=None, samples=NOISE, subtype="PCM_16"):
    """A FLAC file with another number of samples in its STREAMINFO."""
    data = bytearray(written("FLAC", subtype, samples))
    if total is not None:
        fields = int.from_bytes(data[18:26], "big") >> 36 << 36 | total
        data[18:26] = fields.to_bytes(8, "big")
    return bytes(data)


def mp3(n_samples=N, mode="VARIABLE"):
    """An MP3 of libsndfile: first a frame with a Xing or Info header, then the audio."""
    buffer = io.BytesIO()
    with soundfile.SoundFile(
        buffer, "w", RATE, 1, format="MP3", bitrate_mode=mode, compression_level=0.5
    ) as file:
        file.write(NOISE[:n_samples])
    return buffer.getvalue()


def frames(data):
    """The frames of an MP3 at 16 kHz: 144 bytes for every 16 kbit/s, 576 samples each."""
    kbit_s, at = [0, *range(8, 65, 8), *range(80, 161, 16)], 0
    while at < len(data):
        n_bytes = 72 * 1000 * kbit_s[data[at + 2] >> 4] // RATE + (data[at + 2] >> 1 & 1)
        yield data[at : at + n_bytes]
        at += n_bytes


def counting(data, change):
    """The MP3 with another number of frames in its header."""
    at = max(data.find(b"Xing"), data.find(b"Info")) + 8
    n_frames = int.from_bytes(data[at : at + 4], "big")
    return data[:at] + change(n_frames).to_bytes(4, "big") + data[at + 4 :]


def no_header(data):
    return b"".join(list(frames(data))[1:])


def n_frames():
    return len(list(frames(mp3()))) - 1


def vbri(count):
    """An MP3 whose first frame has a VBRI header, as encoders of FhG write it."""
    first, *audio = frames(mp3())
    head = struct.pack(">4sHHHII", b"VBRI", 1, 0, 0, 0, count)
    return (first[:36].ljust(36, b"\0")[:4] + bytes(32) + head).ljust(len(first), b"\0") + b"".join(
        audio
    )


def layer_2(n):
    """Frames of silence of MPEG-1 layer II: 32 kbit/s at 48 kHz, 96 bytes, 1,152 samples."""
    return (bytes([0xFF, 0xFD, 0x14, 0xC0]) + bytes(92)) * n


def free_format():
    return (bytes([0xFF, 0xFB, 0x04, 0xC0]) + bytes(96)) * 9


def ogg(subtype="VORBIS", samples=NOISE, rate=RATE):
    return written("OGG", subtype, samples, rate)


def pages(data):
    starts, at = [], 0
    while at < len(data):
        starts.append(at)
        body = at + 27 + data[at + 26]
        at = body + sum(data[at + 27 : body])
    return [data[a:b] for a, b in pairwise([*starts, len(data)])]


def without_page(data, index):
    return b"".join(page for i, page in enumerate(pages(data)) if i != index)


def swapped_rate():
    return ogg() + ogg(rate=8_000)


LONG = np.tile(NOISE, 9)
ODD = b"INFOIART\5\0\0\0noise"  # 17 bytes

# what comes in, and how many samples come out, or the reason
FILES = {
    # sizes that a pipe left open
    "WAV of size 0": (lambda: piped(0), N),
    "WAV of size 0 with LIST before": (
        lambda: wav(fmt(), chunk(b"LIST", ODD), chunk(b"data", LITTLE, size=0), size=0),
        N,
    ),
    "WAV of size FFFFFFFF": (lambda: piped(0xFFFF_FFFF), N),
    "WAV of size 7FFFFFFF": (lambda: piped(0x7FFF_FFFF), N),
    "WAV of size 7FFFFFFF less its header": (lambda: piped(0x7FFF_FFDB, 0x7FFF_FFFF), N),
    "WAV of size 7FFFF000": (lambda: piped(0x7FFF_F000, 0x7FFF_F024), N),
    "WAV of size 80000000": (lambda: piped(0x8000_0000), N),
    "WAV of open size, within a sample": (
        lambda: piped(0xFFFF_FFFF, audio=LITTLE[:-1]),
        "ends after 1 of the 2 bytes of a sample",
    ),
    "24-bit WAV of open size, padded": (
        lambda: wav(fmt(bits=24), chunk(b"data", b"abc" * 7, size=0xFFFF_FFFF)),
        7,
    ),
    "extensible WAV of open size": (
        lambda: wav(fmt(0xFFFE, more=EXTENSIBLE), chunk(b"data", LITTLE, size=0xFFFF_FFFF)),
        N,
    ),
    "an empty WAV with LIST behind": (
        lambda: wav(fmt(), chunk(b"data", b""), chunk(b"LIST", ODD)),
        "holds no samples",
    ),
    "RF64 of open size": (lambda: rf64(0xFFFF_FFFF, 2**64 - 1), N),
    "RF64 of known size": (lambda: rf64(0xFFFF_FFFF, SIZE), N),
    "W64 of open size": (lambda: w64(2**63 - 1), N),
    "CAF of open size": (lambda: caf(-1), N),
    "AIFF of open size": (lambda: aiff(0x3F80_0000, 0x7F00_0008), N),
    "AIFF of size 0": (lambda: aiff(0, 0), N),
    "AU of open size": (lambda: au(0xFFFF_FFFF), N),
    "AU of size 0": (lambda: au(0), N),
    "FLAC of open size": (lambda: flac(0), N),
    "FLAC of open size in 24 bits": (lambda: flac(0, subtype="PCM_24"), N),
    "FLAC of open size with tags": (lambda: ID3V2 + flac(0) + ID3V1, N),
    "FLAC of open size, cut": (lambda: flac(0)[:-100], "cut short"),
    # headers that count too little or too much
    "WAV that counts half": (lambda: piped(SIZE // 2), "bytes after its audio"),
    "WAV that counts half of a sample": (
        lambda: wav(fmt(), chunk(b"data", LITTLE[:-1])),
        "ends after 1 of the 2 bytes",
    ),
    "AIFF whose COMM counts half": (lambda: aiff(N // 2), N),
    "AIFF whose COMM counts double": (lambda: aiff(2 * N), f"at least {SIZE} bytes"),
    "AU that counts half": (lambda: au(SIZE // 2), f"{SIZE // 2} bytes after the audio"),
    "CAF that counts half": (lambda: caf(SIZE // 2 + 4), f"{SIZE // 2} bytes after its audio"),
    "W64 that counts half": (lambda: w64(SIZE // 2 + 24), "bytes after its audio"),
    "AU that counts double": (lambda: au(2 * SIZE), f"at least {SIZE} bytes"),
    "CAF that counts double": (lambda: caf(2 * SIZE + 4), f"at least {SIZE} bytes"),
    "W64 that counts double": (lambda: w64(2 * SIZE + 24), f"at least {SIZE} bytes"),
    "FLAC that counts half": (
        lambda: flac(N // 2),
        "counts 8000 samples but its frames hold 16000",
    ),
    "FLAC that counts double": (lambda: flac(2 * N), "not readable as audio|promises 32000"),
    # two files, or two parts, in one
    "two FLAC": (lambda: flac() + flac(), "another file of the same kind begins at byte"),
    "two FLAC, tagged": (lambda: flac() + ID3V2 + flac(), "another file of the same kind"),
    "two MP3": (lambda: mp3() + mp3(), "another file of the same kind begins at byte"),
    "two MP3, tagged": (lambda: mp3() + ID3V1 + ID3V2 + mp3(), "another file of the same kind"),
    "two MP3 without headers": (lambda: no_header(mp3()) * 2, lambda: 2 * n_frames() * 576),
    "two Vorbis": (lambda: ogg() + ogg(), 2 * N),
    "two Opus": (lambda: ogg("OPUS") + ogg("OPUS", NOISE[: N // 2]), 3 * N // 2),
    "two Vorbis of two rates": (swapped_rate, "differ in rate or channels"),
    "two CAF": (lambda: caf(SIZE + 4) * 2, "bytes after its audio"),
    "two W64": (lambda: w64() * 2, "bytes after its audio"),
    "two WAV": (lambda: piped(SIZE, SIZE + 36) * 2, "bytes after its audio"),
    "two AIFF": (lambda: aiff() * 2, "bytes after its audio"),
    "FLAC with another behind it": (lambda: flac() + JUNK, "something is appended"),
    "AIFF with another behind it": (lambda: aiff() + JUNK, f"{len(JUNK)} bytes after its audio"),
    "CAF with another behind it": (lambda: caf(SIZE + 4) + JUNK, f"{len(JUNK)} bytes after"),
    "AIFF with a chunk behind it": (lambda: aiff() + chunk(b"NAME", b"name", order=">"), N),
    "W64 with a chunk behind it": (lambda: w64() + LEVELS, N),
    "MP3 in WAV": (lambda: wav(MPEG_FMT, chunk(b"data", mp3())), N),
    "two MP3 in WAV": (lambda: wav(MPEG_FMT, chunk(b"data", mp3() * 2)), "another file of the"),
    # formats whose length nothing here checks, and what is no audio
    "VOC": (lambda: written("VOC", "PCM_16"), "none of WAV, FLAC"),
    "cut IRCAM": (lambda: written("IRCAM", "PCM_16")[: -SIZE // 2], "none of WAV, FLAC"),
    "cut 8SVX": (lambda: written("SVX", "PCM_16")[: -SIZE // 2], "none of WAV, FLAC"),
    "MP4": (lambda: b"\0\0\0 ftypM4A " + JUNK, "it is MP4, M4A or MOV; convert it"),
    "pointer of Git LFS": (lambda: b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
    "web page": (lambda: b"<!DOCTYPE html><title>404</title>", "a web page"),
    "two data chunks": (
        lambda: wav(fmt(), chunk(b"data", LITTLE[:100]), chunk(b"data", LITTLE[100:])),
        "2 'data' chunks, where a WAV file has one",
    ),
    "no data chunk": (lambda: wav(fmt(), chunk(b"LIST", ODD)), "without its 'data' chunk"),
    # frames of MP3
    "MP3 without Xing, VBR": (lambda: no_header(mp3()), lambda: n_frames() * 576),
    "MP3 without Xing, CBR": (lambda: no_header(mp3(mode="CONSTANT")), lambda: n_frames() * 576),
    "MP3 whose Xing counts half": (lambda: counting(mp3(), lambda n: n // 2), "header counts"),
    "MP3 whose Xing counts double": (lambda: counting(mp3(), lambda n: 2 * n), "cut short"),
    "MP3 whose Xing counts itself": (
        lambda: counting(mp3(), lambda n: n + 1),
        lambda: n_frames() * 576,
    ),
    "MP3 whose Xing counts nothing": (
        lambda: counting(mp3(), lambda n: 0),
        lambda: n_frames() * 576,
    ),
    "MP3 with VBRI": (lambda: vbri(n_frames()), lambda: n_frames() * 576),
    "MP3 whose VBRI counts half": (lambda: vbri(n_frames() // 2), "header counts"),
    "MP3 with a gap": (lambda: mp3()[:1500] + bytes(4000) + mp3()[1500:], "neither audio"),
    "MP3 with zeros between frames": (
        lambda: b"".join([*list(frames(mp3()))[:9], bytes(4000), *list(frames(mp3()))[9:]]),
        "neither audio|header counts",
    ),
    "MP3 with another behind it": (lambda: mp3() + JUNK, f"{len(JUNK)} bytes after the frame"),
    "MP3 with tags around it": (lambda: ID3V2 + mp3() + APE + ID3V1, N),
    "MP3 with zeros behind it": (lambda: mp3() + bytes(999), N),
    "MP3 cut within a frame": (lambda: no_header(mp3())[:-10], "at least 10 bytes"),
    "MPEG layer II": (lambda: layer_2(7), 7 * 1152),
    "MPEG layer II, cut": (lambda: layer_2(7)[:-50], "at least 50 bytes"),
    "MPEG of free format": (free_format, "of free format"),
    # pages of Ogg
    "Vorbis with a changed byte": (lambda: changed(ogg(samples=LONG)), "has another checksum"),
    "Opus with a changed byte": (lambda: changed(ogg("OPUS", LONG)), "has another checksum"),
    "Ogg without a page": (lambda: without_page(ogg(samples=LONG), 3), "pages are missing"),
    "Ogg without its first page": (lambda: without_page(ogg(), 0), "not readable as audio|damaged"),
    "Ogg without its last page": (lambda: without_page(ogg(samples=LONG), -1 + 4), "missing"),
    "Ogg with a gap": (
        lambda: b"".join([*pages(ogg(samples=LONG))[:3], bytes(99), *pages(ogg(samples=LONG))[3:]]),
        "no page begins at byte",
    ),
    "Ogg with another behind it": (lambda: ogg() + JUNK, f"{len(JUNK)} bytes after its last page"),
    "Ogg with a tag behind it": (lambda: ogg() + ID3V1, N),
    # tags before, padding that is missing
    "WAV behind ID3": (lambda: ID3V2 + piped(SIZE, SIZE + 36), N),
    "WAV behind two ID3": (lambda: ID3V2 * 2 + piped(SIZE, SIZE + 36), N),
    "AIFF behind ID3": (lambda: ID3V2 + aiff(), N),
    "Ogg behind ID3": (lambda: ID3V2 + ogg(), N),
    "WAV with tags behind it": (lambda: piped(SIZE, SIZE + 36) + ID3V1, N),
    "WAV with zeros behind it": (lambda: piped(SIZE, SIZE + 36) + bytes(512), N),
    "WAV with a cut LIST behind it": (
        lambda: wav(fmt(), chunk(b"data", LITTLE), chunk(b"LIST", ODD, size=99)),
        N,
    ),
    "odd LIST": (lambda: wav(fmt(), chunk(b"LIST", ODD), chunk(b"data", LITTLE)), N),
    "odd LIST without padding": (
        lambda: wav(fmt(), chunk(b"LIST", ODD, pad=False), chunk(b"data", LITTLE)),
        N,
    ),
    "odd data without padding": (
        lambda: wav(fmt(bits=8), chunk(b"data", b"abc", pad=False), chunk(b"LIST", ODD)),
        3,
    ),
    "odd chunk of AIFF without padding": (
        lambda: aiff(extra=chunk(b"NAME", b"odd", pad=False, order=">")),
        N,
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_is_read_as_a_whole_or_rejected(kind, tmp_path):
    make, right = FILES[kind]
    right = right() if callable(right) else right
    path = tmp_path / "clip.audio"
    path.write_bytes(make())
    if isinstance(right, str):
        with pytest.raises(AudioError, match=right) as error:
            codec.read(path)
        assert str(error.value).startswith(str(path))
        assert "\n" not in str(error.value)
    else:
        recording = codec.read(path)
        assert recording.pcm.shape == (1, right)
        length_s = codec.duration_s(path.read_bytes())
        assert length_s == pytest.approx(right / recording.sampling_rate, abs=0.002)


EXACT = [
    name for name, (_, right) in FILES.items()
    if right == N and not name.startswith(("MP3", "Ogg", "FLAC of open size in 24"))
]  # fmt: skip


@pytest.mark.parametrize("kind", EXACT)
def test_its_samples_are_those_that_were_written(kind):
    assert (codec.read(FILES[kind][0]()).pcm[0] == NOISE).all()


def test_a_chain_has_the_samples_of_its_links_one_after_the_other():
    first, second = ogg(), ogg(samples=NOISE[::-1])
    chain = codec.read(first + second).pcm
    assert (chain == np.hstack([codec.read(first).pcm, codec.read(second).pcm])).all()


def test_frames_counted_one_by_one_are_decoded_from_the_first_on():
    # at a constant bitrate libsndfile's guess of the length is right, so it can be compared
    data = no_header(mp3(mode="CONSTANT"))
    alone, _ = soundfile.read(io.BytesIO(data), dtype="float64")
    counted = codec.decode(data).samples[0]
    assert abs(counted.size - alone.size) < 576
    n = min(alone.size, counted.size)
    assert counted[:n] == pytest.approx(alone[:n], abs=1e-6)


@pytest.mark.parametrize("subtype", ["GSM610", "IMA_ADPCM", "MS_ADPCM", "G721_32", "NMS_ADPCM_32"])
def test_telephone_codecs_are_read(subtype):
    data = written("WAV", subtype, rate=8_000)
    n = codec.read(data).pcm.shape[1]
    assert 0 <= n - N < 505  # whole blocks
    with pytest.raises(AudioError, match="cut short"):
        codec.read(data[:-200])


def test_a_device_and_a_pipe_are_one_line(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for where in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(AudioError, match=f"{where}: a device or pipe"):
            codec.read(where)


def cases():
    if not (CASES / "audio.tsv").exists():
        return []
    with (CASES / "audio.tsv").open(encoding="utf-8", newline="") as file:
        return [row["file"] for row in csv.DictReader(file, delimiter="\t")]


# samples at 16 kHz; None where the file is rejected
RIGHT = {
    "flac_half_total.flac": None, "flac_two_joined.flac": None, "mp3_two_joined.mp3": None,
    "mp3_joined_tagged.mp3": None, "mp3_noxing.mp3": 33_408, "mp3_xing_half.mp3": None,
    "mp3_gap4k.mp3": None, "opus_two_joined.opus": 80_000, "wav_two_data.wav": None,
}  # fmt: skip


@pytest.mark.skipif(not cases(), reason="files that lie beside the clone")
@pytest.mark.parametrize("name", cases())
def test_files_of_users(name):
    right = RIGHT.get(name, 32_000)
    if right is None:
        with pytest.raises(AudioError, match=r"header counts|another file|neither|2 'data'"):
            codec.read(CASES / "audio" / name)
    else:
        recording = codec.read(CASES / "audio" / name)
        assert recording.pcm.shape == (1, right)
        assert (recording.attenuation_db > 0) == name.startswith("loud")
