"""Protocols: what is planned, asked and scored. One file an audit.

To add an audit: write its `run` in a file of its own, then name it below.
"""

from otoscope.registry import Registry

AUDITS: Registry[str] = Registry("audit", {"perception": "otoscope.audits.perception:run"})
"""Name to `module:function`."""
