"""Mechanisms side by side on the same people: what they tell, cost and give away."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.presented import Presented, frame
from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.leakage import leakage
from freewill.domain.mechanisms.base import Mechanism, brief, is_mechanism
from freewill.domain.metrics import norm_on
from freewill.domain.survey import Survey
from freewill.errors import FreewillError, ParameterError, printable, several, shown
from freewill.numeric.solvers.likelihood import OnStep, one_blas_thread
from freewill.stats.collect import collect
from freewill.stats.estimators.estimate import Estimate, Work, whole
from freewill.stats.estimators.gibu import gibu
from freewill.stats.information import DENSE
from freewill.stats.planning.design import Design, Parts, true_variance
from freewill.stats.planning.truths import checked_truths, usual

MIXTURE = "all of them"
"""Name of the survey in which people choose every one of its mechanisms as often."""
_MEASURED = ("information", "success", "report_bytes", "draw_seconds", "estimate_seconds")
_WRITTEN = 200
"""Reports by which the length of one is told."""


class Mean(NamedTuple):
    """A mean over simulated surveys, and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: FloatArray) -> "Mean":
        """Return the mean of some runs."""
        deviation = values.std(ddof=1) if values.size > 1 else np.nan
        return cls(float(values.mean()), float(deviation / np.sqrt(values.size)))

    def __str__(self) -> str:
        return f"{self.value:.3g} ± {self.error:.1g}"


@dataclass(frozen=True, eq=False)
class ComparedMechanism:
    """What was measured of one mechanism, or of a mixture of them.

    `information` is what a person tells of all shares together, beside one who tells the truth;
    `emd` and `mse` are errors of `gibu`, the earth mover's distance to the truth and the mean
    squared error of a share; `success` is how often the best guess of a person's value from their
    report is right, all values being as common, None where outputs cannot be listed and no formula
    tells; `report_bytes` the length of a report as it is sent; `draw_seconds` are of one report
    when many are drawn at once, `estimate_seconds` of one estimate.
    """

    name: str
    promise: str
    parts: Parts = field(repr=False)
    information: float
    emd: Mean
    mse: Mean
    success: float | None
    report_bytes: float
    draw_seconds: float
    estimate_seconds: float


@dataclass(frozen=True, eq=False)
class MechanismComparison(Presented):
    """Mechanisms that were compared on the same simulated people, the least EMD first.

    >>> import freewill as fw
    >>> line, truth = fw.Linear(0, 4), [0.4, 0.3, 0.2, 0.1, 0.0]
    >>> kinds = fw.KRR(line, 1.0), fw.KRR(line, 4.0)
    >>> print(fw.compare_mechanisms(kinds, truth, people=500, runs=3))
    0..4, 500 people, 3 surveys; truth: as given
                     promise  EMD ...
    k-rr(epsilon=4)  4-LDP    ...
    k-rr(epsilon=1)  1-LDP    ...
    """

    alphabet: Alphabet
    truth: str
    people: int
    runs: int
    compared: tuple[ComparedMechanism, ...]

    @property
    def best(self) -> ComparedMechanism:
        """The one of the least earth mover's distance."""
        return self.compared[0]

    @property
    def columns(self) -> dict[str, list[Any]]:
        """What `ComparedMechanism` has, by name; errors have columns of their own."""
        columns: dict[str, list[Any]] = {
            "mechanism": [one.name for one in self.compared],
            "promise": [one.promise for one in self.compared],
        }
        for name in ("emd", "mse"):
            means = [getattr(one, name) for one in self.compared]
            columns[name] = [mean.value for mean in means]
            columns[f"{name}_error"] = [mean.error for mean in means]
        for name in _MEASURED:
            columns[name] = [getattr(one, name) for one in self.compared]
        return columns

    def table(self, backend: Any = "pyarrow") -> Any:
        """Return a table with a row for each."""
        return frame(self.columns, backend)

    def __str__(self) -> str:
        head = ("", "promise", "EMD", "MSE", "information", "attack", "bytes", "draw", "estimate")
        lines = [head, *map(_cells, self.compared)]
        wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, wide, strict=True)).rstrip()
            for line in lines
        ]
        many, runs = several(self.people, "person"), several(self.runs, "survey")
        first = f"{self.alphabet}, {many}, {runs}; truth: {self.truth}"
        return "\n".join([first, *texts])


def _cells(one: ComparedMechanism) -> tuple[str, ...]:
    return (
        printable(one.name),
        one.promise,
        str(one.emd),
        str(one.mse),
        f"{one.information:.3g}",
        "-" if one.success is None else f"{100 * one.success:.3g} %",
        f"{one.report_bytes:.3g}",
        f"{1e6 * one.draw_seconds:.2g} us",
        f"{1e3 * one.estimate_seconds:.2g} ms",
    )


@one_blas_thread
def compare_mechanisms(
    mechanisms: Any,
    theta: ArrayLike | Estimate | None = None,
    people: int = 10_000,
    runs: int = 20,
    mixture: bool = False,
    on_step: OnStep | None = None,
) -> MechanismComparison:
    """Compare mechanisms on the same simulated people, each as if everybody chose it.

    `mechanisms` is a survey, mechanisms by their names, or a list of them; with `mixture`, a survey
    in which they are chosen as often is one of those compared. They are what was asked for: to
    compare at one promise give all the same (`fw.menu` finds the epsilons). In each of `runs`
    surveys, `people` have values from `theta`, the same for all, and `gibu` estimates from the
    reports. Without a theta it is uniform on labels and one peak on a line or map.

    The cost is one `gibu` for each mechanism and run.

    >>> import freewill as fw
    >>> ages = fw.Linear(0, 19)
    >>> two = [fw.KRR(ages, 1.0), fw.RAPPOR(ages, 1.0)]
    >>> comparison = fw.compare_mechanisms(two, people=500, runs=3)
    >>> [one.name for one in comparison.compared], comparison.people
    (['rappor(epsilon=1)', 'k-rr(epsilon=1)'], 500)
    """
    named = _named(mechanisms)
    alphabet = next(iter(named.values())).alphabet
    truth, share = usual(checked_truths(theta, alphabet))
    many, times = whole("people", people, 2), whole("runs", runs)
    surveys: dict[str, Parts] = {name: ((name, one, 1.0),) for name, one in named.items()}
    if mixture and len(named) > 1:
        equal = 1 / len(named)
        surveys[MIXTURE] = tuple((name, one, equal) for name, one in named.items())
    work = Work(on_step)
    work.expect(len(surveys) * times)
    met = [_met(name, parts, alphabet, share, many, times, work) for name, parts in surveys.items()]
    met.sort(key=lambda one: one.emd.value)
    return MechanismComparison(alphabet, truth, many, times, tuple(met))


def _named(mechanisms: Any) -> dict[str, Mechanism]:
    """Return mechanisms by their names."""
    if isinstance(mechanisms, Survey):
        by_name = dict(mechanisms.mechanisms)
    elif isinstance(mechanisms, Mapping):
        by_name = dict(mechanisms)
    else:
        listed = list(mechanisms) if isinstance(mechanisms, list | tuple) else []
        names = [brief(one) if is_mechanism(one) else shown(one) for one in listed]
        if len(set(names)) < len(names):
            names = [f"{number}. {name}" for number, name in enumerate(names, start=1)]
        by_name = dict(zip(names, listed, strict=True))
    if not by_name or not all(map(is_mechanism, by_name.values())):
        raise ParameterError(
            f"mechanisms={shown(mechanisms)}: expected a survey, or mechanisms by name or in a "
            f"list, at least one."
        )
    alphabet = next(iter(by_name.values())).alphabet
    for name, one in by_name.items():
        if one.alphabet != alphabet:
            raise ParameterError(
                f"{name!r} is over {one.alphabet} and another over {alphabet}: compare mechanisms "
                f"over one alphabet."
            )
    if alphabet.size > DENSE:
        raise ParameterError(
            f"{alphabet} has {several(alphabet.size, 'value')}: mechanisms are compared up to "
            f"{DENSE:,}. Compare them on a coarser alphabet."
        )
    return by_name


def _met(
    name: str,
    parts: Parts,
    alphabet: Alphabet,
    theta: FloatArray,
    people: int,
    runs: int,
    work: Work,
) -> ComparedMechanism:
    """Measure one of those compared."""
    length, size = norm_on(alphabet), alphabet.size
    distances, squares, drawing, estimating = (np.empty(runs) for _ in range(4))
    for run in range(runs):
        rng = np.random.default_rng([run, people])
        values = rng.choice(size, size=people, p=theta)
        begun = perf_counter()
        reports = list(_reports(parts, values, rng))
        drawn = perf_counter()
        estimate = gibu(collect(reports)).theta
        drawing[run], estimating[run] = drawn - begun, perf_counter() - drawn
        distances[run] = length(estimate - theta)
        squares[run] = float(np.mean(np.square(estimate - theta)))
        work.solved()
    rows = np.eye(size)
    variance = float(Design(alphabet, parts, theta).variances(rows).sum())
    promises = {one.guarantee().short for _, one, _ in parts}
    return ComparedMechanism(
        name=name,
        promise=promises.pop() if len(promises) == 1 else "several",
        parts=parts,
        information=true_variance(rows, theta) / variance if variance > 0 else 1.0,
        emd=Mean.of(distances),
        mse=Mean.of(squares),
        success=_success(parts),
        report_bytes=_length(parts, values[:_WRITTEN], rng),
        draw_seconds=float(np.median(drawing)) / people,
        estimate_seconds=float(np.median(estimating)),
    )


def _reports(
    parts: Parts, values: IntArray, rng: np.random.Generator
) -> Iterator[tuple[Mechanism, Any]]:
    """Yield the reports of each mechanism, whose people are in proportion to its share."""
    ends = np.round(np.cumsum([share for _, _, share in parts]) * values.size).astype(int)
    for (_, mechanism, _), some in zip(parts, np.split(values, ends[:-1]), strict=True):
        if some.size:
            yield mechanism, mechanism.obfuscate(some, rng)


def _success(parts: Parts) -> float | None:
    """Return how often the best guess is right, on average over the people."""
    try:
        return sum(share * leakage(one).success_rate for _, one, share in parts)
    except FreewillError:
        return None


def _length(parts: Parts, values: IntArray, rng: np.random.Generator) -> float:
    """Return the mean length of a report as a text of a file."""
    texts = (one.output_space.texts(one.obfuscate(values, rng)).to_pylist() for _, one, _ in parts)
    lengths = [float(np.mean([len(text) for text in own])) for own in texts]
    return sum(share * own for (_, _, share), own in zip(parts, lengths, strict=True))
