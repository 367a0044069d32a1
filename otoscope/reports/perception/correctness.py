"""Which items a run answered correctly, to be joined with probes on the same items."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from otoscope.audits.runs import RunError
from otoscope.reports.perception.reading import distinct, read_perception
from otoscope.reports.scoring import is_correct

COMPARED = ("name", "content", "commit", "adapter")
"""Fields of a model's description that must agree where both descriptions have them."""


def correct_by_item(
    run: str | Path, *, prompt: str, model: Mapping[str, Any] | None = None
) -> dict[str, bool]:
    """Item's id to whether the answer is correct; an unparsed one is not.

    Args:
        model: What must have answered, as `features.json` or `run.json` describes it; any model
            when None.

    Raises:
        RunError: Not a perception run, one of another model, or one without that prompt.
    """
    (scored,) = read_perception([run])
    other = scored.about.get("model_description")
    if isinstance(other, Mapping) and model is not None:
        shared = [name for name in COMPARED if name in model and name in other]
        if different := [name for name in shared if model[name] != other[name]]:
            found = ", ".join(f"{name} {other[name]!r}, not {model[name]!r}" for name in different)
            raise RunError(f"{run} is of another model: {found}")
    clips = scored.clips[scored.clips["prompt_name"] == prompt]
    if clips.empty:
        prompts = ", ".join(sorted(distinct(scored.clips, "prompt_name"))) or "none about clips"
        raise RunError(f"{run} has no answers to the prompt {prompt!r}; its prompts: {prompts}")
    return dict(zip(clips["id"], is_correct(clips).tolist(), strict=True))
