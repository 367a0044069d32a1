"""The commands of a study: options that version 0.1 named otherwise, and the error of a step."""

from collections.abc import Sequence

from otoscope.errors import InputError

RENAMED_OPTIONS = {
    "otoscope.cli": {
        "--hearing-check": "--audio-input-check",
        "--no-hearing-check": "--no-audio-input-check",
        "refuse": "reject",
    },
    "trainers.extract": {
        "--store": "--store-dtype",
        "--memory": "--max-disk-gib",
        "refuse": "reject",
    },
    "trainers.linear_probe": {
        "--split": "--probe-split",
        "--batch-size": "--train-batch-size",
        "--memory": "--memory-gib",
    },
    "trainers.lora": {
        "--from-states": "--features",
        "--split": "--validation",
        "--rank": "--lora-rank",
        "--alpha": "--lora-alpha",
        "--dropout": "--lora-dropout",
        "--batch-size": "--train-batch-size",
        "--max-norm": "--max-grad-norm",
        "refuse": "reject",
    },
}
"""Options of version 0.1 and their names today, by the command's module."""


class StudyError(InputError, ValueError):
    """A study that cannot go on; the message names the step and the way out."""


def with_current_options(command: Sequence[str]) -> list[str]:
    """A command whose options may have their names of version 0.1, with today's names.

    >>> with_current_options(["-m", "trainers.lora", "--rank", "4"])
    ['-m', 'trainers.lora', '--lora-rank', '4']
    """
    names = next((RENAMED_OPTIONS[word] for word in command if word in RENAMED_OPTIONS), {})
    return [names.get(word, word) for word in command]
