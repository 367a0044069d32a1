"""Self-contained pages: one file that loads nothing from anywhere, and escapes what it is given."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from otoscope.atomic import write_atomic

TEMPLATES = Path(__file__).parent / "templates"


def data_uri(content: bytes, media_type: str) -> str:
    """Bytes as a `data:` address.

    >>> data_uri(b"hi", "text/plain")
    'data:text/plain;base64,aGk='
    """
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def render(template: str, values: Mapping[str, Any], *, folder: Path | None = None) -> str:
    """A page's text. Strings are escaped unless they are `Markup`.

    Args:
        template: File name; usually one that extends `page.html.jinja`.
        values: What it asks for.
        folder: Where to look for templates before those of this package.

    Raises:
        jinja2.UndefinedError: The template asks for something that was not given.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, TEMPLATES] if folder else [TEMPLATES]),
        undefined=jinja2.StrictUndefined,  # a missing value is an error, not a gap on the page
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(values)


def write(path: Path, text: str, *, via: Path | None = None) -> Path:
    """Writes a page that is either whole or not there.

    What UTF-8 cannot say (half a surrogate pair from a file name) becomes a question mark.
    """
    return write_atomic(path, text.encode("utf-8", "replace"), via=via)
