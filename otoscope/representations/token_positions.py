"""Token positions of a question: its clip, the answer's prediction, the ends of its words.

Source: VocalGrad, appendix C.10; the search for words is in the authors' code.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from otoscope.models.base import AudioInput, ModelError, Request
from otoscope.prompts.parts import Text
from otoscope.representations.hidden_states import only_clip
from otoscope.representations.pooling import quarter_ends
from otoscope.representations.sites import AUDIO_POSITIONS, OUTPUT_POSITION


class TokenPositions(NamedTuple):
    """Positions in one row of tokens.

    Attributes:
        clip: Every token of the clip.
        at: Name to the position of a single token: `o`, `a1` to `a4`, `q_attr`, `q_p`, `q_l`.
        end: The last position, after which an answer comes.
    """

    clip: Int[np.ndarray, " n_frames"]
    at: dict[str, int]
    end: int


def locate_clip(
    request: Request,
    ids: Int[np.ndarray, " n_tokens"],
    real: Bool[np.ndarray, " n_tokens"],
    audio_token: int,
) -> TokenPositions:
    """The clip, its quarters, and `o`, the last position outside the clip.

    Args:
        request: The question, for messages.
        ids: Its tokens, padding included.
        real: False at padding.
        audio_token: The placeholder token of a clip.

    Raises:
        ModelError: There is no clip, or more than one.
    """
    only_clip(request)
    name = request.question.question_id
    clip = np.flatnonzero((ids == audio_token) & real)
    if not len(clip):
        raise ModelError(f"question {name!r} gives the model no audio token")
    if clip[-1] - clip[0] + 1 != len(clip):
        raise ModelError(f"the clip of question {name!r} is not in one piece")
    ends = zip(AUDIO_POSITIONS, quarter_ends(len(clip)), strict=True)
    output = np.flatnonzero((ids != audio_token) & real)[-1]
    at = {OUTPUT_POSITION: int(output), **{end: int(clip[n]) for end, n in ends}}
    return TokenPositions(clip, at, int(np.flatnonzero(real)[-1]))


def locate_question_words(
    request: Request,
    ids: Int[np.ndarray, " n_tokens"],
    tokens_of: Callable[[str], Sequence[int]],
) -> dict[str, int]:
    """Where the question's words end: `q_attr`, `q_p` and `q_l`.

    Args:
        request: A question whose text comes after the clip.
        ids: Its tokens.
        tokens_of: Text to tokens, without special ones.

    Raises:
        ModelError: The text comes before the clip, so that hidden states there do not depend on
            the clip; or it is not found exactly once.
    """
    name = request.question.question_id
    parts = [part for role, parts in request.messages if role == "user" for part in parts]
    prompt = "".join(part.text for part in parts if isinstance(part, Text))
    if not isinstance(parts[0], AudioInput) or not isinstance(parts[-1], Text):
        raise ModelError(
            f"question {name!r} has its text before the clip, where hidden states do not depend "
            "on the clip; put the clip first, as `--prompt main_audio_first` does"
        )
    words = list(tokens_of(prompt))
    start = _only_occurrence(words, ids.tolist())
    if start is None or len(words) < 2:
        raise ModelError(f"the text of question {name!r} is not once among its tokens: {prompt}")
    last = start + len(words) - 1
    attribute = request.question.attribute
    for form in (attribute, f" {attribute}", f"the {attribute}", f" the {attribute}"):
        tokens = list(tokens_of(form))
        within = _only_occurrence(tokens, words)
        if within is not None:
            return {"q_attr": start + within + len(tokens) - 1, "q_p": last - 1, "q_l": last}
    raise ModelError(f"{attribute!r} is not once among the tokens of question {name!r}: {prompt}")


def _only_occurrence(part: Sequence[int], whole: Sequence[int]) -> int | None:
    """Where a run of tokens begins, if it occurs exactly once.

    >>> [_only_occurrence(part, [1, 2, 3, 1]) for part in ([2, 3], [1], [])]
    [1, None, None]
    """
    part, whole = list(part), list(whole)
    found = [
        n for n in range(len(whole) - len(part) + 1) if part and whole[n : n + len(part)] == part
    ]
    return found[0] if len(found) == 1 else None
