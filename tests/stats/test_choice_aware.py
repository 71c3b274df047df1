"""Choice-aware estimates: what they find, their properties, and what they refuse."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given
from scipy.special import expit, softmax

import freewill as fw
from choice_cases import CITY, FIVE, LINE, MENU, MIXED, chosen, exact, naive_value, slope_of
from freewill.stats.choice.bases import ladder
from profiles import examples
from streams_cases import partly_in_files


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


@pytest.mark.slow
@examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(
    kinds=st.lists(st.tuples(KINDS, EPSILONS), min_size=2, max_size=4, unique=True),
    size=st.integers(2, 9),
    people=st.sampled_from([2, 30, 1000]),
    seed=st.integers(0, 1000),
)
@example(kinds=[(fw.KRR, 0.1), (fw.KRR, 1.0)], size=2, people=1000, seed=129)
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
    if aware.is_free:
        assert aware.criterion == 0
    if aware.criterion < 0:
        # Free choice explains the reports better: the law has the smaller weight of the two.
        shares = np.array([group.people for group in evidence.groups]) / evidence.people
        assert np.abs(aware.choice - shares).max() <= expit(aware.criterion)
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
    evidence = chosen(many, truth, softmax(shapes @ levels, axis=1), 30_000, 2)
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
    with pytest.raises(fw.EvidenceError, match="stay in files"):
        fw.choice_aware(partly_in_files(LINE))


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
