"""One input: where its randomness and its files come from, and what it was, in words."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from freewill.errors import shown

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """Draws of one input; it is always the same for one number of one seed."""

    draw: random.Random
    folder: Path
    """A folder of its own, empty."""
    told: list[str] = field(default_factory=list)
    """What was tried, for whoever looks at it again."""

    def tell(self, what: object) -> None:
        """Note what is tried; of long texts the beginning."""
        self.told.append(what[:4000] if isinstance(what, str) else shown(what))

    def pick(self, some: Sequence[T]) -> T:
        """Return one of several."""
        return some[self.draw.randrange(len(some))]

    def often(self, share: float) -> bool:
        """Say yes that often."""
        return self.draw.random() < share

    def some(self, most: int) -> int:
        """Return a number from 0 on, small ones more often."""
        return int((most + 1) * self.draw.random() ** 2)


class BrokenPromiseError(Exception):
    """Something was accepted, and what must then be true is not."""


def promise(holds: Any, what: str) -> None:
    """Hold what was accepted to a property."""
    if not holds:
        raise BrokenPromiseError(what)
