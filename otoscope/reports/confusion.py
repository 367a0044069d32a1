"""Pictures of which label is answered where another one is right."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int
from markupsafe import Markup, escape

from otoscope.reports.strips import css_class

MOST_LABELS = 12
"""More labels than that are not drawn; they are in the table."""

SIZE, NAMES = 240, 78
LONGEST = 13  # characters of a label in a picture

ConfusionCounts = Int[np.ndarray, "n_labels n_answers"]
"""By true label and by answer, the last column for answers that name no label."""


def confusion_pictures(
    counts: Mapping[str, ConfusionCounts], labels: Sequence[str]
) -> list[tuple[str, Markup]]:
    """A picture for each name: rows are true labels, columns answers; none of many labels."""
    if len(labels) > MOST_LABELS:
        return []
    return [(name, _picture(name, own, labels)) for name, own in counts.items()]


def _picture(name: str, counts: ConfusionCounts, labels: Sequence[str]) -> Markup:
    shown = counts if counts[:, -1].any() else counts[:, :-1]
    columns = [*labels, "none"][: shown.shape[1]]
    across, down = (SIZE - NAMES) / len(columns), (SIZE - NAMES) / len(labels)
    parts = []
    for i, label in enumerate(labels):
        y = down * (i + 0.5)
        parts.append(
            f'<text x="{NAMES - 5}" y="{y + 3:.1f}" text-anchor="end">{_short(label)}</text>'
        )
        for k, column in enumerate(columns):
            n, x = int(shown[i, k]), NAMES + across * k
            share = n / max(1, counts[i].sum())
            title = escape(f"{label} as {column}: {n} ({100 * share:.0f} %)")
            parts.append(
                f'<g class="{css_class(0 if i == k else 1)}"><title>{title}</title>'
                f'<rect class="cell" x="{x:.1f}" y="{down * i:.1f}" width="{across - 1:.1f}" '
                f'height="{down - 1:.1f}" style="opacity: {0.06 + 0.74 * share:.2f}"/></g>'
            )
            if n:
                parts.append(
                    f'<text class="ink" x="{x + across / 2:.1f}" y="{y + 3:.1f}" '
                    f'text-anchor="middle">{n}</text>'
                )
    for k, column in enumerate(columns):
        x, y = NAMES + across * (k + 0.5) + 3, SIZE - NAMES + 6
        parts.append(
            f'<text transform="translate({x:.1f} {y}) rotate(-60)" text-anchor="end">'
            f"{_short(column)}</text>"
        )
    alt = f"Confusion of labels by {name}: rows are true, columns predicted"
    return Markup('<svg class="panel" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        SIZE, SIZE, alt
    ) + Markup("".join(parts) + "</svg>")


def _short(label: str) -> Markup:
    return escape(label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…")
