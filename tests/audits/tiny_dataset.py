"""Perception datasets of a few rows, in memory and as a folder of Parquet files."""

import io

import datasets
import numpy as np
import pyarrow.parquet as pq
import soundfile

RATE = 8_000


def clip(seed, *, n_samples=400, channels=1):
    """The bytes of a WAV file of noise, another for each seed."""
    noise = np.random.default_rng(seed).normal(0, 0.1, (n_samples, channels))
    buffer = io.BytesIO()
    soundfile.write(buffer, noise, RATE, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


def row(i, category="volume", **more):
    """A row with no more columns than are needed; labels alternate."""
    label = None if category == "source" else ("decrease", "increase")[i % 2]
    return {"id": f"{category}-{i}", "audio": clip(i), "category": category, "label": label} | more


def rows(n, *categories, **more):
    """`n` rows of each category."""
    return [
        row(100 * c + i, category, **more)
        for c, category in enumerate(categories or ("volume",))
        for i in range(n)
    ]


def full_row(i, category="volume", **more):
    """A row with the columns of a built VocalGrad that a plan goes by."""
    stored = {"source_id": f"s{i % 5}", "speaker_id": f"p{i % 2}", "clip_id": f"c{i}", "row": i}
    return row(i, category) | stored | more


def in_memory(some_rows):
    """One split as `datasets` holds it; `audio` may be bytes or the path of a file."""
    columns = {name: [r.get(name) for r in some_rows] for name in some_rows[0]}
    columns["audio"] = [
        {"bytes": a, "path": None} if isinstance(a, bytes) else {"bytes": None, "path": a}
        for a in columns["audio"]
    ]
    return datasets.Dataset.from_dict(columns).cast_column("audio", datasets.Audio(decode=False))


def write(folder, tables):
    """A folder that `load_dataset` reads: `{config: {split: rows}}`, the first the default."""
    lines = ["---", "configs:"]
    for nth, (config, splits) in enumerate(tables.items()):
        lines += [f"- config_name: {config}", "  data_files:"]
        lines.insert(-1, "  default: true") if nth == 0 else None
        for split, some_rows in splits.items():
            path = folder / config / f"{split}-0.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            made = in_memory(some_rows)  # `to_parquet` would put audio files into the table
            pq.write_table(made.data.table.cast(made.features.arrow_schema), path)
            lines += [f"  - split: {split}", f"    path: {config}/{split}-*.parquet"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))
    return folder
