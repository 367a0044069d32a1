"""The user's emotion over a conversation: how well it is perceived, and what guessing is worth."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class TrajectoryScore(NamedTuple):
    """One perceived trajectory.

    Attributes:
        exact: Every turn right.
        turns: Share of turns right.
        onset: The first negative turn right; None for a trajectory without one.
        valence: Share of turns on the right side: negative or not.
    """

    exact: bool
    turns: float
    onset: bool | None
    valence: float


def score_trajectory(
    perceived: Mapping[int, str], gold: Mapping[int, str], negative: Sequence[str]
) -> TrajectoryScore:
    """Compares the perceived emotion of each user turn with the right one.

    Args:
        perceived: By number of the turn; a missing turn is wrong.
        gold: Of every user turn.
        negative: Emotions that count as negative.

    Raises:
        ValueError: There is no turn.

    >>> score_trajectory({1: "neutral", 3: "angry"}, {1: "neutral", 3: "sad"}, ["sad", "angry"])
    TrajectoryScore(exact=False, turns=0.5, onset=True, valence=1.0)
    """
    if not gold:
        raise ValueError("a trajectory needs at least one turn")
    n_right = sum(perceived.get(turn) == emotion for turn, emotion in gold.items())
    sides = [
        turn in perceived and (perceived[turn] in negative) == (emotion in negative)
        for turn, emotion in gold.items()
    ]
    onset = _onset(gold, negative)
    return TrajectoryScore(
        exact=n_right == len(gold),
        turns=n_right / len(gold),
        onset=None if onset is None else _onset(perceived, negative) == onset,
        valence=sum(sides) / len(sides),
    )


def _onset(emotions: Mapping[int, str], negative: Sequence[str]) -> int | None:
    return min((turn for turn, emotion in emotions.items() if emotion in negative), default=None)


def chance_of_trajectory(
    n_turns: int, n_labels: int, *, structure: tuple[int, int] | None = None
) -> float:
    """Probability that a guess has every turn right.

    Args:
        structure: Where the guesser knows that one set of emotions stands before an onset and
            another from it on: their sizes. The onset is any turn but the first, and every
            trajectory is as likely.

    >>> chance_of_trajectory(5, 6) == 6**-5
    True
    >>> chance_of_trajectory(5, 6, structure=(2, 2)) == 1 / 128
    True
    """
    if n_turns < 1 or n_labels < 1:
        raise ValueError(f"{n_turns} turns and {n_labels} labels")
    if structure is None:
        return float(n_labels**-n_turns)
    before, after = structure
    return 1 / sum(before**k * after ** (n_turns - k) for k in range(1, n_turns))
