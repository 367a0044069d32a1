"""The dataset folder as a Hub repository: what `load_dataset` needs to know, and the card."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import datasets
import yaml
from datasets import DatasetInfo, SplitInfo
from datasets.info import DatasetInfosDict
from datasets.splits import SplitDict
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCardData

from builders.building.finished import FinishedBuild
from builders.building.folder import staging_folder
from builders.splits import FILE_SPLITS
from otoscope.atomic import write_atomic

Files = Mapping[str, Mapping[str, Any]]
"""Path inside the folder to its record."""


def write_readme(
    build: FinishedBuild,
    *,
    features: datasets.Features | Callable[[str], datasets.Features],
    text: str,
    header: Mapping[str, Any],
    configs: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """README.md with `configs`, `dataset_info` and a text.

    Args:
        build: All its shards are there.
        features: The columns, or a function of the config's name.
        text: The card, computed from the build.
        header: Fields of `huggingface_hub.DatasetCardData`: licence, language, tags …
        configs: Config names and the folders each reads; the first is the default. Each folder by
            itself when absent.
    """
    infos, patterns = {}, {}
    for config, folders in (configs or {name: [name] for name in build.configs}).items():
        of_config = {p: f for p, f in build.files.items() if f["config"] in folders}
        filled = {f["split"] for f in of_config.values() if f["rows"]}
        splits = [split for split in FILE_SPLITS if split in filled]
        columns = features if isinstance(features, datasets.Features) else features(config)
        infos[config] = _info(columns, of_config, splits)
        patterns[config] = {
            "data_files": [{"split": split, "path": _patterns(folders, split)} for split in splits]
        }
    default = next(iter(patterns))
    patterns[default]["default"] = True  # type: ignore[assignment]
    n_rows = infos[default].splits.total_num_examples
    data = DatasetCardData(size_categories=[size_category(n_rows)], **header)
    DatasetInfosDict(infos).to_dataset_card_data(data)
    MetadataConfigs(patterns).to_dataset_card_data(data)
    described = data.to_dict()
    _add_descriptions(described, infos)
    front = yaml.safe_dump(described, sort_keys=False, allow_unicode=True)
    readme = f"---\n{front}---\n{text}".encode("utf-8", "backslashreplace")  # odd file names
    write_atomic(build.folder / "README.md", readme, via=staging_folder(build.folder))


def _add_descriptions(header: dict[str, Any], infos: Mapping[str, DatasetInfo]) -> None:
    """Puts back the descriptions, which the library reads from a README but does not write."""
    listed = header["dataset_info"]
    for described in listed if isinstance(listed, list) else [listed]:
        described["description"] = infos[described["config_name"]].description


def _patterns(folders: Sequence[str], split: str) -> str | list[str]:
    patterns = [f"{folder}/{split}-*.parquet" for folder in folders]
    return patterns if len(patterns) > 1 else patterns[0]


def _info(features: datasets.Features, files: Files, splits: Sequence[str]) -> DatasetInfo:
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
        features=features,
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
