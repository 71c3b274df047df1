"""Tables I and II: the paper's verdicts as data, and the rule by which ours are found."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from freewill.estimators.methods import Method
from freewill.experiments.methods import IBU_M, IBU_R, INV_M, INV_R, RAP_M, RAP_R
from freewill.experiments.results import Results

Word = Literal["Excellent", "Good", "Bad", "NA", ""]

EXCELLENT, GOOD = 1.25, 2.0
"""A method is Excellent up to 1.25 times the EMD of GIBU, Good up to twice, and Bad beyond."""
_ORDER: tuple[Word, ...] = ("Excellent", "Good", "Bad", "NA")


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

    `error` is the jackknife standard error over seeds, and `wins` counts the seeds on which GIBU
    was nearer to the truth. `refused` says why the method has no estimate.
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
        return f"{self.value:.2f} ± {self.error:.2f}"

    @property
    def word(self) -> Word:
        """The verdict of the rule."""
        return "NA" if self.refused else verdict(self.value)

    @property
    def close(self) -> bool:
        """Whether a threshold lies within two standard errors."""
        return any(abs(self.value - limit) <= 2 * self.error for limit in (EXCELLENT, GOOD))


@dataclass(frozen=True)
class Judgement:
    """An entry beside what was measured: a ratio for each panel, and the word for the cell."""

    entry: Entry
    ratios: tuple[Ratio, ...]

    @property
    def word(self) -> Word:
        """The worst of the panels: a method is to be trusted as far as its worst panel."""
        words = [ratio.word for ratio in self.ratios]
        return max(words, key=_ORDER.index) if words else ""

    @property
    def agrees(self) -> bool:
        """Whether the cell has the paper's word."""
        return self.word == self.entry.paper

    @property
    def differing(self) -> tuple[Ratio, ...]:
        """The panels whose own word is not the paper's."""
        return tuple(ratio for ratio in self.ratios if ratio.word != self.entry.paper)


def verdict(ratio: float) -> Word:
    """Return the word for a ratio of mean EMDs.

    >>> [verdict(ratio) for ratio in (1.0, 1.25, 1.6, 2.0, 2.1)]
    ['Excellent', 'Excellent', 'Good', 'Good', 'Bad']
    """
    if ratio <= EXCELLENT:
        return "Excellent"
    return "Good" if ratio <= GOOD else "Bad"


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


def judge(results: Results) -> list[Judgement]:
    """Judge every entry whose panels were all run, at the largest size."""
    found = []
    for entry in ENTRIES:
        ratios = [ratio_of(results, name, entry.methods) for name in entry.mixtures]
        if all(ratio is not None for ratio in ratios):
            found.append(Judgement(entry, tuple(ratio for ratio in ratios if ratio is not None)))
    return found


def ratio_of(
    results: Results,
    mixture: str,
    methods: tuple[Method, ...],
    people: int | None = None,
    field: str = "emd",
    reference: str = "gibu",
) -> Ratio | None:
    """Return the ratio to GIBU of the better of `methods`, or None where there are no results."""
    sizes = [r.people for r in results.rows if r.mixture == mixture and r.method == reference]
    if not sizes:
        return None
    people = max(sizes) if people is None else people
    base = results.by_seed(mixture, reference, people, field)
    ratios, refused = [], None
    for method in methods:
        own = results.by_seed(mixture, method.name, people, field)
        seeds = sorted(base.keys() & own.keys())
        if seeds:
            above, below = (np.array([c[seed] for seed in seeds]) for c in (own, base))
            wins, number = int((below < above).sum()), len(seeds)
            value, error = _jackknife(above, below)
            ratios.append(Ratio(mixture, method.name, people, value, error, wins, number))
        else:
            why = results.failure(mixture, method.name)
            if why:
                refused = Ratio(mixture, method.name, people, np.nan, np.nan, 0, 0, why)
    return min(ratios, key=lambda ratio: ratio.value) if ratios else refused


def _jackknife(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """Return the ratio of means and its standard error, leaving out one seed at a time."""
    value, count = float(above.mean() / below.mean()), len(above)
    if count < 2:
        return value, float("nan")
    without = (above.sum() - above) / (below.sum() - below)
    return value, float(np.sqrt((count - 1) * np.var(without)))
