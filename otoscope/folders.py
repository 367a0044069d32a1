"""The cache folder."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """$OTOSCOPE_CACHE, or `otoscope` in the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("OTOSCOPE_CACHE") or Path(home) / "otoscope")
