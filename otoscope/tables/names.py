"""Columns of well-known datasets, by what they hold.

Names are compared without case and punctuation: `Speaker_ID`, ` speaker id` and `speaker-id` are
one. The published VocalGrad layout is `benchmark_clip_id`, `source_clip_id`, `source_text`,
`onset_sec` and `offset_sec`; `client_id` and `sentence` are Common Voice, `transcription` is FLEURS
and MInDS, `audio_filepath` is NeMo.

Source: `docs/papers.md`, VocalGrad, public packaging.
"""

import re
from collections.abc import Iterable, Mapping

from otoscope.errors import InputError

SPEAKER = re.compile(
    r"(speakers?|spkr?|client|reader|talker|narrator|participant|actor)"
    r"(_?(id|name|no|nr|num|number|code|label|key|hash))?|subject_?id|user_?id"
)
"""Names of a column that says who speaks."""

ITEM_NAMES: Mapping[str, tuple[str, ...]] = {
    "item_id": ("item_id", "id"),
    "speaker_id": ("speaker_id", "spk_id", "speaker", "client_id"),
    "sentence_id": ("sentence_id",),
    "transcript": ("transcript", "text", "sentence", "transcription", "source_text"),
    "split": ("split",),
    "gender": ("gender", "sex"),
    "accent": ("accent", "accents"),
}
"""Columns that may hold each field of a recording; the first that is there counts."""

AUDIO_NAMES = (
    "audio", "file_name", "audio_path", "audio_filepath", "audio_file", "path", "file", "filename",
    "wav",
)  # fmt: skip
"""Columns that may hold a clip or the path of its file; the first that is there counts."""


class ColumnError(InputError, ValueError):
    """Columns of which two may be the one that is meant; both are named."""


def plain(name: str) -> str:
    """A name in lower case with single underscores for everything but letters and digits.

    >>> plain(" Speaker-ID"), plain("client_id")
    ('speaker_id', 'client_id')
    """
    return re.sub(r"[\W_]+", "_", name.strip().lower()).strip("_")


def column(columns: Iterable[str], names: Iterable[str]) -> str | None:
    """The column that has one of these names; an earlier name, then an exact one, goes first.

    >>> column(["Text", "Sentence"], ["transcript", "sentence", "text"])
    'Sentence'

    Raises:
        ColumnError: Two columns differ from a name, and from each other, in case or punctuation.
    """
    columns = list(columns)
    for name in names:
        if name in columns:
            return name
        alike = [known for known in columns if plain(known) == name]
        if len(alike) > 1:
            raise ColumnError(f"the columns {alike} may all be {name!r}; rename the others")
        if alike:
            return alike[0]
    return None


def speaker_column(columns: Iterable[str]) -> str | None:
    """The column that says who speaks.

    >>> speaker_column(["file_name", "Speaker_ID"]), speaker_column(["loudspeaker", "reader"])
    ('Speaker_ID', 'reader')

    Raises:
        ColumnError: Two may be it, and neither has a usual name.
    """
    columns = list(columns)
    if usual := column(columns, ITEM_NAMES["speaker_id"]):
        return usual
    found = [name for name in columns if SPEAKER.fullmatch(plain(name))]
    if len(found) > 1:
        raise ColumnError(
            f"the columns {found} may all say who speaks; rename the right one speaker_id"
        )
    return found[0] if found else None


def item_columns(columns: Iterable[str]) -> dict[str, str]:
    """The column of each field of `ITEM_NAMES` that is there.

    >>> item_columns(["path", "sentence", "client_id"])
    {'speaker_id': 'client_id', 'transcript': 'sentence'}

    Raises:
        ColumnError: Two columns may be one field.
    """
    columns = list(columns)
    found = {field: column(columns, names) for field, names in ITEM_NAMES.items()}
    found["speaker_id"] = speaker_column(columns)
    return {field: name for field, name in found.items() if name is not None}
