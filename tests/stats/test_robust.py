"""Forged reports: found, set aside and told, against naive likelihoods and by simulation."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import freewill as fw
from cli_cases import run
from forged_cases import FOUR, LINE, TRUTH, acquit_others, honest, with_forged
from freewill.numeric.operators.around import AtomOperator
from freewill.numeric.operators.base import probabilities
from freewill.stats.estimators.estimate import default_tolerance
from freewill.stats.forged import AtomFit, AtomModel
from profiles import examples
from streams_cases import partly_in_files


def random_evidence(seed: int, kinds: int = 3) -> fw.Evidence:
    """Return reports of random laws, some outputs with far too many of them."""
    rng = np.random.default_rng(seed)
    line = fw.Linear(0, int(rng.integers(1, 7)))
    parts = []
    for _ in range(kinds):
        law = rng.dirichlet(np.full(int(rng.integers(2, 7)), 0.7), line.size)
        law = 0.99 * law / law.sum(axis=1, keepdims=True) + 0.01 / law.shape[1]
        mechanism = fw.Matrix(line, law)
        counts = rng.integers(0, 200, law.shape[1])
        counts[rng.integers(law.shape[1])] += 1 + int(10 ** rng.uniform(0, 4))
        parts.append((mechanism, np.arange(law.shape[1]), counts))
    return fw.collect(parts)


def model_of(evidence: fw.Evidence) -> AtomModel:
    return AtomModel(evidence, default_tolerance(evidence), 100)


def free_fit(model: AtomModel, evidence: fw.Evidence) -> AtomFit:
    exact = fw.gibu(evidence)
    return model.without(exact)


def naive(evidence: fw.Evidence, theta, shares, forged) -> float:
    """Return the log-likelihood a person of the model as it is written, the mechanisms given."""
    total, first = 0.0, 0
    for place, group in enumerate(evidence.groups):
        rows = probabilities(group.operator)
        own = forged[first : first + group.rows]
        first += group.rows
        p = (1 - forged.sum()) * shares[place] * (rows @ theta) + own
        total += float(group.counts @ np.log(p / (group.people / evidence.people)))
    return total / evidence.people


@pytest.mark.slow
def test_rounds_of_em_with_more_columns_reach_no_more_than_the_certificate_says() -> None:
    for seed in range(12):
        evidence = random_evidence(seed)
        model = model_of(evidence)
        rng = np.random.default_rng(seed)
        places = np.sort(rng.permutation(model.places)[: int(rng.integers(1, 5))])
        price = float(rng.choice([0.0, 0.2]))
        shares = rng.dirichlet(np.full(len(evidence.groups), 20.0))
        found = model._given(shares, places, free_fit(model, evidence), price)
        rows = probabilities(evidence.operator) * shares[model.group][:, None]
        atoms = np.eye(len(rows))[:, places] / (1 + price)
        law, weights = np.hstack([rows, atoms]), evidence.weights
        mixed = np.full(law.shape[1], 1 / law.shape[1])
        for _ in range(20_000):
            mixed = mixed * (law.T @ (weights / (law @ mixed)))
        best = float(weights @ np.log(law @ mixed))
        own = found.log_likelihood + float(model.shares @ np.log(model.shares))
        # A price only proposes atoms: what it finds may lack a hundred times more.
        assert found.gap <= model.tolerance * (100 if price else 1)
        assert own >= best - found.gap - 1e-12
        # EM is still on its way where it crawls.
        assert own <= best + 1e-5


@examples(60)
@given(st.integers(0, 10_000), st.integers(0, 2**32 - 1))
def test_the_gap_bounds_what_any_other_theta_and_forgeries_could_gain(seed, other) -> None:
    evidence = random_evidence(seed)
    model, rng = model_of(evidence), np.random.default_rng(other)
    places = np.sort(rng.permutation(model.places)[: int(rng.integers(1, model.places.size))])
    shares = rng.dirichlet(np.full(len(evidence.groups), 5.0))
    found = model._given(shares, places, free_fit(model, evidence), 0.0)
    for scale in (1.0, 0.1, 0.001):
        # Far and near: a random mixture, and one next to what was found.
        theta = (1 - scale) * found.theta + scale * rng.dirichlet(np.ones(found.theta.size))
        near = np.zeros(model.weights.size)
        near[places] = rng.dirichlet(np.ones(places.size)) * rng.uniform(0, 0.9)
        forged = (1 - scale) * found.forged + scale * near
        gain = naive(evidence, theta, shares, forged) - found.log_likelihood
        assert gain <= found.gap + 1e-10


@examples(40)
@given(st.integers(0, 10_000))
def test_shares_of_the_honest_are_the_best_given_theta(seed) -> None:
    evidence = random_evidence(seed)
    model, rng = model_of(evidence), np.random.default_rng(seed)
    places = np.sort(rng.permutation(model.places)[:2])
    before = model._given(model.shares, places, free_fit(model, evidence), 0.0)
    after = model.fit(places, free_fit(model, evidence))
    # Rounds climb, up to what each may lack.
    assert after.log_likelihood >= before.log_likelihood - 2 * model.tolerance
    law, atoms = probabilities(evidence.operator) @ after.theta, after.forged > 0
    free = [np.any((model.group == one) & ~atoms) for one in range(len(evidence.groups))]
    if not all(free):
        return  # of a mechanism with atoms everywhere any share is as good

    def most_likely(one: int) -> float:
        """Return the honest share of a mechanism that maximises L, the best forgeries beside it.

        L less the sum of all p: its maximum is that of L where these sum to 1.
        """
        own = model.group == one
        weights, rows, apart = model.weights[own], law[own], atoms[own]

        def loss(share: float) -> float:
            excess = np.where(apart, np.maximum(weights - share * rows, 0), 0)
            return share + excess.sum() - float(weights @ np.log(share * rows + excess))

        most = float(model.shares[one])
        return minimize_scalar(loss, bounds=(1e-9 * most, most), options={"xatol": 1e-10}).x

    expected = np.array([most_likely(one) for one in range(len(free))])
    found = model._honest(after.theta, atoms)
    np.testing.assert_allclose(found, expected / expected.sum(), atol=2e-4)


@pytest.mark.later
def test_the_likelihood_told_is_that_of_the_model_as_written() -> None:
    evidence = with_forged(honest(FOUR, 3), FOUR[2], 27, 500)
    model, safe = model_of(evidence), fw.robust(evidence)
    forged = np.zeros(evidence.weights.size)
    names = [str(group.mechanism) for group in evidence.groups]
    for one in safe.set_aside:
        place = names.index(one.mechanism)
        own = np.flatnonzero(evidence.groups[place].outputs == one.output)[0]
        forged[np.flatnonzero(model.group == place)[own]] = one.reports / evidence.people
    shares = model._honest(safe.theta, forged > 0)
    assert naive(evidence, safe.theta, shares, forged) == pytest.approx(
        safe.log_likelihood, abs=2 * safe.gap + 1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("symbol", [0, 11, 27])
def test_forged_reports_are_set_aside_and_no_others(which, symbol, monkeypatch) -> None:
    people, many = honest(FOUR, 10 + which), 600
    evidence = with_forged(people, FOUR[which], symbol, many)
    told = fw.robust(evidence)
    if not told.set_aside:
        assert {"forged reports", "choice by value"} <= {x.kind for x in told.misfit.plausible}
        assert "cannot be told apart" in told.advice
        np.testing.assert_array_equal(told.theta, fw.gibu(evidence).theta)
    acquit_others(monkeypatch)
    safe = fw.robust(evidence)
    first = safe.set_aside[0]
    assert (first.mechanism, first.output) == (str(FOUR[which]), symbol)
    # Within four standard errors of what honest people send there, theta's own among them.
    there = first.observed - many
    assert abs(first.reports - many) < 4 * np.sqrt(2 * there) + 10
    assert safe.forged - first.reports < 0.001 * people.people
    assert safe.status == fw.Status.CERTIFIED
    alone = fw.gibu(people)
    assert fw.emd(safe.theta, alone.theta, LINE) < 0.1
    assert safe.kept.people == safe.people - sum(round(one.reports) for one in safe.set_aside)


@pytest.mark.slow
def test_forgeries_on_several_outputs_of_several_mechanisms_are_found() -> None:
    evidence = honest(FOUR, 5)
    wanted = {(FOUR[0], 3): 900, (FOUR[2], 28): 400, (FOUR[2], 1): 300, (FOUR[3], 29): 500}
    for (mechanism, symbol), many in wanted.items():
        evidence = with_forged(evidence, mechanism, symbol, many)
    found = {(one.mechanism, one.output): one.reports for one in fw.robust(evidence).set_aside}
    for (mechanism, symbol), many in wanted.items():
        assert found[str(mechanism), symbol] == pytest.approx(many, rel=0.25)


@pytest.mark.slow
def test_where_nothing_is_forged_it_is_gibu_s_estimate() -> None:
    errors = np.zeros(2)
    for seed in range(20):
        evidence = honest(FOUR, 100 + seed, people=20_000)
        safe, exact = fw.robust(evidence), fw.gibu(evidence)
        errors += [fw.emd(one.theta, TRUTH, LINE) for one in (safe, exact)]
        if not safe.set_aside:
            np.testing.assert_array_equal(safe.theta, exact.theta)
            assert (safe.price, safe.forged, safe.kept) == (None, 0.0, evidence)
            assert safe.log_likelihood == exact.log_likelihood
            assert safe.certificate == exact.certificate
        assert len(safe.set_aside) <= 1
    # One run in ten has an output that sticks out by chance: 120 are looked at.
    assert errors[0] <= 1.02 * errors[1]


def test_few_values_and_many_reports_stick_out_by_little_and_are_found_all_the_same(
    monkeypatch,
) -> None:
    acquit_others(monkeypatch)
    answer = fw.Categorical(["yes", "no", "won't say"])
    three = [fw.KRR(answer, 1.0), fw.KRR(answer, 2.0), fw.KRR(answer, 3.0)]
    evidence = honest(three, 1, people=3_000_000, truth=np.array([0.5, 0.3, 0.2]))
    # 2 % of that mechanism: less than the lowest price.
    safe = fw.robust(with_forged(evidence, three[1], 0, 20_000))
    assert [(one.mechanism, one.output) for one in safe.set_aside] == [(str(three[1]), "yes")]
    assert safe.forged == pytest.approx(20_000, rel=0.2)
    assert "'yes'" not in str(safe)
    assert "reports of yes by k-rr" in safe.advice


def test_a_single_mechanism_cannot_defend_itself() -> None:
    with pytest.raises(fw.EvidenceError, match=r"single mechanism cannot defend itself.*fw\.gibu"):
        fw.robust(with_forged(honest(FOUR[:1], 0), FOUR[0], 3, 400))


def test_bits_alone_have_nothing_that_is_set_aside_and_help_others_to_be(
    monkeypatch,
) -> None:
    acquit_others(monkeypatch)
    rappor = [fw.RAPPOR(LINE, 3.0), fw.RAPPOR(LINE, 1.0)]
    with pytest.raises(fw.EvidenceError, match="2 mechanisms that all report bits"):
        fw.robust(honest(rappor, 0, people=100))
    krr = FOUR[2]
    evidence = with_forged(honest([rappor[0], krr], 1, people=6000), krr, 28, 300)
    safe = fw.robust(evidence)
    assert [(one.mechanism, one.output) for one in safe.set_aside] == [(str(krr), 28)]
    assert safe.forged == pytest.approx(300, rel=0.15)
    assert "None is set aside of the bits that 1 mechanism sent." in safe.advice
    assert safe.watched == (str(krr),)


def test_reports_in_files_are_refused() -> None:
    with pytest.raises(fw.EvidenceError, match="stay in files"):
        fw.robust(partly_in_files(LINE))


@pytest.mark.slow
def test_laws_too_large_for_an_array_give_the_same(monkeypatch) -> None:
    from freewill.stats import forged as atoms  # noqa: PLC0415

    evidence = with_forged(honest(FOUR, 8), FOUR[2], 27, 500)
    bits = fw.RAPPOR(LINE, 2.0)
    mixed = evidence + honest([bits], 9, people=500)
    for one in (evidence, mixed):
        monkeypatch.setattr(atoms, "_DENSE", 1 << 22)
        small = fw.robust(one)
        monkeypatch.setattr(atoms, "_DENSE", 0)
        large = fw.robust(one)
        assert small.status == large.status == fw.Status.CERTIFIED
        assert [x.output for x in small.set_aside] == [x.output for x in large.set_aside]
        assert large.log_likelihood == pytest.approx(small.log_likelihood, abs=3 * small.gap + 1e-7)
        np.testing.assert_allclose(large.theta, small.theta, atol=5e-3)


def test_outputs_are_told_in_words_of_their_alphabet(
    monkeypatch,
) -> None:
    acquit_others(monkeypatch)
    city = fw.Grid(5, 4, cell=0.5)
    two = [fw.PlanarGeometric(city, 2.0), fw.KRR(city, 3.0), fw.KRR(city, 2.0)]
    evidence = honest(two, 0, truth=np.full(20, 0.05))
    safe = fw.robust(with_forged(evidence, two[1], 7, 900))
    assert safe.set_aside[0].output == (1.25, 0.75)
    rows = safe.set_aside_table().to_pylist()
    assert list(rows[0]) == ["mechanism", "output", "observed", "set_aside"]
    assert (rows[0]["mechanism"], rows[0]["output"]) == (str(two[1]), "1.25 0.75")
    assert rows[0]["set_aside"] == pytest.approx(900, rel=0.15)
    assert rows[0]["observed"] > 900
    assert fw.robust(evidence).set_aside_table().num_rows == len(fw.robust(evidence).set_aside)
    with pytest.raises(fw.ParameterError, match="backend"):
        safe.set_aside_table("excel")


@pytest.mark.slow
def test_intervals_are_those_of_what_was_kept() -> None:
    evidence = with_forged(honest(FOUR, 4), FOUR[2], 29, 800)
    safe = fw.robust(evidence)
    mean = float(TRUTH @ np.arange(30))
    kept, all_of_them = safe.intervals("mean"), fw.intervals(evidence, "mean")
    assert kept.low < mean < kept.high
    assert not all_of_them.low < mean < all_of_them.high
    assert safe.table(intervals=True).num_rows == 30
    again = pickle.loads(pickle.dumps(safe))
    assert again.set_aside == safe.set_aside


@pytest.mark.later
def test_it_says_what_was_set_aside_and_how_far_it_came() -> None:
    steps: list[fw.Step] = []
    evidence = with_forged(honest(FOUR, 6), FOUR[1], 2, 900)
    safe = fw.robust(evidence, on_step=steps.append)
    assert [step.share for step in steps] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert safe.certificate.startswith(f"Beside {round(safe.forged):,} forged reports: no dist")
    assert "Set aside as forged:" in str(safe)
    assert f"reports of 2 by {FOUR[1]}" in str(safe)
    for bad in ({"tol": 0}, {"tol": "x"}, {"max_steps": 0}, {"on_step": 3}):
        with pytest.raises(fw.ParameterError):
            fw.robust(evidence, **bad)
    with pytest.raises(fw.EvidenceError):
        fw.robust("evidence")


@pytest.mark.slow
@examples(10)
@given(
    st.integers(0, 2**32 - 1),
    st.floats(-9, 2),
    st.floats(-9, 2),
    st.integers(0, 12),
)
def test_any_mixture_gives_a_distribution_and_forgeries_among_what_was_sent(
    seed, one, other, most
) -> None:
    rng = np.random.default_rng(seed)
    line = fw.Linear(0, int(rng.integers(1, 8)))
    mechanisms: list[Any] = [
        fw.KRR(line, 10**one),
        fw.Geometric(line, 10**other),
        fw.Identity(line),
        fw.RAPPOR(line, min(10**other, 20.0)),
    ]
    chosen = [m for m in mechanisms[1:] if rng.random() < 0.6]
    parts = [(m, m.obfuscate(rng.integers(line.size, size=30), rng)) for m in chosen]
    own = rng.integers(line.size, size=3)
    evidence = fw.collect([*parts, (mechanisms[0], own, rng.integers(1, 10**most + 1, 3))])
    if len(evidence.groups) < 2:
        return
    safe, exact = fw.robust(evidence), fw.gibu(evidence)
    assert abs(safe.theta.sum() - 1) < 1e-9
    assert safe.theta.min() >= 0
    assert safe.log_likelihood >= exact.log_likelihood - 1e-9
    assert all(0 < x.reports <= x.observed for x in safe.set_aside)
    assert abs(safe.kept.people - (safe.people - safe.forged)) <= 1 + len(safe.set_aside)


def test_atoms_outlive_outputs_that_the_law_calls_next_to_impossible(
    monkeypatch,
) -> None:
    acquit_others(monkeypatch)
    steep = fw.Geometric(LINE, 60.0)
    law = steep.operator(np.array([0, 29]))
    atoms = AtomOperator(law, np.zeros(2), np.array([1]), 1.0)
    mixed = np.append(np.eye(30)[0], 1.0) / 2
    np.testing.assert_allclose(atoms.forward(mixed), [0.5 / np.exp(law.log_scale[0]), 0.5], rtol=1)
    truth = np.zeros(30)
    truth[:3] = 0.5, 0.3, 0.2
    evidence = honest([steep, fw.KRR(LINE, 8.0)], 2, truth=truth)
    safe = fw.robust(with_forged(evidence, steep, 29, 50))
    assert safe.status == fw.Status.CERTIFIED
    assert [(x.mechanism, x.output) for x in safe.set_aside] == [(str(steep), 29)]
    assert safe.forged == pytest.approx(50, rel=0.02)


def test_the_command_sets_reports_aside_and_says_so(tmp_path, monkeypatch):
    """As a note beside the table; `freewill estimate` of honest reports has none."""
    acquit_others(monkeypatch)
    path, clean = tmp_path / "forged.parquet", tmp_path / "honest.parquet"
    fw.save_evidence(with_forged(honest(FOUR, 1), FOUR[2], 3, 400), path)
    fw.save_evidence(honest(FOUR, 1), clean)
    told = " ".join(run("estimate", path, "--method", "robust").stderr.split())
    assert "Set aside as forged:" in told
    assert "k-rr" in told
    assert "Set aside" not in run("estimate", clean, "--method", "robust").stderr
