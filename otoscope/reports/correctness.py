"""Which items a run answered rightly, to be joined with what probes say of the same items."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from otoscope.audits.runs import RunError
from otoscope.reports.readings import read_runs

SAME = ("name", "content", "commit", "adapter")
"""What two descriptions of one model have in common, where both have it."""


def right_by_item(
    run: str | Path, *, prompt: str, model: Mapping[str, Any] | None = None
) -> dict[str, bool]:
    """Item's id to whether the answer is right; no, too, where it names no direction.

    Args:
        run: A run folder.
        prompt: The prompt whose answers are meant.
        model: What must have answered, as `features.json` or `run.json` describes it; anybody when
            None.

    Raises:
        RunError: Not a run, one of another model, or one that does not ask in that way.
    """
    (told,) = read_runs([Path(run)])
    other = told.about.get("model_description")
    if isinstance(other, Mapping) and model is not None:
        different = [name for name in SAME if name in model and name in other]
        different = [name for name in different if model[name] != other[name]]
        if different:
            found = ", ".join(f"{name} {other[name]!r}, not {model[name]!r}" for name in different)
            raise RunError(f"{run} is of another model: {found}")
    clips = told.clips.where(prompt_name=prompt)
    if not len(clips):
        asked = ", ".join(sorted(told.clips.values("prompt_name"))) or "nothing about clips"
        raise RunError(f"{run} does not ask {prompt!r}, it asks {asked}")
    return {
        name: outcome == "correct"
        for name, outcome in zip(clips["id"].tolist(), clips["outcome"].tolist(), strict=True)
    }
