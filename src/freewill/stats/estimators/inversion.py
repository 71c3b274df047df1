"""Closed forms for one mechanism: INV inverts its law, RAP debiases bit sums."""

from collections.abc import Callable
from time import perf_counter
from typing import Any, Literal

import numpy as np
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

from freewill.core.types import FloatArray
from freewill.errors import IdentifiabilityError, LawError, ParameterError, several, shown
from freewill.numeric.simplex import normalise, project
from freewill.numeric.solvers.likelihood import (
    Status,
)
from freewill.stats.estimators.estimate import (
    SINGULAR,
    Estimate,
    certified_estimate,
    lost_directions,
)
from freewill.stats.evidence import Evidence, checked_evidence
from freewill.stats.groups import Group

Post = Literal["project", "normalise", "none"]
_POSTS: dict[str, tuple[str, Callable[[FloatArray], FloatArray]]] = {
    "project": ("projected", project),
    "normalise": ("normalised", normalise),
    "none": ("raw", np.asarray),
}
"""What is done of a solution: in words, and how."""


def inversion(evidence: Evidence, post: Post = "project") -> Estimate:
    """Solve theta A = q for the only mechanism A of the evidence, then make it a distribution.

    q is the empirical distribution of the outputs (INV; eqs. 6 and 7 with one mechanism). The
    solution may have negative components: `post` projects onto the simplex ("project"), clips
    and rescales ("normalise"), or leaves it ("none"). A law with more outputs than values is
    inverted by least squares, one of several attributes attribute by attribute. A singular A is
    refused with the number of directions it loses.
    For several mechanisms, see `combine_mechanisms` and `combine_results`.

    O(k) where the mechanism has a closed inverse, such as k-RR; O(outputs k^2) for other laws.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fw.inversion(fw.collect([(coin, [0, 1], [60, 40])])).theta.round(4)
    array([0.7164, 0.2836])
    """
    started = perf_counter()
    group = only_group(evidence, "inversion")
    if group.mechanism.output_space.alphabet is None and not _of_records(group):
        raise LawError(
            f"the reports of {group.mechanism} are {group.mechanism.output_space}, not values of "
            f"an alphabet, and its law is not inverted: use debias for bits, or gibu."
        )
    return _direct(evidence, _invert(group), post, "inversion", started)


def debias(evidence: Evidence, post: Post = "project") -> Estimate:
    """Turn the share s_x of reports with bit x set into theta, for one mechanism (RAP, eq. 14).

    theta = (s - q) / (p - q), p being the chance of a bit that is set for the own value and q for
    another, then made a distribution as `post` says. For RAPPOR that is
    ((e^(epsilon/2) + 1) s - 1) / (e^(epsilon/2) - 1). Of local hashing and subset selection bits
    are the values in the set that a report names. Cost: one pass over the packed bits.

    >>> import freewill as fw, numpy as np
    >>> bits = fw.RAPPOR(fw.Linear(0, 2), epsilon=4.0)
    >>> reports = bits.obfuscate(np.repeat([0, 1], 50_000))
    >>> fw.debias(fw.collect([(bits, reports)])).theta.round(1)
    array([0.5, 0.5, 0. ])
    """
    started = perf_counter()
    group = only_group(evidence, "debias")
    ones = group.summary.ones
    solved = None if ones is None else group.mechanism.debiased(ones / group.people)
    if solved is None:
        values = group.mechanism.output_space.alphabet is not None
        instead = "inversion" if values else "gibu, or write the mechanism's debiased(shares)"
        raise ParameterError(
            f"debias takes reports of bits, as those of RAPPOR and OUE, or of sets of values, and "
            f"the evidence is of {group.mechanism}. Use {instead}."
        )
    return _direct(evidence, solved, post, "debias", started)


def only_group(evidence: Evidence, method: str) -> Group:
    """Return the group of the only mechanism, or say how to bring several together."""
    if len(checked_evidence(evidence, method).groups) != 1:
        raise ParameterError(
            f"{method} takes one mechanism and the evidence has {len(evidence.groups)}. Use "
            f"combine_results(evidence, {method}) or combine_mechanisms(evidence, {method})."
        )
    return evidence.groups[0]


def _direct(
    evidence: Evidence, solved: FloatArray, post: Post, method: str, started: float
) -> Estimate:
    """Make a solution a distribution by the post-processing of that name, and certify it."""
    if not (isinstance(post, str) and post in _POSTS):
        raise ParameterError(f"post={shown(post)}: expected project, normalise or none.")
    return certified_estimate(evidence, _POSTS[post][1](solved), method, Status.DIRECT, started)


def _of_records(group: Group) -> bool:
    """Say whether reports are of several attributes, all of which can be listed."""
    space = group.mechanism.output_space
    records = group.mechanism.by_attribute(space.empty()) is not None
    return records and space.listable and group.table is not None


def _invert(group: Group) -> FloatArray:
    mechanism = group.mechanism
    shares = np.zeros(len(mechanism.outputs()))
    space: Any = mechanism.output_space
    places = space.numbers(group.outputs) if _of_records(group) else group.outputs
    shares[places] = group.counts / group.people
    solved = mechanism.inverse(shares)
    if solved is not None:
        return solved
    law = mechanism.law()
    square = law.shape[0] == law.shape[1]
    if square:
        factors, pivots, zero_pivot = dgetrf(law.T)
        reciprocal_condition, _ = dgecon(factors, np.abs(law).sum(axis=1).max())
    # The exact count of lost directions costs an SVD: only where the cheap test is alarmed.
    alarmed = not square or zero_pivot or reciprocal_condition < SINGULAR
    if alarmed and (lost := lost_directions(law)):
        raise IdentifiabilityError(
            f"the law of {mechanism} cannot be inverted: its outputs hold no trace of {lost:,} of "
            f"{several(len(law), 'direction')} of theta. Use gibu, which uses each mechanism's own "
            f"law."
        )
    if square:
        return np.asarray(dgetrs(factors, pivots, shares[:, None])[0]).ravel()
    return np.asarray(np.linalg.lstsq(law.T, shares)[0])
