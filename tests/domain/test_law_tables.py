"""Laws that are tables computed from parameters: what each has beyond the contract."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import freewill as fw
from freewill.domain.guarantees.logarithms import literal_geo_epsilon
from freewill.stats.laws.residuals import at_epsilon, epsilon_of

LINE, MENU = fw.Linear(0, 9), fw.Categorical(["a", "b", "c"])
CITY = fw.Grid(4, 3, cell=0.5)
LONG = fw.Linear(0, 4000)
KINDS = {
    "exponential": lambda e: fw.Exponential(CITY, e),
    "planar-laplace": lambda e: fw.PlanarLaplace(CITY, e),
    "staircase": lambda e: fw.Staircase(LINE, e),
    "square-wave": lambda e: fw.SquareWave(LINE, e),
    "optimal-geo": lambda e: fw.OptimalGeo(fw.Linear(0, 3), e),
    "blahut-arimoto": lambda e: fw.BlahutArimoto(LINE, min(e, 60.0)),
}
kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
@given(exponent=st.floats(math.log(1e-8), math.log(90.0)))
@example(exponent=math.log(1e-8))
@example(exponent=math.log(90.0))
@example(exponent=0.0)
def test_the_promise_is_kept_to_the_last_digit(kind, exponent):
    """By the whole numbers that are drawn, without the rounding that a table is granted."""
    mechanism = KINDS[kind](math.exp(exponent))
    found = fw.audit(mechanism, exact=True)
    assert found.holds
    assert found.margin >= 0
    assert found.margin < 1e-4 or not math.isclose(found.epsilon, found.claim.epsilon, rel_tol=1e-4)


@kinds
def test_a_browser_is_sent_the_table_and_the_promise(kind):
    mechanism = KINDS[kind](0.8)
    program = json.loads(json.dumps(mechanism.program(), allow_nan=False))
    np.testing.assert_array_equal(program["law"], mechanism.law())
    promise = mechanism.guarantee()
    assert program["draw"] == "table"
    assert program["promise"] == {"kind": promise.kind, "epsilon": promise.epsilon}


@kinds
def test_tables_cannot_be_written_to(kind):
    with pytest.raises(ValueError, match="read-only"):
        KINDS[kind](0.8).law()[0, 0] = 1.0


@pytest.mark.parametrize("law", [[[0.5, 0.5], [0.5, 0.5]], [[0.3, 0.7], [0.3, 0.7]]])
def test_equal_rows_tell_nothing(law):
    assert literal_geo_epsilon(np.array(law), fw.Linear(0, 1)) == 0


def test_an_output_that_excludes_a_value_has_no_epsilon():
    law = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    assert literal_geo_epsilon(law, fw.Linear(0, 1)) == math.inf
    assert literal_geo_epsilon(np.eye(2)[:, :1] + 1, fw.Linear(0, 1)) == pytest.approx(0, abs=1e-15)


# Refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: fw.Exponential(LONG, 0.1), fw.LawError, "2,048 values"),
        (lambda: fw.Exponential(LINE, 1e-11), fw.ParameterError, "must be >= 1e-10"),
        (lambda: fw.Exponential(LINE, 100.0), fw.ParameterError, "must be <= 72.2"),
        (lambda: fw.Exponential(LINE, -1.0), fw.ParameterError, "epsilon=-1.0"),
        (lambda: fw.Exponential(3, 1.0), fw.AlphabetError, "expected an alphabet"),
        (lambda: fw.PlanarLaplace(LINE, 1.0), fw.AlphabetError, "expected a Grid"),
        (
            lambda: fw.PlanarLaplace(fw.Grid(5, 1, cell=1.0), 1.0),
            fw.AlphabetError,
            "at least 2 columns",
        ),
        (lambda: fw.PlanarLaplace(fw.Grid(64, 64, cell=1.0), 1.0), fw.LawError, "4,096 values"),
        (lambda: fw.Staircase(MENU, 1.0), fw.AlphabetError, "a Linear alphabet"),
        (lambda: fw.Staircase(LINE, 1.0, gamma=0.0), fw.ParameterError, "gamma=0.0"),
        (lambda: fw.Staircase(LINE, 1.0, gamma=math.nan), fw.ParameterError, "gamma=nan"),
        (lambda: fw.Staircase(LINE, 1.0, gamma="a"), fw.ParameterError, "gamma='a'"),
        (lambda: fw.SquareWave(CITY, 1.0), fw.AlphabetError, "a Linear alphabet"),
        (lambda: fw.SquareWave(LINE, 1.0, reach=-1), fw.ParameterError, "reach=-1"),
        (lambda: fw.SquareWave(LINE, 1.0, reach=1.5), fw.ParameterError, "reach=1.5"),
        (lambda: fw.SquareWave(LINE, 1.0, reach=math.nan), fw.ParameterError, "reach=nan"),
        (lambda: fw.BlahutArimoto(LINE), fw.ParameterError, "expected one of them"),
        (lambda: fw.BlahutArimoto(LINE, 1.0, quality_loss=1.0), fw.ParameterError, "expected one"),
        (lambda: fw.BlahutArimoto(LINE, 0.0), fw.ParameterError, "beta=0.0"),
        (lambda: fw.BlahutArimoto(LINE, -1.0), fw.ParameterError, "must be a number > 0"),
        (lambda: fw.BlahutArimoto(LINE, 1e9), fw.ParameterError, "<= 66.67"),
        (lambda: fw.BlahutArimoto(LINE, quality_loss=2.5), fw.ParameterError, "costs 2.5"),
        (lambda: fw.BlahutArimoto(LINE, quality_loss=1e-40), fw.ParameterError, "out of reach"),
        (lambda: fw.BlahutArimoto(LINE, quality_loss=-1), fw.ParameterError, "quality_loss=-1"),
        (
            lambda: fw.BlahutArimoto(MENU, 1.0, prior=[1.0, 0.5, -0.5]),
            fw.ParameterError,
            "prior[2]",
        ),
        (lambda: fw.BlahutArimoto(MENU, 1.0, prior=[1.0]), fw.ParameterError, "prior has shape"),
        (lambda: fw.BlahutArimoto(MENU, 1.0, marginal=[1.0]), fw.ParameterError, "marginal"),
        (
            lambda: fw.BlahutArimoto(MENU, 1.0, marginal=[1.0 - 1e-40, 1e-40, 0.0]),
            fw.LawError,
            "at least 1e-30",
        ),
        (lambda: fw.OptimalGeo(fw.Linear(0, 200), 1.0), fw.LawError, "at most 128 values"),
        (lambda: fw.OptimalGeo(LINE, 0.0), fw.ParameterError, "epsilon=0.0"),
        (lambda: fw.OptimalGeo(LINE, 1.0, dilation=0.5), fw.ParameterError, "dilation=0.5"),
        (lambda: fw.OptimalGeo(MENU, 1.0, prior=[1, 0, "a"]), fw.ParameterError, "prior"),
        (lambda: fw.OptimalGeo(MENU, 1.0, law=np.eye(3)), fw.LawError, "epsilon inf"),
        (
            lambda: fw.OptimalGeo(fw.Grid(11, 11, cell=1.0), 1.0, dilation=1.0),
            fw.LawError,
            "constraints",
        ),
    ],
)
def test_what_cannot_be_is_refused(build, error, words):
    with pytest.raises(error) as caught:
        build()
    assert words in str(caught.value)


# Planar Laplace --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "epsilon"), [((0.5, 0.5), 0.8), ((3.0, 0.01), 2.0), ((0.3, 0.4), 30)]
)
def test_planar_laplace_has_all_of_the_noise(cell, epsilon):
    """Before any row is divided by its sum, the integrals make up 1."""
    mechanism = fw.PlanarLaplace(fw.Grid(5, 4, cell=cell), epsilon)
    np.testing.assert_allclose(mechanism._law().sum(axis=1) / (2 * np.pi), 1, rtol=4e-15)


@pytest.mark.later
def test_planar_laplace_at_its_largest_size():
    mechanism = fw.PlanarLaplace(fw.Grid(64, 32, cell=0.5), 0.8)
    assert mechanism.law().shape == (2048, 2048)
    assert mechanism.law().min() > 0
    # Far from the edges the expected distance is that of the noise, 2 / epsilon, but for cells.
    middle = 16 * 64 + 32
    assert mechanism.losses()[middle] == pytest.approx(2 / 0.8, rel=0.02)


# Staircase and square wave ---------------------------------------------------------------------


@given(size=st.integers(2, 60), epsilon=st.floats(0.01, 20))
def test_the_best_stair_costs_least(size, epsilon):
    """Of noise that is not clipped, by its definition."""
    line = fw.Linear(0, size - 1)
    chosen = fw.Staircase(line, epsilon).width
    steps, periods = size - 1, int(45 / epsilon) + 2
    noise = np.arange(steps * periods)

    def expected(width):
        chances = np.exp(-epsilon * (noise // steps + (noise % steps >= width)))
        return 2 * (chances @ noise) / (2 * chances.sum() - chances[0])

    least = min(expected(width) for width in range(1, steps + 1))
    assert expected(chosen) <= least * (1 + 1e-9)


def test_a_stair_of_a_single_step_is_geometric():
    stairs, noise = fw.Staircase(fw.Linear(0, 1), 0.7), fw.Geometric(fw.Linear(0, 1), 0.7)
    np.testing.assert_allclose(stairs.law(), noise.law(), rtol=1e-12)


def test_square_wave_reports_beyond_the_line():
    wave = fw.SquareWave(fw.Linear(10, 40, step=10, unit="year"), 0.5)
    assert wave.width == 1
    assert wave.output_space.alphabet == fw.Linear(0, 50, step=10, unit="year")
    assert wave.received(wave.report([10, 40])).shape == (2,)
    with pytest.raises(fw.LawError, match="not values of its alphabet"):
        wave.quality_loss()


def test_what_jumps_is_held_while_epsilon_is_varied():
    """The test of laws varies epsilon by a thousandth; the outputs must stay what they are."""
    for mechanism in (fw.SquareWave(fw.Linear(0, 99), 1.0), fw.Staircase(fw.Linear(0, 99), 1.0)):
        near = at_epsilon(mechanism, 1.5)
        assert near.epsilon == 1.5
        assert near.width == mechanism.width != type(mechanism)(mechanism.alphabet, 1.5).width
        assert near.output_space == mechanism.output_space
    assert epsilon_of(fw.OptimalGeo(fw.Linear(0, 2), 1.0)) is None


# Blahut-Arimoto --------------------------------------------------------------------------------


def plain_iteration(apart, prior, beta, sweeps):
    """Blahut's own iteration, from the uniform distribution."""
    marginal = np.full(len(apart), 1 / len(apart))
    for _ in range(sweeps):
        law = marginal * np.exp(-beta * apart)
        law /= law.sum(axis=1, keepdims=True)
        marginal = prior @ law
    return law


@pytest.mark.parametrize("alphabet", [LINE, CITY, MENU], ids=str)
@pytest.mark.parametrize("beta", [0.3, 1.5, 6.0])
def test_blahut_arimoto_is_where_the_plain_iteration_leads(alphabet, beta):
    prior = np.random.default_rng(alphabet.size).dirichlet(np.ones(alphabet.size))
    channel, apart = fw.BlahutArimoto(alphabet, beta, prior=prior), fw.distances(alphabet)
    expected = plain_iteration(apart, prior, beta, 20_000)

    def price(law):
        """I + beta E d, in nats."""
        joint = prior[:, None] * law
        ratio = np.divide(law, joint.sum(axis=0), out=np.ones_like(law), where=joint > 0)
        return float((joint * (np.log(ratio) + beta * apart)).sum())

    assert price(channel.law()) <= price(expected) + 1e-9
    assert price(channel.law()) >= price(expected) - 1e-3
    assert 0 <= channel.gap <= 1e-9
    low, high = channel.rate_bounds
    assert high == pytest.approx(fw.leakage(channel, prior).mutual_information, abs=1e-9)
    assert 0 <= high - low <= 1e-8


@given(
    share=st.floats(0.02, 0.98), seed=st.integers(0, 1000), alphabet=st.sampled_from([LINE, CITY])
)
def test_blahut_arimoto_costs_what_it_is_asked_to(share, seed, alphabet):
    prior = np.random.default_rng(seed).dirichlet(np.ones(alphabet.size))
    loss = share * float((prior @ fw.distances(alphabet)).min())
    channel = fw.BlahutArimoto(alphabet, quality_loss=loss, prior=prior)
    assert channel.quality_loss(prior) == pytest.approx(loss, rel=1e-6)
    assert channel.guarantee().epsilon <= 2 * channel.beta * (1 + 1e-9)
    assert fw.from_spec(json.loads(json.dumps(channel.spec()))) == channel


def test_no_other_mechanism_tells_less_at_the_same_loss():
    for other in (fw.Geometric(LINE, 0.5), fw.KRR(LINE, 2.0), fw.Exponential(LINE, 1.0)):
        channel = fw.BlahutArimoto(LINE, quality_loss=other.quality_loss())
        told = fw.leakage(channel).mutual_information
        assert told <= fw.leakage(other).mutual_information + 1e-9


def test_blahut_arimoto_of_a_prior_with_zeros():
    prior = np.array([0.5, 0.0, 0.5])
    channel = fw.BlahutArimoto(fw.Linear(0, 2), 2.0, prior=prior)
    assert channel.gap <= 1e-9
    np.testing.assert_allclose(channel.law().sum(axis=1), 1)
    assert fw.audit(channel, exact=True).holds


# The optimal mechanism -------------------------------------------------------------------------


def least_loss(alphabet, epsilon, prior):
    """The program with all its constraints, by another solver and without a spanner."""
    apart, size = fw.distances(alphabet), alphabet.size
    rows = []
    for x in range(size):
        for other in range(size):
            for z in range(size) if x != other else ():
                row = np.zeros((size, size))
                row[x, z], row[other, z] = 1.0, -math.exp(epsilon * apart[x, other])
                rows.append(row.ravel())
    sums = np.kron(np.eye(size), np.ones(size))
    cost = (prior[:, None] * apart).ravel()
    solved = linprog(
        cost,
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=sums,
        b_eq=np.ones(size),
        method="highs-ds",
    )
    return solved.fun


@pytest.mark.parametrize("alphabet", [fw.Linear(0, 6), fw.Grid(3, 2, cell=0.5), MENU], ids=str)
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_optimum_is_that_of_all_constraints(alphabet, epsilon):
    prior = np.random.default_rng(alphabet.size).dirichlet(np.ones(alphabet.size))
    best = fw.OptimalGeo(alphabet, epsilon, prior=prior)
    expected = least_loss(alphabet, epsilon, prior)
    assert best.quality_loss(prior) == pytest.approx(expected, rel=1e-6)
    assert best.least_loss <= expected + 1e-9
    assert best.gap <= 1e-6
    wide = fw.OptimalGeo(alphabet, epsilon, prior=prior, dilation=1.5)
    assert wide.quality_loss(prior) >= best.quality_loss(prior) - 1e-9
    assert wide.least_loss <= expected + 1e-9
    assert fw.audit(wide, exact=True).margin >= 0


def test_no_geo_indistinguishable_mechanism_costs_less():
    best = fw.OptimalGeo(CITY, 1.5).quality_loss()
    for kind in (fw.PlanarGeometric, fw.PlanarLaplace, fw.Exponential):
        assert best <= kind(CITY, 1.5).quality_loss()


def test_a_solved_law_is_part_of_the_description():
    best = fw.OptimalGeo(CITY, 1.5)
    spec = json.loads(json.dumps(best.spec()))
    again = fw.from_spec(spec)
    np.testing.assert_array_equal(again.law(), best.law())
    assert again.gap == pytest.approx(best.gap, abs=1e-9)
    del spec["law"]
    assert fw.from_spec(spec) == best
    spec["law"] = np.eye(12).tolist()
    with pytest.raises(fw.SpecError, match="more than is promised"):
        fw.from_spec(spec)


# With the rest of the library ------------------------------------------------------------------


@pytest.mark.slow
@kinds
def test_every_question_can_be_asked(kind, tmp_path):
    mechanism, rng = KINDS[kind](1.5), np.random.default_rng(5)
    alphabet = mechanism.alphabet
    other = fw.KRR(alphabet, 2.0)
    values = rng.integers(0, alphabet.size, 6000)
    pairs = [(mechanism, values[:4000]), (other, values[4000:])]
    evidence = fw.collect([(each, each.obfuscate(some, rng)) for each, some in pairs])
    survey = fw.Survey(alphabet, {"one": mechanism, "other": other})
    survey.save(tmp_path / "survey.json")
    assert fw.Survey.load(tmp_path / "survey.json") == survey
    fw.save_evidence(evidence, tmp_path / "evidence.parquet")
    estimate = fw.gibu(fw.load_evidence(tmp_path / "evidence.parquet"))
    assert estimate.status == fw.Status.CERTIFIED
    assert fw.intervals(evidence).low.size == alphabet.size
    assert fw.check_choice(evidence).p_value > 1e-4
    assert fw.check_fit(evidence).p_value > 1e-4
    assert fw.choice_aware(evidence).theta.sum() == pytest.approx(1)
    assert fw.plan(survey, {"one": 0.5, "other": 0.5}, people=1000).emd[0] > 0
    assert fw.explain(survey)["one"].sentences
    value = alphabet.decode([1]).tolist()[0]
    report = fw.Device(mechanism).report(tuple(value) if isinstance(value, list) else value)
    mechanism.received([report])


@pytest.mark.parametrize("kind", [fw.Exponential, fw.Staircase, fw.OptimalGeo])
def test_a_loss_can_be_calibrated_to(kind):
    line = fw.Linear(0, 5)
    found = fw.calibrate(kind, line, quality_loss=0.9)
    assert found.quality_loss() == pytest.approx(0.9, rel=1e-6)
    with pytest.raises(fw.ParameterError, match="out of reach"):
        fw.calibrate(kind, line, quality_loss=4.9)
