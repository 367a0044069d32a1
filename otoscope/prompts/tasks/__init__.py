"""Closed-set tasks: one file each, and the table of them.

To add a task: declare a `ClosedSetTask` in a file here, then name it below. A dataset names its
task in the column `task`; any other dataset is asked the `generic` question.
"""

from otoscope.prompts.tasks.animals import ESC50_ANIMALS
from otoscope.prompts.tasks.base import VARIANTS, ClosedSetTask, PutQuestion, Variant, put
from otoscope.prompts.tasks.direction import DIRECTION
from otoscope.prompts.tasks.emotion import ESD
from otoscope.prompts.tasks.generic import GENERIC
from otoscope.prompts.tasks.speech_text import SPEECH_TEXT_MATCHING
from otoscope.prompts.tasks.vocal_sounds import VOCALSOUND
from otoscope.registry import Registry

TASKS: Registry[ClosedSetTask] = Registry(
    "closed-set task",
    {
        "vocalsound": VOCALSOUND,
        "esc50_animals": ESC50_ANIMALS,
        "esd": ESD,
        "speech_text_matching": SPEECH_TEXT_MATCHING,
        "direction": DIRECTION,
        "generic": GENERIC,
    },
)

__all__ = ["TASKS", "VARIANTS", "ClosedSetTask", "PutQuestion", "Variant", "put", "task_named"]


def task_named(name: str) -> ClosedSetTask:
    """The task of that name; the generic one where there is none."""
    return TASKS.get(name, GENERIC)
