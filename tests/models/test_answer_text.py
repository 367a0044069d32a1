"""What is trained as an answer: the word in what the chat template writes around it."""

import pytest
import tiny
from asking import ask, clip

from otoscope.models.answer_text import MARK, answer_text
from otoscope.models.transformers_models import open_transformers

REQUEST = ask("increase or decrease?", clip(), labels=("increase", "decrease"))
TURN = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['role'] == 'assistant' %}BEFORE{% endif %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'audio' %}<sound>{% else %}{{ part['text'] }}{% endif %}{% endfor %}"
    "BEHIND{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\nASKED{% endif %}"
)
THOUGHT = "<think>\n\n</think>\n\n"


def template(before="", behind="<|im_end|>\n", asked=""):
    texts = {"BEFORE": before, "BEHIND": behind, "ASKED": asked}
    made = TURN
    for name, text in texts.items():  # as expressions, whose line breaks stay
        made = made.replace(name, f"{{{{ {text!r} }}}}")
    return made


def opened(tmp_path, chat_template, end=tiny.END, stops=None):
    made, processor = tiny.audioflamingo3()
    processor.chat_template, processor.tokenizer.eos_token = chat_template, end
    made.generation_config.eos_token_id = stops
    return open_transformers(tiny.save((made, processor), tmp_path / "tiny"))


@pytest.mark.parametrize(
    ("chat_template", "text", "remarks"),
    [
        (template(), "increase<|im_end|>\n", []),
        (template(behind=" <|im_end|>"), "increase <|im_end|>", []),
        (template(before=" "), " increase<|im_end|>\n", []),
        (template(before="\n"), "\nincrease<|im_end|>\n", []),
        (template(before=THOUGHT), f"{THOUGHT}increase<|im_end|>\n", []),
        (template(before=THOUGHT, asked=THOUGHT), "increase<|im_end|>\n", []),
        (template(before=THOUGHT, asked="<think>\n"), "\n</think>\n\nincrease<|im_end|>\n", []),
        (template(asked=THOUGHT), "increase<|im_end|>\n", [f"puts {THOUGHT!r} before the answer"]),
        (template(asked="<think>\n"), "increase<|im_end|>\n", [r"puts '<think>\n' before"]),
        (template(before=" ", asked="\n"), "increase<|im_end|>\n", [r"puts '\n' before the"]),
        (template(behind="\n"), "increase\n<|im_end|>", ["'<|im_end|>' is added"]),
        (template(behind=""), "increase<|im_end|>", ["'<|im_end|>' is added"]),
        (
            "{% for part in messages[0]['content'] %}<sound>{% endfor %}increase or decrease:",
            "increase<|im_end|>", ["writes no answers", "no end token"],
        ),
        (
            "{% if messages|length > 1 %}{{ raise_exception('one') }}{% endif %}<sound>:",
            "increase<|im_end|>", ["writes no answers", "no end token"],
        ),
    ],
)  # fmt: skip
def test_what_the_template_writes_is_trained(chat_template, text, remarks, tmp_path):
    encoder = opened(tmp_path, chat_template).encoder
    found = encoder.answer_text(REQUEST, "increase")
    assert found.text == text
    for remark, named in zip(found.remarks, remarks, strict=True):
        assert named in remark
    ids = encoder.answer_tokens(REQUEST, "increase")
    assert encoder.processor.tokenizer.decode(ids) == text


@pytest.mark.parametrize(
    ("behind", "text", "n_remarks"),
    [("<|endoftext|>", "increase<|endoftext|>", 0), ("\n", "increase\n", 1), ("", "increase", 1)],
)
def test_a_tokenizer_without_an_end_token_adds_no_word(behind, text, n_remarks, tmp_path):
    model = opened(tmp_path, template(behind=behind), end=None)
    found = model.encoder.answer_text(REQUEST, "increase")
    assert found.text == text
    assert len(found.remarks) == n_remarks
    assert all("answers will not learn to end" in remark for remark in found.remarks)


def test_a_template_that_changes_the_word_does_not_write_it():
    asked, written = "Q A:", f"Q A:{MARK.upper()}</s>"
    found = answer_text("up", asked, written, has_end=lambda text: "</s>" in text, end="</s>")
    assert found.text == "up</s>"


def test_a_question_whose_text_is_not_known():
    assert answer_text("up", None, None, has_end=bool, end="</s>") == (None, "up</s>", ())
    found = answer_text("up", None, None, has_end=bool, end=None)
    assert found.text == "up"
    assert "will not learn to end" in found.remarks[0]
