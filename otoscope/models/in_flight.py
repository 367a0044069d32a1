"""Concurrent calls, results as they arrive: an event loop in a thread of its own.

While the reader of the results writes, decodes or draws a progress bar, calls go on.
"""

import asyncio
import atexit
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar
from weakref import WeakSet

Q = TypeVar("Q")
R = TypeVar("R")


class LoopThread:
    """A running event loop.

    It is also closed when Python exits while a generator is not read to its end: after that its
    thread no longer runs, and waiting for it never returns.

    Args:
        at_end: Awaited in the loop before it ends, such as the closing of a client.
    """

    def __init__(self, at_end: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        self._at_end = at_end
        self._submitted: WeakSet[Coroutine[Any, Any, Any]] = WeakSet()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def submit(self, coroutine: Coroutine[Any, Any, R]) -> "Future[R]":
        """Starts a coroutine there."""
        self._submitted.add(coroutine)
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self) -> None:
        """Cancels the calls in flight, waits for them, and ends the thread."""
        if self._loop.is_closed():
            return
        atexit.unregister(self.close)
        self.submit(self._cancel_others()).result()
        if self._at_end is not None:
            self.submit(self._at_end()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel_others(self) -> None:
        """Cancels what was submitted, which ends the tasks that it has begun.

        Libraries end those their own way: anyio would never await what a task of its own was to
        run, if that were cancelled before it had begun.
        """
        others = asyncio.all_tasks() - {asyncio.current_task()}
        submitted = [task for task in others if task.get_coro() in self._submitted]
        for task in submitted:
            task.cancel()
        await asyncio.gather(*submitted, return_exceptions=True)


def as_they_arrive(
    loop: LoopThread,
    requests: Iterable[Q],
    call: Callable[[Q], Coroutine[Any, Any, R]],
    *,
    n_ahead: int,
) -> Iterator[tuple[int, R]]:
    """Each request's index and the result of its call, in the order in which calls end.

    Requests are consumed as results are: at most `n_ahead` of them are without a result. What a
    call raises is raised here.
    """
    ended: SimpleQueue[tuple[int, Future[R]]] = SimpleQueue()
    numbered = enumerate(requests)
    n_open = 0
    while True:
        while n_open < n_ahead and (item := next(numbered, None)) is not None:
            future = loop.submit(call(item[1]))
            future.add_done_callback(partial(_put, ended, item[0]))
            n_open += 1
        if n_open == 0:
            return
        index, future = ended.get()
        n_open -= 1
        yield index, future.result()


def _put(ended: "SimpleQueue[tuple[int, Future[R]]]", index: int, done: "Future[R]") -> None:
    ended.put((index, done))


class RateLimiter:
    """Spreads starts evenly over time, and delays all of them on request."""

    def __init__(
        self,
        per_minute: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._gap_s = 60 / per_minute if per_minute else 0.0
        self._clock, self._sleep = clock, sleep
        self._next = self._not_before = float("-inf")
        self._queue = asyncio.Lock()

    async def acquire(self) -> None:
        """Returns when the next call may start."""
        async with self._queue:
            while (wait := max(self._next, self._not_before) - self._clock()) > 0:
                await self._sleep(wait)
            self._next = self._clock() + self._gap_s

    def delay(self, seconds: float) -> None:
        """No call starts within so many seconds from now."""
        self._not_before = max(self._not_before, self._clock() + seconds)
