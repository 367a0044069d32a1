"""Progress bars with rate and time left; silent where nobody watches."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Protocol


class Step(Protocol):
    """Tells a bar how far things are."""

    def __call__(self, n: int = 1, *, total: bool = False, note: str = "") -> None:
        """`n` more are done, or `n` in all; `note` is shown beside."""


class Progress:
    """Shows nothing; what a library call uses."""

    @contextlib.contextmanager
    def bar(self, name: str, n: int) -> Iterator[Step]:
        """A bar for `n` things."""
        yield lambda n=1, total=False, note="": None


class Shown(Progress):
    """Bars on a terminal; a line now and then where output is not one."""

    def __init__(self, *, every_s: float = 10.0, say: Callable[[str], None] = print) -> None:
        self.every_s, self.say = every_s, say

    @contextlib.contextmanager
    def bar(self, name: str, n: int) -> Iterator[Step]:
        """A bar for `n` things."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            SpinnerColumn,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.progress import (
            Progress as Bars,
        )

        if not Console().is_terminal:
            with self._lines(name, n) as step:
                yield step
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Bars(*columns) as bars:
            task = bars.add_task(name, total=n, rate="", note="")
            began, done = time.monotonic(), 0

            def step(n: int = 1, *, total: bool = False, note: str = "") -> None:
                nonlocal done
                done = n if total else done + n
                rate = _rate(done / max(time.monotonic() - began, 1e-9))
                bars.update(task, completed=done, rate=rate, note=note)

            yield step

    @contextlib.contextmanager
    def _lines(self, name: str, most: int) -> Iterator[Step]:
        began = last = time.monotonic()
        done = 0

        def step(n: int = 1, *, total: bool = False, note: str = "") -> None:
            nonlocal done, last
            done = n if total else done + n
            now = time.monotonic()
            if now - last >= self.every_s and done:
                last, rate = now, done / (now - began)
                left = (most - done) / rate
                told = f", {note}" if note else ""
                self.say(f"{name}: {done} of {most}, {_rate(rate)}, {left:.0f} s left{told}")

        yield step
        self.say(f"{name}: {done} of {max(most, done)} in {time.monotonic() - began:.1f} s")


def _rate(per_s: float) -> str:
    """With two digits where things are slow.

    >>> _rate(123.4), _rate(0.0456)
    ('123/s', '0.046/s')
    """
    return f"{per_s:.0f}/s" if per_s >= 10 else f"{per_s:.2g}/s"
