"""Choice-aware estimates: against a naive likelihood, by their properties, and what they refuse."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import freewill as fw
from freewill.inference import choice_model
from freewill.inference.choice_bases import Basis, basis_of, ladder
from freewill.inference.choice_intervals import joint_estimate
from freewill.inference.choice_model import ChoiceModel, softmax
from freewill.streams import Block, Stream
from streams_cases import Split

LINE = fw.Linear(0, 11)
FIVE = fw.Linear(0, 4)
MIXED = [fw.Geometric(LINE, 0.4), fw.KRR(LINE, 2.0), fw.KRR(LINE, 3.5)]
BITS = [fw.RAPPOR(FIVE, 2.0), fw.Geometric(FIVE, 0.7), fw.Identity(FIVE)]
CITY = fw.Grid(6, 4, cell=0.5)
MENU = fw.Categorical(list("abcd"))


def chosen(
    mechanisms: list[Any], truth: np.ndarray, choice: np.ndarray, people: int, seed: int
) -> fw.Evidence:
    """Draw people who choose by their value."""
    rng = np.random.default_rng(seed)
    values = rng.choice(truth.size, size=people, p=truth)
    own = (rng.random(people)[:, None] > np.cumsum(choice, axis=1)[values]).sum(axis=1)
    own = np.minimum(own, len(mechanisms) - 1)
    return fw.collect([(m, m.obfuscate(values[own == i], rng)) for i, m in enumerate(mechanisms)])


def exact(
    mechanisms: list[Any], truth: np.ndarray, choice: np.ndarray, people: int = 10**9
) -> fw.Evidence:
    """Return the counts that so many people are expected to give."""
    parts = []
    for mechanism, own in zip(mechanisms, choice.T, strict=True):
        counts = np.rint(people * ((truth * own) @ mechanism.law())).astype(np.int64)
        parts.append((mechanism, mechanism.outputs(), counts))
    return fw.collect(parts)


def naive_law(evidence: fw.Evidence, choice: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return P((m, z) | x) for all outputs, [value, pair], and the people's share of each pair."""
    laws, weights = [], []
    for group, own in zip(evidence.groups, choice.T, strict=True):
        law = group.mechanism.law()
        every = [np.asarray(one).tolist() for one in group.mechanism.outputs()]
        counts = np.zeros(len(every))
        for output, count in zip(group.outputs, group.counts, strict=True):
            counts[every.index(np.asarray(output).tolist())] += count
        laws.append(own[:, None] * law)
        weights.append(counts / evidence.people)
    return np.hstack(laws), np.concatenate(weights)


def naive_value(evidence: fw.Evidence, choice: np.ndarray, theta: np.ndarray) -> float:
    """Return L of the pairs."""
    law, weights = naive_law(evidence, choice)
    seen = weights > 0
    return float(weights[seen] @ np.log((theta @ law)[seen]))


def naive_maximum(evidence: fw.Evidence, choice: np.ndarray) -> float:
    """Return the maximum of L over theta, by a great deal of EM."""
    law, weights = naive_law(evidence, choice)
    law, weights = law[:, weights > 0], weights[weights > 0]
    theta = np.full(len(law), 1 / len(law))
    for _ in range(100_000):
        theta = theta * (law @ (weights / (theta @ law)))
    return float(weights @ np.log(theta @ law))


def random_choice(model: ChoiceModel, basis: Basis, seed: int) -> np.ndarray:
    """Return coefficients that make the choice depend on the value."""
    rng = np.random.default_rng(seed)
    return model.free(basis.size) + 0.7 * rng.standard_normal(
        (basis.size + 1, len(model.shares) - 1)
    )


def slope_of(size: int, count: int, strength: float = 1.5) -> np.ndarray:
    """Return a choice law by slopes."""
    return softmax(strength * np.outer(np.linspace(-1, 1, size), np.linspace(-1, 1, count)))


@pytest.mark.parametrize("mechanisms", [MIXED, BITS], ids=["symbols", "bits"])
@pytest.mark.parametrize("seed", range(3))
def test_the_maximum_given_a_choice_is_certified_and_the_naive_one(
    mechanisms: list[Any], seed: int
) -> None:
    size = mechanisms[0].alphabet.size
    truth = np.random.default_rng(seed).dirichlet(np.ones(size))
    evidence = chosen(mechanisms, truth, slope_of(size, 3), 3000, seed)
    model = ChoiceModel(evidence, 1e-9, 100)
    basis = ladder(evidence.alphabet)[2]
    choice = model.choice(basis, random_choice(model, basis, seed))
    solution = model.solve(choice, np.full(size, 1 / size))
    assert solution.certificate.gap <= 1e-9
    assert solution.theta.sum() == pytest.approx(1)
    told = naive_value(evidence, choice, solution.theta)
    assert solution.certificate.value == pytest.approx(told, abs=1e-10)
    assert told == pytest.approx(naive_maximum(evidence, choice), abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_bits_that_are_passed_over_give_the_same_theta(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    truth = np.random.default_rng(seed).dirichlet(np.ones(5))
    evidence = chosen(BITS, truth, slope_of(5, 3), 3000, seed)
    basis = ladder(FIVE)[1]
    theta = np.full(5, 0.2)
    dense = ChoiceModel(evidence, 1e-10, 100)
    choice = dense.choice(basis, random_choice(dense, basis, seed))
    there = dense.solve(choice, theta)
    monkeypatch.setattr(choice_model, "_DENSE", 0)
    passed = ChoiceModel(evidence, 1e-10, 100)
    found = passed.solve(choice, theta)
    np.testing.assert_allclose(found.theta, there.theta, atol=1e-5)
    assert found.certificate.gap <= 1e-10
    assert found.certificate.value == pytest.approx(there.certificate.value, abs=1e-9)


@pytest.mark.parametrize("mechanisms", [MIXED, BITS], ids=["symbols", "bits"])
@pytest.mark.parametrize("rung", [1, 2, 3])
def test_the_gradient_of_the_profile_is_that_of_finite_differences(
    mechanisms: list[Any], rung: int
) -> None:
    size = mechanisms[0].alphabet.size
    truth = np.random.default_rng(5).dirichlet(np.ones(size))
    evidence = chosen(mechanisms, truth, slope_of(size, 3), 2000, rung)
    model = ChoiceModel(evidence, 1e-13, 200)
    basis = ladder(evidence.alphabet)[rung]
    coefficients = random_choice(model, basis, rung)

    def profile(at: np.ndarray) -> Any:
        return model.solve(model.choice(basis, at), np.full(size, 1 / size))

    choice = model.choice(basis, coefficients)
    gradient = model.gradient(basis, profile(coefficients).theta, choice)
    for place in np.ndindex(coefficients.shape):
        step = np.zeros_like(coefficients)
        step[place] = 1e-4
        values = [
            naive_value(evidence, model.choice(basis, at), profile(at).theta)
            for at in (coefficients + step, coefficients - step)
        ]
        slope = evidence.people * (values[0] - values[1]) / 2e-4
        assert gradient[place] == pytest.approx(slope, abs=2e-3 * (1 + abs(slope)))


@pytest.mark.parametrize("mechanisms", [MIXED, BITS], ids=["symbols", "bits"])
@pytest.mark.parametrize("rung", [1, 3])
def test_the_score_is_that_of_all_pairs_listed(mechanisms: list[Any], rung: int) -> None:
    """U and I from numerical derivatives of the naive law, theta projected out by least squares."""
    size = mechanisms[0].alphabet.size
    rng = np.random.default_rng(rung)
    evidence = chosen(mechanisms, rng.dirichlet(np.ones(size)), slope_of(size, 3), 2000, 7)
    model = ChoiceModel(evidence, 1e-9, 100)
    basis = ladder(evidence.alphabet)[rung]
    coefficients = random_choice(model, basis, rung)
    theta = rng.dirichlet(np.ones(size))
    inside = (2000 * theta + 0.5) / (2000 + 0.5 * size)

    def fitted(at: np.ndarray) -> np.ndarray:
        return inside @ naive_law(evidence, model.choice(basis, at))[0]

    law, weights = naive_law(evidence, model.choice(basis, coefficients))
    p = fitted(coefficients)
    columns = []
    for place in np.ndindex(coefficients.shape):
        step = np.zeros_like(coefficients)
        step[place] = 1e-5
        columns.append((fitted(coefficients + step) - fitted(coefficients - step)) / 2e-5)
    moves = np.stack(columns, axis=1)
    root = np.sqrt(p)[:, None]
    scaled, nuisance = moves / root, law.T / root
    left = scaled - nuisance @ np.linalg.lstsq(nuisance, scaled, rcond=None)[0]
    found = model.score(basis, theta, model.choice(basis, coefficients))
    np.testing.assert_allclose(found.curvature, 2000 * left.T @ left, atol=1e-4)
    np.testing.assert_allclose(found.known, 2000 * scaled.T @ scaled, atol=1e-4)
    slope = 2000 * left.T @ (weights / root[:, 0])
    np.testing.assert_allclose(found.slope.ravel(), slope, atol=1e-3)


def test_the_score_has_mean_nothing_wherever_theta_is() -> None:
    """At the true choice law, with expected counts, whatever theta it is taken at."""
    truth = np.random.default_rng(1).dirichlet(np.ones(12))
    model = ChoiceModel(exact(MIXED, truth, slope_of(12, 3), 10**12), 1e-9, 100)
    basis = basis_of("linear", LINE)
    order = [MIXED.index(one) for one in model.evidence.mechanisms]
    choice = slope_of(12, 3)[:, order]
    for seed in range(5):
        theta = np.random.default_rng(seed).dirichlet(np.full(12, 0.3))
        score = model.score(basis, theta, choice)
        errors = np.sqrt(np.diag(score.curvature))
        # 1e12 people: a bias of a millionth of a standard error a person would be a whole one.
        assert np.all(np.abs(score.slope.ravel()) < 1e-4 * errors)
        assert np.abs(model.gradient(basis, theta, choice)).max() > 10 * errors.max()


@pytest.mark.parametrize("seed", range(4))
def test_a_free_choice_gives_gibus_theta(seed: int) -> None:
    truth = np.random.default_rng(seed).dirichlet(np.ones(12))
    evidence = chosen(MIXED, truth, np.full((12, 3), 1 / 3), 5000, seed)
    aware, free = fw.choice_aware(evidence), fw.gibu(evidence)
    assert aware.is_free
    assert aware.basis == "none"
    np.testing.assert_array_equal(aware.theta, free.theta)
    shares = [group.people / 5000 for group in evidence.groups]
    np.testing.assert_allclose(aware.choice, np.tile(shares, (12, 1)))
    assert aware.likelihood_ratio == 0
    assert aware.criterion == 0
    assert aware.gap == free.gap
    assert aware.log_likelihood == pytest.approx(naive_value(evidence, aware.choice, aware.theta))


@pytest.mark.parametrize("basis", ["linear", "quadratic", 6, 12])
def test_with_very_many_people_theta_and_the_choice_are_found(basis: Any) -> None:
    truth = np.random.default_rng(3).dirichlet(np.full(12, 3.0))
    choice = slope_of(12, 3)
    evidence = exact(MIXED, truth, choice)
    aware = fw.choice_aware(evidence, basis)
    order = [MIXED.index(one) for one in evidence.mechanisms]
    np.testing.assert_allclose(aware.choice, choice[:, order], atol=0.01)
    np.testing.assert_allclose(aware.theta, truth, atol=2e-3)
    assert not aware.is_free


@pytest.mark.parametrize(
    ("mechanisms", "shape"),
    [
        ([fw.PlanarGeometric(CITY, 2.0), fw.KRR(CITY, 3.0)], "grid"),
        ([fw.KRR(MENU, 1.0), fw.KRR(MENU, 3.0)], "labels"),
        ([fw.RAPPOR(FIVE, 1.0), fw.RAPPOR(FIVE, 4.0)], "bits"),
    ],
    ids=["grid", "labels", "bits"],
)
def test_a_dependent_choice_is_noticed_on_every_alphabet(mechanisms: list[Any], shape: str) -> None:
    size = mechanisms[0].alphabet.size
    rng = np.random.default_rng(8)
    truth = rng.dirichlet(np.full(size, 5.0))
    choice = slope_of(size, 2, 3.0)
    if shape == "labels":
        choice = choice[rng.permutation(size)]
    evidence = chosen(mechanisms, truth, choice, 60_000, 4)
    order = [mechanisms.index(one) for one in evidence.mechanisms]
    aware, free = fw.choice_aware(evidence), fw.gibu(evidence)
    assert not aware.is_free
    assert aware.status == "certified"
    assert aware.criterion > 100
    assert aware.likelihood_ratio > 200
    far = np.abs(free.theta - truth).sum()
    assert np.abs(aware.theta - truth).sum() < 0.5 * far
    assert np.sum(truth[:, None] * np.abs(aware.choice - choice[:, order])) < 0.2


EPSILONS = st.sampled_from([1e-9, 1e-3, 0.1, 1.0, 5.0, 40.0, 700.0])
KINDS = st.sampled_from([fw.KRR, fw.Geometric, fw.RAPPOR, fw.Identity, fw.Shokri])


def built(kind: Any, alphabet: fw.Linear, level: float) -> Any:
    """Return a mechanism of any kind."""
    if kind is fw.Identity:
        return fw.Identity(alphabet)
    if kind is fw.Shokri:
        return fw.Shokri(alphabet, float(np.clip(level, 0.1, 0.3 * alphabet.size)))
    return kind(alphabet, level)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    kinds=st.lists(st.tuples(KINDS, EPSILONS), min_size=2, max_size=4, unique=True),
    size=st.integers(2, 9),
    people=st.sampled_from([2, 30, 1000]),
    seed=st.integers(0, 1000),
)
def test_the_answer_is_a_distribution_and_a_choice_law(
    kinds: list[Any], size: int, people: int, seed: int
) -> None:
    alphabet = fw.Linear(0, size - 1)
    mechanisms = list({m.id: m for m in (built(kind, alphabet, e) for kind, e in kinds)}.values())
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(size, 0.5))
    truth /= truth.sum()
    evidence = chosen(mechanisms, truth, slope_of(size, len(mechanisms), 2.0), people, seed)
    if len(evidence.groups) == 1:
        with pytest.raises(fw.EvidenceError, match="no choice"):
            fw.choice_aware(evidence)
        return
    aware = fw.choice_aware(evidence)
    assert aware.theta.sum() == pytest.approx(1)
    assert np.all(aware.theta >= 0)
    assert aware.choice.shape == (size, len(evidence.groups))
    assert np.all(aware.choice >= 0)
    np.testing.assert_allclose(aware.choice.sum(axis=1), 1)
    assert aware.fits[0].basis == "none"
    assert aware.criterion >= 0
    if aware.status == "certified":
        assert aware.gap <= 0.01 / people


def test_more_people_who_are_alike_make_it_surer() -> None:
    truth = np.full(12, 1 / 12)
    evidence = chosen(MIXED, truth, slope_of(12, 3, 0.6), 1500, 3)
    once, thrice = fw.choice_aware(evidence), fw.choice_aware(fw.merge([evidence] * 9))
    assert thrice.criterion > once.criterion
    assert thrice.fits[1].df >= once.fits[1].df
    assert not thrice.is_free


def test_steps_are_told_and_counted() -> None:
    told: list[Any] = []
    evidence = chosen(MIXED, np.full(12, 1 / 12), slope_of(12, 3), 1000, 3)
    aware = fw.choice_aware(evidence, on_step=told.append)
    assert [step.number for step in told] == list(range(1, len(aware.fits) + 1))
    names = [one.basis for one in aware.fits]
    assert names[: len(ladder(LINE))] == [one.name for one in ladder(LINE)]
    assert aware.steps == len(names) == len(aware.trace)


@pytest.mark.parametrize(("rank", "shared"), [(1, True), (2, False)])
def test_one_direction_is_taken_where_all_logits_have_it(rank: int, shared: bool) -> None:
    many = [fw.KRR(LINE, epsilon) for epsilon in (1.5, 2.0, 2.5, 3.0, 3.5, 4.0)]
    places = np.linspace(-1, 1, 12)
    shapes = np.stack([places - places**2, places + places**2], axis=1)[:, :rank]
    levels = np.array([[1.5, -1.5, 0.7, -0.7, 1.2, -1.2], [0.9, 0.9, -1.4, -1.4, 0.5, 0.5]])[:rank]
    truth = np.full(12, 1 / 12)
    evidence = chosen(many, truth, softmax(shapes @ levels), 30_000, 2)
    aware = fw.choice_aware(evidence)
    assert aware.basis.endswith("one direction") == shared
    logits = np.log(aware.choice)
    logits -= logits.mean(axis=1, keepdims=True) + (
        logits - logits.mean(axis=1, keepdims=True)
    ).mean(axis=0)
    assert (np.linalg.svd(logits)[1][1] < 1e-9) == shared


def test_one_mechanism_is_no_choice() -> None:
    mine = fw.KRR(LINE, 2.0)
    with pytest.raises(fw.EvidenceError, match=r"one mechanism there is no choice.*fw\.gibu"):
        fw.choice_aware(fw.collect([(mine, [0, 1, 2])]))


def test_nobody_chooses_nothing() -> None:
    with pytest.raises(fw.EvidenceError, match="no people"):
        fw.choice_aware(fw.collect([(fw.KRR(LINE, 2.0), []), (fw.KRR(LINE, 3.0), [])]))
    with pytest.raises(fw.EvidenceError, match="takes evidence"):
        fw.choice_aware(None)


def test_a_basis_larger_than_the_alphabet_is_refused() -> None:
    evidence = fw.collect([(fw.KRR(FIVE, 2.0), [0, 1]), (fw.KRR(FIVE, 3.0), [2])])
    with pytest.raises(fw.ParameterError, match="basis=6: more functions than the 5 values"):
        fw.choice_aware(evidence, basis=6)


def test_too_many_mechanisms_are_refused_with_their_number() -> None:
    coins = [fw.KRR(fw.Linear(0, 1), 0.5 + i / 1000) for i in range(1002)]
    evidence = fw.collect([(coin, [0, 1]) for coin in coins])
    with pytest.raises(fw.ParameterError, match=r"1,002 mechanisms.*1,001 coefficients"):
        fw.choice_aware(evidence)


def test_reports_in_files_are_refused() -> None:
    mechanism = fw.RAPPOR(LINE, 1.0)
    outputs = mechanism.obfuscate(np.arange(12), np.random.default_rng(0))
    stream = Stream(Split(Block(mechanism.id, outputs, None)), mechanism, 12, 12)
    counted = fw.collect([(fw.KRR(LINE, 2.0), [0, 1])])
    away = fw.Evidence(LINE, (fw.Group(mechanism, None, (stream,)), *counted.groups))
    with pytest.raises(fw.EvidenceError, match="stay in files"):
        fw.choice_aware(away)


def test_a_line_beyond_memory_is_refused() -> None:
    line = fw.Linear(0, 99_999)
    evidence = fw.collect([(fw.KRR(line, 2.0), [0, 1]), (fw.KRR(line, 3.0), [2])])
    with pytest.raises(fw.ParameterError, match=r"2 mechanisms on 100,000 values needs"):
        fw.choice_aware(evidence)


def test_a_choice_that_leaves_no_trace_is_named() -> None:
    """With one mechanism that tells nothing, theta explains all that the choice would."""
    blind = fw.Matrix(LINE, np.full((12, 2), 0.5))
    told = fw.KRR(LINE, 3.0)
    truth = np.full(12, 1 / 12)
    evidence = chosen([told, blind], truth, slope_of(12, 2, 2.0), 5000, 0)
    aware = fw.choice_aware(evidence)
    assert aware.is_free
    assert len(aware.blind) == 2
    assert "no reports would tell: how the choice of" in str(aware)
    # Two that tell something are told apart, but not who chooses the third.
    both = chosen([told, fw.KRR(LINE, 2.0), blind], truth, slope_of(12, 3), 5000, 0)
    assert [str(blind) in one for one in fw.choice_aware(both).blind] == [True]
    sure = chosen(MIXED, truth, slope_of(12, 3), 5000, 0)
    assert fw.choice_aware(sure).blind == ()


@pytest.mark.parametrize("mechanisms", [MIXED, BITS], ids=["symbols", "bits"])
def test_the_joint_covariance_is_that_of_all_pairs_listed(mechanisms: list[Any]) -> None:
    """C is the inverse of the naive information on the directions in which theta sums to 1."""
    size, people = mechanisms[0].alphabet.size, 2000
    rng = np.random.default_rng(2)
    evidence = chosen(mechanisms, rng.dirichlet(np.ones(size)), slope_of(size, 3), people, 7)
    model = ChoiceModel(evidence, 1e-9, 100)
    basis = ladder(evidence.alphabet)[2]
    coefficients, theta, spread = random_choice(model, basis, 3), rng.dirichlet(np.ones(size)), 0.8
    inside = (people * theta + 0.5) / (people + 0.5 * size)
    law, weights = naive_law(evidence, model.choice(basis, coefficients))
    p = inside @ law
    columns = [*law]
    for place in np.ndindex(coefficients.shape):
        step = np.zeros_like(coefficients)
        step[place] = 1e-5
        ends = [
            inside @ naive_law(evidence, model.choice(basis, coefficients + side * step))[0]
            for side in (1, -1)
        ]
        columns.append((ends[0] - ends[1]) / 2e-5)
    moves = np.stack(columns, axis=1)
    prior = np.concatenate([np.zeros(size + 2), np.full(coefficients.size - 2, spread**-2)])
    information = people * (moves.T / p) @ moves + np.diag(prior)
    tangent = np.linalg.qr(np.eye(size)[:, 1:] - np.eye(size)[:, :1])[0]
    free = np.zeros((len(prior), len(prior) - 1))
    free[:size, : size - 1], free[size:, size - 1 :] = tangent, np.eye(coefficients.size)
    expected = free @ np.linalg.inv(free.T @ information @ free) @ free.T
    found = joint_estimate(model, basis, theta, coefficients, spread)
    assert found is not None
    np.testing.assert_allclose(found.covariance, expected, atol=1e-6 * np.abs(expected).max())
    slope = people * moves.T @ (weights / p)
    slope[size:] -= prior[size:] * coefficients.ravel()
    moved = np.concatenate([inside, coefficients.ravel()]) + expected @ slope
    np.testing.assert_allclose(found.theta, moved[:size], atol=1e-6)
    np.testing.assert_allclose(found.coefficients.ravel(), moved[size:], atol=1e-5)
    assert found.theta.sum() == pytest.approx(1)


@pytest.mark.parametrize("strength", [0.0, 1.5])
def test_intervals_hold_the_mean_and_the_choice(strength: float) -> None:
    truth = np.exp(-((np.arange(12) - 5) ** 2) / 12)
    truth /= truth.sum()
    choice, mean = slope_of(12, 3, strength), truth @ np.arange(12)
    held = []
    for seed in range(60):
        evidence = chosen(MIXED, truth, choice, 4000, seed)
        order = [MIXED.index(one) for one in evidence.mechanisms]
        aware = fw.choice_aware(evidence)
        told, (low, high) = aware.intervals("mean"), aware.choice_intervals()
        inside = (low <= choice[:, order]) & (choice[:, order] <= high)
        held.append([told.low <= mean <= told.high, inside.mean()])
    assert np.mean(held, axis=0)[0] >= 0.87  # of 60 runs at 95 %, two in a thousand fall below
    assert np.mean(held, axis=0)[1] >= 0.87


def test_intervals_are_wider_where_theta_and_the_choice_are_hard_to_tell_apart() -> None:
    truth = np.full(12, 1 / 12)
    widths = []
    for faint in (2.0, 0.3, 0.01):
        pair = [fw.KRR(LINE, 3.0), fw.KRR(LINE, faint)]
        evidence = chosen(pair, truth, np.full((12, 2), 0.5), 5000, 1)
        aware, free = fw.choice_aware(evidence), fw.intervals(evidence, "mean")
        told = aware.intervals("mean")
        assert told.standard_error > free.standard_error
        widths.append(float(told.standard_error))
        low, high = aware.choice_intervals()
        assert np.all(low <= high)
        assert np.all((low >= 0) & (high <= 1))
    assert widths == sorted(widths)
    assert widths[2] > 5 * widths[0]


def test_intervals_take_what_the_others_take() -> None:
    evidence = chosen(MIXED, np.full(12, 1 / 12), slope_of(12, 3), 3000, 1)
    aware = fw.choice_aware(evidence)
    assert len(aware.intervals()) == 12
    assert len(aware.intervals("cdf")) == len(fw.intervals(evidence, "cdf"))
    median = aware.intervals("median")
    assert median.low < median.point < median.high
    narrow, wide = aware.intervals("mean", 0.5), aware.intervals("mean", 0.99)
    assert wide.low < narrow.low < narrow.high < wide.high
    with pytest.raises(fw.ParameterError, match="level"):
        aware.choice_intervals(1.5)
