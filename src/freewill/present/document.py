"""Results as JSON, one shape for each wherever it is written (docs/json.md).

`results.schema.json` beside this file is the JSON Schema of all of them.
"""

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from freewill.core.presented import portable
from freewill.domain.alphabets.groups import Groups, Values, merged_weights
from freewill.domain.guarantees.audit import LossAudit
from freewill.domain.guarantees.epsilon import Audit, PairAudit
from freewill.domain.guarantees.exact import ExactAudit
from freewill.domain.leakage import Leakage
from freewill.domain.mechanisms.base import brief
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, shown
from freewill.present.cross_table import CrossTable
from freewill.present.distribution import Distribution
from freewill.present.shares import Shares, difference_columns, label_columns
from freewill.present.trends import sentence
from freewill.present.words import WHAT_TO_DO, mechanism_names
from freewill.stats.choice.aware import ChoiceAwareEstimate
from freewill.stats.choice.check import ChoiceCheck
from freewill.stats.choice.sensitivity import Sensitivity
from freewill.stats.compare import Comparison
from freewill.stats.consistent import ConsistentTables
from freewill.stats.estimators.estimate import Estimate, in_words
from freewill.stats.evidence import Evidence
from freewill.stats.fit import Checks, Fit, Verdict, tested
from freewill.stats.independence import Independence
from freewill.stats.intervals import Intervals
from freewill.stats.laws.check import FitCheck
from freewill.stats.misfit import Misfit
from freewill.stats.planning.mechanisms import MechanismComparison
from freewill.stats.planning.plan import Plan
from freewill.stats.robust import RobustEstimate
from freewill.stats.shrink import ShrunkEstimate
from freewill.stats.smooth import SmoothEstimate
from freewill.stats.trend import COLUMNS, Trend

VERSION = 1
"""Of all shapes: a field that goes, or changes its meaning, makes a new one."""


def to_dict(result: Any, **options: Any) -> dict[str, Any]:
    """Return a result as JSON has it: `schema` and `version` first, then what it holds.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> document = fw.gibu(fw.collect([(coin, [0, 1], [600, 400])])).to_dict()
    >>> document["schema"], document["values"], document["status"]
    ('freewill/estimate', ['yes', 'no'], 'certified')
    """
    made: dict[str, Any] = portable(_content(result, **options))
    return made


def _document(kind: str, /, **content: Any) -> dict[str, Any]:
    return {"schema": f"freewill/{kind}", "version": VERSION, **content}


def _fields(result: Any, names: str) -> dict[str, Any]:
    """Return fields of a result by their names, which stand between blanks."""
    return {name: getattr(result, name) for name in names.split()}


@singledispatch
def _content(result: Any, **_: Any) -> dict[str, Any]:
    raise ParameterError(f"{shown(result)} has no JSON: expected a result, such as an estimate.")


@_content.register
def _(shares: Shares, **options: Any) -> dict[str, Any]:
    return _content(shares.estimate, groups=shares.groups, **options)


@_content.register
def _(fit: Fit, **options: Any) -> dict[str, Any]:
    """Describe an estimate with its intervals and checks."""
    parts = {"intervals": fit.intervals(), "checks": fit.checks(), **options}
    return _content(fit.estimate, **parts)


@_content.register
def _(
    estimate: Estimate,
    *,
    groups: Groups | None = None,
    intervals: Intervals | None = None,
    checks: Mapping[str, Verdict] | None = None,
) -> dict[str, Any]:
    alphabet, evidence = estimate.alphabet, estimate.evidence
    names = "method solver status gap certificate log_likelihood steps advice unresolved"
    confounded = in_words(estimate.confounded, alphabet) if estimate.confounded else ""
    groups_in = evidence.groups if evidence else ()
    merged = {}
    if groups is not None and not isinstance(groups, Values):
        shares = merged_weights(groups, estimate.theta)
        merged = {"bins": _rows(label_columns(groups)), "shares": shares}
    return _document(
        "estimate",
        alphabet=alphabet.spec(),
        people=estimate.people,
        mechanisms={group.name or group.mechanism.id: group.people for group in groups_in},
        **_fields(estimate, names),
        confounded=confounded,
        values=values_of(Values(alphabet)),
        theta=estimate.theta,
        **merged,
        intervals=None if intervals is None else intervals_content(intervals),
        checks=None if checks is None else checks_content(checks),
        **_beyond(estimate, intervals),
    )


def values_of(groups: Groups) -> list[Any]:
    """Return what each group is: a value, or its coordinates."""
    cells = groups.cells(np.arange(groups.count))
    return [cell[0] if len(cell) == 1 else list(cell) for cell in cells]


def _rows(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return columns as rows, each by the names of the columns."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _beyond(estimate: Estimate, intervals: Intervals | None) -> dict[str, Any]:
    """Describe what only some estimates have: a choice law, reports set aside, a width."""
    if isinstance(estimate, ChoiceAwareEstimate):
        return {"choice": _choice_content(estimate, None if intervals is None else intervals.level)}
    if isinstance(estimate, RobustEstimate):
        rows = estimate.set_aside_table().to_pylist()
        return {"forged": estimate.forged, "set_aside": rows, "doubt": estimate.doubt}
    if isinstance(estimate, SmoothEstimate):
        return _fields(estimate, "width")
    return _fields(estimate, "strength df") if isinstance(estimate, ShrunkEstimate) else {}


def _choice_content(estimate: ChoiceAwareEstimate, level: float | None) -> dict[str, Any]:
    """Describe a choice law, with a level its intervals too; lists have one number a value."""
    columns = {"choice": estimate.choice}
    if level is not None:
        columns["low"], columns["high"] = estimate.choice_intervals(level)
    mechanisms = [
        {"name": name, **{what: matrix[:, place] for what, matrix in columns.items()}}
        for place, name in enumerate(mechanism_names(estimate))
    ]
    law = _fields(estimate, "basis criterion likelihood_ratio blind")
    if level is not None:
        law["intervals_hold_for"] = estimate.choice_class
    return {"free": estimate.is_free, **law, "mechanisms": mechanisms}


def intervals_content(intervals: Intervals) -> dict[str, Any]:
    """Describe intervals, in the order of what they are of."""
    settings = _fields(intervals, "level joint critical advice")
    effective = np.atleast_1d(intervals.effective_people)
    return {**settings, **intervals.columns(), "effective_people": effective}


@_content.register
def _(intervals: Intervals) -> dict[str, Any]:
    head = {"alphabet": intervals.alphabet.spec(), **_fields(intervals, "people of")}
    return _document("intervals", **head, **intervals_content(intervals))


def checks_content(verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """Describe verdicts by the names of what should hold, and say what to do where it does not."""
    return {
        name.replace(" ", "_"): {
            "holds": verdict.holds,
            "verdict": verdict.text,
            "advice": WHAT_TO_DO.get(name, "") if verdict.holds is False else "",
            **verdict.details,
        }
        for name, verdict in verdicts.items()
    }


@_content.register
def _(checks: Checks) -> dict[str, Any]:
    every = checks_content(checks)
    return _document("checks", holds=checks.hold, level=checks.level, checks=every)


@_content.register
def _(hidden: Sensitivity) -> dict[str, Any]:
    content = _fields(hidden, "people level standard_error mechanism direction")
    return _document("sensitivity", **{**content, **hidden.details})


@_content.register
def _(check: ChoiceCheck | FitCheck) -> dict[str, Any]:
    name = "free choice" if isinstance(check, ChoiceCheck) else "laws"
    return _content(Checks({name: tested(check)}, check.level))


@_content.register
def _(misfit: Misfit) -> dict[str, Any]:
    rows = [
        {**_fields(one, "kind gain text"), "plausible": one in misfit.plausible}
        for one in misfit.explanations
    ]
    content = _fields(misfit, "holds level verdict left_out")
    return _document("misfit", **content, explanations=rows)


@_content.register
def _(
    comparison: Comparison,
    *,
    groups: Groups | None = None,
    of: str = "shares",
    sources: tuple[str, str] = ("one", "other"),
) -> dict[str, Any]:
    """Describe a comparison of the shares of groups, or of something else: `of` names it."""
    if groups is None and comparison.shares and len(comparison) == comparison.alphabet.size:
        groups = Values(comparison.alphabet)
    ends = {"point": comparison.emd, "low": comparison.emd_low, "high": comparison.emd_high}
    return _document(
        "comparison",
        alphabet=comparison.alphabet.spec(),
        **_fields(comparison, "differ p_value verdict level joint people advice"),
        distance={"name": comparison.distance, "unit": comparison.unit, **ends},
        sources=list(sources),
        of=of,
        differences=_rows(difference_columns(comparison, groups)),
    )


@_content.register
def _(trend: Trend) -> dict[str, Any]:
    """Describe a trend: its periods, and a column of numbers for each functional."""
    periods = [
        {
            "name": span.name,
            "start": span.start and str(span.start),
            "end": span.end and str(span.end),
            "people": span.evidence.people,
            "time": time,
        }
        for span, time in zip(trend.spans, trend.times.tolist(), strict=True)
    ]
    shape = len(trend), len(trend.of)
    columns = {name: np.reshape(getattr(trend, name), shape) for name in COLUMNS}
    tests = _fields(trend, "p_constant p_slope slope slope_low slope_high")
    functionals = [
        {
            "of": name,
            "verdict": sentence(trend, place),
            **{test: np.atleast_1d(numbers)[place] for test, numbers in tests.items()},
            **{column: numbers[:, place] for column, numbers in columns.items()},
        }
        for place, name in enumerate(trend.of)
    ]
    return _document(
        "trend",
        alphabet=trend.alphabet.spec(),
        **_fields(trend, "changes p_value verdict level joint shares unit advice"),
        periods=periods,
        functionals=functionals,
    )


@_content.register
def _(part: Distribution, *, intervals: Intervals | None = None) -> dict[str, Any]:
    return _document(
        "distribution",
        alphabet=part.alphabet.spec(),
        attributes=part.names,
        given=part.given,
        **_fields(part.estimate, "method status gap certificate"),
        **_fields(part, "people share theta"),
        values=values_of(Values(part.alphabet)),
        intervals=None if intervals is None else intervals_content(intervals),
    )


@_content.register
def _(table: CrossTable) -> dict[str, Any]:
    names = "attributes title people rows columns shares level joint low high advice"
    return _document("cross_table", **_fields(table, names))


@_content.register
def _(agreed: ConsistentTables) -> dict[str, Any]:
    tables = [{"attributes": own, "shares": shares} for own, shares in agreed.tables.items()]
    content = _fields(agreed, "disagreement residual moved change gap")
    return _document("consistent", tables=tables, **content)


@_content.register
def _(test: Independence) -> dict[str, Any]:
    names = "attributes holds p_value verdict level people directions"
    return _document("independence", **_fields(test, names))


@_content.register
def _(plan: Plan) -> dict[str, Any]:
    columns = "people emd emd_low emd_high emd_error simulated standard_error"
    mechanisms = {
        name: {"share": share, "worth": plan.worth[name], "cost": plan.cost[name]}
        for name, share in plan.shares.items()
    }
    return _document(
        "plan",
        alphabet=plan.alphabet.spec(),
        **_fields(plan, "truth theta of target needed advice"),
        target_of="emd" if plan.by_emd else "half_width",
        mechanisms=mechanisms,
        expected=_rows(_fields(plan, columns)),
    )


@_content.register
def _(comparison: MechanismComparison) -> dict[str, Any]:
    content = _fields(comparison, "truth people runs")
    alphabet, rows = comparison.alphabet.spec(), _rows(comparison.columns)
    return _document("mechanisms", alphabet=alphabet, **content, mechanisms=rows)


@_content.register
def _(audit: Audit | LossAudit | ExactAudit | PairAudit | Leakage) -> dict[str, Any]:
    kinds: dict[type, str] = {PairAudit: "pairs", Leakage: "leakage"}
    return _document(kinds.get(type(audit), "audit"), **audit.describe())


@_content.register
def _(evidence: Evidence) -> dict[str, Any]:
    mechanisms = [
        {
            "name": group.name or group.mechanism.id,
            "mechanism": brief(group.mechanism),
            "people": group.people,
            "outputs": group.rows,
            "promise": group.mechanism.guarantee().describe(),
        }
        for group in evidence.groups
    ]
    periods = [
        {"start": str(one.start), "end": one.end and str(one.end), "people": one.evidence.people}
        for one in evidence.periods
    ]
    more = {"periods": periods} if periods else {}
    head = {"alphabet": evidence.alphabet.spec(), "people": evidence.people}
    return _document("evidence", **head, mechanisms=mechanisms, **more)


@_content.register
def _(survey: Survey) -> dict[str, Any]:
    return survey.spec()
