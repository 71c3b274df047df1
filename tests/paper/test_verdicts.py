"""The rule of the verdicts: same seeds, more of them where it is close, or undecided."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freewill.paper import panels, runner, tables, verdicts
from freewill.paper.mixtures import MIXTURES
from freewill.paper.panels import EARLY, GIBU, IBU_M, INV_M, PAPER, RAP_M, Scale
from freewill.paper.results import Results, Row
from freewill.paper.settings import settings
from freewill.paper.verdicts import Entry, Judgement, Ratio, ratio_of, verdict

ORDER = ["Excellent", "Good", "Bad", "NA"]
SMALL = Scale("small", (1000,), 4, 64, 1, 3, 0.1, city_selections=False)


def row(method: str, seed: int, emd: float, mixture: str = "rappor-low", failed: str = "") -> Row:
    return Row(mixture, method, 1000, seed, emd, emd, emd, 0.0, 1, "certified", failed=failed)


def pairs(above: np.ndarray, below: np.ndarray, mixture: str = "rappor-low") -> Results:
    rows = [row("gibu", seed, value, mixture) for seed, value in enumerate(below)]
    rows += [row("rap-m-project", seed, value, mixture) for seed, value in enumerate(above)]
    return Results(tuple(rows))


def ratio(value: float, error: float, number: int = 1000, mixture: str = "line-krr") -> Ratio:
    return Ratio(mixture, "ibu-m", 1000, value, error, 0, number)


@pytest.mark.parametrize(("factor", "word"), [(1.0, "Excellent"), (1.9, "Good"), (2.1, "Bad")])
def test_the_rule_of_the_verdicts(factor: float, word: str) -> None:
    rows = [row("gibu", seed, 1.0 + seed) for seed in range(3)]
    rows += [row("rap-m-project", seed, factor * (1.0 + seed)) for seed in range(3)]
    rows += [row("rap-m-normalise", seed, 9.0) for seed in range(3)]
    found = ratio_of(Results(tuple(rows)), "rappor-low", RAP_M)
    assert found is not None
    assert (found.word, found.method) == (word, "rap-m-project")
    assert found.value == pytest.approx(factor)
    assert found.error == pytest.approx(0.0, abs=1e-9)


def test_a_ratio_is_over_the_seeds_that_both_methods_have() -> None:
    below, above = np.array([1.0, 2.0, 4.0, 100.0]), np.array([2.0, 5.0, 7.0])
    found = ratio_of(pairs(above, below), "rappor-low", RAP_M)
    assert found is not None
    assert found.seeds == 3
    assert found.value == pytest.approx(14 / 7)
    # The jackknife, written out.
    left = [(14 - a) / (7 - b) for a, b in zip(above, below, strict=False)]
    mean = sum(left) / 3
    assert found.error == pytest.approx(math.sqrt(2 / 3 * sum((x - mean) ** 2 for x in left)))
    first = ratio_of(pairs(above, below), "rappor-low", RAP_M, seeds=2)
    assert first is not None
    assert (first.seeds, first.value) == (2, pytest.approx(7 / 3))


@pytest.mark.parametrize("number", [5, 20, 80])
def test_the_interval_covers_the_ratio_as_often_as_it_says(number: int) -> None:
    rng, hits, repeats = np.random.default_rng(number), 0, 4000
    for _ in range(repeats):
        common = rng.lognormal(sigma=0.3, size=number)
        below = common * rng.lognormal(sigma=0.2, size=number)
        above = 1.3 * common * rng.lognormal(sigma=0.2, size=number)
        value, error = verdicts._jackknife(above, below)
        hits += abs(value - 1.3) <= ratio(value, error, number).reach
    # 0.9973 of 4,000 is 3,989 ± 3.3; lognormal errors are skewed, so a little less is granted.
    assert hits >= 3960


@given(st.floats(0.1, 10), st.floats(0, 3), st.integers(2, 3000))
def test_words_are_those_on_the_interval(value: float, error: float, number: int) -> None:
    found = ratio(value, error, number)
    inside = {verdict(x) for x in np.linspace(value - found.reach, value + found.reach, 101)}
    assert inside <= set(found.words)
    assert verdict(value) in found.words
    assert found.word == (found.words[0] if len(found.words) == 1 else "undecided")
    assert [*found.words] == sorted(found.words, key=ORDER.index)


def test_one_seed_decides_nothing_and_few_seeds_little() -> None:
    assert ratio(50.0, math.nan, 1).words == ("Excellent", "Good", "Bad")
    assert ratio(1.0, 0.07, 3).word == "undecided"
    assert ratio(1.0, 0.07, 300).word == "Excellent"


@given(st.lists(st.tuples(st.floats(0.5, 3), st.floats(0, 0.5)), min_size=1, max_size=3))
def test_a_cell_may_be_what_its_panels_may_be(panels: list[tuple[float, float]]) -> None:
    ratios = tuple(ratio(value, error) for value, error in panels)
    entry = Entry("I", "k-RR + k-RR", "[IBU]M", "Good", ("line-krr",), (IBU_M,))
    found = Judgement(entry, ratios)
    possible = {
        max(words, key=ORDER.index) for words in itertools.product(*(r.words for r in ratios))
    }
    assert set(found.words) == possible
    expected = None if "Good" in possible and len(possible) > 1 else possible == {"Good"}
    assert found.agrees is expected


def test_the_worse_panel_decides_and_a_refusal_is_na() -> None:
    rows = []
    for seed, name in itertools.product((0, 1), ("line-krr", "city-krr")):
        rows += [row("gibu", seed, 1.0 + seed, name)]
        rows += [row("ibu-m", seed, (1.5 if name == "line-krr" else 3.0) * (1 + seed), name)]
    for name in ("line-shokri", "city-shokri"):
        rows += [row("gibu", 0, 1.0, name)]
        rows += [row(method.name, 0, np.nan, name, "cannot be inverted") for method in INV_M]
    found = {(j.entry.row, j.entry.column): j for j in verdicts.judge(Results(tuple(rows)))}
    krr = found["k-RR + k-RR", "[IBU]M"]
    assert (krr.word, krr.agrees) == ("Bad", False)
    assert [r.mixture for r in krr.differing] == ["city-krr"]
    assert found["Shokri + Shokri", "[INV]M"].word == "NA"
    assert found["Shokri + Shokri", "[INV]M"].agrees


def grown(true: float, spread: float = 0.2, key: int = 0) -> Results:
    """Run the doubling of [RAP]M at low privacy on invented errors."""
    plan = panels.plan(["14b"], SMALL)
    rng = np.random.default_rng(key)
    below, noise = rng.lognormal(sigma=0.5, size=64), rng.lognormal(sigma=spread, size=64)
    above = true * below * noise / np.exp(spread**2 / 2)
    found: dict[tuple[str, int], Row] = {}
    step = runner.first_cells(plan)
    while step:
        for (mixture, people, seed), methods in step.items():
            assert (mixture, people) == ("rappor-low", 1000)
            assert GIBU in methods
            for method in methods:
                assert (method.name, seed) not in found
                value = below[seed] if method == GIBU else above[seed]
                found[method.name, seed] = row(method.name, seed, value)
        step = runner.more_cells(plan, Results(tuple(found.values())))
    return Results(tuple(found.values()))


def test_what_is_clear_gets_no_more_seeds() -> None:
    assert grown(6.0, spread=0.05).tried("rappor-low", "gibu", 1000) == 4


@pytest.mark.parametrize(("true", "word"), [(1.0, "Excellent"), (1.6, "Good"), (2.4, "Bad")])
def test_what_is_close_is_decided_and_confirmed(true: float, word: str) -> None:
    numbers = []
    for key in range(30):
        results = grown(true, key=key)
        number = results.tried("rappor-low", "gibu", 1000)
        final = ratio_of(results, "rappor-low", RAP_M)
        assert final is not None
        assert final.word in (word, "undecided")
        if number < 64:
            before = ratio_of(results, "rappor-low", RAP_M, seeds=max(number // 2, 4))
            assert before is not None
            assert final.word == before.word == word
        numbers.append(number)
    assert {8, 16, 32, 64} & set(numbers)


def test_what_lies_on_a_limit_ends_undecided_at_the_most_seeds() -> None:
    ends = [grown(1.25, key=key) for key in range(30)]
    words = [ratio_of(results, "rappor-low", RAP_M) for results in ends]
    undecided = [found is not None and found.word == "undecided" for found in words]
    assert sum(undecided) >= 27
    for results, open_ in zip(ends, undecided, strict=True):
        assert not open_ or results.tried("rappor-low", "gibu", 1000) == 64


def test_refusals_of_some_seeds_do_not_go_on_for_ever() -> None:
    plan = panels.plan(["14b"], SMALL)
    found: list[Row] = []
    step = runner.first_cells(plan)
    while step:
        for (_, _, seed), methods in step.items():
            for method in methods:
                why = "refused" if seed % 2 and method != GIBU else ""
                found.append(row(method.name, seed, 1.25 + 0.5 * (seed % 4 == 0), failed=why))
        step = runner.more_cells(plan, Results(tuple(found)))
        assert len(found) <= 3 * 64


def test_what_is_foretold_comes_near_what_follows() -> None:
    plan = panels.plan(["14b"], SMALL)
    results = grown(1.25)
    part = Results(tuple(r for r in results.rows if r.seed < 8))
    (foretold,) = runner.seeds_to_come(plan, part).values()
    assert foretold == 64 - 8


def test_an_early_stop_is_seen_on_the_seeds_of_the_verdicts() -> None:
    plan = panels.plan()
    cells, most = plan.cells(), plan.scale.people
    for name in PAPER:
        tried = {
            method: {
                s for (m, n, s), ms in cells.items() if (m, n) == (name, most) and method in ms
            }
            for method in (GIBU, EARLY)
        }
        assert tried[GIBU] == tried[EARLY] == set(range(plan.scale.seeds))


def test_the_columns_of_an_early_stop_are_over_the_same_seeds() -> None:
    rows = [row("gibu", seed, 1.0 + seed % 2) for seed in range(8)]
    # After the planned seeds the ratio is another: the column must not know.
    rows += [row("rap-m-project", s, (2.5 if s < 4 else 9.0) * (1 + s % 2)) for s in range(8)]
    rows += [row(EARLY.name, seed, 2.0 * (1.0 + seed % 2)) for seed in range(4)]
    results = Results(tuple(rows))
    judgements = [j for j in verdicts.judge(results) if j.entry.column == "[RAP]M"]
    table = tables.differences(judgements, results, results.below(4))
    cells = dict(zip(table.heads, map(tables.plain, table.rows[0]), strict=True))
    assert cells["stopped at delta 1e-06"].startswith("1.25")
    assert cells["not stopped, same seeds"].startswith("2.50")
    assert not cells["EMD / GIBU"].startswith("2.5")


def test_fewer_flips_are_those_of_twice_the_epsilon() -> None:
    for name in ("rappor-high", "rappor-low"):
        printed, fewer = settings([MIXTURES[name], MIXTURES[f"{name}-flips"]])
        for one, other in zip(printed.mechanisms, fewer.mechanisms, strict=True):
            assert one.flip == pytest.approx(1 / (1 + math.exp(one.epsilon / 2)))
            assert other.flip == pytest.approx(1 / (1 + math.exp(one.epsilon)))
    words = [(entry.mixtures, entry.paper) for entry in verdicts.FLIPPED]
    assert (("rappor-low-flips",), "Good") in words
    assert len(words) == 4


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1.2641, 0.0171, "1.264 ± 0.017"),
        (46.61, 4.06, "46.6 ± 4.1"),
        (150.2, 31.0, "150 ± 31"),
        (2.0, 0.0, "2.00 ± 0.00"),
        (2.0, math.nan, "2.00 ± nan"),
    ],
)
def test_a_ratio_has_the_digits_that_its_error_allows(value, error, text) -> None:
    assert str(ratio(value, error)) == text
