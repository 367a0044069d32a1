"""The table of raw answers, and the signs that a rule is blind to what one says."""

import csv
import json
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.responses import PARSERS
from otoscope.responses.parse_audit import audit_texts
from otoscope.responses.signs import SHAPES, signs_of

OWN = Path(__file__).parents[1] / "data" / "judge_answers.csv"
REAL = Path(__file__).parents[2].parent / "shared" / "data" / "real" / "outputs"
PAPER = PARSERS["paper"]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (None, "empty"),
        ("", "empty"),
        (" \n", "empty"),
        ("Increase ", "exact"),
        ("decreases", "exact"),
        ("Increase.", "word with marks"),
        ("**decrease**", "word with marks"),
        ("_increase_", "word with marks"),
        ("“Increase”", "word with marks"),
        ("increasing", "other word"),
        ("in-crease", "other word"),
        ("The", "other word"),
        ("...", "other word"),
        ("The volume of the", "open end"),
        ("increase decrease", "open end"),
        ("The volume increases.", "sentence"),
        ('It says "increase."', "sentence"),
        ("It rises (I think!)", "sentence"),
    ],
)
def test_shape(text, shape):
    assert signs_of(text, PAPER).shape == shape


@pytest.mark.parametrize("text", ["The volume of the", "The volume increases."])
def test_what_the_run_calls_truncated_is_truncated_whatever_it_ends_in(text):
    assert signs_of(text, PAPER, truncated=True).shape == "truncated"
    assert signs_of("increase", PAPER, truncated=True).shape == "exact"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't listen to this.",
        "I’m sorry.",
        "As an AI language model, I have no ears.",
        "I am unable to hear the clip",
        "I cannot reliably determine the trend.",
        "I don't have the ability to process sound.",
        "No audio was given.",
        "Please provide the clip",
    ],
)
def test_refusing(text):
    assert signs_of(text, PAPER).refusing


@pytest.mark.parametrize("text", ["increase", "It cannot increase", "The sorrow increases"])
def test_not_refusing(text):
    assert not signs_of(text, PAPER).refusing


def test_uncertain():
    for text in ("It might increase.", "Perhaps a decrease", "It seems to increase", "Not sure."):
        assert signs_of(text, PAPER).uncertain, text
    for text in ("In May it increases", "increase", "surely increase"):
        assert not signs_of(text, PAPER).uncertain, text


@pytest.mark.parametrize(
    ("text", "blind"),
    [
        ("It does not increase.", True),
        ("It doesn’t really increase", True),
        ("There is no clear decrease", True),
        ("It does not in fact really increase", True),  # three words between
        ("It increases rather than falling", True),
        ("No, it decreases", False),
        ("Not at all. Increase", False),
        ("It does not stay the same: increase", False),
        ("It does not stay as it was but increases", False),  # further than three words away
        ("increase", False),
        ("It does not increase or decrease", False),  # no label is taken
    ],
)
def test_blind_to_negation(text, blind):
    assert signs_of(text, PAPER).blind_negation is blind


@pytest.mark.parametrize(
    ("text", "blind"),
    [
        ("It is increasing.", True),
        ("The volume increased", True),
        ("The pitch rises", True),
        ("It gets louder", True),
        ("_increase_", True),  # an underscore is part of a word to the rule
        ("in\u200bcrease", True),
        ("It increases before falling", True),  # contradicted by what it does not see
        ("It increases, rising all the time", False),
        ("increase", False),
        ("It increases and decreases, rising", False),  # it sees the ambiguity
        ("I cannot tell", False),
        ("", False),
    ],
)
def test_blind_to_other_words(text, blind):
    assert signs_of(text, PAPER).blind_words is blind


def test_what_one_rule_is_blind_to_another_sees():
    assert signs_of("rising", PAPER).unseen
    assert not signs_of("rising", PARSERS["paraphrase"]).unseen
    assert signs_of("It increases.", PARSERS["strict"]).blind_words
    assert not signs_of("It increases.", PAPER).blind_words


@pytest.mark.parametrize(
    ("parser", "text", "blind"),
    [
        ("paper", "答案是increase。", True),
        ("paper", "音量increase", True),
        ("paper", "Ｉｎｃｒｅａｓｅ", True),
        ("paper", "громкостьincrease", True),
        ("paper", "2increase", True),
        ("paper", "increase。", False),
        ("paper", "increase, 音量decrease", True),
        ("paper", "éincrease", False),
        ("yes_no", "答案是yes", True),
        ("yes_no", "ｎｏ", True),
        ("ternary", "音量constant", True),
        ("ternary", "constant", False),
        ("option_letter", "Grade B.", True),
        ("option_letter", "Speaker A: angry words. It is neutral", True),
        ("option_letter", "The answer is B, as A and C are not", True),
        ("option_letter", "The answer is B", False),
        ("option_letter", "A happy voice", False),
        ("option_letter", "C. fear", False),
        ("option_letter", "(A) or (B)", False),  # it sees the ambiguity
        ("paper", "<think>is it rising?</think>increase", False),
        ("paper", "<think>decrease</think>it is rising", True),
        ("paper", "<think>it is rising", False),
    ],
)
def test_blind_to_other_forms(parser, text, blind):
    assert signs_of(text, PARSERS[parser]).blind_words is blind


def test_thoughts_are_rules_of_their_own():
    table = audit_texts(["<think>up?</think>increase", "<think>hm", "increase"])
    assert table.by_rule == {
        "one direction": 1, "both directions": 0, "no word": 0, "empty": 0,
        "one direction after thinking": 1, "unfinished thinking": 1,
    }  # fmt: skip
    assert table.by_shape["exact"] == 2
    assert table.by_shape["truncated"] == 1
    assert table.marks["blind"] == 0


@pytest.mark.parametrize(
    ("parser", "text", "blind"),
    [
        ("ternary", "It decreases, then stays constant", True),
        ("ternary", "It stays constant.", False),
        ("yes_no", "There is no change over time.", True),
        ("yes_no", "No, there is no change.", False),
        ("yes_no", "**No**, there is no change.", False),
        ("yes_no", "Difference: No unique one", True),
        ("yes_no", "The answer is no.", False),
        ("yes_no", "My answer: no. There is no change.", False),
        ("yes_no", "Yes. No doubt", True),
        ("yes_no", "no", False),
    ],
)
def test_blind_to_what_follows_the_first_hit(parser, text, blind):
    assert signs_of(text, PARSERS[parser]).blind_first_hit is blind


def test_the_table_worked_by_hand():
    texts = [
        "increase", "The pitch is rising.", "increase", "decrease.", None,
        "It does not increase", "I'm sorry, I can't hear it", "up or", "increase",
    ]  # fmt: skip
    table = audit_texts(texts, text_truncated=[None] * 7 + [True, False])
    assert [(a.rule, a.label, a.n, a.text) for a in table.answers] == [
        ("one direction", "increase", 3, "increase"),
        ("one direction", "increase", 1, "It does not increase"),
        ("one direction", "decrease", 1, "decrease."),
        ("no word", None, 1, "I'm sorry, I can't hear it"),
        ("no word", None, 1, "The pitch is rising."),
        ("no word", None, 1, "up or"),
        ("empty", None, 1, None),
    ]
    assert table.n == 9
    assert table.by_rule == {"one direction": 5, "both directions": 0, "no word": 3, "empty": 1}
    assert table.by_shape == {
        "empty": 1, "exact": 3, "word with marks": 1, "other word": 0, "truncated": 1,
        "open end": 2, "sentence": 1,
    }  # fmt: skip
    assert table.marks == {
        "refusing": 1, "uncertain": 0, "negated": 1, "unseen": 1, "blind_negation": 1,
        "blind_words": 1, "blind_first_hit": 0, "blind": 2,
    }  # fmt: skip
    assert json.loads(json.dumps(table.rows()))[0] == {
        "rule": "one direction", "label": "increase", "n": 3, "shape": "exact", "refusing": False,
        "uncertain": False, "negated": False, "unseen": False, "blind_negation": False,
        "blind_words": False, "blind_first_hit": False, "text": "increase",
    }  # fmt: skip


def test_nothing_to_tabulate():
    table = audit_texts([])
    assert table.answers == ()
    assert table.n == sum(table.by_rule.values()) == sum(table.marks.values()) == 0


def test_flags_of_another_length_and_unknown_parsers_are_rejected():
    with pytest.raises(ValueError, match="2 texts, but 1 flags"):
        audit_texts(["a", "b"], text_truncated=[True])
    with pytest.raises(LookupError, match="did you mean 'strict'"):
        audit_texts([], parser="strickt")


SAYINGS = st.sampled_from(
    ["It does not increase.", "increase", "INCREASE", "rising", "no", "yes", "C.", "\u200b", "_"]
)


@pytest.mark.parametrize("parser", PARSERS)
@given(texts=st.lists(st.none() | st.text() | SAYINGS, max_size=12))
def test_nothing_is_lost_and_order_does_not_matter(parser, texts):
    table = audit_texts(texts, parser=parser)
    assert table.n == len(texts) == sum(a.n for a in table.answers)
    assert table.n == sum(table.by_rule.values()) == sum(table.by_shape.values())
    assert set(table.by_shape) == set(SHAPES)
    assert audit_texts(texts[::-1], parser=parser) == table
    assert (table.by_shape["empty"] > 0) == (table.by_rule["empty"] > 0)


def test_a_long_answer_takes_no_long_time():
    table = audit_texts(["it does not, " * 20_000 + "increase", "not " * 50_000, "a" * 100_000])
    assert table.n == 3


class JudgeAnswers(NamedTuple):
    """Verdicts and reasons of audio judges, none of them about a direction.

    Attributes:
        prediction, reasoning: Of each answer; None where empty.
        n_empty: Answers without a reason.
        n_no: Reasons whose first word on the list of a yes/no parser is "no".
        refusals: What reasons say that refuse to answer.
    """

    prediction: list[str | None]
    reasoning: list[str | None]
    n_empty: int
    n_no: int
    refusals: tuple[str, ...]


@pytest.fixture(scope="module", params=["own", "real"])
def judge(request):
    if request.param == "own":
        return JudgeAnswers(*judge_columns([OWN]), 5, 2, ("I am unable to listen",))
    if not REAL.is_dir():
        pytest.skip("an extra on real answers that lie beside the clone; none are there")
    columns = judge_columns(sorted(REAL.glob("*.csv")))
    assert len(columns[0]) == 600
    return JudgeAnswers(*columns, 415, 37, ("", "analysis cannot be completed"))


def judge_columns(paths):
    rows = []
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            rows += csv.DictReader(file)
    return [[row[name] or None for row in rows] for name in ("prediction", "reasoning")]


@pytest.mark.parametrize("parser", PARSERS)
def test_true_and_false_are_no_labels(judge, parser):
    table = audit_texts(judge.prediction, parser=parser)
    assert {a.text for a in table.answers} == {"True", "False"}
    assert all(a.label is None for a in table.answers)


@pytest.mark.parametrize("parser", ["paper", "paraphrase", "strict", "ternary"])
def test_reasons_of_judges_name_no_single_direction(judge, parser):
    table = audit_texts(judge.reasoning, parser=parser)
    assert table.by_rule["empty"] == judge.n_empty
    assert all(a.label is None for a in table.answers)
    assert table.by_shape["sentence"] == len(judge.reasoning) - judge.n_empty


def test_first_hits_take_there_are_no_differences_for_no(judge):
    table = audit_texts(judge.reasoning, parser="yes_no")
    taken = [a for a in table.answers if a.label]
    assert {a.label for a in taken} == {"no"}
    assert len(taken) == judge.n_no
    assert all(a.signs.blind_first_hit for a in taken)


def test_refusals_of_judges_are_found(judge):
    refused = [a.text for a in audit_texts(judge.reasoning).answers if a.signs.refusing]
    assert len(refused) == len(judge.refusals)
    assert all(any(part in text for text in refused) for part in judge.refusals)
