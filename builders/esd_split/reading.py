"""A split of English ESD as a labelled source."""

from collections.abc import Callable, Mapping
from pathlib import Path

from builders.corpora.base import CorpusError, check_option
from builders.esd_split import LABELS, TASK
from builders.esd_split.corpus import EsdClip, read_esd
from builders.esd_split.variants import Draw, earlier, listed, speaker_disjoint
from builders.labelled import LabelledClip, LabelledSource, clip_id

VARIANTS: Mapping[str, Callable[..., Draw]] = {
    "earlier": earlier,
    "speaker_disjoint": speaker_disjoint,
}
"""Name to split."""


def open_esd(
    where: Path, *, variant: str = "earlier", ids: Path | None = None, seed: int = 0
) -> LabelledSource:
    """One of the two splits of English ESD.

    Args:
        where: The folder of ESD, or of its English speakers.
        variant: Of `VARIANTS`.
        ids: A table of the earlier split's clips.
        seed: Another one draws others.

    Raises:
        CorpusError: No such variant, or anything of `read_esd` and of the variant.
    """
    check_option("variant", variant, VARIANTS)
    if ids is not None and variant != "earlier":
        raise CorpusError("--ids lists the clips of --variant earlier")
    found = read_esd(where)
    chosen = VARIANTS[variant](found.clips, seed=seed) if ids is None else listed(found.clips, ids)
    clips = [_labelled(found.clips[name], chosen.splits[name]) for name in sorted(chosen.splits)]
    return LabelledSource(
        name=f"ESD, English, {variant.replace('_', '-')}",
        task=TASK,
        labels=LABELS,
        clips=tuple(clips),
        licence="other",
        attribution="ESD: K. Zhou, B. Sisman, R. Liu, H. Li (2021), Emotional Speech Dataset.",
        origin=f"a copy of ESD on disk, {len(found.clips)} English clips",
        language="en",
        skipped=found.skipped,
        notes=(
            chosen.note,
            "ESD is given for research to those who sign its form: do not publish this dataset.",
            "cluster_id is the speaker, source_id the sentence, which follows from the number of "
            "the file.",
        ),
    )


def _labelled(clip: EsdClip, split: str) -> LabelledClip:
    return LabelledClip(
        id=clip_id(clip.name),
        path=clip.path,
        label=clip.label,
        file_name=clip.path.name,
        cluster_id=clip.speaker,
        speaker_id=clip.speaker,
        source_id=f"sentence-{clip.sentence:03d}",
        split=split,
    )
