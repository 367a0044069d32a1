"""Progress bars with rate and time left."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Protocol


class Advance(Protocol):
    """Moves a progress bar."""

    def __call__(self, n: int = 1, *, total: bool = False, note: str = "") -> None:
        """`n` more are done, or `n` in total; `note` is printed beside."""


class Progress:
    """Prints nothing: the default of library calls."""

    @contextlib.contextmanager
    def bar(self, name: str, n: int) -> Iterator[Advance]:
        """A bar for `n` things, named by what is done to them."""
        yield lambda n=1, total=False, note="": None


class ProgressBars(Progress):
    """Bars on a terminal; elsewhere a line every few seconds."""

    def __init__(self, *, every_s: float = 10.0, write_line: Callable[[str], None] = print) -> None:
        self.every_s, self.write_line = every_s, write_line

    @contextlib.contextmanager
    def bar(self, name: str, n: int) -> Iterator[Advance]:
        """A bar for `n` things."""
        from rich import progress as rich
        from rich.console import Console

        if not Console().is_terminal:
            with self._lines(name, n) as advance:
                yield advance
            return
        columns = (
            rich.SpinnerColumn(),
            rich.TextColumn("{task.description}"),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            rich.TextColumn("{task.fields[rate]}"),
            rich.TimeRemainingColumn(),
            rich.TextColumn("{task.fields[note]}"),
        )
        with rich.Progress(*columns) as bars:
            task = bars.add_task(name, total=n, rate="", note="")
            began, done = time.monotonic(), 0

            def advance(n: int = 1, *, total: bool = False, note: str = "") -> None:
                nonlocal done
                done = n if total else done + n
                rate = _rate(done / max(time.monotonic() - began, 1e-9))
                bars.update(task, completed=done, rate=rate, note=note)

            yield advance

    @contextlib.contextmanager
    def _lines(self, name: str, most: int) -> Iterator[Advance]:
        began = last = time.monotonic()
        done = 0

        def advance(n: int = 1, *, total: bool = False, note: str = "") -> None:
            nonlocal done, last
            done = n if total else done + n
            now = time.monotonic()
            if now - last >= self.every_s and done:
                last, rate = now, done / (now - began)
                left = (most - done) / rate
                beside = f", {note}" if note else ""
                self.write_line(
                    f"{name}: {done} of {most}, {_rate(rate)}, {left:.0f} s left{beside}"
                )

        yield advance
        self.write_line(f"{name}: {done} of {max(most, done)} in {time.monotonic() - began:.1f} s")


def progress_of(rank: int) -> Progress:
    """Bars in the first of several processes, nothing in the others."""
    return Progress() if rank else ProgressBars()


def _rate(per_s: float) -> str:
    """Two digits where things are slow.

    >>> _rate(123.4), _rate(0.0456)
    ('123/s', '0.046/s')
    """
    return f"{per_s:.0f}/s" if per_s >= 10 else f"{per_s:.2g}/s"
