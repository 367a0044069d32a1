"""What holds for every test: no deadlines on property tests, one object behind `os.environ`."""

import os

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a loaded machine is slow, not wrong
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def same_environment():
    """Puts the object behind `os.environ` back.

    `datasets.Dataset.map(num_proc=2)` leaves a copy there, and whoever holds the first object
    (rich, for `COLUMNS`) no longer sees what later tests set.
    """
    environment, before = os.environ, dict(os.environ)
    yield
    os.environ = environment  # noqa: B003
    for name in set(environment) - set(before):
        del environment[name]
    environment.update(before)
