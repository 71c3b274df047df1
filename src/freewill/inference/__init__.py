"""How sure a number is: information, intervals, and estimates that are not the most likely."""

from freewill.inference import functionals
from freewill.inference.choice_aware import ChoiceAwareEstimate, choice_aware
from freewill.inference.compare import Comparison, compare
from freewill.inference.functionals import Functionals, Quantiles
from freewill.inference.information import Information, information
from freewill.inference.intervals import Intervals, intervals
from freewill.inference.one_step import one_step
from freewill.inference.smooth import SmoothEstimate, smooth

__all__ = [
    "ChoiceAwareEstimate",
    "Comparison",
    "Functionals",
    "Information",
    "Intervals",
    "Quantiles",
    "SmoothEstimate",
    "choice_aware",
    "compare",
    "functionals",
    "information",
    "intervals",
    "one_step",
    "smooth",
]
