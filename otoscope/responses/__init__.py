"""Answers into labels, or None and why. A parser never guesses.

To add a parser: declare it below (`words` has three rules to build on) or in a file of its own, and
name it in `PARSERS`. A rule that is there stays as it is: published answers are scored by it.
"""

from otoscope.errors import InvalidValue
from otoscope.registry import Registry
from otoscope.responses.base import Parsed, Parser
from otoscope.responses.closed_set import PREFIX, parser_of_name
from otoscope.responses.letters import OPTION_LETTER
from otoscope.responses.structured import (
    CONTEXT_CHOICE,
    EMOTION,
    EMOTION_TRAJECTORY,
    REPLY_CHOICE,
    REPLY_MATCHING,
)
from otoscope.responses.words import first_word, one_label, only_word

RISING = (
    "increase increases increasing rise rises rising upward upwards faster "
    "accelerate accelerates accelerating"
)
FALLING = (
    "decrease decreases decreasing fall falls falling downward downwards slower "
    "decline declines declining decelerate decelerates decelerating"
)
BARE = {"increase": "increase", "decrease": "decrease"}
THIRD_PERSON = {"increases": "increase", "decreases": "decrease"}

PARSERS: Registry[Parser] = Registry(
    "parser",
    {
        "paper": one_label(BARE | THIRD_PERSON),
        "paraphrase": one_label(
            dict.fromkeys(RISING.split(), "increase") | dict.fromkeys(FALLING.split(), "decrease")
        ),
        "strict": only_word(BARE),
        "ternary": first_word(BARE | {"constant": "constant"}, more=THIRD_PERSON),
        "yes_no": first_word({"yes": "yes", "no": "no"}),
        "option_letter": OPTION_LETTER,
        "reply_choice": REPLY_CHOICE,
        "reply_matching": REPLY_MATCHING,
        "context_choice": CONTEXT_CHOICE,
        "emotion": EMOTION,
        "emotion_trajectory": EMOTION_TRAJECTORY,
    },
)
"""Rules by name; `Prompt.parser` and the metrics' `parser=` name one."""

__all__ = ["PARSERS", "Parsed", "Parser", "open_parser", "parser_title"]


def open_parser(name: str) -> Parser:
    """The parser of that name: an entry of `PARSERS`, or one of a closed set.

    Raises:
        LookupError: There is none.
        InvalidValue: It names a closed set that cannot be read.
    """
    return parser_of_name(name) if name.startswith(PREFIX) else PARSERS[name]


def parser_title(name: str) -> str:
    """A parser's name for people; that of a closed set says how many labels it has.

    >>> parser_title('closed_set:{"labels": ["a", "b"], "letters": true, "synonyms": {}}')
    'closed set of 2 labels, or their letters'
    >>> parser_title("paper")
    'paper'
    """
    if not name.startswith(PREFIX):
        return name
    try:
        parser = parser_of_name(name)
    except InvalidValue:
        return name
    letters = ", or their letters" if parser.letters else ""
    return f"closed set of {len(parser.labels)} labels{letters}"
