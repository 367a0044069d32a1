"""Chat templates that name today's date: they get a fixed one.

A prompt that changes overnight would change hidden states and answers, and answers cached yesterday
would be those of another prompt. `transformers` gives templates a function `strftime_now`; a macro
of that name, put in front of a template, comes before it. The date is in a model's description, and
so in run.json, in features and in the key of every cached answer.
"""

from datetime import datetime

FIXED = datetime(2026, 1, 1, 12)
"""A Thursday at noon."""

CODES = (
    "-d", "-m", "-H", "-I", "-M", "-S", "-j", "-y", "A", "a", "B", "b", "h", "c", "D", "d", "e",
    "F", "f", "G", "g", "H", "I", "j", "k", "l", "M", "m", "n", "p", "R", "r", "S", "s", "T", "t",
    "U", "u", "V", "W", "w", "X", "x", "Y", "y", "Z", "z", "%",
)  # fmt: skip
"""What may follow % in a format; % itself last."""


def uses_clock(template: str) -> bool:
    """Whether a chat template can see the date.

    >>> uses_clock("Today is {{ strftime_now('%d %b %Y') }}.")
    True
    """
    return "strftime_now" in template


def with_fixed_clock(template: str) -> str:
    """A template that renders the same text on every day.

    >>> import jinja2
    >>> text = with_fixed_clock("{{ strftime_now('%d %b %Y, %H:%M') }}")
    >>> jinja2.Template(text).render()
    '01 Jan 2026, 12:00'
    """
    values = {f"%{code}": FIXED.strftime(f"%{code}") for code in CODES}
    replaced = "".join(f"|replace({code!r}, {value!r})" for code, value in values.items())
    # the empty expression keeps a line break at the template's beginning, as blocks would not
    return (
        "{% macro strftime_now(format) %}{{ format"
        + replaced
        + " }}{% endmacro %}{{ '' }}"
        + (template)
    )
