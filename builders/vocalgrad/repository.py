"""The dataset folder as a Hub repository: what `load_dataset` needs to know, and the card."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from datasets import DatasetInfo, SplitInfo
from datasets.info import DatasetInfosDict
from datasets.splits import SplitDict
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCardData

from builders.corpora.base import Corpus
from builders.vocalgrad.plan import SPLITS, Plan
from builders.vocalgrad.rows import features
from builders.vocalgrad.shards import making_folder
from cards import render_card
from otoscope.atomic import write_atomic

Files = Mapping[str, Mapping[str, Any]]
"""Path inside the folder to what its shard's record says of it."""


def configs_of(plan: Plan, files: Files) -> dict[str, list[str]]:
    """Config names and the folders each reads; `all` first, in generation order.

    A category of which the profile makes nothing is none: `load_dataset` fails on a split without
    rows.
    """
    present = {file["config"] for file in files.values() if file["rows"]}
    alone = [name for name in (*plan.categories, "source", "beep") if name in present]
    parts = [name for name in plan.categories if name in present]
    return {"all": parts} | {name: [name] for name in alone}


def write_readme(folder: Path, plan: Plan, corpus: Corpus, files: Files, **card: Any) -> None:
    """README.md with `configs`, `dataset_info` and a card computed from the build."""
    infos, patterns = {}, {}
    for config, parts in configs_of(plan, files).items():
        of_config = {p: f for p, f in files.items() if f["config"] in parts}
        filled = {f["split"] for f in of_config.values() if f["rows"]}
        splits = [split for split in SPLITS if split in filled]
        infos[config] = _info(plan, config, of_config, splits)
        patterns[config] = {
            "data_files": [{"split": split, "path": _patterns(parts, split)} for split in splits]
        }
        if config == "all":
            patterns[config]["default"] = True  # type: ignore[assignment]
    data = DatasetCardData(
        license=corpus.licence,
        language=[corpus.language] if corpus.language else None,
        pretty_name=card["pretty_name"],
        task_categories=["audio-classification", "audio-text-to-text"],
        size_categories=[size_category(infos["all"].splits.total_num_examples)],
        annotations_creators=["machine-generated"],
        source_datasets=["original"],
        tags=["audio", "benchmark", "perception"] + (["synthetic"] if corpus.synthetic else []),
    )
    DatasetInfosDict(infos).to_dataset_card_data(data)
    MetadataConfigs(patterns).to_dataset_card_data(data)
    described = data.to_dict()
    _add_descriptions(described, infos)
    header = yaml.safe_dump(described, sort_keys=False, allow_unicode=True)
    text = f"---\n{header}---\n" + render_card(
        "vocalgrad.md.jinja", plan=plan, corpus=corpus, files=files, **card
    )
    readme = text.encode("utf-8", "backslashreplace")  # odd file names
    write_atomic(folder / "README.md", readme, via=making_folder(folder))


def _add_descriptions(header: dict[str, Any], infos: Mapping[str, DatasetInfo]) -> None:
    """Puts back the descriptions, which the library reads from a README but does not write."""
    listed = header["dataset_info"]
    for described in listed if isinstance(listed, list) else [listed]:
        described["description"] = infos[described["config_name"]].description


def _patterns(parts: Sequence[str], split: str) -> str | list[str]:
    patterns = [f"{part}/{split}-*.parquet" for part in parts]
    return patterns if len(patterns) > 1 else patterns[0]


def _info(plan: Plan, config: str, files: Files, splits: Sequence[str]) -> DatasetInfo:
    rate = plan.sampling_rate("beep" if config == "beep" else "gradient")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for file in files.values():
        counts[file["split"]].update(rows=file["rows"], bytes=file["bytes"])
    infos = SplitDict()
    for split in splits:
        n = counts[split]
        infos.add(SplitInfo(split, num_bytes=n["bytes"], num_examples=n["rows"]))
    size = sum(n["bytes"] for n in counts.values())
    return DatasetInfo(
        description=f"content sha256 {content_hash(files)}",
        features=features(rate),
        splits=infos,
        download_size=size,
        dataset_size=size,
    )


def content_hash(files: Files) -> str:
    """One hash for all that a config's files hold.

    It stands in the README because `datasets` names its local cache by the README alone, and would
    otherwise hand out an older build's rows.
    """
    listed = json.dumps(sorted((path, file["sha256"]) for path, file in files.items()))
    return hashlib.sha256(listed.encode()).hexdigest()


def size_category(n_rows: int) -> str:
    """The Hub's word for how many rows there are.

    >>> [size_category(n) for n in (480, 4_320, 21_600, 108_000)]
    ['n<1K', '1K<n<10K', '10K<n<100K', '100K<n<1M']
    """
    for bound, name in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K")):
        if n_rows < bound:
            return name
    return "100K<n<1M" if n_rows < 1_000_000 else "1M<n<10M"
