"""What a run costs beside a bare loop that asks the same model the same questions.

    python -m benchmarks.run_overhead [--profile]

Both read a folder of Parquet, decode, resample to the model's rate, call the processor and generate
at most 10 tokens, 8 questions at once, with a tiny Qwen2-Audio of random weights. The bare loop
keeps its answers in a list. The run plans, hashes every clip, checks the audio input, notes
every call, appends every answer durably, keeps the answer cache and shows its progress. Loading of
the model is left out; loading of the dataset is not.
"""

import argparse
import contextlib
import cProfile
import io
import logging
import os
import pstats
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import soundfile
import soxr

from otoscope.acoustics.codec import encode_flac, round_to_pcm
from otoscope.audits.answer_cache import AnswerCache
from otoscope.audits.perception import run
from otoscope.audits.runs import load_run
from otoscope.cli.run.session import request_bar
from otoscope.models.opening import open_model
from otoscope.prompts import prompt_text
from tests.acoustics.synthetic_speech import speech_like
from tests.audits.tiny_dataset import write

SAMPLING_RATE, MODEL_RATE = 48_000, 16_000
N_CLIPS, LENGTH_S, BATCH_SIZE, MAX_NEW_TOKENS, N_TURNS = 500, 2.0, 8, 10, 5
TARGET = 1.05


def write_dataset(folder: Path) -> Path:
    """500 clips at 48 kHz in 16-bit FLAC, each another stretch of one speech-like minute."""
    speech = speech_like(SAMPLING_RATE, 60.0)
    rng = np.random.default_rng(0)
    n = round(LENGTH_S * SAMPLING_RATE)
    rows = []
    for i in range(N_CLIPS):
        begin = rng.integers(0, speech.size - n)
        pcm = round_to_pcm(np.clip(speech[None, begin : begin + n], -1, 1))
        rows.append(
            {"id": f"clip{i}", "audio": encode_flac(pcm, SAMPLING_RATE), "category": "volume",
             "label": ("decrease", "increase")[i % 2]}
        )  # fmt: skip
    return write(folder, {"all": {"test": rows}})


def bare_loop(folder: Path, model: Any) -> list[str]:
    """What somebody would write by hand."""
    import torch

    processor, network = model.loaded.processor, model.loaded.model
    table = datasets.load_dataset(str(folder), split="test")
    table = table.cast_column("audio", datasets.Audio(decode=False))
    prompt = prompt_text("main", "volume")
    parts = [{"type": "text", "text": prompt}, {"type": "audio"}]
    chat = [{"role": "user", "content": parts}]
    answers: list[str] = []
    for start in range(0, len(table), BATCH_SIZE):
        clips = []
        for cell in table[start : start + BATCH_SIZE]["audio"]:
            samples, rate = soundfile.read(io.BytesIO(cell["bytes"]), dtype="float32")
            clips.append(soxr.resample(samples, rate, MODEL_RATE, quality="HQ"))
        text = processor.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        inputs = processor(
            text=[text] * len(clips), audio=clips, return_tensors="pt",
            text_kwargs={"padding": True, "padding_side": "left"},
            audio_kwargs={"sampling_rate": MODEL_RATE},
        )  # fmt: skip
        with torch.inference_mode():
            ids = network.generate(**inputs, do_sample=False, max_new_tokens=MAX_NEW_TOKENS)
        generated = ids[:, inputs["input_ids"].shape[1] :]
        answers += processor.batch_decode(generated, skip_special_tokens=True)
    return answers


def whole_run(folder: Path, model: Any, out: Path) -> None:
    """The same by `otoscope run perception`, from a dataset's folder to a finished run."""
    cache = AnswerCache(out.with_suffix(".sqlite"))
    with contextlib.redirect_stdout(io.StringIO()), request_bar() as on_answer:
        progress = run(str(folder), model, out=out, cache=cache, on_answer=on_answer)
    cache.close()
    if progress.statuses != {"ok": N_CLIPS}:
        raise RuntimeError(f"not every question was answered: {progress}")


def timed(work: Callable[[], Any]) -> tuple[np.ndarray, Any]:
    """Seconds by the clock and of this process's work, and the result."""
    began = time.perf_counter(), time.process_time()
    result = work()
    return np.subtract((time.perf_counter(), time.process_time()), began), result


def main() -> None:
    """Prints the ratio with its target, and where the run's own time goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", action="store_true", help="show where a run's time goes")
    args = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="otoscope-bench-"))
    datasets.disable_progress_bars()
    datasets.config.HF_DATASETS_CACHE = work / "datasets"
    os.environ["OTOSCOPE_CACHE"] = str(work / "cache")
    logging.disable(logging.WARNING)
    try:
        import torch

        from tests.models.tiny import qwen2_audio, save

        torch.set_num_threads(1)
        weights = save(qwen2_audio(), work / "model")
        options = {"batch_size": BATCH_SIZE, "max_new_tokens": MAX_NEW_TOKENS}
        model = open_model(f"transformers:{weights}", **options)
        folder = write_dataset(work / "data")
        bare_loop(folder, model)  # imports, caches of the file system, the dataset's Arrow file
        if args.profile:
            profile = cProfile.Profile()
            profile.runcall(whole_run, folder, model, work / "profiled")
            pstats.Stats(profile).sort_stats("cumulative").print_stats("otoscope|journal", 40)
        bare, runs = [], []
        for turn in range(N_TURNS):
            seconds, by_hand = timed(lambda: bare_loop(folder, model))
            bare.append(seconds)
            out = work / f"run{turn}"
            seconds, _ = timed(lambda out=out: whole_run(folder, model, out))
            runs.append(seconds)
            if list(load_run(out)["text"]) != by_hand:
                raise RuntimeError("the two do not answer alike")
        (run_s, run_cpu_s), (bare_s, bare_cpu_s) = np.min(runs, axis=0), np.min(bare, axis=0)
        ratio, cpu = run_s / bare_s, run_cpu_s / bare_cpu_s
        print(
            f"a run of {N_CLIPS} clips: {ratio:.3f} times a bare loop ({run_s:.2f} s, "
            f"{bare_s:.2f} s, best of {N_TURNS}); target {TARGET:g} "
            f"{'reached' if ratio <= TARGET else 'MISSED'}\n"
            f"in CPU time, which other work on the machine moves less: {cpu:.3f} "
            f"({run_cpu_s:.2f} s, {bare_cpu_s:.2f} s)"
        )
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
