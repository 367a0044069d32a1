"""The published selection of LoquaciousSet clips: 50 by women, 50 by men.

The options of the authors' own draw are lost, so this gives another hundred than their list.

Source: VocalGrad, appendix C.8 (`docs/papers.md`); seeds and rules from the authors' public code.
"""

import random
from collections.abc import Sequence

from builders.corpora.base import CorpusError

SEED = 43
N_TEST = 100
SEXES = {
    "female": {"f", "female", "feminine", "female_feminine"},
    "male": {"m", "male", "masculine", "male_masculine"},
}


def sex_of(label: str) -> str:
    """`female`, `male`, or empty for any other label.

    >>> sex_of("F"), sex_of("male_masculine"), sex_of("unknown")
    ('female', 'male', '')
    """
    return next((sex for sex, names in SEXES.items() if label.strip().lower() in names), "")


def draw_rows(labels: Sequence[str], rng: random.Random, *, n_rows: int = N_TEST) -> list[int]:
    """Rows in published order, evenly spread over the two sexes.

    Args:
        labels: The column `sex`, for every row in order.
        rng: Used for which sex gets an odd row, for each sex in turn, and for the order of the
            union.
        n_rows: How many to draw.

    Raises:
        CorpusError: Too few rows of one sex.
    """
    sexes = sorted(SEXES)
    shuffled = list(sexes)
    rng.shuffle(shuffled)
    each, over = divmod(n_rows, len(sexes))
    selected: list[int] = []
    for sex in sexes:
        rows = [row for row, label in enumerate(labels) if sex_of(label) == sex]
        target = each + (sex in shuffled[:over])
        if len(rows) < target:
            raise CorpusError(
                f"the published selection needs {target} rows of {sex} speakers, found "
                f"{len(rows)} among {len(labels)}"
            )
        rng.shuffle(rows)
        selected += rows[:target]
    rng.shuffle(selected)
    return selected
