"""Protocols: what is planned, asked and scored. One file an audit.

To add an audit: write its `run` in a file of its own, then name it below.
"""

from importlib import import_module
from typing import Any

from otoscope.registry import Registry

AUDITS: Registry[str] = Registry(
    "audit",
    {
        "perception": "otoscope.audits.perception:run",
        "meld": "otoscope.audits.meld:run",
    },
)
"""Name to `module:function`."""

PUBLIC = {"load_run": "runs"}
"""Names that stand here, and the files they are in: imported when first asked for."""


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{PUBLIC[name]}"), name)
