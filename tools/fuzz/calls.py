"""Every public name of the library, called with what it does not take."""

import inspect
from collections.abc import Callable
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


def _either(case: Case) -> fw.Evidence:
    return case.pick([_one(), _two()])


Arguments = Callable[[Case], dict[str, Any]]
CALLS: dict[str, tuple[Callable[[Case], Any], Arguments]] = {}
"""By name: what is called, and arguments that are right."""


def _add(name: str, called: Any, /, **good: Any) -> None:
    """Add a call; an argument that is a function of the case is drawn."""
    CALLS[name] = (
        called if inspect.isfunction(called) and called.__name__ == "<lambda>" else lambda _: called,
        lambda case: {key: value(case) if callable(value) and not isinstance(value, type)
                      and getattr(value, "__name__", "") == "<lambda>" else value
                      for key, value in good.items()},
    )  # fmt: skip


def _names() -> None:
    alphabet, mechanism = (lambda case: case.pick(_ALPHABETS)), (lambda case: case.pick(_MECHANISMS))
    either, path = (lambda case: _either(case)), (lambda case: case.folder / "x.json")
    _add("Linear", fw.Linear, first=0, last=3, step=1)
    _add("Categorical", fw.Categorical, labels=["a", "b"])
    _add("Grid", fw.Grid, columns=2, rows=2, cell=1.0)
    _add("Grid in bounds", fw.Grid, columns=2, rows=2, cell=None, bounds=(0.0, 1.0, 0.0, 1.0))
    _add("Grid.box", fw.Grid.box, south=0.0, north=1.0, west=0.0, east=1.0, columns=2, rows=2)
    for what in ("encode", "encode_inside", "decode"):
        key = "indices" if what == "decode" else "values"
        _add(f"alphabet.{what}", lambda case, what=what: getattr(case.pick(_ALPHABETS), what),
             **{key: [0]})  # fmt: skip
    _add("alphabet_from_spec", fw.alphabet_from_spec, spec=lambda case: case.pick(SPECS)["alphabet"])
    _add("from_spec", fw.from_spec, spec=lambda case: dict(case.pick(SPECS)))
    _add("distances", fw.distances, alphabet=alphabet)
    _add("calibrate", fw.calibrate, kind=fw.KRR, alphabet=_LINE, quality_loss=1.0, prior=None)
    for kind in (fw.KRR, fw.RAPPOR, fw.Geometric):
        _add(kind.__name__, kind, alphabet=_LINE, epsilon=1.0)
    _add("PlanarGeometric", fw.PlanarGeometric, alphabet=_CITY, epsilon=1.0)
    _add("Identity", fw.Identity, alphabet=alphabet)
    _add("Matrix", fw.Matrix, alphabet=_LINE, law=np.eye(4), outputs=None)
    _add("Shokri", fw.Shokri, alphabet=_LINE, quality_loss=0.5, selection="max-entropy", prior=_THETA,
         report_loss=1 - np.eye(4), guess_loss=1 - np.eye(4))  # fmt: skip
    _add("mechanism.obfuscate", lambda case: case.pick(_MECHANISMS).obfuscate, values=[0, 1], rng=None)
    _add("mechanism.report", lambda case: case.pick(_MECHANISMS).report, values=[0, 1], rng=None)
    _add("mechanism.received", lambda case: case.pick(_MECHANISMS).received, reports=[0, 1])
    _add("mechanism.operator", lambda case: case.pick(_MECHANISMS).operator, outputs=np.array([0, 1]))
    _add("mechanism.quality_loss", lambda case: case.pick(_MECHANISMS).quality_loss, prior=_THETA)
    _add("collect", fw.collect, parts=lambda case: _parts(case))
    _add("merge", fw.merge, several=lambda case: [_one(), case.pick([_two(), anything(case)])])
    _add("evidence +", lambda case: _one().__add__, other=either)
    _add("evidence.only", lambda case: lambda name: _two().only(name), name="k-rr")
    _add("gibu", fw.gibu, evidence=either, tol=1e-6, max_steps=50, solver=None, start=None, on_step=None)
    _add("em", fw.em, evidence=either, delta=1e-6, max_steps=50, start=None, on_step=None)
    _add("ibu", fw.ibu, evidence=lambda case: _one(), tol=None, delta=None, max_steps=None)
    _add("inversion", fw.inversion, evidence=lambda case: _one(), post="project")
    _add("debias", fw.debias, evidence=lambda case: _two().only("rappor"), post="project")
    for combine in (fw.combine_results, fw.combine_mechanisms):
        _add(combine.__name__, combine, evidence=lambda case: _two().only("k-rr"), estimator=fw.ibu)
    _add("unresolved_directions", fw.unresolved_directions, evidence=either)
    _add("audit", fw.audit, mechanism=mechanism, claim=None)
    _add("Guarantee", fw.Guarantee, kind="ldp", epsilon=1.0)
    _add("AdversaryLoss", fw.AdversaryLoss, adversary_loss=1.0, user_loss=1.0, entropy=1.0)
    _add("emd", fw.emd, theta=_THETA, other=_THETA, alphabet=alphabet)
    for metric in (fw.kl, fw.l2, fw.total_variation):
        _add(metric.__name__, metric, theta=_THETA, other=_THETA)
    _add("project", fw.project, vector=_THETA)
    _add("normalise", fw.normalise, vector=_THETA)
    _add("dot_test", fw.dot_test, operator=lambda case: _two().operator, rng=np.random.default_rng(0),
         tolerance=1e-10)  # fmt: skip
    _add("error_without_privacy", fw.error_without_privacy, theta=_THETA, people=10)
    for bound in (fw.krr_error_bound, fw.rappor_error_bound):
        _add(bound.__name__, bound, theta=_THETA, epsilons=[1.0, 2.0], people=[3, 4])
    _add("Survey", fw.Survey, alphabet=_LINE, mechanisms={"k": _KRR})
    _add("Survey of a name", lambda case: lambda name: fw.Survey(_LINE, [(name, _KRR)]), name="k")
    _add("Survey.load", fw.Survey.load, path=path)
    _add("Survey.from_spec", fw.Survey.from_spec, spec=_SURVEY.spec())
    _add("survey.save", _SURVEY.save, path=path)
    _add("survey.find", _SURVEY.find, name="k")
    _add("load_evidence", fw.load_evidence, path=lambda case: _saved(case), hold=10**6)
    _add("save_evidence", fw.save_evidence, evidence=either,
         path=lambda case: case.folder / "e.parquet")  # fmt: skip
    _add("read_reports", fw.read_reports, source=lambda case: _frame(), survey=_SURVEY,
         engine="duckdb", strict=False, show=None, hold=10**6)  # fmt: skip
    _add("write_reports", fw.write_reports, parts=[("k", [0, 1])], survey=None,
         path=lambda case: case.folder / f"r.{case.pick(['csv', 'parquet', 'ndjson'])}")  # fmt: skip
    _add("write_reports of a name", lambda case: lambda name, path, survey: fw.write_reports(
        path, [(name, [0, 1])], survey=survey), name="k", survey=None,
        path=lambda case: case.folder / f"r.{case.pick(['csv', 'parquet', 'ndjson'])}")  # fmt: skip


def _parts(case: Case) -> list[Any]:
    part: list[Any] = [_KRR, [0, 1], [2, 3]]
    if case.often(0.8):
        part[case.draw.randrange(3)] = anything(case)
    return [(_KRR, [1]), tuple(part[: case.pick([2, 3, 3, 1])])]


def _saved(case: Case) -> Any:
    path = case.folder / "good.parquet"
    fw.save_evidence(_two(), path)
    return path


def _frame() -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.table({"mechanism": ["k", "k"], "report": [0, 1]})


_names()


def call(case: Case) -> str:
    """Call a public name with one or two arguments replaced by anything."""
    name = case.pick(list(CALLS))
    if name == "read_reports" and case.often(0.7):  # an engine takes long to start
        name = "write_reports"
    called, good = CALLS[name]
    arguments = good(case)
    for _ in range(case.pick([1, 1, 2])):
        key = case.pick(list(arguments))
        arguments[key] = _idle(case) if key in _CALLBACKS else anything(case)
    case.tell(name)
    for key, value in arguments.items():
        case.tell(f"    {key} =")
        case.tell(value)
    result = called(case)(**arguments)
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
