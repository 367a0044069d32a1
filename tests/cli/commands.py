"""Every command that there is: of `otoscope`, of the builders and of the trainers."""

import functools
import importlib
import shlex

import typer

from builders import LABELLED
from otoscope.cli import app
from otoscope.cli.errors import program

TRAINERS = ("encoder_probe", "extract", "linear_probe", "lora", "study", "listener")


@functools.cache
def apps():
    """Name to app."""
    builder = importlib.import_module("builders.vocalgrad.__main__").app
    trainers = {
        f"trainers.{name}": program(getattr(importlib.import_module(f"trainers.{name}"), name))
        for name in TRAINERS
    }
    labelled = {
        module: importlib.import_module(f"{module}.__main__").app for module in LABELLED.values()
    }
    return {"otoscope": app, "builders.vocalgrad": builder, **labelled, **trainers}


def commands():
    """Words that call a command to the command itself."""
    found = {}
    for name, each in apps().items():
        walk(typer.main.get_command(each), (name,), found)
    return found


def walk(command, words, found):
    for name, below in getattr(command, "commands", {}).items():
        walk(below, (*words, name), found)
    if not hasattr(command, "commands"):
        found[words] = command


def options(command):
    """Option name to its help, positional arguments left out."""
    return {
        name: parameter.help or ""
        for parameter in command.params
        if parameter.param_type_name == "option" and parameter.name != "help"
        for name in parameter.opts
    }


def called(line):
    """The words of a command among `commands()` that a shell line calls, and what follows them.

    None for a line that calls none of ours.
    """
    words = shlex.split(line, comments=True)
    starts = [n + 2 for n, word in enumerate(words) if word == "-m" and n]
    if words[:1] == ["otoscope"]:
        name, rest = "otoscope", words[1:]
    elif starts and words[starts[-1] - 1] == "otoscope.cli":
        name, rest = "otoscope", words[starts[-1] :]
    elif starts and words[starts[-1] - 1] in NAMES:
        name, rest = words[starts[-1] - 1], words[starts[-1] :]
    else:
        return None
    found = (name,)
    while rest and any(known[: len(found) + 1] == (*found, rest[0]) for known in COMMANDS):
        found, rest = (*found, rest[0]), rest[1:]
    return found, rest


def fault(line, *, whole=True):
    """What a command line of ours gets wrong: no such command, option, or a required one missing.

    `…` and `...` stand for what is left out, as does `whole=False`. Empty for a right line, and for
    other programs' lines.
    """
    parsed = called(line)
    if parsed is None:
        return ""
    words, rest = parsed
    if words not in COMMANDS:
        is_group = any(known[: len(words)] == words for known in COMMANDS)
        return "" if is_group and rest[:1] in ([], ["…"]) else f"no command {' '.join(words)}"
    parameters = [p for p in COMMANDS[words].params if p.param_type_name == "option"]
    names = {name for p in parameters for name in (*p.opts, *p.secondary_opts)}
    given = {word.partition("=")[0] for word in rest if word.startswith("--")}
    if unknown := given - names:
        return f"{' '.join(words)} has no {', '.join(sorted(unknown))}"
    required = {p.opts[0] for p in parameters if p.required}
    if whole and not {"…", "..."} & set(rest) and given and required - given:
        return f"{' '.join(words)} needs {', '.join(sorted(required - given))}"
    return ""


NAMES = tuple(apps())
COMMANDS = commands()
