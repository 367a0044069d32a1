"""The parser of answers that name a lettered option.

Source: VocalGrad, appendix C.13, asks for the letter and scores by probabilities; a rule for
written answers is not published, so this one is ours. A letter counts when it is all there is, or
when it is marked as an option: at the start of a line, in brackets or quotes, or named as the
answer. A letter with a point or a colon elsewhere ("Grade A.", "Speaker A: …") is no mark of its
own, but contradicts another one.
"""

import re
import unicodedata

from otoscope.responses.base import Parsed, Parser

LETTERS = "ABCDEFG"
ALONE = re.compile(r"[\s\"'“”‘’*_`(\[{$.:\-•>]*([A-G])[\s\"'“”‘’*_`)\]}$.:;,!。、]*", re.IGNORECASE)
MARKED = re.compile(
    r"""
      (?m:^)[\s*_>\-•]*([A-G])[.):](?=[\s*_]|$)      # C. fear, at the start of a line
    | [(\[]([A-G])[)\]]                              # (C)
    | \*\*([A-G])\*\*                                # **C**
    | ["“'‘]([A-G])["”'’]                            # "C", {"answer": "C"}
    | \\boxed\{\s*(?:\\text\{)?([A-G])\b             # \boxed{C}
    | <(?:answer|option|choice|final_answer)>\s*([A-G])(?=\s*(?:[.):]|</))  # <answer>C</answer>
    | (?:\b(?i:option|answer|choice|choose|select|pick)                     # the answer is C
        (?:[ ](?i:is|would[ ]be|option))?|(?:答案|选项|选择|选)[是为]?)
      (?:\s*[:=]\s*|[ *]*)[*]*([B-G]|A(?![ ]+[A-Z]{2}))(?![A-Za-z0-9_’'])
    """,
    re.VERBOSE,
)
LOOSE = re.compile(r"(?:^|[\s*])([A-G])[.):](?=[\s*]|$)")


def _decide(text: str) -> Parsed:
    text = unicodedata.normalize("NFKC", text)  # full-width letters and brackets
    if alone := ALONE.fullmatch(text.strip()):
        return Parsed(alone[1].upper(), "only letter")
    marked = {letter for groups in MARKED.findall(text) for letter in groups if letter}
    if not marked:
        return Parsed(None, "no letter")
    if len(marked | set(LOOSE.findall(text))) > 1:
        return Parsed(None, "several letters")
    return Parsed(marked.pop(), "marked letter")


OPTION_LETTER = Parser(
    {letter.lower(): letter for letter in LETTERS},
    ("only letter", "marked letter", "several letters", "no letter"),
    _decide,
)
