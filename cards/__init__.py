"""Card templates and the one way to fill them. Every number in a card is computed."""

from pathlib import Path
from typing import Any

import jinja2

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    undefined=jinja2.StrictUndefined,  # a missing value fails the build instead of leaving a gap
    autoescape=False,  # cards are Markdown
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def render_card(template: str, **values: Any) -> str:
    """A card's text.

    Raises:
        jinja2.UndefinedError: The template asks for something that was not given.
    """
    return TEMPLATES.get_template(template).render(**values)
