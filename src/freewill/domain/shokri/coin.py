"""The optimal law that tosses a coin: the truth, or the same answer for everyone."""

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.shokri.problem import Problem


def solve(problem: Problem, quality_loss: float) -> FloatArray:
    """Send the best blind guess z* with probability Q / Qmax, and the truth otherwise.

    E l = (Q / Qmax) Qmax = Q, and the adversary loses as much: nothing when the truth comes, Qmax
    when z* does. As good as any by the criterion of Shokri et al., and a poor mechanism: with
    probability 1 - Q / Qmax it tells the truth in a way that everyone can recognise.
    """
    share = quality_loss / problem.largest_loss
    # Several guesses may be equally good; sharing between them keeps the law symmetric.
    blind = problem.prior @ problem.guess_loss
    best = np.isclose(blind, blind.min(), rtol=1e-12, atol=0)
    return np.asarray((1 - share) * np.eye(problem.size) + share * best / best.sum())
