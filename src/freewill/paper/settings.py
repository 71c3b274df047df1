"""A mixture at its place: draws of people, and the hash that names its results."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet, Linear
from freewill.domain.alphabets.grid import Grid
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.geometric import Geometric
from freewill.domain.mechanisms.matrix import Matrix
from freewill.domain.mechanisms.planar_geometric import PlanarGeometric
from freewill.domain.mechanisms.randomised_response import KRR, RAPPOR
from freewill.domain.mechanisms.shokri import Shokri
from freewill.domain.metrics import emd
from freewill.domain.survey import Survey
from freewill.paper.mixtures import Mixture, Place
from freewill.paper.panels import EARLY, GIBU, IBU_M, IBU_R, INV_M, INV_R, RAP_M
from freewill.paper.places import LINE, SHORT_LINE, Crowd, synthetic_city
from freewill.stats.collect import collect
from freewill.stats.estimators.methods import Method
from freewill.stats.evidence import Evidence

RESULTS_VERSION = 4
"""Raise it when rows hold other numbers for a reason that `fingerprint` does not see."""
_PEOPLE = 200
_DIGITS = 4
"""Decimals of estimates: machines and libraries of linear algebra differ in later ones."""


@dataclass(frozen=True, eq=False)
class Setting:
    """A mixture with its alphabet and truth: draws people and names results by their cause."""

    mixture: Mixture
    alphabet: Alphabet
    truth: FloatArray

    @cached_property
    def mechanisms(self) -> list[Mechanism]:
        """The mechanisms on offer."""
        return [m for part in self.mixture.parts for m in part.mechanisms(self.alphabet)]

    @cached_property
    def key(self) -> str:
        """A hash of all that decides the numbers: alphabet, mechanisms, laws, truth and draws."""
        # Two releases may solve one spec of Shokri's to different optima: the law itself counts.
        laws = [mechanism.law() for mechanism in self.mechanisms if mechanism.name == Shokri.name]
        hashes = [hashlib.sha256(np.round(law, 6).tobytes()).hexdigest() for law in laws]
        return _key(self.mechanisms, self.truth, alphabet=self.alphabet.spec(), laws=hashes)

    def draw(self, people: int, seed: int) -> tuple[Evidence, IntArray]:
        """Let people draw a value and choose a mechanism; return the evidence and their values.

        >>> from freewill.paper.mixtures import MIXTURES
        >>> setting = settings([MIXTURES["line-krr"]])[0]
        >>> evidence, values = setting.draw(1000, seed=0)
        >>> evidence.people, len(evidence.groups), len(values)
        (1000, 10, 1000)
        """
        rng = _generator(self.mixture.name, people, seed)
        return _drawn(self.mechanisms, self.truth, people, rng)


@dataclass(frozen=True, eq=False)
class Own:
    """A survey in place of a mixture, the shares of people who choose each of its mechanisms."""

    name: str
    survey: Survey
    shares: tuple[float, ...]
    truth: FloatArray

    @property
    def alphabet(self) -> Alphabet:
        """The values of the survey."""
        return self.survey.alphabet

    @property
    def mechanisms(self) -> list[Mechanism]:
        """The mechanisms on offer."""
        return list(self.survey.mechanisms.values())

    @cached_property
    def key(self) -> str:
        """A hash of all that decides the numbers: the survey, shares, truth and draws."""
        return _key(self.mechanisms, self.truth, shares=self.shares)

    def draw(self, people: int, seed: int) -> tuple[Evidence, IntArray]:
        """Let people draw a value and choose a mechanism; return the evidence and their values."""
        rng = _generator(self.name, people, seed)
        return _drawn(self.mechanisms, self.truth, people, rng, self.shares)


def binomial(size: int) -> FloatArray:
    """Return the paper's truth on a line, the binomial distribution with alpha = 0.5.

    >>> binomial(3)
    array([0.25, 0.5 , 0.25])
    """
    return np.array([math.comb(size - 1, value) / 2 ** (size - 1) for value in range(size)])


def settings(
    mixtures: Sequence[Mixture], city: Crowd | None = None, line: Crowd | None = None
) -> list[Setting]:
    """Put mixtures at their places: the paper's lines, and a city (synthetic by default)."""
    truth = binomial(LINE.size) if line is None else line.truth
    town = synthetic_city() if city is None else city
    where: dict[Place, tuple[Alphabet, FloatArray]] = {
        "line": (LINE, truth),
        "short line": (SHORT_LINE, binomial(SHORT_LINE.size)),
        "city": (town.alphabet, town.truth),
    }
    return [Setting(mixture, *where[mixture.place]) for mixture in mixtures]


def _drawn(
    mechanisms: Sequence[Mechanism],
    truth: FloatArray,
    people: int,
    rng: np.random.Generator,
    shares: Sequence[float] = (),
) -> tuple[Evidence, IntArray]:
    """Let people draw a value, choose a mechanism, each as often without shares, and report."""
    values = rng.choice(truth.size, size=people, p=truth)
    places = np.arange(len(mechanisms))
    choices = (
        rng.choice(places, people, p=shares) if shares else rng.integers(places.size, size=people)
    )
    reports = [
        (one, one.obfuscate(values[choices == place], rng)) for place, one in enumerate(mechanisms)
    ]
    return collect(reports), values


def _generator(name: str, people: int, seed: int) -> np.random.Generator:
    """Return the generator of a seed, another one for each mixture and number of people."""
    own = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    return np.random.default_rng([seed, people, own])


def _key(mechanisms: Sequence[Mechanism], truth: FloatArray, **more: Any) -> str:
    """Return a hash of all that decides the numbers of a setting."""
    cause = {
        "results": [RESULTS_VERSION, fingerprint()],
        "mechanisms": [mechanism.spec() for mechanism in mechanisms],
        "truth": hashlib.sha256(np.round(truth, 15).tobytes()).hexdigest(),
        **more,
    }
    text = json.dumps(cause, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


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
    menus: list[tuple[list[Mechanism], tuple[Method, ...]]] = [
        ([KRR(line, 2.0), Geometric(line, 0.5), own], (GIBU, EARLY, IBU_M, IBU_R, *INV_M, *INV_R)),
        ([KRR(city, 1.5), PlanarGeometric(city, 1.2)], (GIBU,)),
        ([RAPPOR(line, 3.0), RAPPOR(line, 5.0)], (GIBU, *RAP_M)),
    ]
    digest = hashlib.sha256()
    for mechanisms, methods in menus:
        size = mechanisms[0].alphabet.size
        truth = np.arange(1.0, size + 1) / np.arange(1.0, size + 1).sum()
        rng = np.random.default_rng([0, _PEOPLE, size])
        evidence, _ = _drawn(mechanisms, truth, _PEOPLE, rng)
        for group in evidence.groups:
            digest.update(np.ascontiguousarray(group.outputs).tobytes() + group.counts.tobytes())
        for method in methods:
            theta = method.run(evidence).theta
            distance = emd(theta / theta.sum(), truth, evidence.alphabet)
            # Adding 0 makes -0 a 0.
            digest.update((np.round([*theta, distance], _DIGITS) + 0.0).tobytes())
    return digest.hexdigest()[:12]
