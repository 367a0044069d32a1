"""VocalGrad: speech in which one acoustic factor rises or falls.

    python -m builders.vocalgrad build --help

The same from Python: open a corpus (`builders.corpora`), `plan_build` it, `build` its plan, and
`finish` the build with card and page. They are imported on first use, so that a worker loads no
more than it needs.
"""

from importlib import import_module
from typing import Any

PUBLIC = {
    "plan_build": "planning.build_plan",
    "build": "rendering.rows",
    "finish": "finishing",
}


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{PUBLIC[name]}"), name)
