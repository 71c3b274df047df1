"""The paper's methods by name: an estimator, how it is brought to many mechanisms, its options."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.mechanisms.matrix import average
from freewill.errors import ParameterError, shown
from freewill.numeric.solvers.likelihood import (
    OnStep,
    Status,
)
from freewill.stats.collect import collect
from freewill.stats.estimators.em import em, ibu
from freewill.stats.estimators.estimate import (
    Estimate,
    certified_estimate,
)
from freewill.stats.estimators.gibu import gibu
from freewill.stats.estimators.inversion import _POSTS, debias, inversion
from freewill.stats.evidence import Evidence, refuse_nobody

Way = Literal["", "M", "R"]
Estimator: TypeAlias = Callable[..., Estimate]
"""An estimator of the evidence of one mechanism."""


def combine_results(evidence: Evidence, estimator: Estimator, **options: Any) -> Estimate:
    """Estimate from each mechanism's reports alone and average the results ([e]R, eqs. 4 and 5).

    theta = sum over mechanisms of (n^A / n) e(A, D^A). Options go to the estimator.

    The cost is one call of the estimator a mechanism.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 1)
    >>> parts = [(fw.KRR(line, 1.0), [0, 1], [60, 40]), (fw.KRR(line, 2.0), [0, 1], [70, 30])]
    >>> fw.combine_results(fw.collect(parts), fw.inversion).theta.round(4)
    array([0.7395, 0.2605])
    """
    started = perf_counter()
    refuse_nobody(evidence, "an estimate")
    results = [
        _estimated(estimator, Evidence(evidence.alphabet, (group,)), options)
        for group in evidence.groups
    ]
    people = np.array([group.people for group in evidence.groups])
    theta = people @ np.stack([result.theta for result in results]) / evidence.people
    return _combined(evidence, f"[{results[0].method}]R", theta, results, started)


def combine_mechanisms(evidence: Evidence, estimator: Estimator, **options: Any) -> Estimate:
    """Pretend that everyone used the average mechanism A[n], and estimate from that ([e]M).

    [INV]M is eq. 7, for k-RR eqs. 8 and 9; [IBU]M is section V-C; [RAP]M is eqs. 13 and 14. The
    mechanisms must share their outputs. Options go to the estimator.

    O(mechanisms * outputs * k) for the average law, and one call of the estimator.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 1)
    >>> parts = [(fw.KRR(line, 1.0), [0, 1], [60, 40]), (fw.KRR(line, 2.0), [0, 1], [70, 30])]
    >>> fw.combine_mechanisms(fw.collect(parts), fw.inversion).theta.round(4)
    array([0.7452, 0.2548])
    """
    started = perf_counter()
    result = _estimated(estimator, compound(evidence), options)
    return _combined(evidence, f"[{result.method}]M", result.theta, [result], started)


def _estimated(estimator: Any, evidence: Evidence, options: dict[str, Any]) -> Estimate:
    """Return what an estimator gives, after checking that it is one and gives an estimate."""
    result = estimator(evidence, **options) if callable(estimator) else None
    if not isinstance(result, Estimate):
        gave = "" if result is None else f" gave {shown(result)}"
        raise ParameterError(
            f"estimator={shown(estimator)}{gave}: expected a function that returns an Estimate, "
            f"such as fw.inversion."
        )
    return result


def compound(evidence: Evidence) -> Evidence:
    """Return all reports as if they came from the average mechanism A[n] (eqs. 6 and 7)."""
    refuse_nobody(evidence, "an estimate")
    groups = evidence.groups
    mean = average([group.mechanism for group in groups], [group.people for group in groups])
    return collect((mean, group.outputs, group.counts) for group in groups)


def _combined(
    evidence: Evidence, method: str, theta: FloatArray, parts: list[Estimate], started: float
) -> Estimate:
    """Wrap a combination; it is as good as its worst part.

    What certifies the parts does not certify the whole, which has only converged.
    """
    order = list(Status)
    status = max([Status.CONVERGED, *(part.status for part in parts)], key=order.index)
    steps = sum(part.steps for part in parts)
    counts = [part.unresolved for part in parts if part.unresolved is not None]
    # Some that are lost are worth telling; that none is lost must be known of every part.
    unresolved = max(counts, default=0) or (0 if len(counts) == len(parts) else None)
    return certified_estimate(evidence, theta, method, status, started, steps, unresolved)


class Entry(NamedTuple):
    """An estimator: the paper's name, the options it takes, whether it asks for one mechanism."""

    paper: str
    estimate: Callable[..., Estimate]
    options: tuple[str, ...]
    takes_one: bool = True
    tells: bool = False
    """Whether it calls `on_step`."""


_COMBINE = {"M": combine_mechanisms, "R": combine_results}
_NAME = re.compile(r"\[?([a-z]+)\]?(?:-?([mr]))?")


@dataclass(frozen=True)
class Method:
    """An estimator, how it is brought to many mechanisms, and its options where not the usual.

    `way` is "M" for combining mechanisms, "R" for combining results, and empty where the estimator
    looks at the evidence as it is. An option that the estimator does not take is an error.

    >>> Method("inversion", "M", post="project").label
    '[INV]M, projected'
    """

    table: ClassVar[Mapping[str, Entry]] = {
        "gibu": Entry("GIBU", gibu, ("tol", "max_steps"), takes_one=False, tells=True),
        "em": Entry("EM", em, ("delta", "max_steps"), takes_one=False, tells=True),
        "inversion": Entry("INV", inversion, ("post",)),
        "ibu": Entry("IBU", ibu, ("tol", "delta", "max_steps"), tells=True),
        "debias": Entry("RAP", debias, ("post",)),
    }
    """The estimators by name; whoever knows more of them has a table of their own."""

    estimator: str
    way: Way = ""
    post: str | None = None
    tol: float | None = None
    delta: float | None = None
    max_steps: int | None = None

    def __post_init__(self) -> None:
        entry = self.table.get(self.estimator)
        if entry is None or (self.way and not (entry.takes_one and self.way in _COMBINE)):
            whole = [name for name, other in self.table.items() if not other.takes_one]
            single = [name for name, other in self.table.items() if other.takes_one]
            raise ParameterError(
                f"method {self.estimator}{self.way and '-'}{self.way.lower()}: expected "
                f"{_listed([*whole, *single], 'or')}; or one of the last three over many "
                f"mechanisms, such as inversion-m for [INV]M (the average mechanism) and "
                f"inversion-r for [INV]R (the average of the results)."
            )
        for name in self.options:
            if name not in entry.options:
                takers = [key for key, other in self.table.items() if name in other.options]
                raise ParameterError(
                    f"{name} says nothing to {self.estimator}: it is for {_listed(takers, 'and')}."
                )

    @classmethod
    def parse(cls, text: str, **options: Any) -> Self:
        """Read a method's name as people type it, or as the paper prints it.

        >>> Method.parse("[INV]M") == Method.parse("inversion-m") == Method("inversion", "M")
        True
        """
        if not isinstance(text, str):
            raise ParameterError(f"method={shown(text)}: expected the name of one, as 'gibu'.")
        plain = text.lower().replace("_", "-")
        match = _NAME.fullmatch(plain)
        if plain in cls.table or match is None:
            return cls(plain if plain in cls.table else text, **options)
        way: Any = (match[2] or "").upper()
        by_paper = {entry.paper.lower(): name for name, entry in cls.table.items()}
        return cls(by_paper.get(match[1], match[1]), way, **options)

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given."""
        named = ("post", "tol", "delta", "max_steps")
        return {name: value for name in named if (value := getattr(self, name)) is not None}

    @property
    def name(self) -> str:
        """A name for tables and files: inv-m-project, em-1e-06."""
        stop = "" if self.delta is None else f"{self.delta:.0e}"
        paper = self.table[self.estimator].paper
        return "-".join(word for word in (paper, self.way, self.post, stop) if word).lower()

    @property
    def label(self) -> str:
        """The paper's name, and what was done afterwards."""
        paper = self.table[self.estimator].paper
        head = f"[{paper}]{self.way}" if self.way else paper
        if self.delta is not None:
            return f"{head}, delta {self.delta:.0e}"
        return f"{head}, {_POSTS[self.post][0]}" if self.post else head

    def run(self, evidence: Evidence, on_step: OnStep | None = None) -> Estimate:
        """Estimate; what no option says is the estimator's own choice.

        A method that iterates tells `on_step` after each step, of each result that is combined.
        """
        entry = self.table[self.estimator]
        watched = {"on_step": on_step} if entry.tells else {}
        if self.way:
            return _COMBINE[self.way](evidence, entry.estimate, **self.options, **watched)
        if entry.takes_one and len(evidence.groups) > 1:
            raise ParameterError(
                f"{self.estimator} takes one mechanism and the evidence has "
                f"{len(evidence.groups)}. Use the method {self.estimator}-m or {self.estimator}-r, "
                f"keep one mechanism only, or take gibu, which uses them all."
            )
        return entry.estimate(evidence, **self.options, **watched)


def _listed(names: list[str], last: str) -> str:
    """Return names in a row: a, b or c."""
    return f" {last} ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
