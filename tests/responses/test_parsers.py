"""Awkward replies by name, and the contract that every parser has to meet."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.responses import PARSERS, Parsed
from otoscope.responses.signs import signs_of

SHARED = Path(__file__).parents[2].parent / "shared" / "cases" / "answers.tsv"

UP, DOWN = "increase", "decrease"
PAPER = {
    "increase": (UP, "one direction"),
    "Decrease": (DOWN, "one direction"),
    "INCREASE.": (UP, "one direction"),
    " \n increase \t": (UP, "one direction"),
    '"increase"': (UP, "one direction"),
    "“decrease”": (DOWN, "one direction"),
    "**Increase**": (UP, "one direction"),
    "The volume increases over time.": (UP, "one direction"),
    "It increases, and it increases again: increase": (UP, "one direction"),
    "It does not increase": (UP, "one direction"),
    "It never decreases.": (DOWN, "one direction"),
    "increase\u200b": (UP, "one direction"),
    "\ufeffdecrease": (DOWN, "one direction"),
    "non-increase": (UP, "one direction"),
    "The volume increases, then decreases": (None, "both directions"),
    "increase or decrease": (None, "both directions"),
    "increase/decrease": (None, "both directions"),
    "increasing": (None, "no word"),
    "It increased.": (None, "no word"),
    "The echo is decreasing over time": (None, "no word"),
    "in-crease": (None, "no word"),
    "in crease": (None, "no word"),
    "in\u200bcrease": (None, "no word"),
    "increase_": (None, "no word"),
    "increaser": (None, "no word"),
    "éincrease": (None, "no word"),
    "increase2": (None, "no word"),
    "louder": (None, "no word"),
    "rise": (None, "no word"),
    "yes": (None, "no word"),
    "I'm sorry, I cannot hear any audio.": (None, "no word"),
    "Zunahme": (None, "no word"),
    "…": (None, "no word"),
    "": (None, "empty"),
    "\n": (None, "empty"),
    " \t\u3000\n": (None, "empty"),
    None: (None, "empty"),
}
PARAPHRASE = {
    "rise": (UP, "one direction"),
    "Falling.": (DOWN, "one direction"),
    "It rises": (UP, "one direction"),
    "It increases": (UP, "one direction"),
    "upwards": (UP, "one direction"),
    "slower": (DOWN, "one direction"),
    "declining": (DOWN, "one direction"),
    "it accelerates and rises": (UP, "one direction"),
    "Rise. The pitch falls never.": (None, "both directions"),
    "faster or slower": (None, "both directions"),
    "rose": (None, "no word"),
    "fallen": (None, "no word"),
    "increased": (None, "no word"),
    "accelerated": (None, "no word"),
    "fast": (None, "no word"),
    "sunrise": (None, "no word"),
}
STRICT = {
    "increase": (UP, "exact"),
    " Decrease\n": (DOWN, "exact"),
    "INCREASE": (UP, "exact"),
    "increase.": (None, "not exact"),
    '"increase"': (None, "not exact"),
    "increases": (None, "not exact"),
    "increase\u200b": (None, "not exact"),
    "increase increase": (None, "not exact"),
    "": (None, "empty"),
}
TERNARY = {
    "constant": ("constant", "exact"),
    " Increase ": (UP, "exact"),
    "Constant.": ("constant", "first hit"),
    "increases": (UP, "first hit"),
    "It decreases, then stays constant": (DOWN, "first hit"),
    "It is constant and does not increase": ("constant", "first hit"),
    "It does not stay constant": ("constant", "first hit"),
    "constantly": (None, "no word"),
    "increasing": (None, "no word"),
    "stable": (None, "no word"),
    None: (None, "empty"),
}
YES_NO = {
    "yes": ("yes", "exact"),
    "No\n": ("no", "exact"),
    "No.": ("no", "first hit"),
    "Yes, there is no doubt": ("yes", "first hit"),
    "There is no change, so yes": ("no", "first hit"),
    "It does not vary": (None, "no word"),
    "None": (None, "no word"),
    "nope": (None, "no word"),
    "yesterday": (None, "no word"),
    "True": (None, "no word"),
}
OPTION_LETTER = {
    "C": ("C", "only letter"),
    " c.": ("C", "only letter"),
    "(D)": ("D", "only letter"),
    '"E"': ("E", "only letter"),
    "**F**": ("F", "only letter"),
    "C. fear": ("C", "marked letter"),
    "**D. joy**": ("D", "marked letter"),
    "The answer is B": ("B", "marked letter"),
    "Answer: G, surprise": ("G", "marked letter"),
    "I would choose (A), since (A) fits": ("A", "marked letter"),
    "A. anger B. disgust C. fear": (None, "several letters"),
    "(A) or (B)": (None, "several letters"),
    "A happy voice": (None, "no letter"),
    "The speaker got an A's worth of joy": (None, "no letter"),
    "the answer is a happy voice": (None, "no letter"),
    "joy": (None, "no letter"),
    "H": (None, "no letter"),
    "AB": (None, "no letter"),
    "ANSWER: B": ("B", "marked letter"),
    "Answer:\nB": ("B", "marked letter"),
    "Answer = D": ("D", "marked letter"),
    "answer: **E**": ("E", "marked letter"),
    "The correct option is F": ("F", "marked letter"),
    "I choose G because of the tone": ("G", "marked letter"),
    "THE ANSWER IS A HAPPY VOICE": (None, "no letter"),
    "B。": ("B", "only letter"),
    "（B）": ("B", "only letter"),
    "Ｂ": ("B", "only letter"),
    "答案：（C）": ("C", "marked letter"),
    "答案是B项": ("B", "marked letter"),
    "答案：C": ("C", "marked letter"),
    "- D": ("D", "only letter"),
    "<answer>B</answer>": ("B", "marked letter"),
    "It sounds low. <answer>B. joy</answer>": ("B", "marked letter"),
    "<answer>A happy voice</answer>": (None, "no letter"),
    '{"answer": "B"}': ("B", "marked letter"),
    "{'answer': 'B'}": ("B", "marked letter"),
    "{'A': 0.2, 'B': 0.8}": (None, "several letters"),
    r"So \boxed{B}": ("B", "marked letter"),
    r"$\boxed{\text{B}}$": ("B", "marked letter"),
    "Reasons first.\nB. joy": ("B", "marked letter"),
    "Speaker A: angry words. It is neutral": (None, "no letter"),
    "Speaker A: angry words. The answer is B": (None, "several letters"),
    "Grade A.": (None, "no letter"),
    "B+": (None, "no letter"),
    "": (None, "empty"),
}
THINKING = {
    ("reply_choice", '<think>{"pred": "R1"}</think>{"pred": "R2"}'): ("R2", "json after thinking"),
    ("yes_no", "<think>no?</think>yes"): ("yes", "exact after thinking"),
    ("yes_no", "no?</think>\n\nYes."): ("yes", "first hit after thinking"),
    ("yes_no", "<think>\n\n</think>\n\nyes"): ("yes", "exact after thinking"),
    ("paper", "<think>rise or decrease?</think>\n\nincrease"): (UP, "one direction after thinking"),
    ("paper", "<think>maybe decrease"): (None, "unfinished thinking"),
    ("paper", "increase <think>or not"): (None, "unfinished thinking"),
    ("paper", "<think>increase</think>"): (None, "empty after thinking"),
    ("paper", "<think>decrease</think> \n"): (None, "empty after thinking"),
    ("paper", "<think>a</think>increase<think>decrease?</think>"): (
        UP,
        "one direction after thinking",
    ),
    ("paper", "<THINKING>decrease</Thinking>increase"): (UP, "one direction after thinking"),
    ("paper", "<thought>decrease</thought>increase"): (UP, "one direction after thinking"),
    ("paper", "<reasoning>decrease</reasoning><answer>increase</answer>"): (
        UP,
        "one direction after thinking",
    ),
    ("paper", "<seed:think>decrease</seed:think>increase"): (UP, "one direction after thinking"),
    ("paper", "[THINK]decrease[/THINK]increase"): (UP, "one direction after thinking"),
    ("paper", "◁think▷decrease◁/think▷increase"): (UP, "one direction after thinking"),
    (
        "paper",
        "<|START_THINKING|>decrease<|END_THINKING|><|START_RESPONSE|>increase<|END_RESPONSE|>",
    ): (UP, "one direction after thinking"),
    (
        "strict",
        "<|begin_of_thought|>decrease<|end_of_thought|>"
        "<|begin_of_solution|>increase<|end_of_solution|>",
    ): (UP, "exact after thinking"),
    (
        "strict",
        "<|channel|>analysis<|message|>decrease?<|end|><|start|>assistant<|channel|>final"
        "<|message|>increase<|return|>",
    ): (UP, "exact after thinking"),
    ("strict", "<think>decrease</think>increase."): (None, "not exact after thinking"),
    ("ternary", "<think>up</think>constant"): ("constant", "exact after thinking"),
    ("option_letter", "<think>A. or C.?</think>B"): ("B", "only letter after thinking"),
    ("option_letter", "[think]A[/think]Answer: B"): ("B", "marked letter after thinking"),
    # no tags
    ("paper", "I think it will increase"): (UP, "one direction"),
    ("paper", "<increase>"): (UP, "one direction"),
    ("paper", "increase <|end|>"): (UP, "one direction"),
}
FAILED_JSON = {
    "I would rather not say.": (None, "no json"),
    '{"pred": ': (None, "no json"),
    '{"pred": "R1", "pred": "R2"}': (None, "contradictory json"),
    '```json\n{"pred": "R1"}\n```\nor\n```\n{"pred": "R2"}\n```': (None, "contradictory json"),
    '{"choice": "R1"}': (None, "no such key"),
    '{"pred": "R3", "emotion": "bored", "emotions": {"1": "bored"}}': (None, "invalid label"),
    '{"pred": null, "emotion": null, "emotions": []}': (None, "invalid label"),
    '{"pred": ["R1"], "emotion": ["sad"], "emotions": {}}': (None, "invalid label"),
}
REPLY_CHOICE = FAILED_JSON | {
    '{"reasoning": "warm", "pred": "R2"}': ("R2", "json"),
    '{"pred": " r1 "}': ("R1", "json"),
    '{"Pred": "R1."}': ("R1", "json"),
    '```json\n{"pred": "R1"}\n```': ("R1", "fenced json"),
    'Here you are: {"reasoning": "a {brace}", "pred": "R1"} Good luck.': ("R1", "embedded json"),
    "Having thought about it,\nR2": ("R2", "last token"),
    "My choice is **R1**.": ("R1", "last token"),
    "R1 is better than R2": (None, "no json"),
    "R1, since it is kinder": (None, "no json"),
    "R12": (None, "no json"),
    '{"pred": "R1"} {"pred": "R2"}': (None, "no json"),
    '{"pred": "R1"': (None, "no json"),
}
CONTEXT_CHOICE = FAILED_JSON | {
    '{"pred": "CB"}': ("CB", "json"),
    '```\n{"pred": "CA"}\n```': ("CA", "fenced json"),
    'So {"pred": "CA"}': ("CA", "embedded json"),
    "CA": ("CA", "last token"),
    "R1": (None, "no json"),
}
REPLY_MATCHING = FAILED_JSON | {
    '{"pred": {"CA": "R1", "CB": "R2"}}': ("CA=R1 CB=R2", "json"),
    '{"pred": {"CB": "r1", "CA": "r2"}}': ("CA=R2 CB=R1", "json"),
    '```json\n{"pred": {"CA": "R1", "CB": "R2"}}\n```': ("CA=R1 CB=R2", "fenced json"),
    'So {"pred": {"CA": "R2", "CB": "R1"}}.': ("CA=R2 CB=R1", "embedded json"),
    '{"pred": {"CA": "R1", "CB": "R1"}}': (None, "invalid label"),
    '{"pred": {"CA": "R1"}}': (None, "invalid label"),
    '{"pred": {"CA": "R1", "CA": "R2", "CB": "R1"}}': (None, "contradictory json"),
}
EMOTION = FAILED_JSON | {
    '{"emotion": "Anger"}': ("anger", "json"),
    '```json\n{"emotion": "sad"}\n```': ("sad", "fenced json"),
    'It is {"emotion": "frazzled"}': ("frazzled", "embedded json"),
    "anger": (None, "no json"),
}
TRAJECTORY = FAILED_JSON | {
    '{"emotions": {"3": "sad", "1": "Neutral"}}': ("1=neutral 3=sad", "json"),
    '```\n{"emotions": {"1": "happy"}}\n```': ("1=happy", "fenced json"),
    'So: {"emotions": {"1": "happy"}}': ("1=happy", "embedded json"),
    '{"emotions": {"one": "happy"}}': (None, "invalid label"),
    '{"emotions": {"1": "happy", "1": "sad"}}': (None, "contradictory json"),
}
TABLES = {
    "reply_choice": REPLY_CHOICE,
    "reply_matching": REPLY_MATCHING,
    "context_choice": CONTEXT_CHOICE,
    "emotion": EMOTION,
    "emotion_trajectory": TRAJECTORY,
    "paper": PAPER,
    "paraphrase": PARAPHRASE,
    "strict": STRICT,
    "ternary": TERNARY,
    "yes_no": YES_NO,
    "option_letter": OPTION_LETTER,
}
CASES = [(name, text, *want) for name, table in TABLES.items() for text, want in table.items()]


@pytest.mark.parametrize(("name", "text", "label", "rule"), CASES)
def test_awkward_reply(name, text, label, rule):
    assert PARSERS[name](text) == Parsed(label, rule)


@pytest.mark.parametrize(("case", "parsed"), THINKING.items())
def test_the_part_behind_a_thought_is_read(case, parsed):
    name, text = case
    assert PARSERS[name](text) == Parsed(*parsed)


@pytest.mark.skipif(not SHARED.is_file(), reason="an extra on cases that lie beside the clone")
def test_cases_beside_the_clone():
    lines = SHARED.read_text(encoding="utf-8").splitlines()[1:]
    for name, text, right in (line.split("\t") for line in lines):
        text = text.replace("\\n", "\n")
        label = right if right in PARSERS[name].labels else None
        assert PARSERS[name](text).label == label, text
        if "audit counts" in right:
            assert signs_of(text, PARSERS[name]).blind_words


def test_every_parser_has_its_awkward_replies_and_all_its_rules_fire():
    assert set(TABLES) == set(PARSERS)
    for name, parser in PARSERS.items():
        fired = {parser(text).rule for text in (*TABLES[name], None)}
        assert fired == {*parser.rules, "empty"}, name


def test_paraphrase_words_are_the_published_ones():
    # increase(s), increasing, rise(s), rising, upward(s), faster, accelerate(s), accelerating
    words = PARSERS["paraphrase"].words
    rising = [word for word, label in words.items() if label == UP]
    falling = [word for word, label in words.items() if label == DOWN]
    assert (len(rising), len(falling)) == (12, 15)
    for stem in ("increas", "ris", "accelerat"):
        assert {stem + "e", stem + "es", stem + "ing"} <= set(rising)
    for stem in ("decreas", "declin", "decelerat"):
        assert {stem + "e", stem + "es", stem + "ing"} <= set(falling)
    assert {"fall", "falls", "falling", "downward", "downwards", "slower"} <= set(falling)


def test_a_long_answer_is_read_to_its_end():
    padding = "the sound goes on and on " * 400
    assert len(padding) == 10_000
    assert PARSERS["paper"](padding) == (None, "no word")
    assert PARSERS["paper"](padding + "increase") == (UP, "one direction")
    assert PARSERS["paper"]("increase " + padding + "decrease") == (None, "both directions")
    assert PARSERS["ternary"](padding + "constant increase") == ("constant", "first hit")


def test_unknown_parser_is_named_with_its_neighbour():
    with pytest.raises(LookupError, match="did you mean 'paper'"):
        PARSERS["papers"]


VOCABULARY = st.sampled_from(
    [
        *"abcABCDG",
        *(word for parser in PARSERS.values() for word in parser.words),
        *("increaſes", "İncrease", "decreasıng", "ınCREASE", "not", "or", "no", "-", "_", "1"),
    ]
)
GLUE = st.sampled_from(
    [" ", "", ", ", ".", "\n", "\u200b", "’", "“", ")", "**", "<think>", "</think>"]
)
PHRASES = st.lists(st.tuples(VOCABULARY, GLUE), max_size=8).map(
    lambda pairs: "".join(word + glue for word, glue in pairs)
)
ANSWERS = st.none() | st.text() | PHRASES | PHRASES.map(str.upper)


@pytest.mark.parametrize("name", PARSERS)
@given(text=ANSWERS)
def test_never_raises_and_never_leaves_its_labels_and_rules(name, text):
    parser = PARSERS[name]
    parsed = parser(text)
    assert parsed.label in {*parser.labels, None}
    assert parsed.rule in {*parser.rules, "empty", *parser.rules_after_thinking}
    assert parser(text) == parsed


@given(text=ANSWERS)
def test_what_is_exact_is_read_alike_by_the_rules_for_sentences(text):
    strict = PARSERS["strict"](text).label
    if strict is not None:
        for name in ("paper", "paraphrase", "ternary"):
            assert PARSERS[name](text).label == strict


@given(text=ANSWERS)
def test_the_paper_rule_reads_a_subset_of_the_words_of_the_paraphrase_rule(text):
    paper, paraphrase = PARSERS["paper"](text), PARSERS["paraphrase"](text)
    if paper.label is not None:
        assert paraphrase.label in (paper.label, None)
    if paraphrase.rule.startswith("no word"):
        assert paper.rule == paraphrase.rule
