"""Estimators: one method a file, each `f(evidence, ...) -> Estimate`."""

from freewill.estimators.combine import combine_mechanisms, combine_results
from freewill.estimators.debias import debias
from freewill.estimators.em import em
from freewill.estimators.estimate import Estimate
from freewill.estimators.gibu import gibu
from freewill.estimators.ibu import ibu
from freewill.estimators.identifiability import unresolved_directions
from freewill.estimators.inversion import inversion
from freewill.solvers import Status, Step

__all__ = [
    "Estimate",
    "Status",
    "Step",
    "combine_mechanisms",
    "combine_results",
    "debias",
    "em",
    "gibu",
    "ibu",
    "inversion",
    "unresolved_directions",
]
