"""What is asked of theta, in the form that is answered: weights, quantiles, or fractions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet


@dataclass(frozen=True, eq=False)
class Weights:
    """Functionals on one alphabet, h'theta each: a row of weights and a name."""

    rows: FloatArray
    namer: Callable[[], Sequence[str]]
    single: bool = False
    """Whether this is one functional by itself, and no list of them."""
    better: str = ""
    """What is known better than these, where they are hardly known."""
    about: Alphabet | None = None
    """What answers are about where that is not what theta is on, but some of its attributes."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each functional is called."""
        return tuple(self.namer())

    @property
    def least(self) -> FloatArray:
        """The least that each can be."""
        return np.asarray(self.rows.min(axis=1))

    @property
    def most(self) -> FloatArray:
        """The most that each can be."""
        return np.asarray(self.rows.max(axis=1))

    @property
    def are_shares(self) -> bool:
        """Whether each is the share of some values, and no mean or other sum."""
        return bool(np.all((self.rows == 0) | (self.rows == 1)))


@dataclass(frozen=True)
class Functionals:
    """Something to ask of theta on whatever alphabet it is on.

    >>> import freewill as fw
    >>> tens = fw.functionals.bins(10)
    >>> isinstance(tens, fw.Functionals), tens.what
    (True, 'bins of 10 values')
    """

    what: str
    on: Callable[[Alphabet], Weights]
    """Gives the weights on an alphabet."""

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Quantiles:
    """Quantiles of the CDF, drawn straight through each value: no weights give them."""

    levels: tuple[float, ...]
    single: bool = False
    attribute: str = ""
    """What they are of, where theta is on several attributes."""

    def __str__(self) -> str:
        return ", ".join(
            "median" if level == 0.5 else f"quantile {level:g}" for level in self.levels
        )


class Fraction(NamedTuple):
    """Numerators and denominators at some shares t, one a functional, with their gradients."""

    top: FloatArray
    top_gradient: FloatArray
    """[functional, share]"""
    bottom: FloatArray
    bottom_gradient: FloatArray


@dataclass(frozen=True, eq=False)
class Fractions:
    """Functionals f(H theta) = A(t) / B(t) on one alphabet, of a few sums t = H theta.

    A ratio, a difference of ratios or a product of odds is such a fraction of smooth A and B > 0,
    whose gradients say how sure it is; `least` and `most` bound what it can be.
    """

    rows: FloatArray
    """H, a row of weights a sum."""
    at: Callable[[FloatArray], Fraction]
    names: tuple[str, ...]
    least: FloatArray
    most: FloatArray
    bottom: str
    """What the denominator is, for a sentence about one that is hardly above 0."""
    single: bool = False
    about: Alphabet | None = None
    quantiles: Quantiles | None = None


@dataclass(frozen=True, eq=False)
class Dependence:
    """The mutual information of two attributes, sum p_ij log p_ij / (p_i p_j), from all p_ij."""

    rows: FloatArray
    """A row of weights a cell, row by row."""
    shape: tuple[int, int]
    name: str


@dataclass(frozen=True)
class Nonlinear:
    """Something to ask of theta that no weights give, on products of attributes."""

    what: str
    on: Callable[[Alphabet], Fractions | Dependence]

    def __str__(self) -> str:
        return self.what
