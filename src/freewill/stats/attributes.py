"""What one may ask of records of several attributes: of one, given another, and how they depend.

>>> import freewill as fw
>>> people = fw.Product(age=fw.Linear(0, 2), vote=fw.Categorical(["yes", "no"]))
>>> fw.functionals.of("age", "mean").on(people).rows
array([[0., 0., 1., 1., 2., 2.]])
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.product import Product
from freewill.errors import ParameterError, printable, shown
from freewill.stats.conditions import (
    Given,
    checked_names,
    condition_on,
    numbers_of,
    places_in,
    product_of,
)
from freewill.stats.weights import (
    Dependence,
    Fraction,
    Fractions,
    Functionals,
    Nonlinear,
    Quantiles,
    Weights,
)


def of(names: Any, what: Any = "shares", given: Given | None = None) -> Any:
    """Ask of one attribute, or of several, what may be asked of an alphabet; of some people alone.

    `what` is anything of this module, or a name: "shares", "mean", "cdf", "median". With `given`,
    as {"commute": "bus"} or {"commute": ["bus", "car"]}, it is asked of the people whom the
    condition leaves: h'theta / q'theta, q being 1 for the records that meet it.

    >>> import freewill as fw
    >>> people = fw.Product(age=fw.Linear(0, 2), vote=fw.Categorical(["yes", "no"]))
    >>> fw.functionals.of("vote").on(people).names
    ('yes', 'no')
    >>> fw.functionals.of("age", "mean", given={"vote": "yes"}).on(people).names
    ('mean age given vote yes',)
    """
    from freewill.stats.functionals import functionals_of  # noqa: PLC0415

    chosen, wanted = checked_names(names), functionals_of(what)
    if isinstance(wanted, Nonlinear):
        raise ParameterError(f"{wanted} names its attributes itself: ask for it alone.")
    if given is not None:
        return _conditional(chosen, wanted, given)
    if isinstance(wanted, Quantiles):
        if len(chosen) != 1:
            raise ParameterError(f"quantiles of {shown(names)}: expected one attribute.")
        return replace(wanted, attribute=chosen[0])
    return of_attributes(chosen, wanted)


def of_attributes(names: tuple[str, ...], what: Any) -> Functionals:
    """Ask for functionals of some attributes, summed over the values of all others."""

    def bind(alphabet: Alphabet) -> Weights:
        product, own = _own_weights(alphabet, names, what)
        rows = own.rows[:, places_in(product, names)]
        named = _named(names, own)
        return replace(own, rows=rows, namer=lambda: named, about=product.only(*names))

    return Functionals(f"{_said(what)} of {', '.join(names)}", bind)


def _said(what: Any) -> str:
    """Return what is asked for in words; weights have none."""
    return str(what) if isinstance(what, Functionals | Quantiles) else "weights"


def _own_weights(alphabet: Alphabet, names: tuple[str, ...], what: Any) -> tuple[Product, Weights]:
    """Return the product, and what is asked of some of its attributes by themselves."""
    from freewill.stats.functionals import refuse_many, weights_of  # noqa: PLC0415

    product = product_of(alphabet, "functionals.of")
    own = weights_of(what, product.only(*names))
    refuse_many(
        len(own.rows), product.size, f"{len(own.rows):,} functionals of {', '.join(names)}",
        "Take a marginal of the evidence first, as evidence.marginal(name).",
    )  # fmt: skip
    return product, own


def _named(names: tuple[str, ...], own: Weights) -> tuple[str, ...]:
    """Return what functionals of one attribute are called: "mean age", and values as they are."""
    plain = len(names) == 1 and all(name.split(" ")[0] == "mean" for name in own.names)
    return tuple(f"{name} {names[0]}" for name in own.names) if plain else own.names


def _conditional(names: tuple[str, ...], what: Any, given: Given) -> Nonlinear:
    """Ask of the people whom a condition leaves: each sum of theta over theirs, as a share of it.

    A quantile is read off the conditional CDF.
    """
    if not isinstance(given, Mapping):
        raise ParameterError(f"given={shown(given)}: expected values by attribute, as a dict.")
    quantiles = what if isinstance(what, Quantiles) else None

    def bind(alphabet: Alphabet) -> Fractions:
        from freewill.stats.functionals import cdf  # noqa: PLC0415

        wanted = what if quantiles is None else cdf()
        product, own = _own_weights(alphabet, names, wanted)
        inside, words = condition_on(product, given)
        rows = own.rows[:, places_in(product, names)]
        ends = rows[:, inside].min(axis=1), rows[:, inside].max(axis=1)
        rows = np.concatenate([rows * inside, 1.0 * inside[None]])
        named = tuple(f"{name} given {words}" for name in _named(names, own))
        single = own.single if quantiles is None else quantiles.single
        about = product.only(*names)
        return Fractions(
            rows, _over_last, named, *ends, f"the share of {words}", single, about, quantiles
        )

    return Nonlinear(f"{_said(what)} of {', '.join(names)} given {shown(dict(given))}", bind)


def _over_last(sums: FloatArray) -> Fraction:
    """Return all sums but the last over the last."""
    many = len(sums) - 1
    last = np.zeros((many, many + 1))
    last[:, -1] = 1.0
    return Fraction(sums[:-1], np.eye(many, many + 1), np.full(many, sums[-1]), last)


def conditional_mean(name: str, **given: Any) -> Nonlinear:
    """Ask for the mean of one attribute among the people whom a condition leaves.

    >>> import freewill as fw
    >>> print(fw.functionals.conditional_mean("age", commute="bus"))
    the mean of age given {'commute': 'bus'}
    """
    asked: Nonlinear = of(name, "mean", given=given)
    return asked


def difference_of_means(name: str, **given: Any) -> Nonlinear:
    """Ask by how much the mean of one attribute among some people exceeds that among others.

    E[name | first] - E[name | second], both named by a pair of values, or of sets of values, of
    one other attribute: `difference_of_means("age", commute=("bus", "car"))`.
    """
    if len(given) != 1:
        raise ParameterError(
            f"difference_of_means with {len(given)} conditions: expected one attribute with a "
            f'pair of values, as commute=("bus", "car").'
        )
    checked_names([name])
    ((other, pair),) = given.items()
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ParameterError(
            f"{other}={shown(pair)}: expected a pair of values, or of lists of them, the first of "
            f'which is compared with the second: ("bus", "car").'
        )

    def bind(alphabet: Alphabet) -> Fractions:
        product = product_of(alphabet, "difference_of_means")
        numbers = numbers_of(product, name, "the difference of means")
        sides = [condition_on(product, {other: one}) for one in pair]
        rows = np.stack([row for inside, _ in sides for row in (numbers * inside, 1.0 * inside)])
        (first, _), (second, _) = sides
        most = numbers[first].max() - numbers[second].min()
        least = numbers[first].min() - numbers[second].max()
        words = [text.removeprefix(f"{printable(other)} ") for _, text in sides]
        named = f"mean {name}, {other} {words[0]} less {words[1]}"
        ends = np.array([least]), np.array([most])
        bottom = f"the share of {other} {words[0]} or of {words[1]}"
        return Fractions(rows, _less, (named,), *ends, bottom, single=True)

    return Nonlinear(f"the difference of means of {name}", bind)


def _less(sums: FloatArray) -> Fraction:
    """Return a / b - c / d = (a d - c b) / (b d)."""
    a, b, c, d = sums
    return Fraction(
        np.array([a * d - c * b]),
        np.array([[d, -c, -b, a]]),
        np.array([b * d]),
        np.array([[0.0, d, 0.0, b]]),
    )


def odds_ratio(**sets: Any) -> Nonlinear:
    """Ask for the odds ratio of two attributes, each split into some values and all others.

    P(A, B) P(not A, not B) / (P(A, not B) P(not A, B)): 1 where A and B are independent.
    `odds_ratio(age=range(60, 100), commute="car")`.

    >>> import freewill as fw
    >>> print(fw.functionals.odds_ratio(age=[60, 61], commute="car"))
    the odds ratio of age and commute
    """
    if len(sets) != 2:
        raise ParameterError(
            f"odds_ratio with {len(sets)} attributes: expected two, each with some of its values, "
            f'as odds_ratio(age=range(60, 100), commute="car").'
        )
    first, second = sets

    def bind(alphabet: Alphabet) -> Fractions:
        product = product_of(alphabet, "odds_ratio")
        (one, _), (other, _) = (condition_on(product, {name: sets[name]}) for name in sets)
        words = " and ".join(
            condition_on(product, {name: members})[1] for name, members in sets.items()
        )
        rows = np.stack([one & other, one & ~other, ~one & other, ~one & ~other]).astype(float)
        empty = ~rows.any(axis=1)
        if empty.any():
            raise ParameterError(
                f"odds_ratio of {words}: all values of an attribute are in its set, and none is "
                f"left to compare with."
            )
        ends = np.array([0.0]), np.array([np.inf])
        bottom = f"the product of the shares on one side ({words})"
        return Fractions(rows, _odds, (f"odds ratio of {words}",), *ends, bottom, single=True)

    return Nonlinear(f"the odds ratio of {first} and {second}", bind)


def _odds(cells: FloatArray) -> Fraction:
    """Return a d / (b c)."""
    a, b, c, d = cells
    return Fraction(
        np.array([a * d]),
        np.array([[d, 0.0, 0.0, a]]),
        np.array([b * c]),
        np.array([[0.0, c, b, 0.0]]),
    )


def correlation(one: str, other: str) -> Nonlinear:
    """Ask for the correlation of two attributes whose values are numbers.

    (E xy - E x E y) / sqrt(var x var y), within -1 and 1.
    """
    names = _two(one, other, "correlation")

    def bind(alphabet: Alphabet) -> Fractions:
        product = product_of(alphabet, "correlation")
        product.places(names)
        # About the middle of their ranges, so that little is lost where variances are small.
        x, y = (numbers_of(product, name, "the correlation") for name in names)
        x, y = ((own - (own.max() + own.min()) / 2) / max(np.ptp(own), 1e-300) for own in (x, y))
        rows = np.stack([x, y, x * x, y * y, x * y])
        named = (f"correlation of {one} and {other}",)
        ends = np.array([-1.0]), np.array([1.0])
        return Fractions(rows, _correlated, named, *ends, "a variance", single=True)

    return Nonlinear(f"the correlation of {one} and {other}", bind)


def _correlated(moments: FloatArray) -> Fraction:
    """Return cov(x, y) / sqrt(var x var y), whose variances are no less than a hair."""
    x, y, xx, yy, xy = moments
    one, other = max(xx - x * x, 1e-12), max(yy - y * y, 1e-12)
    bottom = float(np.sqrt(one * other))
    ratio = float(np.sqrt(other / one))
    down = [-x * ratio, -y / ratio, ratio / 2, 1 / (2 * ratio), 0.0]
    return Fraction(
        np.array([xy - x * y]),
        np.array([[-y, -x, 0.0, 0.0, 1.0]]),
        np.array([bottom]),
        np.array([down]),
    )


def mutual_information(one: str, other: str) -> Nonlinear:
    """Ask for the mutual information of two attributes, in nats: 0 where they are independent.

    sum p_ij log(p_ij / (p_i p_j)), at most the logarithm of the smaller number of values.
    """
    names = _two(one, other, "mutual_information")

    def bind(alphabet: Alphabet) -> Dependence:
        product = product_of(alphabet, "mutual_information")
        places = places_in(product, names)
        pair: Any = product.only(*names)
        rows = np.zeros((pair.size, product.size))
        rows[places, np.arange(product.size)] = 1.0
        return Dependence(rows, pair.sizes, f"mutual information of {one} and {other}")

    return Nonlinear(f"the mutual information of {one} and {other}", bind)


def _two(one: Any, other: Any, what: str) -> tuple[str, str]:
    if not isinstance(one, str) or not isinstance(other, str) or one == other:
        raise ParameterError(
            f"{what} of {shown(one)} and {shown(other)}: expected the names of two attributes."
        )
    return one, other
