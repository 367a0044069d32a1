"""One option, one meaning; every help text teaches."""

import re
from collections import defaultdict

import pytest
import typer
from typer.testing import CliRunner

from otoscope.audits import AUDITS
from otoscope.cli import app
from otoscope.cli.options import MODEL_OPTIONS
from otoscope.models.presets import PRESETS
from otoscope.prompts import PROMPTS
from otoscope.responses import PARSERS
from tests.cli.commands import COMMANDS, called, fault, options


def meaning(text):
    """What an option is: the words before the first mark that ends or explains them."""
    return re.split(r"[.:;]", text)[0]


def test_an_option_means_the_same_in_every_command():
    meanings = defaultdict(lambda: defaultdict(list))
    for words, command in COMMANDS.items():
        for option, text in options(command).items():
            meanings[option][meaning(text)].append(" ".join(words))
    assert {name: dict(texts) for name, texts in meanings.items() if len(texts) > 1} == {}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_shows_an_example(words):
    command = COMMANDS[words]
    assert all(options(command).values()), "every option has a help text"
    lines = [
        " ".join(part.replace("\\", " ").split())
        for part in re.split(r"\n\n|\n(?=otoscope|python|accelerate)", command.help)
        if part.startswith(("otoscope ", "python ", "accelerate ", "\b"))
    ]
    lines = [line.removeprefix("\b ") for line in lines]
    assert words in [(called(line) or ((),))[0] for line in lines], "a command line to copy"
    assert [message for line in lines if (message := fault(line))] == []


def known(words):
    """Options of the command, and the negatives of its flags."""
    return {
        name
        for parameter in COMMANDS[words].params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }


def test_each_audit_is_a_command():
    assert {words[2] for words in COMMANDS if words[:2] == ("otoscope", "run")} == set(AUDITS)


def test_model_options_are_those_of_every_audit_that_takes_any_model():
    declared = {f"--{name.replace('_', '-')}" for name in MODEL_OPTIONS}
    assert declared <= known(("otoscope", "run", "perception"))


def test_help_lists_prompts_presets_and_parsers():
    perception = options(COMMANDS["otoscope", "run", "perception"])
    listed = {*re.findall(r"[\w-]+", perception["--prompt"])}
    assert set(PARSERS) <= listed
    assert {name.removesuffix("_audio_first") for name in PROMPTS} <= listed
    assert set(PRESETS) <= {*re.findall(r"[\w-]+", perception["--preset"])}
    assert set(PARSERS) <= {
        *re.findall(r"\w+", options(COMMANDS["otoscope", "audit-parse"])["--parser"])
    }


FLOATS = [
    pytest.param(words, parameter, id=f"{' '.join(words)} {parameter.opts[0]}")
    for words, command in COMMANDS.items()
    for parameter in command.params
    if "float" in str(parameter.type_descriptor.annotation)
]


@pytest.mark.parametrize(("words", "parameter"), FLOATS)
def test_a_number_that_is_none_is_rejected(words, parameter):
    context = typer.Context(COMMANDS[words], info_name="x")
    for value in ("nan", "inf", "-inf", "-1", "1e400", "x"):
        with pytest.raises(typer.BadParameter):
            parameter.process_value(context, value)


def test_there_are_numbers_to_reject():
    assert {p.values[1].opts[0] for p in FLOATS} >= {
        "--max-cost", "--requests-per-minute", "--price-in", "--learning-rate", "--max-disk-gib",
    }  # fmt: skip


def test_without_arguments_the_help():
    done = CliRunner().invoke(app, [])
    assert done.exit_code == 2
    assert "audit-parse" in done.output
