"""The whole numbers under freewill.js, one function at a time, beside Python's."""

import itertools
import math

import numpy as np
import pytest
from tools.javascript import evaluated, node

from device_cases import skipped
from freewill.domain.draws.chance import Chance, Dyadic, exponential, ln2
from freewill.domain.draws.sources import GivenBytes, below
from freewill.domain.draws.tables import Table

pytestmark = skipped(node(), "Node 18 or newer")
DOUBLES = [
    5e-324,
    2.2250738585072014e-308,
    1e-300,
    0.1,
    0.5,
    1.0,
    3.0,
    700.0,
    2.0**53,
    1e290,
    1e308,
]


def test_square_roots_are_rounded_down():
    rng = np.random.default_rng(1)
    roots = [int.from_bytes(rng.bytes(size), "big") for size in range(1, 60) for _ in range(20)]
    squares = [root * root + off for root in roots for off in (-1, 0, 1, root, 2 * root) if root]
    given = list(map(str, [0, 1, 2, 3, 4, *squares]))
    told = evaluated("(given) => given.map((n) => exponential.squareRoot(BigInt(n)))", given)
    assert list(map(int, told)) == [math.isqrt(int(n)) for n in given]


def test_doubles_are_taken_literally():
    body = "(given) => given.map((one) => Object.values(exponential.fromDouble(one)))"
    for double, (n, q) in zip(DOUBLES, evaluated(body, DOUBLES), strict=True):
        above, below_ = double.as_integer_ratio()
        assert (int(n) << max(0, -q), 1 << max(0, q)) == (above, below_)
        assert int(n) % 2


def test_powers_of_e_have_the_same_digits():
    widths = [*range(1, 200, 13), 1500]
    assert list(map(int, evaluated("(given) => given.map(exponential.ln2)", widths))) == [
        ln2(width) for width in widths
    ]
    asked = list(itertools.product(DOUBLES, (64, 192, 1300)))
    body = """(given) => given.map(([x, bits]) => {
      return Object.values(exponential.power(exponential.fromDouble(x), bits));
    })"""
    for (x, bits), told in zip(asked, evaluated(body, asked), strict=True):
        assert tuple(map(int, told)) == tuple(exponential(Dyadic.of(x), bits))


def test_coins_of_any_chance_read_the_same_bytes():
    """All chances of 10 binary digits, and streams at, below and above their digits."""
    asked = []
    for shift in (0, 1, 7, 8, 9, 10):
        for numerator in range((1 << shift) + 1):
            zeros, digits = Chance(numerator, shift).digits
            near = bytes(max(0, zeros)) + digits
            last = near[:-1] + bytes([near[-1] ^ 1]) if near else b""
            streams = (near, last, b"\0\0\0", b"\xff\xff\xff")
            asked += [[numerator, shift, list(stream + b"\x80\0")] for stream in streams]
    body = """(given) => given.map(([mantissa, scale, bytes]) => {
      const source = new draws.GivenBytes(bytes);
      return [draws.coin(new draws.Chance(BigInt(mantissa), scale), source), source.used];
    })"""
    for (numerator, shift, stream), told in zip(asked, evaluated(body, asked), strict=True):
        source = GivenBytes(stream)
        assert told == [Chance(numerator, shift).coin(source), source.used]


@pytest.mark.later
def test_tables_and_numbers_below_are_searched_alike():
    """Small sums that are no power of two, over all first bytes; weights of 0 among them."""
    tables = [[3, 2], [0, 5, 0], [1], [0, 1], [1, 0, 1], [7, 0, 0, 250], [100, 156, 1], [255, 258]]
    firsts = itertools.product(tables, range(256), (0, 1, 2, 127, 255))
    asked = [[weights, [first, second, 9, 1, *[0] * 9]] for weights, first, second in firsts]
    body = """(given) => given.map(([weights, bytes]) => {
      const source = new draws.GivenBytes(bytes);
      return [new draws.Table(weights.map(BigInt)).draw(source), source.used];
    })"""
    for (weights, stream), told in zip(asked, evaluated(body, asked), strict=True):
        source = GivenBytes(stream)
        assert told == [Table.of(weights).draw(source), source.used]
    counts = [1, 2, 3, 255, 256, 257, 65536, 65537, 2**24, 2**53]
    rng = np.random.default_rng(4)
    streams = [[n, rng.bytes(200).hex()] for n in counts for _ in range(9)]
    body = """(given) => given.map(([n, hex]) => {
      const source = new draws.GivenBytes(hex.match(/../g).map((one) => parseInt(one, 16)));
      return [draws.below(n, source), new draws.Below(n).draw(source), source.used];
    })"""
    for (n, stream), told in zip(streams, evaluated(body, streams), strict=True):
        source = GivenBytes(bytes.fromhex(stream))
        assert told == [below(n, source), below(n, source), source.used]


def test_doubles_are_written_and_rounded_as_in_python():
    rng = np.random.default_rng(2)
    random = rng.integers(0, 0x7FF << 52, 2000).view(np.float64).tolist()
    some = [*DOUBLES, 0.0, 1e15, 1e16, 123456.0, 1e-4, 1e-5, 0.125, 2.5, 0.375, *random]
    assert evaluated("(given) => given.map(ids.float)", some) == list(map(repr, some))
    near = [number for number in some if number < 1e15]
    asked = [[sign * one, digits] for one in near for digits in (0, 1, 2, 5) for sign in (1, -1)]
    told = evaluated("(given) => given.map(([x, digits]) => exponential.round(x, digits))", asked)
    assert told == [round(x, digits) for x, digits in asked]
