"""The mixtures of mechanisms that the paper evaluates, each with the truth it is tried on."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.geometric import Geometric
from freewill.domain.mechanisms.krr import KRR
from freewill.domain.mechanisms.planar_geometric import PlanarGeometric
from freewill.domain.mechanisms.rappor import RAPPOR
from freewill.domain.mechanisms.shokri import Shokri
from freewill.paper import parameters as paper
from freewill.paper.fingerprint import fingerprint
from freewill.paper.places import Crowd, synthetic_city
from freewill.stats.evidence import Evidence, collect

Place = Literal["line", "short line", "city"]
Kind = Literal["k-rr", "geometric", "rappor", "shokri"]

RESULTS_VERSION = 3
"""Raise it when rows hold other numbers for a reason that `fingerprint` does not see."""
SELECTIONS = ("max-entropy", "vertex")


@dataclass(frozen=True)
class Part:
    """Mechanisms of one kind: their epsilons, or for Shokri's their quality losses."""

    kind: Kind
    levels: tuple[float, ...]
    selection: str = "max-entropy"

    def mechanisms(self, alphabet: Any) -> list[Mechanism]:
        """Build the mechanisms on an alphabet."""
        if self.kind == "shokri":
            chosen: Any = self.selection
            return [Shokri(alphabet, level, selection=chosen) for level in self.levels]
        geometric = PlanarGeometric if len(alphabet.axes) > 1 else Geometric
        kinds: dict[str, Any] = {"k-rr": KRR, "rappor": RAPPOR, "geometric": geometric}
        return [kinds[self.kind](alphabet, level) for level in self.levels]


_Parts = tuple[Part, ...]


@dataclass(frozen=True)
class Mixture:
    """What the people of an experiment choose from, each mechanism with the same probability."""

    name: str
    title: str
    place: Place
    table: str
    parts: _Parts


@dataclass(frozen=True, eq=False)
class Setting:
    """A mixture at its place: ready to draw people, and to name its results by their cause."""

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
        cause = {
            "results": [RESULTS_VERSION, fingerprint()],
            "alphabet": self.alphabet.spec(),
            "mechanisms": [mechanism.spec() for mechanism in self.mechanisms],
            "laws": [hashlib.sha256(np.round(law, 6).tobytes()).hexdigest() for law in laws],
            "truth": hashlib.sha256(np.round(self.truth, 15).tobytes()).hexdigest(),
        }
        text = json.dumps(cause, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def draw(self, people: int, seed: int) -> tuple[Evidence, IntArray]:
        """Let people draw a value and choose a mechanism; return the evidence and their values.

        >>> setting = settings([MIXTURES["line-krr"]])[0]
        >>> evidence, values = setting.draw(1000, seed=0)
        >>> evidence.people, len(evidence.groups), len(values)
        (1000, 10, 1000)
        """
        name = int.from_bytes(hashlib.sha256(self.mixture.name.encode()).digest()[:4], "big")
        rng = np.random.default_rng([seed, people, name])
        values = rng.choice(self.truth.size, size=people, p=self.truth)
        choices = rng.integers(len(self.mechanisms), size=people)
        parts = [
            (mechanism, mechanism.obfuscate(values[choices == number], rng))
            for number, mechanism in enumerate(self.mechanisms)
        ]
        return collect(parts), values


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
    truth = binomial(paper.LINE.size) if line is None else line.truth
    town = synthetic_city() if city is None else city
    where: dict[Place, tuple[Alphabet, FloatArray]] = {
        "line": (paper.LINE, truth),
        "short line": (paper.SHORT_LINE, binomial(paper.SHORT_LINE.size)),
        "city": (town.alphabet, town.truth),
    }
    return [Setting(mixture, *where[mixture.place]) for mixture in mixtures]


def shokri(place: Place, selection: str = SELECTIONS[0]) -> Mixture:
    """Return ten mechanisms of Shokri et al. under a selection rule."""
    suffix = "" if selection == SELECTIONS[0] else f"-{selection}"
    levels = paper.SHOKRI_CITY if place == "city" else paper.SHOKRI_LINE
    title = f"ten Shokri ({selection}), {place}"
    part = Part("shokri", levels, selection)
    return Mixture(f"{place}-shokri{suffix}", title, place, "VIII", (part,))


def _two(name: str, title: str, table: str, line: _Parts, city: _Parts) -> tuple[Mixture, Mixture]:
    """Return a mixture on the line and its like in the city."""
    planar = title.replace("geometric", "planar geometric")
    return (
        Mixture(f"line-{name}", f"{title}, line", "line", table, line),
        Mixture(f"city-{name}", f"{planar}, city", "city", table, city),
    )


def _flips(name: str, title: str, epsilons: tuple[float, ...]) -> Mixture:
    """Return RAPPOR mechanisms that flip each bit with probability 1 / (1 + e^eps).

    As printed (eq. 12) it is 1 / (1 + e^(eps/2)): these are RAPPOR's at twice the epsilon.
    """
    part = Part("rappor", tuple(2 * epsilon for epsilon in epsilons))
    return Mixture(f"{name}-flips", f"{title}, bits flipped less", "short line", "IV", (part,))


_HIGH, _LOW = Part("rappor", paper.RAPPOR_HIGH_PRIVACY), Part("rappor", paper.RAPPOR_LOW_PRIVACY)
_KRR_LINE, _KRR_CITY = Part("k-rr", paper.KRR_LINE), Part("k-rr", paper.KRR_CITY)
_GEO_LINE, _GEO_CITY = (Part("geometric", e) for e in (paper.GEOMETRIC_LINE, paper.GEOMETRIC_CITY))
_MIXED_LINE = (Part("geometric", paper.MIXED_LINE_GEOMETRIC), Part("k-rr", paper.MIXED_LINE_KRR))
_MIXED_CITY = (Part("geometric", paper.MIXED_CITY_GEOMETRIC), Part("k-rr", paper.MIXED_CITY_KRR))
_LISTED = (
    Mixture("rappor-high", "ten RAPPOR, high privacy", "short line", "IV", (_HIGH,)),
    Mixture("rappor-low", "ten RAPPOR, low privacy", "short line", "IV", (_LOW,)),
    *_two("krr", "ten k-RR", "V", (_KRR_LINE,), (_KRR_CITY,)),
    *_two("geometric", "ten geometric", "VI", (_GEO_LINE,), (_GEO_CITY,)),
    *_two("mixed", "five geometric and five k-RR", "VII", _MIXED_LINE, _MIXED_CITY),
    shokri("line"),
    shokri("city"),
    *(shokri("line", selection) for selection in SELECTIONS[1:]),
    *(shokri("city", selection) for selection in SELECTIONS[1:]),
    _flips("rappor-high", "ten RAPPOR, high privacy", paper.RAPPOR_HIGH_PRIVACY),
    _flips("rappor-low", "ten RAPPOR, low privacy", paper.RAPPOR_LOW_PRIVACY),
)
MIXTURES = {mixture.name: mixture for mixture in _LISTED}
