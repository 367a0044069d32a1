"""The splits that a dataset may have."""

SPLITS = ("train", "validation", "test")
SORTED_SPLITS = tuple(sorted(SPLITS))
"""Order of files and configs."""
