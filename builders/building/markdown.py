"""Text from outside in a card."""

import json
import re

from otoscope.reports.tables import in_markdown


def in_text(text: object) -> str:
    r"""Text from outside as plain text of the card, wherever in a line it stands.

    >>> in_text("--- <b>\x1b"), in_text("1. a*b"), in_text("# x")
    ('\\--- &lt;b>\\\\x1b', '1\\. a\\*b', '\\# x')
    """
    return re.sub(r"^(\d*)([-+#>=~.)])", r"\1\\\2", in_markdown(str(text)))


def in_code(text: str) -> str:
    """Text from outside as a string of Python.

    >>> in_code('a"b')
    '"a\\\\"b"'
    """
    return json.dumps(text, ensure_ascii=not text.isprintable())
