"""Loads a checkpoint: weights and a processor that are known to match."""

import importlib
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.errors import first_line
from otoscope.models.adapters import CONFIG, adapter_in, find_adapter, with_adapter
from otoscope.models.base import ModelError
from otoscope.models.checkpoints import checkpoint_file, identity, safetensors_error
from otoscope.models.families import FAMILIES, Family
from otoscope.processes import whole_number

WAY_OUT = "bring your own with `--model package.module:MyModel`"


class LoadedModel(NamedTuple):
    """A checkpoint in memory.

    Attributes:
        model: A transformers model in evaluation mode, with the adapter on top if there is one.
        processor: Its processor; the tokenizer pads on the left.
        family: Its entry in the table.
        sampling_rate: In Hz.
        window_s: The longest clip in seconds, or None.
        own_generation: The checkpoint's generation config.
        described: Everything about the weights that changes an answer, ready for JSON.
    """

    model: Any
    processor: Any
    family: Family
    sampling_rate: int
    window_s: float | None
    own_generation: Any
    described: dict[str, Any]


def load(
    name: str,
    revision: str | None,
    *,
    adapter: str | None,
    dtype: str,
    device_map: Any,
    trust_remote_code: bool,
) -> LoadedModel:
    """Loads a checkpoint; the arguments are those of `open_transformers`.

    Raises:
        ModelError: Something is missing or does not match; says what, and the way out.
    """
    transformers = _library("transformers")
    if Path(name).is_dir() and revision is not None:
        raise ModelError(f"{name!r} is a folder; it has no revision {revision!r}")
    try:
        which = identity(name, revision)
    except (OSError, ValueError) as error:  # ValueError: neither a folder here nor a Hub name
        raise ModelError(f"no checkpoint {name!r}: {first_line(error)[:300]}") from error
    where: dict[str, Any] = {
        "revision": which.get("commit", revision),
        "trust_remote_code": trust_remote_code,
    }
    config = _loaded("AutoConfig", name, **where)
    family = _family(name, config)
    processor = _loaded("AutoProcessor", name, needs=family.needs, **where)
    sampling_rate = _checked(name, family, processor, config)
    found = None if adapter is None else find_adapter(adapter, which, name)
    model, missing = _weights(transformers, family, name, dtype, device_map, where)
    if missing:
        raise ModelError(
            f"{name!r} lacks {len(missing)} weights that {family.model} needs and that would be "
            f"random, {missing[0]!r} the first of them; {WAY_OUT}"
        )
    # Unset settings must stay unset: `generate` would fill them from the model's config.
    own_generation, model.generation_config = (
        model.generation_config,
        transformers.GenerationConfig(),
    )
    described = which | {
        "model_type": config.model_type,
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": str(model.device.type),
        "device_map": device_map if isinstance(device_map, str | dict | None) else str(device_map),
        "attention": getattr(model.config, "_attn_implementation", None),
        "trust_remote_code": trust_remote_code,
        "own_adapter": None,
        "adapter": None,
    }
    if family.own_adapter is not None:
        own_config = f"{family.own_adapter}/{CONFIG}"
        if checkpoint_file(name, where["revision"], own_config) is not None:
            model = with_adapter(model, adapter_in(name, where["revision"], family.own_adapter))
            described["own_adapter"] = family.own_adapter
        elif adapter is None:
            raise ModelError(
                f"{name!r} has no folder {family.own_adapter!r}, and {family.model_type} needs "
                "the adapter in it for audio; give one with --adapter"
            )
    if found is not None:
        model, described["adapter"] = with_adapter(model, found), found.described
    model.eval()
    window_s = family.window
    if isinstance(window_s, str):
        window_s = float(attrgetter(window_s)(processor))
    return LoadedModel(model, processor, family, sampling_rate, window_s, own_generation, described)


def chat_template_of(processor: Any) -> Any:
    """The processor's chat template, or its tokenizer's, or None."""
    own = getattr(processor, "chat_template", None)
    return own or getattr(processor.tokenizer, "chat_template", None)


def extractor_of(processor: Any) -> Any:
    """The part of a processor that turns samples into features."""
    for attribute in ("feature_extractor", "audio_processor"):
        if hasattr(processor, attribute):
            return getattr(processor, attribute)
    raise ModelError(f"{type(processor).__name__} has no part that takes audio; {WAY_OUT}")


def _library(module: str) -> Any:
    try:
        importlib.import_module("torch")
        return importlib.import_module(module)
    except ImportError as error:
        raise ModelError(
            f"{module} cannot be imported ({first_line(error)[:300]}); "
            'get it with `pip install "otoscope[models]"`'
        ) from error


def _loaded(auto: str, name: str, needs: Sequence[str] = (), **where: Any) -> Any:
    """A configuration or processor, whose imports fail only on access."""
    what = {"AutoConfig": "configuration", "AutoProcessor": "processor"}[auto]
    try:
        return getattr(_library("transformers"), auto).from_pretrained(name, **where)
    except (OSError, ValueError, ImportError, TypeError, AttributeError) as error:
        if "trust_remote_code" in str(error):
            raise ModelError(
                f"{name!r} comes with code of its own, which is run only with "
                f"trust_remote_code=True (--trust-remote-code); otherwise {WAY_OUT}"
            ) from error
        way = f"it may need `pip install {' '.join(needs)}`; otherwise " if needs else ""
        raise ModelError(
            f"the {what} of {name!r} cannot be loaded: {first_line(error)[:300]}; {way}{WAY_OUT}"
        ) from error


def _family(name: str, config: Any) -> Family:
    if config.model_type in FAMILIES:
        return FAMILIES[config.model_type]
    has_audio = any("audio" in key for key in config.to_dict())
    fault = (
        "is not in the table of families"
        if has_audio
        else "takes no audio as far as its configuration shows"
    )
    raise ModelError(
        f"{name!r} is a {config.model_type!r}, which {fault}; known are "
        f"{', '.join(sorted(FAMILIES))}; for another one {WAY_OUT}"
    )


def _checked(name: str, family: Family, processor: Any, config: Any) -> int:
    """The rate in Hz, once processor and model are known to fit each other."""
    if type(processor).__name__ != family.processor:
        raise ModelError(
            f"{name!r} comes with a {type(processor).__name__}, but {family.model_type} needs a "
            f"{family.processor}"
        )
    tokenizer, extractor = processor.tokenizer, extractor_of(processor)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "left"
    inner = getattr(config, "thinker_config", config)
    tower = getattr(inner, "audio_config", None)
    theirs = processor.tokenizer.convert_tokens_to_ids(processor.audio_token)
    ours = getattr(inner, "audio_token_id", getattr(tower, "audio_token_id", None))
    if ours is not None and theirs != ours:
        raise ModelError(
            f"the processor of {name!r} marks audio with token {theirs} "
            f"({processor.audio_token!r}), its model with {ours}: they do not match"
        )
    bands = getattr(tower, "num_mel_bins", getattr(tower, "input_size", None))
    if bands is not None and bands != extractor.feature_size:
        raise ModelError(
            f"the processor of {name!r} makes {extractor.feature_size} mel bands, its model takes "
            f"{bands}: they do not match"
        )
    if family.chat != "mistral" and not chat_template_of(processor):
        raise ModelError(f"the processor of {name!r} has no chat template; {WAY_OUT}")
    return int(extractor.sampling_rate)


def _weights(
    transformers: Any,
    family: Family,
    name: str,
    dtype: str,
    device_map: Any,
    where: Mapping[str, Any],
) -> tuple[Any, list[str]]:
    try:
        model, report = getattr(transformers, family.model).from_pretrained(
            name, dtype=dtype, device_map=device_map, output_loading_info=True, **where
        )
    except (OSError, ValueError, ImportError, RuntimeError, safetensors_error()) as error:
        raise ModelError(
            f"the weights of {name!r} cannot be loaded: {first_line(error)[:300]}"
        ) from error
    if device_map is None:
        model.to(_own_device())
    return model, sorted(report["missing_keys"])


def _own_device() -> str:
    """This process's GPU if there is one; ranks of one machine take one each."""
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{whole_number('LOCAL_RANK', 0) % torch.cuda.device_count()}"
