"""Programs for browsers, read in Python: the draws of docs/reference/draws.md, plainly."""

from typing import Any

import numpy as np

import freewill as fw
from freewill.domain.draws.chance import Chance
from freewill.domain.draws.sources import GivenBytes, Source, below
from freewill.domain.draws.tables import Table, whole_weights

MASK = (1 << 32) - 1


def drawn(program: Any, size: int, value: int, source: Source) -> Any:  # noqa: PLR0911
    """Draw the report of a value as it travels: digits, a seed and a bucket, or an index."""
    chances = {
        name: Chance(int(program[name][0], 16), program[name][1])
        for name in ("own", "other", "replaced")
        if name in program
    }
    match program["draw"]:
        case "unary":
            coins = [chances["own" if v == value else "other"] for v in range(size)]
            return packed({v for v, coin in enumerate(coins) if coin.coin(source)}, size)
        case "subset":
            return packed(_subset(program["length"], chances["own"], size, value, source), size)
        case "hash":
            seed, buckets = below(1 << 32, source), program["buckets"]
            blind = chances["replaced"].coin(source)
            bucket = below(buckets, source) if blind else bucket_of(seed, value, buckets)
            return f"{seed}:{bucket}"
        case "bloom":
            return _bloom(program, chances, value, source)
        case "hadamard":
            shape = program["order"], program.get("blocks", 1)
            return _hadamard(*shape, chances["own"], value, source)
        case "table":
            return Table.of(whole_weights(np.array(program["law"][value]))).draw(source)
    return _composed(program, size, value, source)


def _composed(program: Any, size: int, value: int, source: Source) -> Any:
    """Draw by a program that is made of others."""
    match program["draw"]:
        case "then":
            entry = program["map"][_part(program["inner"], size, value, source)]
            if isinstance(entry, list):
                return Table.of(whole_weights(np.array(entry))).draw(source)
            return entry
        case "both":
            parts = [(part, _part(part, size, value, source)) for part in program["parts"]]
            return "".join(_as_bytes(part, report, size) for part, report in parts)
        case "perhaps":
            inner, chance = program["inner"], program["chance"]
            if Chance(int(chance[0], 16), chance[1]).coin(source):
                return "01" + _as_bytes(inner, _part(inner, size, value, source), size)
            # As long as any report would be.
            return "00" + "00" * (len(_as_bytes(inner, _some(inner, size), size)) // 2)
    raise ValueError(program["draw"])


def _part(part: Any, size: int, value: int, source: Source) -> Any:
    """Draw a part of a report: of a kind that is known by its name, or by a program."""
    if part["draw"] != "known":
        return drawn(part, size, value, source)
    known = {**part["mechanism"], "alphabet": fw.Linear(0, size - 1).spec()}
    report = fw.from_spec(known).draw(value, source)
    return report.tobytes().hex() if isinstance(report, np.ndarray) else report


def _some(part: Any, size: int) -> Any:
    return _part(part, size, 0, GivenBytes(bytes(10_000)))


def _as_bytes(part: Any, report: Any, size: int) -> str:
    """Write a part: an index in as few bytes as hold the last one; seed and bucket in four each."""
    if isinstance(report, str) and ":" in report:
        return b"".join(int(n).to_bytes(4, "little") for n in report.split(":")).hex()
    if isinstance(report, str):
        return report
    outputs = {"hadamard": part.get("order"), "table": len(part.get("law", [()])[0])}
    many = outputs.get(part["draw"]) or size
    if "outputs" in part:
        many = fw.alphabet_from_spec(part["outputs"]).size
    return report.to_bytes(max(1, -(-(many - 1).bit_length() // 8)), "little").hex()


def packed(values: set[int], size: int) -> str:
    """Write a set of values: bit x is bit x % 8 of byte x // 8."""
    return sum(1 << x for x in values).to_bytes(-(-size // 8), "little").hex()


def _subset(length: int, own: Chance, size: int, value: int, source: Source) -> set[int]:
    others = [v for v in range(size) if v != value]
    among = own.coin(source)
    taken: set[int] = set()
    for j in range(size - 1 - (length - among), size - 1):
        t = below(j + 1, source)
        taken.add(j if t in taken else t)
    return {others[t] for t in taken} | ({value} if among else set())


def bucket_of(seed: int, value: int, buckets: int) -> int:
    """Return floor(g mix(seed ^ mix(x + 1)) / 2^32).

    >>> [bucket_of(*pair, 16) for pair in ((0, 0), (1, 1), (4294967295, 999))]
    [2, 3, 11]
    """
    return _mixed(_mixed(value + 1) ^ seed) * buckets >> 32


def _mixed(h: int) -> int:
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK
    return h ^ h >> 16


def _bloom(program: Any, chances: dict[str, Chance], value: int, source: Source) -> str:
    """A cohort, least byte first, and a coin for each bit."""
    cohort, hashes, bits = below(program["cohorts"], source), program["hashes"], program["bits"]
    own = {bucket_of(cohort * hashes + j, value, bits) for j in range(hashes)}
    coins = [chances["own" if b in own else "other"].coin(source) for b in range(bits)]
    width = 1 if program["cohorts"] <= 256 else 2
    filtered = packed({b for b, yes in enumerate(coins) if yes}, bits)
    return cohort.to_bytes(width, "little").hex() + filtered


def _hadamard(order: int, blocks: int, own: Chance, value: int, source: Source) -> int:
    odd = 0 if own.coin(source) else 1
    half = below(2 * blocks - 1, source) if odd else 0
    rest = below(order // 2, source)
    mine = value % blocks
    if half > 0:
        others = [block for block in range(blocks) if block != mine]
        signs = [block * order + column for block in others for column in range(order)]
        return signs[(half - 1) * order // 2 + rest]
    row = value // blocks + 1
    place = (row & -row).bit_length() - 1
    high, low = divmod(rest, 1 << place)
    signs = [high << place + 1 | bit << place | low for bit in (0, 1)]
    (sign,) = [sign for sign in signs if (sign & row).bit_count() % 2 == odd]
    return mine * order + sign
