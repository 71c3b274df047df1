"""How many people a survey needs, and how good its answers will be, before anyone has reported."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.presented import Presented
from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, SurveyError, several, shown
from freewill.numeric.solvers.threads import one_blas_thread
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.few import advice_on_plans, enough_people
from freewill.stats.functionals import Weights
from freewill.stats.information import DENSE
from freewill.stats.planning.inputs import (
    checked_people,
    checked_shares,
    checked_target,
    checked_truths,
    checked_weights,
    is_emd,
)
from freewill.stats.planning.needed import (
    MOST_PEOPLE,
    REACH,
    needed_for_emd,
    needed_for_interval,
)
from freewill.stats.planning.predicted import Design, Expected

_SCREENED = 0.1
"""Accuracy with which truths are compared before the worst is planned for."""
BLIND = (
    "However many people report, some distributions cannot be told apart by these mechanisms: "
    "there is no error to expect. Offer one that can, such as k-RR with an epsilon of 1."
)

Show = Callable[[float], None]


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
    """The expected error under each truth that was looked at, roughly; empty where it was given."""
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
    order; equal shares by default. `theta` is the truth to plan for; without one the worst of a few
    (`truths`) is taken. `people` is one number or several, by default 100 to a million. `of` is
    what errors are predicted for: "emd", the earth mover's distance to the truth (with the standard
    errors of every value's share beside it), or what `intervals` takes, such as "shares" and
    "mean". `target` is an earth mover's distance or, where `of` names functionals, half the length
    of the widest 95 % interval among them: the plan says how many people reach it. `show` is called
    with the share of the work that is done.

    Standard errors are sqrt(h'C h / n), with C of `Information`. The distance is that of the
    maximum likelihood estimate to theta, the distribution that people's values come from, averaged
    over surveys (`Design.expected_emd`).

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
    chosen = checked_shares(survey, shares)
    numbers_of_people = checked_people(people)
    if target is not None:
        target = checked_target(target)
    weights = checked_weights(of, survey.alphabet, target)
    parts = tuple((name, one, chosen[name]) for name, one in survey.mechanisms.items())
    share_done = show or (lambda share: None)
    designs = {
        name: Design(survey.alphabet, parts, one)
        for name, one in checked_truths(theta, survey.alphabet).items()
    }
    by_emd = is_emd(of)
    screened: dict[str, FloatArray] = {}
    name = next(iter(designs))
    if len(designs) > 1:
        for number, (one, design) in enumerate(designs.items()):
            screened[one] = _screened(design, weights, numbers_of_people, by_emd)
            share_done(0.3 * (number + 1) / len(designs))
        name = _worst(designs, screened, target if by_emd else None)
    return _plan(
        designs[name],
        name if len(designs) == 1 else f"{name}, the worst of {len(designs)} truths",
        numbers_of_people,
        weights,
        target,
        by_emd,
        screened,
        share_done,
    )


def _plan(
    design: Design,
    truth: str,
    people: IntArray,
    weights: Weights,
    target: float | None,
    by_emd: bool,
    screened: dict[str, FloatArray],
    show: Show,
) -> Plan:
    """Plan for one truth."""
    found: list[Expected] = []
    for number, many in enumerate(people.tolist()):
        found.append(design.expected_emd(many))
        show(0.3 + 0.6 * (number + 1) / len(people))
    variances = design.variances(weights.rows)
    advice = "" if np.isfinite(variances).all() else BLIND
    if design.alphabet.size > DENSE:
        advice = (
            f"The distance of {several(design.alphabet.size, 'value')} needs a matrix of them, and "
            f"is given up to {DENSE:,}."
        )
    needed = None
    if target is not None:
        if by_emd:
            needed = needed_for_emd(design, target)
        else:
            needed = needed_for_interval(variances, target)
        if needed is None and not advice:
            advice = f"{target:g} is out of reach: more than {several(MOST_PEOPLE, 'person')}."
    least = min(int(people.min()), needed or MOST_PEOPLE)
    few = advice_on_plans(enough_people(design.rests_on(weights.rows)), least)
    means, lows, highs, errors, simulated = zip(*found, strict=True)
    return Plan(
        alphabet=design.alphabet,
        shares={name: share for name, _, share in design.parts},
        truth=truth,
        theta=design.theta,
        people=people,
        emd=np.array(means),
        emd_low=np.array(lows),
        emd_high=np.array(highs),
        emd_error=np.array(errors),
        simulated=simulated,
        of=weights.names,
        standard_error=np.sqrt(variances / people[:, None]),
        worth=design.worth(weights.rows),
        cost=design.costs(weights.rows),
        target=target,
        by_emd=by_emd,
        needed=needed,
        screened=screened,
        advice=f"{advice} {few}".strip(),
    )


def _screened(design: Design, weights: Weights, people: IntArray, by_emd: bool) -> FloatArray:
    """Return the expected error for each number of people, roughly."""
    if by_emd:
        several_numbers = [design.expected_emd(n, _SCREENED, simulate=False) for n in people]
        return np.array([expected.mean for expected in several_numbers])
    return np.asarray(np.sqrt(design.variances(weights.rows).max() / people))


def _worst(
    designs: dict[str, Design], screened: dict[str, FloatArray], target: float | None
) -> str:
    """Name the truth that needs most people for the target or, without one, errs most."""

    def size(name: str) -> float:
        if target is not None:
            needed = needed_for_emd(designs[name], target, check=False)
            return np.inf if needed is None else needed
        with np.errstate(divide="ignore"):
            mean = float(np.log(screened[name]).mean())
        return np.inf if math.isnan(mean) else mean

    return max(designs, key=size)
