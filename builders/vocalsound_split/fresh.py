"""A fresh hold-out: clips of the original VocalSound by speakers that no published row has."""

from builders.corpora.base import CorpusError
from builders.labelled import LabelledSource
from builders.splits import DEVELOPMENT
from builders.vocalsound_split import LABELS
from builders.vocalsound_split.original import Original, fresh_clips
from builders.vocalsound_split.published import PublishedClips, vocalsound_source


def fresh_source(
    published: PublishedClips, original: Original, n: int, *, seed: int = 0
) -> LabelledSource:
    """The paper's development rows, and `n` hold-out clips of unseen speakers.

    Speakers of the published hold-out rows count as seen too: results on them are published.

    Raises:
        CorpusError: The speaker of a published row is unknown, so that nobody can be said to be
            unseen, or anything of `fresh_clips`.
    """
    if unknown := [clip.id for clip in published.clips if not clip.speaker_id]:
        raise CorpusError(
            f"--fresh-holdout: the speaker of {len(unknown)} of {len(published.clips)} published "
            f"rows is unknown ({unknown[0]} is the first), and their audio is not among the "
            f"{len(original.files)} files of --original; give the complete VocalSound"
        )
    seen = {clip.speaker_id for clip in published.clips}
    fresh = fresh_clips(original, n, seen=seen, seed=seed)
    development = [clip for clip in published.clips if clip.split == DEVELOPMENT]
    return vocalsound_source(
        "VocalSound, fresh hold-out",
        [*development, *fresh],
        published,
        original.skipped,
        (
            *published.notes[1:],
            f"Development is rows 0 to {len(development) - 1} of the published set. Hold-out is "
            f"fresh: {n} clips of the original VocalSound, {n // len(LABELS)} of each class, by "
            f"{len({clip.speaker_id for clip in fresh})} of its speakers of whom no published row "
            f"has a clip, chosen by hash (seed {seed}).",
        ),
    )
