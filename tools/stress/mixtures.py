"""Random mixtures: mixture i of a seed is always the same, whatever is drawn before it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

import freewill as fw
from freewill.core.types import FloatArray
from tools.stress.laws import Part, log_rows

LARGEST = 2000
_ENTRIES = 2_000_000
"""Entries of the law of what was observed: the oracle holds three such arrays in long double."""
_PEOPLE = 10**9
Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Mixture:
    """Mechanisms with what was reported through them, and the tolerance to be asked for."""

    number: int
    family: str
    alphabet: Any
    tol: float | None
    mechanisms: list[fw.Mechanism] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    @property
    def people(self) -> int:
        """How many people reported."""
        return sum(int(part.counts.sum()) for part in self.parts)

    @property
    def rows(self) -> int:
        """How many outputs there are, equal bits of different people included."""
        return sum(len(part.counts) for part in self.parts)

    def evidence(self) -> fw.Evidence:
        """Return the evidence that the library is given."""
        reports = [
            np.packbits(part.outputs, axis=1, bitorder="little")
            if part.kind == "rappor"
            else part.outputs
            for part in self.parts
        ]
        counts = [part.counts for part in self.parts]
        return fw.collect(list(zip(self.mechanisms, reports, counts, strict=True)))

    def __str__(self) -> str:
        tol = "default" if self.tol is None else f"{self.tol:.3g}"
        lines = [
            f"mixture {self.number} ({self.family}): {self.people:,} people, "
            f"{self.rows:,} outputs, {self.alphabet}, tol {tol}"
        ]
        for mechanism, part in zip(self.mechanisms, self.parts, strict=True):
            lines.append(
                f"  {int(part.counts.sum()):>13,} people {len(part.counts):>6,} {mechanism}"
            )
        return "\n".join(lines)


def mixture(seed: int, number: int, largest: int = LARGEST) -> Mixture:
    """Return mixture `number` of a seed, over at most so many values."""
    rng = np.random.default_rng([seed, number])
    names = list(FAMILIES)
    odds = np.array([FAMILIES[name][0] for name in names], dtype=np.float64)
    family = names[rng.choice(len(names), p=odds / odds.sum())]
    return _bounded(
        FAMILIES[family][1](rng, Mixture(number, family, None, _tolerance(rng)), largest)
    )


def _bounded(mix: Mixture) -> Mixture:
    """Thin the reports out to some 10^9, each output kept: the default tolerance is then 1e-11."""
    if mix.people <= _PEOPLE:
        return mix
    share = _PEOPLE / mix.people
    mix.parts[:] = [
        replace(part, counts=np.maximum(1, (part.counts * share).astype(np.int64)))
        for part in mix.parts
    ]
    return mix


def _tolerance(rng: Rng) -> float | None:
    """Return the default two times in three, or anything from 1e-13 to .1."""
    return None if rng.random() < 0.67 else _log_uniform(rng, 1e-13, 0.1)


def _log_uniform(rng: Rng, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _size(rng: Rng, largest: int, power: float = 2.0) -> int:
    """Return a size from 1 on: small ones more often, so that ten thousand are affordable."""
    return round(float(np.exp(rng.random() ** power * np.log(largest))))


def _people(rng: Rng) -> int:
    return int(_log_uniform(rng, 1, _PEOPLE))


def _truth(rng: Rng, size: int) -> FloatArray:
    """Return a uniform, a spiky, a sparse or a lumpy distribution."""
    shape = rng.integers(4)
    if shape == 0:
        return np.full(size, 1 / size)
    if shape == 1:
        weights = rng.random(size) * 1e-3
        weights[rng.integers(size)] += size
    elif shape == 2:
        weights = rng.random(size) * (rng.random(size) < min(1.0, 3 / size))
        weights[rng.integers(size)] += 1
    else:
        weights = rng.gamma(0.3, size=size) + 1e-12
    return np.asarray(weights / weights.sum())


def _add(rng: Rng, mix: Mixture, mechanism: fw.Mechanism, truth: FloatArray, people: int) -> None:
    """Let people report through a mechanism: by its law, all the same, or anything at all."""
    size = mix.alphabet.size
    law: dict[str, Any] = {"size": size, "epsilon": getattr(mechanism, "epsilon", 0.0)}
    kind = {"planar-geometric": "planar", "shokri": "matrix"}.get(mechanism.name, mechanism.name)
    if kind == "matrix":
        law["matrix"] = mechanism.matrix  # type: ignore[attr-defined]
    if isinstance(mix.alphabet, fw.Grid):
        law |= {"spacing": mix.alphabet.cell, "plane": mix.alphabet.plane}
    elif isinstance(mix.alphabet, fw.Linear):
        law["spacing"] = (float(mix.alphabet.step), 1.0)
    room = max(2, _ENTRIES // (size * 10))
    way = str(rng.choice(["drawn", "equal", "anything", "spread"], p=[0.6, 0.1, 0.15, 0.15]))
    if kind == "rappor":
        outputs = _bits(rng, way, min(people, room, 1500), truth, law["epsilon"])
        counts = _shares(rng, way, len(outputs), people)
    else:
        outputs = np.arange(law["matrix"].shape[1] if "matrix" in law else size)
        rows = log_rows(Part(kind, outputs, np.ones(outputs.size, np.int64), **law))
        counts = _counts(rng, way, np.exp(rows.astype(np.float64)) @ truth, people)
        # What nobody can have sent is refused, as other tests show.
        counts[np.isneginf(rows.max(axis=1))] = 0
        outputs, counts = outputs[counts > 0], counts[counts > 0]
    if len(outputs):
        mix.mechanisms.append(mechanism)
        mix.parts.append(Part(kind, outputs, counts, **law))


def _bits(rng: Rng, way: str, reports: int, truth: FloatArray, epsilon: float) -> Any:
    size = truth.size
    flip = 1 / (1 + np.exp(epsilon / 2))
    if way == "equal":
        row = rng.random(size) < rng.choice([0.0, 1.0, 0.5, 1 / size])
        return np.tile(row, (min(reports, 3), 1)).astype(np.uint8)
    bits = rng.random((reports, size)) < (flip if way != "anything" else rng.random())
    own = rng.choice(size, reports, p=truth)
    bits[np.arange(reports), own] ^= way != "anything"
    return bits.astype(np.uint8)


def _shares(rng: Rng, way: str, outputs: int, people: int) -> Any:
    """Spread people over outputs evenly, or over nine powers of ten."""
    if way == "spread":
        return np.maximum(1, np.exp(rng.uniform(0, np.log(_PEOPLE), outputs))).astype(np.int64)
    return np.full(outputs, max(1, people // max(outputs, 1)), dtype=np.int64)


def _counts(rng: Rng, way: str, law: FloatArray, people: int) -> Any:
    if way == "drawn":
        return rng.multinomial(people, law / law.sum())
    counts = np.zeros(law.size, dtype=np.int64)
    if way == "equal":
        counts[rng.integers(law.size)] = people
        return counts
    some = np.unique(rng.integers(law.size, size=min(people, law.size)))
    counts[some] = _shares(rng, way, some.size, people)
    return counts


def _alphabet(rng: Rng, size: int) -> Any:
    kind = rng.integers(3)
    if kind == 0:
        return fw.Categorical([str(value) for value in range(size)])
    if kind == 1:
        step = int(rng.choice([1, 1, 5, 100]))
        return fw.Linear(0, (size - 1) * step, step=step)
    rows = int(rng.integers(1, int(np.sqrt(size)) + 1))
    width = _log_uniform(rng, 0.05, 5)
    cell = width if rng.random() < 0.7 else (width, width * _log_uniform(rng, 0.5, 2))
    return fw.Grid(max(1, size // rows), rows, cell=cell)


def _epsilon(rng: Rng) -> float:
    return _log_uniform(rng, 1e-3, 700)


def _mechanism(rng: Rng, alphabet: Any) -> fw.Mechanism:
    """Return any mechanism that the alphabet takes."""
    kinds = ["identity", "matrix"]
    if alphabet.size > 1:
        kinds += ["k-rr", "k-rr", "rappor", "rappor"]
        kinds += ["geometric"] * 3 if isinstance(alphabet, fw.Linear) else []
        planar = isinstance(alphabet, fw.Grid) and min(alphabet.plane) > 1
        kinds += ["planar"] * 3 if planar else []
        kinds += ["shokri"] if 1 < alphabet.size <= 30 else []
    build: dict[str, Callable[[], fw.Mechanism]] = {
        "identity": lambda: fw.Identity(alphabet),
        "matrix": lambda: fw.Matrix(alphabet, _law(rng, min(alphabet.size, 300), alphabet.size)),
        "k-rr": lambda: fw.KRR(alphabet, _epsilon(rng)),
        "rappor": lambda: fw.RAPPOR(alphabet, _epsilon(rng)),
        "geometric": lambda: fw.Geometric(alphabet, _epsilon(rng)),
        "planar": lambda: fw.PlanarGeometric(alphabet, _epsilon(rng)),
        "shokri": lambda: _shokri(rng, alphabet),
    }
    return build[str(rng.choice(kinds))]()


def _law(rng: Rng, outputs: int, size: int) -> FloatArray:
    """Return a random law: dense, with zeros, or with entries down to the smallest there are."""
    outputs = max(1, int(rng.integers(1, outputs + 2)))
    law = rng.gamma(_log_uniform(rng, 0.05, 3), size=(size, outputs)) + 1e-300
    how = rng.integers(4)
    if how == 1:
        law *= rng.random((size, outputs)) < 0.4
    elif how == 2:
        law *= 10.0 ** -rng.choice([0, 0, 10, 100, 310, 320], size=(size, outputs))
    elif how == 3:
        # Whole outputs that are next to impossible, whatever the value is.
        law *= 10.0 ** -rng.choice([0, 0, 200, 310, 320], size=outputs)
    law[np.arange(size), rng.integers(outputs, size=size)] += 0.1
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def _shokri(rng: Rng, alphabet: Any) -> fw.Mechanism:
    share, selection = rng.choice([0.05, 0.3, 0.8, 1.2]), rng.choice(_SELECTIONS)
    return _solved(alphabet, float(share), str(selection))


_SELECTIONS = ["max-entropy", "vertex"]


@lru_cache(maxsize=256)
def _solved(alphabet: Any, share: float, selection: Any) -> fw.Mechanism:
    largest = fw.Shokri(alphabet, 1.0).problem.largest_loss
    return fw.Shokri(alphabet, share * largest, selection=selection)


def _any(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw one to ten mechanisms of any kind, and people for each over nine powers of ten."""
    mix = _over(mix, _alphabet(rng, _size(rng, largest)))
    truth, people = _truth(rng, mix.alphabet.size), _people(rng)
    if rng.random() < 0.15:
        people = int(rng.integers(1, 20))
    spread = rng.random() < 0.3
    while not mix.parts:
        for _ in range(int(_log_uniform(rng, 1, 10.99))):
            share = _log_uniform(rng, 1e-9, 1) if spread else rng.random()
            _add(rng, mix, _mechanism(rng, mix.alphabet), truth, max(1, int(share * people)))
    return mix


def _over(mix: Mixture, alphabet: Any) -> Mixture:
    return Mixture(mix.number, mix.family, alphabet, mix.tol)


def _one_kind(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw several mechanisms of one structure: where the solvers made for it are chosen."""
    size = max(4, _size(rng, largest))
    side = max(2, int(np.sqrt(size)))
    line, city = fw.Linear(0, size - 1), fw.Grid(side, side, cell=1.0)
    kind = rng.choice(["geometric", "planar", "k-rr", "rappor"])
    mix = _over(mix, city if kind == "planar" else line)
    build = {"geometric": fw.Geometric, "planar": fw.PlanarGeometric, "k-rr": fw.KRR}
    truth, people = _truth(rng, mix.alphabet.size), _people(rng)
    for _ in range(int(rng.integers(1, 6))):
        mechanism = build.get(str(kind), fw.RAPPOR)(mix.alphabet, _epsilon(rng))
        _add(rng, mix, mechanism, truth, people)
    return mix


def _sharp_planar(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Planar noise of some ten a cell, many people, and bit reports: tails far below rounding."""
    mix = _over(mix, fw.Grid(8, 8, cell=1.0))
    truth = _truth(rng, 64)
    for _ in range(int(rng.integers(1, 3))):
        epsilon = _log_uniform(rng, 4, 60)
        people = int(_log_uniform(rng, 1e6, 1e9))
        _add(rng, mix, fw.PlanarGeometric(mix.alphabet, epsilon), truth, people)
    _add(rng, mix, fw.RAPPOR(mix.alphabet, _log_uniform(rng, 0.5, 8)), truth, 1500)
    return mix


def _contradicting_bits(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Bits that an epsilon near 100 calls impossible: all set, none set, half of them."""
    size = max(2, _size(rng, min(largest, 300)))
    mix = _over(mix, fw.Linear(0, size - 1))
    truth = _truth(rng, size)
    for _ in range(int(rng.integers(1, 4))):
        mechanism = fw.RAPPOR(mix.alphabet, _log_uniform(rng, 40, 700))
        bits = rng.random((int(rng.integers(1, 40)), size)) < rng.random()
        bits[0], bits[-1] = 1, 0
        counts = _shares(rng, str(rng.choice(["spread", "even"])), len(bits), _people(rng))
        part = Part("rappor", bits.astype(np.uint8), counts, size, mechanism.epsilon)
        mix.mechanisms.append(mechanism)
        mix.parts.append(part)
    if rng.random() < 0.5:
        _add(rng, mix, _mechanism(rng, mix.alphabet), truth, _people(rng))
    return mix


def _long_line(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw several geometric mechanisms, and at times k-RR, on a line of 250 to 2,000 values."""
    size = int(_log_uniform(rng, min(250, largest / 2), largest))
    mix = _over(mix, fw.Linear(0, size - 1))
    truth, people = _truth(rng, size), _people(rng)
    for _ in range(int(rng.integers(1, 5))):
        _add(rng, mix, fw.Geometric(mix.alphabet, _log_uniform(rng, 1e-3, 5)), truth, people)
    if rng.random() < 0.4:
        _add(rng, mix, fw.KRR(mix.alphabet, _log_uniform(rng, 0.1, 10)), truth, people)
    return mix


def _few_bits(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw k-RR on up to 2,000 values, and a few bit reports beside it."""
    size = int(_log_uniform(rng, min(200, largest / 2), largest))
    mix = _over(mix, fw.Linear(0, size - 1))
    truth = _truth(rng, size)
    _add(rng, mix, fw.KRR(mix.alphabet, _log_uniform(rng, 0.5, 8)), truth, _people(rng))
    _add(rng, mix, fw.RAPPOR(mix.alphabet, _log_uniform(rng, 0.2, 8)), truth, 3)
    return mix


def _underflow(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw laws whose entries are at the end of what doubles can say, and reports against them."""
    size = max(2, _size(rng, min(largest, 100)))
    mix = _over(mix, fw.Linear(0, (size - 1) * 100, step=100))
    truth = np.full(size, 1 / size)
    kinds: list[Callable[[], fw.Mechanism]] = [
        lambda: fw.Geometric(mix.alphabet, _log_uniform(rng, 3, 700)),
        lambda: fw.KRR(mix.alphabet, _log_uniform(rng, 300, 700)),
        lambda: fw.RAPPOR(mix.alphabet, _log_uniform(rng, 300, 700)),
        lambda: fw.Matrix(mix.alphabet, _law(rng, size, size)),
    ]
    while not mix.parts:
        for _ in range(int(rng.integers(1, 5))):
            _add(rng, mix, kinds[rng.integers(len(kinds))](), truth, _people(rng))
    return mix


def _laws_with_zeros(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw laws with zeros: random ones, and those of Shokri et al. in all their selections."""
    small = [fw.Linear(0, 4), fw.Linear(0, 19), fw.Grid(4, 3, cell=0.5), fw.Grid(6, 4, cell=1.0)]
    mix = _over(mix, small[rng.integers(len(small))])
    truth, people = _truth(rng, mix.alphabet.size), _people(rng)
    while not mix.parts:
        for _ in range(int(rng.integers(1, 4))):
            law = _law(rng, mix.alphabet.size, mix.alphabet.size)
            other = fw.Matrix(mix.alphabet, law)
            mechanism = _shokri(rng, mix.alphabet) if rng.random() < 0.7 else other
            _add(rng, mix, mechanism, truth, people)
    return mix


FAMILIES: dict[str, tuple[float, Callable[[Rng, Mixture, int], Mixture]]] = {
    "any": (60, _any),
    "one kind": (15, _one_kind),
    "sharp planar": (6, _sharp_planar),
    "contradicting bits": (6, _contradicting_bits),
    "long line": (2, _long_line),
    "few bits": (1, _few_bits),
    "underflow": (5, _underflow),
    "zeros": (5, _laws_with_zeros),
}
"""How often each family is drawn, in hundredths."""
