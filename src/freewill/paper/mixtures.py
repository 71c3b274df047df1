"""The mixtures of mechanisms that the paper evaluates, with the numbers of its appendix."""

from dataclasses import dataclass
from typing import Any, Literal

from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.geometric import Geometric
from freewill.domain.mechanisms.planar_geometric import PlanarGeometric
from freewill.domain.mechanisms.randomised_response import KRR, RAPPOR
from freewill.domain.mechanisms.shokri import Shokri

Place = Literal["line", "short line", "city"]
Kind = Literal["k-rr", "geometric", "rappor", "shokri"]
SELECTIONS = ("max-entropy", "vertex")

RAPPOR_HIGH_PRIVACY = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
RAPPOR_LOW_PRIVACY = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
"""Table IV: epsilons of ten RAPPOR mechanisms."""

KRR_LINE = (3.00, 3.54, 3.96, 4.34, 4.69, 5.06, 5.46, 5.93, 6.60, 8.08)
KRR_CITY = (3.05, 4.19, 4.81, 5.27, 5.67, 6.05, 6.44, 6.87, 7.40, 8.20)
"""Table V: epsilons of ten k-RR mechanisms."""

GEOMETRIC_LINE = (0.020, 0.025, 0.031, 0.039, 0.050, 0.065, 0.088, 0.131, 0.236, 0.869)
GEOMETRIC_CITY = (0.190, 0.244, 0.310, 0.390, 0.493, 0.632, 0.835, 1.159, 1.762, 3.124)
"""Table VI: epsilons of ten geometric mechanisms, for a unit on the line and for a kilometre."""

MIXED_LINE_GEOMETRIC, MIXED_LINE_KRR = GEOMETRIC_LINE[5:], KRR_LINE[:5]
MIXED_CITY_GEOMETRIC, MIXED_CITY_KRR = GEOMETRIC_CITY[5:], KRR_CITY[:5]
"""Table VII: five geometric mechanisms and five k-RR."""

SHOKRI_LINE = (1.0, 4.0, 7.0, 10.0, 13.0, 16.0, 19.0, 22.0, 24.5, 28.0)
SHOKRI_CITY = (0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.1, 2.4, 2.7, 3.0)
"""Table VIII: the quality losses Q of ten mechanisms of Shokri et al."""


@dataclass(frozen=True)
class Part:
    """Mechanisms of one kind: their epsilons, or for Shokri's their quality losses."""

    kind: Kind
    levels: tuple[float, ...]
    selection: str = SELECTIONS[0]

    def mechanisms(self, alphabet: Any) -> list[Mechanism]:
        """Build the mechanisms on an alphabet."""
        if self.kind == "shokri":
            selection: Any = self.selection
            return [Shokri(alphabet, level, selection=selection) for level in self.levels]
        geometric = PlanarGeometric if len(alphabet.axes) > 1 else Geometric
        kinds: dict[str, Any] = {"k-rr": KRR, "rappor": RAPPOR, "geometric": geometric}
        return [kinds[self.kind](alphabet, level) for level in self.levels]


@dataclass(frozen=True)
class Mixture:
    """What the people of an experiment choose from, each mechanism with the same probability."""

    name: str
    title: str
    place: Place
    table: str
    parts: tuple[Part, ...]


def shokri(place: Place, selection: str = SELECTIONS[0]) -> Mixture:
    """Return ten mechanisms of Shokri et al. under a selection rule."""
    suffix = "" if selection == SELECTIONS[0] else f"-{selection}"
    part = Part("shokri", SHOKRI_CITY if place == "city" else SHOKRI_LINE, selection)
    title = f"ten Shokri ({selection}), {place}"
    return Mixture(f"{place}-shokri{suffix}", title, place, "VIII", (part,))


def _rappor(level: str, epsilons: tuple[float, ...]) -> tuple[Mixture, Mixture]:
    """Return RAPPOR mechanisms as printed, and those that flip each bit less often.

    As printed (eq. 12) a bit is flipped with probability 1 / (1 + e^(eps/2)); with 1 / (1 + e^eps)
    the mechanisms are RAPPOR's at twice the epsilon.
    """
    name, title = f"rappor-{level}", f"ten RAPPOR, {level} privacy"
    printed, fewer = Part("rappor", epsilons), Part("rappor", tuple(2 * e for e in epsilons))
    return (
        Mixture(name, title, "short line", "IV", (printed,)),
        Mixture(f"{name}-flips", f"{title}, bits flipped less", "short line", "IV", (fewer,)),
    )


SHOKRI = tuple(made for rule in SELECTIONS for made in (shokri("line", rule), shokri("city", rule)))
"""Under each selection rule, on the line and in the city."""
_HIGH, _HIGH_FLIPS = _rappor("high", RAPPOR_HIGH_PRIVACY)
_LOW, _LOW_FLIPS = _rappor("low", RAPPOR_LOW_PRIVACY)
_KRR, _PLANAR_KRR = Part("k-rr", KRR_LINE), Part("k-rr", KRR_CITY)
_GEOMETRIC, _PLANAR = Part("geometric", GEOMETRIC_LINE), Part("geometric", GEOMETRIC_CITY)
_MIXED = (Part("geometric", MIXED_LINE_GEOMETRIC), Part("k-rr", MIXED_LINE_KRR))
_PLANAR_MIXED = (Part("geometric", MIXED_CITY_GEOMETRIC), Part("k-rr", MIXED_CITY_KRR))
_FIVE = "geometric and five k-RR"
_LISTED = (
    _HIGH,
    _LOW,
    Mixture("line-krr", "ten k-RR, line", "line", "V", (_KRR,)),
    Mixture("city-krr", "ten k-RR, city", "city", "V", (_PLANAR_KRR,)),
    Mixture("line-geometric", "ten geometric, line", "line", "VI", (_GEOMETRIC,)),
    Mixture("city-geometric", "ten planar geometric, city", "city", "VI", (_PLANAR,)),
    Mixture("line-mixed", f"five {_FIVE}, line", "line", "VII", _MIXED),
    Mixture("city-mixed", f"five planar {_FIVE}, city", "city", "VII", _PLANAR_MIXED),
    *SHOKRI,
    _HIGH_FLIPS,
    _LOW_FLIPS,
)
MIXTURES = {mixture.name: mixture for mixture in _LISTED}
