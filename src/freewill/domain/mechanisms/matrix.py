"""Laws that are tables of numbers: given as a matrix, or computed from parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, IntArray, Reports, Spec, frozen, numbers
from freewill.domain.alphabets.base import Alphabet, Linear, checked_alphabet, distances
from freewill.domain.alphabets.product import alphabet_from_spec
from freewill.domain.draws.sources import Source
from freewill.domain.draws.tables import Tables, whole_weights
from freewill.domain.guarantees.epsilon import audit_epsilon
from freewill.domain.guarantees.logarithms import literal_epsilon
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism, Noisy
from freewill.domain.outputs import Symbols
from freewill.errors import LawError, ParameterError, several, shown
from freewill.numeric.operators.base import DenseOperator

_TINY = 2.0**-256
"""Outputs whose probability is below that for every value are held with a factor of their own."""
_ROW_TOLERANCE = 1e-9
_ROW_ROUNDING = 2.0**-48
"""How far from 1 the sum of a row may be that is left as it is: what dividing it would leave."""
_CLEAR = 1e-12
"""Least eigenvalue of A A' over their sum from which no singular value of A is near 1e-10."""
_RANK_VALUES = 1_000
"""Values up to which a matrix is asked for its rank at once: some milliseconds."""
LARGEST_TABLE = 2048
"""Values whose law, 32 MiB, is still computed, held and sent as a table."""
_LARGEST_EXPONENT = 650.0
"""Where e^-x, divided by the sum of a row, is still a double with all its digits."""
_ROUNDING = 2.0**-49
_ROUNDINGS = 16.0
"""By how many of these log P(y | x) may be off, besides one for each unit of its exponent: sums of
positive terms, their quotient and exp, each rounded."""
_LEAST_EPSILON = 1e-10
"""Times the least distance: below, rounding would be more than a thousandth of the promise."""


def clearly_of_full_rank(squares: FloatArray) -> bool:
    """Say from A A' if the rows of A are independent by a wide margin, in one factorisation.

    >>> clearly_of_full_rank(np.eye(2)), clearly_of_full_rank(np.ones((2, 2)))
    (True, False)
    """
    shifted = squares.copy()
    shifted.ravel()[:: len(squares) + 1] -= _CLEAR * squares.trace()
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


class Tabulated(Mechanism, Protocol):
    """A mechanism whose law is a table of numbers, `matrix`, each taken to the last digit."""

    tabulated: ClassVar[bool] = True
    matrix: FloatArray
    """The law, rows: alphabet, columns: outputs; read-only."""

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw from the table of each value, value by value."""
        return self._tables.many(truth, rng)

    def _report(self, value: int, source: Source) -> int:
        """Draw from the table of the value."""
        return self._tables[value].draw(source)

    def weights(self) -> list[list[int]]:
        """Return the rows, in whole numbers."""
        return [whole_weights(row) for row in self.matrix]

    @cached_property
    def _tables(self) -> Tables:
        return Tables(self.matrix)

    def operator(self, outputs: Reports) -> DenseOperator:
        """Return the law of these outputs, as an array."""
        symbols = self.output_space.checked(outputs, self.name)
        return _scaled(np.ascontiguousarray(self.matrix.T[symbols]))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.spec() == other.spec()

    def __hash__(self) -> int:
        return hash(self.id)

    def law(self) -> FloatArray:
        """Return the matrix, to the last digit."""
        return self.matrix

    def guessed(self) -> float:
        """Return how often the best guess from a report is right, if all values are as common.

        A report need not be the value to give it away: from a permutation all can be read.
        """
        best = float(self.matrix.max(axis=0).sum())
        return min(best / len(self.matrix), 1.0)


@dataclass(frozen=True, eq=False, init=False)
class Matrix(Tabulated):
    """The law that a row-stochastic matrix gives: P(z | x) = law[x, z].

    Rows that sum to 1 within 1e-9 are divided by their sums: sampler, operator and guarantee all
    speak of the law so made. The output alphabet is the alphabet itself for a square law,
    0 .. m-1 for a rectangular one, unless `outputs` names another. Promises the LDP epsilon that
    the law turns out to have, which is infinite when some output excludes some value. Entries
    are taken as they are, down to the smallest double, 5e-324: an output that is next to impossible
    tells as much as another.

    Products cost O(outputs * k).

    >>> import freewill as fw
    >>> answer = fw.Matrix(fw.Categorical(["yes", "no"]), [[0.8, 0.2], [0.5, 0.5]])
    >>> str(answer.guarantee())
    '0.9163-LDP'
    """

    alphabet: Alphabet
    matrix: FloatArray
    output_alphabet: Alphabet
    name: ClassVar[str] = "matrix"

    def __init__(self, alphabet: Alphabet, law: ArrayLike, outputs: Alphabet | None = None) -> None:
        checked_alphabet(alphabet, Alphabet, self.name, least=1)
        matrix = checked_law(law, alphabet.size)
        if outputs is None:
            square = matrix.shape[1] == alphabet.size
            outputs = alphabet if square else Linear(0, matrix.shape[1] - 1)
        checked_alphabet(outputs, Alphabet, f"the outputs of {self.name}", least=1)
        if outputs.size != matrix.shape[1]:
            raise LawError(
                f"the law has {several(matrix.shape[1], 'column')} and the output alphabet "
                f"{several(outputs.size, 'value')}: expected one column a value."
            )
        vars(self).update(alphabet=alphabet, matrix=matrix, output_alphabet=outputs)

    @property
    def output_space(self) -> Symbols:
        """A column of the law."""
        return Symbols(self.output_alphabet)

    @cached_property
    def full_rank(self) -> bool:  # type: ignore[override]
        """Whether all distributions lead to different ones of outputs, as far as that is clear."""
        size, columns = self.matrix.shape
        if size > min(columns, _RANK_VALUES):
            return False
        return clearly_of_full_rank(self.matrix @ self.matrix.T)

    def guarantee(self) -> Guarantee:
        """Return the epsilon-LDP that the law itself gives, exactly, rounded up.

        The sums of the rows, which the draws divide by, count too. The law that estimators use is
        not divided again: its epsilon may be larger by as much as the sums are off 1, and is kept
        as well.
        """
        audit = audit_epsilon(self, Guarantee("ldp", np.inf))
        return Guarantee("ldp", max(literal_epsilon(self.matrix), audit.epsilon))

    def parameters(self) -> Spec:
        """Return the law and, where it is not the alphabet, the output alphabet."""
        outputs = None if self.output_alphabet == self.alphabet else self.output_alphabet.spec()
        return {"law": self.matrix.tolist(), "outputs": outputs}

    @classmethod
    def from_parameters(cls, alphabet: Alphabet, parameters: Spec) -> Self:
        """Rebuild from the law and the description of the output alphabet."""
        fields: dict[str, Any] = dict(parameters)
        outputs = fields.pop("outputs", None)
        return cls(
            alphabet, **fields, outputs=None if outputs is None else alphabet_from_spec(outputs)
        )

    def __str__(self) -> str:
        return f"{self.name}({self.alphabet}, {several(self.matrix.shape[1], 'output')})"


def _scaled(rows: FloatArray) -> DenseOperator:
    """Return the law of some outputs; one that is next to impossible for all values is scaled.

    Products and squares of such rows would underflow. A power of two changes no digit, not even of
    a denormal entry: the ratios between values, which are all that an estimate uses, stay exact.
    """
    largest = rows.max(axis=1, initial=0.0)
    if np.all((largest >= _TINY) | (largest == 0)):
        return DenseOperator(rows)
    exponents = np.where(largest < _TINY, np.frexp(largest)[1], 0)
    return DenseOperator(np.ldexp(rows, -exponents[:, None]), exponents * np.log(2))


def checked_law(law: ArrayLike, size: int, name: str = "law", row: str = "a value") -> FloatArray:
    """Check that a matrix is row-stochastic, make its rows sum to 1 and the whole read-only."""
    wanted = "a matrix of numbers, rows of equal length"
    matrix = numbers(law, name, wanted, LawError)
    if matrix.ndim != 2 or matrix.shape[0] != size or matrix.shape[1] == 0:
        raise LawError(
            f"{name} of shape {matrix.shape}: expected ({size}, outputs), one row {row}."
        )
    if not np.all(np.isfinite(matrix)) or np.any(matrix < 0):
        bad = ~np.isfinite(matrix) | (matrix < 0)
        where, column = np.argwhere(bad)[0]
        raise LawError(
            f"{name}[{where}, {column}]={matrix[where, column]}: probabilities must be finite and "
            f">= 0."
        )
    with np.errstate(over="ignore"):
        excess = matrix.sum(axis=1) - 1
    if np.any(np.abs(excess) > _ROW_TOLERANCE):
        worst = int(np.argmax(np.abs(excess)))
        raise LawError(
            f"row {worst} of the {name} sums to {float(1 + excess[worst])!r}, off by "
            f"{excess[worst]:+.3g}: each row must sum to 1."
        )
    off = np.abs(excess) > _ROW_ROUNDING
    matrix[off] /= 1 + excess[off, None]
    return frozen(matrix)


def average(mechanisms: Sequence[Mechanism], people: ArrayLike) -> Mechanism:
    """Return the mechanism whose law is the people's average, sum of (n^A / n) A (eq. 7).

    The average of k-RRs is the k-RR of eq. 8. For RAPPORs it is the RAPPOR of eq. 13, which
    averages each bit's law, as [RAP]M asks, and not the law of whole reports. Anything else
    becomes a `Matrix`; all mechanisms must then have the same outputs.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 4)
    >>> one, two = fw.KRR(line, 1.0), fw.KRR(line, 3.0)
    >>> mean = average([one, two], [30, 10])
    >>> bool(np.allclose(mean.law(), 0.75 * one.law() + 0.25 * two.law()))
    True
    """
    weights = numbers(people, "people", "how many chose each mechanism")
    fine = np.isfinite(weights) & (weights >= 0)
    if weights.shape != (len(mechanisms),) or not np.all(fine) or weights.sum() <= 0:
        raise ParameterError(
            f"people={shown(people)}: expected one count >= 0 for each of "
            f"{several(len(mechanisms), 'mechanism')}, not all 0."
        )
    weights = weights / weights.sum()
    first = mechanisms[0]
    if len(mechanisms) == 1:
        return first
    if len({type(mechanism) for mechanism in mechanisms}) == 1:
        mean = first.average(mechanisms, weights)
        if mean is not None:
            return mean
    spaces = {mechanism.output_space for mechanism in mechanisms}
    reported = first.output_space.alphabet
    if len(spaces) > 1 or reported is None:
        raise LawError(
            f"reports of {' and of '.join(sorted(map(str, spaces)))}: mechanisms have an average "
            f"only if all report values of one alphabet. Use gibu, which takes any mixture."
        )
    law = sum(share * one.law() for share, one in zip(weights, mechanisms, strict=True))
    return Matrix(first.alphabet, np.asarray(law), reported)


class Computed(Tabulated, Protocol):
    """A mechanism whose law is a table that its parameters give, drawn to the last digit.

    A kind has `_law`, its formula; samplers, operator, exact audit and what a browser needs follow
    from the table. The table, and not the formula, is what its `guarantee` must be true of.
    """

    def _law(self) -> FloatArray:
        """Return the law up to a factor of each row, [value, output], by its formula."""
        raise LawError(f"{self.name} has no formula: its class must have _law or a matrix.")

    @cached_property
    def matrix(self) -> FloatArray:  # type: ignore[override]
        """The law, read-only."""
        unscaled = self._law()
        return frozen(unscaled / unscaled.sum(axis=1, keepdims=True))

    def guarantee(self) -> Guarantee:
        """Return what is promised of the table."""

    def program(self) -> Spec:
        """Return the table: a browser draws from the row of its value."""
        claim = self.guarantee()
        promise = {"kind": claim.kind, "epsilon": claim.epsilon}
        return {"draw": "table", "law": self.matrix.tolist(), "promise": promise}


class NoisyTable(Noisy, Computed, Protocol):
    """A table that an epsilon makes, and for which it is promised: for the doubles that are drawn.

    The table is computed for `inner_epsilon`, which is smaller than epsilon by as much as rounding
    may add to any log P(y | x) - log P(y | x'), so that the promise holds to the last digit.

    >>> import freewill as fw
    >>> table = fw.Staircase(fw.Linear(0, 4), epsilon=1.0)
    >>> fw.NoisyTable in type(table).__mro__, 0 < table.epsilon - table.inner_epsilon < 1e-12
    (True, True)
    """

    def __post_init__(self) -> None:
        checked_table(self.alphabet, self.on, self.name)
        Noisy.__post_init__(self)
        least = _LEAST_EPSILON / self._distances[0]
        if self.epsilon < least:
            raise ParameterError(
                f"epsilon={self.epsilon!r} for {self.name} on {self.alphabet}: must be >= "
                f"{least:.3g}, below which the law is flat to the rounding of its numbers. For "
                f"full privacy, send no report."
            )

    @cached_property
    def _distances(self) -> tuple[float, float]:
        """The least and the largest distance that the promise is about; both 1 for LDP."""
        return distance_range(self.alphabet) if self.promise == "geo" else (1.0, 1.0)

    def _largest_epsilon(self) -> float:
        """Return where the rarest report still has a double of its own."""
        return _LARGEST_EXPONENT / self._distances[1]

    @property
    def inner_epsilon(self) -> float:
        """The epsilon of the formula: what is promised, less the rounding of the table."""
        least, largest = self._distances
        return self.epsilon - (_ROUNDINGS + self.epsilon * largest) * _ROUNDING / least


def checked_table(alphabet: Alphabet, kind: type, name: str) -> None:
    """Refuse an alphabet of another kind, or of more values than a table is made for."""
    checked_alphabet(alphabet, kind, name)
    if alphabet.size > LARGEST_TABLE:
        raise LawError(
            f"{name} on {several(alphabet.size, 'value')}: its law is a table, for at most "
            f"{LARGEST_TABLE:,} values. Use a coarser alphabet."
        )


def distance_range(alphabet: Alphabet) -> tuple[float, float]:
    """Return the distance of the nearest two values and of the furthest two.

    >>> import freewill as fw
    >>> distance_range(fw.Linear(0, 30, step=3))
    (3.0, 30.0)
    """
    apart = distances(alphabet)
    return float(apart[~np.eye(len(apart), dtype=bool)].min()), float(apart.max())
