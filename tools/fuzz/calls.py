"""Every public name of the library, called with what it does not take."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import freewill as fw
from tools.fuzz.case import Case, promise
from tools.fuzz.hostile import anything
from tools.fuzz.surveys import SPECS, use

UNCALLED = {
    "Alphabet": "a protocol", "Mechanism": "a protocol", "Operator": "a protocol",
    "plots": "a module", "reports": "a module", "InvalidReports": "a warning",
    "Status": "an enumeration", "spark_session": "starts a cluster",
    "Audit": "a result", "LossAudit": "a result", "Estimate": "a result", "Step": "a result",
    "Functionals": "a result", "Information": "a result", "Intervals": "a result",
    "Comparison": "a result", "SmoothEstimate": "a result", "ChoiceAwareEstimate": "a result",
    "Evidence": "a result of collect", "Group": "a part of evidence",
    **{name: "an error" for name in dir(fw) if name.endswith("Error")},
}  # fmt: skip
"""Public names that are not called, and why."""
_CALLBACKS = {"estimator", "on_step", "show"}
"""What these raise is the caller's own."""
_LINE = fw.Linear(0, 3)
_MENU = fw.Categorical(["a", "b", "c", "d"])
_CITY = fw.Grid(2, 2, cell=1.0)
_BOX = fw.Grid.box(10.0, 11.0, 20.0, 21.0, columns=2, rows=2)
_ALPHABETS: list[Any] = [_LINE, _MENU, _CITY, _BOX]
_KRR, _BITS = fw.KRR(_LINE, 1.0), fw.RAPPOR(_LINE, 1.0)
_MECHANISMS: list[Any] = [
    _KRR, _BITS, fw.Geometric(_LINE, 0.5), fw.Identity(_MENU), fw.PlanarGeometric(_CITY, 1.0),
    fw.Matrix(_LINE, np.full((4, 2), 0.5)), fw.Shokri(_LINE, 0.5),
]  # fmt: skip
_SURVEY = fw.Survey(_LINE, {"k": _KRR, "bits": _BITS})
_THETA = [0.25] * 4


@cache
def _one() -> fw.Evidence:
    return fw.collect([(_KRR, [0, 1, 1, 3])])


@cache
def _two() -> fw.Evidence:
    bits = _BITS.obfuscate([0, 1, 2], np.random.default_rng(0))
    return fw.collect([(_KRR, [0, 1]), (fw.KRR(_LINE, 2.0), [3]), (_BITS, bits)])


def parts(case: Case) -> list[Any]:
    """Return what `collect` takes, with something wrong in it."""
    part: list[Any] = [_KRR, [0, 1], [2, 3]]
    if case.often(0.8):
        part[case.draw.randrange(3)] = anything(case)
    return [(_KRR, [1]), tuple(part[: case.pick([2, 3, 3, 1])])]


def saved(case: Case) -> Any:
    """Return the path of a good file of evidence."""
    path = case.folder / "good.parquet"
    fw.save_evidence(_two(), path)
    return path


@dataclass(frozen=True)
class Drawn:
    """Something that is drawn for each input."""

    draw: Callable[[Case], Any]


def _value(case: Case, given: Any) -> Any:
    return given.draw(case) if isinstance(given, Drawn) else given


def _own(name: str) -> Drawn:
    """Return a method of some mechanism."""
    return Drawn(lambda case: getattr(case.pick(_MECHANISMS), name))


def _of_alphabet(name: str) -> Drawn:
    return Drawn(lambda case: getattr(case.pick(_ALPHABETS), name))


def _named(case: Case) -> Any:
    """Return a survey's making, by the name of its mechanism alone."""
    return lambda name: fw.Survey(_LINE, [(name, _KRR)])  # type: ignore[arg-type]


def _asking(make: Callable[..., Any]) -> Drawn:
    """Return what makes functionals and asks for their intervals, on a line or on a grid."""

    def ask(**given: Any) -> Any:
        wanted = make(*given.values())
        return [fw.intervals(evidence, wanted) for evidence in (_two(), _spread())]

    return Drawn(lambda case: ask)


@cache
def _spread() -> fw.Evidence:
    return fw.collect([(fw.PlanarGeometric(_CITY, 1.0), [0, 1, 2, 3, 3])])


def _written(case: Case) -> Any:
    return lambda name, path, survey: fw.write_reports(path, [(name, [0, 1])], survey=survey)


_EITHER, _ONE = Drawn(lambda case: case.pick([_one(), _two()])), Drawn(lambda case: _one())
_SOME, _ANY = Drawn(lambda case: case.pick(_ALPHABETS)), Drawn(lambda case: case.pick(_MECHANISMS))
_PATH = Drawn(lambda case: case.folder / "x.json")
_REPORTS = Drawn(lambda case: case.folder / f"r.{case.pick(['csv', 'parquet', 'ndjson'])}")
_KRRS = Drawn(lambda case: _two().only("k-rr"))
_LOSS = 1 - np.eye(4)
_BOUND = {"theta": _THETA, "epsilons": [1.0, 2.0], "people": [3, 4]}
_TWO_THETAS = {"theta": _THETA, "other": _THETA}
_LAWS: dict[str, Any] = {"alphabet": _LINE, "epsilon": 1.0}

CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Linear": (fw.Linear, {"first": 0, "last": 3, "step": 1}),
    "Categorical": (fw.Categorical, {"labels": ["a", "b"]}),
    "Grid": (fw.Grid, {"columns": 2, "rows": 2, "cell": 1.0, "bounds": None}),
    "Grid with bounds": (fw.Grid, {"columns": 2, "rows": 2, "bounds": (0.0, 1.0, 0.0, 1.0)}),
    "Grid.box": (
        fw.Grid.box,
        {"south": 0.0, "north": 1.0, "west": 0.0, "east": 1.0, "columns": 2, "rows": 2},
    ),
    "alphabet.encode": (_of_alphabet("encode"), {"values": [0]}),
    "alphabet.encode_inside": (_of_alphabet("encode_inside"), {"values": [0]}),
    "alphabet.decode": (_of_alphabet("decode"), {"indices": [0]}),
    "alphabet_from_spec": (
        fw.alphabet_from_spec,
        {"spec": Drawn(lambda case: case.pick(SPECS)["alphabet"])},
    ),
    "from_spec": (fw.from_spec, {"spec": Drawn(lambda case: dict(case.pick(SPECS)))}),
    "distances": (fw.distances, {"alphabet": _SOME}),
    "calibrate": (
        fw.calibrate,
        {"kind": fw.KRR, "alphabet": _LINE, "quality_loss": 1.0, "prior": None},
    ),
    "KRR": (fw.KRR, _LAWS),
    "RAPPOR": (fw.RAPPOR, _LAWS),
    "Geometric": (fw.Geometric, _LAWS),
    "PlanarGeometric": (fw.PlanarGeometric, {"alphabet": _CITY, "epsilon": 1.0}),
    "Identity": (fw.Identity, {"alphabet": _SOME}),
    "Matrix": (fw.Matrix, {"alphabet": _LINE, "law": np.eye(4), "outputs": None}),
    "Shokri": (
        fw.Shokri,
        {
            "alphabet": _LINE,
            "quality_loss": 0.5,
            "selection": "max-entropy",
            "prior": _THETA,
            "report_loss": _LOSS,
            "guess_loss": _LOSS,
        },
    ),
    "mechanism.obfuscate": (_own("obfuscate"), {"values": [0, 1], "rng": None}),
    "mechanism.report": (_own("report"), {"values": [0, 1], "rng": None}),
    "mechanism.received": (_own("received"), {"reports": [0, 1]}),
    "mechanism.operator": (_own("operator"), {"outputs": np.array([0, 1])}),
    "mechanism.quality_loss": (_own("quality_loss"), {"prior": _THETA}),
    "collect": (fw.collect, {"parts": Drawn(parts)}),
    "merge": (
        fw.merge,
        {"several": Drawn(lambda case: [_one(), case.pick([_two(), anything(case)])])},
    ),
    "evidence +": (Drawn(lambda case: _one().__add__), {"other": _EITHER}),
    "evidence.only": (Drawn(lambda case: lambda name: _two().only(name)), {"name": "k-rr"}),
    "gibu": (
        fw.gibu,
        {
            "evidence": _EITHER,
            "tol": 1e-6,
            "max_steps": 50,
            "solver": None,
            "start": None,
            "on_step": None,
        },
    ),
    "em": (
        fw.em,
        {"evidence": _EITHER, "delta": 1e-6, "max_steps": 50, "start": None, "on_step": None},
    ),
    "information": (fw.information, {"evidence": _EITHER, "theta": None}),
    "information.standard_error": (
        Drawn(lambda case: fw.information(_two()).standard_error),
        {"of": "mean"},
    ),
    "information.share": (
        Drawn(lambda case: fw.information(_two()).share),
        {"mechanism": "k-rr", "of": None},
    ),
    "intervals": (
        fw.intervals,
        {"evidence": _EITHER, "of": None, "level": 0.95, "joint": False, "start": None},
    ),
    "compare": (
        fw.compare,
        {"one": _EITHER, "other": _EITHER, "of": None, "level": 0.95, "joint": False},
    ),
    "one_step": (fw.one_step, {"evidence": _EITHER, "start": None}),
    "smooth": (
        fw.smooth,
        {"evidence": _EITHER, "tol": 1e-6, "max_steps": 50, "on_step": None},
    ),
    "choice_aware": (
        fw.choice_aware,
        {"evidence": _EITHER, "basis": None, "tol": 1e-6, "max_steps": 50, "on_step": None},
    ),
    "choice_aware.intervals": (
        Drawn(lambda case: fw.choice_aware(_two()).intervals),
        {"of": "mean", "level": 0.95},
    ),
    "choice_aware.choice_intervals": (
        Drawn(lambda case: fw.choice_aware(_two()).choice_intervals),
        {"level": 0.95},
    ),
    "functionals.values": (_asking(fw.functionals.values), {"some": [1]}),
    "functionals.between": (_asking(fw.functionals.between), {"low": 0, "high": 3}),
    "functionals.bins": (_asking(fw.functionals.bins), {"width": 2}),
    "functionals.districts": (_asking(fw.functionals.districts), {"columns": 2, "rows": None}),
    "functionals.district": (
        _asking(fw.functionals.district),
        {"south": 0, "north": 1, "west": 0, "east": 1},
    ),
    "functionals.quantiles": (_asking(fw.functionals.quantiles), {"levels": 0.5}),
    "ibu": (fw.ibu, {"evidence": _ONE, "tol": None, "delta": None, "max_steps": None}),
    "inversion": (fw.inversion, {"evidence": _ONE, "post": "project"}),
    "debias": (
        fw.debias,
        {"evidence": Drawn(lambda case: _two().only("rappor")), "post": "project"},
    ),
    "combine_results": (fw.combine_results, {"evidence": _KRRS, "estimator": fw.ibu}),
    "combine_mechanisms": (fw.combine_mechanisms, {"evidence": _KRRS, "estimator": fw.ibu}),
    "unresolved_directions": (fw.unresolved_directions, {"evidence": _EITHER}),
    "audit": (fw.audit, {"mechanism": _ANY, "claim": None}),
    "Guarantee": (fw.Guarantee, {"kind": "ldp", "epsilon": 1.0}),
    "AdversaryLoss": (
        fw.AdversaryLoss,
        {"adversary_loss": 1.0, "user_loss": 1.0, "entropy": 1.0},
    ),
    "emd": (fw.emd, {**_TWO_THETAS, "alphabet": _SOME}),
    "kl": (fw.kl, _TWO_THETAS),
    "l2": (fw.l2, _TWO_THETAS),
    "total_variation": (fw.total_variation, _TWO_THETAS),
    "project": (fw.project, {"vector": _THETA}),
    "normalise": (fw.normalise, {"vector": _THETA}),
    "dot_test": (
        fw.dot_test,
        {
            "operator": Drawn(lambda case: _two().operator),
            "rng": Drawn(lambda case: np.random.default_rng(0)),
            "tolerance": 1e-10,
        },
    ),
    "error_without_privacy": (fw.error_without_privacy, {"theta": _THETA, "people": 10}),
    "krr_error_bound": (fw.krr_error_bound, _BOUND),
    "rappor_error_bound": (fw.rappor_error_bound, _BOUND),
    "Survey": (fw.Survey, {"alphabet": _LINE, "mechanisms": {"k": _KRR}}),
    "Survey of a name": (Drawn(_named), {"name": "k"}),
    "Survey.load": (fw.Survey.load, {"path": _PATH}),
    "Survey.from_spec": (fw.Survey.from_spec, {"spec": _SURVEY.spec()}),
    "survey.save": (_SURVEY.save, {"path": _PATH}),
    "survey.find": (_SURVEY.find, {"name": "k"}),
    "load_evidence": (
        fw.load_evidence,
        {"path": Drawn(saved), "hold": 10**6},
    ),
    "save_evidence": (
        fw.save_evidence,
        {"evidence": _EITHER, "path": Drawn(lambda case: case.folder / "e.parquet")},
    ),
    "read_reports": (
        fw.read_reports,
        {
            "source": Drawn(lambda case: _frame()),
            "survey": _SURVEY,
            "engine": "duckdb",
            "strict": False,
            "show": None,
            "hold": 10**6,
        },
    ),
    "write_reports": (
        fw.write_reports,
        {"path": _REPORTS, "parts": [("k", [0, 1])], "survey": None},
    ),
    "write_reports of a name": (
        Drawn(_written),
        {"path": _REPORTS, "name": "k", "survey": None},
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
    arguments = {key: _value(case, value) for key, value in good.items()}
    for _ in range(case.pick([1, 1, 2])):
        key = case.pick(list(arguments))
        arguments[key] = _idle(case) if key in _CALLBACKS else anything(case)
    case.tell(name)
    for key, value in arguments.items():
        case.tell(f"    {key} =")
        case.tell(value)
    result = _value(case, called)(**arguments)
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
    if isinstance(result, fw.Evidence):
        promise(result.people >= 0, f"{result.people} people")
        str(result)
    if isinstance(result, float):
        promise(not np.isnan(result), "the result is NaN")
    if isinstance(result, fw.Survey):
        promise(fw.Survey.from_spec(result.spec()) == result, "a survey differs after its spec")
    if hasattr(result, "output_space") and not isinstance(result, type):
        use(result)
