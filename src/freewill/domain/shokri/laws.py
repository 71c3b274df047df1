"""Laws that reach the optimum: the one that tells least, a vertex, and the program of two losses.

The first is the channel of rate-distortion theory: at a beta its outputs' distribution q maximises
sum_x pi_x log sum_y q_y e^(-beta l(x,y)), a mixture likelihood, so that our own interior point
finds it with a certificate, where the usual Blahut-Arimoto iteration (EM) crawls. Symmetries shrink
the problem to orbits.

The last two are linear programs (HiGHS). Their unknowns are columns of a law, one after the other.
Most guesses never matter, so that each program starts with the nearest ones and adds others as they
turn out better than the report.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import FloatArray, IntArray
from freewill.domain.shokri.problem import Problem
from freewill.errors import LawError
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers import interior
from freewill.numeric.solvers.interior import DenseSystem
from freewill.numeric.solvers.likelihood import Likelihood, attainable_gap

_GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, spread evenly and never repeat: weights without a pattern."""
_VIOLATION = 1e-11
"""How much better, relative, a guess must be to count: less is the rounding of its own sum."""
_VERTEX_ROUNDS = 30
"""Times that guesses are added; each adds all that beat the report, so that few are needed."""
_ROUNDS = 200
"""The same for two losses; what is left then is in the gap."""
_CLOSE = 1e-8
"""Relative gap between the bounds at which they have met."""
_ALL_AT_ONCE = 20_000
"""Pairs of output and guess up to which none is left out."""
_PRECISE = {"primal_feasibility_tolerance": 1e-10}
_TOLERANCE = 1e-13
"""Gap of the output distribution: its square root is what E l may be off by."""
_NOBODY = 1e-20
"""Share of people without bearing on the output distribution: far less than its gap."""
_UNUSED = 1e-11
"""Weight below which an output only holds what the interior point left there."""
_LEAST = 5e-324
_LARGEST_EXPONENT = 700.0


def max_entropy(problem: Problem, quality_loss: float) -> FloatArray:
    """Return A_xy = q_y e^(-beta l(x,y)) / normaliser, with beta such that E l = Q.

    Among all laws with E l <= Q it has the least mutual information, that is the largest
    conditional entropy of the value given the output. It is optimal for the adversary's loss too:
    were some guess z better than y on seeing y, sending z instead of y would lower E l at no more
    information.
    """
    beta = calibrated_beta(problem, quality_loss)
    return channel(output_distribution(problem, beta), beta, problem.report_loss)


def vertex(problem: Problem, quality_loss: float) -> FloatArray:
    """Return a basic solution of the optimal face, by the dual simplex method.

    The face is E l = Q, rows that sum to 1 and, on every output y, no guess z better than y:
    sum_x pi_x A_xy (l(x,z) - l(x,y)) >= 0. Most entries are 0, some outputs are never used, and
    the law is singular: equally private by the criterion, and much less useful to the collector.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415

    # Those that someone has: an output must be a best guess for some value.
    outputs = problem.representatives[problem.prior[problem.representatives] > 0]
    loss = problem.guess_loss
    rows, cost = _equalities(problem, outputs)
    nearest = np.argsort(loss[outputs], axis=1, kind="stable")
    others = nearest[nearest != outputs[:, None]].reshape(outputs.size, -1)
    pairs = _pairs(others[:, : problem.near])
    for _ in range(_VERTEX_ROUNDS):
        which, guesses = pairs.T
        forms = (loss[:, outputs[which]] - loss[:, guesses]).T * problem.prior
        answer = _solved(
            # All vertices are optimal. Weights without pattern single one out, for every solver.
            np.arange(cost.size) * _GOLDEN % 1,
            quality_loss,
            A_ub=_on_columns(forms, which, outputs.size),
            b_ub=np.zeros(which.size),
            A_eq=csr_array(np.vstack([rows, cost])),
            b_eq=np.append(np.ones(len(rows)), quality_loss),
            method="highs-ds",
            options=_PRECISE,
        )
        columns = np.maximum(answer.x, 0).reshape(outputs.size, problem.size)
        expected = (columns * problem.prior) @ loss
        own = expected[np.arange(outputs.size), outputs]
        better = np.flatnonzero(expected.min(axis=1) < own - _VIOLATION * expected.sum())
        if not better.size:
            return problem.unfold(columns, outputs)
        added = np.column_stack([better, expected[better].argmin(axis=1)])
        pairs = np.vstack([pairs, added])
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    raise LawError(
        "guesses kept turning out better than the reports. Use the max-entropy selection."
    )


def two_losses(
    problem: Problem, quality_loss: float, on_step: Callable[[float], None]
) -> tuple[FloatArray, FloatArray, float]:
    """Maximise sum_y v_y with v_y <= sum_x pi_x A_xy l_p(x, z), guesses z added as they matter.

    With some of the guesses left out the program's optimum is an upper bound, which its dual proves
    (`Problem.upper_bound`); the adversary's best reply to the law that it returns is a lower bound.
    Guesses are added until the two meet (or for 200 rounds). Returns the best law, and the replies
    and the price of the least upper bound.
    """
    nearest = np.argsort(problem.report_loss[problem.representatives], axis=1, kind="stable")
    few = nearest.size <= _ALL_AT_ONCE
    pairs = _pairs(nearest if few else nearest[:, : problem.near + 1])
    best, reached = np.eye(problem.size), -np.inf
    proof, bound = (np.eye(problem.size), 0.0), np.inf
    for _ in range(_ROUNDS):
        columns, mixed, price = _relaxed(problem, quality_loss, pairs)
        replies = (columns * problem.prior) @ problem.guess_loss
        law = problem.unfold(columns, problem.representatives)
        value = problem.adversary_loss(law)
        if value > reached:
            best, reached = law, value
        upper = problem.upper_bound(mixed, price, quality_loss)
        if upper < bound:
            proof, bound = (mixed, price), upper
        on_step(bound - reached)
        if bound - reached <= _CLOSE * abs(bound):
            break
        best_replies = np.argsort(replies, axis=1, kind="stable")[:, : problem.near]
        pairs = np.unique(np.vstack([pairs, _pairs(best_replies)]), axis=0)
    return best, *proof


def _relaxed(
    problem: Problem, quality_loss: float, pairs: IntArray
) -> tuple[FloatArray, FloatArray, float]:
    """Solve with these (output, guess) pairs only.

    Returns the columns at the representatives, the adversary's mixed reply to every output and the
    price of the user's loss.
    """
    from scipy.sparse import csr_array, hstack, vstack  # noqa: PLC0415

    size, reps, many = problem.size, problem.representatives, problem.multiplicity
    outputs, guesses = pairs.T
    # v_y - sum_x pi_x A_xy l_p(x, z) <= 0; unknowns: the columns, one after the other, then v.
    losses = _on_columns(problem.guess_loss[:, guesses].T * problem.prior, outputs, reps.size)
    replies = hstack([-losses, _on_columns(np.ones((len(pairs), 1)), outputs, reps.size)])
    rows, cost = _equalities(problem, reps)
    answer = _solved(
        np.concatenate([np.zeros(cost.size), -many]),
        quality_loss,
        A_ub=vstack([replies, csr_array(np.append(cost, np.zeros(reps.size))[None, :])]),
        b_ub=np.append(np.zeros(len(pairs)), quality_loss),
        A_eq=csr_array(np.hstack([rows, np.zeros((reps.size, reps.size))])),
        b_eq=np.ones(reps.size),
        bounds=[(0, None)] * cost.size + [(None, None)] * reps.size,
        method="highs",
        options={**_PRECISE, "dual_feasibility_tolerance": 1e-10},
    )
    columns = np.maximum(answer.x[: cost.size], 0).reshape(reps.size, size)
    prices = -answer.ineqlin.marginals
    replies = np.zeros((size, size))
    for image in problem.images:
        # An output that some images leave in place gets the average of what they make of it.
        np.add.at(replies, (image[reps[outputs]], image[guesses]), prices[:-1])
    return columns, replies, float(prices[-1])


def _pairs(guesses: IntArray) -> IntArray:
    """Return (output, guess) for a table of guesses, a row an output."""
    outputs = np.repeat(np.arange(len(guesses)), guesses.shape[1])
    return np.column_stack([outputs, guesses.ravel()])


def _equalities(problem: Problem, outputs: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the row sums and the user's loss as forms on the columns of these outputs."""
    many = problem.multiplicity[problem.orbits[outputs]]
    rows = np.hstack([times * problem.averaging.T for times in many])
    return rows, (problem.report_loss[:, outputs].T * problem.prior * many[:, None]).ravel()


def _on_columns(forms: FloatArray, which: IntArray, count: int) -> Any:
    """Return the sparse matrix that applies forms[i] to column which[i] of `count` columns."""
    from scipy.sparse import csr_array  # noqa: PLC0415

    size = forms.shape[1]
    entries = which[:, None] * size + np.arange(size)
    starts = np.arange(0, forms.size + 1, size)
    return csr_array((forms.ravel(), entries.ravel(), starts), (which.size, count * size))


def _solved(objective: NDArray[np.floating[Any]], quality_loss: float, **program: Any) -> Any:
    """Return what HiGHS finds, or say why it found nothing."""
    from scipy.optimize import linprog  # noqa: PLC0415

    answer = linprog(objective, **program)
    if answer.status != 0:
        raise LawError(f"the linear program at quality_loss={quality_loss:g}: {answer.message}")
    return answer


def output_distribution(problem: Problem, beta: float) -> FloatArray:
    """Return q, the distribution of the outputs, at a beta."""
    weights = np.bincount(problem.orbits, problem.prior).astype(np.float64)
    seen = weights > _NOBODY
    loss = problem.report_loss[problem.representatives]
    rows = (np.exp(-beta * loss) @ problem.averaging)[seen]
    likelihood = Likelihood(DenseOperator(rows), weights[seen])
    tolerance = max(_TOLERANCE, attainable_gap(*rows.shape))
    theta = interior.solve(likelihood, DenseSystem(rows), tolerance, 100).theta
    # What the interior point leaves on outputs that the optimum does not use.
    theta = np.where(theta < _UNUSED, 0.0, theta)
    return np.asarray(theta[problem.orbits] / problem.multiplicity[problem.orbits])


def calibrated_beta(problem: Problem, quality_loss: float) -> float:
    """Return the beta at which E l = Q, or the largest that makes a difference."""
    weights = np.bincount(problem.orbits, problem.prior).astype(np.float64)
    loss = problem.report_loss[problem.representatives]

    def excess(log_beta: float) -> float:
        beta = float(np.exp(log_beta))
        law = channel(output_distribution(problem, beta), beta, loss)
        share = weights @ (law * loss).sum(axis=1) / quality_loss
        return float(np.log(max(share, _LEAST)))

    # Beyond, e^(-beta l) is 0 for every other value, and the law does not change any more.
    largest = np.log(_LARGEST_EXPONENT / loss[loss > 0].min())
    return float(np.exp(_root(excess, -np.log(quality_loss), largest)))


def channel(output: FloatArray, beta: float, loss: FloatArray) -> FloatArray:
    """Return q_y e^(-beta l(x,y)) / Z_x."""
    # Subtracting the least loss of the outputs in use keeps a row from underflowing as a whole.
    used = np.where(output > 0, loss, np.inf)
    law = output * np.exp(-beta * (used - used.min(axis=1, keepdims=True)))
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def _root(excess: Callable[[float], float], guess: float, largest: float) -> float:
    """Find the root of a falling function whose slope is about -1 in most places, or the largest.

    The loss stays above Q where a value is so rare that its own output counts as unused.
    """
    last = here = min(guess, largest)
    off = excess(here)
    direction = np.sign(off)
    while off * direction > 0:
        if off > 0 and here == largest:
            return here
        # A little beyond where the slope points, so that the root is soon between two points.
        last, here = here, min(here + direction * min(1.0, 1.3 * abs(off) + 1e-3), largest)
        off = excess(here)
    if last == here:
        return here
    from scipy.optimize import brentq  # noqa: PLC0415

    return float(brentq(excess, last, here, xtol=1e-15, rtol=1e-15))
