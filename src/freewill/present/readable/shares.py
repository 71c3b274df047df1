"""Shares of values or of groups of them, as an estimate has them, and how sure they are."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from freewill.core.frames import frame
from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.groups import Groups, Values, coarser, merged_weights
from freewill.errors import EvidenceError, ParameterError, printable, several, shown
from freewill.numeric.solvers.solution import OnStep
from freewill.present.readable import doubt, page
from freewill.stats import functionals
from freewill.stats.estimators.estimate import Estimate, default_tolerance
from freewill.stats.evidence import checked_evidence
from freewill.stats.fit import Fit
from freewill.stats.intervals import Intervals, intervals

_ROWS = 20
"""Shares, the largest, of a text."""


@dataclass(frozen=True, eq=False, repr=False)
class Shares:
    """The shares of groups of values in an estimate: of every value, of bands, districts or sets.

    They are sums of theta. What certifies the estimate is a statement about theta, and none about
    them; how near they are to the truth `intervals` tell.

    >>> import freewill as fw
    >>> noisy = fw.KRR(fw.Linear(0, 5), epsilon=2.0)
    >>> estimate = fw.gibu(fw.collect([(noisy, range(6), [50, 90, 200, 300, 180, 80])]))
    >>> print(estimate.coarser(2))
    900 people, bins of 2 values
      0..1   3.22%
      2..3  73.55%
      4..5  23.23%
    """

    estimate: Estimate
    groups: Groups
    fit: Fit | None = None
    """What answers for intervals; the estimate itself where there is none."""

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each group."""
        return merged_weights(self.groups, self.estimate.theta)

    @property
    def names(self) -> tuple[str, ...]:
        """What each group is called."""
        return self.groups.names

    @property
    def people(self) -> int:
        """How many people reported."""
        return self.estimate.people

    def __len__(self) -> int:
        return self.groups.count

    def intervals(
        self, level: float = 0.95, joint: bool = False, on_step: OnStep | None = None
    ) -> Intervals:
        """Return an interval for each share, or with `joint` a band that holds all of them."""
        of = functionals.of_groups(self.groups)
        return (self.fit or self.estimate).intervals(of, level, joint, on_step)

    def columns(self, sure: Intervals | None = None) -> dict[str, Any]:
        """Return the columns of a table for programs: what shares are of, the shares, intervals."""
        rows = self.groups.cells(np.arange(len(self)))
        told = dict(zip(self.groups.heads, map(list, zip(*rows, strict=True)), strict=True))
        return {**told, "share": self.shares, **({} if sure is None else sure.columns())}

    def table(
        self, intervals: bool | float = False, joint: bool = False, backend: Any = "pyarrow"
    ) -> Any:
        """Return a table with one row a group: what it is, its share and, if asked for, intervals.

        `intervals` is True, for 95 %, or a level. `backend` names the library that it is a table
        of: pyarrow, pandas, polars (`core.frames`). Columns are those of `freewill estimate
        --csv`: a value, or its coordinates; from and to of bands, edges of districts, the names of
        sets; then share, point, low, high, standard_error.

        >>> import freewill as fw
        >>> sure = fw.inversion(fw.collect([(fw.Identity(fw.Linear(0, 3)), [0, 0, 1, 2])]))
        >>> sure.coarser(2).table().to_pylist()
        [{'from': 0, 'to': 1, 'share': 0.75}, {'from': 2, 'to': 3, 'share': 0.25}]
        """
        sure = None
        if intervals is not False:
            sure = self.intervals(0.95 if intervals is True else intervals, joint)
        elif joint is not False:
            raise ParameterError(f"joint={shown(joint)} says how intervals are: ask for intervals.")
        return frame(self.columns(sure), backend)

    def largest(self, many: int) -> IntArray:
        """Return the places of so many shares, the largest, in their order."""
        return np.sort(np.argsort(-self.shares, kind="stable")[:many])

    def __repr__(self) -> str:
        return f"Shares({self.groups}, of {several(self.people, 'person')})"

    def __str__(self) -> str:
        places = self.largest(_ROWS)
        texts = [printable("  ".join(text)) for text in self.groups.texts(places)]
        wide = max(map(len, texts))
        large = self.estimate.alphabet.size if page.quick(self.estimate) else 0
        warning = doubt.warning(self, None, page.ASK, large=large)
        head = f"{several(self.people, 'person')}, {self.groups}"
        lines = [
            f"  {text:<{wide}}  {share:6.2%}"
            for text, share in zip(texts, self.shares[places].tolist(), strict=True)
        ]
        left = len(self) - len(places)
        more = [f"  and {left:,} more"] if left else []
        return "\n".join([*([warning] if warning else []), head, *lines, *more])

    def _repr_html_(self) -> str:
        return page.page(self)


def shares_of(estimate: Estimate) -> Shares:
    """Return the share of every value."""
    return Shares(estimate, Values(estimate.alphabet))


def coarser_shares(estimate: Estimate, by: Any, rows: int | None = None) -> Shares:
    """Return the shares of groups of values."""
    return Shares(estimate, coarser(estimate.alphabet, by, rows))


def intervals_of(
    estimate: Estimate, of: Any, level: float, joint: bool, on_step: OnStep | None = None
) -> Intervals:
    """Return the intervals of anything, from the evidence that an estimate was made from."""
    evidence = estimate.evidence
    if evidence is None:
        raise EvidenceError(
            "this estimate has no evidence, by which one could tell how sure it is: it was made "
            "by hand, or stored when its reports lay in files. Ask fw.intervals(evidence), or "
            "give it: dataclasses.replace(estimate, evidence=evidence)."
        )
    if checked_evidence(evidence, "an estimate").alphabet != estimate.alphabet:
        raise EvidenceError(
            f"an estimate over {estimate.alphabet} with evidence over {evidence.alphabet}: "
            f"expected what it was made from."
        )
    # From a maximum that arrived, or from none: the same to the last digit whatever the method.
    arrived = estimate.method == "gibu" and estimate.gap <= default_tolerance(evidence)
    return intervals(evidence, of, level, joint, estimate if arrived else None, on_step)
