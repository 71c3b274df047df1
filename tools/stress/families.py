"""Families of random mixtures: mixture i of a seed is always the same, whatever came before."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import freewill as fw
from tools.stress.laws import Part
from tools.stress.mixtures import (
    Mixture,
    Rng,
    add,
    any_alphabet,
    any_epsilon,
    any_law,
    any_mechanism,
    any_people,
    any_size,
    any_truth,
    bounded,
    log_uniform,
    noises,
    shares,
    shokri,
    tolerance,
)

LARGEST = 2000
_MANY_ENTRIES = 1_000_000
"""Entries of the laws of many mechanisms together."""


def _any(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw one to ten mechanisms of any kind, and people for each over nine powers of ten."""
    mix = over(mix, any_alphabet(rng, any_size(rng, largest)))
    truth, people = any_truth(rng, mix.alphabet.size), any_people(rng)
    if rng.random() < 0.15:
        people = int(rng.integers(1, 20))
    spread = rng.random() < 0.3
    while not mix.parts:
        for _ in range(int(log_uniform(rng, 1, 10.99))):
            share = log_uniform(rng, 1e-9, 1) if spread else rng.random()
            add(rng, mix, any_mechanism(rng, mix.alphabet), truth, max(1, int(share * people)))
    return mix


def over(mix: Mixture, alphabet: Any) -> Mixture:
    """Return a mixture without mechanisms, over an alphabet."""
    return Mixture(mix.number, mix.family, alphabet, mix.tol)


def _one_kind(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw several mechanisms of one structure: where the solvers made for it are chosen."""
    size = max(4, any_size(rng, largest))
    side = max(2, int(np.sqrt(size)))
    line, city = fw.Linear(0, size - 1), fw.Grid(side, side, cell=1.0)
    kind = rng.choice(["geometric", "planar", "k-rr", "rappor"])
    mix = over(mix, city if kind == "planar" else line)
    build = {"geometric": fw.Geometric, "planar": fw.PlanarGeometric, "k-rr": fw.KRR}
    truth, people = any_truth(rng, mix.alphabet.size), any_people(rng)
    for _ in range(int(rng.integers(1, 6))):
        mechanism = build.get(str(kind), fw.RAPPOR)(mix.alphabet, any_epsilon(rng))
        add(rng, mix, mechanism, truth, people)
    return mix


def _sharp_planar(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Planar noise of some ten a cell, many people, and bit reports: tails far below rounding."""
    mix = over(mix, fw.Grid(8, 8, cell=1.0))
    truth = any_truth(rng, 64)
    for _ in range(int(rng.integers(1, 3))):
        epsilon = log_uniform(rng, 4, 60)
        people = int(log_uniform(rng, 1e6, 1e9))
        add(rng, mix, fw.PlanarGeometric(mix.alphabet, epsilon), truth, people)
    add(rng, mix, fw.RAPPOR(mix.alphabet, log_uniform(rng, 0.5, 8)), truth, 1500)
    return mix


def _contradicting_bits(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Bits that an epsilon near 100 calls impossible: all set, none set, half of them."""
    size = max(2, any_size(rng, min(largest, 300)))
    mix = over(mix, fw.Linear(0, size - 1))
    truth = any_truth(rng, size)
    for _ in range(int(rng.integers(1, 4))):
        mechanism = fw.RAPPOR(mix.alphabet, log_uniform(rng, 40, 700))
        bits = rng.random((int(rng.integers(1, 40)), size)) < rng.random()
        bits[0], bits[-1] = 1, 0
        counts = shares(rng, str(rng.choice(["spread", "even"])), len(bits), any_people(rng))
        part = Part("rappor", bits.astype(np.uint8), counts, size, mechanism.epsilon)
        mix.mechanisms.append(mechanism)
        mix.parts.append(part)
    if rng.random() < 0.5:
        add(rng, mix, any_mechanism(rng, mix.alphabet), truth, any_people(rng))
    return mix


def _long_line(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw several geometric mechanisms, and at times k-RR, on a line of 250 to 2,000 values."""
    size = int(log_uniform(rng, min(250, largest / 2), largest))
    mix = over(mix, fw.Linear(0, size - 1))
    truth, people = any_truth(rng, size), any_people(rng)
    for _ in range(int(rng.integers(1, 5))):
        add(rng, mix, fw.Geometric(mix.alphabet, log_uniform(rng, 1e-3, 5)), truth, people)
    if rng.random() < 0.4:
        add(rng, mix, fw.KRR(mix.alphabet, log_uniform(rng, 0.1, 10)), truth, people)
    return mix


def _few_bits(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw k-RR on up to 2,000 values, and a few bit reports beside it."""
    size = int(log_uniform(rng, min(200, largest / 2), largest))
    mix = over(mix, fw.Linear(0, size - 1))
    truth = any_truth(rng, size)
    add(rng, mix, fw.KRR(mix.alphabet, log_uniform(rng, 0.5, 8)), truth, any_people(rng))
    add(rng, mix, fw.RAPPOR(mix.alphabet, log_uniform(rng, 0.2, 8)), truth, 3)
    return mix


def _underflow(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw laws whose entries are at the end of what doubles can say, and reports against them."""
    size = max(2, any_size(rng, min(largest, 100)))
    mix = over(mix, fw.Linear(0, (size - 1) * 100, step=100))
    truth = np.full(size, 1 / size)
    kinds: list[Callable[[], fw.Mechanism]] = [
        lambda: fw.Geometric(mix.alphabet, log_uniform(rng, 3, 700)),
        lambda: fw.KRR(mix.alphabet, log_uniform(rng, 300, 700)),
        lambda: fw.RAPPOR(mix.alphabet, log_uniform(rng, 300, 700)),
        lambda: fw.Matrix(mix.alphabet, any_law(rng, size, size)),
    ]
    while not mix.parts:
        for _ in range(int(rng.integers(1, 5))):
            add(rng, mix, kinds[rng.integers(len(kinds))](), truth, any_people(rng))
    return mix


def _laws_with_zeros(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw laws with zeros: random ones, and those of Shokri et al. in all their selections."""
    small = [fw.Linear(0, 4), fw.Linear(0, 19), fw.Grid(4, 3, cell=0.5), fw.Grid(6, 4, cell=1.0)]
    mix = over(mix, small[rng.integers(len(small))])
    truth, people = any_truth(rng, mix.alphabet.size), any_people(rng)
    while not mix.parts:
        for _ in range(int(rng.integers(1, 4))):
            law = any_law(rng, mix.alphabet.size, mix.alphabet.size)
            other = fw.Matrix(mix.alphabet, law)
            mechanism = shokri(rng, mix.alphabet) if rng.random() < 0.7 else other
            add(rng, mix, mechanism, truth, people)
    return mix


def _large(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw one to three mechanisms on more than 1,024 values, where no covariance is an array."""
    size = int(log_uniform(rng, min(1025, largest / 2), largest))
    mix = over(mix, any_alphabet(rng, size))
    truth, people = any_truth(rng, mix.alphabet.size), any_people(rng)
    while not mix.parts:
        for _ in range(int(rng.integers(1, 4))):
            epsilon = log_uniform(rng, 0.01, 10)
            add(rng, mix, any_mechanism(rng, mix.alphabet, epsilon), truth, people)
    return mix


def _many_mechanisms(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw up to 2,000 mechanisms, of one kind or any, each with an epsilon of its own."""
    mix = over(mix, any_alphabet(rng, int(log_uniform(rng, 2, min(largest, 60)))))
    size = mix.alphabet.size
    truth, people = any_truth(rng, size), any_people(rng)
    count = int(log_uniform(rng, 50, min(2000, max(51, _MANY_ENTRIES // size**2))))
    kind = None if rng.random() < 0.3 else str(rng.choice(noises(mix.alphabet)))
    for share in rng.dirichlet(np.ones(count)):
        mechanism = any_mechanism(rng, mix.alphabet, kind=kind)
        add(rng, mix, mechanism, truth, max(1, int(share * people)), most_bits=3)
    return mix


_KINDS: dict[str, Any] = {
    "geometric": fw.Geometric, "planar": fw.PlanarGeometric, "k-rr": fw.KRR, "rappor": fw.RAPPOR
}  # fmt: skip


def _levels(rng: Rng, mix: Mixture, largest: int) -> Mixture:
    """Draw members of one family, whose reports say their level."""
    alphabet = any_alphabet(rng, int(log_uniform(rng, 4, min(largest, 300))))
    low, levels = log_uniform(rng, 0.01, 1), int(log_uniform(rng, 2, 200))
    noise = noises(alphabet)
    if noise == ["identity"]:  # one value alone, of a grid that leaves all others out
        alphabet, noise = fw.Linear(0, 3), ["k-rr", "geometric"]
    kind = _KINDS[str(rng.choice(noise))]
    family = fw.Family(kind, alphabet, (low, low * levels), step=low)
    mix = replace(over(mix, alphabet), chosen_from=family)
    truth, people = any_truth(rng, alphabet.size), any_people(rng)
    for level in rng.integers(family.last + 1, size=int(log_uniform(rng, 1, 40))):
        mechanism = family.member(int(level))
        add(rng, mix, mechanism, truth, max(1, int(rng.random() * people)), most_bits=50)
    return mix


FAMILIES: dict[str, tuple[float, Callable[[Rng, Mixture, int], Mixture]]] = {
    "any": (53.5, _any),
    "levels": (3, _levels),
    "one kind": (15, _one_kind),
    "sharp planar": (6, _sharp_planar),
    "contradicting bits": (6, _contradicting_bits),
    "long line": (2, _long_line),
    "few bits": (1, _few_bits),
    "large": (2, _large),
    "many mechanisms": (1.5, _many_mechanisms),
    "underflow": (5, _underflow),
    "zeros": (5, _laws_with_zeros),
}
"""How often each family is drawn, in hundredths."""


def mixture(seed: int, number: int, largest: int = LARGEST) -> Mixture:
    """Return mixture `number` of a seed, over at most so many values."""
    rng = np.random.default_rng([seed, number])
    names = list(FAMILIES)
    odds = np.array([FAMILIES[name][0] for name in names], dtype=np.float64)
    family = names[rng.choice(len(names), p=odds / odds.sum())]
    return bounded(FAMILIES[family][1](rng, Mixture(number, family, None, tolerance(rng)), largest))
