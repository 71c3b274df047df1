"""Two attributes as a table of rows and columns with margins: a contingency table of shares."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from freewill.core.presented import Presented
from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import texts
from freewill.errors import ParameterError, printable, several
from freewill.stats.intervals import Intervals

if TYPE_CHECKING:
    from freewill.present.distribution import Distribution

_LONGEST = 24
"""Characters of a label."""
ALL = "all"
"""The name of a margin."""


@dataclass(frozen=True, eq=False)
class CrossTable(Presented):
    """The shares of all pairs of values of two attributes, with their margins.

    `shares`, and with intervals `low` and `high`, have a row for each value of the first attribute
    and a column for each of the second; behind them stand the margins, and 1 in the corner.

    >>> import numpy as np, freewill as fw
    >>> coin = fw.Categorical(["yes", "no"])
    >>> both = fw.Each(tax=fw.KRR(coin, 2.0), road=fw.KRR(coin, 2.0))
    >>> reports = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    >>> fit = fw.fit(fw.collect([(both, reports, [400, 150, 150, 300])]))
    >>> print(fit.marginal("tax", "road").cross())
    1,000 people, tax by road
              yes      no      all
      yes  48.81%   7.76%   56.57%
      no    7.76%  35.68%   43.43%
      all  56.57%  43.43%  100.00%
    """

    attributes: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shares: FloatArray
    title: str
    people: int
    level: float | None = None
    joint: bool = False
    low: FloatArray | None = None
    high: FloatArray | None = None
    advice: str = ""

    @property
    def cells(self) -> FloatArray:
        """The shares without their margins."""
        return self.shares[:-1, :-1]

    def lines(self) -> list[str]:
        """Return the table as lines of a text."""
        heads = [*(printable(name, _LONGEST) for name in self.columns), ALL]
        body = [[self.cell(row, column) for column in range(len(heads))]
                for row in range(len(self.rows) + 1)]  # fmt: skip
        names = [*(printable(name, _LONGEST) for name in self.rows), ALL]
        wide = max(map(len, names))
        widths = [
            max(len(head), *(len(line[place]) for line in body)) for place, head in enumerate(heads)
        ]
        return [
            "  ".join([f"  {name:<{wide}}", *map(str.rjust, cells, widths)])
            for name, cells in zip(["", *names], [heads, *body], strict=True)
        ]

    def cell(self, row: int, column: int) -> str:
        """Return a share as a text, with its interval if it has one."""
        share = f"{self.shares[row, column]:.2%}"
        if self.low is None or self.high is None:
            return share
        return f"{share} ({100 * self.low[row, column]:.3g}-{100 * self.high[row, column]:.3g})"

    def __str__(self) -> str:
        head = f"{several(self.people, 'person')}, {self.title}"
        if self.level is not None:
            kind = "all cells together" if self.joint else "one by one"
            head += f", {100 * self.level:.6g}% intervals, {kind}"
        return "\n".join([head, *self.lines(), *([self.advice] if self.advice else [])])


def cross_table(asked: "Distribution", level: float | None, joint: bool) -> CrossTable:
    """Return a distribution of two attributes as a cross table, at a level with intervals.

    Bands of margins, with `joint`, hold each margin as a whole, as that of the cells holds these.
    """
    if len(asked.names) != 2:
        raise ParameterError(
            f"a cross table of {', '.join(asked.names)}: it has two attributes. Take those of a "
            f"marginal, as estimate.marginal(one, other).cross()."
        )
    product: Any = asked.alphabet
    rows, columns = product.attributes.values()
    low = high = None
    advice = ""
    if level is not None:
        parts = [asked, *(asked.marginal(name) for name in asked.names)]
        sure = [part.intervals(level=level, joint=joint) for part in parts]
        low, high = (_with_margins(sure, end, product.sizes) for end in ("low", "high"))
        advice = sure[0].advice
    cells = asked.theta.reshape(product.sizes)
    shares = np.block([[cells, cells.sum(axis=1)[:, None]], [cells.sum(axis=0), cells.sum()]])
    names = [tuple(texts(own, np.arange(own.size))) for own in (rows, columns)]
    return CrossTable(
        attributes=(asked.names[0], asked.names[1]),
        rows=names[0],
        columns=names[1],
        shares=shares,
        title=asked.title,
        people=asked.people,
        level=level,
        joint=joint,
        low=low,
        high=high,
        advice=advice,
    )


def _with_margins(sure: list[Intervals], end: str, sizes: tuple[int, int]) -> FloatArray:
    """Return one end of the intervals of cells, with those of both margins."""
    cells, rows, columns = (np.atleast_1d(getattr(one, end)) for one in sure)
    return np.block([[cells.reshape(sizes), rows[:, None]], [columns, np.ones(1)]])
