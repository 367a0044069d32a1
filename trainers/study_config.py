"""The YAML file of a study, and the names that version 0.1 had for its keys."""

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from otoscope.acoustics.design import PUBLISHED_CATEGORIES
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.reports.inside.stored_names import STUDY_KEYS
from otoscope.tuning.scopes import SCOPES
from trainers.study_commands import StudyError

StudyCommand = Literal["run", "extract", "probe", "lora"]
Options = dict[str, bool | int | float | str | list[str]]


_EVERYWHERE = ("dataset", "model", "adapter", "limit_sources", "out")
SET_BY_STUDY: dict[StudyCommand, tuple[str, ...]] = {
    "run": (*_EVERYWHERE, "config", "split"),
    "extract": (*_EVERYWHERE, "config", "sites"),
    "probe": ("features", "test_features", "run", "out"),
    "lora": (*_EVERYWHERE, "category", "scope"),
}
"""Options of each command that follow from the study's own keys, so that steps fit together."""


class StudyConfig(BaseModel):
    """What a study does; paths are relative to where it is launched.

    Attributes:
        dataset: A folder or a Hub repository with splits train and test.
        other_profile: The other profile's dataset, for the control across profiles.
        model: As for `otoscope run`.
        out: The study's folder.
        categories: Of the runs and the probes; the published ones by default.
        fine_tune: Categories, each with an adapter of its own; none when empty.
        probe_fine_tuned: Whether fine-tuned models are probed as well, or only run.
        scope: Of LoRA.
        sites: For `trainers.extract`.
        limit_sources: Sources of each split, everywhere.
        processes: Of each trainer.
        threads: Of each process, for sums and products; all cores when None. For a tiny model one
            is fastest.
        options: More options for the commands, by command: `run`, `extract`, `probe`, `lora`.
        not_run: For the report: what was not tried.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: str
    model: str
    out: Path
    other_profile: str | None = Field(default=None, serialization_alias="other")
    categories: tuple[str, ...] = PUBLISHED_CATEGORIES
    fine_tune: tuple[str, ...] = Field(default=PUBLISHED_CATEGORIES, serialization_alias="teach")
    probe_fine_tuned: bool = Field(default=True, serialization_alias="probe_taught")
    scope: str = "all_linear"
    sites: str = "mel,pre_llm,audio.last,text.*"
    limit_sources: int | None = Field(default=None, ge=1)
    processes: int = Field(default=1, ge=1)
    threads: int | None = Field(default=None, ge=1, exclude_if=lambda threads: threads is None)
    options: dict[StudyCommand, Options] = Field(default_factory=dict)
    not_run: str = Field(default="", serialization_alias="never_run")

    @field_validator("categories", "fine_tune")
    @classmethod
    def validate_categories(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """The same names.

        Raises:
            ValueError: One is no category, or is given twice.
        """
        for name in names:
            if name not in GRADIENTS:
                raise ValueError(f"no category named {name!r}; there are {', '.join(GRADIENTS)}")
        if len(set(names)) < len(names):
            raise ValueError("a category is given twice")
        return names

    @field_validator("options")
    @classmethod
    def validate_options(cls, options: dict[StudyCommand, Options]) -> dict[StudyCommand, Options]:
        """The same options.

        Raises:
            ValueError: The study sets one of them itself, such as a step's folder.
        """
        for command, own in options.items():
            for name in own:
                if (plain := name.strip("-").replace("-", "_")) in SET_BY_STUDY[command]:
                    raise ValueError(
                        f"the study sets {plain!r} of `{command}` itself; leave it out of options"
                    )
        return options

    @field_validator("scope")
    @classmethod
    def validate_scope(cls, name: str) -> str:
        """The same name.

        Raises:
            ValueError: It is no scope.
        """
        if name not in SCOPES:
            raise ValueError(f"no scope named {name!r}; there are {', '.join(SCOPES)}")
        return name

    def record(self) -> dict[str, Any]:
        """As study.json stores it, with the keys of version 0.1."""
        return self.model_dump(mode="json", by_alias=True)


def read_study_config(path: Path) -> StudyConfig:
    """The study that a YAML file describes.

    Raises:
        StudyError: The file cannot be read, or something in it is unknown, missing or wrong.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise StudyError(f"{path}: not UTF-8 ({error.reason})") from error
    except yaml.YAMLError as error:
        raise StudyError(f"{path}: no YAML ({' '.join(str(error).split())})") from error
    if not isinstance(content, dict):
        raise StudyError(f"{path}: should hold names and values, such as `model: transformers:…`")
    if odd := [name for name in content if not isinstance(name, str)]:
        raise StudyError(f"{path}: {odd[0]!r} is no name of a value, such as `model`")
    if old := [name for name in content if name in STUDY_KEYS]:
        renamed = ", ".join(f"`{name}` is now `{STUDY_KEYS[name]}`" for name in old)
        raise StudyError(f"{path}: {renamed}")
    try:
        return StudyConfig(**content)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        raise StudyError(f"{path}: {'; '.join(faults)}") from error
