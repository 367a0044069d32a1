"""Questions, exact to the character.

To add a question: write its text below (or in a file of its own when it needs more than an
attribute) and name it in `PROMPTS`.

Source: VocalGrad, section 3.4; the blank line before the instruction is in the authors' code.
"""

from otoscope.registry import Registry

MAIN = (
    "Does the {attribute} increase or decrease over time?\n\n"
    'Answer with only one word: "increase" or "decrease".'
)

PROMPTS: Registry[str] = Registry("prompt", {"main": MAIN})
"""Templates with one slot, `{attribute}`: the words for what may have changed."""


def ask(prompt: str, attribute: str) -> str:
    """The question that a prompt of `PROMPTS` puts about an attribute.

    >>> ask("main", "volume").splitlines()[0]
    'Does the volume increase or decrease over time?'
    """
    return PROMPTS[prompt].format(attribute=attribute)
