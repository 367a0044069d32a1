"""Predictions of audio encoders on a closed-set task, for `otoscope call-value`.

accelerate launch -m trainers.encoder_probe --dataset ./animals --encoder whisper-tiny.en \
    --encoder mfcc --out evidence/animals

Embeddings are extracted once and cached; of several processes each extracts every n-th block, and
the one that ends last fits the probes. Interrupted or killed, the same command resumes.

    OUT/predictions.parquet, examples.parquet   tables for `otoscope call-value`
    OUT/probes/ACTION.npz                       what was fitted on all development examples
    OUT/features/ENCODER/                       embeddings
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from otoscope.cli.errors import program
from otoscope.cli.options import DatasetName, dataset_options, number_option

MOST_SEEDS = 1_000


@dataset_options()
def encoder_probe(
    dataset: DatasetName,
    encoder: Annotated[
        list[str],
        typer.Option(
            help="Encoder: a name such as whisper-tiny.en, clap, ast, wavlm-base-plus, mfcc, or "
            r"transformers:PATH_OR_ID\[@REVISION]; may be repeated."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Output: an evidence folder; run again to resume.")],
    dataset_options: dict[str, Any],
    pooling: Annotated[
        Literal["mean", "mean+std", "segments"] | None,
        typer.Option(
            help="Pooling of frames over time; each encoder's own when absent. `segments`, the "
            "means of 16 segments, is for labels about what changes within a clip."
        ),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds: of development examples.")] = 5,
    seed: Annotated[int, typer.Option(help="Random seed: of the folds.")] = 0,
    fold_seeds: Annotated[
        str | None,
        typer.Option(help="More fold assignments by seed, such as 20260821-20260830 or 1,2."),
    ] = None,
    penalty_c: Annotated[
        float, number_option("C of logistic regressions: the smaller, the stronger the penalty.")
    ] = 1.0,
    batch_size: Annotated[
        int,
        typer.Option(
            min=1, help="Requests in one forward pass: clips, which then share its time evenly."
        ),
    ] = 1,
    dry_run: Annotated[bool, typer.Option(help="Dry run: print counts and actions.")] = False,
) -> None:
    """Predicts the labels of a closed-set task with audio encoders, out of fold.

    python -m trainers.encoder_probe --dataset ./animals --encoder mfcc --out evidence/animals

    For each encoder: its own scores of labels where it has any, the same with a bias for each
    label, a probe of the scores, and a probe of the embedding; of several also a joint ridge probe.
    The same command resumes where it stopped.
    """
    from otoscope.audits.call_value.encoder_actions import actions_of
    from otoscope.audits.call_value.encoder_evidence import (
        EncoderSettings,
        complete,
        development_of,
        evidence_record,
        write_encoder_evidence,
    )
    from otoscope.audits.call_value.encoder_extraction import (
        open_encoders,
        plan_embeddings,
        read_embeddings,
        validate_clips,
    )
    from otoscope.audits.call_value.evidence import EVIDENCE
    from otoscope.audits.labelled import open_labelled
    from otoscope.claims import locked
    from otoscope.processes import process_share
    from otoscope.progress import progress_of

    rank, world = process_share()
    settings = EncoderSettings(folds, seed, parse_seed_range(fold_seeds), penalty_c)
    data = open_labelled(dataset, **dataset_options)
    encoders = open_encoders(encoder, data.labels, batch_size, pooling)
    validate_clips(data, encoders)
    inside, _ = development_of(data, settings)
    actions = list(actions_of({name: bool(timed.labels) for name, timed in encoders.items()}))
    if rank == 0:
        typer.echo(
            f"{dataset}: {inside.sum()} development and {(~inside).sum()} held-out examples, "
            f"{len(data.labels)} labels; {len(actions)} actions: {', '.join(actions)}"
        )
        for name, timed in encoders.items():
            if timed.no_zero_shot:
                typer.echo(
                    f"without {name}_zero_shot, {name}_class_bias, {name}_score_probe: "
                    f"{timed.no_zero_shot}"
                )
    if dry_run:
        return
    record = evidence_record(data, dataset, encoders, settings)
    out.mkdir(parents=True, exist_ok=True)
    with locked(out):
        EVIDENCE.claim(out, record)
    for name, timed in encoders.items():
        extraction = plan_embeddings(data, name, timed, out, dataset)
        n_own = extraction.n_own(rank, world)
        with progress_of(rank).bar(f"Encoding with {name}", n_own) as step:
            extraction.run(step, rank=rank, world=world)
    with locked(out):
        found = {name: read_embeddings(name, timed, out) for name, timed in encoders.items()}
        evidence = {name: own for name, own in found.items() if own is not None}
        if len(evidence) < len(found):
            typer.echo(f"{out}: process {rank} of {world} has encoded its share")
            return
        if not complete(out):
            n_fits = len(actions) * (1 + len(settings.fold_seeds))
            with progress_of(0).bar("Fitting probes", n_fits) as step:
                write_encoder_evidence(out, data, evidence, settings, record, step)
    typer.echo(f"{out}: predictions of {len(actions)} actions for {len(data.rows)} examples")
    typer.echo(
        f"next: otoscope call-value {out} --contract {out}.contract.json --init, beside tables of "
        "calls"
    )


def parse_seed_range(text: str | None) -> tuple[int, ...]:
    """Numbers and ranges separated by commas.

    >>> parse_seed_range("3,7-9")
    (3, 7, 8, 9)

    Raises:
        CallValueError: One is neither, or stands there twice, or there are more than `MOST_SEEDS`.
    """
    from otoscope.audits.call_value.schema import CallValueError

    found: list[int] = []
    for part in (text or "").split(",") if text else ():
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise CallValueError(f"--fold-seeds are numbers or ranges such as 1-10, not {part!r}")
        begin, end = int(first), int(last or first) + 1
        if len(found) + end - begin > MOST_SEEDS:
            raise CallValueError(f"--fold-seeds {text!r} are more than {MOST_SEEDS:,} seeds")
        found += range(begin, end)
    if len(set(found)) < len(found) or (text and not found):
        raise CallValueError(f"--fold-seeds {text!r} names a seed twice, or none")
    return tuple(found)


if __name__ == "__main__":
    program(encoder_probe)()
