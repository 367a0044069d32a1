"""Are embeddings of a batch faster than one by one, and the same?

    python -m benchmarks.encoders

Clips of 1 to 5 s, cycling, at 16 kHz; each encoder in turns one by one and in batches of eight, on
one thread. Tiny.en with its real weights (extra `[offline]`), WavLM in its real architecture with
random weights, and the classical features, which gain nothing from a batch. Only ratios are worth
comparing between machines.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from otoscope.models.base import AudioInput, ModelError
from otoscope.representations.encoders import AudioEncoder, embeddings, open_encoder

RATE = 16_000
N_CLIPS, N_ROUNDS, LENGTHS_S, BATCH = 24, 3, (1.0, 5.0, 2.0, 3.0), 8
WAVLM = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
TARGET, WITHIN = 1.1, 1e-3
"""Most time of a batch against one by one (timing varies), and most difference of a number."""


def clips() -> list[AudioInput]:
    """Noise of several lengths."""
    rng = np.random.default_rng(0)
    made = []
    for i in range(N_CLIPS):
        n_samples = round(LENGTHS_S[i % len(LENGTHS_S)] * RATE)
        samples = (0.1 * rng.standard_normal(n_samples)).astype(np.float32)
        made.append(AudioInput(f"clip-{i}", samples, RATE, str(i)))
    return made


def wavlm(folder: Path) -> Path:
    """A checkpoint of WavLM with random weights, of the kind that may be padded."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.WavLMConfig(
        feat_extract_norm="layer", do_stable_layer_norm=True, intermediate_size=512, **WAVLM
    )
    transformers.WavLMModel(config).save_pretrained(folder)
    transformers.Wav2Vec2FeatureExtractor(return_attention_mask=True).save_pretrained(folder)
    return folder


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def compared(encoder: AudioEncoder, some: list[AudioInput]) -> tuple[float, float, float]:
    """Seconds one by one and in batches, medians of turns; and the largest difference."""
    found: dict[int, dict[str, np.ndarray]] = {}

    def encode(size: int) -> None:
        encoder.batch_size = size
        found[size] = embeddings(encoder, some)

    times: dict[int, list[float]] = {1: [], BATCH: []}
    embeddings(encoder, some[:1])
    for _ in range(N_ROUNDS):
        for size, taken in times.items():
            taken.append(seconds(lambda size=size: encode(size)))
    apart = max(
        float(np.abs(found[1][layer] - found[BATCH][layer]).max()) for layer in encoder.layers
    )
    return statistics.median(times[1]), statistics.median(times[BATCH]), apart


def main() -> None:
    """Prints a line for each encoder."""
    import torch

    torch.set_num_threads(1)
    some = clips()
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for spec in ("whisper-tiny.en", f"wavlm-base-plus:{wavlm(Path(folder))}", "mfcc"):
            name = spec.partition(":")[0]
            try:
                encoder = open_encoder(spec)
            except ModelError as error:
                print(f"{name}: left out, {error}")
                continue
            alone, batched, apart = compared(encoder, some)
            print(
                f"{name}: {N_CLIPS} clips one by one {alone:.2f} s, in batches of {BATCH} "
                f"{batched:.2f} s: {batched / alone:.2f} times (target at most {TARGET}); numbers "
                f"differ by at most {apart:.1e} (target {WITHIN})"
            )


if __name__ == "__main__":
    main()
