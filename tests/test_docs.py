"""The documents say what the tests test."""

import re
from pathlib import Path

from tests.acoustics.test_codec import BAD_INPUT

ROOT = Path(__file__).parents[1]


def test_every_kind_of_file_is_in_the_table_with_its_answer():
    text = (ROOT / "docs" / "bad-input.md").read_text()
    answers = dict(re.findall(r"^\| (.+?) \| (accepted|refused) \|", text, re.MULTILINE))
    for kind, (_, expected) in BAD_INPUT.items():
        assert answers[kind] == ("refused" if isinstance(expected, str) else "accepted"), kind
