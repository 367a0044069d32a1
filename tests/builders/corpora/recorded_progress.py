"""Progress that records every step instead of showing it."""

from contextlib import contextmanager

from otoscope.progress import Progress


class RecordedProgress(Progress):
    """`steps` holds `(done, total)` of every step of every bar."""

    def __init__(self):
        self.steps = []

    @contextmanager
    def bar(self, name, n):
        """A bar that is not shown."""
        done = 0

        def step(k=1, *, total=False, note=""):
            nonlocal done
            done = k if total else done + k
            self.steps.append((done, n))

        yield step
