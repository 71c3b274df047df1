"""Small mechanisms with programs for browsers, of kinds that freewill.js has never heard of."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from tools.javascript.cases import tied

import freewill as fw
from composed_cases import composed
from freewill.domain.alphabets.base import distances
from freewill.domain.draws.chance import Chance, Dyadic, exponential, precision, share
from freewill.domain.draws.sources import GivenBytes, Source
from freewill.domain.draws.tables import Table, whole_weights
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism, Noisy
from freewill.domain.mechanisms.matrix import Tabulated
from freewill.domain.outputs import Hashed, Symbols
from freewill.domain.packed_outputs import Bits
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.operators.moments import BitMoments
from freewill.numeric.operators.support import BitOperator
from naive_draws import bucket_of, drawn, packed


def chance_of(x: float, times: int = 1, others: int = 1) -> list[Any]:
    """Return times e^-x / (1 + others e^-x), rounded up, as a program has it."""
    exponent = Dyadic.of(x)
    bits = precision(exponent, times.bit_length())
    found = Chance.up(*share(exponential(exponent, bits), times, others), bits)
    return [f"{found.numerator:x}", found.shift]


def complement(chance: list[Any]) -> list[Any]:
    return [f"{(1 << chance[1]) - int(chance[0], 16):x}", chance[1]]


class Drawn(Noisy):
    """A mechanism that draws by its program."""

    def _report(self, value: int, source: Source) -> Any:
        report = drawn(self.program(), self.alphabet.size, value, source)
        return np.frombuffer(bytes.fromhex(report), np.uint8) if self._bits else report

    @property
    def _bits(self) -> bool:
        return isinstance(self.output_space, Bits)


@dataclass(frozen=True)
class HalfBits(Drawn):
    """Optimised unary encoding: the own bit by 1/2, any other by 1 / (e^epsilon + 1)."""

    alphabet: Any
    epsilon: float
    name: ClassVar[str] = "half-bits"

    @property
    def output_space(self):
        return Bits(self.alphabet.size)

    def program(self):
        return {"draw": "unary", "own": ["1", 1], "other": chance_of(self.epsilon)}

    def operator(self, outputs):
        bits = self.output_space.checked(outputs, self.name)
        ones = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
        stray = 1 / (np.exp(self.epsilon) + 1)
        scale = np.log(0.5) + (ones - 1) * np.log(stray)
        scale = scale + (self.alphabet.size - ones) * np.log1p(-stray)
        rare = float(np.exp(-self.epsilon))
        return BitOperator(bits, self.alphabet.size, -self.epsilon, 1 - rare, scale)


@dataclass(frozen=True)
class Few(HalfBits):
    """Subset selection: `length` values, the own among them with odds of e^epsilon each."""

    length: int = 2
    name: ClassVar[str] = "few"

    def program(self):
        # The chance to leave it out is (k - d) / (d e^epsilon + k - d), rounded up.
        size, length = self.alphabet.size, self.length
        out = _ratio_up(self.epsilon, length, size - length)
        return {"draw": "subset", "length": length, "own": complement(out)}


def _ratio_up(epsilon: float, inside: int, outside: int) -> list[Any]:
    """Return outside / (inside e^epsilon + outside), rounded up."""
    exponent = Dyadic.of(epsilon)
    bits = precision(exponent, 32)
    total, working, halvings = exponential(exponent, bits)
    whole = (inside << working) + ((outside * total) >> halvings)
    found = Chance.up((outside * total << working) // whole, working + halvings, bits)
    return [f"{found.numerator:x}", found.shift]


@dataclass(frozen=True)
class Groups(Drawn):
    """Local hashing: the bucket of the value by a seed of one's own, answered by g-RR."""

    alphabet: Any
    epsilon: float
    buckets: int = 4
    name: ClassVar[str] = "groups"

    @property
    def output_space(self):
        return Hashed(self.buckets)

    def program(self):
        replaced = chance_of(self.epsilon, self.buckets, self.buckets - 1)
        return {"draw": "hash", "buckets": self.buckets, "replaced": replaced, "hash": "fmix32"}

    def operator(self, outputs):
        pairs = self.output_space.checked(outputs, self.name).tolist()
        values = range(self.alphabet.size)
        member = [[bucket_of(s, x, self.buckets) == b for x in values] for s, b in pairs]
        rare = float(np.exp(-self.epsilon))
        scale = np.full(len(pairs), -np.log1p((self.buckets - 1) * rare) - 32 * np.log(2))
        bits = np.packbits(
            np.array(member, bool).reshape(-1, len(values)), axis=1, bitorder="little"
        )
        return BitOperator(bits, self.alphabet.size, -self.epsilon, 1 - rare, scale)

    def moments(self, theta):
        return BitMoments(theta, 1 / self.buckets, float(np.expm1(self.epsilon)))


@dataclass(frozen=True)
class Signs(Drawn):
    """Hadamard response: a sign of the half that stands for the value, mostly."""

    alphabet: Any
    epsilon: float
    name: ClassVar[str] = "signs"

    @property
    def order(self):
        return 1 << self.alphabet.size.bit_length()

    @property
    def output_space(self):
        return Symbols(fw.Linear(0, self.order - 1))

    def program(self):
        own = complement(chance_of(self.epsilon))
        return {"draw": "hadamard", "order": self.order, "own": own}

    def operator(self, outputs):
        rows = np.arange(1, self.alphabet.size + 1)
        even = np.bitwise_count(np.asarray(outputs)[:, None] & rows) % 2 == 0
        own = 1 / (1 + np.exp(-self.epsilon))
        return DenseOperator(np.where(even, own, 1 - own) * 2 / self.order)


@dataclass(frozen=True)
class Blocks(Drawn):
    """Hadamard response in blocks: a sign of the half of its block that stands for the value."""

    alphabet: Any
    epsilon: float
    blocks: int = 2
    name: ClassVar[str] = "blocks"

    @property
    def order(self):
        return 2 ** math.ceil(math.log2(self.alphabet.size / self.blocks + 1))

    @property
    def output_space(self):
        return Symbols(fw.Linear(0, self.blocks * self.order - 1))

    def program(self):
        others = 2 * self.blocks - 1
        own = complement(chance_of(self.epsilon, others, others))
        return {"draw": "hadamard", "order": self.order, "own": own, "blocks": self.blocks}

    def operator(self, outputs):
        block, column = np.divmod(np.asarray(outputs)[:, None], self.order)
        values = np.arange(self.alphabet.size)
        even = np.bitwise_count(column & (values // self.blocks + 1)) % 2 == 0
        odds = np.where((block == values % self.blocks) & even, np.exp(self.epsilon), 1.0)
        return DenseOperator(odds / (self.order / 2 * (np.exp(self.epsilon) + 2 * self.blocks - 1)))


@dataclass(frozen=True)
class Near(Tabulated, Noisy):
    """The exponential mechanism: a table, with a promise by distance."""

    alphabet: Any
    epsilon: float
    name: ClassVar[str] = "near"
    promise: ClassVar[str] = "geo"

    @property
    def matrix(self) -> Any:  # type: ignore[override]
        law = np.exp(-self.epsilon / 2 * distances(self.alphabet))
        return law / law.sum(axis=1, keepdims=True)

    def _table(self, value):
        return Table.of(whole_weights(self.matrix[value]))

    def program(self):
        return {"draw": "table", "law": self.matrix.tolist()}


@dataclass(frozen=True)
class Aside(Near):
    """A table whose outputs are signs, with a promise of any two values."""

    name: ClassVar[str] = "aside"
    promise: ClassVar[str] = "ldp"

    @property
    def matrix(self) -> Any:  # type: ignore[override]
        odds = np.exp(self.epsilon * np.linspace(0, 1, self.alphabet.size))[:, None]
        return np.hstack([odds / (1 + odds), 1 / (1 + odds)])

    @property
    def output_space(self):
        return Symbols(fw.Categorical(["left", "right"]))


KINDS: tuple[type[Mechanism], ...] = (HalfBits, Few, Groups, Signs, Blocks, Near, Aside)


def programmed(alphabet: Any, epsilon: float, length: int = 2, buckets: int = 4) -> fw.Survey:
    """Return one of each kind in a survey."""
    menu = {
        "half": HalfBits(alphabet, epsilon),
        "few": Few(alphabet, epsilon, length),
        "groups": Groups(alphabet, epsilon, buckets),
        "signs": Signs(alphabet, epsilon),
        "near": Near(alphabet, epsilon / float(distances(alphabet).max())),
        "aside": Aside(alphabet, epsilon),
    }
    return fw.Survey(alphabet, menu, question="Which one is yours?")


def in_blocks(alphabet: Any, epsilon: float, *blocks: int) -> fw.Survey:
    """Return Hadamard response in so many blocks, a mechanism each, in a survey."""
    menu = {f"{many} blocks": Blocks(alphabet, epsilon, many) for many in blocks}
    return fw.Survey(alphabet, menu, question="Which one is yours?")


def law_of(program: Any, size: int, value: int) -> dict[Any, float]:
    """Return the chance of each report from a value, by the formula; of seeds, of what they do."""
    near = {
        name: int(program[name][0], 16) / (1 << program[name][1])
        for name in ("own", "other", "replaced")
        if name in program
    }
    everyone = range(1 << size)
    match program["draw"]:
        case "unary":
            found = {}
            for v in everyone:
                each = [near["own" if x == value else "other"] for x in range(size)]
                parts = [p if v >> x & 1 else 1 - p for x, p in enumerate(each)]
                found[packed({x for x in range(size) if v >> x & 1}, size)] = math.prod(parts)
            return found
        case "subset":
            d, own = program["length"], near["own"]
            sets = [v for v in everyone if v.bit_count() == d]
            inside = own / math.comb(size - 1, d - 1)
            outside = (1 - own) / math.comb(size - 1, d)
            return {
                packed({x for x in range(size) if v >> x & 1}, size): (
                    inside if v >> value & 1 else outside
                )
                for v in sets
            }
        case "hadamard":
            order, own, blocks = program["order"], near["own"], program.get("blocks", 1)
            row, first = value // blocks + 1, value % blocks * order
            mine = {first + y for y in range(order) if (y & row).bit_count() % 2 == 0}
            inside, outside = own * 2 / order, (1 - own) * 2 / order / (2 * blocks - 1)
            return {y: inside if y in mine else outside for y in range(blocks * order)}
        case "table":
            return dict(enumerate(program["law"][value]))
    raise ValueError(program["draw"])


def promised(survey: fw.Survey, name: str) -> Guarantee:
    """Return what a mechanism of a survey promises."""
    promise = survey.mechanisms[name].guarantee()
    assert isinstance(promise, Guarantee)
    return promise


VECTORS = Path(__file__).parent / "program_vectors.json"


def vectors() -> dict[str, Any]:
    """Return surveys, and reports that every client must draw from given bytes."""
    rng, cases = np.random.default_rng(26), []
    offered = [
        programmed(fw.Linear(0, 9), 1.0, 3),
        programmed(fw.Categorical(list("abcde")), 0.01),
        programmed(fw.Grid(3, 2, cell=0.5), 5.0, 4, 7),
        in_blocks(fw.Linear(0, 19), 3.0, 2, 7, 10),
        in_blocks(fw.Categorical(list("abcde")), 40.0, 3, 5),
        composed(fw.Linear(0, 9), 1.0),
        composed(fw.Linear(0, 29), 0.25),
    ]
    for place, survey in enumerate(offered):
        programs = survey.for_devices()["programs"]
        for name, mechanism in survey.mechanisms.items():
            for number in range(4):
                index = int(rng.integers(survey.alphabet.size))
                stream = tied(mechanism, index, number) if number % 2 else rng.bytes(200)
                source = GivenBytes(stream)
                report = drawn(programs[name], survey.alphabet.size, index, source)
                case = {"survey": place, "name": name, "index": index, "report": report}
                used = {"bytes": stream[: source.used].hex(), "used": source.used}
                cases.append({**case, **used})
    return {"surveys": [survey.for_devices() for survey in offered], "cases": cases}
