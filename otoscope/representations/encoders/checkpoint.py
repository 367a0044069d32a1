"""Opens a checkpoint of transformers that encodes audio."""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.errors import first_line
from otoscope.models.base import ModelError
from otoscope.models.checkpoints import identity
from otoscope.representations.encoders.base import WAY_OUT


class Checkpoint(NamedTuple):
    """A model in evaluation mode, what prepares its input, and what pins its weights."""

    model: Any
    processor: Any
    described: dict[str, Any]


def model_type(name: str | None, revision: str | None) -> str:
    """The architecture that a checkpoint's configuration names.

    Raises:
        ModelError: transformers or the checkpoint is missing.
    """
    return str(opened("AutoConfig", _named(name), revision)[0].model_type)


def open_checkpoint(
    name: str | None, revision: str | None, *, model: str, processor: str, default: str = ""
) -> Checkpoint:
    """Loads a checkpoint with two classes of transformers, float32, on the GPU if there is one.

    Args:
        name: A folder or a Hub repository; `default` when absent.
        model, processor: Names of the classes, such as `AutoModel`.

    Raises:
        ModelError: transformers or the checkpoint is missing, or weights would be random.
    """
    name = name or _named(default)
    prepare, described = opened(processor, name, revision)
    (loaded, info), _ = opened(model, name, revision, output_loading_info=True)
    if missing := sorted(info["missing_keys"]):
        raise ModelError(
            f"{name!r} lacks {len(missing)} weights of {model}, {missing[0]!r} the first of them; "
            "they would be random"
        )
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    described = described | {"model_type": loaded.config.model_type}
    return Checkpoint(loaded.eval().float().to(device), prepare, described)


def _named(name: str | None) -> str:
    if not name:
        raise ModelError("this encoder needs a name, as in transformers:PATH_OR_ID@REV")
    return name


def opened(
    loader: str, name: str, revision: str | None, **options: Any
) -> tuple[Any, dict[str, Any]]:
    """What a class of transformers, by name, loads from a checkpoint; and what pins it.

    Raises:
        ModelError: transformers or the checkpoint is missing.
    """
    try:
        import transformers
    except ImportError as error:
        raise ModelError(f"this encoder needs transformers ({error}); {WAY_OUT}") from error
    if name.startswith(("/", "./", "../", "~")) and not Path(name).is_dir():
        raise ModelError(f"no audio encoder {name!r}: there is no such folder")
    try:
        described = identity(name, revision)
        at = described.get("commit", revision)
        with warnings.catch_warnings():  # of mel filters without a bin, as low ones of AST
            warnings.filterwarnings("ignore", "At least one mel filter")
            found = getattr(transformers, loader).from_pretrained(name, revision=at, **options)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"no audio encoder {name!r}: {first_line(error)[:300]}") from error
    return found, described
