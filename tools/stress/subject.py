"""A mixture as functions are given it, and what the oracle knows of it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import freewill as fw
from freewill.core.types import BoolArray, FloatArray
from freewill.stats.information import decided_by_few
from tools.stress.covariance import Covariance
from tools.stress.laws import Long, Part, log_rows, whole
from tools.stress.mixtures import Mixture, Rng
from tools.stress.oracle import Oracle

_ROWS = 6
"""Functionals of a large alphabet that are asked for."""
ALL_ROWS = 64
"""Values up to which every share is asked for."""
_PULL = 0.5
"""People that are added to each value before the information is taken."""
_MOST_BITS = 400
"""Reports of bits of one mechanism in a sample."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A mixture with its evidence; what is computed of it is computed once."""

    mixture: Mixture

    @property
    def alphabet(self) -> Any:
        """The alphabet."""
        return self.mixture.alphabet

    @property
    def size(self) -> int:
        """How many values there are."""
        return int(self.mixture.alphabet.size)

    @cached_property
    def people(self) -> int:
        """How many people reported."""
        return self.mixture.people

    @property
    def parts(self) -> list[Part]:
        """What was reported."""
        return self.mixture.parts

    @cached_property
    def evidence(self) -> fw.Evidence:
        """What the library is given."""
        return self.mixture.evidence()

    @cached_property
    def fit(self) -> Any:
        """One fit, of which several questions are asked."""
        return fw.fit(self.evidence)

    @cached_property
    def theta(self) -> FloatArray:
        """The most likely theta: that it is has a judge of its own."""
        return np.asarray(self.fit.maximum.theta)

    @cached_property
    def oracle(self) -> Oracle:
        """The likelihood."""
        family = self.mixture.chosen_from
        return Oracle.of(self.parts, 1 if family is None else family.last + 1)

    @cached_property
    def inside(self) -> FloatArray:
        """theta_w: half a person a value is added to theta, less where values outnumber people."""
        added = _PULL * min(1.0, self.people / self.size)
        return np.asarray((self.people * self.theta + added) / (self.people + added * self.size))

    @cached_property
    def covariance(self) -> Covariance:
        """C at theta_w."""
        return Covariance(self.parts, self.inside)

    @cached_property
    def one_step(self) -> FloatArray | None:
        """theta_w + C (g - 1), None where rounding would be seen in it."""
        moved = self.covariance.moved(self.oracle.slope(self.inside))
        return None if moved is None else self.inside + moved

    def few(self, rows: FloatArray) -> BoolArray:
        """Say which functionals rest on few of many people, by the library's own rule.

        These have other errors than C's, which simulations judge: `python -m benchmarks.few`.
        """
        return decided_by_few(self.fit._expected(rows).shape, self.people)

    def rng(self, purpose: int) -> Rng:
        """Return a generator of its own for each purpose."""
        return np.random.default_rng([self.mixture.number, purpose])

    @cached_property
    def rows(self) -> FloatArray:
        """Functionals to ask for: every share of few values; else some shares, a set and a sum."""
        if self.size <= ALL_ROWS:
            return np.eye(self.size)
        rng = self.rng(1)
        shares = np.eye(self.size)[rng.integers(self.size, size=_ROWS - 2)]
        some = (rng.random(self.size) < rng.random()).astype(float)
        return np.vstack([shares, some, np.arange(self.size, dtype=float)])

    @cached_property
    def by_mechanism(self) -> list[tuple[fw.Mechanism, Part]]:
        """Each mechanism once, with all that was reported through it."""
        merged: dict[str, tuple[fw.Mechanism, list[Part]]] = {}
        for mechanism, part in zip(self.mixture.mechanisms, self.parts, strict=True):
            merged.setdefault(mechanism.id, (mechanism, []))[1].append(part)
        return [(mechanism, _joined(parts)) for mechanism, parts in merged.values()]

    def sample(self, rng: Rng, people: int, theta: FloatArray) -> fw.Evidence:
        """Draw evidence of other people with values from theta, who choose as these did."""
        parts: list[Any] = []
        for mechanism, part in self.by_mechanism:
            many = round(people * int(part.counts.sum()) / self.people)
            if many and part.kind == "rappor":
                values = rng.choice(self.size, size=min(many, _MOST_BITS), p=theta)
                parts.append((mechanism, mechanism.obfuscate(values, rng)))
            elif many:
                law = self._laws[mechanism.id] @ theta
                counts = rng.multinomial(many, law / law.sum())
                parts.append((mechanism, np.arange(law.size), counts))
        return fw.collect(parts)

    @cached_property
    def _laws(self) -> dict[str, FloatArray]:
        """P(z | x) of all outputs of each mechanism that has no bits, rounded to sum to 1."""
        laws = {}
        for mechanism, part in self.by_mechanism:
            if part.kind != "rappor":
                law = np.exp(log_rows(whole(part)))
                laws[mechanism.id] = np.asarray(law / law.sum(axis=0), dtype=np.float64)
        return laws


def _joined(parts: list[Part]) -> Part:
    """Return what was reported through one mechanism as one part, each output once."""
    outputs = np.concatenate([part.outputs for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    outputs, place = np.unique(outputs, axis=0, return_inverse=True)
    totals = np.zeros(len(outputs), dtype=np.int64)
    np.add.at(totals, place.ravel(), counts)
    return replace(parts[0], outputs=outputs, counts=totals)


def pair_logs(subject: Subject) -> tuple[list[Long], list[int]]:
    """Return log a_m(z | x) of each mechanism's reports, and how many people chose it."""
    logs = [log_rows(part) for _, part in subject.by_mechanism]
    return logs, [int(part.counts.sum()) for _, part in subject.by_mechanism]
