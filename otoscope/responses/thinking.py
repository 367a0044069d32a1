"""What a model wrote before its answer, in the answer's own text, and the part behind it.

Models that think first mark it with tags of their own. The raw text is kept as it is; parsers read
what stands outside a thought. A thought that never ends has no answer behind it.
"""

import re
from typing import NamedTuple

NAMES = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratchpad|analysis)"
OPENING = re.compile(
    rf"<{NAMES}(?:\s[^<>]*)?>|\[(?:THINK|REASONING)\]|◁think▷"
    r"|<\|(?:START_THINKING|begin_of_thought|thinking|think)\|>"
    r"|(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)\b[^<]*<\|message\|>",
    re.IGNORECASE,
)
CLOSING = re.compile(
    rf"</{NAMES}\s*>|\[/(?:THINK|REASONING)\]|◁/think▷"
    r"|<\|(?:END_THINKING|end_of_thought|/thinking|/think)\|>|<\|end\|>",
    re.IGNORECASE,
)
TAG = re.compile(f"(?P<opening>{OPENING.pattern})|(?P<closing>{CLOSING.pattern})", re.IGNORECASE)
WRAPPING = re.compile(
    r"<\|(?:start\|>assistant<\|)?channel\|>final\b[^<]*<\|message\|>"
    r"|<\|(?:START|END)_RESPONSE\|>|<\|(?:begin|end)_of_solution\|>|<\|return\|>",
    re.IGNORECASE,
)
"""Marks around the answer of models that mark it too."""


class Thinking(NamedTuple):
    """An answer's text apart from its thoughts.

    Attributes:
        answer: What stands outside thoughts; the text itself where there are none.
        there: There is a thought.
        unfinished: One that never ends.
    """

    answer: str
    there: bool = False
    unfinished: bool = False


def apart_from_thinking(text: str) -> Thinking:
    """Splits a text into its thoughts and the answer.

    A closing tag without an opening one ends a thought from the beginning: chat templates put the
    opening tag into the prompt.

    >>> apart_from_thinking("<think>No?</think> Yes")
    Thinking(answer=' Yes', there=True, unfinished=False)
    >>> apart_from_thinking("a thought</think>Yes").answer
    'Yes'
    """
    kept, thinking, end, there = [""], False, 0, False
    for tag in TAG.finditer(text):
        opens = tag["opening"] is not None
        if opens and not thinking:
            kept.append(text[end : tag.start()])
        elif not opens and not thinking:
            if tag[0].lower() == "<|end|>":
                kept.append(text[end : tag.start()])
            else:
                kept = [""]
        thinking, end = opens, tag.end()
        there = there or opens or tag[0].lower() != "<|end|>"
    if not there:
        return Thinking(text)
    if thinking:
        return Thinking("", True, True)
    answer = "".join([*kept, text[end:]])
    return Thinking(WRAPPING.sub("", answer), True)
