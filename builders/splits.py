"""The splits that a dataset may have."""

SPLITS = ("train", "validation", "test")
SORTED_SPLITS = tuple(sorted(SPLITS))
"""Order of files and configs."""

DEVELOPMENT, HOLDOUT = LABELLED_SPLITS = ("development", "holdout")
"""Those of a labelled dataset."""

FILE_SPLITS = (*LABELLED_SPLITS, *SORTED_SPLITS)
"""All names that files of a dataset folder may begin with, in the order of files."""
