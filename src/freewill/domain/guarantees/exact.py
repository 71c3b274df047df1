"""The exact audit: what a sampler's own whole numbers promise, proved and not measured.

The sampler's numbers are written out, P(y | x) = weight / sum of its row, and their logarithms
taken to a hundred digits and more, with a bound on their rounding: an epsilon that comes out below
the claimed one is below it. The law that estimators use is then held against the same numbers. Of
noise on an infinite lattice the part is proved that a grid reaches.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from freewill.core.presented import Presented
from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet, is_line
from freewill.domain.alphabets.grid import Grid
from freewill.domain.draws.chance import Dyadic
from freewill.domain.guarantees.epsilon import audit_epsilon
from freewill.domain.guarantees.logarithms import (
    Logarithms,
    cell_distance,
    exact_distance,
    float_up,
    logarithms,
)
from freewill.domain.guarantees.promises import (
    LOSS_ROUNDING,
    AdversaryLoss,
    Guarantee,
    Outcome,
    Promise,
    claim_rounding,
)
from freewill.errors import LawError, ParameterError, several

_NEGLIGIBLE = 42.0
"""e^-42 (1 + 42) < 1e-16: noise further out than 42 / epsilon is lost in the rounding."""
_SUMMED = 1 << 22
"""Cells of the lattice that are added up."""
BEYOND = (
    "The lattice has no last cell: offsets up to {reach} were compared pairwise. Beyond, the "
    "chances are powers and products of the same numbers, and the slack, 2^-64 of each step, "
    "exceeds their rounding."
)
CORNERS = (
    " On 2 x 2 cells every report adds up a quarter of the lattice, which tells less than a cell "
    "of it: the epsilon is that of these sums, as the estimators' law has them, to 1e-12 of it."
)


REMAPPED = (
    " What falls on cells that the grid leaves out is reported as the nearest that is kept: sums "
    "again, of which the epsilon may be smaller."
)


@dataclass(frozen=True, eq=False)
class Lattice:
    """Logarithms of the weights of offsets, [rows, columns], each >= 0."""

    grid: Grid
    logs: list[list[Decimal]]
    rounding: Decimal
    bits: int

    @classmethod
    def of(cls, grid: Grid, table: list[list[Dyadic]], exact: Logarithms) -> "Lattice":
        """Take the logarithms of proposal times acceptance."""
        logs = [[exact.of_dyadic(weight) for weight in row] for row in table]
        largest = max(weight.shift for row in table for weight in row)
        bits = max(weight.numerator.bit_length() for row in table for weight in row)
        return cls(grid, logs, exact.rounding(Decimal(largest)), bits)

    @property
    def entries(self) -> int:
        """How many offsets there are."""
        return len(self.logs) * len(self.logs[0])

    @property
    def reach(self) -> str:
        """How far they go."""
        columns, rows = len(self.logs[0]) - 1, len(self.logs) - 1
        return f"{several(columns, 'column')} and {several(rows, 'row')}"

    def epsilon(self) -> Decimal:
        """Return the largest |log w(o) - log w(o')| / d(o, o'), rounded up.

        Two values and one cell of the lattice are two offsets o, o', whose distance is that of the
        values. Signs do not change a weight, and equal ones bring offsets closest: those >= 0 are
        enough. What is clipped adds up cells, which no ratio grows by.
        """
        worst = Decimal(0)
        cells = [(j, i) for j in range(len(self.logs)) for i in range(len(self.logs[0]))]
        distance = {(j, i): cell_distance(self.grid.cell, i, j) for j, i in cells}
        for place, (j, i) in enumerate(cells):
            for down, aside in cells[:place]:
                difference = abs(self.logs[j][i] - self.logs[down][aside]) + self.rounding
                worst = max(worst, difference / distance[abs(j - down), abs(i - aside)])
        return worst

    def difference(self, mechanism: Any) -> float:
        """Return how far the estimators' law is from the sampler's numbers.

        Between cells that do not lie on the border, ratio by ratio; and all of it against a sum
        over the lattice, where that is short enough.
        """
        ours = np.array([[float(log - self.logs[0][0]) for log in row] for row in self.logs])
        formula = -mechanism.epsilon * np.hypot(
            np.arange(ours.shape[1]) * self.grid.cell[0],
            np.arange(ours.shape[0])[:, None] * self.grid.cell[1],
        )
        differences = [_off(ours, formula), self._inside(mechanism, ours)]
        if not self.unsummed(mechanism.epsilon):
            off = np.abs(mechanism.law() - self._kept(self._summed(mechanism.epsilon)))
            differences.append(float(off.max()))
        return max(differences)

    def _inside(self, mechanism: Any, ours: FloatArray) -> float:
        """Compare log P(z | x) - log P(z | z) with the weights, for z off the border.

        Where cells are left out, for those z that nothing else is remapped to.
        """
        columns, rows = self.grid.columns, self.grid.rows
        row, column = np.divmod(self.grid.within(np.arange(self.grid.size)), columns)
        off_border = (row % (rows - 1) > 0) & (column % (columns - 1) > 0)
        if self.grid.mask is not None:
            off_border &= np.bincount(self.grid.nearest, minlength=self.grid.size) == 1
        inner = np.flatnonzero(off_border)
        if not inner.size:
            return 0.0
        logs = mechanism.operator(inner).log_dense()
        away = ours[np.abs(row[inner, None] - row), np.abs(column[inner, None] - column)]
        return _off(logs - logs[np.arange(inner.size), inner][:, None], away)

    def unsummed(self, epsilon: float) -> str:
        """Say so where the lattice is too wide to be added up for the border's probabilities."""
        cells = math.prod(2.0 * reach + 1 for reach in self._reaches(epsilon))
        if cells <= _SUMMED:
            return ""
        return (
            f" The border's probabilities were not summed anew: at this epsilon that is "
            f"{cells:.2g} cells of the lattice."
        )

    def _reaches(self, epsilon: float) -> list[float]:
        counts = self.grid.columns, self.grid.rows
        return [
            math.ceil(_NEGLIGIBLE / (epsilon * side)) + count
            for side, count in zip(self.grid.cell, counts, strict=True)
        ]

    def _summed(self, epsilon: float) -> FloatArray:
        """Add up the clipped lattice, cell by cell, as the formula says."""
        columns, rows = self.grid.columns, self.grid.rows
        wide, high = (int(reach) for reach in self._reaches(epsilon))
        aside, up = np.arange(-wide, wide + 1), np.arange(-high, high + 1)
        noise = np.exp(
            -epsilon * np.hypot(aside * self.grid.cell[0], up[:, None] * self.grid.cell[1])
        )
        noise /= noise.sum()
        law = np.empty((rows, columns, rows, columns))
        for column in range(columns):
            by_column = _clipped(noise, column + aside, columns)
            for row in range(rows):
                law[row, column] = _clipped(by_column.T, row + up, rows).T
        return law.reshape(rows * columns, rows * columns)

    def _kept(self, law: FloatArray) -> FloatArray:
        """Return the law of the cells that are kept, each report as the nearest of them."""
        if self.grid.mask is None:
            return law
        kept = np.zeros((self.grid.size, self.grid.size))
        np.add.at(kept.T, self.grid.nearest, law[self.grid.cells].T)
        return kept


def _clipped(table: FloatArray, places: IntArray, count: int) -> FloatArray:
    """Add up the columns of a table that are clipped to the same of 0 .. count-1."""
    starts = np.searchsorted(np.clip(places, 0, count - 1), np.arange(count))
    return np.asarray(np.add.reduceat(table, starts, axis=1))


def _off(ours: FloatArray, theirs: FloatArray) -> float:
    """Return the largest difference of logarithms, relative to those above 1."""
    return float((np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs))).max())


_AGREEMENT = 1e-12
"""How closely the law of the estimators must follow the sampler's, relative in logarithms."""
_ENTRIES = 1 << 18
_COMPARISONS = 1 << 22
"""Numbers, and pairs of them, that are looked at within a minute."""


@dataclass(frozen=True)
class ExactAudit(Presented, Outcome):
    """What the sampler's own numbers prove.

    `realised` is the epsilon that they give, rounded up (for an adversary's loss: the loss, rounded
    down). `full` says that every output can be drawn from every value, `same_support` that it can
    exactly where the estimators' law says so; `difference` is how far that law is off, relative in
    logarithms. `entries` numbers of up to `bits` binary digits were looked at; `argued` says what
    was not. `least` is the least claim that is granted, for the rounding of a claim computed from
    a table or for that of sums: `realised` unless given. `warnings` say where the promise is empty
    in human terms.

    >>> import freewill as fw
    >>> proof = fw.audit(fw.KRR(fw.Linear(0, 4), epsilon=1.0), exact=True)
    >>> proof.holds, proof.full, proof.same_support, proof.entries
    (True, True, True, 25)
    """

    claim: Promise
    realised: Decimal
    full: bool
    same_support: bool
    difference: float
    entries: int
    bits: int
    argued: str = ""
    least: Decimal | None = None
    warnings: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """The realised epsilon (or loss) as a double, rounded up."""
        return float_up(self.realised)

    @property
    def margin(self) -> Decimal:
        """By what share of itself the claim is kept with room to spare."""
        claimed = self._claimed
        if not claimed.is_finite() or not claimed:
            return Decimal(0)
        spare = (claimed - self.realised) / claimed
        return -spare if isinstance(self.claim, AdversaryLoss) else spare

    @property
    def _claimed(self) -> Decimal:
        if isinstance(self.claim, AdversaryLoss):
            return Decimal(float(self.claim.adversary_loss))
        return Decimal(float(self.claim.epsilon))

    @property
    def kept(self) -> bool:
        """Whether the sampler keeps the promise."""
        if isinstance(self.claim, AdversaryLoss):
            return self.realised >= self._claimed * (1 - Decimal(LOSS_ROUNDING))
        return (self.realised if self.least is None else self.least) <= self._claimed

    @property
    def holds(self) -> bool:
        """Whether the promise is kept and the estimators use the sampler's law."""
        return self.kept and self.same_support and self.difference <= _AGREEMENT

    def __str__(self) -> str:
        claim, _, verdict, _ = self.row()
        reach = "every output can be drawn from every value" if self.full else self._reach
        argued = f" {self.argued}" if self.argued else ""
        return (
            f"claimed {claim}: {verdict}. The sampler's own numbers give "
            f"{self.epsilon:.9g}, {self._room}; {reach}; the estimators' law is theirs within "
            f"{self.difference:.2g} ({self._looked_at}).{argued}{self._warned}"
        )

    @property
    def _reach(self) -> str:
        same = "exactly the outputs that the law allows" if self.same_support else "OTHER outputs"
        return f"{same} can be drawn"

    @property
    def _room(self) -> str:
        if not self._claimed.is_finite():
            return "and nothing was promised"
        if isinstance(self.claim, AdversaryLoss):
            return f"the claim within {abs(self.margin):.2e} of it"
        if self.margin < 0 and self.kept:
            return f"the claim but for {-self.margin:.2e} of it, its rounding"
        if self.margin < 0:
            return f"MORE than claimed by {-self.margin:.2e} of it"
        return f"within the claim by {self.margin:.2e} of it"

    @property
    def _looked_at(self) -> str:
        return f"{several(self.entries, 'number')} of up to {several(self.bits, 'bit')}"

    def row(self) -> list[str]:
        """Return the claim, what the sampler gives, the verdict and what was looked at."""
        support = "full support" if self.full else self._reach
        given = f"{self.epsilon:.6g}, {self._room}"
        verdict = "PROVED" if self.holds else "REFUTED"
        return [self.claim.short, given, verdict, f"{support}; {self._looked_at}"]

    def describe(self) -> dict[str, Any]:
        """Describe the outcome for JSON; the margin is a text, for it is too small a number."""
        names = ("epsilon", "same_support", "difference", "entries", "bits", "argued")
        numbers = {name: getattr(self, name) for name in names}
        margin = f"{self.margin:.3e}"
        return self._described(exact=True, margin=margin, full_support=self.full, **numbers)


class _Table(NamedTuple):
    """The weights, [value][output], and log P(y | x), None where it is 0."""

    weights: list[list[int]]
    sums: list[int]
    logs: list[list[Decimal | None]]
    rounding: Decimal

    @classmethod
    def of(cls, weights: list[list[int]], exact: Logarithms) -> "_Table":
        sums = [sum(row) for row in weights]
        logs = [
            [exact.of(weight) - exact.of(total) if weight else None for weight in row]
            for row, total in zip(weights, sums, strict=True)
        ]
        return cls(weights, sums, logs, exact.rounding(exact.of(max(sums))))

    def apart(self, output: int, first: int, second: int) -> Decimal:
        """Return |log P(y | x) - log P(y | x')|, rounded up; 0 where they are equal."""
        left, right = self.logs[first][output], self.logs[second][output]
        if left is None or right is None:
            return Decimal(0 if left is right else "Infinity")
        difference = abs(left - right)
        if difference <= self.rounding:
            crossed = self.weights[first][output] * self.sums[second]
            if crossed == self.weights[second][output] * self.sums[first]:
                return Decimal(0)
        return difference + self.rounding


def exact_audit(mechanism: Any, claim: Promise) -> ExactAudit:
    """Write out the sampler's own numbers and prove what they promise."""
    alphabet: Alphabet = mechanism.alphabet
    part = mechanism.public() if hasattr(mechanism, "public") else None
    if part is not None:
        _refuse(part.places * alphabet.size**2, mechanism)
        # Reports name their law: the promise is that of the worst, proved of all.
        audits = [exact_audit(member, claim) for member in part.members()]
        worst = max(audits, key=lambda one: one.realised if one.least is None else one.least)
        return replace(worst, **common(audits))
    epsilon = claim.epsilon if isinstance(claim, Guarantee) else 1.0
    if isinstance(alphabet, Grid) and hasattr(mechanism, "lattice"):
        _refuse(((alphabet.columns + 1) * (alphabet.rows + 1)) ** 2 // 2, mechanism)
        with logarithms(epsilon, alphabet) as exact:
            table = mechanism.lattice(alphabet.columns, alphabet.rows)
            if table is not None:
                return _lattice(mechanism, claim, Lattice.of(alphabet, table, exact))
    _refuse(alphabet.size, mechanism, _ENTRIES)
    if not mechanism.output_space.listable:
        raise LawError(
            f"the reports of {mechanism} are too many to be listed. Audit the same mechanism on an "
            f"alphabet of few values, or its law without exact=True."
        )
    outputs = mechanism.outputs()
    entries = len(outputs) * alphabet.size
    _refuse(entries, mechanism, _ENTRIES)
    weights = mechanism.weights() if hasattr(mechanism, "weights") else None
    if weights is None:
        raise LawError(
            f"{mechanism} does not list the numbers that it draws from (weights()): there is "
            f"nothing to enumerate. Audit its law, without exact=True."
        )
    with logarithms(epsilon, alphabet) as exact:
        table = _Table.of(weights, exact)
        possible = np.array(weights, dtype=object) > 0
        logs = mechanism.operator(outputs).log_dense().T
        realised, least = _realised(mechanism, claim, table)
        return ExactAudit(
            claim,
            realised,
            full=bool(possible.all()),
            same_support=bool(np.array_equal(possible, np.isfinite(logs))),
            difference=_difference(table, logs),
            entries=entries,
            bits=max(table.sums).bit_length(),
            least=least,
        )


def common(audits: list[ExactAudit]) -> dict[str, Any]:
    """Return what was found of all."""
    return {
        "full": all(one.full for one in audits),
        "same_support": all(one.same_support for one in audits),
        "difference": max(one.difference for one in audits),
        "entries": sum(one.entries for one in audits),
        "bits": max(one.bits for one in audits),
    }


def _refuse(comparisons: int, mechanism: Any, limit: int = _COMPARISONS) -> None:
    if comparisons > limit:
        raise LawError(
            f"an exact audit of {mechanism} looks at {several(comparisons, 'number')}, more than "
            f"{limit:,}. "
            f"Audit the same mechanism on a smaller alphabet, or its law without exact=True."
        )


def _realised(mechanism: Any, claim: Promise, table: _Table) -> tuple[Decimal, Decimal | None]:
    """Return the epsilon, or the adversary's loss, that the numbers give, and what is granted."""
    if isinstance(claim, AdversaryLoss):
        _refuse(mechanism.alphabet.size**3, mechanism)
        return _loss(mechanism.problem, table), None
    ratios = list(_log_ratios(mechanism, claim, table))
    realised = max(off / distance for off, distance in ratios)
    if not (mechanism.tabulated and realised.is_finite()):
        return realised, None
    granted = claim_rounding(np.array([float(off) for off, _ in ratios])).tolist()
    least = (
        (off - Decimal(g)) / distance for g, (off, distance) in zip(granted, ratios, strict=True)
    )
    return realised, max(least)


def _log_ratios(
    mechanism: Any, claim: Guarantee, table: _Table
) -> Iterator[tuple[Decimal, Decimal]]:
    """Yield max |log P(y | x) - log P(y | x')| of pairs of values or outputs, and its distance."""
    outputs, alphabet = range(len(table.weights[0])), mechanism.alphabet
    if claim.kind == "ldp" or alphabet.size == 1:
        for output, column in enumerate(zip(*table.logs, strict=True)):
            keys = [Decimal("-Infinity") if log is None else log for log in column]
            first, second = keys.index(max(keys)), keys.index(min(keys))
            yield table.apart(output, first, second), Decimal(1)
        return
    values = range(alphabet.size)
    pairs = list(pairwise(values) if is_line(alphabet) else combinations(values, 2))
    _refuse(len(pairs) * len(outputs), mechanism)
    for pair in pairs:
        yield max(table.apart(y, *pair) for y in outputs), exact_distance(alphabet, *pair)


def _difference(table: _Table, logs: FloatArray) -> float:
    """Return how far the estimators' logarithms are from the sampler's, where both are numbers."""
    ours = np.array([[-np.inf if log is None else float(log) for log in row] for row in table.logs])
    both = np.isfinite(ours) & np.isfinite(logs)
    off = np.abs(ours[both] - logs[both]) / np.maximum(1.0, np.abs(ours[both]))
    return float(off.max(initial=0.0))


def _loss(problem: Any, table: _Table) -> Decimal:
    """Return what the best guesses leave the adversary to lose, in fractions, rounded down."""
    size = len(table.weights)
    guess = [[Fraction(loss) for loss in row] for row in problem.guess_loss.tolist()]
    priors = map(Fraction, problem.prior.tolist())
    share = [prior / total for prior, total in zip(priors, table.sums, strict=True)]
    total = Fraction(0)
    for column in zip(*table.weights, strict=True):
        joint = [part * weight for part, weight in zip(share, column, strict=True)]
        total += min(
            sum((joint[x] * guess[x][z] for x in range(size)), Fraction(0)) for z in range(size)
        )
    return Decimal(total.numerator) / Decimal(total.denominator)


def _lattice(mechanism: Any, claim: Promise, lattice: Lattice) -> ExactAudit:
    if not isinstance(claim, Guarantee) or claim.kind != "geo":
        raise ParameterError(
            f"claim {claim.short}: the noise of {mechanism.name} is endless, and its numbers are "
            f"proved for geo-indistinguishability alone. Give a claim of that kind."
        )
    realised, least, argued = lattice.epsilon(), None, BEYOND.format(reach=lattice.reach)
    if mechanism.alphabet.plane == (2, 2):
        law = audit_epsilon(mechanism, claim)
        realised, least = Decimal(law.epsilon), Decimal(law.epsilon - law.resolution)
        argued += CORNERS
    if mechanism.alphabet.mask is not None:
        argued += REMAPPED
    return ExactAudit(
        claim,
        realised,
        full=True,
        same_support=bool(np.all(np.isfinite(mechanism.operator(mechanism.outputs()).log_dense()))),
        difference=lattice.difference(mechanism),
        entries=lattice.entries,
        bits=lattice.bits,
        argued=argued + lattice.unsummed(mechanism.epsilon),
        least=least,
    )
