"""Audits: what is planned, requested and scored. One file an audit.

To add an audit: write its `plan` and an `Audit` in a file of its own, then name it below.
"""

from importlib import import_module
from typing import Any

from otoscope.registry import Registry, imported

AUDITS: Registry[str] = Registry(
    "audit",
    {
        "perception": "otoscope.audits.perception:PERCEPTION",
        "meld": "otoscope.audits.meld:MELD",
        "labels": "otoscope.audits.labels:LABELS",
    },
)
"""Name to `module:NAME` of an `otoscope.audits.running.Audit`; `open_audit` imports it."""

PUBLIC = {"load_run": "runs", "Audit": "running", "Plan": "plans"}
"""Names that can be imported from here, and their files."""


def open_audit(name: str) -> Any:
    """The audit of that name.

    Raises:
        UnknownName: There is none.
    """
    return imported(AUDITS[name])


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{PUBLIC[name]}"), name)
