"""A mixture, and what it is drawn from: alphabets, mechanisms, truths, people and reports."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

import freewill as fw
from freewill.core.types import FloatArray
from tools.stress.laws import Part, log_rows

_ENTRIES = 2_000_000
"""Entries of the law of what was observed: the oracle holds three such arrays in long double."""
_PEOPLE = 10**9
_MASKED = 0.3
"""Share of grids that leave cells out."""
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
    chosen_from: fw.Family | None = None
    """The family whose members the mechanisms are, where evidence is of reports with a level."""

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
        if self.chosen_from is not None:
            space, level = self.chosen_from.output_space, self.chosen_from.level
            each: Any = zip(self.mechanisms, reports, strict=True)
            reports = [space.joined([np.full(len(r), level(m.epsilon)), r]) for m, r in each]
            return fw.collect(
                [(self.chosen_from, *one) for one in zip(reports, counts, strict=True)]
            )
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


def bounded(mix: Mixture) -> Mixture:
    """Thin the reports out to some 10^9, each output kept: the default tolerance is then 1e-11."""
    if mix.people <= _PEOPLE:
        return mix
    share = _PEOPLE / mix.people
    mix.parts[:] = [
        replace(part, counts=np.maximum(1, (part.counts * share).astype(np.int64)))
        for part in mix.parts
    ]
    return mix


def tolerance(rng: Rng) -> float | None:
    """Return the default two times in three, or anything from 1e-13 to .1."""
    return None if rng.random() < 0.67 else log_uniform(rng, 1e-13, 0.1)


def log_uniform(rng: Rng, low: float, high: float) -> float:
    """Return a number that is uniform in its logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def any_size(rng: Rng, largest: int, power: float = 2.0) -> int:
    """Return a size from 1 on: small ones more often, so that ten thousand are affordable."""
    return round(float(np.exp(rng.random() ** power * np.log(largest))))


def any_people(rng: Rng) -> int:
    """Return a number of people over nine powers of ten."""
    return int(log_uniform(rng, 1, _PEOPLE))


def any_truth(rng: Rng, size: int) -> FloatArray:
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


def add(
    rng: Rng,
    mix: Mixture,
    mechanism: fw.Mechanism,
    truth: FloatArray,
    people: int,
    most_bits: int = 1500,
) -> None:
    """Let people report through a mechanism: by its law, all the same, or anything at all."""
    size = mix.alphabet.size
    law: dict[str, Any] = {"size": size, "epsilon": getattr(mechanism, "epsilon", 0.0)}
    kind = {"planar-geometric": "planar", "shokri": "matrix"}.get(mechanism.name, mechanism.name)
    if kind == "matrix":
        law["matrix"] = mechanism.matrix  # type: ignore[attr-defined]
    if isinstance(mix.alphabet, fw.Grid):
        law |= {"spacing": mix.alphabet.cell, "plane": mix.alphabet.whole.plane}
        law |= {} if mix.alphabet.mask is None else {"kept": mix.alphabet.cells}
    elif isinstance(mix.alphabet, fw.Linear):
        law["spacing"] = (float(mix.alphabet.step), 1.0)
    room = max(2, _ENTRIES // (size * 10))
    way = str(rng.choice(["drawn", "equal", "anything", "spread"], p=[0.6, 0.1, 0.15, 0.15]))
    if kind == "rappor":
        outputs = _bits(rng, way, min(people, room, most_bits), truth, law["epsilon"])
        counts = shares(rng, way, len(outputs), people)
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


def shares(rng: Rng, way: str, outputs: int, people: int) -> Any:
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
    counts[some] = shares(rng, way, some.size, people)
    return counts


def any_alphabet(rng: Rng, size: int) -> Any:
    """Return labels, a line or a grid."""
    kind = rng.integers(3)
    if kind == 0:
        return fw.Categorical([str(value) for value in range(size)])
    if kind == 1:
        # Ages, years, seconds since 1970.
        step, first = int(rng.choice([1, 1, 5, 100])), int(rng.choice([0, 0, 1900, 10**9]))
        return fw.Linear(first, first + (size - 1) * step, step=step)
    rows = int(rng.integers(1, int(np.sqrt(size)) + 1))
    width = log_uniform(rng, 0.05, 5)
    cell = width if rng.random() < 0.7 else (width, width * log_uniform(rng, 0.5, 2))
    columns = max(1, size // rows)
    if rng.random() < _MASKED:
        kept = rng.random((rows, columns)) < rng.uniform(0.2, 1)
        kept[rng.integers(rows), rng.integers(columns)] = True
        return fw.Grid(columns, rows, cell=(1.0, float(rng.integers(1, 4))), mask=kept)
    return fw.Grid(columns, rows, cell=cell)


def any_epsilon(rng: Rng) -> float:
    """Return an epsilon from one that tells nothing to one that hides nothing."""
    return log_uniform(rng, 1e-3, 700)


def noises(alphabet: Any) -> list[str]:
    """Name the kinds of noise that an alphabet of two values or more takes."""
    planar = isinstance(alphabet, fw.Grid) and min(alphabet.columns, alphabet.rows) > 1
    own = ["geometric"] * isinstance(alphabet, fw.Linear) + ["planar"] * planar
    return ["k-rr", "rappor", *own] if alphabet.size > 1 else ["identity"]


def any_mechanism(
    rng: Rng, alphabet: Any, epsilon: float | None = None, kind: str | None = None
) -> fw.Mechanism:
    """Return any mechanism that the alphabet takes, or any of a kind."""
    kinds = ["identity", "matrix"]
    if alphabet.size > 1:
        kinds += ["k-rr", "rappor"] * 2 + noises(alphabet)[2:] * 3
        kinds += ["shokri"] if alphabet.size <= 30 else []
    level = any_epsilon(rng) if epsilon is None else epsilon
    build: dict[str, Callable[[], fw.Mechanism]] = {
        "identity": lambda: fw.Identity(alphabet),
        "matrix": lambda: fw.Matrix(alphabet, any_law(rng, min(alphabet.size, 300), alphabet.size)),
        "k-rr": lambda: fw.KRR(alphabet, level),
        "rappor": lambda: fw.RAPPOR(alphabet, level),
        "geometric": lambda: fw.Geometric(alphabet, level),
        "planar": lambda: fw.PlanarGeometric(alphabet, level),
        "shokri": lambda: shokri(rng, alphabet),
    }
    return build[kind or str(rng.choice(kinds))]()


def any_law(rng: Rng, outputs: int, size: int) -> FloatArray:
    """Return a random law: dense, with zeros, or with entries down to the smallest there are."""
    outputs = max(1, int(rng.integers(1, outputs + 2)))
    law = rng.gamma(log_uniform(rng, 0.05, 3), size=(size, outputs)) + 1e-300
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


def shokri(rng: Rng, alphabet: Any) -> fw.Mechanism:
    """Return an optimal mechanism of Shokri et al., solved once for each alphabet and bound."""
    share, selection = rng.choice([0.05, 0.3, 0.8, 1.2]), rng.choice(_SELECTIONS)
    return _solved(alphabet, float(share), str(selection))


_SELECTIONS = ["max-entropy", "vertex"]


@lru_cache(maxsize=256)
def _solved(alphabet: Any, share: float, selection: Any) -> fw.Mechanism:
    largest = fw.Shokri(alphabet, 1.0).problem.largest_loss
    return fw.Shokri(alphabet, share * largest, selection=selection)
