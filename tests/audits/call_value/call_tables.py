"""Synthetic tables of predictions: who is right is drawn, and so is how sure they are."""

import csv
import json
from pathlib import Path

import numpy as np

LABELS = ("cough", "laughter", "sigh")
ACCURACY = {"text": 0.4, "clap": 0.75, "wavlm": 0.8, "omni": 0.85}
KIND = {"text": "transcript", "clap": "encoder", "wavlm": "encoder", "omni": "generative"}
SECONDS = {"text": 0.14, "clap": 0.04, "wavlm": 0.01, "omni": 0.18}


def example_rows(n_development=60, n_holdout=40, *, per_cluster=1, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for split, n in (("development", n_development), ("holdout", n_holdout)):
        for i in range(n):
            rows.append(
                {
                    "example_id": f"{split[0]}{i:03d}",
                    "label": LABELS[i % len(LABELS)],
                    "split": split,
                    "cluster_id": f"{split}-{i // per_cluster}",
                    "asr_len": int(rng.integers(0, 12)),
                    "asr_unc": round(float(rng.uniform()), 4),
                }
            )
    return rows


def prediction_rows(examples, *, seed=1, accuracy=ACCURACY):
    rng = np.random.default_rng(seed)
    rows = []
    for action, share in accuracy.items():
        for i, example in enumerate(examples):
            right = rng.uniform() < share
            others = [label for label in LABELS if label != example["label"]]
            row = {
                "example_id": example["example_id"],
                "action": action,
                "kind": KIND[action],
                "label": example["label"] if right else others[int(rng.integers(2))],
                "wall_s": SECONDS[action],
            }
            if KIND[action] != "generative":
                sure = rng.beta(6, 2) if right else rng.beta(3, 4)
                row["conf"] = round(float(sure), 5)
            if KIND[action] == "encoder" and example["split"] == "development":
                row["fold"] = i % 5
            rows.append(row)
    return rows


def write_csv(path: Path, rows) -> Path:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_tables(folder: Path, examples=None, predictions=None) -> list[Path]:
    examples = example_rows() if examples is None else examples
    predictions = prediction_rows(examples) if predictions is None else predictions
    return [
        write_csv(folder / "predictions.csv", predictions),
        write_csv(folder / "examples.csv", examples),
    ]


def write_contract(path: Path, tables, **changes) -> Path:
    from otoscope.audits.call_value.first_contract import first_contract
    from otoscope.audits.call_value.tables import read_call_tables

    record = first_contract(read_call_tables(tables)) | {"repeats": 2} | changes
    path.write_text(json.dumps(record))
    return path
