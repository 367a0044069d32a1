"""When each recognised word is spoken: cross attention of known heads, aligned with the tokens.

A token begins where the path of dynamic time warping first reaches the decoder's step that
generates it. (transformers' own token times leave out the step that generates the first one.)

Source: A. Radford et al. (2023), and the published code's `timing.py`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.ndimage import median_filter

from otoscope.speech.recognition import Word

SPACE = "Ġ"
"""How tokens of Whisper write the space before a word."""
FRAME_S = 0.02
"""Of the encoder's output."""


def token_times(
    model: Any, encoded: Any, prompt: Sequence[int], tokens: Sequence[int], duration_s: float
) -> list[float]:
    """When each token begins, and when the last one ends: one more than there are tokens.

    Args:
        model: A Whisper of transformers, whose generation settings name its alignment heads.
        encoded: The encoder's output for the one clip.
        prompt: What stands before the tokens; its last one generates the first.
        tokens: Of text.
        duration_s: Of the clip; frames behind it are left out.
    """
    import torch

    ids = torch.tensor([[*prompt, *tokens]], device=encoded.last_hidden_state.device)
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")  # the others give no weights
    try:
        attention = model(
            encoder_outputs=encoded, decoder_input_ids=ids, output_attentions=True, use_cache=False
        ).cross_attentions
    finally:
        model.set_attn_implementation(before)
    heads = model.generation_config.alignment_heads
    n_frames = max(2, min(attention[0].shape[-1], round(duration_s / FRAME_S)))
    weights = torch.stack([attention[layer][0, head] for layer, head in heads])
    steps = weights[:, len(prompt) - 1 :, :n_frames].double().cpu().numpy()
    return [at * FRAME_S for at in alignment(steps, model.config.median_filter_width)]


def alignment(weights: Float[np.ndarray, "n_heads n_steps n_frames"], width: int) -> list[int]:
    """The frame at which each decoding step begins.

    Args:
        weights: Of attention to each frame.
        width: Of the median filter over frames.
    """
    deviation = weights.std(axis=1, keepdims=True)
    scaled = (weights - weights.mean(axis=1, keepdims=True)) / np.maximum(deviation, 1e-12)
    smooth = median_filter(scaled, size=(1, 1, width), mode="mirror")
    return monotone_path(-smooth.mean(axis=0))


def monotone_path(cost: Float[np.ndarray, "n_rows n_columns"]) -> list[int]:
    """The first column of each row on the cheapest path from corner to corner.

    A step goes down, right, or both.

    >>> monotone_path(np.array([[0.0, 0, 9, 9], [9, 9, 0, 0]]))
    [0, 2]
    """
    n_rows, n_columns = cost.shape
    total = np.full((n_rows + 1, n_columns + 1), np.inf)
    total[0, 0] = 0
    for i in range(n_rows):
        entered = np.minimum(total[i, :-1], total[i, 1:])  # from the row above, straight or aslant
        own = total[i + 1]
        for j in range(n_columns):
            own[j + 1] = cost[i, j] + min(entered[j], own[j])
    first = [0] * n_rows
    i, j = n_rows, n_columns
    while i > 0:
        first[i - 1] = j - 1
        aslant, above, left = total[i - 1, j - 1], total[i - 1, j], total[i, j - 1]
        best = min(aslant, above, left)
        if aslant == best:
            i, j = i - 1, j - 1
        elif above == best:
            i -= 1
        else:
            j -= 1
    return first


def words_of(
    tokens: Sequence[int],
    times: Sequence[float],
    tokenizer: Any,
    start_s: float,
    within: tuple[float, float],
) -> list[Word]:
    """Words with their times; marks such as a full stop belong to the word before.

    Args:
        tokens: Of text.
        times: From `token_times`.
        tokenizer: Of the model.
        start_s: Is added to all times.
        within: Where speech begins and ends; alignment alone gives the silence before it to the
            first word, and the silence behind it to the last one.
    """
    pieces = tokenizer.convert_ids_to_tokens(list(tokens))
    starts = [n for n, piece in enumerate(pieces) if n == 0 or piece.startswith(SPACE)]
    edges = np.maximum.accumulate(np.clip([*(times[n] for n in starts), times[-1]], *within))
    found = []
    for n, (first, last) in enumerate(zip(starts, [*starts[1:], len(tokens)], strict=True)):
        text = tokenizer.decode(list(tokens[first:last])).strip()
        if text:
            found.append(Word(text, start_s + float(edges[n]), start_s + float(edges[n + 1])))
    return found
