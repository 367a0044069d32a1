"""Where unmodified clips come from.

To add a corpus: write a function `open_… -> Corpus` in a file of its own, then name it below, and
in `choose` say which options it takes.
"""

from collections.abc import Callable
from importlib import import_module

from builders.vocalgrad.sources.base import Corpus
from otoscope.registry import Registry

SOURCES = Registry(
    "source corpus",
    {
        "vctk": "builders.vocalgrad.sources.vctk:open_vctk",
        "folder": "builders.vocalgrad.sources.folder:open_folder",
        "dataset": "builders.vocalgrad.sources.hub:open_dataset",
        "beep": "builders.vocalgrad.sources.beeps:open_beeps",
        "voices": "builders.vocalgrad.sources.voices:open_voices",
    },
)


def load(name: str) -> Callable[..., Corpus]:
    """The function that opens a corpus; its module is imported only now.

    Raises:
        LookupError: There is none of that name.
    """
    module, _, function = SOURCES[name].partition(":")
    opener: Callable[..., Corpus] = getattr(import_module(module), function)
    return opener
