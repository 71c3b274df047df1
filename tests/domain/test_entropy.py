"""The operating system's generator: its draws have their laws, and cannot be drawn again."""

import os
import random

import numpy as np
import pytest
from scipy.stats import chi2, kstest

import freewill as fw
from cli_cases import run
from contract import ENTRIES, count_reports, g_test
from freewill.domain.draws import sources as entropy
from freewill.domain.draws.sources import SystemGenerator, generator
from freewill.domain.survey import Survey


@pytest.fixture
def rng(monkeypatch):
    """The generator itself, on bytes that are the same every time: a test must not be a lottery."""
    bytes_of = np.random.default_rng(11)
    monkeypatch.setattr(os, "urandom", bytes_of.bytes)
    return SystemGenerator()


def test_uniform_and_exponential_numbers(rng):
    drawn = rng.random(200_000)
    assert np.all((drawn >= 0) & (drawn < 1))
    assert np.all(drawn * 2**53 == np.floor(drawn * 2**53))
    assert kstest(drawn, "uniform").pvalue > 1e-3
    assert rng.random((3, 2)).shape == (3, 2)
    assert rng.random(()).shape == ()


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100, 255, 256, 257, 1000, 65537])
def test_integers_are_equally_likely(rng, count):
    drawn = rng.integers(5, 5 + count, 200_000)
    assert drawn.min() >= 5
    assert drawn.max() < 5 + count
    counts = np.bincount(drawn - 5, minlength=count).astype(float)
    if count > 1:
        expected = 200_000 / count
        assert chi2.sf(float(((counts - expected) ** 2 / expected).sum()), count - 1) > 1e-4


def test_integers_of_all_widths(rng):
    assert rng.integers(0, 2, 10, dtype=np.int8).dtype == np.int8
    words = rng.integers(0, 2**64, size=1000, dtype=np.uint64)
    assert words.dtype == np.uint64
    assert 450 < (words >= 2**63).sum() < 550


@pytest.mark.later
def test_orders_are_equally_likely(rng):
    orders = [tuple(rng.permutation(4).tolist()) for _ in range(24_000)]
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert counts.size == 24
    assert chi2.sf(float(((counts - 1000) ** 2 / 1000).sum()), 23) > 1e-4
    assert sorted(rng.permutation(np.array([3, 1, 2])).tolist()) == [1, 2, 3]
    assert rng.permutation(0).size == 0


def test_equal_keys_are_drawn_anew(rng, monkeypatch):
    keys = iter([np.array([7, 7, 1], dtype=np.uint64), np.array([7, 2, 1], dtype=np.uint64)])
    monkeypatch.setattr(entropy, "_drawn", lambda word, size: next(keys))
    assert rng.permutation(3).tolist() == [2, 1, 0]


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_samplers_follow_the_law_on_the_systems_bytes(rng, entry):
    mechanism = entry.build(4, 0.8)
    law = mechanism.law()
    reports = mechanism.obfuscate(np.full(30_000, 1), rng)
    assert g_test(count_reports(mechanism, reports), law[1]) > 1e-4


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_without_a_generator_it_is_the_systems(entry, monkeypatch):
    mechanism = entry.build(9, 0.8)
    asked = []
    draw = os.urandom
    monkeypatch.setattr(os, "urandom", lambda count: asked.append(count) or draw(count))
    values = np.arange(9).repeat(500) % mechanism.alphabet.size
    one, other = (mechanism.obfuscate(values) for _ in range(2))
    deterministic = isinstance(mechanism, fw.Identity | fw.Silent)
    assert np.array_equal(one, other) == deterministic
    assert (sum(asked) > 0) != deterministic


def test_a_given_generator_is_taken():
    given = np.random.default_rng(0)
    assert generator(given) is given
    assert isinstance(generator(None), SystemGenerator)


# The command


@pytest.fixture
def sorted_people(tmp_path):
    """People in the order of their ages, who tell them as they are."""
    ages = fw.Linear(0, 99)
    Survey(ages, {"open": fw.Identity(ages), "all": fw.KRR(ages, 700.0)}).save(tmp_path / "s.json")
    rows = "".join(f"{age},{name}\n" for age in range(100) for name in ("open", "all") * 10)
    (tmp_path / "people.csv").write_text("age,choice\n" + rows)
    return tmp_path


def obfuscated(folder, *more):
    out = folder / "reports.csv"
    given = ("-s", folder / "s.json", "-c", "age", "--choice", "choice", "-o", out)
    result = run("obfuscate", folder / "people.csv", *given, *more)
    table = np.genfromtxt(out, delimiter=",", dtype=str, skip_header=1)
    return np.char.strip(table, '"'), result


@pytest.mark.parametrize("seed", [(), ("--seed", 7)], ids=str)
def test_rows_stand_in_no_order(sorted_people, seed):
    rows, _ = obfuscated(sorted_people, *seed)
    assert len(rows) == 2000
    for name in ("open", "all"):
        reports = rows[rows[:, 0] == name, 1].astype(int)
        np.testing.assert_array_equal(np.sort(reports), np.repeat(np.arange(100), 10))
        # Uncorrelated with the place: 1/sqrt(1000) is one standard deviation.
        assert abs(np.corrcoef(np.arange(1000), reports)[0, 1]) < 6 / np.sqrt(1000)


def test_reports_without_a_seed_cannot_be_drawn_again(sorted_people):
    first, result = obfuscated(sorted_people)
    second, _ = obfuscated(sorted_people)
    assert not np.array_equal(first, second)
    assert "seed" not in result.stderr


def test_reports_with_a_seed_come_with_a_warning(sorted_people):
    first, result = obfuscated(sorted_people, "--seed", 7)
    second, _ = obfuscated(sorted_people, "--seed", 7)
    np.testing.assert_array_equal(first, second)
    assert "protect nobody" in " ".join(result.stderr.split())


@pytest.mark.parametrize("wrong", [42, "seed", random.Random(1), np.random.RandomState(1)])
def test_a_seed_is_no_generator(wrong):
    with pytest.raises(fw.ParameterError, match="default_rng"):
        fw.KRR(fw.Linear(0, 9), 1.0).obfuscate([3], wrong)
