"""What mechanisms promise, and the audit that recomputes the promise from the law."""

from freewill.guarantees.promises import (
    AdversaryLoss,
    Audit,
    Guarantee,
    LossAudit,
    Promise,
    audit,
    audit_epsilon,
)

__all__ = [
    "AdversaryLoss",
    "Audit",
    "Guarantee",
    "LossAudit",
    "Promise",
    "audit",
    "audit_epsilon",
]
