"""Two attributes as a table of rows and columns with margins: a contingency table of shares."""

from dataclasses import dataclass, replace
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

    def lines(self) -> list[str]:
        """Return the table as lines of a text."""
        rows, columns = (
            [*(printable(name, _LONGEST) for name in names), ALL]
            for names in (self.rows, self.columns)
        )
        cells = [self.row(row) for row in range(len(rows))]
        wide = max(map(len, rows))
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        return [
            "  ".join([f"  {name:<{wide}}", *map(str.rjust, line, widths)])
            for name, line in zip(["", *rows], [columns, *cells], strict=True)
        ]

    def row(self, place: int) -> list[str]:
        """Return the shares of a row as texts, with their intervals if they have some."""
        shares = [f"{share:.2%}" for share in self.shares[place].tolist()]
        if self.low is None or self.high is None:
            return shares
        ends = zip(shares, 100 * self.low[place], 100 * self.high[place], strict=True)
        return [f"{share} ({low:.3g}-{high:.3g})" for share, low, high in ends]

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
    cells = asked.theta.reshape(product.sizes)
    shares = np.block([[cells, cells.sum(axis=1)[:, None]], [cells.sum(axis=0), cells.sum()]])
    labels = [tuple(texts(own, np.arange(own.size))) for own in (rows, columns)]
    names = (asked.names[0], asked.names[1])
    head = (asked.title, asked.people, level, joint)
    made = CrossTable(names, labels[0], labels[1], shares, *head)
    if level is None:
        return made
    parts = [asked, *(asked.marginal(name) for name in asked.names)]
    sure = [part.intervals(level=level, joint=joint) for part in parts]
    low, high = (_with_margins(sure, end, product.sizes) for end in ("low", "high"))
    return replace(made, low=low, high=high, advice=sure[0].advice)


def _with_margins(sure: list[Intervals], end: str, sizes: tuple[int, int]) -> FloatArray:
    """Return one end of the intervals of cells, with those of both margins."""
    cells, rows, columns = (np.atleast_1d(getattr(one, end)) for one in sure)
    return np.block([[cells.reshape(sizes), rows[:, None]], [columns, np.ones(1)]])
