"""From the text behind `--model` to a model: `KIND[:NAME][@REVISION]`, or a class of your own."""

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.doctor import way_to_install
from otoscope.errors import InputError, first_line
from otoscope.models import MODELS
from otoscope.models.base import Model, ModelError, validate_method_names

KINDS_WITHOUT_REVISION = {"constant", "fitted", "random", "replay", "human", "simulated"}
"""Kinds whose name is a text or a path, in which `@` means nothing."""

RENAMED_IMPORTS = {
    "otoscope.models.sound": "otoscope.models.audio",
    "sound": "audio",
    "Asked": "Request",
    "Sound": "AudioInput",
}
"""What a class written for version 0.1 may import from `otoscope.models`."""


class ModelSpec(NamedTuple):
    """A key of `MODELS` or a module, the name behind the colon, the revision."""

    kind: str
    name: str | None
    revision: str | None


def parse_spec(spec: str) -> ModelSpec:
    """The parts of a model's specification.

    The revision is what follows the last `@`, unless the name is a path that exists.

    >>> parse_spec("transformers:Qwen/Qwen2-Audio-7B-Instruct@0a095220")
    ModelSpec(kind='transformers', name='Qwen/Qwen2-Audio-7B-Instruct', revision='0a095220')
    >>> parse_spec("observer"), parse_spec("constant:up @ the end").name
    (ModelSpec(kind='observer', name=None, revision=None), 'up @ the end')
    """
    kind, colon, name = spec.partition(":")
    if not colon:
        kind, _, revision = spec.partition("@")
        return ModelSpec(kind, None, revision or None)
    if kind in KINDS_WITHOUT_REVISION or Path(name).exists():
        return ModelSpec(kind, name or None, None)
    before, at, revision = name.rpartition("@")
    return ModelSpec(kind, (before if at else name) or None, (revision if at else None) or None)


def open_model(spec: str, **options: Any) -> Model:
    """Opens the model that a specification names.

    Args:
        spec: `observer`, `openai:gpt-audio`, `transformers:PATH_OR_ID@REV`, `replay:FILE`, … as in
            `MODELS`, or `my_package.my_module:MyModel`, a class with `answer(questions)`.
        options: What this kind of model takes; None means "not given".

    Raises:
        ModelError: No such kind, class or option, or a model that cannot be used; the message names
            the thing and the way out.
    """
    kind, name, revision = parse_spec(spec)
    given = {key: value for key, value in options.items() if value is not None}
    if kind not in MODELS and _is_class_path(kind, name):
        if revision is not None:
            raise ModelError(f"{spec!r}: a class of your own has no revision; leave out '@'")
        return _own_model(kind, str(name), given)
    try:
        target = MODELS[kind]
    except LookupError as error:
        raise ModelError(
            f"{error.args[0]}; or name a class of your own, my_package.my_module:MyModel"
        ) from None
    opener = _opener(kind, target)
    _validate_options(kind, opener, given, passed=2)
    model: Model = opener(name, revision, **given)
    return model


def _opener(kind: str, target: str) -> Callable[..., Model]:
    module, _, function = target.partition(":")
    try:
        opener: Callable[..., Model] = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "otoscope":
            raise
        way = way_to_install(error.name) or f"pip install {error.name}"
        raise ModelError(f"{kind!r} needs the package {error.name!r}: {way}") from None
    return opener


def _is_class_path(kind: str, name: str | None) -> bool:
    """Whether `kind:name` reads as a module that is there and a name in it."""
    if name is None or not all(part.isidentifier() for part in f"{kind}.{name}".split(".")):
        return False
    if "." in kind:
        return True
    _import_from_current_folder()
    return importlib.util.find_spec(kind) is not None


def _import_from_current_folder() -> None:
    """Lets a module in the current folder be found, last, so that it hides nothing installed."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def _own_model(module_name: str, class_name: str, options: Mapping[str, Any]) -> Model:
    where = f"{module_name}:{class_name}"
    _import_from_current_folder()
    with _errors_of_own_code(f"{where}: its module cannot be imported"):
        found: Any = _import_own_module(module_name, where)
    for part in class_name.split("."):
        if not hasattr(found, part):
            raise ModelError(f"{where}: module {module_name!r} has no {class_name!r}")
        found = getattr(found, part)
    if not isinstance(found, type):
        raise ModelError(f"{where}: this is not a class but a {type(found).__name__}")
    if not callable(getattr(found, "answer", None)):
        raise ModelError(f"{where}: a model needs a method `answer(questions)`")
    validate_method_names(found)
    _validate_options(where, found, options, passed=0)
    with _errors_of_own_code(f"{where}: it cannot be constructed"):
        model: Model = found(**options)
    return model


def _import_own_module(module_name: str, where: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        for old, new in RENAMED_IMPORTS.items():
            if f"'{old}'" in str(error) and (error.name or "").startswith("otoscope.models"):
                raise ModelError(f"{where}: {error}; since version 0.2 it is {new!r}") from error
        if not isinstance(error, ModuleNotFoundError):
            raise
        if error.name is not None and not f"{module_name}.".startswith(f"{error.name}."):
            raise ModelError(f"{where}: its module needs {error.name!r}, not installed") from error
        raise ModelError(
            f"{where}: no module named {module_name!r} here or on PYTHONPATH; kinds of model are "
            f"{sorted(MODELS)}"
        ) from None


@contextmanager
def _errors_of_own_code(what: str) -> Iterator[None]:
    """Names the cause where a class of the user's own raises."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        cause = f"{type(error).__name__}: {first_line(error)}"
        raise ModelError(f"{what} ({cause}); OTOSCOPE_DEBUG=1 shows where") from error


def _validate_options(
    what: str, called: Callable[..., Any], options: Mapping[str, Any], *, passed: int
) -> None:
    """Rejects options that a function does not take, and missing ones."""
    signature = inspect.signature(called)
    parameters = list(signature.parameters.values())[passed:]
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        known = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
        if unknown := sorted(set(options) - known):
            takes = f"it takes {sorted(known)}" if known else "it takes none"
            raise ModelError(f"{what!r} takes no option {unknown[0]!r}; {takes}")
    missing = [
        p.name
        for p in parameters
        if p.default is p.empty
        and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        and p.name not in options
    ]
    if missing:
        raise ModelError(f"{what!r} needs the option {missing[0]!r}")
