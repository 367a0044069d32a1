"""Runs a plan's unfinished shards on one or more processes.

Which worker makes a shard changes nothing in its bytes. A worker whose parent dies ends too, so
that nothing goes on writing behind the back of the next run.
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

import pyarrow as pa
from threadpoolctl import threadpool_limits

from builders.vocalgrad.plan import Plan
from builders.vocalgrad.shards import write_shard

_worker: dict[str, Any] = {}
POLL_S = 0.2


class WorkerDied(RuntimeError):
    """A worker process ended without a word; most often the system was short of memory."""


def run(
    plan: Plan,
    indices: Sequence[int],
    folder: Path,
    *,
    num_proc: int,
    on_rows: Callable[[int], None] = lambda n: None,
) -> None:
    """Writes the shards named by `indices`; returns when all are finished.

    Args:
        on_rows: Called now and then with the number of rows made so far.

    Raises:
        WorkerDied: A worker process was killed.
    """
    made = 0

    def on_row() -> None:
        nonlocal made
        made += 1
        on_rows(made)

    if num_proc == 1:
        with threadpool_limits(1):
            for index in indices:
                write_shard(plan, index, folder, on_row=on_row)
        return
    context = multiprocessing.get_context("spawn")
    counter = context.Value("Q", 0)
    with ProcessPoolExecutor(
        min(num_proc, max(1, len(indices))), context, _start, (plan, folder, counter, os.getpid())
    ) as pool:
        waiting = {pool.submit(_work, index) for index in indices}
        try:
            while waiting:
                done, waiting = wait(waiting, POLL_S, FIRST_EXCEPTION)
                on_rows(counter.value)
                for future in done:
                    future.result()
        except BrokenProcessPool as error:
            raise WorkerDied("a worker process was killed (out of memory?)") from error
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _start(plan: Plan, folder: Path, counter: "Synchronized[int]", parent: int) -> None:
    threadpool_limits(1)
    pa.set_memory_pool(pa.system_memory_pool())  # gives freed row groups back
    _worker.update(plan=plan, folder=folder, counter=counter)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_S)
    os._exit(1)


def _work(index: int) -> None:
    counter = _worker["counter"]

    def on_row() -> None:
        with counter.get_lock():
            counter.value += 1

    write_shard(_worker["plan"], index, _worker["folder"], on_row=on_row)
