"""Corpora: where source clips come from. Any dataset may use them; they know of no dataset.

To add a corpus: write `open_… -> Corpus` in a file here, then name it in `CORPORA`. A command calls
it with WHERE of `--source KIND:WHERE` and, by keyword, the options of `CorpusOptions` that its
signature takes; any other option that is given is an error. A function that takes `revision` gets
what follows `@` in WHERE; one that takes `progress` gets something to show progress with.
"""

from otoscope.registry import Registry

CORPORA: Registry[str] = Registry(
    "source corpus",
    {
        "voices": "builders.corpora.voices:open_voices",
        "vctk": "builders.corpora.vctk.opening:open_vctk",
        "folder": "builders.corpora.folder:open_folder",
        "dataset": "builders.corpora.hub:open_dataset",
        "loquacious": "builders.corpora.loquacious.opening:open_loquacious",
        "cv-spontaneous": "builders.corpora.spontaneous.opening:open_spontaneous",
        "beep": "builders.corpora.beeps:open_beeps",
    },
)
"""Kind to `module:function`."""

VERIFIERS: Registry[str] = Registry(
    "corpus with a published list of clips",
    {
        "vctk": "builders.corpora.vctk.verification:verify_vctk",
        "loquacious": "builders.corpora.loquacious.verification:verify_loquacious",
    },
)
"""Kind to the `module:function` that compares a copy with the list; called as an opener is."""
