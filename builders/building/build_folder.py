"""From a plan to the files of a dataset folder; goes on where it was stopped."""

from pathlib import Path

from builders.building.finished import FinishedBuild
from builders.building.folder import (
    BuildError,
    check_space,
    claimed_folder,
    outline_of,
    plain_disk_errors,
)
from builders.building.plan import BuildPlan, Recipe
from builders.building.shards import (
    changed_files,
    has_recorded_size,
    read_record,
    record_path,
)
from builders.building.workers import WorkerDied, run
from otoscope.progress import Progress


def build(
    recipe: Recipe,
    plan: BuildPlan,
    out: Path,
    *,
    num_proc: int = 1,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FinishedBuild:
    """Makes every shard of the plan that is not finished yet.

    Finished is a shard whose files have the content that was recorded when they were written; one
    with a file that has changed since, or is gone, is made again.

    Args:
        recipe: How rows are made.
        plan: Which rows.
        out: The dataset folder; made when absent.
        num_proc: Processes. The bytes do not depend on it.
        overwrite: Throw away another build found in `out`.
        progress: Where to show it.

    Raises:
        BuildError: `out` is not writable, is in use, holds another build or something else, the
            disk is full, a worker was killed or has other libraries; what was finished stays, and
            the next run goes on from there.
    """
    progress = progress or Progress()
    with claimed_folder(out, plan, overwrite=overwrite):
        todo, changed = [], list[str]()
        with progress.bar("Checking files", len(plan.shards)) as step:
            for i, shard in enumerate(plan.shards):
                files = read_record(record_path(out, shard), plan.fingerprint)
                differing = changed_files(files, out) if files is not None else []
                if files is None or differing:
                    todo.append(i)
                changed += differing
                step()
        n_rows = sum(plan.shards[i].n_rows for i in todo)
        check_space(sum(plan.shards[i].likely_bytes for i in todo), out)
        try:
            with progress.bar("Writing rows", n_rows) as step, plain_disk_errors(out):
                run(
                    recipe, plan, todo, out,
                    num_proc=num_proc, on_rows=lambda n: step(n, total=True),
                )  # fmt: skip
        except WorkerDied as error:
            raise BuildError(
                f"{error}; finished shards stay, run again with a smaller --num-proc"
            ) from error
        records: dict[str, dict] = {}
        for shard in plan.shards:
            files = read_record(record_path(out, shard), plan.fingerprint)
            # the rest were compared above, or written just now
            if files is None or not all(has_recorded_size(out / p, f) for p, f in files.items()):
                raise BuildError(f"{out}: files of {shard.name} vanished or changed meanwhile")
            records |= files
    return FinishedBuild(out, outline_of(plan), records, n_rows, tuple(changed))
