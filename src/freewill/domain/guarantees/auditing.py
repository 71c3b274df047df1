"""The audit: hold a mechanism to its promise, by its law or by its sampler's own numbers."""

from dataclasses import replace
from typing import Any, Literal, overload

from freewill.domain.guarantees.emptiness import odds_warnings, truth_warnings
from freewill.domain.guarantees.exact import ExactAudit, exact_audit
from freewill.domain.guarantees.promises import AdversaryLoss, Audit, Guarantee, LossAudit, Promise
from freewill.errors import ParameterError, shown


@overload
def audit(
    mechanism: Any, claim: Promise | None = None, *, exact: Literal[False] = False
) -> Audit | LossAudit: ...


@overload
def audit(
    mechanism: Any, claim: Promise | None = None, *, exact: bool
) -> Audit | LossAudit | ExactAudit: ...


def audit(
    mechanism: Any, claim: Promise | None = None, *, exact: bool = False
) -> Audit | LossAudit | ExactAudit:
    """Recompute from the law what a mechanism really gives, and compare it with the claim.

    The claim is the mechanism's own unless another is given. For an epsilon the tightest one is
    computed, in O(outputs * k) for LDP and on a line, O(outputs * k^2) for
    geo-indistinguishability elsewhere. For an adversary's loss the best guess on each output is
    found and the value compared with the optimum. `warnings` say where the promise, kept or not,
    is empty in human terms (`freewill.domain.guarantees.emptiness`); they change no verdict.

    With `exact` the sampler's own whole numbers are written out instead, for alphabets that are
    small enough, and the claim is proved or refuted from them: which outputs can be drawn, what
    epsilon they realise, and that the law of the estimators is theirs (docs/devices.md).

    >>> import freewill as fw
    >>> report = fw.audit(fw.KRR(fw.Linear(0, 9), epsilon=1.0))
    >>> report.holds, report.tight
    (True, True)
    >>> fw.audit(fw.KRR(fw.Linear(0, 9), epsilon=1.0), fw.Guarantee("ldp", 0.5)).holds
    False
    >>> print(fw.audit(fw.Geometric(fw.Linear(0, 9), epsilon=1.0), exact=True))
    claimed 1-geo per unit: PROVED. The sampler's own numbers give 1, within the claim ...
    """
    if isinstance(mechanism, type) or not hasattr(mechanism, "guarantee"):
        raise ParameterError(f"{shown(mechanism)} is no mechanism: there is nothing to audit.")
    if not isinstance(exact, bool):
        raise ParameterError(f"exact={shown(exact)}: expected True or False.")
    held: Any = mechanism.guarantee() if claim is None else claim
    if not isinstance(held, Guarantee | AdversaryLoss):
        raise ParameterError(f'claim={shown(held)}: expected a promise, as Guarantee("ldp", 1.5).')
    if isinstance(held, Guarantee):
        held = held.within(mechanism.alphabet)
    found: Any = exact_audit(mechanism, held) if exact else held.audit(mechanism)
    return replace(found, warnings=warnings_of(mechanism, held))  # type: ignore[no-any-return]


def warnings_of(mechanism: Any, claim: Promise) -> tuple[str, ...]:
    """Say where a promise is empty in human terms, whether or not the law keeps it."""
    odds = odds_warnings(claim, mechanism.alphabet) if isinstance(claim, Guarantee) else []
    return (*truth_warnings(mechanism), *odds)
