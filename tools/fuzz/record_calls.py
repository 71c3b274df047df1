"""What is called with anything: what is about records of several attributes, or of periods."""

from typing import Any

import freewill as fw
from tools.fuzz.goods import (
    LINE,
    RECORDS,
    SURVEY,
    THETA,
    Drawn,
    answered,
    asked_of_records,
    one,
    records,
    two,
)
from tools.fuzz.hostile import anything

RECORD_CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "trend": (
        fw.trend,
        {
            "evidence": Drawn(lambda case: {"2026-11-02": one(), "2026-11-09": two()}),
            "of": "mean",
            "level": 0.95,
            "joint": False,
        },
    ),
    "with_periods": (
        fw.with_periods,
        {
            "parts": Drawn(
                lambda case: [("2026-11-02", "2026-11-09", one()), ("2026-11-09", None, two())]
            )
        },
    ),
    "Product": (fw.Product, {"a": LINE, "b": fw.Categorical(["a", "b"]), "weights": None}),
    "product.encode": (RECORDS.encode, {"values": [{"a": 0, "b": "a"}, (1, "b")]}),
    "product.places": (RECORDS.places, {"names": ["a"]}),
    "evidence.marginal": (
        Drawn(lambda case: lambda name: answered().marginal(name)),
        {"name": "a"},
    ),
    "intervals of attributes": (
        fw.intervals,
        {"evidence": Drawn(lambda case: records()), "of": fw.functionals.of("age", "mean")},
    ),
    "functionals.of": (
        asked_of_records(fw.functionals.of),
        {"names": "age", "what": "mean", "given": {"vote": "a"}},
    ),
    "functionals.odds_ratio": (
        asked_of_records(fw.functionals.odds_ratio),
        {"age": [0, 1], "vote": "a"},
    ),
    "functionals.difference_of_means": (
        asked_of_records(fw.functionals.difference_of_means),
        {"name": "age", "vote": ("a", "b")},
    ),
    "functionals.conditional_mean": (
        asked_of_records(fw.functionals.conditional_mean),
        {"name": "age", "vote": "a"},
    ),
    "functionals.correlation": (
        asked_of_records(fw.functionals.correlation),
        {"one": "age", "other": "income"},
    ),
    "functionals.mutual_information": (
        asked_of_records(fw.functionals.mutual_information),
        {"one": "age", "other": "vote"},
    ),
    "independent": (
        fw.independent,
        {"evidence": Drawn(lambda case: records()), "one": "age", "other": "vote", "level": 0.95},
    ),
    "consistent": (
        fw.consistent,
        {"tables": Drawn(lambda case: {"age": (case.pick([THETA, anything(case)]), [0.1] * 4)})},
    ),
    "estimate.marginal": (
        Drawn(lambda case: lambda name: fw.gibu(records()).marginal(name)),
        {"name": "age"},
    ),
    "estimate.given": (
        Drawn(lambda case: lambda vote: fw.gibu(records()).given(vote=vote)),
        {"vote": ["a", "b"]},
    ),
    "estimate.marginal.intervals": (
        Drawn(lambda case: lambda **o: fw.gibu(records()).marginal("age").intervals(**o)),
        {"of": "mean", "level": 0.95, "joint": False},
    ),
    "JointGuarantee": (
        fw.JointGuarantee,
        {"kind": "ldp", "epsilon": 2.0, "unit": "", "parts": (("a", fw.Guarantee("ldp", 1.0)),)},
    ),
    "Questionnaire": (
        fw.Questionnaire,
        {"questions": {"a": SURVEY, "b": SURVEY}, "title": "Both", "weights": None},
    ),
}
"""By name: what is called, and arguments that are right."""
