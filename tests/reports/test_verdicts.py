"""The one rule by which runs are scored."""

import pytest

from otoscope.reports.verdicts import Verdict, verdict


def row(**columns):
    return {"status": "ok", "text": "increase", "label": "increase", "parser": "paper"} | columns


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, Verdict("increase", True, "parsed", "one direction")),
        ({"label": "decrease"}, Verdict("increase", False, "parsed", "one direction")),
        ({"label": None}, Verdict("increase", False, "parsed", "one direction")),
        ({"text": "Hm."}, Verdict(None, False, "unparsed", "no word")),
        ({"text": "Hm.", "label": None}, Verdict(None, False, "unparsed", "no word")),
        ({"text": None}, Verdict(None, False, "unparsed", "empty")),
        ({"text": "rise"}, Verdict(None, False, "unparsed", "no word")),
        ({"text": "rise", "parser": "paraphrase"},
         Verdict("increase", True, "parsed", "one direction")),
        ({"parser": None}, Verdict("increase", True, "parsed", "one direction")),
        ({"status": "refused"}, Verdict(None, False, "refused", None)),
        ({"status": "filtered"}, Verdict(None, False, "filtered", None)),
        ({"status": "timeout", "text": None}, Verdict(None, False, "timeout", None)),
        ({"status": None, "text": None}, Verdict(None, False, "unanswered", None)),
    ],
)  # fmt: skip
def test_every_way_an_answer_can_be(columns, expected):
    assert verdict(row(**columns)) == expected


def test_an_unknown_parser_is_an_error():
    with pytest.raises(LookupError, match="did you mean 'paper'"):
        verdict(row(parser="papr"))
