"""What mechanisms promise, and the audit that recomputes the promise from the law."""

from freewill.guarantees.auditing import audit
from freewill.guarantees.exact import ExactAudit
from freewill.guarantees.literal import literal_epsilon
from freewill.guarantees.promises import (
    AdversaryLoss,
    Audit,
    Guarantee,
    LossAudit,
    Promise,
    audit_epsilon,
)

__all__ = [
    "AdversaryLoss",
    "Audit",
    "ExactAudit",
    "Guarantee",
    "LossAudit",
    "Promise",
    "audit",
    "audit_epsilon",
    "literal_epsilon",
]
