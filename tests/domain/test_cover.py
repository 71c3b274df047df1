"""Covers: what mechanism and report tell under every choice law, and who may be moved."""

import json
import pickle
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from contract import count_reports, g_test
from freewill.domain.draws.sources import GeneratorBytes
from freewill.errors import FreewillError
from freewill.stats.planning.plan import checked_shares
from profiles import examples

LINE, CITY = fw.Linear(0, 9, unit="year"), fw.Grid(3, 2, cell=0.5)
MENU = {"shy": fw.KRR(LINE, 0.5), "near": fw.Geometric(LINE, 0.1), "bits": fw.RAPPOR(LINE, 2.0)}


def menu_of(rng):
    """Two or three mechanisms of any kind over two or three values, their epsilons often equal."""
    alphabet = fw.Linear(0, int(rng.integers(1, 3)) * 2, step=2)
    makes = [fw.KRR, fw.RAPPOR, fw.Geometric, None]
    offered = {}
    for place in range(int(rng.integers(2, 4))):
        make = makes[rng.integers(4)]
        epsilon = float(rng.choice([0.25, 0.5, 1.0, 2.0, rng.uniform(0.1, 3)]))
        law = rng.dirichlet(np.ones(3), size=alphabet.size)
        made = fw.Matrix(alphabet, law) if make is None else make(alphabet, epsilon)
        if made not in offered.values():
            offered[f"m{place}"] = made
    return offered if len(offered) > 1 else menu_of(rng)


def bound(mechanism, first, second):
    """The promise about two values."""
    promise = mechanism.guarantee()
    far = mechanism.alphabet.distance(first, second)
    return promise.epsilon * (float(far) if promise.kind == "geo" else 1.0)


def naive_reach(menu, choice):
    """Who promises at least as much as a choice, pair of values by pair of values."""
    pairs = list(combinations(range(menu[choice].alphabet.size), 2))
    return tuple(
        name
        for name, one in menu.items()
        if all(bound(one, *pair) <= bound(menu[choice], *pair) * (1 + 1e-9) for pair in pairs)
    )


def naive_response(menu, epsilon, reach):
    """R(a | m), from its formula."""
    weights = [[(np.exp(epsilon) if a == m else 1.0) * (a in reach[m]) for a in menu] for m in menu]
    return np.array(weights) / np.sum(weights, axis=1, keepdims=True)


def told(menu, response):
    """The epsilon of the pair by announced name, the largest over all extreme choice laws."""
    laws, most = [one.law() for one in menu.values()], dict.fromkeys(menu, 0.0)
    size = laws[0].shape[0]
    for chosen in product(range(len(menu)), repeat=size):
        for a, name in enumerate(menu):
            joint = response[list(chosen), a][:, None] * laws[a]
            low, high = joint.min(axis=0), joint.max(axis=0)
            with np.errstate(divide="ignore"):
                found = np.log(high[high > 0]) - np.log(low[high > 0])
            most[name] = max(most[name], found.max(initial=0.0))
    return most


@pytest.mark.later
def test_the_pair_tells_as_much_as_is_claimed_and_no_more_under_every_choice_law():
    rng, infinite, moved = np.random.default_rng(28), 0, 0
    for place in range(200):
        menu, epsilon = menu_of(rng), float(rng.uniform(0.05, 3))
        towards = ("any", "protection")[place % 2]
        reach = {name: naive_reach(menu, name) for name in menu}
        if towards == "any":
            reach = dict.fromkeys(menu, tuple(menu))
        elif all(len(own) == 1 for own in reach.values()):
            with pytest.raises(FreewillError, match="nothing would be moved"):
                fw.Cover(menu, epsilon, towards)
            continue
        cover = fw.Cover(menu, epsilon, towards)
        assert {name: cover.reach(name) for name in cover} == reach
        response = naive_response(menu, epsilon, reach)
        assert cover.announcement.law() == pytest.approx(response, rel=1e-12)
        most = told(menu, response)
        for name, found in most.items():
            claim = cover.guarantee(name).epsilon
            assert found <= claim + 1e-12
            assert claim == found if np.isinf(claim) else claim - found <= 1e-9
        assert cover.guarantee().epsilon == pytest.approx(max(most.values()), abs=1e-9)
        infinite += np.isinf(cover.guarantee().epsilon)
        moved += towards == "protection"
    assert moved > 60
    assert infinite > 30


@examples(20)
@given(st.integers(0, 2**32))
def test_the_law_is_that_of_the_announced_choice(seed):
    rng = np.random.default_rng(seed)
    menu = menu_of(rng)
    cover = fw.Cover(menu, float(rng.uniform(0.05, 3)))
    size = next(iter(menu.values())).alphabet.size
    choice = rng.dirichlet(np.ones(len(menu)), size=size)
    announced = choice @ cover.announcement.law()
    assert cover.announced(choice) == pytest.approx(announced)
    laws = [own[:, None] * one.law() for own, one in zip(announced.T, menu.values(), strict=True)]
    assert cover.law(choice=choice) == pytest.approx(np.hstack(laws))
    assert cover.law(choice).sum(axis=1) == pytest.approx(np.ones(size))
    first = next(iter(menu))
    alone = np.tile(np.eye(len(menu))[0], (size, 1))
    assert cover.law(first) == pytest.approx(cover.law(alone))


@pytest.mark.parametrize("towards", ["any", "protection"])
def test_what_is_drawn_follows_the_law(towards):
    """One by one as devices draw, and all at once."""
    cover, count, value = fw.Cover(MENU, 1.0, towards), 4000, 3
    source = GeneratorBytes(np.random.default_rng(5))
    pairs = [cover.draw("bits", value, source) for _ in range(count)]
    drawn = {n: np.array([y for name, y in pairs if name == n]) for n in MENU}
    together = cover.obfuscate(np.full(count, 2), np.full(count, value), np.random.default_rng(6))
    law = cover.law("bits")[value]
    for found in (drawn, together):
        counts = [count_reports(one, found[name]) for name, one in MENU.items()]
        assert g_test(np.concatenate(counts), law) > 1e-3
        # The judge is not blind: another epsilon is seen.
        assert (
            g_test(np.concatenate(counts), fw.Cover(MENU, 1.4, towards).law("bits")[value]) < 1e-4
        )


def test_the_numbers_that_are_drawn_prove_the_promise():
    for epsilon in (1e-9, 1.0, 40.0):
        cover = fw.Cover(MENU, epsilon)
        proved, law = fw.audit(cover, exact=True), fw.audit(cover)
        assert proved.holds
        assert law.holds
        assert law.tight
        assert dict(proved.parts)["choice"].epsilon == pytest.approx(epsilon, rel=1e-12)
    least = fw.Guarantee("ldp", cover.guarantee().epsilon * (1 - 1e-9))
    assert not fw.audit(cover, least, exact=True).holds


def test_towards_protection_only_the_choice_of_more_is_covered():
    menu = {"open": fw.Identity(LINE), **MENU, "silent": fw.Silent(LINE)}
    cover = fw.Cover(menu, 1.0, towards="protection")
    assert cover.reach("silent") == ("silent",)
    assert cover.reach("shy") == ("shy", "silent")
    assert cover.reach("open") == tuple(menu)
    # e^1 + 4 to 1: who chose silence always sends it, who chose the truth one time in e + 4.
    assert cover.guarantee("silent").epsilon == pytest.approx(np.log(np.e + 4), rel=1e-12)
    assert np.isinf(cover.guarantee("bits").epsilon)
    assert str(cover.guarantee("shy")) == "none in all: choice none, value 0.5-LDP"


def test_nobody_is_moved_to_what_promises_nothing():
    three = fw.Categorical(["a", "b", "c"])
    excluding = fw.Matrix(three, [[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]])
    menu = {"k": fw.KRR(three, 1.0), "excluding": excluding, "true": fw.Identity(three)}
    cover = fw.Cover(menu, 1.0, "protection")
    assert [cover.reach(name) for name in cover] == [("k",), ("k", "excluding"), ("k", "true")]


def test_distances_are_taken_at_their_ends():
    far, near = 0.1 * 9, 0.1
    menu = {
        "noise": fw.Geometric(LINE, 0.1),
        "wide": fw.KRR(LINE, far),
        "tight": fw.KRR(LINE, near),
    }
    cover = fw.Cover(menu, 1.0, "protection")
    assert cover.reach("wide") == tuple(menu)
    assert cover.reach("noise") == ("noise", "tight")
    less = {**menu, "wide": fw.KRR(LINE, far * 0.999), "tight": fw.KRR(LINE, near * 1.001)}
    cover = fw.Cover(less, 1.0, "protection")
    assert cover.reach("wide") == ("wide", "tight")
    assert cover.reach("noise") == ("noise",)
    narrow = fw.Grid(1, 4, cell=(0.1, 0.5))
    row = {"e": fw.Exponential(narrow, 1.0), "k": fw.KRR(narrow, 0.5)}
    assert fw.Cover(row, 1.0, "protection").reach("e") == ("e", "k")


@pytest.mark.parametrize(
    ("menu", "given", "words"),
    [
        ({}, {}, "a cover of 0 mechanisms"),
        ({"one": MENU["shy"]}, {}, "a cover of 1 mechanism"),
        ({f"m{n}": fw.KRR(LINE, 1 + n) for n in range(257)}, {}, "from 2 to 256"),
        ([MENU["shy"]], {}, "expected mechanisms by their names"),
        (fw.Cover(MENU), {}, "expected mechanisms by their names"),
        ({**MENU, "x": fw.KRR}, {}, "expected a mechanism"),
        ({**MENU, "x": fw.KRR(CITY, 1.0)}, {}, "one menu has one alphabet"),
        ({**MENU, "open": fw.Identity(LINE)}, {}, "'open' promises nothing"),
        ({**MENU, "silent": fw.Silent(LINE)}, {}, "'silent' tells nothing"),
        ({**MENU, "own": fw.Family(fw.KRR, LINE, (0.5, 2))}, {}, "is a family"),
        (MENU, {"epsilon": 0}, "must be > 0"),
        (MENU, {"epsilon": np.inf}, "must be a number > 0"),
        (MENU, {"epsilon": True}, "must be a number > 0"),
        (MENU, {"towards": "weaker"}, "towards='weaker' of a cover"),
        (MENU, {"towards": ["any"]}, "towards=\\['any'\\] of a cover"),
    ],
)  # fmt: skip
def test_what_cannot_be_covered_is_refused(menu, given, words):
    with pytest.raises(FreewillError, match=words):
        fw.Cover(menu, **given)


def test_questions_are_covered_one_by_one():
    records = fw.Product({"age": LINE, "home": CITY})
    one, other = (
        fw.Each(records, {"age": fw.KRR(LINE, e), "home": fw.KRR(CITY, 1.0)}) for e in (1, 2)
    )
    with pytest.raises(FreewillError, match="of each question by itself"):
        fw.Cover({"a": one, "b": other})
    age = fw.Survey(LINE, fw.Cover(MENU, 1.0), question="How old?")
    home = fw.Survey(CITY, {"k": fw.KRR(CITY, 1.0)}, question="Where?")
    both = fw.Questionnaire({"age": age, "home": home})
    again = fw.Survey.from_spec(json.loads(json.dumps(both.for_devices())))
    assert again == both
    assert again.questions["age"].cover == age.cover
    assert "bits, cover(epsilon=1)" in str(both)


@pytest.mark.parametrize("towards", ["any", "protection"])
def test_surveys_keep_their_cover(tmp_path, towards):
    survey = fw.Survey(LINE, fw.Cover(MENU, 1, towards), question="How old?")
    survey.save(tmp_path / "survey.json")
    kept = [fw.Survey.load(tmp_path / "survey.json"), pickle.loads(pickle.dumps(survey))]
    for again in kept:
        assert again == survey
        assert hash(again) == hash(survey)
        assert again.cover == survey.cover
    assert survey.spec()["freewill survey"] == 2
    assert survey.spec()["cover"] == {"epsilon": 1.0, "towards": towards}
    bare = fw.Survey(LINE, MENU, question="How old?")
    assert "cover" not in bare.spec()
    assert bare.cover is None
    assert bare != survey
    assert dict(bare.mechanisms) == dict(survey.mechanisms)
    assert str(survey.cover) in str(survey)


def test_a_choice_or_shares_that_are_none_are_refused():
    cover = fw.Cover(MENU)
    for wrong in ([1.0, 0.0], [0.5, 0.4, 0.2], [[1, 0, 0]] * 3, [-1, 1, 1]):
        with pytest.raises(FreewillError, match="3 numbers >= 0 that sum to 1"):
            cover.announced(wrong)
    for ask in (cover.reach, cover.announce, cover.law, cover.guarantee):
        with pytest.raises(FreewillError, match="expected one of 'shy', 'near', 'bits'"):
            ask("open")
    with pytest.raises(FreewillError, match="one choice a value"):
        cover.obfuscate([0, 1], [3])


def test_estimators_take_a_cover_as_any_mixture():
    rng = np.random.default_rng(8)
    theta = np.array([0.05, 0.05, 0.1, 0.2, 0.3, 0.1, 0.05, 0.05, 0.05, 0.05])
    values, choices = rng.choice(10, 40_000, p=theta), rng.choice(3, 40_000, p=[0.3, 0.3, 0.4])
    drawn = fw.Cover(MENU, 1.0).obfuscate(choices, values, rng)
    evidence = fw.collect([(MENU[name], reports) for name, reports in drawn.items()])
    found = fw.intervals(evidence, level=0.999)
    assert np.all((found.low <= theta) & (theta <= found.high))


def test_plans_follow_what_is_used():
    survey, chosen = fw.Survey(LINE, fw.Cover(MENU, 1.0)), [0.8, 0.1, 0.1]
    used = dict(zip(MENU, survey.cover.announced(chosen), strict=True))
    assert checked_shares(survey, chosen) == pytest.approx(used)
    assert checked_shares(survey, {"shy": 0.8, "near": 0.1, "bits": 0.1}) == pytest.approx(used)
    assert checked_shares(survey, None) == pytest.approx(dict.fromkeys(MENU, 1 / 3))
