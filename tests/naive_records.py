"""Laws of two-step mechanisms and of records, summed over all permanent answers, naively."""

import math
from typing import Any

import numpy as np

import freewill as fw
from naive_laws import line

Coin = tuple[float, float]
"""The chances of a yes and of a no: next to 1 the other one has the digits."""


def second_steps(mechanism: Any) -> tuple[Coin, Coin, Coin, Coin]:
    """p1, q1, p2 and q2 of a longitudinal unary encoding, in floating point."""
    epsilon, lifetime = mechanism.epsilon, mechanism.epsilon_inf
    halves = 4 if mechanism.protocol in ("L-SUE", "L-SOUE") else 2
    rare = math.exp(-2 * lifetime / halves)
    q1 = rare / (1 + rare), 1 / (1 + rare)
    p1 = q1[::-1] if halves == 4 else (0.5, 0.5)
    if mechanism.protocol in ("L-SUE", "L-OSUE"):
        # Symmetric channels in a row: their advantages tanh multiply.
        q2 = math.sinh((lifetime - epsilon) / halves)
        q2 /= 2 * math.sinh(lifetime / halves) * math.cosh(epsilon / halves)
        return p1, q1, (1 - q2, q2), (q2, 1 - q2)
    low, high = 0.0, 0.5
    for _ in range(400):
        q2 = (low + high) / 2
        own, other = (_both(coin, (0.5, 0.5), (q2, 1 - q2)) for coin in (p1, q1))
        told = math.log(own[0] / other[0]) + math.log(other[1] / own[1])
        low, high = (q2, high) if told > epsilon else (low, q2)
    return p1, q1, (0.5, 0.5), (q2, 1 - q2)


def _both(first: Coin, yes: Coin, no: Coin) -> Coin:
    set_, unset = (first[0] * yes[place] + first[1] * no[place] for place in (0, 1))
    return set_, unset


def unary_once(mechanism: Any) -> tuple[float, float]:
    """The chances of the own bit and of another, after both steps."""
    p1, q1, p2, q2 = second_steps(mechanism)
    return _both(p1, p2, q2)[0], _both(q1, p2, q2)[0]


def _bit_channel(coins: list[list[Coin]]) -> np.ndarray:
    """P(pattern | which coin each bit has), patterns numbered with bit 0 worth 1."""
    rows = []
    for each in coins:
        law = np.ones(1)
        for yes, no in reversed(each):
            law = np.outer(law, [no, yes]).ravel()
        rows.append(law)
    return np.array(rows)


def _unary_steps(mechanism: Any) -> tuple[np.ndarray, np.ndarray]:
    """P(permanent | value) and P(report | permanent), all 2^k patterns."""
    size, (p1, q1, p2, q2) = mechanism.alphabet.size, second_steps(mechanism)
    first = _bit_channel([[p1 if bit == x else q1 for bit in range(size)] for x in range(size)])
    patterns = range(1 << size)
    second = _bit_channel([[p2 if y >> b & 1 else q2 for b in range(size)] for y in patterns])
    return first, second


def _krr_steps(mechanism: Any) -> tuple[np.ndarray, np.ndarray]:
    """k-RR of epsilon_inf, and the k-RR that leads from there to that of epsilon."""
    size = mechanism.alphabet.size

    def blind(epsilon: float) -> float:
        return size / (size - 1 + math.exp(epsilon))

    r1, r = blind(mechanism.epsilon_inf), blind(mechanism.epsilon)
    r2, kept = (r - r1) / (1 - r1), (1 - r) / (1 - r1)
    first = np.full((size, size), r1 / size) + (1 - r1) * np.eye(size)
    return first, np.full((size, size), r2 / size) + kept * np.eye(size)


def record_law(mechanism: Any) -> np.ndarray:
    """Sum over the permanent answers, all records of two or more reports."""
    inner, times = mechanism.mechanism, mechanism.times
    if isinstance(inner, fw.LongitudinalKRR):
        first, second = _krr_steps(inner)
    elif isinstance(inner, fw.LongitudinalUnary):
        first, second = _unary_steps(inner)
    else:
        first, second = np.eye(inner.alphabet.size), inner.law()
    told = second
    for _ in range(times - 1):
        told = (told[:, :, None] * second[:, None, :]).reshape(len(second), -1)
    return first @ told


def bloom_bits(mechanism: Any, cohort: int, value: int) -> set[int]:
    """The bits of a value in a cohort by fmix32, in plain whole numbers."""

    def mix(h: int) -> int:
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
            h = (h ^ h >> shift) * factor & 0xFFFFFFFF
        return h

    seeds = (cohort * mechanism.hashes + number for number in range(mechanism.hashes))
    return {mechanism.bits * mix(seed ^ mix(value + 1)) >> 32 for seed in seeds}


def bloom_law(mechanism: Any) -> np.ndarray:
    """Permanent bits and reported ones summed over, cohort by cohort, bit by bit."""
    f, p, q = mechanism.f, mechanism.p, mechanism.q
    own, other = (
        _both(coin, (q, 1 - q), (p, 1 - p)) for coin in ((1 - f / 2, f / 2), (f / 2, 1 - f / 2))
    )
    rows = []
    for value in range(mechanism.alphabet.size):
        sets = [bloom_bits(mechanism, cohort, value) for cohort in range(mechanism.cohorts)]
        chances = [
            [own if bit in mine else other for bit in range(mechanism.bits)] for mine in sets
        ]
        rows.append(_bit_channel(chances).ravel() / mechanism.cohorts)
    return np.array(rows)


def some_bloom(size: int, epsilon: float) -> fw.BloomRAPPOR:
    """Six bits in two cohorts; the permanent noise falls with epsilon."""
    f = 2 / (1 + math.exp(epsilon / 2))
    return fw.BloomRAPPOR(line(size), bits=6, hashes=2, cohorts=2, f=f, p=0.25, q=0.75)


def unary(protocol: Any) -> Any:
    """A longitudinal unary encoding on a line, of twice epsilon over a lifetime."""
    return lambda size, epsilon: fw.LongitudinalUnary(line(size), epsilon, 2 * epsilon, protocol)


def short_records(size: int, epsilon: float) -> fw.Repeated:
    """Two reports of up to six bits: more could not be listed."""
    return fw.Repeated(unary("L-SUE")(min(size, 6), epsilon), 2)
