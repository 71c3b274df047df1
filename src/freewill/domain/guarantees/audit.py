"""The audit: hold a mechanism to its promise, and say where the promise is empty in human terms.

A law may keep its promise to the last digit and hide nothing: epsilon per metre where per kilometre
was meant, or an epsilon of 45. Two things tell, under a uniform prior:

- the chance that a report is the true value or, of a table, that the best guess from it is right,
  averaged over the values, is above 90 %;
- one of two typical values can seem more than e^5, 148 times, as likely as the other. An epsilon of
  LDP is about any two values. One per unit of distance is taken over the *typical distance*, the
  mean of d(x, x') over all pairs: what lies between two people of whom nothing is known.

The chance is an average: a law that sends "no" whatever the truth has a chance of 1 at one value,
and hides everything.

A report of several attributes is audited attribute by attribute. It has the law P(y | x) = product
over i of P_i(y_i | x_i), and every output of one attribute may stand beside every output of
another. So the worst report is made of the worst outputs of all attributes, and the worst two
records of the values that these tell apart best:

    max over y, x, x' of log P(y | x) / P(y | x')  =  sum over i of the same maximum of P_i,

k_1 + .. + k_d numbers an output where pairs of records would be k^2. A report of one attribute that
was drawn, P(i, y | x) = P_i(y | x_i) / m, tells as much as the attribute of which most is told:
there the maximum takes the place of the sum. Where people choose among several mechanisms for an
attribute, the least private counts. Per unit of a distance that is a sum of weighted ones,
sum r_i <= max (r_i / (w_i d_i)) sum w_i d_i: of both kinds the epsilon is the largest of those of
the attributes by their weights, which records reach that differ in one attribute alone.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from typing import Any, Literal, overload

import numpy as np

from freewill.core.presented import Presented
from freewill.core.texts import behind, per
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.guarantees.epsilon import Audit, PairAudit, audit_epsilon, audit_pairs
from freewill.domain.guarantees.exact import ExactAudit, common, exact_audit
from freewill.domain.guarantees.logarithms import widest
from freewill.domain.guarantees.promises import (
    LOSS_ROUNDING,
    AdversaryLoss,
    Guarantee,
    Outcome,
    Promise,
    as_times,
)
from freewill.errors import LawError, ParameterError, raised_as, shown

MOST_TRUTH = 0.9
"""Chance of sending the true value above which a promise is empty."""
MOST_EXPONENT = 5.0
"""Logarithm of the odds between two typical values above which it is."""
_FITTING = 1e-12
"""By how much, relative, a user's loss may pass its limit: the rounding of its own sum."""
_DIGITS = 200
"""Of sums of exact epsilons, rounded up."""


@dataclass(frozen=True)
class JointAudit(Audit):
    """The audit of a report of several attributes, and that of each attribute by itself.

    `parts` holds each attribute to its own promise. `first`, `second` and `output` have an entry an
    attribute: together they are the records that are told apart best.

    >>> import freewill as fw
    >>> coin = fw.Categorical(["yes", "no"])
    >>> audit = fw.audit(fw.Each(tax=fw.KRR(coin, 1.0), road=fw.KRR(coin, 2.0)))
    >>> audit.holds, round(audit.epsilon, 6), [(name, str(one.claim)) for name, one in audit.parts]
    (True, 3.0, [('tax', '1-LDP'), ('road', '2-LDP')])
    """

    parts: tuple[tuple[str, Audit], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the claim is true, and so is that of each attribute."""
        return super().holds and all(own.holds for _, own in self.parts)

    def __str__(self) -> str:
        unit = f" {per(self.claim.unit)}" if self.claim.kind == "geo" else ""
        each = ", ".join(f"{n} {own.row()[1]} ({own._verdict()})" for n, own in self.parts)
        return (
            f"claimed {self.claim.kind} epsilon {self.claim.epsilon:.9g}{unit} in all: "
            f"{self._verdict(', and it is tight')}. The law gives {self.epsilon:.9g}{unit}, "
            f"between {self.first} and {self.second}. By attribute: {each}.{self._warned}"
        )

    def row(self) -> list[str]:
        """Return the claim, what the law gives, the verdict, and what each attribute's gives."""
        claim, given, verdict, _ = super().row()
        return [claim, given, verdict, ", ".join(f"{n} {own.row()[1]}" for n, own in self.parts)]

    def describe(self) -> dict[str, Any]:
        """Describe the outcome for JSON, each attribute's own beside it."""
        each = {name: own.describe() for name, own in self.parts}
        return {**super().describe(), "attributes": each}


@dataclass(frozen=True)
class ExactJointAudit(ExactAudit):
    """What the sampler's own numbers prove of all attributes together, and of each by itself.

    >>> import freewill as fw
    >>> coin = fw.Categorical(["yes", "no"])
    >>> fw.audit(fw.Each(tax=fw.KRR(coin, 1.0), road=fw.KRR(coin, 2.0)), exact=True).row()[:3]
    ['3-LDP in all', '3, within the claim by ... of it', 'PROVED']
    """

    parts: tuple[tuple[str, ExactAudit], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the claim is proved, and so is that of each attribute."""
        return super().holds and all(own.holds for _, own in self.parts)

    def __str__(self) -> str:
        each = (f"{name} {own.epsilon:.9g} ({own.row()[2]})" for name, own in self.parts)
        return f"{super().__str__()} By attribute: {', '.join(each)}."

    def describe(self) -> dict[str, Any]:
        """Describe the outcome for JSON, each attribute's own beside it."""
        each = {name: own.describe() for name, own in self.parts}
        return {**super().describe(), "attributes": each}


@dataclass(frozen=True)
class LossAudit(Presented, Outcome):
    """The outcome of an audit of an adversary's loss.

    `adversary_loss` and `user_loss` come from the law, `optimum` is the most that any law within
    the user's `quality_loss` = Q could give.

    >>> import freewill as fw
    >>> audit = fw.audit(fw.Shokri(fw.Linear(0, 4), quality_loss=1.0))
    >>> audit.holds, round(audit.adversary_loss, 3), round(audit.optimum, 3)
    (True, 1.0, 1.0)
    """

    claim: AdversaryLoss
    adversary_loss: float
    user_loss: float
    quality_loss: float
    optimum: float
    warnings: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the adversary loses as much as claimed and the user no more than allowed."""
        rounding = LOSS_ROUNDING * abs(self.optimum)
        return (
            self.adversary_loss >= self.claim.adversary_loss - rounding
            and self.user_loss <= self.quality_loss * (1 + _FITTING)
        )

    @property
    def tight(self) -> bool:
        """Whether no law could make the adversary lose more (to a relative 1e-8)."""
        return self.holds and self.optimum - self.adversary_loss <= 1e-8 * abs(self.optimum)

    def __str__(self) -> str:
        unit = self.claim.of_unit
        tight = ", and it is the optimum" if self.tight else f", of an optimum {self.optimum:.9g}"
        return (
            f"claimed adversary's loss {self.claim.adversary_loss:.9g}{unit}: "
            f"{self._verdict('')}. The law gives {self.adversary_loss:.9g}{unit}{tight}; "
            f"the user loses {self.user_loss:.9g} of at most {self.quality_loss:.9g}{unit}."
            f"{self._warned}"
        )

    def row(self) -> list[str]:
        """Return the claim, what the law gives, the verdict and what the user loses."""
        unit = self.claim.of_unit
        user = f"user loses {self.user_loss:.6g} of {self.quality_loss:.6g}{unit}"
        return [self.claim.short, f"loses {self.adversary_loss:.6g}{unit}", self._verdict(), user]

    def describe(self) -> dict[str, Any]:
        """Describe the outcome for JSON."""
        names = ("tight", "adversary_loss", "user_loss", "quality_loss", "optimum")
        return self._described(**{name: getattr(self, name) for name in names})


@overload
def audit(mechanism: Any, *, choice: Any) -> PairAudit: ...


@overload
def audit(
    mechanism: Any, claim: Promise | None = None, *, exact: Literal[False] = False
) -> Audit | LossAudit: ...


@overload
def audit(
    mechanism: Any, claim: Promise | None = None, *, exact: bool
) -> Audit | LossAudit | ExactAudit: ...


def audit(
    mechanism: Any, claim: Promise | None = None, *, exact: bool = False, choice: Any = None
) -> Audit | LossAudit | ExactAudit | PairAudit:
    """Recompute from the law what a mechanism really gives, and compare it with the claim.

    The claim is the mechanism's own unless another is given. For an epsilon the tightest one is
    computed, in O(outputs * k) for LDP and on a line, O(outputs * k^2) for
    geo-indistinguishability elsewhere; of records attribute by attribute, each one's own beside the
    whole (`JointAudit`). For an adversary's loss the best guess on each output is
    found and the value compared with the optimum. `warnings` say where the promise, kept or not,
    is empty in human terms; they change no verdict.

    With `exact` the sampler's own whole numbers are written out instead, for alphabets that are
    small enough, and the claim is proved or refuted from them: which outputs can be drawn, what
    epsilon they realise, and that the law of the estimators is theirs (docs/devices.md).

    A survey is audited with a `choice` law, c_m(x) = which share of the people of value x chooses
    mechanism m: a row a value and a column a mechanism, or a column by each name. Then it is the
    pair that is audited, the choice and the report, which leave the device together
    (`PairAudit`, docs/choice-aware.md).

    >>> import freewill as fw
    >>> report = fw.audit(fw.KRR(fw.Linear(0, 9), epsilon=1.0))
    >>> report.holds, report.tight
    (True, True)
    >>> fw.audit(fw.KRR(fw.Linear(0, 9), epsilon=1.0), fw.Guarantee("ldp", 0.5)).holds
    False
    >>> print(fw.audit(fw.Geometric(fw.Linear(0, 9), epsilon=1.0), exact=True))
    claimed 1-geo per unit: PROVED. The sampler's own numbers give 1, within the claim ...
    >>> votes = fw.Categorical(["yes", "no"])
    >>> survey = fw.Survey(votes, {"careful": fw.KRR(votes, 1.0), "open": fw.KRR(votes, 3.0)})
    >>> print(fw.audit(survey, choice=[[0.5, 0.5], [0.9, 0.1]]))
    the choice tells, too
      careful  no seems 4.89 times as likely as yes; promised: 2.72 times
      open     yes seems 100 times as likely as no; promised: 20.1 times
    """
    if choice is not None or hasattr(mechanism, "mechanisms"):
        return _of_survey(mechanism, claim, exact, choice)
    if isinstance(mechanism, type) or not hasattr(mechanism, "guarantee"):
        raise ParameterError(f"{shown(mechanism)} is no mechanism: there is nothing to audit.")
    if not isinstance(exact, bool):
        raise ParameterError(f"exact={shown(exact)}: expected True or False.")
    held: Any = mechanism.guarantee() if claim is None else claim
    if not isinstance(held, Guarantee | AdversaryLoss):
        raise ParameterError(f'claim={shown(held)}: expected a promise, as Guarantee("ldp", 1.5).')
    if hasattr(mechanism, "audited"):
        return _of_attributes(mechanism, held, exact)  # type: ignore[no-any-return]
    if isinstance(held, Guarantee):
        held = held.within(mechanism.alphabet)
        recompute: Any = audit_epsilon
        odds = _odds_warnings(held, mechanism.alphabet)
    else:
        recompute, odds = _audit_loss, []
    outcome: Any = exact_audit(mechanism, held) if exact else recompute(mechanism, held)
    warnings = (*_truth_warnings(mechanism), *odds)
    return replace(outcome, warnings=warnings)  # type: ignore[no-any-return]


def _of_survey(survey: Any, claim: Any, exact: Any, choice: Any) -> PairAudit:
    """Audit the choices of a survey with their reports; refuse what is about one mechanism."""
    if isinstance(survey, type) or not hasattr(survey, "mechanisms"):
        raise ParameterError(
            f"choice beside {shown(survey)}: who chooses what is a law of a survey, which offers "
            f"several mechanisms. Give a fw.Survey."
        )
    if choice is None or claim is not None or exact is not False:
        raise ParameterError(
            "a survey is audited with a choice law alone, fw.audit(survey, choice=c): which share "
            "of the people of each value chooses each mechanism. Audit what a mechanism promises "
            "of its report by itself, fw.audit(survey.mechanisms[name])."
        )
    return audit_pairs(survey, choice)


def _of_attributes(mechanism: Any, claim: Any, exact: bool) -> Any:
    """Audit attribute by attribute, and say of which one the promise is empty."""
    if not isinstance(claim, Guarantee):
        raise ParameterError(
            f"claim {claim.short}: {mechanism} promises an epsilon of each attribute, and no "
            f"adversary's loss. Audit the attribute's own mechanism for that."
        )
    outcome: Any = (_prove_attributes if exact else _audit_attributes)(mechanism, claim)
    attributes = mechanism.alphabet.attributes
    warnings = [
        f"{name}: {warning}"
        for name, own in outcome.parts
        for warning in (
            *[one for part, _ in mechanism.audited()[name] for one in _truth_warnings(part)],
            *_odds_warnings(own.claim, attributes[name]),
        )
    ]
    parts = getattr(claim, "parts", ())
    exponents = [own.epsilon * _typically_apart(own, attributes[name]) for name, own in parts]
    together = max if mechanism.sends == "one" else sum
    exponent = float(together(exponents)) if parts else claim.epsilon
    if not warnings and claim.kind == "ldp" and exponent > MOST_EXPONENT:
        warnings = [
            f"epsilon {exponent:.4g} of all attributes together makes one of two typical "
            f"records seem {_odds(exponent)}."
        ]
    return replace(outcome, warnings=tuple(warnings))


def _attributes(
    mechanism: Any, claim: Guarantee
) -> tuple[dict[str, list[tuple[Any, Guarantee]]], Mapping[str, float], bool]:
    """Return what each attribute may be reported by and is promised, and how epsilons make one.

    That is: divided by their weights, and the largest of them or, where it is not, their sum.
    """
    alphabet = mechanism.alphabet
    if claim.kind == "geo" and alphabet.weights is None:
        raise ParameterError(
            f"claim {claim.short} about {alphabet}, whose records have no distance: give "
            f"the product weights=..., or claim an epsilon of LDP."
        )
    weights = alphabet.weights if claim.kind == "geo" else dict.fromkeys(alphabet.attributes, 1.0)
    members = {
        name: [(part, promise.within(part.alphabet)) for part, promise in own]
        for name, own in mechanism.audited().items()
    }
    return members, weights, claim.kind == "geo" or mechanism.sends == "one"


def _claim_on(part: Any, claim: Guarantee) -> Guarantee:
    """Return a claim of the same kind about one attribute."""
    return Guarantee(claim.kind, claim.epsilon, part.alphabet.unit if claim.kind == "geo" else "")


def _audit_attributes(mechanism: Any, claim: Guarantee) -> JointAudit:
    """Find the worst records and the worst report, by an audit of each attribute."""
    attributes, weights, largest = _attributes(mechanism, claim)
    audits, parts = {}, []
    for name, members in attributes.items():
        with raised_as(LawError, f"attribute {name!r}: "):
            every = [audit_epsilon(part, _claim_on(part, claim)) for part, _ in members]
            own = [
                replace(one if held.kind == claim.kind else audit_epsilon(part, held), claim=held)
                for one, (part, held) in zip(every, members, strict=True)
            ]
        worst = max(range(len(every)), key=lambda place: every[place].epsilon)
        audits[name] = replace(every[worst], most=max(one.at_most for one in every))
        parts.append((name, next((one for one in own if not one.holds), own[worst])))

    def total(field: str) -> float:
        each = [getattr(own, field) / weights[name] for name, own in audits.items()]
        # A sum is rounded once, so that no sum of epsilons exceeds that of the promises.
        return max(each) if largest else math.fsum(each)

    told = [max(audits, key=lambda n: audits[n].epsilon / weights[n])] if largest else list(audits)
    alphabet = mechanism.alphabet
    rest = dict(zip(alphabet.attributes, alphabet.decode([0])[0], strict=True))
    first, second, output = (
        {name: getattr(audits[name], field) for name in told}
        for field in ("first", "second", "output")
    )
    return JointAudit(
        claim,
        total("epsilon"),
        total("resolution"),
        {**rest, **first},
        {**rest, **second},
        output,
        total("at_most"),
        parts=tuple(parts),
    )


def _prove_attributes(mechanism: Any, claim: Guarantee) -> ExactJointAudit:
    """Prove what is promised of all attributes from what is proved of each.

    An epsilon per unit of distance counts over the largest distance of its attribute: more than
    that no two of its values are told apart.
    """
    attributes, weights, largest = _attributes(mechanism, claim)
    audits: dict[str, list[tuple[ExactAudit, Decimal]]] = {}
    parts: list[tuple[str, ExactAudit]] = []
    for name, members in attributes.items():
        every, own = [], []
        for part, promise in members:
            with raised_as(LawError, f"attribute {name!r}: "):
                proved = measured = exact_audit(part, promise)
                if claim.kind == "geo" and promise.kind != "geo":
                    measured = exact_audit(part, _claim_on(part, claim))
            far = claim.kind != "geo" and promise.kind == "geo" and proved.realised.is_finite()
            every.append((measured, Decimal(widest(part.alphabet) if far else 1.0)))
            own.append(proved)
        worst = max(range(len(own)), key=lambda n: every[n][0].realised * every[n][1])
        audits[name] = every
        parts.append((name, next((one for one in own if not one.holds), own[worst])))

    def total(read: Callable[[ExactAudit], Decimal]) -> Decimal:
        with localcontext(Context(prec=_DIGITS, rounding=ROUND_CEILING)):
            each = [
                max(read(one) * far for one, far in every) / Decimal(weights[name])
                for name, every in audits.items()
            ]
            return max(each) if largest else sum(each, Decimal(0))

    return ExactJointAudit(
        claim,
        total(lambda own: own.realised),
        **common([one for every in audits.values() for one, _ in every]),
        argued=" ".join(f"{name}: {own.argued.strip()}" for name, own in parts if own.argued),
        least=total(lambda own: own.realised if own.least is None else own.least),
        parts=tuple(parts),
    )


def _audit_loss(mechanism: Any, claim: AdversaryLoss) -> LossAudit:
    """Find the adversary's best guess on each output, by its definition."""
    law, problem = mechanism.law(), mechanism.problem
    joint = law * problem.prior[:, None]
    best = sum(float((joint[:, y] @ problem.guess_loss).min()) for y in range(law.shape[1]))
    cost = float((joint * problem.report_loss).sum())
    return LossAudit(claim, best, cost, mechanism.quality_loss_limit, mechanism.optimum)


def typical_distance(alphabet: Alphabet) -> float:
    """Return the mean distance of two values drawn independently and uniformly, in O(k).

    >>> import freewill as fw
    >>> typical_distance(fw.Linear(0, 2))
    0.8888888888888888
    """
    with np.errstate(over="ignore"):
        return float(alphabet.total_distance().mean()) / alphabet.size


def _typically_apart(claim: Guarantee, alphabet: Alphabet) -> float:
    """Return how often an epsilon counts between two typical values: over a distance, or once."""
    return typical_distance(alphabet) if claim.kind == "geo" else 1.0


def chance_of_truth(mechanism: Any) -> float | None:
    """Return the chance that a report tells the true value under a uniform prior, if known.

    It tells the value where it is the value and, of a table, where the best guess from it is right.

    >>> import freewill as fw
    >>> chance_of_truth(fw.Matrix(fw.Linear(0, 2), np.eye(3)[[1, 2, 0]]))
    1.0
    """
    chances = getattr(mechanism, "truths", lambda: None)()
    guessed = getattr(mechanism, "guessed", lambda: None)()
    known = [float(np.mean(some)) for some in (chances, guessed) if some is not None]
    return max(known, default=None)


def _truth_warnings(mechanism: Any) -> list[str]:
    """Say if reports are next to always true."""
    chance = chance_of_truth(mechanism) if mechanism.alphabet.size > 1 else None
    if chance is None or not chance > MOST_TRUTH:
        return []
    percentage = f"{chance:.1%}" if chance < 0.999 else "more than 99.9%"
    often = "always" if chance == 1 else f"with a chance of {percentage}"
    own = mechanism.truths()
    verb = "is" if own is not None and np.mean(own) > MOST_TRUTH else "gives away"
    return [f"the report {verb} the true value {often}: next to nothing is hidden."]


def _odds_warnings(claim: Guarantee, alphabet: Alphabet) -> list[str]:
    """Say if two typical values may be told apart with next to certainty."""
    apart = _typically_apart(claim, alphabet)
    exponent = claim.epsilon * apart
    if alphabet.size < 2 or not exponent > MOST_EXPONENT:
        return []
    if math.isinf(claim.epsilon):
        return ["nothing is promised: a report may tell the true value for sure."]
    odds = _odds(exponent)
    if claim.kind == "ldp":
        return [f"epsilon {claim.epsilon:.4g} lets one of two values seem {odds}."]
    unit = alphabet.unit
    return [
        f"epsilon {claim.epsilon:.4g} {per(unit)} is {exponent:.3g} over "
        f"{apart:.3g}{behind(unit)}, the mean distance of two values: one can seem {odds}. "
        f"Is epsilon meant {per(unit)}?"
    ]


def _odds(exponent: float) -> str:
    return f"up to {as_times(exponent)} as likely as the other where e^5, 148 times, is much"
