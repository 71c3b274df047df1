"""The paper's methods by name: an estimator, how it is brought to many mechanisms, its options."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from freewill.errors import ParameterError
from freewill.estimators.combine import combine_mechanisms, combine_results
from freewill.estimators.debias import debias
from freewill.estimators.em import em
from freewill.estimators.estimate import Estimate
from freewill.estimators.gibu import gibu
from freewill.estimators.ibu import ibu
from freewill.estimators.inversion import inversion
from freewill.evidence import Evidence
from freewill.solvers import OnStep

Way = Literal["", "M", "R"]


class _Entry(NamedTuple):
    paper: str
    estimate: Callable[..., Estimate]
    options: tuple[str, ...]
    takes_one: bool = True
    tells_gap: bool = False


_ESTIMATORS = {
    "gibu": _Entry("GIBU", gibu, ("tol", "max_steps"), takes_one=False, tells_gap=True),
    "em": _Entry("EM", em, ("delta", "max_steps"), takes_one=False),
    "inversion": _Entry("INV", inversion, ("post",)),
    "ibu": _Entry("IBU", ibu, ("tol", "delta", "max_steps")),
    "debias": _Entry("RAP", debias, ("post",)),
}
_BY_PAPER = {entry.paper.lower(): name for name, entry in _ESTIMATORS.items()}
_COMBINE = {"M": combine_mechanisms, "R": combine_results}
_NAME = re.compile(r"\[?([a-z]+)\]?(?:-?([mr]))?")
_POSTS = {"project": "projected", "normalise": "normalised", "none": "raw"}


@dataclass(frozen=True)
class Method:
    """An estimator, how it is brought to many mechanisms, and its options where not the usual.

    `way` is "M" for combining mechanisms, "R" for combining results, and empty where the estimator
    looks at the evidence as it is. An option that the estimator does not take is an error.

    >>> Method("inversion", "M", post="project").label
    '[INV]M, projected'
    """

    estimator: str
    way: Way = ""
    post: str | None = None
    tol: float | None = None
    delta: float | None = None
    max_steps: int | None = None

    def __post_init__(self) -> None:
        entry = _ESTIMATORS.get(self.estimator)
        if entry is None or (self.way and not (entry.takes_one and self.way in _COMBINE)):
            raise ParameterError(
                f"method {self.estimator}{self.way and '-'}{self.way.lower()}: expected gibu, em, "
                f"inversion, ibu or debias; or one of the last three over many mechanisms, such as "
                f"inversion-m for [INV]M (the average mechanism) and inversion-r for [INV]R (the "
                f"average of the results)."
            )
        for name in self.options:
            if name not in entry.options:
                takers = [key for key, other in _ESTIMATORS.items() if name in other.options]
                raise ParameterError(
                    f"{name} says nothing to {self.estimator}: it is for {' and '.join(takers)}."
                )

    @classmethod
    def parse(cls, text: str, **options: Any) -> "Method":
        """Read a method's name as people type it, or as the paper prints it.

        >>> Method.parse("[INV]M") == Method.parse("inversion-m") == Method("inversion", "M")
        True
        """
        found = _NAME.fullmatch(text.lower())
        if found is None:
            return cls(text, **options)
        way: Any = (found[2] or "").upper()
        return cls(_BY_PAPER.get(found[1], found[1]), way, **options)

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given."""
        named = ("post", "tol", "delta", "max_steps")
        return {name: value for name in named if (value := getattr(self, name)) is not None}

    @property
    def name(self) -> str:
        """A name for tables and files: inv-m-project, em-1e-06."""
        stop = "" if self.delta is None else f"{self.delta:.0e}"
        paper = _ESTIMATORS[self.estimator].paper
        return "-".join(word for word in (paper, self.way, self.post, stop) if word).lower()

    @property
    def label(self) -> str:
        """The paper's name, and what was done afterwards."""
        paper = _ESTIMATORS[self.estimator].paper
        head = f"[{paper}]{self.way}" if self.way else paper
        if self.delta is not None:
            return f"{head}, delta {self.delta:.0e}"
        return f"{head}, {_POSTS[self.post]}" if self.post else head

    def run(self, evidence: Evidence, on_step: OnStep | None = None) -> Estimate:
        """Estimate; what no option says is the estimator's own choice.

        A method that closes a gap tells `on_step` after each step.
        """
        entry = _ESTIMATORS[self.estimator]
        if self.way:
            return _COMBINE[self.way](evidence, entry.estimate, **self.options)
        if entry.takes_one and len(evidence.groups) > 1:
            raise ParameterError(
                f"{self.estimator} takes one mechanism and the evidence has "
                f"{len(evidence.groups)}. Use the method {self.estimator}-m or {self.estimator}-r, "
                f"keep one mechanism only, or take gibu, which uses them all."
            )
        watched = {"on_step": on_step} if entry.tells_gap else {}
        return entry.estimate(evidence, **self.options, **watched)
