"""The paper's methods by the names that people type."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from freewill.errors import ParameterError
from freewill.estimators import (
    Estimate,
    combine_mechanisms,
    combine_results,
    debias,
    em,
    gibu,
    ibu,
    inversion,
)
from freewill.evidence import Evidence

_ESTIMATORS: dict[str, Callable[..., Estimate]] = {
    "gibu": gibu,
    "em": em,
    "inversion": inversion,
    "ibu": ibu,
    "debias": debias,
}
_PAPER = {"inv": "inversion", "rap": "debias"}
_FOR_ONE = ("inversion", "ibu", "debias")
_TAKES = {
    "tol": ("gibu", "ibu"),
    "delta": ("em", "ibu"),
    "max_steps": ("gibu", "em", "ibu"),
    "post": ("inversion", "debias"),
}
_NAME = re.compile(r"\[?([a-z]+)\]?(?:-?([mr]))?")


@dataclass(frozen=True)
class Method:
    """An estimator, and how it is carried over to many mechanisms."""

    estimator: str
    combine: Literal["M", "R", ""] = ""

    @classmethod
    def parse(cls, text: str) -> "Method":
        """Read a method's name: gibu, em, ibu, inversion, debias; [inversion]M or inversion-m.

        >>> Method.parse("[INV]M"), Method.parse("ibu-r")
        (Method(estimator='inversion', combine='M'), Method(estimator='ibu', combine='R'))
        """
        found = _NAME.fullmatch(text.lower())
        name = "" if found is None else _PAPER.get(found[1], found[1])
        combine: Any = "" if found is None else (found[2] or "").upper()
        if name not in _ESTIMATORS or (combine and name not in _FOR_ONE):
            raise ParameterError(
                f"--method {text}: expected gibu, em, inversion, ibu or debias; or one of the "
                f"last three over many mechanisms, such as inversion-m for [INV]M (the average "
                f"mechanism) and inversion-r for [INV]R (the average of the results)."
            )
        return cls(name, combine)

    def run(self, evidence: Evidence, **options: Any) -> Estimate:
        """Estimate; options that are None were not given."""
        given = {name: value for name, value in options.items() if value is not None}
        for name in given:
            if self.estimator not in _TAKES[name]:
                raise ParameterError(
                    f"--{name.replace('_', '-')} says nothing to {self.estimator}: it is for "
                    f"{' and '.join(_TAKES[name])}."
                )
        if self.estimator in _FOR_ONE and not self.combine and len(evidence.groups) > 1:
            raise ParameterError(
                f"{self.estimator} takes one mechanism and the evidence has "
                f"{len(evidence.groups)}. Use --method {self.estimator}-m or {self.estimator}-r, "
                f"choose one mechanism with --only, or take gibu, which uses them all."
            )
        estimator = _ESTIMATORS[self.estimator]
        if self.combine == "M":
            return combine_mechanisms(evidence, estimator, **given)
        if self.combine == "R":
            return combine_results(evidence, estimator, **given)
        return estimator(evidence, **given)
