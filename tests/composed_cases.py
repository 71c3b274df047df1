"""Mechanisms made of others, and their laws, written down from those of their parts."""

import itertools
import math
from typing import Any

import numpy as np

import freewill as fw
from freewill.domain.alphabets.groups import coarser
from naive_laws import (
    geometric_law,
    given_law,
    krr_law,
    line,
    menu,
    oue_chances,
    planar_law,
    rappor_law,
    subset_law,
    unary_law,
)

LAWS = {
    "k-rr": krr_law,
    "geometric": geometric_law,
    "rappor": rappor_law,
    "subset-selection": subset_law,
    "planar-geometric": planar_law,
    "oue": unary_law(oue_chances),
    "matrix": given_law,
}


def composed_law(mechanism: Any) -> np.ndarray:
    """The law of any nesting, entry by entry, from the laws of what it is made of."""
    match mechanism:
        case fw.Both():
            laws = [composed_law(part) for part in mechanism.parts]
            rows = []
            for x in range(mechanism.alphabet.size):
                row = [1.0]
                for law in laws:
                    row = [before * after for before in row for after in law[x].tolist()]
                rows.append(row)
            return np.array(rows)
        case fw.Silent():
            return np.ones((mechanism.alphabet.size, 1))
        case fw.Each() | fw.OneOf():
            return record_law(mechanism)
        case fw.Perhaps():
            inner = composed_law(mechanism.inner)
            silent = np.full((len(inner), 1), 1 - mechanism.chance)
            return np.hstack([silent, mechanism.chance * inner])
        case fw.Then():
            inner, many = composed_law(mechanism.inner), mechanism.output_alphabet.size
            law = np.zeros((len(inner), many))
            for x, row in enumerate(inner.tolist()):
                for chance, leads in zip(row, mechanism.map, strict=True):
                    for y in range(many):
                        share = leads[y] if isinstance(leads, tuple) else float(leads == y)
                        law[x, y] += chance * share
            return law
    return LAWS[mechanism.name](mechanism)


def record_law(mechanism: Any) -> np.ndarray:
    """The law of reports about records, a row a record; the last attribute fastest."""
    laws = [composed_law(part).tolist() for part in mechanism.parts]
    rows = []
    for record in itertools.product(*(range(len(law)) for law in laws)):
        own = [law[x] for law, x in zip(laws, record, strict=True)]
        if isinstance(mechanism, fw.Each):
            rows.append([math.prod(chances) for chances in itertools.product(*own)])
            continue
        drawn = [
            row
            for row, part in zip(own, mechanism.parts, strict=True)
            if not isinstance(part, fw.Silent)
        ]
        rows.append([chance / len(drawn) for row in drawn for chance in row])
    return np.array(rows)


def two_answers(size: int, epsilon: float) -> fw.Each:
    return fw.Each(age=fw.Geometric(line(size), epsilon), vote=fw.KRR(menu(3), epsilon / 2))


def bits_and_silence(size: int, epsilon: float) -> fw.Each:
    people = fw.Product(first=menu(2), age=line(size), vote=menu(2))
    parts = {"age": fw.RAPPOR(line(size), epsilon), "vote": fw.KRR(menu(2), epsilon)}
    return fw.Each(people, first=fw.Silent(), **parts)


def cells_and_table(size: int, epsilon: float) -> fw.Each:
    places, share = fw.Grid(size, 2, cell=0.5), 0.9 / (1 + epsilon)
    law = [[1 - share, share], [share / 2, 1 - share / 2]]
    return fw.Each(
        place=fw.PlanarGeometric(places, epsilon), vote=fw.Matrix(menu(2), np.array(law))
    )


def one_answer(size: int, epsilon: float) -> fw.OneOf:
    return fw.OneOf(age=fw.KRR(line(size), epsilon), vote=fw.OUE(menu(3), epsilon))


def one_place(size: int, epsilon: float) -> fw.OneOf:
    places = fw.Grid(size, 2, cell=0.5)
    people = fw.Product(place=places, never=menu(2), age=line(3))
    parts = {"place": fw.PlanarGeometric(places, epsilon), "age": fw.KRR(line(3), epsilon / 4)}
    return fw.OneOf(people, parts)


def two_kinds(size: int, epsilon: float) -> fw.Both:
    return fw.Both(fw.KRR(line(size), epsilon), fw.Geometric(line(size), epsilon))


def two_noises(size: int, epsilon: float) -> fw.Both:
    return fw.Both(fw.Geometric(line(size), epsilon), fw.Geometric(line(size), epsilon / 2))


def sets_and_values(size: int, epsilon: float) -> fw.Both:
    return fw.Both(fw.SubsetSelection(line(size), epsilon), fw.KRR(line(size), epsilon / 3))


def shy(size: int, epsilon: float) -> fw.Perhaps:
    return fw.Perhaps(fw.KRR(line(size), epsilon), 0.7)


def shy_bits(size: int, epsilon: float) -> fw.Perhaps:
    return fw.Perhaps(fw.RAPPOR(line(size), epsilon), 0.25)


def shy_twice(size: int, epsilon: float) -> fw.Perhaps:
    return fw.Perhaps(two_kinds(size, epsilon), 0.5)


def bins(size: int, epsilon: float) -> fw.Then:
    values = line(size)
    return fw.Geometric(values, epsilon).then(coarser(values, 2))  # type: ignore[return-value]


def by_chance(size: int, epsilon: float) -> fw.Then:
    rows = np.random.default_rng(size).dirichlet(np.ones(size + 1), size)
    rows[0] = np.eye(size + 1)[0]
    return fw.Then(fw.KRR(line(size), epsilon), rows)


def counted_bits(size: int, epsilon: float) -> fw.Then:
    """Whether the first value is named, and how many are."""
    space = fw.RAPPOR(line(size), epsilon).output_space
    ones = np.bitwise_count(space.all()).sum(axis=1, dtype=np.int64)
    return fw.Then(fw.RAPPOR(line(size), epsilon), 2 * ones + (space.all()[:, 0] & 1))


def silence_kept(size: int, epsilon: float) -> fw.Then:
    """Nothing stays nothing; of two reports the first is forgotten."""
    inner = shy_twice(size, epsilon)
    return fw.Then(inner, [0, *(1 + z for _ in range(size) for z in range(size))])


def composed(alphabet: Any, epsilon: float) -> fw.Survey:
    """Return mechanisms made of others in a survey: of kinds that every client knows."""
    values, sets = fw.KRR(alphabet, epsilon), fw.SubsetSelection(alphabet, epsilon)
    hashed, signs = fw.LocalHashing(alphabet, epsilon), fw.HadamardResponse(alphabet, epsilon)
    menu = {
        "both": fw.Both(values, fw.RAPPOR(alphabet, epsilon), hashed, signs, sets),
        "perhaps": fw.Perhaps(values, 0.3),
        "perhaps both": fw.Perhaps(fw.Both(hashed, fw.Perhaps(sets, 0.75)), 2.0**-9),
        "then": signs.then(np.arange(signs.output_space.size) % 3),
        "then by chance": values.then(np.full((alphabet.size, 3), [0.5, 0.25, 0.25])),
        "both then": fw.Both(values.then(np.arange(alphabet.size) // 2), values),
    }
    return fw.Survey(alphabet, menu, question="Which one is yours?")
