"""Names of VocalSound's files and words for its classes.

Source: `docs/papers.md`, value of generative audio calls, datasets.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from builders.vocalsound_split import LABELS, TASK
from otoscope.prompts.tasks import TASKS

CLASSES: Mapping[str, str] = {re.sub("[^a-z]", "", label): label for label in LABELS}
"""Classes as file names have them, e.g. `throatclearing`, to labels."""

WORDS: Mapping[str, str] = {
    re.sub("[^a-z]", "", word): label
    for word, label in (*((label, label) for label in LABELS), *TASKS[TASK].synonyms.items())
}
"""Words that datasets may have for the labels."""

NAME = re.compile(rf"(?P<speaker>[fm]\d{{4}})_(?P<session>\d+)_(?P<kind>{'|'.join(CLASSES)})")


class VocalName(NamedTuple):
    """What the name of a file says.

    Attributes:
        speaker: VocalSound's pseudonym.
        session: Of that speaker.
        label: Of `LABELS`.
    """

    speaker: str
    session: str
    label: str


def parse_name(file_name: str) -> VocalName | None:
    """The parts of a name, folders and extension apart; None where it is no name of VocalSound.

    >>> parse_name("audio_16k/f0003_0_throatclearing.wav")
    VocalName(speaker='f0003', session='f0003_0', label='throat clearing')
    """
    match = NAME.fullmatch(PurePosixPath(file_name).stem)
    if match is None:
        return None
    speaker = match["speaker"]
    return VocalName(speaker, f"{speaker}_{match['session']}", CLASSES[match["kind"]])


def label_named(word: str) -> str | None:
    """The label that a word stands for, whatever its case, blanks and punctuation; None for others.

    >>> label_named("Throat_clearing"), label_named("Sneeze"), label_named("Speech")
    ('throat clearing', 'sneeze', None)
    """
    return WORDS.get(re.sub("[^a-z]", "", word.lower()))
