"""`otoscope transcribe`: transcripts of a labelled dataset, and labels from them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from otoscope.cli.options import DatasetName, dataset_options


@dataset_options()
def transcribe(
    dataset: DatasetName,
    out: Annotated[Path, typer.Option(help="Output: an evidence folder; run again to resume.")],
    dataset_options: dict[str, Any],
    recognizer: Annotated[
        str,
        typer.Option(
            help=r"Recogniser: whisper-tiny.en, or transformers:PATH_OR_ID\[@REVISION], a Whisper."
        ),
    ] = "whisper-tiny.en",
    labeller: Annotated[
        list[str] | None,
        typer.Option(
            help="Labeller: matching (with each row's `text`), keywords, "
            r"transformers:PATH_OR_ID\[@REVISION] (a text model), openai:NAME; may be repeated. "
            "Without one the clips are only transcribed."
        ),
    ] = None,
    words: Annotated[bool, typer.Option(help="Note when each word is spoken.")] = False,
    spoken_language: Annotated[
        str | None,
        typer.Option(help="Code of the language that is spoken; detected in each clip if absent."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most N clips of each split.")] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Requests in one forward pass.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Device, e.g. cpu or cuda:0.")] = None,
    dry_run: Annotated[
        bool, typer.Option(help="Dry run: print what would be done, and the first prompt.")
    ] = False,
) -> None:
    """Recognises speech in every clip of both splits, and gives each transcript a label.

    otoscope transcribe --dataset ./matching --labeller matching --out evidence/transcript
    otoscope transcribe --dataset ./animals --labeller keywords --limit 20 --out evidence/try

    The folder holds transcripts.parquet, components.parquet (cost), and with a labeller the tables
    that `otoscope call-value` reads. No labeller is given labels of held-out examples.
    """
    from otoscope.audits.labelled import open_labelled
    from otoscope.audits.transcripts import actions_of, first_with_audio, limited
    from otoscope.audits.transcripts import transcribe as run
    from otoscope.progress import ProgressBars
    from otoscope.speech.recognition import open_recognizer
    from otoscope.speech.transcript_labels import open_labeller

    data = limited(open_labelled(dataset, **dataset_options), limit)
    options: dict[str, Any] = {"batch_size": batch_size, "device": device}
    opened = open_recognizer(recognizer, language=spoken_language, **options)
    labellers = {
        action: open_labeller(spec, data.labels, data.task, **options)
        for action, spec in actions_of(labeller or []).items()
    }
    if dry_run:
        distinct = set(first_with_audio(data).values())
        seconds = sum(data.facts(name)[1] for name in distinct)
        typer.echo(
            f"{len(data.rows):,} rows, {len(distinct):,} distinct clips, "
            f"{seconds / 60:.1f} minutes of speech, by {recognizer}; "
            f"labels: {', '.join(data.labels)}"
        )
        for action, own in labellers.items():
            typer.echo(f"{action}: {own.description.get('prompt', own.description['kind'])}")
        return
    made = run(data, opened, labellers, out, words=words, progress=ProgressBars())
    found = list(made.transcripts.values())
    flags = [flag for transcript in found for flag in transcript.flags]
    counts = ", ".join(f"{flags.count(flag)} {flag}" for flag in sorted(set(flags)))
    empty = sum(not transcript.text for transcript in found)
    typer.echo(
        f"{len(found):,} transcripts, {empty:,} without words; thresholds crossed: "
        f"{counts or 'none'}"
    )
    typer.echo(f"{'evidence' if labellers else 'transcripts'}: {out}")
