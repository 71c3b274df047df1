"""Free-will privacy: everyone picks a mechanism, and the distribution is still reconstructed.

>>> import numpy as np, freewill as fw
>>> ages = fw.Linear(0, 99)
>>> mechanism = fw.Geometric(ages, epsilon=0.1)
>>> reports = mechanism.obfuscate(ages.encode([34, 71]), np.random.default_rng(0))
>>> str(mechanism.guarantee())
'0.1-geo-indistinguishability'
"""

from freewill.alphabets import Alphabet, Categorical, Grid, Linear, alphabet_from_spec, distances
from freewill.calibration import calibrate
from freewill.errors import (
    AlphabetError,
    EvidenceError,
    FreewillError,
    IdentifiabilityError,
    LawError,
    ParameterError,
    SpecError,
)
from freewill.estimators import (
    Estimate,
    Status,
    combine_mechanisms,
    combine_results,
    debias,
    em,
    gibu,
    ibu,
    inversion,
    unresolved_directions,
)
from freewill.evidence import Evidence, Group, collect
from freewill.guarantees import AdversaryLoss, Audit, Guarantee, LossAudit, audit
from freewill.mechanisms import (
    KRR,
    RAPPOR,
    Geometric,
    Identity,
    Matrix,
    Mechanism,
    PlanarGeometric,
    Shokri,
    from_spec,
)
from freewill.metrics import emd, kl, l2, total_variation
from freewill.operators import Operator, dot_test
from freewill.reports import Survey, read_reports
from freewill.simplex import normalise, project
from freewill.theory import krr_error_bound, lower_bound, rappor_error_bound

__version__ = "0.1.0"

__all__ = [
    "KRR",
    "RAPPOR",
    "AdversaryLoss",
    "Alphabet",
    "AlphabetError",
    "Audit",
    "Categorical",
    "Estimate",
    "Evidence",
    "EvidenceError",
    "FreewillError",
    "Geometric",
    "Grid",
    "Group",
    "Guarantee",
    "IdentifiabilityError",
    "Identity",
    "LawError",
    "Linear",
    "LossAudit",
    "Matrix",
    "Mechanism",
    "Operator",
    "ParameterError",
    "PlanarGeometric",
    "Shokri",
    "SpecError",
    "Status",
    "Survey",
    "alphabet_from_spec",
    "audit",
    "calibrate",
    "collect",
    "combine_mechanisms",
    "combine_results",
    "debias",
    "distances",
    "dot_test",
    "em",
    "emd",
    "from_spec",
    "gibu",
    "ibu",
    "inversion",
    "kl",
    "krr_error_bound",
    "l2",
    "lower_bound",
    "normalise",
    "project",
    "rappor_error_bound",
    "read_reports",
    "total_variation",
    "unresolved_directions",
]
