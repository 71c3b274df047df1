"""The distribution of some attributes in an estimate of records: of all people, or of some."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, attributes_of
from freewill.domain.alphabets.groups import Groups, Values
from freewill.domain.alphabets.product import Product
from freewill.errors import ParameterError, printable, several, shown
from freewill.numeric.solvers.likelihood import OnStep
from freewill.present.cross_table import CrossTable, cross_table
from freewill.present.shares import Listed
from freewill.stats import functionals
from freewill.stats.conditions import condition_on, places_in, product_of
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.intervals import Intervals

if TYPE_CHECKING:
    from freewill.stats.fit import Fit

_NOBODY = 1e-3
"""People, in all, who are none but for the tolerance of a solver."""
_LINES, _COLUMNS = 40, 8
"""Rows and columns of a cross table that is printed as one."""


@dataclass(frozen=True, eq=False, repr=False)
class Distribution(Listed):
    """How some attributes are distributed, among all people or among those a condition leaves.

    Shares are sums of theta over the other attributes; given a condition, sums over the records
    that meet it as shares of their own sum. Nothing is estimated anew. `alphabet` is that of the
    attributes: of one, its own, so that its mean, CDF and quantiles may be asked for.

    >>> import freewill as fw, numpy as np
    >>> people = fw.Product(age=fw.Linear(0, 2), vote=fw.Categorical(["yes", "no"]))
    >>> ages, votes = people.attributes.values()
    >>> sure = fw.Each(age=fw.Identity(ages), vote=fw.KRR(votes, 9.0))
    >>> records = people.encode([(0, "yes"), (1, "yes"), (2, "no"), (2, "yes")] * 100)
    >>> evidence = fw.collect([(sure, sure.obfuscate(records, np.random.default_rng(1)))])
    >>> print(fw.gibu(evidence).given(vote="yes"))
    400 people, age given vote yes (75.00% of them)
      0  33.33%
      1  33.33%
      2  33.33%
    >>> print(fw.gibu(evidence).marginal("age").intervals("mean"))
    95% intervals, one by one, from 400 people
      mean age  1.25  (1.167 to 1.331)
    """

    estimate: Estimate
    names: tuple[str, ...]
    condition: Mapping[str, Any] = field(default_factory=dict)
    fit: "Fit | None" = None
    """What answers for intervals; the estimate itself where there is none."""

    @property
    def _product(self) -> Product:
        return product_of(self.estimate.alphabet, "a marginal")

    @cached_property
    def alphabet(self) -> Alphabet:
        """The values of the attributes."""
        return self._product.only(*self.names)

    @cached_property
    def _met(self) -> tuple[FloatArray, str]:
        """Theta of the records that meet the condition, 0 elsewhere, and the condition in words."""
        theta = self.estimate.theta
        if not self.condition:
            return theta, ""
        inside, words = condition_on(self._product, self.condition)
        return np.where(inside, theta, 0.0), words

    @property
    def given(self) -> str:
        """The condition in words; empty where there is none."""
        return self._met[1]

    @property
    def share(self) -> float:
        """The share of all people whom the condition leaves."""
        return float(self._met[0].sum()) if self.condition else 1.0

    @cached_property
    def groups(self) -> Groups:  # type: ignore[override]
        """Every value by itself."""
        return Values(self.alphabet)

    @cached_property
    def theta(self) -> FloatArray:
        """The share of each value, or of each record of several attributes."""
        places = places_in(self._product, self.names)
        sums = np.bincount(places, self._met[0], minlength=self.alphabet.size)
        return np.asarray(sums / self.share)

    def intervals(
        self,
        of: Any = "shares",
        level: float = 0.95,
        joint: bool = False,
        on_step: OnStep | None = None,
    ) -> Intervals:
        """Return intervals for every share, or for what else `fw.intervals` takes.

        They are from all reports on all attributes. Given a condition they are ratios, by
        Fieller's theorem: as wide as the share of the people who meet it is unsure.
        """
        asked = functionals.of(self.names, of, given=dict(self.condition) or None)
        return (self.fit or self.estimate).intervals(asked, level, joint, on_step=on_step)

    def marginal(self, *names: str) -> "Distribution":
        """Return the distribution of fewer of the attributes, among the same people."""
        checked = _chosen(self._product, names)
        beyond = [name for name in checked if name not in self.names]
        if beyond:
            raise ParameterError(
                f"no attribute {shown(beyond[0])} here: expected some of {', '.join(self.names)}."
            )
        return replace(self, names=checked)

    def cross(self, level: float | None = None, joint: bool = False) -> CrossTable:
        """Return two attributes as a cross table with margins, at a level with intervals."""
        return cross_table(self, level, joint)

    @property
    def is_small_table(self) -> bool:
        """Whether it is shown as a cross table: of two attributes that have few values."""
        sizes = [own.size for own in attributes_of(self.alphabet).values()]
        return len(sizes) == 2 and sizes[0] <= _LINES and sizes[1] <= _COLUMNS

    def _heads(self, heads: Sequence[str]) -> Sequence[str]:
        """Return the name of the attribute, where one column says what shares are of."""
        return self.names if len(self.names) == len(heads) == 1 else heads

    def __repr__(self) -> str:
        return f"Distribution({self.title})"

    @property
    def title(self) -> str:
        """What this is the distribution of, and among whom."""
        what = " by ".join(map(printable, self.names))
        return f"{what} given {self.given}" if self.condition else what

    def __str__(self) -> str:
        part = f" ({self.share:.2%} of them)" if self.condition else ""
        head = f"{several(self.people, 'person')}, {self.title}{part}"
        lines = self.cross().lines() if self.is_small_table else self.few_lines()
        return "\n".join([head, *lines])


def marginal_of(estimate: Estimate, names: tuple[str, ...]) -> Distribution:
    """Return the distribution of some attributes."""
    product = product_of(estimate.alphabet, "a marginal")
    return Distribution(estimate, _chosen(product, names))


def given_in(estimate: Estimate, given: Mapping[str, Any]) -> Distribution:
    """Return the distribution of all attributes that a condition leaves open."""
    product = product_of(estimate.alphabet, "a condition")
    condition_on(product, given)
    names = tuple(name for name in product.attributes if name not in given)
    if not names:
        raise ParameterError(
            f"given all of {', '.join(product.attributes)}: no attribute is left to distribute."
        )
    conditional = Distribution(estimate, names, dict(given))
    if not conditional.share * conditional.people > _NOBODY:
        raise ParameterError(
            f"given {conditional.given}: its share in the estimate is 0, so that nobody is left to "
            f"distribute. Take more values together; fw.intervals of functionals.values tells how "
            f"large the share may be."
        )
    return conditional


def _chosen(product: Product, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of attributes in the order of the product."""
    attributes = list(product.attributes)
    return tuple(attributes[place] for place in product.places(names))
