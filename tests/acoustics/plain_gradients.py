"""The published gradients in the plainest form: one clip, one segment, one channel at a time.

Written from the facts in the spec and from nothing in `otoscope.acoustics.gradients`, so that the
two can disagree. Slow on purpose only in being plain; it is the reference of the tests and of
`benchmarks/gradients.py`.

Samples are int16 `(n_channels, n_samples)` in and out; a span is `(start, end)` in samples.
"""

import hashlib
import math
import warnings
from functools import lru_cache

import librosa
import numpy as np
from scipy import signal

LEVELS = {  # category -> tier -> strength
    "volume": {"low": 6.0, "mid": 12.0, "high": 18.0},
    "speaking_speed": {"low": 0.20, "mid": 0.30, "high": 0.40},
    "voice_pitch": {"low": 1.0, "mid": 2.0, "high": 3.0},
    "background_noise": {"low": 0.03, "mid": 0.07, "high": 0.12},
    "audio_distortion": {"low": 18000.0, "mid": 12000.0, "high": 6000.0},
    "audio_roughness": {"low": 8.0, "mid": 6.0, "high": 4.0},
    "voice_clarity": {"low": 5000.0, "mid": 2500.0, "high": 1200.0},
    "voice_vibration": {"low": 0.6, "mid": 0.75, "high": 0.9},
    "echo": {"low": (0.55, 0.28), "mid": (0.75, 0.40), "high": (0.90, 0.52)},
}


MIRROR = {
    "linear": "linear",
    "quad_first_flat": "quad_last_flat",
    "quad_last_flat": "quad_first_flat",
    "jump": "jump",
}
"""By curve, its time reverse."""


def curve_value(curve, t):
    return {
        "linear": lambda: t,
        "quad_first_flat": lambda: t * t,
        "quad_last_flat": lambda: 1 - (1 - t) ** 2,
        "jump": lambda: 0.0 if t < 0.5 else 1.0,
    }[curve]()


def up_ends(category, tier, sampling_rate, bit_depth=16):
    """Parameter at the start and at the end of an `up` clip."""
    x = LEVELS[category][tier]
    return {
        "volume": lambda: (-x, x),
        "speaking_speed": lambda: (1 - x, 1 + x),
        "voice_pitch": lambda: (-x, x),
        "background_noise": lambda: (0.0, x),
        "audio_distortion": lambda: (float(sampling_rate), x),
        "audio_roughness": lambda: (float(bit_depth), x),
        "voice_clarity": lambda: (x, sampling_rate / 2),
        "voice_vibration": lambda: (0.0, x),
        "echo": lambda: (0.0, x[1]),
    }[category]()


def segment_values(start, end, n_segments, curve):
    values = []
    for i in range(n_segments):
        t = i / (n_segments - 1) if n_segments > 1 else 1.0
        values.append(start + (end - start) * curve_value(curve, t))
    return values


def render(pcm, sampling_rate, span, category, tier, curve, direction, clip_id, bit_depth=16):
    """int16 samples `(n_channels, n_samples)` and the share that was clipped."""
    begin, end = span
    n = pcm.shape[1]
    begin, end = min(max(begin, 0), n), min(max(end, 0), n)
    if end <= begin:
        begin, end = 0, n
    first, last = up_ends(category, tier, sampling_rate, bit_depth)
    if direction == "down":
        first, last = last, first
    if category == "background_noise":
        out = background_noise(pcm, sampling_rate, begin, end, first, last, curve, clip_id)
    else:
        channels = []
        for channel in pcm:
            x = (
                channel.astype(np.float64) / 32768
                if category == "volume"
                else (channel.astype(np.float32) / np.float32(32768))
            )
            channels.append(
                globals()[category](x, sampling_rate, begin, end, first, last, curve, tier)
            )
        longest = max(len(c) for c in channels)
        out = np.array([np.pad(c, (0, longest - len(c))) for c in channels])
    clipped = np.mean((out < -1) | (out > 1))
    return np.clip(out * 32768, -32768, 32767).astype(np.int16), float(clipped)


def step_of(sampling_rate):
    return max(1, round(0.05 * sampling_rate))


def fixed_segments(length, step):
    n = max(1, math.ceil(length / step))
    return [(i * step, min((i + 1) * step, length)) for i in range(n)]


def crossfade_append(accumulated, segment, sampling_rate):
    f = min(round(0.005 * sampling_rate), len(accumulated), len(segment))
    if f == 0:
        return np.concatenate([accumulated, segment])
    fade_out = np.linspace(1, 0, f, dtype=np.float32)
    blended = accumulated[-f:] * fade_out + segment[:f] * (1 - fade_out)
    return np.concatenate([accumulated[:-f], blended, segment[f:]])


def rms(x):
    return math.sqrt(np.mean(x.astype(np.float64) ** 2)) if len(x) else 0.0


def match_rms(y, reference):
    wanted, got = rms(reference), rms(y)
    return y if wanted == 0 or got == 0 else (y * np.float32(wanted / got)).astype(np.float32)


def fft_sizes(n):
    n_fft, hop = 512, 128
    if n < n_fft:
        n_fft = max(32, n)
        if hop >= n_fft:
            hop = n_fft // 4
    return {"n_fft": n_fft, "hop_length": hop}


def quiet(function, *args, **kwargs):
    """librosa warns when a clip is shorter than a window; the published code lets it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def volume(x, sampling_rate, begin, end, first, last, curve, tier):
    step = step_of(sampling_rate)
    segments = fixed_segments(end - begin, step)
    out = x.copy()
    out[:begin] *= 10 ** (first / 20)
    out[end:] *= 10 ** (last / 20)
    for (a, b), db in zip(segments, segment_values(first, last, len(segments), curve), strict=True):
        out[begin + a : begin + b] *= 10 ** (db / 20)
    return out


def speaking_speed(x, sampling_rate, begin, end, first, last, curve, tier):
    step = step_of(sampling_rate)
    speech = x[begin:end]
    length = len(speech)
    n = max(1, math.ceil(length / step))
    made = np.zeros(0, np.float32)
    for i, rate in enumerate(segment_values(first, last, n, curve)):
        a, b = round(i * length / n), round((i + 1) * length / n)
        c0, c1 = max(0, a - step), min(length, b + step)
        context = speech[c0:c1]
        stretched = quiet(
            librosa.effects.time_stretch, context, rate=rate, **fft_sizes(len(context))
        )
        k0 = min(max(int((a - c0) / rate), 0), len(stretched))
        k1 = min(max(int((b - c0) / rate), 0), len(stretched))
        if k1 <= k0:
            k0 = min(k0, len(stretched) - 1)
            k1 = k0 + 1
        made = crossfade_append(made, stretched[k0:k1], sampling_rate)
    return np.concatenate([x[:begin], made, x[end:]])


def in_contexts(x, sampling_rate, begin, end, first, last, curve, change, edges=True):
    """Change each segment inside its context, keep the segment, join with crossfades."""
    step = step_of(sampling_rate)
    speech = x[begin:end]
    segments = fixed_segments(len(speech), step)
    values = segment_values(first, last, len(segments), curve)
    made = np.zeros(0, np.float32)
    for (a, b), value in zip(segments, values, strict=True):
        c0, c1 = max(0, a - step), min(len(speech), b + step)
        made = crossfade_append(made, change(speech[c0:c1], value)[a - c0 : b - c0], sampling_rate)
    head, tail = x[:begin], x[end:]
    if edges:
        head = change(head, first) if len(head) else head
        tail = change(tail, last) if len(tail) else tail
    return np.concatenate([head, made, tail])


def voice_pitch(x, sampling_rate, begin, end, first, last, curve, tier):
    def change(context, steps):
        return quiet(
            librosa.effects.pitch_shift,
            context,
            sr=sampling_rate,
            n_steps=steps,
            bins_per_octave=12,
            res_type="soxr_hq",
            scale=False,
            **fft_sizes(len(context)),
        )

    return in_contexts(x, sampling_rate, begin, end, first, last, curve, change, edges=False)


def background_noise(pcm, sampling_rate, begin, end, first, last, curve, clip_id):
    x = (pcm.astype(np.float32) / np.float32(32768)).T
    seed = int.from_bytes(hashlib.sha256(f"42:{clip_id}".encode("ascii")).digest()[:8], "big")
    noise = np.random.default_rng(seed).standard_normal(x.shape).astype(np.float32)
    step = step_of(sampling_rate)
    segments = fixed_segments(end - begin, step)
    values = segment_values(first, last, len(segments), curve)
    envelope = np.full(len(x), last, np.float32)
    envelope[:begin] = first
    for (a, b), value in zip(segments, values, strict=True):
        envelope[begin + a : begin + b] = value
    out = np.empty_like(x)
    for c in range(x.shape[1]):
        own = max(np.float32(rms(noise[:, c])), np.float32(1e-6))
        level = max(np.float32(rms(x[begin:end, c])), np.float32(1e-6))
        out[:, c] = x[:, c] + noise[:, c] / own * level * envelope
    return out.T


def audio_distortion(x, sampling_rate, begin, end, first, last, curve, tier):
    def change(context, value):
        effective = max(1000, min(sampling_rate, round(value)))
        if effective == sampling_rate:
            return context.copy()
        hold = max(1, round(sampling_rate / effective))
        kept = context[::hold]
        held = np.repeat(kept, hold)[: len(context)]
        return match_rms(held, context)

    return in_contexts(x, sampling_rate, begin, end, first, last, curve, change)


def audio_roughness(x, sampling_rate, begin, end, first, last, curve, tier):
    def change(context, value):
        q = 2 ** (max(2, round(value)) - 1) - 1
        return match_rms((np.round(np.clip(context, -1, 1) * q) / q).astype(np.float32), context)

    return in_contexts(x, sampling_rate, begin, end, first, last, curve, change)


def voice_clarity(x, sampling_rate, begin, end, first, last, curve, tier):
    def change(context, cutoff):
        sizes = fft_sizes(len(context))
        spectrum = quiet(
            librosa.stft, context, win_length=sizes["n_fft"], window="hann", center=True, **sizes
        )
        frequencies = librosa.fft_frequencies(sr=sampling_rate, n_fft=sizes["n_fft"])
        low, high = max(0.0, cutoff - 400), cutoff + 400
        mask = []
        for f in frequencies:
            if f <= low:
                mask.append(1.0)
            elif f >= high:
                mask.append(0.0)
            else:
                mask.append(0.5 * (1 + math.cos(math.pi * (f - low) / (high - low))))
        masked = spectrum * np.array(mask, np.float32)[:, None]
        filtered = librosa.istft(
            masked,
            hop_length=sizes["hop_length"],
            win_length=sizes["n_fft"],
            n_fft=sizes["n_fft"],
            window="hann",
            center=True,
            length=len(context),
        )
        return match_rms(filtered.astype(np.float32), context)

    return in_contexts(x, sampling_rate, begin, end, first, last, curve, change)


def sample_values(n, begin, end, first, last, curve):
    values = np.full(n, last, np.float64)
    values[:begin] = first
    length = end - begin
    if length > 1:
        t = np.linspace(0, 1, length)
        progress = (t >= 0.5).astype(float) if curve == "jump" else curve_value(curve, t)
        values[begin:end] = first + (last - first) * progress
    return values


def voice_vibration(x, sampling_rate, begin, end, first, last, curve, tier):
    depth = sample_values(len(x), begin, end, first, last, curve)
    fast = 20.0
    rate = sample_values(len(x), begin, end, *((0, fast) if first < last else (fast, 0)), curve)
    phase = np.concatenate([[0.0], np.cumsum(2 * np.pi * rate / sampling_rate)[:-1]])
    gain = 1 - depth * 0.5 * (1 + np.sin(phase))
    return x * gain.astype(np.float32)


@lru_cache(maxsize=16)
def echo_response(sampling_rate, room):
    n = round(1.5 * sampling_rate)
    mixed = np.zeros(n, np.float64)
    for ms, g in zip((29.7, 37.1, 41.1, 43.7), (0.805, 0.827, 0.783, 0.764), strict=True):
        delay, gain = max(1, round(ms * sampling_rate / 1000)), np.float32(g * room)
        y = np.zeros(n, np.float32)
        for i in range(n):
            y[i] = (1.0 if i == 0 else 0.0) + (gain * y[i - delay] if i >= delay else 0)
        mixed += y
    s = (mixed / 4).astype(np.float32)
    a = np.float32(0.7 * room)
    for ms in (5.0, 1.7):
        delay = max(1, round(ms * sampling_rate / 1000))
        v, y = np.zeros(n, np.float32), np.zeros(n, np.float32)
        for i in range(n):
            y[i] = -a * s[i] + (v[i - delay] if i >= delay else 0)
            v[i] = s[i] + a * y[i]
        s = y
    return s


def echo(x, sampling_rate, begin, end, first, last, curve, tier):
    room = LEVELS["echo"][tier][0]
    wet = signal.fftconvolve(x.astype(np.float64), echo_response(sampling_rate, room))[: len(x)]
    wet = match_rms(wet.astype(np.float32), x)
    mix = sample_values(len(x), begin, end, first, last, curve).astype(np.float32)
    return (1 - mix) * x + mix * wet
