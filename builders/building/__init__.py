"""What every dataset folder needs, whatever its rows are about.

A dataset gives a plan and a recipe (`plan.py`); `build` writes its shards, `write_readme` makes the
folder a Hub repository, and `open_build` reads it back.
"""
