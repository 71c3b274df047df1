"""How many people a survey needs, and how good its answers will be, before anyone has reported."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.presented import Presented
from freewill.core.types import FloatArray, IntArray, numbers
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.asked import JOINED
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import ParameterError, SurveyError, closest, several, shown
from freewill.numeric.solvers.likelihood import one_blas_thread
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.functionals import Weights
from freewill.stats.information import DENSE, FEW
from freewill.stats.planning.design import MOST_PEOPLE, REACH, SIZES, Design, needed_for_interval
from freewill.stats.planning.truths import checked_truths, checked_weights, is_emd

_USUAL = tuple(size for size in SIZES if 100 <= size <= 10**6)
_SCREENED = 0.2
"""Accuracy with which truths are compared before the worst is planned for."""
BLIND = (
    "However many people report, some distributions cannot be told apart by these mechanisms: "
    "there is no error to expect. Offer one that can, such as k-RR with an epsilon of 1."
)

Show = Callable[[float], None]
_MOST = 1_024
"""Combinations of mechanisms that are planned for."""


@dataclass(frozen=True, eq=False)
class Plan(Presented):
    """What a survey will tell, for each number of people.

    `emd` is the expected earth mover's distance of the most likely distribution to the truth, with
    `emd_low` and `emd_high` around it in 90 % of surveys, and `emd_error`, the standard error of
    the prediction itself. `standard_error` is that of each functional, [people, functional], every
    value's share unless others were asked for. One more person of a mechanism is worth `worth`
    average people; if all chose it, the survey would need `cost` times the people that one without
    privacy needs. `needed` is the number of people for the target, None where none was given or no
    number is enough, which `advice` then says; it also says where errors rest on too few people.

    >>> import freewill as fw
    >>> coin = fw.Categorical(["yes", "no"])
    >>> survey = fw.Survey(coin, {"coin": fw.KRR(coin, 1.0)})
    >>> plan = fw.plan(survey, theta=[0.5, 0.5], people=[1_000, 4_000], of="shares", target=0.05)
    >>> plan.needed, plan.standard_error.round(4).tolist()
    (1799, [[0.0342, 0.0342], [0.0171, 0.0171]])
    """

    alphabet: Alphabet
    shares: dict[str, float]
    truth: str
    theta: FloatArray = field(repr=False)
    people: IntArray
    emd: FloatArray
    emd_low: FloatArray = field(repr=False)
    emd_high: FloatArray = field(repr=False)
    emd_error: FloatArray = field(repr=False)
    simulated: tuple[bool, ...] = field(repr=False)
    of: tuple[str, ...] = field(repr=False)
    standard_error: FloatArray = field(repr=False)
    worth: dict[str, float]
    cost: dict[str, float]
    target: float | None = None
    by_emd: bool = True
    """Whether the target is an earth mover's distance, and not half of an interval."""
    needed: int | None = None
    screened: dict[str, FloatArray] = field(default_factory=dict, repr=False)
    """The expected error under each truth compared, to some 20 %; empty where theta was given."""
    advice: str = ""

    @property
    def typical_error(self) -> FloatArray:
        """The median standard error of the functionals, for each number of people."""
        return np.asarray(np.median(self.standard_error, axis=1))

    @property
    def largest_error(self) -> FloatArray:
        """The largest standard error of the functionals, for each number of people."""
        return np.asarray(self.standard_error.max(axis=1))

    @property
    def half_width(self) -> FloatArray:
        """Half the length of the widest 95 % interval, for each number of people."""
        return np.asarray(REACH * self.largest_error)

    @property
    def goal(self) -> str:
        """The target in words."""
        if self.by_emd:
            return f"an EMD of {self.target:g}"
        widest = "" if len(self.of) == 1 else ", the widest"
        return f"95 % intervals of {self.target:g} to either side{widest}"

    def __str__(self) -> str:
        offered = ", ".join(f"{name} {100 * share:.3g} %" for name, share in self.shares.items())
        lines = [f"{self.alphabet}: {offered}", f"truth: {self.truth}", *self._rows()]
        lines += ["", "one more person of a mechanism, in average people; and if all chose it,"]
        lines += ["how many times the people that a survey without privacy needs"]
        longest = max(map(len, self.worth))
        for name, worth in self.worth.items():
            lines.append(f"  {name:<{longest}}  {worth:8.3g}  {self.cost[name]:10.4g}")
        if self.needed is not None:
            lines += ["", f"for {self.goal}: {several(self.needed, 'person')}"]
        return "\n".join([*lines, *([self.advice] if self.advice else [])])

    def _rows(self) -> list[str]:
        single = len(self.of) == 1
        what = f"standard error of {self.of[0]}" if single else "standard error, median and largest"
        rows = [f"{'people':>15}  {'EMD':>9}  {'in 90 % of surveys':>21}  {what}"]
        for place, people in enumerate(self.people.tolist()):
            among = f"{self.emd_low[place]:.4g} to {self.emd_high[place]:.4g}"
            errors = f"{self.typical_error[place]:.4g}"
            errors += "" if single else f"  {self.largest_error[place]:.4g}"
            if np.isnan(self.emd[place]):
                rows.append(f"{people:>15,}  {'-':>9}  {'-':>21}  {errors}")
            else:
                rows.append(f"{people:>15,}  {self.emd[place]:9.4g}  {among:>21}  {errors}")
        return rows


@one_blas_thread
def plan(
    survey: Survey,
    shares: Any = None,
    theta: ArrayLike | Estimate | None = None,
    people: Any = None,
    target: float | None = None,
    of: Any = "emd",
    show: Show | None = None,
) -> Plan:
    """Predict how far from the truth a survey will be, for numbers of people.

    `shares` says how many of the people choose each mechanism: by name, or a list in the survey's
    order; equal shares by default. Where the survey has a cover, what they use follows from that
    (`fw.Cover`), and the plan's `shares` are of that. Of several questions they are by question,
    and then by name (`planning/plan.py`). `theta` is the truth to plan for; without one the
    worst of a few (`truths`) is taken. `people` is one number or several, by default 100 to a
    million. `of` is
    what errors are predicted for: "emd", the earth mover's distance to the truth (with the standard
    errors of every value's share beside it), or what `intervals` takes, such as "shares" and
    "mean"; of records also the name of an attribute, or of several for the cells of their table.
    `target` is an earth mover's distance or, where `of` names functionals, half the length
    of the widest 95 % interval among them: the plan says how many people reach it. `show` is called
    with the share of the work that is done.

    Standard errors are sqrt(h'C h / n), with C of `Information`. The distance is that of the
    maximum likelihood estimate to theta, the distribution that people's values come from, averaged
    over surveys (`Design.expected_emd`).

    O(k^3) for functionals; for the distance some hundred simulated surveys and their estimates.

    >>> import freewill as fw
    >>> coin = fw.Categorical(["yes", "no"])
    >>> survey = fw.Survey(coin, {"k": fw.KRR(coin, 1.0), "open": fw.Identity(coin)})
    >>> found = fw.plan(survey, {"k": 1.0}, theta=[0.5, 0.5], people=10_000, of=[1, 0], target=0.01)
    >>> print(round(float(found.standard_error[0, 0]), 5), f"{found.needed:,}")
    0.01082 44,971
    >>> {name: round(worth, 2) for name, worth in found.worth.items()}
    {'k': 1.0, 'open': 4.68}
    """
    if not isinstance(survey, Survey):
        raise SurveyError(f"survey={shown(survey)}: expected a Survey, such as Survey.load reads.")
    if show is not None and not callable(show):
        raise ParameterError(f"show={shown(show)}: expected a function that takes a share, 0 to 1.")
    survey, shares = combined(survey, shares)
    chosen, many = checked_shares(survey, shares), checked_people(people)
    target = None if target is None else checked_target(target)
    weights, by_emd = checked_weights(of, survey.alphabet, target), is_emd(of)
    parts = tuple((name, one, chosen[name]) for name, one in survey.mechanisms.items())
    designs = {
        name: Design(survey.alphabet, parts, truth)
        for name, truth in checked_truths(theta, survey.alphabet).items()
    }
    done = show or (lambda share: None)
    truth, screened = _worst(designs, weights, many, target, by_emd, done)
    design = designs[truth]
    expected = []
    for number in many.tolist():
        expected.append(design.expected_emd(number))
        done(0.3 + 0.6 * len(expected) / len(many))
    variances = design.variances(weights.rows)
    needed = None
    if target is not None and by_emd:
        needed = design.needed_for_emd(target)
    elif target is not None:
        needed = needed_for_interval(variances, target)
    means, lows, highs, errors, simulated = zip(*expected, strict=True)
    return Plan(
        alphabet=survey.alphabet,
        shares=chosen,
        truth=f"{truth}, the worst of {len(designs)} truths" if screened else truth,
        theta=design.theta,
        people=many,
        emd=np.array(means),
        emd_low=np.array(lows),
        emd_high=np.array(highs),
        emd_error=np.array(errors),
        simulated=simulated,
        of=weights.names,
        standard_error=np.sqrt(variances / many[:, None]),
        worth=design.worth(weights.rows),
        cost=design.costs(weights.rows),
        target=target,
        by_emd=by_emd,
        needed=needed,
        screened=screened,
        advice=_advice(design, weights, variances, many, target, needed),
    )


def _worst(
    designs: dict[str, Design],
    weights: Weights,
    people: IntArray,
    target: float | None,
    by_emd: bool,
    done: Show,
) -> tuple[str, dict[str, FloatArray]]:
    """Name the truth that needs most people for the target or, without one, errs most.

    With the expected error under each for each number of people, roughly, where there are several.
    """
    screened: dict[str, FloatArray] = {}
    if len(designs) == 1:
        return next(iter(designs)), screened
    for name, design in designs.items():
        if by_emd:
            means = [design.expected_emd(many, _SCREENED).mean for many in people.tolist()]
            screened[name] = np.array(means)
        else:
            screened[name] = np.sqrt(design.variances(weights.rows).max() / people)
        done(0.3 * len(screened) / len(designs))

    def size(name: str) -> float:
        if target is not None and by_emd:
            needed = designs[name].needed_for_emd(target, _SCREENED)
            return np.inf if needed is None else needed
        with np.errstate(divide="ignore"):
            mean = float(np.log(screened[name]).mean())
        return np.inf if math.isnan(mean) else mean

    return max(designs, key=size), screened


def _advice(
    design: Design,
    weights: Weights,
    variances: FloatArray,
    people: IntArray,
    target: float | None,
    needed: int | None,
) -> str:
    """Say what cannot be planned for, and where errors rest on too few people."""
    advice = "" if np.isfinite(variances).all() else BLIND
    if design.alphabet.size > DENSE:
        advice = (
            f"The distance of {several(design.alphabet.size, 'value')} needs a matrix of them, and "
            f"is given up to {DENSE:,}."
        )
    if target is not None and needed is None and not advice:
        advice = f"{target:g} is out of reach: more than {several(MOST_PEOPLE, 'person')}."
    least = min(int(people.min()), needed or MOST_PEOPLE)
    few = advice_on_few(design.enough_people(weights.rows), least)
    return f"{advice} {few}".strip()


def advice_on_few(enough: int, people: int) -> str:
    """Say that errors planned for so many people, to first order, are too small; or nothing."""
    if people >= enough:
        return ""
    return (
        f"Below some {float(f'{enough:.2g}'):,.0f} people, standard errors and whatever is not "
        f"simulated rest on fewer than {FEW} of them, those with the most accurate mechanisms: "
        f"errors will be larger, and intervals hold the truth less often than they say."
    )


def checked_shares(survey: Survey, shares: Any) -> dict[str, float]:
    """Return the share of people of each mechanism, by its name.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 9)
    >>> survey = fw.Survey(line, {"careful": fw.KRR(line, 1.0), "open": fw.Identity(line)})
    >>> checked_shares(survey, {"carefull": 1.0})
    Traceback (most recent call last):
    freewill.errors.ParameterError: shares: no mechanism 'carefull' in the survey. Did you mean
    'careful'? There are 'careful', 'open'.
    """
    names = list(survey.mechanisms)
    if shares is None:
        return _announced(survey, dict.fromkeys(names, 1 / len(names)))
    if isinstance(shares, Mapping):
        given = _by_name(survey, shares)
    else:
        wanted = f"a share for each of {several(len(names), 'mechanism')}, by name or in order"
        values = numbers(shares, "shares", wanted)
        if values.shape != (len(names),):
            raise ParameterError(f"shares={shown(shares)}: expected {wanted}.")
        given = dict(enumerate(values.tolist()))
    for name, share in given.items():
        number = numbers(share, f"shares[{name!r}]", "a share, 0 to 1")
        if number.ndim or not 0 <= number < np.inf:
            raise ParameterError(f"shares[{name!r}] is {shown(share)}: expected a share, 0 to 1.")
        given[name] = float(number)
    total = sum(given.values())
    if abs(total - 1) > 1e-9:
        raise ParameterError(f"shares sum to {total:.10g}: expected 1. Divide them by their sum.")
    each = [given.get(name, given.get(number, 0.0)) / total for number, name in enumerate(names)]
    return _announced(survey, dict(zip(names, each, strict=True)))


def _announced(survey: Survey, chosen: dict[str, float]) -> dict[str, float]:
    """Return the shares of what is used, which a cover draws from what is chosen."""
    if survey.cover is None:
        return chosen
    return dict(zip(chosen, survey.cover.announced([*chosen.values()]).tolist(), strict=True))


def _by_name(survey: Survey, shares: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return shares that are given by names or ids, by the names of the survey."""
    names, given = list(survey.mechanisms), dict[Any, Any]()
    for name, share in shares.items():
        if not isinstance(name, str) or name not in survey.names:
            some = ", ".join(map(shown, names[:8])) + (", ..." if len(names) > 8 else "")
            raise ParameterError(
                f"shares: no mechanism {shown(name)} in the survey.{closest(name, names)} "
                f"There are {some}."
            )
        if survey.names[name] in given:
            raise ParameterError(f"shares: {shown(name)} is named twice, by name and by id.")
        given[survey.names[name]] = share
    return given


def checked_people(people: Any) -> IntArray:
    """Return numbers of people: integers of at least 2.

    >>> checked_people(1e4)
    array([10000])
    """
    if people is None:
        return np.array(_USUAL)
    wanted = f"one integer or several, from 2 to {MOST_PEOPLE:.0e}"
    sizes = np.atleast_1d(numbers(people, "people", wanted))
    good = (sizes >= 2) & (sizes <= MOST_PEOPLE) & (np.floor(sizes) == sizes)
    if sizes.ndim != 1 or not sizes.size or not good.all():
        raise ParameterError(f"people={shown(people)}: expected {wanted}.")
    return sizes.astype(np.int64)


def checked_target(target: Any) -> float:
    """Return a target: a number > 0."""
    number = numbers(target, "target", "a number > 0")
    if number.ndim or not 0 < number < np.inf:
        raise ParameterError(f"target={shown(target)}: expected a number > 0 and finite.")
    return float(number)


def combined(survey: Survey, shares: Any) -> tuple[Survey, Any]:
    """Return a survey of all combinations that people may choose, and the share of each.

    `shares` are those of each question by its name, as a survey of that question alone takes them;
    equal ones where they are left out. People choose for each question by itself. A survey of one
    question, or of mechanisms on records, is itself.

    >>> import freewill as fw
    >>> votes = fw.Categorical(["yes", "no"])
    >>> ask = fw.Survey(votes, {"a": fw.KRR(votes, 1.0), "b": fw.KRR(votes, 3.0)})
    >>> both = fw.Questionnaire({"vote": ask, "member": ask})
    >>> plan = fw.plan(both, {"vote": {"a": 1.0}}, people=1000, of="member")
    >>> plan.shares
    {'a + a': 0.5, 'a + b': 0.5}
    """
    if not isinstance(survey, Questionnaire):
        return survey, shares
    given = {} if shares is None else shares
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"shares={shown(shares)}: expected the shares of each question by its name, as "
            f"{{{next(iter(survey.questions))!r}: {{...}}}}."
        )
    for name in given:
        if name not in survey.questions:
            raise ParameterError(
                f"shares: no question {shown(name)} in the survey.{closest(name, survey.questions)}"
            )
    each = {
        question: {
            name: share
            for name, share in checked_shares(own, given.get(question)).items()
            if share > 0
        }
        for question, own in survey.questions.items()
    }
    many = math.prod(len(some) for some in each.values())
    if many > _MOST:
        raise ParameterError(
            f"a plan of {several(many, 'combination')} of mechanisms: at most {_MOST:,}. Plan for "
            f"two questions at a time, or for fewer mechanisms of each."
        )
    mechanisms, parts = {}, {}
    for chosen in product(*each.values()):
        name = JOINED.join(chosen)
        own = dict(zip(each, chosen, strict=True))
        mechanisms[name] = survey.chosen(own)
        parts[name] = math.prod(each[question][one] for question, one in own.items())
    return Survey(survey.alphabet, mechanisms), parts
