"""Questions of closed-set tasks: exact texts, parsers that know them, quotes that must be there."""

import pytest

from otoscope.errors import InvalidValue
from otoscope.prompts.tasks import TASKS, VARIANTS, put, task_named
from otoscope.responses.closed_set import closed_set

LABELS = ("cow", "hen", "sheep")


def question(variant, task="generic", labels=LABELS, row_id="r1", text=None):
    return put(TASKS[task], VARIANTS[variant], labels, row_id, text)


def parser_of(made):
    return closed_set(made.labels, made.synonyms, letters=made.letters)


def test_exact_texts():
    words = "Which of these labels describes what is heard in this audio clip?"
    plain = f"{words} Choose one of: cow, hen, sheep.\n\nAnswer with the label only."
    assert question("plain").prompt == plain
    assert question("letters").prompt == (
        f"{words}\n\nOptions:\nA. cow\nB. hen\nC. sheep\n\n"
        "Answer with the letter of one option only."
    )
    assert question("json").prompt == (
        f"{words} Choose one of: cow, hen, sheep.\n\n"
        'Answer with JSON only, in this form: {"label": "..."}'
    )


def test_orders_of_options():
    orders = {question("shuffled", row_id=f"r{i}").labels for i in range(60)}
    assert len(orders) == 6
    assert question("plain").labels == LABELS
    one = question("shuffled", row_id="r1")
    assert f"Choose one of: {', '.join(one.labels)}." in one.prompt


@pytest.mark.parametrize("variant", list(VARIANTS))
@pytest.mark.parametrize("name", list(TASKS))
def test_every_label_and_synonym_is_read(name, variant):
    task = TASKS[name]
    labels = task.labels or LABELS
    made = question(variant, name, labels, text="words")
    parse = parser_of(made)
    for label in labels:
        assert parse(label).label == label
    for word, label in task.synonyms.items():
        assert parse(f"{word}.").label == label
    if variant == "letters":
        assert parse("B").label == made.labels[1]


def test_synonyms_of_labels_that_a_dataset_lacks_are_left_out():
    made = question("plain", "vocalsound", ("cough", "sigh"))
    assert parser_of(made)("laughing") == (None, "no label")


def test_a_quote_must_be_there():
    made = question("plain", "speech_text_matching", ("match", "no match"), text='He said "go".')
    assert 'with this sentence: "He said "go"."' in made.prompt
    with pytest.raises(InvalidValue, match="row 'r1' has no `text`"):
        question("plain", "speech_text_matching", ("match", "no match"))


def test_more_options_than_letters():
    many = [f"label {i}" for i in range(27)]
    with pytest.raises(InvalidValue, match="27 labels, and 26 letters"):
        question("letters", labels=many)


def test_an_unknown_task_has_the_generic_question():
    assert task_named("bird calls") is TASKS["generic"]
