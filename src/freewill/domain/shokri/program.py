"""The whole linear program, for losses of user and adversary that differ."""

from collections.abc import Callable

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.domain.shokri import linear
from freewill.domain.shokri.problem import Problem

_ROUNDS = 200
"""Times that guesses are added; what is left then is in the gap."""
_ALL_AT_ONCE = 20_000
"""Pairs of output and guess up to which none is left out."""


def solve(
    problem: Problem,
    quality_loss: float,
    tolerance: float = 1e-8,
    on_step: Callable[[float], None] | None = None,
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
        if on_step is not None:
            on_step(bound - reached)
        if bound - reached <= tolerance * abs(bound):
            break
        best_replies = np.argsort(replies, axis=1, kind="stable")[:, : problem.near]
        pairs = np.unique(np.vstack([pairs, _pairs(best_replies)]), axis=0)
    return best, *proof


def _pairs(guesses: IntArray) -> IntArray:
    outputs = np.repeat(np.arange(len(guesses)), guesses.shape[1])
    return np.column_stack([outputs, guesses.ravel()])


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
    losses = linear.on_columns(problem.guess_loss[:, guesses].T * problem.prior, outputs, reps.size)
    replies = hstack([-losses, linear.on_columns(np.ones((len(pairs), 1)), outputs, reps.size)])
    rows, cost = linear.equalities(problem, reps)
    answer = linear.solve(
        np.concatenate([np.zeros(cost.size), -many]),
        quality_loss,
        A_ub=vstack([replies, csr_array(np.append(cost, np.zeros(reps.size))[None, :])]),
        b_ub=np.append(np.zeros(len(pairs)), quality_loss),
        A_eq=csr_array(np.hstack([rows, np.zeros((reps.size, reps.size))])),
        b_eq=np.ones(reps.size),
        bounds=[(0, None)] * cost.size + [(None, None)] * reps.size,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    columns = np.maximum(answer.x[: cost.size], 0).reshape(reps.size, size)
    prices = -answer.ineqlin.marginals
    replies = np.zeros((size, size))
    for image in problem.images:
        # An output that some images leave in place gets the average of what they make of it.
        np.add.at(replies, (image[reps[outputs]], image[guesses]), prices[:-1])
    return columns, replies, float(prices[-1])
