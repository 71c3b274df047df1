"""The audit of records: what a report of several attributes tells, attribute by attribute.

A report of all attributes has the law P(y | x) = product over i of P_i(y_i | x_i), and every output
of one attribute may stand beside every output of another. So the worst report is made of the worst
outputs of all attributes, and the worst two records of the values that these tell apart best:

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
from typing import Any

from freewill.core.texts import per
from freewill.domain.guarantees.epsilon import Audit
from freewill.domain.guarantees.exact import ExactAudit
from freewill.domain.guarantees.logarithms import widest
from freewill.domain.guarantees.promises import Guarantee
from freewill.errors import LawError, ParameterError, raised_as

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


def is_joint(mechanism: Any) -> bool:
    """Say whether reports are of several attributes, each by mechanisms of its own."""
    return hasattr(mechanism, "audited")


def audit_attributes(
    mechanism: Any, claim: Guarantee, audit_epsilon: Callable[[Any, Guarantee], Audit]
) -> JointAudit:
    """Find the worst records and the worst report, by an audit of each attribute."""
    combine = _Combined.of(mechanism, claim)
    audits, parts = {}, []
    for name, members in combine.parts.items():
        with raised_as(LawError, f"attribute {name!r}: "):
            every = [audit_epsilon(part, combine.claim_on(part)) for part, _ in members]
            passed = [
                replace(one if own.kind == claim.kind else audit_epsilon(part, own), claim=own)
                for one, (part, own) in zip(every, members, strict=True)
            ]
        most = max(one.at_most for one in every)
        worst = max(range(len(every)), key=lambda place: every[place].epsilon)
        audits[name] = replace(every[worst], most=most)
        parts.append((name, next((one for one in passed if not one.holds), passed[worst])))

    def total(read: Callable[[Audit], float]) -> float:
        return float(combine({n: read(own) / combine.weights[n] for n, own in audits.items()}))

    epsilons = {name: own.epsilon / combine.weights[name] for name, own in audits.items()}
    chosen = [max(epsilons, key=epsilons.__getitem__)] if combine.largest else list(epsilons)
    alphabet = mechanism.alphabet
    rest = dict(zip(alphabet.attributes, alphabet.decode([0])[0], strict=True))
    first, second, output = (
        {name: getattr(audits[name], field) for name in chosen}
        for field in ("first", "second", "output")
    )
    return JointAudit(
        claim,
        total(lambda own: own.epsilon),
        total(lambda own: own.resolution),
        {**rest, **first},
        {**rest, **second},
        output,
        total(lambda own: own.at_most),
        parts=tuple(parts),
    )


def exact_attributes(
    mechanism: Any, claim: Any, exact_audit: Callable[[Any, Any], ExactAudit]
) -> ExactJointAudit:
    """Prove what is promised of all attributes from what is proved of each.

    An epsilon per unit of distance counts over the largest distance of its attribute: more than
    that no two of its values are told apart.
    """
    if not isinstance(claim, Guarantee):
        raise ParameterError(
            f"claim {claim.short}: {mechanism} promises an epsilon of each attribute, and no "
            f"adversary's loss. Audit the attribute's own mechanism for that."
        )
    combine = _Combined.of(mechanism, claim)
    audits: dict[str, list[ExactAudit]] = {}
    lengths: dict[str, list[Decimal]] = {}
    parts: list[tuple[str, ExactAudit]] = []
    for name, members in combine.parts.items():
        audits[name], lengths[name], held = [], [], []
        for part, promise in members:
            with raised_as(LawError, f"attribute {name!r}: "):
                own = measured = exact_audit(part, promise)
                if claim.kind == "geo" and promise.kind != "geo":
                    measured = exact_audit(part, combine.claim_on(part))
            far = claim.kind != "geo" and promise.kind == "geo" and own.realised.is_finite()
            lengths[name].append(Decimal(widest(part.alphabet) if far else 1.0))
            audits[name].append(measured)
            held.append(own)
        worst = max(range(len(held)), key=lambda n: audits[name][n].realised * lengths[name][n])
        parts.append((name, next((one for one in held if not one.holds), held[worst])))

    def total(read: Callable[[ExactAudit], Decimal]) -> Decimal:
        with localcontext(Context(prec=_DIGITS, rounding=ROUND_CEILING)):
            largest = {
                name: max(read(one) * far for one, far in zip(every, lengths[name], strict=True))
                for name, every in audits.items()
            }
            weights = {name: Decimal(combine.weights[name]) for name in largest}
            return Decimal(combine({n: one / weights[n] for n, one in largest.items()}))

    every = [one for some in audits.values() for one in some]
    return ExactJointAudit(
        claim,
        total(lambda own: own.realised),
        full=all(own.full for own in every),
        same_support=all(own.same_support for own in every),
        difference=max(own.difference for own in every),
        entries=sum(own.entries for own in every),
        bits=max(own.bits for own in every),
        argued=" ".join(f"{name}: {own.argued.strip()}" for name, own in parts if own.argued),
        least=total(lambda own: own.realised if own.least is None else own.least),
        parts=tuple(parts),
    )


@dataclass(frozen=True, eq=False)
class _Combined:
    """How epsilons of attributes make one: the mechanisms and promises of each, and its weight."""

    claim: Guarantee
    parts: dict[str, list[tuple[Any, Guarantee]]]
    """The mechanisms that an attribute may be reported by, and their promises."""
    weights: Mapping[str, float]
    largest: bool

    @classmethod
    def of(cls, mechanism: Any, claim: Guarantee) -> "_Combined":
        """Return how those of a mechanism make one of the kind of a claim."""
        alphabet = mechanism.alphabet
        weights = dict.fromkeys(alphabet.attributes, 1.0)
        if claim.kind == "geo":
            if alphabet.weights is None:
                raise ParameterError(
                    f"claim {claim.short} about {alphabet}, whose records have no distance: give "
                    f"the product weights=..., or claim an epsilon of LDP."
                )
            weights = alphabet.weights
        parts = {
            name: [(part, promise.within(part.alphabet)) for part, promise in members]
            for name, members in mechanism.audited().items()
        }
        return cls(claim, parts, weights, claim.kind == "geo" or mechanism.sends == "one")

    def claim_on(self, part: Any) -> Guarantee:
        """Return a claim of the same kind about one attribute."""
        unit = part.alphabet.unit if self.claim.kind == "geo" else ""
        return Guarantee(self.claim.kind, self.claim.epsilon, unit)

    def __call__(self, each: Mapping[str, Any]) -> Any:
        """Return the largest of numbers, one an attribute, or their sum."""
        if self.largest:
            return max(each.values())
        exact = all(isinstance(one, float) for one in each.values())
        # Rounded once, so that no sum of epsilons exceeds that of the promises.
        return math.fsum(each.values()) if exact else sum(each.values())


def typical_exponent(mechanism: Any, claim: Guarantee, apart: Callable[[Any], float]) -> float:
    """Return the logarithm of the odds between two typical records, from the attributes' promises.

    `apart` gives the typical distance of an alphabet.
    """
    attributes = mechanism.alphabet.attributes
    promises = getattr(claim, "parts", ())
    if not promises:
        return claim.epsilon
    exponents = [
        own.epsilon * (apart(attributes[name]) if own.kind == "geo" else 1.0)
        for name, own in promises
    ]
    return float(max(exponents) if mechanism.sends == "one" else sum(exponents))
