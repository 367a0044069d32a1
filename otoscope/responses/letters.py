"""The parser of answers that name a lettered option.

Source: VocalGrad, appendix C.13, asks for the letter and scores by probabilities; a rule for
written answers is not published, so this one is ours. A bare letter inside a sentence is not taken
("A happy voice"): a letter counts when it is all there is, or when it is marked as an option.
"""

import re

from otoscope.responses.base import Parsed, Parser

LETTERS = "ABCDEFG"
ALONE = re.compile(r"[\s\"'“”‘’*_`(\[]*([A-G])[\s\"'“”‘’*_`)\].:]*", re.IGNORECASE)
MARKED = re.compile(
    r"""
      (?:^|[\s*])([A-G])[.):](?=[\s*]|$)             # C. fear
    | [(\[]([A-G])[)\]]                              # (C)
    | \*\*([A-G])\*\*                                # **C**
    | ["“]([A-G])["”]                                # "C"
    | \b(?:option|answer|Option|Answer)(?:[ ]is)?:?[ *]*([A-G])\b(?![’'])  # the answer is C
    """,
    re.VERBOSE,
)


def _decide(text: str) -> Parsed:
    if alone := ALONE.fullmatch(text.strip()):
        return Parsed(alone[1].upper(), "only letter")
    marked = {letter for groups in MARKED.findall(text) for letter in groups if letter}
    if len(marked) == 1:
        return Parsed(marked.pop(), "marked letter")
    return Parsed(None, "several letters" if marked else "no letter")


OPTION_LETTER = Parser(
    {letter.lower(): letter for letter in LETTERS},
    ("only letter", "marked letter", "several letters", "no letter"),
    _decide,
)
