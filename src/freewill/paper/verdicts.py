"""Tables I and II: the paper's verdicts as data, and the rule by which ours are found."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from freewill.core.types import FloatArray
from freewill.paper.panels import EM, GIBU, IBU_M, IBU_R, INV_M, INV_R, RAP_M, RAP_R
from freewill.paper.results import Results
from freewill.paper.theory import error_without_privacy
from freewill.stats.estimators.methods import Method

Word = Literal["Excellent", "Good", "Bad", "NA", "undecided"]

EXCELLENT, GOOD = 1.25, 2.0
"""A method is Excellent up to 1.25 times the EMD of GIBU, Good up to twice, and Bad beyond."""
_ORDER: tuple[Word, ...] = ("Excellent", "Good", "Bad", "NA")
SURE = 0.9973
"""The level of a ratio's interval, three standard errors of many seeds; a word that is not the same
on all of it is undecided."""


@dataclass(frozen=True)
class Entry:
    """A cell of table I or II: the paper's word, and the panels that it speaks of."""

    table: str
    row: str
    column: str
    paper: Word
    mixtures: tuple[str, ...]
    methods: tuple[Method, ...]


@dataclass(frozen=True)
class Ratio:
    """A method's mean EMD over GIBU's on one mixture: the better post-processing, at one size.

    Both means are over the same seeds. `error` is the jackknife standard error over these pairs,
    and `wins` counts the seeds on which GIBU was nearer to the truth. `refused` says why the method
    has no estimate.
    """

    mixture: str
    method: str
    people: int
    value: float
    error: float
    wins: int
    seeds: int
    refused: str = ""

    def __str__(self) -> str:
        if self.refused:
            return "refused"
        # As many digits as the error has to say.
        digits = 2 if not self.error > 0 else min(max(1 - math.floor(math.log10(self.error)), 0), 4)
        return f"{self.value:.{digits}f} ± {self.error:.{digits}f}"

    @property
    def reach(self) -> float:
        """Half the width of the interval, by Student's t, for few seeds leave the error uncertain.

        Without bounds where one seed says nothing of it.
        """
        if self.seeds < 2:
            return math.inf
        return float(stdtrit(self.seeds - 1, (1 + SURE) / 2)) * self.error

    @property
    def larger(self) -> bool | None:
        """Whether the ratio is above 1, if its interval decides that."""
        return None if abs(self.value - 1) <= self.reach else self.value > 1

    @property
    def words(self) -> tuple[Word, ...]:
        """The verdicts on the interval, the best first: one where it is decided."""
        if self.refused:
            return ("NA",)
        return _between(verdict(self.value - self.reach), verdict(self.value + self.reach))

    @property
    def word(self) -> Word:
        """The verdict, if it is decided."""
        return _decided(self.words)


@dataclass(frozen=True)
class Judgement:
    """An entry beside what was measured: a ratio for each panel, and the word for the cell."""

    entry: Entry
    ratios: tuple[Ratio, ...]

    @property
    def words(self) -> tuple[Word, ...]:
        """The possible verdicts of the worst panel, which decides for the cell."""
        best, worst = (
            max((ratio.words[end] for ratio in self.ratios), key=_ORDER.index) for end in (0, -1)
        )
        return _between(best, worst)

    @property
    def word(self) -> Word:
        """The verdict, if it is decided."""
        return _decided(self.words)

    @property
    def agrees(self) -> bool | None:
        """Whether the cell has the paper's word; None while that is undecided."""
        return _agrees(self.words, self.entry.paper)

    @property
    def differing(self) -> tuple[Ratio, ...]:
        """The panels whose own word is not the paper's, or not for certain."""
        return tuple(ratio for ratio in self.ratios if not self.agrees_on(ratio))

    def agrees_on(self, ratio: Ratio) -> bool | None:
        """Whether one panel, taken alone, has the paper's word; None while that is undecided."""
        return _agrees(ratio.words, self.entry.paper)


def verdict(ratio: float) -> Word:
    """Return the word for a ratio of mean EMDs.

    >>> [verdict(ratio) for ratio in (1.0, 1.25, 1.6, 2.0, 2.1)]
    ['Excellent', 'Excellent', 'Good', 'Good', 'Bad']
    """
    if ratio <= EXCELLENT:
        return "Excellent"
    return "Good" if ratio <= GOOD else "Bad"


def _between(best: Word, worst: Word) -> tuple[Word, ...]:
    return _ORDER[_ORDER.index(best) : _ORDER.index(worst) + 1]


def _decided(words: tuple[Word, ...]) -> Word:
    return words[0] if len(words) == 1 else "undecided"


def _agrees(words: tuple[Word, ...], paper: Word) -> bool | None:
    return None if paper in words and len(words) > 1 else paper in words


_COLUMNS: dict[str, dict[str, tuple[Method, ...]]] = {
    "I": {"[INV]R": INV_R, "[IBU]R": (IBU_R,), "[INV]M": INV_M, "[IBU]M": (IBU_M,)},
    "II": {"[RAP]R": RAP_R, "[RAP]M": RAP_M},
}
_ROWS: tuple[tuple[str, str, tuple[str, ...], tuple[Word, ...]], ...] = (
    ("I", "k-RR + k-RR", ("line-krr", "city-krr"), ("Bad", "Bad", "Excellent", "Good")),
    ("I", "Geometric + Geometric", ("line-geometric", "city-geometric"), ("Bad",) * 4),
    ("I", "k-RR + Geometric", ("line-mixed", "city-mixed"), ("Bad",) * 4),
    ("I", "Shokri + Shokri", ("line-shokri", "city-shokri"), ("NA", "Bad", "NA", "Bad")),
    ("II", "High privacy", ("rappor-high",), ("Bad", "Excellent")),
    ("II", "Low privacy", ("rappor-low",), ("Bad", "Good")),
)
"""Table, row, mixtures, and the paper's word in each column."""
ENTRIES = tuple(
    # On combined results the paper has panels on the line alone, the first of the mixtures.
    Entry(table, row, column, word, mixtures[:1] if column.endswith("R") else mixtures, methods)
    for table, row, mixtures, words in _ROWS
    for (column, methods), word in zip(_COLUMNS[table].items(), words, strict=True)
)
FLIPPED = tuple(
    replace(entry, mixtures=tuple(f"{name}-flips" for name in entry.mixtures))
    for entry in ENTRIES
    if entry.table == "II"
)
"""Table II again, as it would be if RAPPOR flipped each bit with probability 1 / (1 + e^eps)."""


def judge(results: Results, entries: Sequence[Entry] = ENTRIES) -> list[Judgement]:
    """Judge every entry whose panels were all run, at the largest size."""
    judgements = []
    for entry in entries:
        ratios = [ratio_of(results, name, entry.methods) for name in entry.mixtures]
        run = tuple(ratio for ratio in ratios if ratio is not None)
        if len(run) == len(ratios):
            judgements.append(Judgement(entry, run))
    return judgements


def ratio_of(
    results: Results,
    mixture: str,
    methods: tuple[Method, ...],
    people: int | None = None,
    field: str = "emd",
    reference: str = "gibu",
    seeds: float = math.inf,
) -> Ratio | None:
    """Return the ratio to GIBU of the better of `methods`, or None where there are no results.

    Each is compared on the seeds that it shares with the reference, among the first so many.
    """
    sizes = results.sizes(mixture, reference)
    if not sizes:
        return None
    people = max(sizes) if people is None else people
    base = results.by_seed(mixture, reference, people, field, seeds)
    ratios, refused = [], None
    for method in methods:
        own = results.by_seed(mixture, method.name, people, field, seeds)
        shared = sorted(base.keys() & own.keys())
        if shared:
            above, below = (np.array([c[seed] for seed in shared]) for c in (own, base))
            wins, number = int((below < above).sum()), len(shared)
            value, error = _jackknife(above, below)
            ratios.append(Ratio(mixture, method.name, people, value, error, wins, number))
        else:
            why = results.failure(mixture, method.name)
            if why:
                refused = Ratio(mixture, method.name, people, np.nan, np.nan, 0, 0, why)
    return min(ratios, key=lambda ratio: ratio.value) if ratios else refused


def at_every_size(
    judgements: Sequence[Judgement], results: Results
) -> dict[tuple[Entry, str], dict[int, Ratio]]:
    """Return the ratio to GIBU of each panel that has any, by the number of people."""
    panels = {}
    for entry, name in ((j.entry, name) for j in judgements for name in j.entry.mixtures):
        sizes = results.sizes(name, "gibu")
        ratios = {size: ratio_of(results, name, entry.methods, size) for size in sizes}
        measured = {size: r for size, r in ratios.items() if r is not None and not r.refused}
        if measured:
            panels[entry, name] = measured
    return panels


def _jackknife(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """Return the ratio of means and its standard error, leaving out one seed at a time."""
    value, count = float(above.mean() / below.mean()), len(above)
    if count < 2:
        return value, float("nan")
    without = (above.sum() - above) / (below.sum() - below)
    return value, float(np.sqrt((count - 1) * np.var(without)))


def stopped(
    mixture: str, results: Results, people: int
) -> tuple[dict[float, float], dict[float, float]]:
    """Return, by delta, the mean gap of algorithm 1 and the ratio of its mean EMD to GIBU's.

    All means are over the same seeds, those that every delta was tried on.
    """
    gaps, ratios = {}, {}
    by_delta = {m: results.by_seed(mixture, m.name, people) for m in EM}
    tried = {method: own for method, own in by_delta.items() if own}
    best = results.by_seed(mixture, GIBU.name, people)
    seeds = best.keys() & set.intersection(*map(set, tried.values())) if tried else ()
    for method, own in tried.items():
        gap = results.by_seed(mixture, method.name, people, "gap")
        if seeds and method.delta is not None:
            gaps[method.delta] = float(np.mean([gap[seed] for seed in seeds]))
            ratios[method.delta] = sum(own[seed] for seed in seeds) / sum(best[s] for s in seeds)
    return gaps, ratios


def price(mixture: str, truth: FloatArray, results: Results) -> dict[int, float]:
    """Return, by the number of people, GIBU's mean squared l2 error over that without privacy."""
    factors = {}
    for people in results.curve(mixture, GIBU.name):
        squares = [x**2 for x in results.by_seed(mixture, GIBU.name, people, "l2").values()]
        factors[people] = float(np.mean(squares)) / error_without_privacy(truth, people)
    return factors
