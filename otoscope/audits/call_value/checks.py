"""One check of an audit, and what it found."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Check:
    """A check and what it found. `unknown`: the tables or the contract lack what it needs."""

    name: str
    outcome: Literal["passed", "found", "unknown"]
    detail: str
