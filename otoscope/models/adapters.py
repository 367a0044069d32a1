"""PEFT adapters on top of a checkpoint: whole, read to the last weight, on the base of their own.

Files are checked before the base model is loaded, which can take minutes.
"""

import importlib
import json
import pickle
import struct
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.errors import first_line
from otoscope.models.base import ModelError
from otoscope.models.checkpoints import checkpoint_file, identity, safetensors_error

CONFIG, RECORD, UNFINISHED = "adapter_config.json", "training.json", ".training"
WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
COPY_AGAIN = "copy or download it again"
UNREADABLE = (
    OSError, ValueError, RuntimeError, LookupError, TypeError, AttributeError, EOFError,
    struct.error, pickle.UnpicklingError,
)  # fmt: skip
"""What libraries raise on a damaged file, and on one that fits nothing."""


class Adapter(NamedTuple):
    """An adapter whose files are there.

    Attributes:
        name: A folder or a Hub repository.
        revision: Commit of the repository, or None.
        subfolder: Where it lies in there, or None.
        described: Everything that pins its weights, ready for JSON.
        weights: The file of its weights.
    """

    name: str
    revision: str | None
    subfolder: str | None
    described: dict[str, Any]
    weights: Path


def find_adapter(adapter: str, base: Mapping[str, Any], base_name: str) -> Adapter:
    """An adapter that fits a base model, as far as its files tell.

    Args:
        adapter: A folder, or a Hub repository with `@REVISION`.
        base: Identity of the base model, from `identity`.
        base_name: Its folder or repository.

    Raises:
        ModelError: There is none, a file is missing or damaged, or it was trained on another base.

    Warns:
        UserWarning: Its configuration, which has no hash, names another base.
    """
    name, _, revision = (adapter, "", "") if Path(adapter).is_dir() else adapter.partition("@")
    is_folder = Path(name).is_dir()
    if is_folder and revision:
        raise ModelError(f"{name!r} is a folder; it has no revision {revision!r}")
    if is_folder:
        adapter_in(name, None)  # before a folder of something else is hashed
    try:
        which = identity(name, revision or None, CONFIG)
    except (OSError, ValueError) as error:
        cause = first_line(error)[:300]
        if isinstance(error, ValueError) and not is_folder:
            cause = "there is no folder here and no Hub repository of that name"
        raise ModelError(f"no adapter {adapter!r}: {cause}") from error
    found = adapter_in(name, which.get("commit"), described=which)
    record = checkpoint_file(name, found.revision, RECORD)
    if record is None or not _validate_base(adapter, record, base, base_name):
        _warn_of_other_base(found, base, base_name)
    return found


def adapter_in(
    name: str,
    revision: str | None,
    subfolder: str | None = None,
    described: dict[str, Any] | None = None,
) -> Adapter:
    """The adapter in a folder or a repository.

    Raises:
        ModelError: A file of it is missing or damaged.
    """
    within = f"{subfolder}/" if subfolder else ""
    found = (checkpoint_file(name, revision, within + file) for file in WEIGHTS)
    weights = next((path for path in found if path is not None), None)
    if weights is None:
        raise ModelError(_without_weights(name, within))
    config = checkpoint_file(name, revision, within + CONFIG)
    if config is None:
        raise ModelError(f"{name}: the adapter's {within}{CONFIG} is missing; copy it there too")
    _read_config(config)
    validate_weights(weights)
    return Adapter(name, revision, subfolder, described or {}, weights)


def with_adapter(model: Any, adapter: Adapter) -> Any:
    """The model with an adapter on top.

    Raises:
        ModelError: It cannot be loaded, a part of it is not in its file or has no place in the
            model, which peft passes over, or a weight is not finite.
    """
    peft = importlib.import_module("peft")
    where = {"subfolder": adapter.subfolder} if adapter.subfolder else {}
    renamed = getattr(model, "_checkpoint_conversion_mapping", {})
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*missing adapter keys.*")
        # peft asks transformers by an old name
        warnings.filterwarnings("ignore", message=".is_gradient_checkpointing. is deprecated")
        try:
            tuned = peft.PeftModel.from_pretrained(
                model, adapter.name, revision=adapter.revision, **where
            )
            tensors = peft.load_peft_weights(
                adapter.name, device="cpu", key_mapping=renamed, revision=adapter.revision, **where
            )
            warnings.simplefilter("ignore")  # weights that are offloaded are not copied twice
            loaded = peft.set_peft_model_state_dict(tuned, dict(tensors))
        except (*UNREADABLE, UserWarning, safetensors_error()) as error:
            raise ModelError(
                f"the adapter {adapter.name!r} does not fit this model: {_cause(error)}"
            ) from error
    if loaded.unexpected_keys and not tuned.active_peft_config.is_prompt_learning:
        raise ModelError(
            f"{adapter.weights}: {len(loaded.unexpected_keys)} weights have no place in this "
            f"model, {loaded.unexpected_keys[0]!r} the first of them: the adapter is of another "
            f"model, or its {CONFIG} of another adapter"
        )
    for key, tensor in tensors.items():
        if not bool(tensor.float().isfinite().all()):
            raise ModelError(
                f"{adapter.weights}: {key!r} has values that are not finite; {COPY_AGAIN}, or "
                "train it anew"
            )
    return tuned


def validate_weights(path: Path) -> None:
    """Checks that a file of weights can be opened, to its end, and is not empty.

    Raises:
        ModelError: It is empty, cut short or damaged.
    """
    from safetensors import safe_open

    if path.stat().st_size == 0:
        raise ModelError(f"{path} is empty; {COPY_AGAIN}")
    if path.suffix != ".safetensors":
        return  # a pickle, which tells nothing before it is loaded
    try:
        with safe_open(path, "pt") as file:
            names = list(file.keys())
    except (*UNREADABLE, safetensors_error()) as error:
        raise ModelError(
            f"{path} is damaged or cut short ({first_line(error)[:300]}); {COPY_AGAIN}"
        ) from error
    if not names:
        raise ModelError(f"{path} holds no weights; {COPY_AGAIN}")


def _without_weights(name: str, within: str) -> str:
    """Why there are none: never copied, deleted after training, or not yet trained to the end."""
    folder = Path(name) / within
    if (folder / RECORD).is_file():
        return (
            f"{folder / WEIGHTS[0]} is missing, though {RECORD} says that training is finished; "
            "copy it back, or train with another --out"
        )
    if (folder / UNFINISHED).is_dir():
        return f"{folder} is a training that is not finished; run its trainers.lora command again"
    if folder.is_dir() and not (folder / CONFIG).is_file():
        return f"{folder} is no adapter: it has no {CONFIG} and no {WEIGHTS[0]}"
    return f"{name}: the adapter's weights are missing, {within}{WEIGHTS[0]}; copy them there too"


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"), parse_constant=_not_a_number)
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f"{path} is no configuration of an adapter ({first_line(error)}); {COPY_AGAIN}"
        ) from error
    if not isinstance(config, dict):
        raise ModelError(f"{path} is no configuration of an adapter; {COPY_AGAIN}")
    return config


def _not_a_number(text: str) -> None:
    raise ValueError(f"{text} is no value of a setting")


def _validate_base(adapter: str, record: Path, base: Mapping[str, Any], base_name: str) -> bool:
    """Compares the base model with the one of the training; False where they cannot be compared.

    A folder has a hash of its content, a repository has a commit.

    Raises:
        ModelError: They differ, or the record is damaged.
    """
    try:
        trained_on = dict(json.loads(record.read_text(encoding="utf-8"))["begun"]["model"])
    except (LookupError, TypeError):
        return False  # a file of that name that trainers.lora did not write
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{record} is damaged ({first_line(error)}); {COPY_AGAIN}") from error
    for part in ("content", "commit"):
        if part in trained_on and part in base:
            if trained_on[part] != base[part]:
                raise ModelError(
                    f"the adapter {adapter!r} was trained on another model: {record.name} has "
                    f"{part} {trained_on[part]!r} of {trained_on.get('name')!r}, and "
                    f"{base_name!r} has {base[part]!r}; give --model the one it was trained on"
                )
            return True
    return False


def _warn_of_other_base(found: Adapter, base: Mapping[str, Any], base_name: str) -> None:
    """Compares last parts of names, as folders and repositories may be copies; and commits."""
    config = _read_config(found.weights.with_name(CONFIG))
    named, commit = config.get("base_model_name_or_path"), config.get("revision")
    if not isinstance(named, str) or not named:
        return
    other = _last_part(named) != _last_part(base_name)
    if not other and commit and len(str(commit)) == 40 and named == base.get("name"):
        other = commit != base.get("commit", commit)
    if other:
        where = f"{named}@{commit}" if commit else named
        warnings.warn(
            f"the adapter {found.name!r} names {where!r} as its base model, not {base_name!r}: "
            "if they are not the same weights, answers are those of neither",
            stacklevel=4,
        )


def _last_part(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].casefold()


def _cause(error: Exception) -> str:
    """In one line; the first of torch's lines alone says nothing."""
    return (" ".join(str(error).split()) or type(error).__name__)[:300]
