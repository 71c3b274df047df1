"""Menus: every mechanism at a level keeps the promise, and the best one is the best."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from foreign import ForeignHashing, ForeignUnary
from freewill.stats.planning.design import Design, Expected
from freewill.stats.planning.menus import candidates
from profiles import examples

LINE = fw.Linear(0, 20, 5)
ALPHABETS = [
    LINE,
    fw.Categorical(["a", "b", "c", "d"]),
    fw.Grid(3, 2, cell=0.5),
    fw.Grid(1, 4, cell=2.0),
    fw.Grid.box(10.0, 11.0, 20.0, 21.0, columns=2, rows=3),
    fw.Linear(0, 1),
]
UNIFORM = np.full(5, 0.2)


@examples(80)
@given(st.sampled_from(ALPHABETS), st.floats(-4, 2.5).map(np.exp), st.sampled_from(["ldp", "geo"]))
def test_all_mechanisms_of_a_level_keep_its_promise(alphabet, level, promise):
    found = candidates(alphabet, level, promise)
    noise = alphabet.plane is not None and (len(alphabet.axes) == 1 or min(alphabet.plane) > 1)
    assert len(found) == 2 + noise
    claim = fw.Guarantee(promise, level * (1 + 1e-9))
    for mechanism in found:
        assert not fw.audit(mechanism, claim).refuted, mechanism


@pytest.mark.parametrize("promise", ["ldp", "geo"])
def test_on_a_line_no_mechanism_is_held_back(promise):
    for mechanism in candidates(LINE, 2.0, promise):
        assert fw.audit(mechanism, fw.Guarantee(promise, 2.0)).epsilon == pytest.approx(2.0)


def test_levels_of_loss_have_that_loss():
    for mechanism in candidates(LINE, 3.0, "loss"):
        assert mechanism.quality_loss() == pytest.approx(3.0)


@pytest.mark.parametrize("of", [pytest.param("emd", marks=pytest.mark.slow), "mean", "shares"])
def test_the_best_tells_most_and_costs_what_it_costs(of):
    menu = fw.menu(LINE, [0.5, 2.0, 6.0], theta=UNIFORM, of=of)
    for best, offers in zip(menu.best, menu.offers, strict=True):
        assert best is offers[0]
        costs = [one.cost for one in offers]
        assert costs == sorted(costs)
    falling = [one.cost for one in menu.best]
    assert falling == sorted(falling, reverse=True)
    assert falling[-1] > 0.97
    if of == "mean":
        design = Design(LINE, (("", menu.best[0].mechanism, 1.0),), UNIFORM)
        variance = float(design.variances(5 * np.arange(5.0)[None])[0])
        assert menu.best[0].cost == pytest.approx(variance / 50, rel=1e-6)


@pytest.mark.slow
def test_costs_are_times_the_people():
    menu = fw.menu(LINE, 1.0, theta=UNIFORM, of="mean")
    mine, plain = menu.survey, fw.Survey(LINE, {"open": fw.Identity(LINE)})
    needed = [
        fw.plan(survey, theta=UNIFORM, people=50_000, of="mean", target=0.01).needed
        for survey in (mine, plain)
    ]
    assert needed[0] / needed[1] == pytest.approx(menu.best[0].cost, rel=1e-3)


def test_costs_of_a_distance_are_the_people_who_reach_that_of_the_truth(monkeypatch):
    needed = {"k-rr": 90_000, "rappor": 40_000, "geometric": None}
    monkeypatch.setattr(
        Design, "expected_emd", lambda self, people, accuracy: Expected(people / 1e6, 0, 0, 0, True)
    )

    def needed_for_emd(design, target, accuracy):
        assert target == 0.01
        return needed[design.parts[0][1].name]

    monkeypatch.setattr(Design, "needed_for_emd", needed_for_emd)
    (offers,) = fw.menu(LINE, [1.0], theta=UNIFORM).offers
    costs = {offer.mechanism.name: offer.cost for offer in offers}
    assert costs == {"rappor": 4.0, "k-rr": 9.0, "geometric": np.inf}
    assert [offer.mechanism.name for offer in offers] == [*costs]


@pytest.mark.slow
def test_costs_of_a_distance_come_true():
    """A weak mechanism is far from falling like n^-1/2 where the truth is told by 10,000."""
    line = fw.Linear(0, 19)
    theta = np.full(20, 0.05)
    (offer,) = (
        one for one in fw.menu(line, 1.0, theta=theta).offers[0] if one.mechanism.name == "k-rr"
    )
    means = []
    for mechanism, people in ((fw.Identity(line), 10_000), (offer.mechanism, offer.cost * 10_000)):
        law, rng = theta @ mechanism.law(), np.random.default_rng(3)
        parts = (
            [(mechanism, mechanism.outputs(), rng.multinomial(people, law))] for _ in range(150)
        )
        means.append(
            np.mean([fw.emd(fw.gibu(fw.collect(some)).theta, theta, line) for some in parts])
        )
    assert means[0] == pytest.approx(means[1], rel=0.1)


def test_without_a_truth_each_is_judged_by_its_worst():
    menu = fw.menu(LINE, [1.0], of="mean")
    assert "the worst of uniform, one peak" in menu.truth
    ends = fw.menu(LINE, [1.0], of="mean", theta=[0.5, 0, 0, 0, 0.5])
    assert menu.best[0].cost >= ends.best[0].cost * (1 - 1e-9)


def test_a_menu_is_a_survey():
    menu = fw.menu(LINE, [1.0, 4.0], "geo", theta=UNIFORM, of="mean")
    assert list(menu.survey.mechanisms) == ["geo 1", "geo 4"]
    assert "4" in str(menu)
    assert "geo-indistinguishability" in str(menu)


@pytest.mark.slow
@pytest.mark.parametrize("of", ["mean", None])
@pytest.mark.usefixtures("rough_plans")
def test_steps_are_told_with_the_share_done(of):
    steps: list[fw.Step] = []
    menu = fw.menu(LINE, [1.0, 4.0], theta=UNIFORM, of=of, on_step=steps.append)
    whole = 1 + sum(map(len, menu.offers))  # telling the truth is the first
    assert [step.share for step in steps] == pytest.approx(np.arange(1, whole + 1) / whole)
    assert str(menu) == str(fw.menu(LINE, [1.0, 4.0], theta=UNIFORM, of=of))


def test_a_level_that_no_mechanism_has_is_refused_before_the_work():
    steps: list[fw.Step] = []
    with pytest.raises(fw.ParameterError, match="no mechanism has it"):
        fw.menu(LINE, [1.0, 1e300], on_step=steps.append)
    assert not steps


BAD: dict[str, Any] = {
    "no alphabet": ({"alphabet": "0..99"}, "expected Linear, Grid, Categorical or Product"),
    "no levels": ({"levels": []}, "levels=[]"),
    "zero": ({"levels": [0.0]}, "level 0"),
    "negative": ({"levels": [1.0, -2.0]}, "level -2"),
    "infinite": ({"levels": np.inf}, "level inf"),
    "not a number": ({"levels": np.nan}, "level nan"),
    "text": ({"levels": "high"}, "'high'"),
    "twice": ({"levels": [1.0, 1.0]}, "listed twice"),
    "beyond all": ({"levels": 1e300}, "no mechanism has it"),
    "a loss out of reach": ({"levels": 1e6, "promise": "loss"}, "out of reach"),
    "promise": ({"promise": "lpd"}, "Did you mean 'ldp'"),
    "no promise": ({"promise": None}, "expected one of ldp, geo, loss"),
    "promises": ({"promise": np.array(["ldp", "geo"])}, "expected one of ldp, geo, loss"),
    "theta": ({"theta": [1.0]}, "5 values"),
    "no function": ({"on_step": 3}, "on_step=3"),
    "a quantile": ({"of": "median"}, "quantile"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    wrong, message = BAD[case]
    with pytest.raises(fw.FreewillError) as error:
        fw.menu(**{"alphabet": LINE, "levels": [1.0], **wrong})
    assert message in str(error.value)


@pytest.mark.parametrize("promise", ["ldp", "geo", "loss"])
def test_one_value_has_no_mechanism_at_any_level(promise):
    for alphabet in (fw.Linear(0, 0), fw.Grid(1, 1, cell=1.0), fw.Categorical(["only"])):
        with pytest.raises(fw.ParameterError, match=r"no mechanism has it\. .*at least 2"):
            candidates(alphabet, 1.0, promise)


def test_a_menu_compares_kinds_of_ones_own():
    line = fw.Linear(0, 19)
    uniform = np.full(20, 0.05)
    hashing = partial(ForeignHashing, buckets=4)
    found = fw.menu(line, [2.0], of="mean", theta=uniform, kinds=[ForeignUnary, hashing, fw.RAPPOR])
    costs = {str(one.mechanism): one.cost for one in found.offers[0]}
    own = {name: cost for name, cost in costs.items() if name.startswith("foreign")}
    assert len(own) == 2
    assert "foreign-unary(0..19, epsilon=2)" in own
    # Optimised unary encoding and hashing tell as much as one another, as the field has it.
    assert max(own.values()) < 1.5 * min(own.values())
    by_distance = fw.menu(line, [0.1], "geo", uniform, "mean", kinds=[fw.Geometric, ForeignUnary])
    names = {str(one.mechanism) for one in by_distance.offers[0]}
    assert names == {"geometric(0..19, epsilon=0.1)", "foreign-unary(0..19, epsilon=0.1)"}
    (apart,) = fw.menu(line, [1.9], "ldp", uniform, "mean", kinds=[fw.Geometric]).offers[0]
    assert str(apart.mechanism) == "geometric(0..19, epsilon=0.1)"


@pytest.mark.parametrize("kinds", [3, [3], [str], [lambda alphabet, epsilon: 5], [fw.Shokri]])
def test_what_makes_no_mechanism_of_an_epsilon_is_refused(kinds):
    with pytest.raises(fw.FreewillError, match=r"expected|promises"):
        fw.menu(fw.Linear(0, 3), [1.0], of="mean", kinds=kinds)


def test_the_best_of_a_kind_is_offered():
    """Of Hadamard response, as many blocks as tell most at the epsilon."""
    menu = fw.menu(fw.Linear(0, 19), [3.0], kinds=["hadamard-response"], of="mean")
    assert menu.offers[0][0].mechanism == fw.HadamardResponse.best(fw.Linear(0, 19), 3.0)
