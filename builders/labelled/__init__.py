"""Labelled datasets: clips with one label each of a closed set, in development and hold-out.

A dataset is a folder with a function that says which clips there are, and a command of its own
options; splitting, split guard, files, card and page are here. `builders/tones/__init__.py`:

    def open_tones(folder: Path) -> LabelledSource:
        clips = [
            LabelledClip(clip_id(p.name), p, label=p.parent.name, file_name=p.name)
            for p in sorted(folder.glob("*/*.wav"))
        ]
        return LabelledSource(
            "Tones", "tones", ("low", "high"), tuple(clips), licence="cc0-1.0",
            division=Division(holdout=0.5),  # or None, where each clip has a `split`
        )

`builders/tones/__main__.py`:

    @labelled_options()
    def build(*, options: LabelledOptions, source: Annotated[Path, Option(help="…")]) -> None:
        \"\"\"Builds the tones.\"\"\"
        make(open_tones(source), options)

    app = labelled_app(build)

Then name the folder in `builders.LABELLED`.
"""

# ruff: noqa: F401
from builders.labelled.clips import Division, LabelledClip, LabelledSource
from builders.labelled.command import (
    LabelledOptions,
    labelled_app,
    labelled_options,
    make,
)
from builders.labelled.dividing import divide, name_hash
from builders.labelled.finishing import finish
from builders.labelled.planning import PlannedLabelled, clip_id, plan_build
from builders.labelled.rows import build
