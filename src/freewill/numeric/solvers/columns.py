"""Certified maximum likelihood by column generation, for large alphabets with a sparse optimum."""

from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import BoolArray, FloatArray, IntArray, slices
from freewill.numeric.solvers import interior
from freewill.numeric.solvers.interior import DenseSystem
from freewill.numeric.solvers.likelihood import (
    POOR,
    Certificate,
    Likelihood,
    OnStep,
    Solution,
    Status,
    Trace,
    accelerated_em,
    em_steps,
    one_blas_thread,
    pulled_inside,
)
from freewill.numeric.solvers.quadratic import pivoted_quadratic

_BUDGET = 1 << 30
"""Bytes for the entries of the columns in use; beyond that they are looked up each time."""
_SINGLE = 1e-7
"""Relative error of float32 entries."""
_MOST = 3072
"""Columns in use, at most: their Hessian is factored several times a step."""
_WARM_UP = 5
"""Steps of EM on the first lattice: cheap, and the first Newton step is then a good one."""
_AT_A_TIME = 300
"""Columns taken in at a step: more would be dropped again by the next one."""
_PATIENCE = 4
"""Steps in which neither L rises nor a column comes, after which rounding is blamed."""
_CYCLES = 3
"""Cycles of accelerated EM after columns came: together a fraction of one Hessian."""
_SHARE = 0.5
"""Weight given to new columns, relative to an even share."""
_MANY = 20
"""One new column in so many, or more, call for EM: a Hessian of these would not last."""
_UNEXPLAINED = 0.7
"""Gap (log 2) from which on some outputs are so improbable that Newton steps only double them."""
_FAR, _FAR_IF_SINGLE = 0.03, 0.3
"""Gap to leave EM at; the sooner where a needless column costs more than a look at all of g."""
_CROSS: IntArray = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
_SQUARE: IntArray = np.ones((3, 3), dtype=np.int64)
"""Neighbours that a peak must exceed: four let more columns in at a time, eight fewer needless."""
_FAINT = 1e-12
"""Share of its usual probability below which an output counts as impossible."""
_NEGLIGIBLE = 0.01
"""Part of an even share from which on a value of a start has a column."""
_UNIFORM = 0.01
"""Share of the uniform distribution with which a poor start is judged: no output is impossible."""
_NEARLY = 0.98
"""Of a step that would leave an output impossible: a rare one's p falls at once, not by halves."""
_NEAR = 1e-6
"""Gap from which on float32 entries are not exact enough for a certificate."""


class ColumnPool:
    """The columns of P in use: their cells, entries (a row each) and Hessian.

    `plane` is the (rows, columns) of a grid, (1, k) for a line, None where values have no order.
    Entries are held while there is room for them. After that products are those of the operator,
    and the Hessian, whose arithmetic is many times theirs, looks them up block by block.
    """

    def __init__(self, likelihood: Likelihood, plane: tuple[int, int] | None = None) -> None:
        outputs, size = likelihood.operator.shape
        self.likelihood, self.operator, self.plane = likelihood, likelihood.operator, plane
        self.single = outputs > 8_000
        """Whether entries are float32: half the memory and time, where these matter."""
        self._kind = np.dtype(np.float32 if self.single else np.float64)
        self.ridge = 1e-8 if self.single else 1e-12
        """What rounding makes of the Hessian, relative to its diagonal."""
        self._most = min(size, _MOST)
        held = min(self._most, _BUDGET // (self._kind.itemsize * max(1, outputs)))
        # Pages of an empty array that nobody writes take no memory.
        self._buffer: NDArray[Any] | None = np.empty((held, outputs), dtype=self._kind)
        self.cells: IntArray = np.empty(0, dtype=np.int64)
        self._hessian: FloatArray = np.empty((0, 0))
        self._scale: FloatArray = np.empty(0)

    @property
    def room(self) -> int:
        """How many more columns fit."""
        return self._most - self.cells.size

    @property
    def crowded(self) -> bool:
        """Whether columns had to stay out."""
        return self.room == 0 and self._most < self.operator.shape[1]

    def add(self, cells: IntArray) -> None:
        """Append columns."""
        first = self.cells.size
        self.cells = np.concatenate([self.cells, cells])
        if self._buffer is None or self.cells.size > len(self._buffer):
            self._buffer = None
            return
        # Columns of some megabytes at a time.
        for some in slices(cells.size, (1 << 20) // max(1, self.operator.shape[0])):
            self._buffer[first : self.cells.size][some] = self.operator.dense(cells[some]).T

    def entries(self, rows: slice | IntArray) -> NDArray[Any]:
        """Return the columns at some outputs, one a row."""
        if self._buffer is not None:
            return np.asarray(self._buffer[: self.cells.size, rows])
        places = np.arange(self.operator.shape[0])[rows]
        return self.operator.subset(places).dense(self.cells).T.astype(self._kind)

    def keep(self, wanted: BoolArray) -> IntArray:
        """Drop columns, moving the last into the gaps; return where each one left stood."""
        order = np.arange(int(wanted.sum()))
        if order.size == wanted.size:
            return order
        gaps = np.flatnonzero(~wanted[: order.size])
        order[gaps] = order.size + np.flatnonzero(wanted[order.size :])
        if self._buffer is not None:
            for gap in gaps:
                self._buffer[gap] = self._buffer[order[gap]]
        self.cells = self.cells[order]
        self._hessian = self._hessian[np.ix_(order, order)]
        return order

    def over_alphabet(self, theta: FloatArray) -> FloatArray:
        """Return theta over the whole alphabet."""
        full = np.zeros(self.operator.shape[1])
        full[self.cells] = theta
        return full

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return P theta, added up in float64, to the accuracy of the entries."""
        if self._buffer is None:
            return self.operator.forward_within(self.over_alphabet(theta), _SINGLE)
        fitted = np.empty(self.operator.shape[0])
        for rows in slices(fitted.size, 1024):
            fitted[rows] = theta @ self.entries(rows).astype(np.float64, copy=False)
        return fitted

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return P' weights on the columns in use, to the accuracy of the entries."""
        if self._buffer is None:
            return self.operator.adjoint(weights)[self.cells]
        held = self._buffer[: self.cells.size]
        return np.asarray(held @ weights.astype(self._kind), dtype=np.float64)

    def forget(self) -> None:
        """Compute the Hessian afresh next time."""
        self._hessian = np.empty((0, 0))

    def hessian_at(self, scale: FloatArray) -> FloatArray:
        """Return A' diag(scale^2) A, reusing what the last call left wherever it still holds.

        Outputs whose scale moved by less than 2 % keep their part: Newton steps stand that, and
        g and the gap are exact whatever H is.
        """
        if len(self._hessian):
            moved = np.flatnonzero(np.abs(scale / self._scale - 1) > 0.02)
            if 4 * moved.size > scale.size or 2 * self.cells.size > 3 * len(self._hessian):
                self.forget()
            else:
                change = scale[moved] ** 2 - self._scale[moved] ** 2
                for some in slices(moved.size, 1024):
                    block = self.entries(moved[some])[: len(self._hessian)].astype(np.float64)
                    self._hessian += (block * change[some]) @ block.T
                self._scale[moved] = scale[moved]
        if not len(self._hessian):
            self._scale = scale
        self._extend()
        return self._hessian.copy()

    def _extend(self) -> None:
        """Compute the rows and columns of the Hessian that belong to new columns."""
        old, size = len(self._hessian), self.cells.size
        if size == old:
            return
        scale = self._scale.astype(self._kind)
        border = np.zeros((size - old, size))
        for rows in slices(scale.size, 4096):
            block = self.entries(rows)
            if old and not self.single:
                # Few of many: these are scaled twice rather than all once. (float32 has no room
                # for the square.)
                border += (block[old:] * scale[rows] ** 2) @ block.T
                continue
            block = block * scale[rows]
            border += block[old:] @ block.T
        hessian = np.empty((size, size))
        hessian[:old, :old] = self._hessian
        hessian[old:] = border
        hessian[:old, old:] = border[:, :old].T
        self._hessian = hessian


@one_blas_thread
@np.errstate(all="ignore")
def solve(
    likelihood: Likelihood,
    tolerance: float,
    max_steps: int,
    start: FloatArray | None = None,
    plane: tuple[int, int] | None = None,
    on_step: OnStep | None = None,
) -> Solution:
    """Maximise sum_j w_j log (P theta)_j over the simplex, holding few columns of P at a time.

    Each step looks at g = P'(w / p) over *all* values, takes in the peaks of g above 1, and
    moves: by a few steps of EM while many columns are missing, else by a constrained Newton step
    on the m columns in use: minimise y'Hy/2 + c'y over y >= 0 with H = A' diag(w / p^2) A and
    c = 1 - g - H theta, then backtrack, normalise and drop the zeros. About ten steps of
    O(outputs * m^2) with one product by P' each, in memory for outputs * m numbers. Wang,
    J. R. Statist. Soc. B 69 (2007), 185-198, has it on a line.

    `plane` is the (rows, columns) of a grid, (1, k) for a line; peaks are then values with no
    better neighbour. Without it they are the largest g. `start` is a theta to begin from.
    CERTIFIED means that the gap over all values, in float64, is within the tolerance; STALLED
    that rounding ended all progress, or that the optimum is not sparse (sharp mechanisms on many
    cells) and its columns outgrow their room.

    >>> from freewill.numeric.operators.base import DenseOperator
    >>> law = DenseOperator(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> solve(Likelihood(law, np.array([0.6, 0.4])), 1e-9, 20).theta.round(6)
    array([0.7, 0.3])
    """
    trace = Trace(on_step)
    if start is not None and (given := likelihood.certify(start, tolerance)).gap <= tolerance:
        return Solution(start, given, 0, Status.CERTIFIED)
    poor = start if start is not None and given.gap > POOR else None
    columns = ColumnPool(likelihood, plane)
    theta, fitted = _start(columns, start if poor is None else None)
    if poor is not None:
        # It is taken all the same where it is likelier, pulled inside.
        inside = likelihood.operator.forward(pulled_inside(poor, _UNIFORM))
        if likelihood.value(inside) > likelihood.value(fitted):
            columns = ColumnPool(likelihood, plane)
            theta, fitted = _start(columns, start)
    if not np.all(fitted > 0):
        uniform = np.full(likelihood.size, 1 / likelihood.size)
        certificate = likelihood.certify(uniform, tolerance)
        status = Status.CERTIFIED if certificate.gap <= tolerance else Status.STALLED
        return Solution(uniform, certificate, 0, status)
    full = columns.over_alphabet(theta)
    best = Solution(full, Certificate(-np.inf, full, np.inf), 0, Status.MAX_STEPS)
    value, waiting = -np.inf, 0
    for step in range(max_steps + 1):
        fitted, certificate = _certify(columns, theta, fitted, tolerance)
        if step:
            trace.add(step, certificate.gap, certificate.value)
        if certificate.gap < best.certificate.gap:
            best = Solution(columns.over_alphabet(theta), certificate, step, Status.MAX_STEPS)
        if certificate.gap <= tolerance:
            return best._replace(status=Status.CERTIFIED, trace=trace.gaps)
        if step == max_steps:
            break
        added = _take_in(columns, certificate, tolerance)
        theta = np.concatenate([theta, np.zeros(added)])
        rising = certificate.value > value + 1e-14 * abs(value)
        waiting = 0 if added or rising else waiting + 1
        value = certificate.value
        if columns.crowded or waiting > _PATIENCE:
            best = best._replace(status=Status.STALLED)
            break
        refitted = _refit(columns, theta, added, certificate)
        theta, fitted = refitted or _newton(columns, theta, fitted, certificate.slope)
    certificate = likelihood.certify(best.theta, tolerance)
    status = Status.CERTIFIED if certificate.gap <= tolerance else best.status
    return Solution(best.theta, certificate, step, status, trace.gaps)


def dense_maximum(
    likelihood: Likelihood,
    tolerance: float,
    max_steps: int,
    start: FloatArray,
    plane: tuple[int, int] | None = None,
) -> Solution:
    """Maximise a likelihood on dense rows from a start that is near, in few steps.

    By columns first, which begin from a start in two or three steps; by interior point where
    these do not arrive. The best of both is returned, certified or not.

    >>> from freewill.numeric.operators.base import DenseOperator
    >>> law = DenseOperator(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> likelihood = Likelihood(law, np.array([0.6, 0.4]))
    >>> dense_maximum(likelihood, 1e-9, 20, np.array([0.5, 0.5])).theta.round(6)
    array([0.7, 0.3])
    """
    uniform = np.full(likelihood.size, 1 / likelihood.size)
    best = Solution(uniform, Certificate(-np.inf, uniform, np.inf), 0, Status.STALLED)

    run, system = (tolerance, max_steps, start), DenseSystem(likelihood.operator.dense())
    by_columns = partial(solve, likelihood, *run, plane)
    for way in (by_columns, partial(interior.solve, likelihood, system, *run)):
        try:
            solution = way()
        except (ArithmeticError, np.linalg.LinAlgError):
            continue
        best = min(best, solution, key=lambda each: each.certificate.gap)
        if best.status == Status.CERTIFIED:
            break
    return best


def _certify(
    columns: ColumnPool, theta: FloatArray, fitted: FloatArray, tolerance: float
) -> tuple[FloatArray, Certificate]:
    """Certify; near the end from exact entries, for float32 leaves p with 7 digits."""
    likelihood, full = columns.likelihood, columns.over_alphabet(theta)
    slope = likelihood.operator.adjoint(likelihood.weights / fitted)
    certificate = Certificate(likelihood.value(fitted), slope, likelihood.gap(full, slope))
    if certificate.gap <= (max(tolerance, _NEAR) if columns.single else tolerance):
        certificate = likelihood.certify(full, tolerance)
        if certificate.gap > tolerance:
            fitted = likelihood.operator.forward_within(full, tolerance / 20)
    return fitted, certificate


def _start(columns: ColumnPool, start: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Begin on a sparse lattice that makes every output possible, with a few steps of EM."""
    if start is None:
        size = columns.likelihood.size
        columns.add(_lattice(size, columns.plane, max(1, columns.room // 2)))
        theta = np.full(columns.cells.size, 1 / columns.cells.size)
    else:
        heaviest = np.argsort(-start, kind="stable")[: columns.room]
        columns.add(heaviest[start[heaviest] > min(_NEGLIGIBLE / start.size, start.max() / 2)])
        theta = start[columns.cells] / start[columns.cells].sum()
    theta, fitted = _cover(columns, theta)
    if start is not None or not np.all(fitted > 0):
        return theta, fitted
    steps = em_steps(columns, columns.likelihood.weights, theta)
    theta, fitted, _ = next(islice(steps, _WARM_UP, None))
    # The columns may be float32, whose products do not keep the sum.
    return theta / theta.sum(), fitted / theta.sum()


def _cover(columns: ColumnPool, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Add columns until every output is possible; return p = 0 when they do not fit."""
    operator, fitted = columns.operator, columns.forward(theta)
    usual = np.maximum(operator.forward(np.ones(operator.shape[1])), 1e-300)
    while np.any(faint := fitted <= _FAINT * usual):
        # The values that explain most of the outputs far from all columns.
        reach = operator.adjoint(faint / usual)
        wanted = _peaks(columns, reach, 1e-3 * float(reach.max()))
        if not wanted.size:
            return theta, np.where(faint, 0.0, fitted)
        columns.add(wanted)
        theta = np.concatenate([theta, np.full(wanted.size, theta.mean())])
        theta /= theta.sum()
        fitted = columns.forward(theta)
    return theta, fitted


def _lattice(size: int, plane: tuple[int, int] | None, most: int) -> IntArray:
    """Return about 1.5 sqrt(k) values, evenly spread."""
    rows, wide = plane or (1, size)
    count = max(1.0, min(1.5 * np.sqrt(size), most))
    pitch = max(1, int(np.sqrt(size / count)) if rows > 1 else int(size / count))
    row = np.arange((rows - 1) % pitch // 2, rows, pitch)
    column = np.arange((wide - 1) % pitch // 2, wide, pitch)
    return np.asarray((row[:, None] * wide + column).ravel()[:most])


def _take_in(columns: ColumnPool, certificate: Certificate, tolerance: float) -> int:
    """Add the columns at the peaks of g; return how many."""
    share = 0.1 if columns.plane is None else 0.01
    level = 1 + max(0.01 * tolerance, share * certificate.gap)
    most = min(_AT_A_TIME, columns.likelihood.weights.size)
    wanted = _peaks(columns, certificate.slope, level)[:most]
    columns.add(wanted)
    return wanted.size


def _refit(
    columns: ColumnPool, theta: FloatArray, added: int, certificate: Certificate
) -> tuple[FloatArray, FloatArray] | None:
    """Give new columns weight and all a few steps of EM; None near the end or if L would fall.

    Where an output has next to no explanation but a new column, a Newton step doubles its p at
    most, while EM gives the column its share at once. And EM needs no Hessian.
    """
    far = _FAR_IF_SINGLE if columns.single else _FAR
    if not added or certificate.gap < (far if _MANY * added > theta.size else _UNEXPLAINED):
        return None
    likelihood, share = columns.likelihood, _SHARE * added / theta.size
    theta = (1 - share) * theta
    theta[-added:] = share / added
    # A weight may underflow and take an output's p along: L is then no number, and does not rise.
    with np.errstate(all="ignore"):
        theta, fitted, _ = accelerated_em(columns, likelihood.weights, theta, _CYCLES)
    theta, fitted = theta / theta.sum(), fitted / theta.sum()
    return (theta, fitted) if likelihood.value(fitted) > certificate.value else None


def _peaks(columns: ColumnPool, slope: FloatArray, level: float) -> IntArray:
    """Return the values above the level that no neighbour exceeds, the highest first.

    Those in use are left out, and so are those for which there is no room.
    """
    peak = slope > level
    peak[columns.cells] = False
    if columns.plane is not None and peak.any():
        from scipy.ndimage import maximum_filter  # noqa: PLC0415

        neighbours = _SQUARE if columns.single else _CROSS
        around = maximum_filter(slope.reshape(columns.plane), footprint=neighbours, mode="nearest")
        peak &= slope >= around.ravel()
    values = np.flatnonzero(peak)
    return values[np.argsort(-slope[values], kind="stable")][: columns.room]


def _newton(
    columns: ColumnPool, theta: FloatArray, fitted: FloatArray, slope: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Take one constrained Newton step for -sum_j w_j log p_j + sum(theta), then normalise."""
    weights = columns.likelihood.weights
    hessian = columns.hessian_at(np.sqrt(weights) / fitted)
    if not np.all(np.isfinite(hessian)):
        return theta, fitted
    # Columns may depend on each other: a ridge about theta picks one of the steps, and vanishes
    # from the optimum. The actual product H theta, for it differs from g by rounding, which
    # would stay in the gap.
    hessian[np.diag_indices_from(hessian)] *= 1 + columns.ridge
    linear = 1 - slope[columns.cells] - hessian @ theta
    goal = pivoted_quadratic(hessian, linear, np.ones(theta.size, dtype=np.bool_))
    target = columns.forward(goal)
    move = target - fitted
    growth = float(goal.sum() - theta.sum())
    descent = growth - float(weights @ (move / fitted))
    floor = np.minimum(_FAINT, 1e-3 * fitted)
    noise = 1e-8 if columns.single else 1e-15
    length = 1.0
    while length > 1e-9:
        ahead = target if length == 1.0 else fitted + length * move
        if np.all(ahead > floor):
            change = length * growth - float(weights @ np.log(ahead / fitted))
            if change <= 1e-4 * length * descent + noise:
                break
        elif length == 1.0:
            length = _NEARLY
            continue
        length /= 2
    else:
        columns.forget()
        return theta, fitted
    theta = goal if length == 1.0 else theta + length * (goal - theta)
    total = float(theta.sum())
    return theta[columns.keep(theta > 0)] / total, ahead / total
