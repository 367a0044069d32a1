"""The same rows through `datasets`' own builder class, for those who know the library.

    builder = VocalGrad(config_name="volume", plan=plan, cache_dir=...)
    builder.download_and_prepare(num_proc=2)
    dataset = builder.as_dataset(split="test")

It caches Arrow as any builder does; `python -m builders.vocalgrad build` writes the Hub folder,
resumes and shares work between categories, and is what to use otherwise.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import datasets
import pyarrow as pa

from builders.splits import SORTED_SPLITS
from builders.vocalgrad.planning.plan import GENERATOR_VERSION, ClipShard, VocalGradPlan
from builders.vocalgrad.rendering.rows import features, rows

ROWS_PER_TABLE = 24


@dataclass
class VocalGradConfig(datasets.BuilderConfig):
    """Which rows: a category, `all`, `source` or `beep`; of which plan."""

    plan: VocalGradPlan | None = None

    def create_config_id(self, config_kwargs: dict, custom_features: object = None) -> str:
        """Names the cache by what decides the bytes, and by nothing else."""
        fingerprint = self.plan.fingerprint[:16] if self.plan else "unplanned"
        return f"{self.name}-{fingerprint}"


class VocalGrad(datasets.ArrowBasedBuilder):
    """VocalGrad's rows, one table for every 24 of them."""

    BUILDER_CONFIG_CLASS = VocalGradConfig

    def __init__(self, *, plan: VocalGradPlan, config_name: str = "all", **kwargs: object) -> None:
        """See `datasets.DatasetBuilder`; `plan` comes from `plan_build`.

        Raises:
            ValueError: The plan has no such config.
        """
        names = ["all", *plan.categories, "source"]
        names += ["beep"] if any(shard.kind == "beep" for shard in plan.shards) else []
        if config_name not in names:
            raise ValueError(f"no config {config_name!r} in this plan; there are {names}")
        kwargs.setdefault("dataset_name", "vocalgrad")
        super().__init__(
            config_name=config_name, version=f"{GENERATOR_VERSION}.0.0", plan=plan, **kwargs
        )

    @property
    def _kind(self) -> str:
        return {"source": "source", "beep": "beep"}.get(self.config.name, "gradient")

    def _info(self) -> datasets.DatasetInfo:
        rate = self.config.plan.sampling_rate(self._kind)
        return datasets.DatasetInfo(features=features(rate))

    def _split_generators(self, dl_manager: object) -> list[datasets.SplitGenerator]:
        by_split = {split: self._work(split) for split in SORTED_SPLITS}
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"shards": shards})
            for split, shards in by_split.items()
            if shards
        ]

    def _work(self, split: str) -> list[ClipShard]:
        """Shards of the config, cut down to its categories, in row order."""
        shards = [s for s in self.config.plan.shards if s.kind == self._kind and s.split == split]
        if self._kind != "gradient":
            return shards
        wanted = self.config.plan.categories if self.config.name == "all" else [self.config.name]
        return [replace(shard, categories=(name,)) for name in wanted for shard in shards]

    def _generate_tables(self, shards: Sequence[ClipShard]) -> Iterator[tuple[str, pa.Table]]:
        for shard in shards:
            key = f"{shard.name}-{'-'.join(shard.categories)}"
            cells = (row.cells for row in rows(self.config.plan, shard))
            n_tables = 0
            while table := list(islice(cells, ROWS_PER_TABLE)):
                yield f"{key}-{n_tables}", self._table(table)
                n_tables += 1

    def _table(self, cells: list[Mapping[str, Any]]) -> pa.Table:
        return pa.Table.from_pylist(cells, schema=self.info.features.arrow_schema)
