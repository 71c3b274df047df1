"""How sure a number is: information, intervals, and estimates that are not the most likely."""

from freewill.inference import functionals
from freewill.inference.choice.aware import ChoiceAwareEstimate, choice_aware
from freewill.inference.choice.check import ChoiceCheck, check_choice
from freewill.inference.compare import Comparison, compare
from freewill.inference.fit import Fit, fit
from freewill.inference.forged.beside_choice import HonestReports
from freewill.inference.forged.robust import RobustEstimate, SetAside, robust
from freewill.inference.functionals import Functionals, Quantiles
from freewill.inference.information import Information, information
from freewill.inference.intervals import Intervals, intervals
from freewill.inference.laws.check import FitCheck, check_fit
from freewill.inference.one_step import one_step
from freewill.inference.planning.menus import Menu, Offer, menu
from freewill.inference.planning.plan import Plan, plan
from freewill.inference.smoothing.smooth import SmoothEstimate, smooth

__all__ = [
    "ChoiceAwareEstimate",
    "ChoiceCheck",
    "Comparison",
    "Fit",
    "FitCheck",
    "Functionals",
    "HonestReports",
    "Information",
    "Intervals",
    "Menu",
    "Offer",
    "Plan",
    "Quantiles",
    "RobustEstimate",
    "SetAside",
    "SmoothEstimate",
    "check_choice",
    "check_fit",
    "choice_aware",
    "compare",
    "fit",
    "functionals",
    "information",
    "intervals",
    "menu",
    "one_step",
    "plan",
    "robust",
    "smooth",
]
