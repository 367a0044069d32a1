"""Datasets and how they are built: one folder each.

To add a dataset: write a folder beside `vocalgrad` with the three functions below, then name it in
`DATASETS`. Sources come from `builders/corpora`; `builders/building` writes shards and Hub folder.

    plan_build(corpus, …) -> planned     `planned.plan` decides the bytes, see `building/plan.py`
    build(plan, out, *, num_proc, overwrite, progress) -> FinishedBuild
    finish(build, planned, …) -> str     writes the card; returns a summary to print

The Hub repository takes the folder's name, hyphens for underscores.
"""

from otoscope.registry import Registry

DATASETS: Registry[str] = Registry("dataset", {"vocalgrad": "builders.vocalgrad"})
"""Folder name to module."""

LABELLED: Registry[str] = Registry(
    "labelled dataset",
    {
        "esc50_animals": "builders.esc50_animals",
        "esd_split": "builders.esd_split",
        "labelled_folder": "builders.labelled_folder",
        "speech_text_matching": "builders.speech_text_matching",
        "vocalsound_split": "builders.vocalsound_split",
    },
)
"""Folder name to module, for clips with one label each of a closed set.

Each module has a command `build`; `builders/labelled` does the rest and says how.
"""
