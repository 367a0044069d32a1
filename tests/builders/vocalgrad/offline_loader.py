"""Run in a process of its own: loads ./vocalgrad by name and prints, as JSON, what it got.

No connection can be made, and torchcodec cannot be imported.
"""

import hashlib
import io
import json
import re
import socket
import sys
from pathlib import Path

DECODE_EVERY = 25


def fail(*args, **kwargs):
    raise AssertionError(f"the network was used: {args}")


if __name__ == "__main__":  # pytest imports this file too, in search of doctests
    socket.socket.connect = fail
    socket.socket.connect_ex = fail
    socket.getaddrinfo = fail
    sys.modules["torchcodec"] = None

import soundfile  # noqa: E402
from datasets import (  # noqa: E402
    Audio,
    get_dataset_config_names,
    get_dataset_split_names,
    load_dataset,
)


def seen(dataset):
    """Id, transcript, label, length, rate and hash of every row; some are decoded too."""
    rows = []
    for i, row in enumerate(dataset.cast_column("audio", Audio(decode=False))):
        data = row["audio"]["bytes"]
        info = soundfile.info(io.BytesIO(data))
        if i % DECODE_EVERY == 0:
            samples, _ = soundfile.read(io.BytesIO(data), dtype="float32")
            assert len(samples) == info.frames
        digest = hashlib.sha256(data).hexdigest()
        rows.append(
            [row["id"], row["transcript"], row["label"], info.frames, info.samplerate, digest]
        )
    return rows


def card_example():
    """Length and rate that the card's own Python code reads."""
    text = Path("vocalgrad/README.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        exec(block, names)
    return [len(names["samples"]), names["sampling_rate"]]


def main():
    configs = sys.argv[1:] or get_dataset_config_names("vocalgrad")
    found = {"default": seen(load_dataset("vocalgrad", split="test")), "configs": {}}
    found["card"] = card_example()
    for config in configs:
        for split in get_dataset_split_names("vocalgrad", config):
            plain = load_dataset("vocalgrad", config, split=split)
            streamed = load_dataset("vocalgrad", config, split=split, streaming=True)
            found["configs"][f"{config}/{split}"] = {
                "rows": seen(plain),
                "streamed": seen(streamed),
                "columns": plain.column_names,
                "label_names": plain.features["label"].names,
                "sampling_rate": plain.features["audio"].sampling_rate,
                "same_features": plain.features == streamed.features,
            }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
