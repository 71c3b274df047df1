"""What a seed gives here and now, as a hash: results of other draws or methods are not mixed."""

import hashlib
from functools import cache

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.grid import Grid
from freewill.domain.alphabets.linear import Linear
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.geometric import Geometric
from freewill.domain.mechanisms.krr import KRR
from freewill.domain.mechanisms.matrix import Matrix
from freewill.domain.mechanisms.planar_geometric import PlanarGeometric
from freewill.domain.mechanisms.rappor import RAPPOR
from freewill.domain.metrics import emd
from freewill.paper.methods import EARLY, GIBU, IBU_M, IBU_R, INV_M, INV_R, RAP_M
from freewill.stats.collect import collect
from freewill.stats.evidence import Evidence

_PEOPLE = 200
_DIGITS = 4
"""Decimals of estimates: machines and libraries of linear algebra differ in later ones."""


@cache
def fingerprint() -> str:
    """Return a hash of what fixed seeds draw, and of what the methods make of it.

    Whoever changes a sampler, an estimator or a distance changes this, and so does a release of
    NumPy with other streams: results are stored under it, and never mixed with older ones. Some
    hundred draws of each mechanism and ten estimates on small alphabets, 30 ms.

    >>> len(fingerprint())
    12
    """
    line, city = Linear(0, 7), Grid(columns=3, rows=2, cell=0.5)
    uneven = 1 + np.arange(64).reshape(8, 8) % 5 + 12 * np.eye(8)
    own = Matrix(line, uneven / uneven.sum(axis=1, keepdims=True))
    symbols = _drawn(line, [KRR(line, 2.0), Geometric(line, 0.5), own])
    planar = _drawn(city, [KRR(city, 1.5), PlanarGeometric(city, 1.2)])
    bits = _drawn(line, [RAPPOR(line, 3.0), RAPPOR(line, 5.0)])
    digest = hashlib.sha256()
    for evidence, methods in (
        (symbols, (GIBU, EARLY, IBU_M, IBU_R, *INV_M, *INV_R)),
        (planar, (GIBU,)),
        (bits, (GIBU, *RAP_M)),
    ):
        for group in evidence.groups:
            digest.update(np.ascontiguousarray(group.outputs).tobytes() + group.counts.tobytes())
        for method in methods:
            theta = method.run(evidence).theta
            distance = emd(theta / theta.sum(), _truth(theta.size), evidence.alphabet)
            # Adding 0 makes -0 a 0.
            digest.update((np.round([*theta, distance], _DIGITS) + 0.0).tobytes())
    return digest.hexdigest()[:12]


def _truth(size: int) -> FloatArray:
    return np.asarray(np.arange(1.0, size + 1) / np.arange(1.0, size + 1).sum())


def _drawn(alphabet: Alphabet, mechanisms: list[Mechanism]) -> Evidence:
    """Let people draw values and reports, by every kind of draw that a `Setting` makes."""
    rng = np.random.default_rng([0, _PEOPLE, alphabet.size])
    values = rng.choice(alphabet.size, size=_PEOPLE, p=_truth(alphabet.size))
    choices = rng.integers(len(mechanisms), size=_PEOPLE)
    return collect(
        [(one, one.obfuscate(values[choices == n], rng)) for n, one in enumerate(mechanisms)]
    )
