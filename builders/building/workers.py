"""Runs work on one or more processes.

Which worker makes a shard changes nothing in its bytes. A worker whose parent dies ends too, so
that it does not write into a folder that the next run has taken over. On Ctrl-C a worker ends at
its next row, in silence.
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from threadpoolctl import threadpool_limits

from builders.building.interrupts import without_interrupts
from builders.building.libraries import check_libraries
from builders.building.plan import BuildPlan, Recipe
from builders.building.shards import write_shard

POLL_S = 0.2
KILLED = "a worker process was killed (out of memory?)"

T = TypeVar("T")
R = TypeVar("R")

_worker: dict[str, Any] = {}


class WorkerDied(RuntimeError):
    """A worker process ended without a report; most often the system was short of memory."""


def run(
    recipe: Recipe,
    plan: BuildPlan,
    indices: Sequence[int],
    folder: Path,
    *,
    num_proc: int,
    on_rows: Callable[[int], None] = lambda n: None,
) -> None:
    """Writes the shards named by `indices`; returns when all are finished.

    Args:
        recipe, plan: See `build`.
        indices: In `plan.shards`.
        folder: The dataset folder.
        num_proc: Processes.
        on_rows: Called now and then with the number of rows made so far.

    Raises:
        WorkerDied: A worker process was killed.
        BuildError: A process has other versions of libraries than the plan.
    """
    n_made = 0

    def on_row() -> None:
        nonlocal n_made
        n_made += 1
        on_rows(n_made)

    if num_proc == 1:
        check_libraries(plan.libraries)
        with threadpool_limits(1):
            for index in indices:
                write_shard(recipe, plan, index, folder, on_row=on_row)
        return
    context = multiprocessing.get_context("spawn")
    counter, stopped = context.Value("Q", 0), context.Value("b", 0)
    shared = (recipe, plan, folder, counter, stopped, os.getpid())
    with ProcessPoolExecutor(
        min(num_proc, max(1, len(indices))), context, _start, shared
    ) as pool:  # fmt: skip
        try:
            with without_interrupts():
                pending = {pool.submit(_work, index) for index in indices}
            while pending:
                done, pending = wait(pending, POLL_S, FIRST_EXCEPTION)
                on_rows(counter.value)
                for future in done:
                    future.result()
        except BrokenProcessPool as error:
            raise WorkerDied(KILLED) from error
        except BaseException as error:
            stopped.value = isinstance(error, KeyboardInterrupt)
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def parallel_map(function: Callable[[T], R], items: Sequence[T], num_proc: int) -> Iterator[R]:
    """`map` over processes; each computes with one thread.

    Raises:
        WorkerDied: A worker process was killed.
    """
    if num_proc == 1 or len(items) == 1:
        with threadpool_limits(1):
            yield from map(function, items)
        return
    context, n_workers = multiprocessing.get_context("spawn"), min(num_proc, len(items))
    with ProcessPoolExecutor(n_workers, context, threadpool_limits, (1,)) as pool:
        try:
            with without_interrupts():
                results = pool.map(function, items)
            yield from results
        except BrokenProcessPool as error:
            raise WorkerDied(KILLED) from error


def _start(
    recipe: Recipe,
    plan: BuildPlan,
    folder: Path,
    counter: "Synchronized[int]",
    stopped: "Synchronized[int]",
    parent: int,
) -> None:
    threadpool_limits(1)
    pa.set_memory_pool(pa.system_memory_pool())  # gives freed row groups back
    _worker.update(recipe=recipe, plan=plan, folder=folder, counter=counter, checked=False)
    _worker["stopped"] = stopped
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_S)
    os._exit(1)


def _work(index: int) -> None:
    recipe, plan, counter = _worker["recipe"], _worker["plan"], _worker["counter"]
    if not _worker["checked"]:  # here and not in `_start`, from where no error reaches the parent
        check_libraries(plan.libraries)
        _worker["checked"] = True

    def on_row() -> None:
        if _worker["stopped"].value:
            os._exit(130)  # what is unfinished is written anew
        with counter.get_lock():
            counter.value += 1

    write_shard(recipe, plan, index, _worker["folder"], on_row=on_row)
