"""Where in a question's tokens the clip is, where the answer is predicted, where the words end.

Source: VocalGrad, appendix D (positions); how the words are searched for is in the authors' code.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from otoscope.models.base import AudioInput, ModelError, Request
from otoscope.prompts.parts import Text
from otoscope.representations.pooling import quarter_ends
from otoscope.representations.sites import AUDIO_POSITIONS


class TokenPositions(NamedTuple):
    """Places in one row of tokens.

    Attributes:
        clip: Every place of the clip.
        at: Name of a single place to the place: `o`, `a1` to `a4`, `q_attr`, `q_p`, `q_l`.
        end: The last place of all, which an answer would come behind.
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
    """The clip, its quarters, and `o`, the last place that is no sound.

    Args:
        asked: The question, for messages.
        ids: Its tokens, padding included.
        real: Where they are no padding.
        audio_token: Stands wherever sound is.

    Raises:
        ModelError: There is no clip, or more than one.
    """
    name = request.question.question_id
    if len(request.audio_inputs) != 1:
        raise ModelError(
            f"question {name!r} has {len(request.audio_inputs)} clips; "
            "representations are those of one"
        )
    clip = np.flatnonzero((ids == audio_token) & real)
    if not len(clip):
        raise ModelError(f"question {name!r} gives the model no place with sound")
    if clip[-1] - clip[0] + 1 != len(clip):
        raise ModelError(f"the clip of question {name!r} is not in one piece")
    ends = zip(AUDIO_POSITIONS, quarter_ends(len(clip)), strict=True)
    output = np.flatnonzero((ids != audio_token) & real)[-1]
    at = {"o": int(output), **{end: int(clip[n]) for end, n in ends}}
    return TokenPositions(clip, at, int(np.flatnonzero(real)[-1]))


def locate_question_words(
    request: Request,
    ids: Int[np.ndarray, " n_tokens"],
    tokens_of: Callable[[str], Sequence[int]],
) -> dict[str, int]:
    """Where the question's words end: `q_attr`, `q_p` and `q_l`.

    Args:
        asked: A question whose words come after the clip.
        ids: Its tokens.
        tokens_of: Text to tokens, none added.

    Raises:
        ModelError: The words come before the clip, so that nothing is known of it there; or they
            are not to be found exactly once.
    """
    name, prompt = request.question.question_id, request.question.prompt
    if not isinstance(request.parts[0], AudioInput) or not isinstance(request.parts[-1], Text):
        raise ModelError(
            f"question {name!r} has its words before the clip, where the model has not heard it; "
            "ask with the clip first, as `--prompt main_audio_first` does"
        )
    words = list(tokens_of(prompt))
    start = _only_place(words, ids.tolist())
    if start is None or len(words) < 2:
        raise ModelError(f"the words of question {name!r} are not once among its tokens: {prompt}")
    last = start + len(words) - 1
    attribute = request.question.attribute
    for form in (attribute, f" {attribute}", f"the {attribute}", f" the {attribute}"):
        tokens = list(tokens_of(form))
        within = _only_place(tokens, words)
        if within is not None:
            return {"q_attr": start + within + len(tokens) - 1, "q_p": last - 1, "q_l": last}
    raise ModelError(f"{attribute!r} is not once among the tokens of question {name!r}: {prompt}")


def _only_place(part: Sequence[int], whole: Sequence[int]) -> int | None:
    """Where a run of tokens begins, if it is there exactly once.

    >>> _only_place([2, 3], [1, 2, 3]), _only_place([1], [1, 1]), _only_place([], [1])
    (1, None, None)
    """
    part, whole = list(part), list(whole)
    found = [
        n for n in range(len(whole) - len(part) + 1) if part and whole[n : n + len(part)] == part
    ]
    return found[0] if len(found) == 1 else None
