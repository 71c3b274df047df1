"""Plans: predicted errors beside oracles and simulations, people needed, and what is refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.stats import binom, chi2

import freewill as fw
from freewill.stats.information import DENSE
from freewill.stats.planning import plan as planning
from freewill.stats.planning.design import Design, Projected
from freewill.stats.planning.truths import truths
from profiles import examples

LINE = fw.Linear(0, 19)
MENU = fw.Categorical(["a", "b", "c"])
CITY = fw.Grid(5, 4, cell=0.5)
BINOMIAL = binom.pmf(np.arange(20), 19, 0.4)
SURVEY = fw.Survey(LINE, {"careful": fw.Geometric(LINE, 0.3), "relaxed": fw.KRR(LINE, 3.0)})
BLIND = fw.Survey(MENU, {"blind": fw.Matrix(MENU, np.full((3, 2), 0.5))})


def design_of(theta, *mechanisms):
    share = 1 / len(mechanisms)
    parts = tuple((str(number), one, share) for number, one in enumerate(mechanisms))
    return Design(mechanisms[0].alphabet, parts, np.asarray(theta))


def kind(name, alphabet, epsilon):
    noise = fw.PlanarGeometric if alphabet == CITY else fw.Geometric
    return {"k-rr": fw.KRR, "rappor": fw.RAPPOR, "geometric": noise}[name](alphabet, epsilon)


@examples(60)
@given(
    st.sampled_from(["k-rr", "rappor", "geometric"]),
    st.sampled_from([LINE, CITY]),
    st.floats(-7, 3).map(np.exp),
    st.sampled_from(sorted(truths(LINE))),
    st.integers(2, 10**9),
)
def test_draws_are_the_most_likely_distributions(name, alphabet, epsilon, truth, people):
    design = design_of(truths(alphabet)[truth], kind(name, alphabet, epsilon))
    if not design.resolved:
        return
    projected = design.projected
    rng = np.random.default_rng(people)
    score = projected._root @ rng.standard_normal(20) / np.sqrt(people)
    found = projected.solve(score, np.ones(20, dtype=bool))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-9)
    # The conditions of Karush, Kuhn and Tucker: no slope along the support, none down beside it.
    slope = projected.information @ found - score
    level = float(slope @ found)
    size = np.abs(projected.information @ found).max() + np.abs(score).max()
    assert np.abs(slope - level)[found > 1e-7].max() < 1e-5 * size
    assert (slope - level).min() > -1e-5 * size


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_draws_agree_with_nonnegative_least_squares(epsilon):
    projected = design_of(BINOMIAL, fw.KRR(LINE, epsilon), fw.Geometric(LINE, 1.0)).projected
    rng = np.random.default_rng(1)
    heavy = (
        1e4 * projected.theta @ projected.information.diagonal()
    )  # the sum is nearly 1 at any cost
    root = np.linalg.cholesky(projected.information + heavy)
    for _ in range(5):
        score = projected._root @ rng.standard_normal(20) / 30
        naive, _ = nnls(root.T, np.linalg.solve(root, score + heavy))
        found = projected.solve(score, np.ones(20, dtype=bool))
        assert found == pytest.approx(naive / naive.sum(), abs=1e-4)


def test_draws_have_the_covariance_of_the_efficient_estimator_far_from_the_border():
    design = design_of(np.full(3, 1 / 3), fw.KRR(MENU, 2.0))
    stream = design.projected.draws(10**8)
    errors = 1e4 * (np.array([next(stream) for _ in range(4000)]) - 1 / 3)
    assert np.cov(errors.T) == pytest.approx(design.information.covariance, abs=0.08)


def test_expected_distance_of_a_coin_is_the_closed_form():
    coin = fw.Categorical(["yes", "no"])
    design = design_of([0.3, 0.7], fw.KRR(coin, 1.0))
    law = design.parts[0][1].law()
    report = 0.3 * law[0, 0] + 0.7 * law[1, 0]
    spread = np.sqrt(report * (1 - report) / 40_000) / (law[0, 0] - law[1, 0])
    found = design.expected_emd(40_000, accuracy=0.05)
    assert found.simulated
    assert abs(found.mean - spread * np.sqrt(2 / np.pi)) < 4 * found.error
    assert found.low < found.mean < found.high


@pytest.mark.slow
@pytest.mark.parametrize("people", [300, 3000, 20_000])
@pytest.mark.parametrize("name", ["mixed", "bits", "city"])
def test_plans_come_true(name, people):
    mechanisms = {
        "mixed": [fw.KRR(LINE, 2.0), fw.Geometric(LINE, 0.5)],
        "bits": [fw.RAPPOR(LINE, 3.0)],
        "city": [fw.PlanarGeometric(CITY, 2.0), fw.KRR(CITY, 3.0)],
    }[name]
    design = design_of(BINOMIAL, *mechanisms)
    expected = design.expected_emd(people)
    rng, missed = np.random.default_rng(5), []
    for _ in range(15 if name == "bits" else 50):  # person by person
        values = rng.choice(20, people, p=BINOMIAL)
        chosen = rng.integers(len(mechanisms), size=people)
        parts = [(m, m.obfuscate(values[chosen == i], rng)) for i, m in enumerate(mechanisms)]
        estimate = fw.gibu(fw.collect(parts))
        missed.append(fw.emd(estimate.theta, BINOMIAL, design.alphabet))
    error = np.hypot(np.std(missed) / np.sqrt(len(missed)), expected.error)
    assert abs(np.mean(missed) - expected.mean) < 3.5 * error + 0.05 * expected.mean


def test_simulated_reports_have_their_law():
    design = design_of(BINOMIAL, fw.KRR(LINE, 1.0), fw.Geometric(LINE, 0.4))
    evidence = design.draw(200_000, np.random.default_rng(2))
    for group in evidence.groups:
        assert abs(group.people - 100_000) < 4 * np.sqrt(50_000)
        law = BINOMIAL @ group.mechanism.law()
        counts = np.bincount(group.outputs, weights=group.counts, minlength=20)
        seen = counts > 0
        ratio = counts[seen] / (group.people * law[seen])
        assert chi2.sf(2 * counts[seen] @ np.log(ratio), 19) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("theta", [BINOMIAL, np.full(20, 0.05)], ids=["binomial", "uniform"])
@pytest.mark.usefixtures("rough_plans")
def test_errors_of_values_are_those_of_theory(epsilon, theta):
    survey = fw.Survey(LINE, {"all": fw.KRR(LINE, epsilon)})
    plan = fw.plan(survey, theta=theta, people=50_000)
    squared = float((plan.standard_error[0] ** 2).sum())
    assert squared == pytest.approx(fw.krr_error_bound(theta, [epsilon], [50_000]), rel=1e-6)
    without = fw.error_without_privacy(theta, 50_000)
    assert plan.cost["all"] == pytest.approx(squared / without, rel=1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("rough_plans")
def test_worth_is_what_one_more_person_takes_off():
    shares = {"careful": 0.6, "relaxed": 0.4}
    plan = fw.plan(SURVEY, shares, theta=BINOMIAL, people=100_000, of="mean")
    assert sum(shares[name] * plan.worth[name] for name in shares) == pytest.approx(1)
    least = float(plan.standard_error[0, 0] ** 2) * 100_000
    for name, worth in plan.worth.items():
        more = {
            other: (share + 1e-5 * (other == name)) / 1.00001 for other, share in shares.items()
        }
        grown = fw.plan(SURVEY, more, theta=BINOMIAL, people=100_000, of="mean")
        variance = float(grown.standard_error[0, 0] ** 2) * 100_000 / 1.00001
        assert (1 - variance / least) / 1e-5 == pytest.approx(worth, rel=1e-3)


@pytest.mark.usefixtures("rough_plans")
def test_telling_the_truth_costs_nothing_and_a_mechanism_that_nobody_chose_has_its_worth():
    survey = fw.Survey(LINE, {"open": fw.Identity(LINE), "k": fw.KRR(LINE, 1.0)})
    plan = fw.plan(survey, [0.0, 1.0], theta=np.full(20, 0.05), people=50_000)
    assert plan.cost["open"] == pytest.approx(1, rel=1e-6)
    assert plan.worth["open"] > 10 > plan.worth["k"] == pytest.approx(1)


@pytest.mark.slow
@examples(6)
@given(st.floats(-4, 1).map(np.exp))
def test_needed_for_an_interval_is_the_least_number(target):
    plan = fw.plan(SURVEY, theta=BINOMIAL, people=1_000_000, of="mean", target=target)
    variance = float(plan.standard_error[0, 0] ** 2) * 1_000_000
    reach = [1.959963984540054 * np.sqrt(variance / (plan.needed + less)) for less in (0, -1)]
    assert reach[0] <= target * (1 + 1e-9)
    assert reach[1] > target * (1 - 1e-9) or plan.needed == 2


@pytest.mark.slow
@pytest.mark.parametrize("target", [1.0, 0.2, 0.02])
def test_needed_for_a_distance_is_where_the_distance_is_the_target(target):
    plan = fw.plan(SURVEY, theta=BINOMIAL, people=100_000, target=target)
    again = fw.plan(SURVEY, theta=BINOMIAL, people=plan.needed)
    assert again.emd[0] == pytest.approx(target, rel=0.03)


@pytest.mark.slow
@pytest.mark.usefixtures("rough_plans")
def test_targets_at_the_ends():
    assert fw.plan(SURVEY, theta=BINOMIAL, people=100_000, target=50.0).needed == 2
    for of, target in ((None, 1e-8), ("mean", 1e-8)):
        plan = fw.plan(SURVEY, theta=BINOMIAL, people=100_000, target=target, of=of)
        assert plan.needed is None
        assert "out of reach" in plan.advice
        assert "out of reach" in str(plan)


@pytest.mark.slow
def test_without_a_truth_the_worst_is_planned_for():
    people, target = [100_000], 0.05
    plan = fw.plan(SURVEY, people=people, target=target)
    each = {
        name: design_of(theta, *SURVEY.mechanisms.values()) for name, theta in truths(LINE).items()
    }
    assert set(plan.screened) == set(each)
    rough = {name: one.needed(target, 0.1) or 0 for name, one in each.items()}
    # Two rough numbers differ by less than half: the worst is among those near the largest.
    near = [name for name in each if rough[name] > 0.5 * max(rough.values())]
    needed = {name: each[name].needed(target, 0.02) or 0 for name in near}
    worst = plan.truth.split(",")[0]
    assert plan.needed == needed[worst]
    # Two truths may be as bad as each other, within what simulated surveys tell: numbers of people
    # are known to 4 %, for they go with the square of distances known to 2 %.
    assert needed[worst] > 0.9 * max(needed.values())
    mean = fw.plan(SURVEY, people=people, of="mean")
    assert mean.truth.startswith("both ends")


@pytest.mark.parametrize("alphabet", [LINE, MENU, CITY, fw.Linear(0, 0), fw.Grid(1, 3, cell=1.0)])
def test_truths_are_distributions_that_differ(alphabet):
    found = list(truths(alphabet).values())
    for theta in found:
        assert theta.min() >= 0
        assert theta.sum() == pytest.approx(1)
    assert len({theta.tobytes() for theta in found}) == len(found)


def test_an_estimate_is_a_truth():
    reports = fw.KRR(LINE, 3.0).obfuscate(np.arange(20).repeat(50), np.random.default_rng(0))
    estimate = fw.gibu(fw.collect([(fw.KRR(LINE, 3.0), reports)]))
    plan = fw.plan(SURVEY, theta=estimate, people=100_000)
    assert plan.truth == "as estimated by gibu"
    assert plan.theta == pytest.approx(estimate.theta)
    with pytest.raises(fw.ParameterError, match="same alphabet"):
        fw.plan(BLIND, theta=estimate)


def test_what_reports_do_not_tell_is_said():
    plan = fw.plan(BLIND, people=1000, target=0.1)
    assert np.isnan(plan.emd).all()
    assert np.isinf(plan.standard_error).all()
    assert plan.needed is None
    assert "cannot be told apart" in str(plan)


def test_one_value_and_two_people():
    only = fw.Linear(3, 3)
    plan = fw.plan(fw.Survey(only, {"all": fw.Identity(only)}), people=2)
    assert plan.emd[0] == 0 == plan.standard_error[0, 0]
    sure = fw.plan(fw.Survey(LINE, {"open": fw.Identity(LINE)}), theta=np.eye(20)[3], people=2)
    assert sure.emd[0] < 1e-3  # what the gap that gibu certifies for two people leaves
    assert np.isinf(sure.cost["open"])


def test_large_alphabets_answer_functionals_and_refuse_the_rest():
    line = fw.Linear(0, DENSE)
    survey = fw.Survey(line, {"all": fw.Geometric(line, 0.5)})
    theta = np.full(line.size, 1 / line.size)
    plan = fw.plan(survey, theta=theta, people=10_000, of="mean", target=1.0)
    assert np.isnan(plan.emd[0])
    assert plan.standard_error[0, 0] == pytest.approx(np.std(np.arange(line.size)) / 100, rel=0.01)
    assert "1,025 values" in plan.advice
    for target in (None, 0.1):
        with pytest.raises(fw.ParameterError, match="of='mean'"):
            fw.plan(survey, target=target)


@pytest.mark.slow
@pytest.mark.usefixtures("rough_plans")
def test_outputs_that_no_value_has_tell_nothing():
    law = np.array([[0.7, 0.3], [0.3, 0.7], [0.5, 0.5]])
    law[:, 1] -= (extra := np.array([0.0, 0.2, 0.4]))
    theta = np.full(3, 1 / 3)
    plain = fw.Matrix(MENU, np.column_stack([law, extra]))
    padded = fw.Matrix(MENU, np.column_stack([law[:, 0], np.zeros(3), law[:, 1], extra]))
    one, other = (
        fw.plan(fw.Survey(MENU, {"all": m}), theta=theta, people=50_000, of=[1, 0, 0])
        for m in (plain, padded)
    )
    assert other.standard_error == pytest.approx(one.standard_error)
    assert other.emd[0] == pytest.approx(one.emd[0], rel=1e-6)
    shokri = fw.Survey(LINE, {"all": fw.Shokri(LINE, 2.0)})
    assert not np.isnan(fw.plan(shokri, theta=BINOMIAL, people=50_000).standard_error).any()


@pytest.mark.usefixtures("rough_plans")
def test_progress_is_told():
    told = []
    fw.plan(SURVEY, people=[100_000, 200_000], show=told.append)
    assert told == sorted(told)
    assert 0 < told[0] < told[-1] <= 1


@pytest.mark.slow
@pytest.mark.usefixtures("rough_plans")
def test_a_plan_reads_well():
    text = str(fw.plan(SURVEY, theta=BINOMIAL, people=[100_000, 1_000_000], target=0.1))
    assert "careful 50 %, relaxed 50 %" in text
    assert "for an EMD of 0.1: " in text
    assert "1,000,000" in text


BAD: dict[str, Any] = {
    "no survey": ({"survey": "survey.json"}, "expected a Survey"),
    "a mechanism": ({"survey": fw.KRR(LINE, 1.0)}, "expected a Survey"),
    "sum": ({"shares": [0.5, 0.6]}, "sum to 1.1: expected 1"),
    "sum by name": ({"shares": {"careful": 0.5}}, "sum to 0.5: expected 1"),
    "too few": ({"shares": [1.0]}, "2 mechanisms"),
    "negative": ({"shares": [-0.5, 1.5]}, "-0.5"),
    "not a number": ({"shares": {"careful": np.nan, "relaxed": 1.0}}, "nan"),
    "infinite": ({"shares": [np.inf, 0.0]}, "inf"),
    "a text": ({"shares": "half"}, "expected a share"),
    "unknown": ({"shares": {"carful": 1.0}}, "Did you mean 'careful'"),
    "a number for a name": ({"shares": {3: 1.0}}, "no mechanism 3"),
    "named twice": (
        {"shares": {"careful": 0.5, SURVEY.mechanisms["careful"].id: 0.5}},
        "named twice",
    ),
    "theta too short": ({"theta": [1.0]}, "20 values"),
    "theta negative": ({"theta": [-1.0, 2.0, *[0.0] * 18]}, "-1"),
    "one person": ({"people": 1}, "people=1"),
    "nobody": ({"people": 0}, "people=0"),
    "no numbers": ({"people": []}, "expected one integer"),
    "a part of a person": ({"people": [10, 2.5]}, "2.5"),
    "true": ({"people": True}, "True"),
    "people not a number": ({"people": np.nan}, "nan"),
    "too many": ({"people": 10**13}, "people="),
    "target 0": ({"target": 0}, "target=0"),
    "target below": ({"target": -1.0}, "target=-1"),
    "target not a number": ({"target": np.nan}, "target=nan"),
    "target infinite": ({"target": np.inf}, "target=inf"),
    "target of several": ({"target": [0.1, 0.2]}, "target="),
    "a quantile": ({"of": "median"}, "quantile"),
    "no function": ({"show": [1.0]}, "expected a function"),
    "unknown functional": ({"of": "mode"}, "mode"),
    "weights too short": ({"of": [1.0, 2.0]}, "20 values"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    given_wrong, message = BAD[case]
    with pytest.raises(fw.FreewillError) as error:
        fw.plan(**{"survey": SURVEY, "people": 1000, **given_wrong})
    assert message in str(error.value)


def test_the_pieces_are_public():
    assert fw.plan is planning.plan
    assert isinstance(design_of(BINOMIAL, fw.KRR(LINE, 1.0)).projected, Projected)


@pytest.mark.later
def test_where_few_people_tell_distances_are_those_of_surveys_without_them():
    line, theta = fw.Linear(0, 9), np.r_[0.02, 0.03, 0.9, 0.03, 0.02, np.zeros(5)]
    menu, shares, people = [fw.RAPPOR(line, 50.0), fw.RAPPOR(line, 0.01)], [1e-5, 1 - 1e-5], 31_623
    planned = fw.plan(fw.Survey(line, {"sure": menu[0], "vague": menu[1]}), shares, theta, [people])
    rng, distances = np.random.default_rng(1), []
    for _ in range(60):
        drawn = zip(menu, rng.multinomial(people, shares), strict=True)
        groups = [(m, m.obfuscate(rng.choice(10, size=n, p=theta), rng)) for m, n in drawn if n]
        distances.append(fw.emd(fw.gibu(fw.collect(groups)).theta, theta, line))
    error = np.hypot(np.std(distances) / np.sqrt(60), planned.emd_error[0])
    assert abs(planned.emd[0] - np.mean(distances)) < 3 * error
