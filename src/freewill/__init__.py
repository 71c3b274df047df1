"""Free-will privacy: everyone picks a mechanism, and the distribution is still reconstructed.

>>> import freewill as fw
>>> ages = fw.Linear(0, 99, unit="year")
>>> mechanism = fw.Geometric(ages, epsilon=0.1)
>>> reports = mechanism.obfuscate(ages.encode([34, 71]))
>>> str(mechanism.guarantee())
'0.1-geo-indistinguishability per year'
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# What a device needs loads with NumPy alone, and everything else when it is first used.
# `__init__.pyi` tells type checkers the same; a test holds the two together.
_HOMES = {
    "alphabets": ("Alphabet", "Categorical", "Grid", "Linear", "alphabet_from_spec", "distances"),
    "calibration": ("calibrate",),
    "device": (
        "Budget",
        "Device",
        "Explanation",
        "Memory",
        "Sent",
        "SurveyExplanation",
        "explain",
    ),
    "errors": (
        "AlphabetError",
        "BudgetError",
        "DeviceError",
        "EvidenceError",
        "FreewillError",
        "IdentifiabilityError",
        "LawError",
        "ParameterError",
        "ReportError",
        "SpecError",
        "SurveyError",
    ),
    "estimators": (
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
    ),
    "evidence": ("Evidence", "Group", "collect", "merge"),
    "guarantees": ("AdversaryLoss", "Audit", "ExactAudit", "Guarantee", "LossAudit", "audit"),
    "inference": (
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
        "Plan",
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
    ),
    "mechanisms": (
        "KRR",
        "RAPPOR",
        "Geometric",
        "Identity",
        "Matrix",
        "Mechanism",
        "PlanarGeometric",
        "Shokri",
        "from_spec",
    ),
    "metrics": ("emd", "kl", "l2", "total_variation"),
    "operators": ("Operator", "dot_test"),
    "readable": ("Shares",),
    "reports": (
        "InvalidReports",
        "load_evidence",
        "read_reports",
        "save_evidence",
        "spark_session",
        "write_reports",
    ),
    "simplex": ("normalise", "project"),
    "survey": ("Survey",),
    "theory": ("error_without_privacy", "krr_error_bound", "rappor_error_bound"),
}
_WHERE = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = ("plots", "reports")

__all__ = ["__version__", *sorted([*_WHERE, *_ROOMS])]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"freewill.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'freewill' has no attribute {name!r}")
    found = getattr(import_module(f"freewill.{_WHERE[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
