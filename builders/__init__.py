"""Datasets and how they are made: one folder each.

To add a dataset: write a folder with a `build` function beside `vocalgrad`, then name it below.
The Hub repository takes the folder's name, hyphens for underscores.
"""

from otoscope.registry import Registry

DATASETS: Registry[str] = Registry("dataset", {"vocalgrad": "builders.vocalgrad"})
"""Folder name to module."""
