"""The whole linear program, for losses of user and adversary that differ."""

from collections.abc import Callable

import numpy as np

from freewill.errors import LawError
from freewill.shokri.problem import Problem
from freewill.types import FloatArray, IntArray

_ROUNDS = 200
"""Times that guesses are added; what is left then is in the gap."""
_ALL_AT_ONCE = 20_000
"""Pairs of output and guess up to which none is left out."""


def solve(
    problem: Problem,
    quality_loss: float,
    tolerance: float = 1e-8,
    on_step: Callable[[float], None] | None = None,
) -> tuple[FloatArray, float]:
    """Maximise sum_y v_y with v_y <= sum_x pi_x A_xy l_p(x, z), guesses z added as they matter.

    With some of the guesses left out the program's optimum is an upper bound; the adversary's
    best reply to the law that it returns is a lower bound. Guesses are added until the two meet
    (or for 200 rounds). Returns the best law and the least upper bound.
    """
    nearest = np.argsort(problem.report_loss[problem.representatives], axis=1, kind="stable")
    few = nearest.size <= _ALL_AT_ONCE
    pairs = _pairs(nearest if few else nearest[:, : problem.near + 1])
    best, reached, bound = np.eye(problem.size), -np.inf, np.inf
    for _ in range(_ROUNDS):
        columns, upper = _relaxed(problem, quality_loss, pairs)
        replies = (columns * problem.prior) @ problem.guess_loss
        law = problem.unfold(columns, problem.representatives)
        value = problem.adversary_loss(law)
        if value > reached:
            best, reached = law, value
        bound = min(bound, upper)
        if on_step is not None:
            on_step(bound - reached)
        if bound - reached <= tolerance * abs(bound):
            break
        best_replies = np.argsort(replies, axis=1, kind="stable")[:, : problem.near]
        pairs = np.unique(np.vstack([pairs, _pairs(best_replies)]), axis=0)
    return best, max(bound, reached)


def _pairs(guesses: IntArray) -> IntArray:
    outputs = np.repeat(np.arange(len(guesses)), guesses.shape[1])
    return np.column_stack([outputs, guesses.ravel()])


def _relaxed(problem: Problem, quality_loss: float, pairs: IntArray) -> tuple[FloatArray, float]:
    """Solve with these (output, guess) pairs only, for the columns at the representatives."""
    from scipy.optimize import linprog  # noqa: PLC0415
    from scipy.sparse import csr_array, vstack  # noqa: PLC0415

    size, reps, many = problem.size, problem.representatives, problem.multiplicity
    outputs, guesses = pairs.T
    unknowns = reps.size * size
    number, value = np.arange(len(pairs)), np.arange(size)
    # v_y - sum_x pi_x A_xy l_p(x, z) <= 0; unknowns: the columns, one after the other, then v.
    replies = csr_array(
        (
            np.concatenate(
                [-(problem.guess_loss[:, guesses].T * problem.prior).ravel(), np.ones(len(pairs))]
            ),
            (
                np.concatenate([np.repeat(number, size), number]),
                np.concatenate([(outputs[:, None] * size + value).ravel(), unknowns + outputs]),
            ),
        ),
        shape=(len(pairs), unknowns + reps.size),
    )
    no_v = np.zeros(reps.size)
    cost = (problem.report_loss[:, reps].T * problem.prior * many[:, None]).ravel()
    rows = np.hstack([*(times * problem.averaging.T for times in many), np.zeros((reps.size,) * 2)])
    answer = linprog(  # type: ignore[call-overload]
        np.concatenate([np.zeros(unknowns), -many]),
        A_ub=vstack([replies, csr_array(np.append(cost, no_v)[None, :])]),
        b_ub=np.append(np.zeros(len(pairs)), quality_loss),
        A_eq=csr_array(rows),
        b_eq=np.ones(reps.size),
        bounds=[(0, None)] * unknowns + [(None, None)] * reps.size,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if answer.status != 0:
        raise LawError(f"the linear program at quality_loss={quality_loss:g}: {answer.message}")
    columns = np.maximum(answer.x[:unknowns], 0).reshape(reps.size, size)
    return columns, -float(answer.fun)
