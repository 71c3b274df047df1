"""Surveys over the whole range of every mechanism, and byte streams that meet their chances.

A random stream tells two samplers apart only where their chances differ by much. A *tied* stream
follows the digits of each chance to the last one, and decides there: samplers that agree on it
have the same chances, bit by bit.
"""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np

import freewill as fw
from freewill.domain.draws.chance import Chance
from freewill.domain.draws.sources import GivenBytes
from freewill.domain.draws.tables import Table

_FEW_ZEROS = 200


COAST = [8, 3, 2, 4, 1, 1, 1, 3, 2, 2, 3]
"""Six by five cells with a bay, an island and a corner of sea."""


def surveys() -> list[fw.Survey]:
    """Return every mechanism, at epsilons from the least to the largest that it takes."""
    return [
        _survey(fw.Linear(0, 99), geometric=(5e-324, 1e-9, 0.05, 2.0, 40.0, 1e288), ldp=(1.0,)),
        _survey(fw.Linear(-3, 27, step=3), geometric=(0.1, 5.0), ldp=(5e-324, 45.0, 700.0)),
        _survey(fw.Linear(7, 8), geometric=(1e-300, 1.0, 300.0), ldp=(0.001, 120.0)),
        _survey(fw.Linear(0, 2), geometric=(20.0,), ldp=()),
        _survey(fw.Linear(0, 1_000_002), geometric=(1e-4,), krr=(1.0, 13.0)),
        _survey(fw.Linear(-(2**53), 2**53, step=2**50), geometric=(1e-16, 1e-15), ldp=(3.0,)),
        _survey(fw.Categorical([f"label {i}" for i in range(257)]), krr=(0.1, 5.0)),
        _survey(fw.Categorical(["yes", "no", "won't say"]), ldp=(1e-300, np.log(3.0), 20.0)),
        _survey(fw.Grid(24, 16, cell=0.5), planar=(0.19, 1.0, 10.0), krr=(3.0,)),
        _survey(fw.Grid(2, 2, cell=1.0), planar=(1e-289, 1e-12, 0.5, 2.0, 300.0, 1e289)),
        _survey(fw.Grid(5, 3, cell=(0.002, 0.001)), planar=(0.3, 100.0, 500.0)),
        _survey(fw.Grid(3, 3, cell=(1e-60, 1e60)), planar=(1e-60, 1e60)),
        _survey(fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, 6, 4), planar=(0.5, 4.0)),
        *_tables(),
        _survey(fw.Grid(6, 5, cell=(0.5, 0.7), mask=COAST), planar=(1e-9, 0.3, 2.0), ldp=(1.0,)),
    ]


def _survey(
    alphabet: Any,
    ldp: tuple[float, ...] = (),
    krr: tuple[float, ...] = (),
    geometric: tuple[float, ...] = (),
    planar: tuple[float, ...] = (),
) -> fw.Survey:
    offered: list[fw.Mechanism] = [fw.Identity(alphabet)]
    offered += [fw.KRR(alphabet, epsilon) for epsilon in (*ldp, *krr)]
    offered += [fw.RAPPOR(alphabet, epsilon) for epsilon in ldp]
    offered += [fw.Geometric(alphabet, epsilon) for epsilon in geometric]
    offered += [fw.PlanarGeometric(alphabet, epsilon) for epsilon in planar]
    return fw.Survey(alphabet, {str(one): one for one in offered})


def _tables() -> Iterator[fw.Survey]:
    rng = np.random.default_rng(14)
    line = fw.Linear(0, 9)
    wide = rng.dirichlet(np.full(300, 0.1), size=10)
    square = rng.dirichlet(np.ones(10), size=10)
    # Rows of denormal, rare, impossible and certain outputs, and rows that sum to 1 nearly.
    odd = square.copy()
    odd[0] = [1.0, *[0.0] * 9]
    odd[1] = [5e-324, 1e-300, 1e-17, 0.5, 0.25, 0.25, *[0.0] * 4]
    odd[2] = [0.125] * 8 + [0.0] * 2
    odd[3:] *= 1 + np.linspace(-9e-10, 9e-10, 7)[:, None]
    shy = fw.Categorical(["no", "yes", "1", "0"])
    yield fw.Survey(line, {"wide": fw.Matrix(line, wide)})
    yield fw.Survey(
        line,
        {
            "square": fw.Matrix(line, square),
            "odd": fw.Matrix(line, odd),
            "labels": fw.Matrix(line, square[:, :4] / square[:, :4].sum(axis=1)[:, None], shy),
            "shokri": fw.Shokri(line, 1.5),
            "blind": fw.Shokri(line, 100.0),
            "vertex": fw.Shokri(line, 1.5, selection="vertex"),
            "lopsided": _retired("coin", fw.Shokri(line, 1.0, prior=np.arange(10) / 45)),
        },
    )
    yield fw.Survey(
        city := fw.Grid(3, 2, cell=0.5), {"far": _retired("centre", fw.Shokri(city, 0.3))}
    )


def covers() -> list[fw.Survey]:
    """Return surveys with a cover, of both kinds and of epsilons from the least to the largest."""
    line, city = fw.Linear(0, 9, step=3), fw.Grid(3, 2, cell=0.5)
    ladder = {"shy": fw.KRR(line, 0.5), "near": fw.Geometric(line, 0.1), "bits": fw.RAPPOR(line, 2)}
    places = {"plane": fw.PlanarGeometric(city, 0.8), "k": fw.KRR(city, 5.0)}
    anything = {**ladder, "open": fw.Identity(line), "silent": fw.Silent(line)}
    return [
        *(fw.Survey(line, fw.Cover(ladder, epsilon)) for epsilon in (5e-324, 1.0, 40.0, 700.0)),
        fw.Survey(line, fw.Cover(anything, 1.0, towards="protection")),
        fw.Survey(city, fw.Cover(places, float(np.log(3)), towards="protection")),
    ]


def covered_cases(seed: int) -> list[dict[str, Any]]:
    """Return for each choice a stream that ties its announcement, and what Python makes of it."""
    cases = []
    for place, survey in enumerate(covers()):
        cover: Any = survey.cover
        for number, choice in enumerate(cover):
            index = (seed + number) % survey.alphabet.size
            announced = tied(cover.announcement, number, seed + place)
            stream = announced + np.random.default_rng(seed + number).bytes(4000)
            source = GivenBytes(stream)
            name, drawn = cover.draw(choice, index, source)
            report = written(cover[name], drawn)
            found = {"name": name, "bytes": stream[: source.used].hex(), "report": report}
            cases.append({"survey": place, "choice": choice, "index": index, **found})
    return cases


def _retired(selection: str, mechanism: fw.Shokri) -> fw.Mechanism:
    """Return a mechanism as surveys of release 0.1 name it, with its law beside it."""
    old: Any = fw.from_spec({**mechanism.spec(), "selection": selection})
    return old.with_law(mechanism.law())  # type: ignore[no-any-return]


def written(mechanism: fw.Mechanism, report: Any) -> Any:
    """Return a report as it travels: an index, or the text of bits or of a seed and a bucket."""
    if isinstance(report, int | str):
        return report
    return mechanism.output_space.texts(np.asarray(report)[None])[0].as_py()


def tied(mechanism: fw.Mechanism, index: int, seed: int) -> bytes:
    """Return a stream that follows every chance to its last digit, and then goes either way."""
    rng = np.random.default_rng(seed)
    recorded = bytearray()

    class Recorder:
        def byte(self) -> int:
            recorded.append(int(rng.integers(256)))
            return recorded[-1]

    def coin(chance: Chance, _: Any) -> bool:
        if not chance.numerator or chance.sure:
            return chance.sure
        zeros, digits = chance.digits
        if zeros > _FEW_ZEROS:
            recorded.append(1)
            return False
        yes = bool(rng.integers(2))
        recorded.extend(bytes(zeros) + digits[:-1] + bytes([digits[-1] - yes]))
        return yes

    def draw(table: Table, _: Any) -> int:
        total = table.cumulative[-1]
        width = -(-(total - 1).bit_length() // 8)
        # The last V of an index, or the first of the next; before it the first that is too large.
        edge = int(rng.choice(len(table.cumulative)))
        value = min(max(table.cumulative[edge] - int(rng.integers(2)), 0), total - 1)
        fits = (total - 1).bit_length() == total.bit_length()
        tries = [total, value] if fits else [value]
        stream = b"".join(number.to_bytes(width, "big") for number in tries)
        source = GivenBytes(stream)
        found = plainly(table, source)
        recorded.extend(stream[: source.used])
        return found

    plainly = Table.draw
    with patch.object(Chance, "coin", coin), patch.object(Table, "draw", draw):
        mechanism.draw(index, Recorder())
    return bytes(recorded)


def at_offset(mechanism: fw.PlanarGeometric, i: int, j: int, accepted: bool) -> bytes:
    """Return a stream that proposes an offset and follows the chance that it is accepted."""
    plan: list[bool] = []
    for steps, far in zip(mechanism.noise.steps, (i, j), strict=True):
        digits = [bool((far - 1) >> place & 1) for place in range(len(steps.digits))]
        plan += [True, True, False, *digits] if far else [False]
    recorded = bytearray()

    def coin(chance: Chance, _: Any) -> bool:
        if chance.sure:
            return True
        if plan:
            yes = plan.pop(0)
        else:
            yes = accepted
            # Refused, the next proposal is not to move, which is always accepted.
            plan.extend([False, False])
        zeros, digits = chance.digits
        recorded.extend(bytes(zeros) + digits[:-1] + bytes([digits[-1] - yes]))
        return yes

    with patch.object(Chance, "coin", coin):
        mechanism.draw(0, GivenBytes([]))
    return bytes(recorded)


def tied_cases(offered: list[fw.Survey], count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return so many tied streams for each mechanism, with what Python makes of them."""
    cases = []
    for place, survey in enumerate(offered):
        for name, mechanism in survey.mechanisms.items():
            if mechanism.name == "rappor" and mechanism.alphabet.size > 100:
                continue
            for number in range(count):
                index = (seed + 7 * number) % mechanism.alphabet.size
                stream = tied(mechanism, index, seed + number)
                source = GivenBytes(stream)
                report = written(mechanism, mechanism.draw(index, source))
                cases.append(
                    {
                        "survey": place,
                        "name": name,
                        "index": index,
                        "bytes": stream.hex(),
                        "report": report,
                        "used": source.used,
                    }
                )
    return cases
