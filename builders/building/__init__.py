"""What every dataset folder needs, whatever its rows are about.

A dataset provides a plan and a recipe (`plan.py`). `build` writes its shards, `write_readme` makes
the folder a Hub repository, and `open_build` reads it back.
"""

# ruff: noqa: F401
from builders.building.build_folder import build
from builders.building.finished import FinishedBuild, open_build, stored_rows
from builders.building.folder import BuildError, claimed_folder
from builders.building.libraries import library_versions
from builders.building.plan import DatasetRow, Recipe, Shard, blocks, fingerprint_of, shard_file
from builders.building.repository import write_readme
