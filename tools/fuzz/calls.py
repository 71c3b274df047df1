"""Every public name of the library, called with what it does not take."""

from typing import Any

import numpy as np

import freewill as fw
from tools.fuzz.case import Case, promise
from tools.fuzz.goods import (
    ANY,
    BOUND,
    EITHER,
    KRR,
    KRRS,
    LINE,
    MEMORY,
    ONE,
    PATH,
    REPORTS,
    SHOWN,
    SOME,
    SURVEY,
    THETA,
    TWO_THETAS,
    WORDS,
    Drawn,
    asking,
    drawn,
    forgetting,
    named,
    of_alphabet,
    one,
    own,
    parts,
    reporting,
    rowing,
    saved,
    sets,
    two,
    worded,
    written,
)
from tools.fuzz.hostile import anything
from tools.fuzz.made import MADE
from tools.fuzz.record_calls import RECORD_CALLS
from tools.fuzz.surveys import SPECS, TOWN, use

UNCALLED = {
    "Alphabet": "a protocol", "Mechanism": "a protocol", "Operator": "a protocol",
    "Noisy": "a protocol", "UnaryEncoding": "a protocol", "NoisyTable": "a protocol",
    "plots": "a module", "reports": "a module", "InvalidReports": "a warning",
    "Status": "an enumeration", "spark_session": "starts a cluster",
    "Audit": "a result", "LossAudit": "a result", "ExactAudit": "a result",
    "JointAudit": "a result", "ExactJointAudit": "a result", "PairAudit": "a result",
    "Estimate": "a result", "Step": "a result", "Fit": "a result",
    "Functionals": "a result", "Information": "a result", "Intervals": "a result",
    "Distribution": "a result", "CrossTable": "a result", "Independence": "a result",
    "ConsistentTables": "a result",
    "Comparison": "a result", "SmoothEstimate": "a result", "Shares": "a result",
    "Plan": "a result", "Menu": "a result", "ChoiceCheck": "a result", "Misfit": "a result",
    "Hypothesis": "a part of a result",
    "ChoiceAwareEstimate": "a result", "RobustEstimate": "a result", "SetAside": "a result",
    "FitCheck": "a result", "Explanation": "a result", "SurveyExplanation": "a result",
    "Sent": "a part of a memory", "MechanismCheck": "a result",
    "MechanismComparison": "a result", "Leakage": "a result", "MapGrid": "a result",
    "Evidence": "a result of collect", "Group": "a part of evidence", "Trend": "a result",
    "Period": "a part of evidence", "ShrunkEstimate": "a result",
    **{name: "an error" for name in dir(fw) if name.endswith("Error")},
}  # fmt: skip
"""Public names that are not called, and why."""
_CALLBACKS = {"estimator", "on_step", "show", "collect"}
"""What these raise is the caller's own."""
CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    **RECORD_CALLS,
    "map_grid": (fw.map_grid, {"geojson": TOWN, "cell": 20.0, "cells": None, "mask": True}),
    "Linear": (fw.Linear, {"first": 0, "last": 3, "step": 1, "unit": "year"}),
    "Categorical": (fw.Categorical, {"labels": ["a", "b"]}),
    "Grid": (fw.Grid, {"columns": 2, "rows": 2, "cell": 1.0, "bounds": None, "mask": [1, 3]}),
    "Grid with bounds": (fw.Grid, {"columns": 2, "rows": 2, "bounds": (0.0, 1.0, 0.0, 1.0)}),
    "Grid.box": (
        fw.Grid.box,
        {"south": 0.0, "north": 1.0, "west": 0.0, "east": 1.0, "columns": 2, "rows": 2},
    ),
    "alphabet.encode": (of_alphabet("encode"), {"values": [0]}),
    "alphabet.encode_inside": (of_alphabet("encode_inside"), {"values": [0]}),
    "alphabet.decode": (of_alphabet("decode"), {"indices": [0]}),
    "alphabet_from_spec": (
        fw.alphabet_from_spec,
        {"spec": Drawn(lambda case: case.pick(SPECS)["alphabet"])},
    ),
    "from_spec": (fw.from_spec, {"spec": Drawn(lambda case: dict(case.pick(SPECS)))}),
    "distances": (fw.distances, {"alphabet": SOME}),
    "calibrate": (
        fw.calibrate,
        {"kind": fw.KRR, "alphabet": LINE, "quality_loss": 1.0, "prior": None},
    ),
    **MADE,
    "mechanism.obfuscate": (own("obfuscate"), {"values": [0, 1], "rng": None}),
    "mechanism.draw": (own("draw"), {"index": 1, "source": None}),
    "mechanism.report": (own("report"), {"values": [0, 1], "rng": None}),
    "mechanism.received": (own("received"), {"reports": [0, 1]}),
    "mechanism.operator": (own("operator"), {"outputs": np.array([0, 1])}),
    "mechanism.quality_loss": (own("quality_loss"), {"prior": THETA}),
    "collect": (fw.collect, {"parts": Drawn(parts)}),
    "merge": (
        fw.merge,
        {"several": Drawn(lambda case: [one(), case.pick([two(), anything(case)])])},
    ),
    "evidence +": (Drawn(lambda case: one().__add__), {"other": EITHER}),
    "evidence.only": (Drawn(lambda case: lambda name: two().only(name)), {"name": "k-rr"}),
    "gibu": (
        fw.gibu,
        {
            "evidence": EITHER,
            "tol": 1e-6,
            "max_steps": 50,
            "solver": None,
            "start": None,
            "on_step": None,
        },
    ),
    "em": (
        fw.em,
        {"evidence": EITHER, "delta": 1e-6, "max_steps": 50, "start": None, "on_step": None},
    ),
    "information": (fw.information, {"evidence": EITHER, "theta": None, "on_step": None}),
    "information.standard_error": (
        Drawn(lambda case: fw.information(two()).standard_error),
        {"of": "mean", "on_step": None},
    ),
    "information.share": (
        Drawn(lambda case: fw.information(two()).share),
        {"mechanism": "k-rr", "of": None},
    ),
    "intervals": (
        fw.intervals,
        {
            "evidence": EITHER,
            "of": None,
            "level": 0.95,
            "joint": False,
            "start": None,
            "on_step": None,
        },
    ),
    "intervals.table": (
        Drawn(lambda case: fw.intervals(two()).table),
        {"backend": "pyarrow"},
    ),
    "estimate.intervals": (
        Drawn(lambda case: fw.gibu(case.pick(SHOWN)()).intervals),
        {"of": None, "level": 0.95, "joint": False},
    ),
    "estimate.table": (
        Drawn(lambda case: fw.gibu(case.pick(SHOWN)()).table),
        {"intervals": True, "joint": False, "backend": "polars"},
    ),
    "estimate.coarser": (
        Drawn(lambda case: fw.gibu(case.pick(SHOWN)()).coarser),
        {"by": 2, "rows": None},
    ),
    "estimate.coarser of sets": (Drawn(sets), {"members": [1], "others": [2, 3]}),
    "compare": (
        fw.compare,
        {
            "one": EITHER,
            "other": EITHER,
            "of": None,
            "level": 0.95,
            "joint": False,
            "on_step": None,
        },
    ),
    "check_choice": (fw.check_choice, {"evidence": EITHER, "level": 0.95, "start": None}),
    "check_fit": (
        fw.check_fit,
        {"evidence": EITHER, "level": 0.95, "start": None, "aware": None},
    ),
    "explain_misfit": (fw.explain_misfit, {"evidence": EITHER, "level": 0.95, "start": None}),
    "one_step": (fw.one_step, {"evidence": EITHER, "start": None, "on_step": None}),
    "fit": (fw.fit, {"evidence": EITHER, "method": "gibu", "start": None, "on_step": None}),
    "fit.intervals": (
        Drawn(lambda case: fw.fit(two()).intervals),
        {"of": None, "level": 0.95, "joint": False, "on_step": None},
    ),
    "fit.checks": (Drawn(lambda case: fw.fit(two()).checks), {"level": 0.95}),
    "fit.compare": (Drawn(lambda case: fw.fit(two()).compare), {"other": EITHER, "of": None}),
    "fit.plan": (
        Drawn(lambda case: fw.fit(two()).plan),
        {"people": 1000, "target": None, "of": None},
    ),
    "smooth": (
        fw.smooth,
        {"evidence": EITHER, "tol": 1e-6, "max_steps": 50, "on_step": None},
    ),
    "shrink": (
        fw.shrink,
        {"evidence": EITHER, "tol": 1e-6, "max_steps": 50, "on_step": None},
    ),
    "plan": (
        fw.plan,
        {
            "survey": SURVEY,
            "shares": {"k": 0.5, "bits": 0.5},
            "theta": THETA,
            "people": [100],
            "target": 0.5,
            "of": None,
            "show": None,
        },
    ),
    "menu": (
        fw.menu,
        {
            "alphabet": SOME,
            "levels": [1.0, 2.0],
            "promise": "ldp",
            "theta": Drawn(lambda case: case.pick([None, THETA])),
            "of": None,
            "on_step": None,
            "kinds": Drawn(lambda case: case.pick([None, [fw.KRR], "k-rr"])),
        },
    ),
    "compare_mechanisms": (
        fw.compare_mechanisms,
        {"mechanisms": [KRR], "theta": THETA, "people": 50, "runs": 2, "mixture": False},
    ),
    "choice_aware": (
        fw.choice_aware,
        {"evidence": EITHER, "basis": None, "tol": 1e-6, "max_steps": 50, "on_step": None},
    ),
    "choice_aware.intervals": (
        Drawn(lambda case: fw.choice_aware(two()).intervals),
        {"of": "mean", "level": 0.95, "joint": False},
    ),
    "choice_aware.choice_intervals": (
        Drawn(lambda case: fw.choice_aware(two()).choice_intervals),
        {"level": 0.95},
    ),
    "robust": (
        fw.robust,
        {"evidence": EITHER, "tol": 1e-6, "max_steps": 50, "on_step": None},
    ),
    "robust.set_aside_table": (
        Drawn(lambda case: fw.robust(two()).set_aside_table),
        {"backend": "pyarrow"},
    ),
    "functionals.values": (asking(fw.functionals.values), {"some": [1]}),
    "functionals.between": (asking(fw.functionals.between), {"low": 0, "high": 3}),
    "functionals.bins": (asking(fw.functionals.bins), {"width": 2}),
    "functionals.districts": (asking(fw.functionals.districts), {"columns": 2, "rows": None}),
    "functionals.district": (
        asking(fw.functionals.district),
        {"south": 0, "north": 1, "west": 0, "east": 1},
    ),
    "functionals.quantiles": (asking(fw.functionals.quantiles), {"levels": 0.5}),
    "ibu": (fw.ibu, {"evidence": ONE, "tol": None, "delta": None, "max_steps": None}),
    "inversion": (fw.inversion, {"evidence": ONE, "post": "project"}),
    "debias": (
        fw.debias,
        {"evidence": Drawn(lambda case: two().only("rappor")), "post": "project"},
    ),
    "combine_results": (fw.combine_results, {"evidence": KRRS, "estimator": fw.ibu}),
    "combine_mechanisms": (fw.combine_mechanisms, {"evidence": KRRS, "estimator": fw.ibu}),
    "unresolved_directions": (fw.unresolved_directions, {"evidence": EITHER}),
    "audit": (fw.audit, {"mechanism": ANY, "claim": None}),
    "check_mechanism": (fw.check_mechanism, {"mechanism": ANY, "rng": None}),
    "register": (fw.register, {"kind": fw.KRR}),
    "audit, exact": (fw.audit, {"mechanism": ANY, "claim": None, "exact": True}),
    "audit, chosen": (fw.audit, {"mechanism": SURVEY, "choice": [[0.25, 0.75]] * 4}),
    "explain": (fw.explain, {"given": ANY, "choice": None}),
    "explain a survey": (fw.explain, {"given": SURVEY, "choice": "k"}),
    "Guarantee": (fw.Guarantee, {"kind": "ldp", "epsilon": 1.0, "unit": ""}),
    "AdversaryLoss": (
        fw.AdversaryLoss,
        {"adversary_loss": 1.0, "user_loss": 1.0, "entropy": 1.0},
    ),
    "emd": (fw.emd, {**TWO_THETAS, "alphabet": SOME}),
    "kl": (fw.kl, TWO_THETAS),
    "l2": (fw.l2, TWO_THETAS),
    "total_variation": (fw.total_variation, TWO_THETAS),
    "project": (fw.project, {"vector": THETA}),
    "normalise": (fw.normalise, {"vector": THETA}),
    "dot_test": (
        fw.dot_test,
        {
            "operator": Drawn(lambda case: two().operator),
            "rng": Drawn(lambda case: np.random.default_rng(0)),
            "tolerance": 1e-10,
        },
    ),
    "error_without_privacy": (fw.error_without_privacy, {"theta": THETA, "people": 10}),
    "krr_error_bound": (fw.krr_error_bound, BOUND),
    "rappor_error_bound": (fw.rappor_error_bound, BOUND),
    "Survey": (fw.Survey, {"alphabet": LINE, "mechanisms": {"k": KRR}}),
    "Cover": (
        fw.Cover,
        {"menu": {"k": KRR, "l": fw.KRR(LINE, 0.3)}, "epsilon": 1.0, "towards": "any"},
    ),
    "Cover.law": (fw.Cover({"k": KRR, "l": fw.KRR(LINE, 0.3)}).law, {"choice": [0.5, 0.5]}),
    "Survey of a name": (Drawn(named), {"name": "k"}),
    "Survey.load": (fw.Survey.load, {"path": PATH}),
    "Survey.from_spec": (fw.Survey.from_spec, {"spec": SURVEY.spec()}),
    "Shokri.with_law": (
        fw.Shokri(fw.Categorical(["a", "b"]), 0.25).with_law,
        {"law": [[0.75, 0.25], [0.25, 0.75]]},
    ),
    "survey.save": (SURVEY.save, {"path": PATH}),
    "survey.find": (SURVEY.find, {"name": "k"}),
    "verify_log": (fw.verify_log, {"entries": [], "head": ""}),
    "Survey with texts": (Drawn(worded), WORDS),
    "Device": (
        fw.Device,
        {"offered": SURVEY, "memory": MEMORY, "question": "what-is-it", "survey_id": SURVEY.id},
    ),
    "Device.report": (Drawn(reporting), {"value": 1, "choice": "k"}),
    "Device.row": (Drawn(rowing), {"value": 1, "choice": "bits"}),
    "Memory": (fw.Memory, {"path": MEMORY}),
    "Memory.forget": (Drawn(forgetting), {"question": "id what-is-it"}),
    "Budget": (fw.Budget, {"limit": 1.0, "memory": MEMORY}),
    "load_evidence": (
        fw.load_evidence,
        {"path": Drawn(saved), "hold": 10**6},
    ),
    "save_evidence": (
        fw.save_evidence,
        {"evidence": EITHER, "path": Drawn(lambda case: case.folder / "e.parquet")},
    ),
    "read_reports": (
        fw.read_reports,
        {
            "source": Drawn(lambda case: _frame()),
            "survey": SURVEY,
            "engine": "duckdb",
            "strict": False,
            "show": None,
            "hold": 10**6,
        },
    ),
    "write_reports": (
        fw.write_reports,
        {"path": REPORTS, "parts": [("k", [0, 1])], "survey": None},
    ),
    "write_reports of a name": (
        Drawn(written),
        {"path": REPORTS, "name": "k", "survey": None},
    ),
}
"""By name: what is called, and arguments that are right."""


def _frame() -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.table({"mechanism": ["k", "k"], "report": [0, 1]})


def call(case: Case) -> str:
    """Call a public name with one or two arguments replaced by anything."""
    name = case.pick(list(CALLS))
    if name == "read_reports" and case.often(0.7):  # an engine takes long to start
        name = "write_reports"
    called, good = CALLS[name]
    arguments = {key: drawn(case, value) for key, value in good.items()}
    for _ in range(case.pick([1, 1, 2])):
        key = case.pick(list(arguments))
        arguments[key] = _idle(case) if key in _CALLBACKS else anything(case)
    case.tell(name)
    for key, value in arguments.items():
        case.tell(f"    {key} =")
        case.tell(value)
    result = drawn(case, called)(**arguments)
    _check(result)
    return "accepted"


def _idle(case: Case) -> Any:
    """Return something in the place of a function; one that is called does nothing wrong."""
    given = anything(case)
    return (lambda *_, **__: given) if callable(given) or case.often(0.3) else given


def _check(result: Any) -> None:
    """Hold what came out to what it must be."""
    if isinstance(result, fw.Estimate):
        promise(abs(result.theta.sum() - 1) < 1e-9, f"theta sums to {result.theta.sum()}")
        promise(not np.isnan(result.gap), "the gap is NaN")
        str(result)
    if isinstance(result, fw.Shares):
        promise(abs(result.shares.sum() - 1) < 1e-9, f"shares sum to {result.shares.sum()}")
        str(result)
        promise("<table" in result._repr_html_(), "shares have no page")
    if isinstance(result, fw.Evidence):
        promise(result.people >= 0, f"{result.people} people")
        str(result)
    if isinstance(result, float):
        promise(not np.isnan(result), "the result is NaN")
    if isinstance(result, fw.Survey):
        promise(fw.Survey.from_spec(result.spec()) == result, "a survey differs after its spec")
    if hasattr(result, "output_space") and not isinstance(result, type):
        use(result)
