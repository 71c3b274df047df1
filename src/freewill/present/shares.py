"""Shares of values or of groups of them, as an estimate has them, and how sure they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from freewill.core.presented import Presented, frame
from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.groups import Groups, Values, coarser, merged_weights
from freewill.errors import EvidenceError, ParameterError, printable, several, shown
from freewill.numeric.solvers.likelihood import OnStep
from freewill.stats import functionals
from freewill.stats.compare import COLUMNS, Comparison
from freewill.stats.estimators.estimate import Estimate, default_tolerance
from freewill.stats.evidence import checked_evidence
from freewill.stats.information import FEW
from freewill.stats.intervals import COLUMNS as INTERVALS
from freewill.stats.intervals import Intervals, intervals

if TYPE_CHECKING:
    from freewill.stats.fit import Fit

ROWS = 20
"""Shares, the largest, of a text or a page."""
DENSE, _WORK = 1024, 10**7
"""Values, and products of values and mechanisms or reports, with which intervals take a second."""
_CHECKED = 20
"""Shares, the largest, whose errors a warning is about."""
_SOLVED, _LARGE = 20_000, 50_000
"""Values times shares whose errors are computed, for beyond some size each share takes a solve; and
values beyond which one solve is too many."""


class Listed(Presented):
    """Shares of groups of values, as a table for programs and as lines and bars for people."""

    estimate: Estimate
    groups: Groups
    fit: "Fit | None"

    @property
    def theta(self) -> FloatArray:
        """The share of each value."""
        return self.estimate.theta

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each group."""
        return merged_weights(self.groups, self.theta)

    @property
    def people(self) -> int:
        """How many people reported."""
        return self.estimate.people

    def __len__(self) -> int:
        return self.groups.count

    def intervals(self, *given: Any, **options: Any) -> Intervals:
        """Return an interval for each share."""
        raise NotImplementedError

    def _heads(self, heads: Sequence[str]) -> Sequence[str]:
        """Return what columns are called that say what a share is of."""
        return heads

    def columns(self, sure: Intervals | None = None) -> dict[str, Any]:
        """Return the columns of a table for programs: what shares are of, the shares, intervals."""
        certain = {} if sure is None else sure.columns()
        labels = label_columns(self.groups)
        heads = self._heads([*labels])
        return {**dict(zip(heads, labels.values(), strict=True)), "share": self.shares, **certain}

    def table(
        self, intervals: bool | float = False, joint: bool = False, backend: Any = "pyarrow"
    ) -> Any:
        """Return a table with one row a share: what it is of and, if asked for, its interval.

        `intervals` is True, for 95 %, or a level. `backend` names the library that it is a table
        of: pyarrow, pandas, polars (`core.frames`). Columns are those of `freewill estimate
        --csv`: a value, or its coordinates; from and to of bins, edges of districts, the names of
        sets; then share, point, low, high, standard_error.

        >>> import freewill as fw
        >>> sure = fw.inversion(fw.collect([(fw.Identity(fw.Linear(0, 3)), [0, 0, 1, 2])]))
        >>> sure.coarser(2).table().to_pylist()
        [{'from': 0, 'to': 1, 'share': 0.75}, {'from': 2, 'to': 3, 'share': 0.25}]
        """
        sure = None
        if intervals is not False:
            sure = self.intervals(level=0.95 if intervals is True else intervals, joint=joint)
        elif joint is not False:
            raise ParameterError(f"joint={shown(joint)} says how intervals are: ask for intervals.")
        return frame(self.columns(sure), backend)

    def lines(
        self, places: IntArray, sure: Intervals | None, form: str, ends: Sequence[str] = INTERVALS
    ) -> tuple[list[str], list[list[str]]]:
        """Return the heads and rows of a table for people; `form` is that of percentages.

        `ends` names the columns of intervals.
        """
        certain = {} if sure is None else {name: sure.columns()[name] for name in ends}
        heads = [name.replace("standard_error", "std error") for name in certain]
        figures = np.stack([column[places] for column in (self.shares, *certain.values())])
        texts = zip(self.groups.texts(places), figures.T.tolist(), strict=True)
        return [*self._heads(self.groups.axes), "share", *heads], [
            [*words, *(form.format(share) if np.isfinite(share) else "unknown" for share in row)]
            for words, row in texts
        ]

    def largest(self, many: int) -> IntArray:
        """Return the places of so many shares, the largest, in their order."""
        return np.sort(np.argsort(-self.shares, kind="stable")[:many])

    def bars(self, places: IntArray, sure: Intervals | None, longest: int) -> list[tuple[int, int]]:
        """Return how long bars are up to what shares are at least, and on to what they may be."""
        low, high = (self.shares, self.shares) if sure is None else (sure.low, sure.high)
        scale = longest / max(float(high[places].max()), np.finfo(float).tiny)
        ends = (np.rint(scale * np.maximum(end[places], 0)).astype(int) for end in (low, high))
        return [(solid, whole - solid) for solid, whole in zip(*ends, strict=True)]

    def few_lines(self) -> list[str]:
        """Return the largest shares as lines of a text."""
        places = self.largest(ROWS)
        texts = [printable("  ".join(text)) for text in self.groups.texts(places)]
        wide, left = max(map(len, texts)), len(self) - len(places)
        lines = [
            f"  {text:<{wide}}  {share:6.2%}"
            for text, share in zip(texts, self.shares[places].tolist(), strict=True)
        ]
        return [*lines, *([f"  and {left:,} more"] if left else [])]


@dataclass(frozen=True, eq=False, repr=False)
class Shares(Listed):
    """The shares of groups of values in an estimate: of every value, of bins, districts or sets.

    They are sums of theta. What certifies the estimate is a statement about theta, and none about
    them; how near they are to the truth `intervals` tell.

    >>> import freewill as fw
    >>> noisy = fw.KRR(fw.Linear(0, 5), epsilon=2.0)
    >>> estimate = fw.gibu(fw.collect([(noisy, range(6), [50, 90, 200, 300, 180, 80])]))
    >>> print(estimate.coarser(2))
    900 people, bins of 2 values
      0..1   3.22%
      2..3  73.55%
      4..5  23.22%
    """

    estimate: Estimate
    groups: Groups
    fit: "Fit | None" = None
    """What answers for intervals; the estimate itself where there is none."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each group is called."""
        return self.groups.names

    def intervals(
        self, level: float = 0.95, joint: bool = False, on_step: OnStep | None = None
    ) -> Intervals:
        """Return an interval for each share, or with `joint` a band that holds all of them."""
        of = functionals.of_groups(self.groups)
        return (self.fit or self.estimate).intervals(of, level, joint, on_step=on_step)

    def __repr__(self) -> str:
        return f"Shares({self.groups}, of {several(self.people, 'person')})"

    def __str__(self) -> str:
        large = self.estimate.alphabet.size if is_quick(self.estimate) else 0
        doubt = warning(self, None, large=large)
        head = f"{several(self.people, 'person')}, {self.groups}"
        return "\n".join([*([doubt] if doubt else []), head, *self.few_lines()])


def label_columns(groups: Groups) -> dict[str, Any]:
    """Return the columns of a table that say what each group is."""
    rows = groups.cells(np.arange(groups.count))
    return dict(zip(groups.heads, map(list, zip(*rows, strict=True)), strict=True))


def difference_columns(comparison: Comparison, groups: Groups | None) -> dict[str, Any]:
    """Return the columns of a table for programs: what differences are of, and their numbers."""
    labels = {"of": comparison.of} if groups is None else label_columns(groups)
    return {**labels, **{name: np.atleast_1d(getattr(comparison, name)) for name in COLUMNS}}


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
    return intervals(
        evidence, of, level, joint, start=estimate if arrived else None, on_step=on_step
    )


def check_intervals(intervals: Any, alphabet: Alphabet, count: int) -> None:
    """Refuse intervals of anything but the shares that are shown."""
    if not isinstance(intervals, Intervals):
        raise ParameterError(f"intervals={shown(intervals)}: expected those of fw.intervals.")
    if intervals.alphabet != alphabet or np.shape(intervals.point) != (count,):
        raise ParameterError(
            f"intervals of {several(len(intervals), 'functional')} over {intervals.alphabet}, for "
            f"{several(count, 'share')} over {alphabet}: expected one for each share."
        )


def is_quick(estimate: Estimate) -> bool:
    """Tell whether intervals take no more time than one who looks at a notebook has."""
    evidence, size = estimate.evidence, estimate.alphabet.size
    if evidence is None or not evidence.held or estimate.people < 2:
        return False
    rows = sum(group.rows for group in evidence.groups)
    return size <= DENSE and size * max(rows, size * len(evidence.groups)) <= _WORK


def warning(
    shares: Shares,
    sure: Intervals | None,
    more: str = "intervals() tells more.",
    level: float = 0.95,
    large: int = _LARGE,
) -> str:
    """Say how unsure the largest shares are, where people are few; nothing where many.

    `sure` are their intervals where these were made; `more` says how to ask for them where not.
    Beyond so many values as `large` has, no solve is made, and noise is left out.
    """
    people, size = shares.people, shares.estimate.alphabet.size
    rough = people < FEW or (sure is not None and people < size)
    if not rough or len(shares) == 1:
        return ""
    if people < 2:
        return f"From {several(people, 'person')}: nothing tells how near these shares are."
    many = max(1, min(_CHECKED, _SOLVED // size))
    largest = np.argsort(-shares.shares, kind="stable")[:many]
    reach = ndtri((1 + level) / 2) * _least_errors(shares.shares[largest], people)
    noisy = sure is not None
    if sure is not None:
        reach = np.maximum(reach, sure.critical * sure.standard_error[largest])
    elif size <= large and shares.estimate.evidence is not None:
        rows = np.asarray(shares.groups.which == largest[:, None], dtype=float)
        those = (shares.fit or shares.estimate).intervals(rows, level)
        reach, noisy = np.maximum(reach, those.critical * those.standard_error), True
    without = "" if noisy else " without any noise, which adds to it"
    if sure is not None:
        more = f"Intervals are rough where people are so few, for {several(size, 'value')}."
    return (
        f"From {several(people, 'person')}, these shares are unsure: at {percent(level)} the "
        f"largest may be off by {min(100 * reach.max(), 100):.3g} points{without}. {more}"
    )


def heading(sure: Intervals) -> str:
    """Say what the intervals in a table are."""
    kind = "all together" if sure.joint else "one by one"
    return (
        f"{percent(sure.level)} intervals, {kind}, about the one-step estimate (point): "
        f"{sure.critical:.3g} standard errors."
    )


def advice(sure: Intervals, coarser: str) -> str:
    """Return the advice that comes with intervals, in the words for merging of those who ask."""
    text = sure.advice
    for name in ("functionals.bins", "functionals.districts"):
        text = text.replace(name, coarser)
    return text


def percent(level: float) -> str:
    """Return a level as people say it."""
    return f"{100 * level:.12g} %"


def _least_errors(shares: FloatArray, people: int) -> FloatArray:
    """Return the standard errors of shares counted without any noise, which adds to them.

    sqrt(s (1 - s) / (n + 4)) with s = (n share + 2) / (n + 4) (Agresti and Coull, The American
    Statistician 52 (1998), 119-126), which is not 0 where all people are alike.
    """
    pulled = (people * np.clip(shares, 0, 1) + 2) / (people + 4)
    return np.asarray(np.sqrt(pulled * (1 - pulled) / (people + 4)))
