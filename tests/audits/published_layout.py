"""A folder in the layout of the published dataset, and answers as the authors publish theirs.

Columns, their order, file names and keys of answers: VocalGrad data, public packaging and files.
"""

import csv
import json
from itertools import product

from tests.audits.tiny_dataset import clip

COLUMNS = (
    "file_name", "category", "benchmark_clip_id", "source_text", "attribute", "prompt", "label",
    "direction", "curve", "tier", "source_clip_id", "speaker_id", "sentence_id", "duration_sec",
    "onset_sec", "offset_sec", "split",
)  # fmt: skip
SOURCES = (("p226_01", "p226_106"), ("p226_02", "p226_011"), ("p230_01", "p230_003"))
CATEGORIES = ("volume", "echo")
QUESTION = "Does the {} increase or decrease over time?"
INSTRUCTION = 'Answer with only one word: "increase" or "decrease".'
README = "---\nlicense: cc-by-4.0\nconfigs:\n- config_name: default\n  drop_labels: true\n---\n"


def clip_ids():
    """Clip ids with the clip they are made from, in the published order; sources come first."""
    for (item, source), tier, direction in product(SOURCES, ("low", "high"), ("up", "down")):
        yield f"{item}__{source}__linear__{tier}__{direction}", source, tier, direction


def write_dataset(folder, categories=CATEGORIES, *, wav=clip):
    """`metadata.csv`, `audio/{category}__{clip id}.wav`, `metadata/summary.json` and a card."""
    for name in ("audio", "metadata"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    with (folder / "metadata.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for category, (n, made) in product(categories, enumerate(clip_ids())):
            clip_id, source, tier, direction = made
            name = f"audio/{category}__{clip_id}.wav"
            (folder / name).write_bytes(wav(100 * categories.index(category) + n))
            label = {"up": "increase", "down": "decrease"}[direction]
            speaker, sentence = source.split("_")
            writer.writerow([
                name, category, clip_id, "Please call Stella.", category,
                f"{QUESTION.format(category)} {INSTRUCTION}", label, direction, "linear", tier,
                source, speaker, sentence, "0.050000", "0.010000", "0.040000", "test",
            ])  # fmt: skip
    (folder / "metadata" / "summary.json").write_text('{"n_rows": 24}')
    (folder / "README.md").write_text(README)
    return folder


def answers(category, texts, **changed):
    """Rows of a raw file, `texts` in the order of `clip_ids`."""
    for (clip_id, *_, direction), text in zip(clip_ids(), texts, strict=True):
        yield {
            "timestamp": "2026-01-01T00:00:00Z", "backend": "kimia", "model_id": "org/model",
            "category": category, "benchmark_clip_id": clip_id,
            "gold_label": {"up": "increase", "down": "decrease"}[direction],
            "prediction_label": None, "parsed_ok": False, "is_correct": None,
            "raw_response": text, "prompt": f"{QUESTION.format(category)}\n\n{INSTRUCTION}",
            "prompt_settings": {"swap_direction_order": False}, "metadata": {"tier": "low"},
        } | changed  # fmt: skip


def write_answers(folder, texts_of):
    """`default/{category}/kimia.jsonl` of every category, as the raw outputs lie."""
    for category, texts in texts_of.items():
        path = folder / "default" / category / "kimia.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(row) + "\n" for row in answers(category, texts))
        path.write_text("".join(lines))
    return f"{folder}/default/*/kimia.jsonl"
