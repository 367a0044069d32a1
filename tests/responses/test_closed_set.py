"""Answers that name one label of a closed set: what counts, and what must not be guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.errors import InvalidValue
from otoscope.responses import open_parser
from otoscope.responses.closed_set import RULES, closed_set, closed_set_name, normalised

LABELS = ("laughter", "sigh", "cough", "sneeze", "sniff", "throat clearing")
SYNONYMS = {
    "laugh": "laughter", "laughing": "laughter", "coughing": "cough",
    "throatclearing": "throat clearing", "clearing throat": "throat clearing",
}  # fmt: skip
CASES = {
    "cough": ("cough", "exact"),
    " “Cough.” ": ("cough", "exact"),
    "THROAT_CLEARING": ("throat clearing", "exact"),
    "throat-clearing": ("throat clearing", "exact"),
    "Laughing": ("laughter", "exact"),
    "ｓｉｇｈ": ("sigh", "exact"),  # full-width letters
    '{"label": "Sneeze"}': ("sneeze", "json"),
    '```json\n{"answer": "clearing throat"}\n```': ("throat clearing", "json"),
    '{"label": "bark"}': (None, "invalid label"),
    '{"label": null}': (None, "invalid label"),
    '{"sound": "cough"}': ("cough", "one label"),
    "The answer is cough.": ("cough", "answer is"),
    "It may be a cough or a sneeze. Answer: sneeze": ("sneeze", "answer is"),
    "The answer is cough, as no sneeze is heard": ("cough", "answer is"),
    "The answer is cough. Wait, the answer is sneeze.": (None, "ambiguous"),
    "The answer is cough or sneeze": (None, "ambiguous"),
    "The answer is not a cough": (None, "negated"),
    "Someone is coughing loudly.": ("cough", "one label"),
    "A cough, and another cough": ("cough", "one label"),
    "a cough or a sigh": (None, "ambiguous"),
    "cough/sneeze": (None, "ambiguous"),
    "It is not a cough": (None, "negated"),
    "It isn’t a cough but a sneeze": (None, "ambiguous"),
    "coughs": (None, "no label"),
    "sighted": (None, "no label"),
    "I cannot tell": (None, "no label"),
    "B": (None, "no label"),
    "咳嗽": (None, "no label"),
    "…": (None, "no label"),
}
LETTERED = {
    "C": ("cough", "letter"),
    "(c)": ("cough", "letter"),
    "C. cough": ("cough", "letter"),
    "**C**": ("cough", "letter"),
    "The answer is D": ("sneeze", "letter"),
    "Option (F)": ("throat clearing", "letter"),
    "C. sneeze": (None, "ambiguous"),
    "A or B": (None, "no label"),
    "(A) or (B)": (None, "ambiguous"),
    "G": (None, "no label"),
    '{"answer": "B"}': ("sigh", "json"),
    "cough": ("cough", "exact"),
    "A cough": ("cough", "one label"),
}


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_words(text, expected):
    assert closed_set(LABELS, SYNONYMS)(text) == expected


@pytest.mark.parametrize(("text", "expected"), LETTERED.items())
def test_letters(text, expected):
    assert closed_set(LABELS, SYNONYMS, letters=True)(text) == expected


def test_every_rule_fires():
    fired = {rule for _, rule in (*CASES.values(), *LETTERED.values())}
    assert fired == set(RULES)


def test_a_label_within_another():
    parse = closed_set(("match", "no match"), {"does not match": "no match", "matches": "match"})
    assert parse("no match") == ("no match", "exact")
    assert parse("There is no match here") == ("no match", "one label")
    assert parse("The sentence does not match the speech") == ("no match", "one label")
    assert parse("It matches") == ("match", "one label")
    assert parse("It is not a match") == (None, "negated")


@given(
    st.sampled_from(LABELS),
    st.text(alphabet=" \n\t.,!?\"'“”‘’*()[]:;-_", max_size=8),
    st.booleans(),
)
def test_what_surrounds_a_label_changes_nothing(label, around, upper):
    text = around + (label.upper() if upper else label) + around[::-1]
    assert closed_set(LABELS)(text) == (label, "exact")


@given(st.permutations(LABELS), st.text(alphabet="abc xyz.,\n", max_size=12))
def test_two_labels_are_never_one(order, between):
    parsed = closed_set(LABELS)(f"{order[0]} {between} {order[1]}")
    assert parsed.label is None


@given(st.text(max_size=60))
def test_any_text_is_read(text):
    label, rule = closed_set(LABELS, SYNONYMS, letters=True)(text)
    assert label is None or label in LABELS
    assert rule.split(" after")[0] in (*RULES, "empty", "unfinished thinking")


def test_thoughts_are_left_out():
    parse = closed_set(LABELS)
    assert parse("<think>a cough?</think>sneeze") == ("sneeze", "exact after thinking")
    assert parse("<think>a cough") == (None, "unfinished thinking")
    assert parse(None) == (None, "empty")


def test_a_name_stands_for_its_parser():
    name = closed_set_name(LABELS, SYNONYMS, letters=True)
    assert open_parser(name)("laughing") == ("laughter", "exact")
    assert open_parser(name)("A") == ("laughter", "letter")
    assert closed_set_name(LABELS, dict(reversed(SYNONYMS.items())), letters=True) == name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: closed_set(("a",)), "two labels or more"),
        (lambda: closed_set(("a", "b"), {"c": "d"}), "none of the labels"),
        (lambda: closed_set(("a", "A")), "would mean both"),
        (lambda: closed_set(("a", "b"), {"B!": "a"}), "would mean both"),
        (lambda: closed_set(("a", "?")), "no letter or digit"),
        (lambda: open_parser("closed_set:{"), "names no parser"),
        (lambda: open_parser('closed_set:{"labels": ["a", "b"]}'), "names no parser"),
    ],
)
def test_what_cannot_be_parsed_by(make, message):
    with pytest.raises(InvalidValue, match=message):
        make()


def test_normalised():
    assert normalised("Throat–Clearing, OK?") == "throat clearing ok"
