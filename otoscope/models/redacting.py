"""Keys out of error messages and addresses. Answers are never altered."""

import base64
import re
from urllib.parse import quote

LONGEST_DETAIL = 300
SHORTEST_KEY = 8
"""A shorter text is no secret, and stands in many words that are none."""

KEY_LIKE = re.compile(
    r"\b(?:sk|pk|gsk|hf|xai|nvapi)[-_][-\w*]{8,}|\bAIza[-\w*]{8,}"
    r"|(?i:\b(?:Bearer|Basic)\s+(?=\S*[\d*])[^\s'\"]{8,})"
)


class Redactor:
    """Removes a key of at least `SHORTEST_KEY` characters from errors, in any of its forms."""

    def __init__(self, key: str | None) -> None:
        key = key if key and len(key) >= SHORTEST_KEY else None
        forms = {key, quote(key, safe=""), base64.b64encode(key.encode()).decode()} if key else ()
        self._forms = sorted(forms, key=len, reverse=True)

    def line(self, text: str) -> str:
        """An error's text without the key and what looks like one; one line of bounded length."""
        for form in self._forms:
            text = text.replace(form, "[key]")
        text = KEY_LIKE.sub("[key]", text)
        # a server's text must not steer the terminal that shows it
        shown = "".join(c if c.isprintable() else " " for c in text)
        return " ".join(shown.split())[:LONGEST_DETAIL]

    def finds(self, text: str) -> bool:
        """Whether a text holds the key, or what looks like one."""
        return any(form in text for form in self._forms) or bool(KEY_LIKE.search(text))

    def __repr__(self) -> str:
        return f"Redactor({len(self._forms)} forms)"


def without_credentials(url: str) -> str:
    """A URL without user, password, query and fragment.

    >>> without_credentials("https://me:secret@example.org:8000/v1?key=secret")
    'https://example.org:8000/v1'
    """
    scheme, colon, rest = url.partition("://")
    host_and_path = rest if colon else scheme
    host, slash, path = re.split(r"[?#]", host_and_path)[0].partition("/")
    return f"{scheme if colon else ''}{colon}{host.rpartition('@')[2]}{slash}{path}"
