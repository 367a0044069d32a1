"""Options that several commands share, each declared once: one name, one meaning everywhere.

The words before the first `:`, `;` or `.` of a help text are the meaning. What follows is how the
command at hand uses it.
"""

import functools
import inspect
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, BadParameter, Option

from otoscope.models import MODELS
from otoscope.models.presets import PRESETS
from otoscope.prompts import PROMPTS, TEXT_FIRST
from otoscope.prompts.tasks import TASKS
from otoscope.responses import PARSERS


def _prompts() -> str:
    """Prompts by the parser that reads their answers, then the parsers that none names."""
    by_parser: dict[str, list[str]] = {}
    for name, prompt in PROMPTS.items():
        if name in TEXT_FIRST or prompt.few_shot:
            by_parser.setdefault(prompt.parser, []).append(name)
    read = [f"{', '.join(names)} (parser {parser})" for parser, names in by_parser.items()]
    others = ", ".join(name for name in PARSERS if name not in by_parser)
    return (
        f"Names: {'; '.join(read)}. All but few_shot also as NAME_audio_first; those that are not "
        f"worded for one attribute also as NAME@ATTRIBUTE. Other parsers: {others}."
    )


PROMPT = "Prompt: its name, or `own` for each row's own text"
PROMPT_NAMES = _prompts()


def number_option(help_text: str, *, least: float = 0.0, most: float | None = None) -> Any:
    """An option that is a finite number within a range; at least 0 unless said otherwise."""
    return Option(help=help_text, min=least, max=most, callback=_finite)


def _finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise BadParameter(f"{value} is not a finite number.")
    return value


def _json_object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadParameter(f'{text!r} is not a JSON object such as {{"seed": 1}}.')
    return found


DatasetName = Annotated[str, Option(help="Dataset: a folder or a Hub repository.")]
Configs = Annotated[list[str] | None, Option(help="Dataset config; may be repeated.")]
Revision = Annotated[str | None, Option(help="Revision of a dataset on the Hub.")]
Where = Annotated[
    list[str] | None, Option(metavar="COLUMN=VALUE", help="Use these rows alone; may be repeated.")
]
Split = Annotated[str, Option(help="Dataset split.")]
LimitSources = Annotated[
    int | None, Option(min=1, help="Use at most N sources of each split; the result says so.")
]
PromptName = Annotated[str, Option(help=f"{PROMPT}. {PROMPT_NAMES}")]
PromptNames = Annotated[list[str] | None, Option(help=f"{PROMPT}; may be repeated. {PROMPT_NAMES}")]
RunFolder = Annotated[Path, Argument(metavar="RUN", help="A run folder.")]
OutRun = Annotated[Path, Option(help="Output: the run folder; run again to resume.")]
OutPage = Annotated[Path, Option(help="Output: an HTML page.")]
Overwrite = Annotated[bool, Option(help="Replace an output that exists.")]
Cached = Annotated[bool, Option(help="Reuse answers of earlier runs to identical requests.")]
CheckAudioInput = Annotated[
    bool, Option(help="Reject a model whose input does not change with the audio.")
]
Category = Annotated[str, Option(help="Acoustic factor, e.g. `volume` or `voice_pitch`.")]
ProfileName = Annotated[
    str,
    Option(
        help="Rules of rendering: `paper`, as published, side effects included, or `controlled`, "
        "which changes the named factor alone."
    ),
]
TrainBatchSize = Annotated[
    int, Option(min=1, help="Examples in one optimizer step, over all processes.")
]
LearningRate = Annotated[float, number_option("Learning rate of AdamW.")]
WeightDecay = Annotated[float, number_option("Weight decay of AdamW.")]
Epochs = Annotated[int, Option(min=1, help="Passes over the training rows.")]
Seed = Annotated[int, Option(help="Random seed.")]

ModelName = Annotated[
    str,
    Option(
        help=rf"Model: KIND\[:NAME]\[@REVISION], KIND one of {', '.join(MODELS)}; e.g. "
        "`constant:increase`, `replay:FILE`, `transformers:PATH_OR_ID@REV`; or a class of yours, "
        "`my_package.my_module:MyModel`."
    ),
]
TransformersSpec = Annotated[str, Option(help=r"Model: transformers:PATH_OR_ID\[@REVISION].")]

MODEL_OPTIONS: dict[str, Any] = {
    "adapter": Annotated[str | None, Option(help="PEFT adapter to load (transformers).")],
    "dtype": Annotated[str | None, Option(help="Precision of the weights, e.g. bfloat16.")],
    "device_map": Annotated[str | None, Option(help="Device map of transformers, e.g. auto.")],
    "batch_size": Annotated[int | None, Option(min=1, help="Requests in one forward pass.")],
    "trust_remote_code": Annotated[bool, Option(help="Run code that comes with the weights.")],
    "on_long": Annotated[
        Literal["reject", "flag"] | None,
        Option(
            help="A clip longer than the model takes: `reject` it (default), or `flag` the answer "
            "and send the beginning."
        ),
    ],
    "max_new_tokens": Annotated[int | None, Option(min=1, help="Longest answer in tokens.")],
    "preset": Annotated[
        str | None, Option(help=f"Published decoding settings by name: {', '.join(PRESETS)}.")
    ],
    "label_scores": Annotated[
        bool,
        Option(
            help="Store the log-probability of each label: with transformers for every prompt, "
            "with a server for prompts whose options have letters."
        ),
    ],
    "base_url": Annotated[str | None, Option(help="Server address (openai).")],
    "concurrency": Annotated[int | None, Option(min=1, help="Requests in flight (openai).")],
    "requests_per_minute": Annotated[
        float | None, number_option("Rate limit (openai).", least=1e-3)
    ],
    "timeout_s": Annotated[
        float | None, number_option("Time limit of a request in seconds (openai).")
    ],
    "max_retries": Annotated[
        int | None, Option(min=0, help="Attempts after the first one of a request (openai).")
    ],
    "backoff_s": Annotated[
        float | None, number_option("First wait before another attempt, in seconds (openai).")
    ],
    "longest_wait_s": Annotated[
        float | None, number_option("Longest wait at a server's request, in seconds (openai).")
    ],
    "api_key_env": Annotated[
        str | None, Option(help="Environment variable that holds the key (openai).")
    ],
    "temperature": Annotated[float | None, number_option("Sampling temperature (openai).")],
    "extra": Annotated[
        dict | None,
        Option(
            parser=_json_object,
            metavar="JSON",
            help="More fields of a request (openai); null leaves one out, as in "
            '`{"temperature": null}`.',
        ),
    ],
    "sampling_rate": Annotated[
        int | None,
        Option(
            min=0, help="Audio rate that is sent, in Hz (openai); 0 sends each clip at its own."
        ),
    ],
    "audio_format": Annotated[
        str | None, Option(help="Audio format that is sent (openai): wav or flac.")
    ],
    "max_audio_s": Annotated[
        float | None,
        number_option("Longest clip that is sent, in seconds (openai).", least=1e-3),
    ],
    "prices": Annotated[
        Path | None, Option(help="Table of prices (openai): CSV with the columns of ours.")
    ],
    "price_in": Annotated[float | None, number_option("Price of a million tokens sent (openai).")],
    "price_out": Annotated[
        float | None, number_option("Price of a million tokens generated (openai).")
    ],
}
"""Everything that `open_model` may be given."""

FLAGS = ("trust_remote_code", "label_scores")
"""Those that are on or off."""

WEIGHTS = ("dtype", "device_map", "on_long", "trust_remote_code")
"""Options about loading a transformers model, whatever is done with it then."""


DATASET_OPTIONS: dict[str, tuple[Any, Any]] = {
    "config": (Annotated[str | None, Option(help="Dataset config.")], None),
    "task": (
        Annotated[
            str | None,
            Option(
                help="Task: whose question and keywords are used; the dataset's own when absent. "
                f"One of {', '.join(TASKS)}, or another name for the generic question."
            ),
        ],
        None,
    ),
    "development": (
        Annotated[str | None, Option(help="Name of the development split.")],
        None,
    ),
    "holdout": (Annotated[str | None, Option(help="Name of the held-out split.")], None),
    "cluster": (
        Annotated[
            str | None, Option(help="Column by which examples are clustered: e.g. speaker_id.")
        ],
        None,
    ),
    "where": (Where, None),
    "revision": (Revision, None),
}
"""Everything that `open_labelled` may be given beside the dataset."""


def option_group(
    argument: str, options: Mapping[str, tuple[Any, Any]], combine: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds options to a command, which receives them together as one argument.

    Args:
        argument: Name of that argument in the command's signature.
        options: Name to annotation and default.
        combine: Takes the values by name, and returns the argument.
    """

    def extended(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def called(**values: Any) -> Any:
            group = combine(**{name: values.pop(name) for name in options})
            return command(**values, **{argument: group})

        signature = inspect.signature(command)
        own = [p for name, p in signature.parameters.items() if name != argument]
        keyword = inspect.Parameter.KEYWORD_ONLY
        added = [
            inspect.Parameter(name, keyword, default=default, annotation=annotation)
            for name, (annotation, default) in options.items()
        ]
        parameters = [*(p.replace(kind=keyword) for p in own), *added]
        called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return extended


def model_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds model options to a command, which receives those given as the dict `model_options`.

    Args:
        names: Keys of `MODEL_OPTIONS`; all of them when absent.
    """
    chosen = {
        name: (MODEL_OPTIONS[name], False if name in FLAGS else None)
        for name in names or MODEL_OPTIONS
    }
    return option_group("model_options", chosen, _given)


def dataset_options() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds options of a labelled dataset to a command, which receives them as `dataset_options`.

    They are a dict of keyword arguments of `otoscope.audits.labelled.open_labelled`.
    """
    return option_group("dataset_options", DATASET_OPTIONS, _dataset)


def _dataset(where: list[str] | None, **values: Any) -> dict[str, Any]:
    return {**values, "where": where or ()}


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if not (value is None or value is False)}
