"""A test of the laws of several questions: attribute by attribute, and of records together.

A marginal report has the law of what is left, exactly: what people report of one attribute is held
against the mechanisms of that attribute alone, of which there are a few where combinations are
hundreds. A mechanism that sends by another law than it says is found there and named with its
question. Where records are few they are tested together besides: that each law is right and the
reports of a person still depend on each other (a client that draws its noise once) shows nowhere
else.
"""

from dataclasses import dataclass, field, replace

from freewill.domain.alphabets.base import attributes_of
from freewill.errors import EvidenceError
from freewill.stats.choice.check import check_choice
from freewill.stats.efficient import OneStep
from freewill.stats.evidence import names_of
from freewill.stats.laws.check import FitCheck, GroupFit, checked_laws
from freewill.stats.splits import marginal_fits, split_of

_RECORDS, _GROUPS = 512, 36
"""Records, and combinations of mechanisms, up to which all attributes are tested together."""
TOGETHER = "records"
"""What stands before a combination of mechanisms, in the place of an attribute's name."""


@dataclass(frozen=True)
class FitByAttribute(FitCheck):
    """A test of all laws, attribute by attribute; `by_attribute` has the test of each."""

    by_attribute: dict[str, FitCheck] = field(default_factory=dict, repr=False)


def fit_by_attribute(fit: OneStep, level: float) -> FitByAttribute:
    """Test the laws of each attribute's mechanisms and, of few records, all together.

    The p-value of all is the least times the number of tests, and each is at the level that makes
    all of them together one of `level` (Bonferroni).
    """
    fits = {name: split_of(own) for name, own in marginal_fits(fit).items()}
    whole = fit.evidence
    if whole.alphabet.size <= _RECORDS and len(whole.groups) <= _GROUPS:
        fits[TOGETHER] = fit
    left_out: dict[str, str] = {}
    checks: dict[str, FitCheck] = {}
    each = 1 - (1 - level) / len(fits)
    for name, own in fits.items():
        try:
            checks[name] = checked_laws(own, each)
        except EvidenceError as error:
            why = "no other mechanism contradicts them" if name != TOGETHER else str(error)
            left_out |= {f"{name}: {one}": why for one in names_of(own.evidence, short=True)}
    if not checks:
        raise EvidenceError(
            f"no law can be tested: for {' and '.join(attributes_of(whole.alphabet))} alike, the "
            f"mechanism that determines the distribution is contradicted by no other. Collect more "
            f"reports, and of more mechanisms."
        )
    groups: list[GroupFit] = []
    for name, check in checks.items():
        groups += [_named(one, name, len(fits)) for one in check.groups]
        left_out |= {f"{name}: {one}": why for one, why in check.left_out.items()}
    return FitByAttribute(
        p_value=min(1.0, len(fits) * min(check.p_value for check in checks.values())),
        level=level,
        groups=tuple(groups),
        left_out=left_out,
        left_p=min(1.0, len(fits) * min(check.left_p for check in checks.values())),
        by_attribute=checks,
    )


def _named(group: GroupFit, attribute: str, tests: int) -> GroupFit:
    """Return what is said of a group with its attribute's name, corrected for all attributes."""
    p_values = (min(1.0, tests * one) for one in (group.epsilon_p, group.output_p))
    epsilon_p, output_p = p_values
    name = f"{attribute}: {group.name}"
    return replace(group, name=name, epsilon_p=epsilon_p, output_p=output_p)


def free_attributes(fit: OneStep, level: float) -> dict[str, bool]:
    """Say of which attributes the values have nothing to do with the mechanism chosen for them.

    Whatever else a choice depends on: the laws of these can be tested as if it were free.
    """
    free = {}
    for name, own in marginal_fits(fit).items():
        try:
            free[name] = check_choice(own, level).holds
        except EvidenceError:
            free[name] = True  # everybody chose the same, or too few people to tell
    return free
