"""Which of several processes this one is: what `accelerate launch` says in the environment."""

import os

from otoscope.errors import InputError


class LaunchError(InputError, ValueError):
    """RANK or WORLD_SIZE make no sense."""


def process_share(rank: int | None = None, world: int | None = None) -> tuple[int, int]:
    """This process's number and how many there are, from RANK and WORLD_SIZE when absent.

    >>> process_share(1, 2)
    (1, 2)

    Raises:
        LaunchError: They are no whole numbers, or the rank is not below the world size.
    """
    rank = whole_number("RANK", 0) if rank is None else rank
    world = whole_number("WORLD_SIZE", 1) if world is None else world
    if not 0 <= rank < world:
        raise LaunchError(f"rank {rank} is not below a world size of {world}, counted from 0")
    return rank, world


def whole_number(variable: str, default: int) -> int:
    """An environment variable as an integer.

    Raises:
        LaunchError: It is none.
    """
    value = os.environ.get(variable, "")
    try:
        return int(value) if value else default
    except ValueError:
        raise LaunchError(
            f"the environment variable {variable} is {value!r}, not a number"
        ) from None
