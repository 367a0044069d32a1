"""Questions, exact to the character. `otoscope.prompts.questions` puts them to rows.

To add a question: declare it below, or in a file of its own when it is one of a family, and name
it in `PROMPTS`. Every prompt also exists with the clip before the text, as `{name}_audio_first`.

Source: VocalGrad, section 3.4, appendices C.6, C.7, C.9; the blank line before the instruction and
the missing comma before "or" are in the authors' code.
"""

from dataclasses import replace

from otoscope.prompts.base import Prompt, offering
from otoscope.prompts.paraphrases import PARAPHRASES
from otoscope.registry import Registry

UP_DOWN = {"increase": "increase", "decrease": "decrease"}
DOWN_UP = {"decrease": "decrease", "increase": "increase"}
YES_NO = {"yes": "yes", "no": "no"}
MAIN = offering("Does the {attribute} increase or decrease over time?", *UP_DOWN)
AUDIO_REF = offering(
    "Does the {attribute} of this audio clip increase or decrease over time?", *UP_DOWN
)

TEXT_FIRST: dict[str, Prompt] = {
    "main": Prompt(MAIN, UP_DOWN),
    "swap_order": Prompt(
        offering("Does the {attribute} decrease or increase over time?", *DOWN_UP), DOWN_UP
    ),
    "audio_ref": Prompt(AUDIO_REF, UP_DOWN),
    "swap_order_audio_ref": Prompt(
        offering(
            "Does the {attribute} of this audio clip decrease or increase over time?", *DOWN_UP
        ),
        DOWN_UP,
    ),
    **PARAPHRASES,
    "change": Prompt(
        offering("Does the {attribute} vary with time?", *YES_NO),
        YES_NO,
        parser="yes_no",
        rows="both",
        clip_label="yes",
        source_label="no",
    ),
    "ternary": Prompt(
        offering("How does the {attribute} vary with time?", *UP_DOWN, "constant"),
        UP_DOWN | {"constant": "constant"},
        parser="ternary",
        rows="both",
        source_label="constant",
    ),
    "source_bias": Prompt(MAIN, UP_DOWN, rows="sources"),
}

PROMPTS: Registry[Prompt] = Registry(
    "prompt",
    {
        **TEXT_FIRST,
        **{f"{name}_audio_first": replace(p, audio_first=True) for name, p in TEXT_FIRST.items()},
        "few_shot": Prompt(AUDIO_REF, UP_DOWN, few_shot=True),
    },
)
"""Ways of asking, by name."""


def prompt_text(prompt: str, attribute: str) -> str:
    """The text of a prompt of `PROMPTS` about an attribute.

    >>> prompt_text("main", "volume").splitlines()[0]
    'Does the volume increase or decrease over time?'
    """
    return PROMPTS[prompt].text(attribute)
