"""One referee: explanations against naive likelihoods, and what is said where two are as good."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import freewill as fw
from cli_cases import run, run_json
from forged_cases import FOUR, LINE, TRUTH, acquit_others, honest, with_forged
from freewill.io.evidence_file import save_evidence
from freewill.stats import misfit
from freewill.stats.misfit import CHOICE, EPSILON, FORGED, Hypothesis, Misfit

PAIR = (fw.Geometric(LINE, 0.7), fw.KRR(LINE, 3.0))


def chosen(law, seed: int, people: int = 20_000, mechanisms=PAIR) -> fw.Evidence:
    """Return reports of people who take the first of two mechanisms with a chance by value."""
    rng = np.random.default_rng(seed)
    values = rng.choice(30, people, p=TRUTH)
    first = rng.random(people) < law[values]
    parts = [
        (one, one.obfuscate(values[first == yes], rng))
        for one, yes in zip(mechanisms, (1, 0), strict=True)
    ]
    return fw.collect(parts)


def gain_of(misfit: Misfit, kind: str) -> float:
    return next(one.gain for one in misfit.explanations if one.kind == kind)


@pytest.mark.slow
def test_free_choice_and_honest_clients_are_not_doubted():
    doubted = sum(not fw.explain_misfit(honest(FOUR, seed, 5000)).holds for seed in range(40))
    assert doubted <= 2


def test_the_gain_of_another_epsilon_is_that_of_the_best_one():
    """n times the profile likelihood at the best epsilon, less its cost: by golden section."""
    rng, other = np.random.default_rng(1), fw.KRR(LINE, 2.0)
    values = rng.choice(30, 20_000, p=TRUTH)
    parts = [
        (PAIR[0], PAIR[0].obfuscate(values[:10_000], rng)),
        (PAIR[1], other.obfuscate(values[10_000:], rng)),
    ]
    evidence = fw.collect(parts)
    misfit = fw.explain_misfit(evidence)
    counts = [(group.outputs, group.counts) for group in evidence.groups]
    place = evidence.mechanisms.index(PAIR[1])

    def lost(epsilon: float) -> float:
        laws = [
            fw.KRR(LINE, epsilon) if n == place else m for n, m in enumerate(evidence.mechanisms)
        ]
        return -fw.gibu(
            fw.collect([(m, *some) for m, some in zip(laws, counts, strict=True)])
        ).log_likelihood

    best = minimize_scalar(lost, bounds=(1.0, 3.0), method="bounded", options={"xatol": 1e-3})
    higher = -best.fun - fw.gibu(evidence).log_likelihood
    # Below its epsilon a law tells less of theta, which costs nothing.
    expected = 20_000 * higher - math.log(20_000) / 2 - math.log(2)
    assert gain_of(misfit, EPSILON) == pytest.approx(expected, abs=0.1)
    assert misfit.winner.kind == EPSILON
    assert "sends like epsilon 1.99, not 3" in misfit.winner.text
    assert "without regard to any value" in misfit.verdict


@pytest.mark.parametrize("nudge", [1 - 1e-6, 1 + 1e-6])
def test_of_two_groups_that_contradict_each_other_both_epsilons_are_judged(monkeypatch, nudge):
    """Their scores are equal but for rounding, which must not say who is accused."""
    line = fw.Linear(0, 4)
    strong = (fw.KRR(line, 3.0), range(5), [900, 100, 100, 100, 100])
    weak = (fw.KRR(line, 1.0), range(5), [250] * 5)
    standardised = misfit.Residuals.standardised

    def nudged(self, values):
        scores = standardised(self, values)
        return scores * np.where(self.groups == 0, nudge, 1.0)

    monkeypatch.setattr(misfit.Residuals, "standardised", nudged)
    best = fw.explain_misfit(fw.collect([strong, weak])).explanations[0]
    assert (best.kind, round(best.gain)) == (EPSILON, 64)
    assert best.text.startswith("k-rr(0..4, epsilon=1) sends like epsilon 0.0625")


@pytest.mark.later
def test_the_gain_of_forged_reports_is_that_of_the_model_as_written():
    evidence = with_forged(honest(FOUR, 3), FOUR[3], 27, 500)
    misfit = fw.explain_misfit(evidence)
    assert misfit.winner.kind == FORGED
    fit = misfit.winner.model.fit
    rows = np.concatenate(
        [
            np.asarray(g.operator.dense()) * np.exp(g.operator.log_scale)[:, None]
            for g in evidence.groups
        ]
    )
    sizes = [group.rows for group in evidence.groups]
    shares = np.array([group.people for group in evidence.groups]) / evidence.people
    weights, r = evidence.weights, np.repeat(fit.shares, sizes)
    fitted = (1 - fit.forged.sum()) * r * (rows @ fit.theta) + fit.forged
    likelihood = weights @ np.log(fitted) - shares @ np.log(shares)
    atoms = fit.forged > 0
    cost = atoms.sum() * math.log(len(weights)) + math.log(evidence.people) / 2
    cost += np.log1p(evidence.people * fit.forged[atoms] ** 2 / weights[atoms]).sum() / 2
    higher = likelihood - fw.gibu(evidence).log_likelihood
    assert misfit.winner.gain == pytest.approx(evidence.people * higher - cost, abs=0.1)


@pytest.mark.slow
def test_one_value_that_prefers_a_mechanism_is_not_accused():
    evidence = chosen(np.where(np.arange(30) == 9, 0.02, 0.6), 2)
    misfit = fw.explain_misfit(evidence)
    assert gain_of(misfit, FORGED) > misfit.margin
    assert misfit.plausible[0].kind == CHOICE or len(misfit.plausible) > 1
    assert fw.robust(evidence).set_aside == ()


@pytest.mark.later
def test_forged_reports_that_imitate_the_law_are_named_as_such():
    rng = np.random.default_rng(5)
    made_up = PAIR[1].obfuscate(rng.choice(30, 4000, p=np.roll(TRUTH, 8)), rng)
    evidence = honest(PAIR, 5, 16_000) + fw.collect([(PAIR[1], made_up)])
    misfit = fw.explain_misfit(evidence)
    assert misfit.best_of(CHOICE) is not None
    assert "imitate the laws at made-up values look the same" in misfit.verdict
    assert fw.robust(evidence).set_aside == ()


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([CHOICE, EPSILON, FORGED]), st.floats(-50, 50)), max_size=3),
    st.floats(0.01, 0.999),
)
def test_what_is_plausible_is_near_the_best(pairs, level):
    made = [Hypothesis(kind, gain, "so", None) for kind, gain in sorted(pairs, key=lambda p: -p[1])]
    misfit = Misfit(tuple(made), {}, level)
    margin, gains = math.log(1 / (1 - level)), [one.gain for one in made]
    assert misfit.holds == all(gain <= margin for gain in gains)
    plausible = [one for one in made if one.gain > 0 and one.gain >= max(gains) - margin]
    assert list(misfit.plausible) == plausible
    assert (misfit.winner is not None) == (not misfit.holds and len(plausible) == 1)
    assert misfit.verdict.startswith("nothing speaks against") == misfit.holds
    assert ("cannot be told apart" in misfit.verdict) == (not misfit.holds and len(plausible) > 1)


def test_the_gain_of_forged_reports_is_that_of_their_atoms_less_their_cost(monkeypatch):
    """Beside log N an atom, which the score has: (sum log(1 + n phi^2 / w) + log n) / 2."""
    acquit_others(monkeypatch)
    evidence = with_forged(honest(PAIR, 3, 8000), PAIR[1], 5, 400)
    found = next(one for one in fw.explain_misfit(evidence).explanations if one.kind == FORGED)
    fit, n = found.model.fit, evidence.people
    sizes, weights = fit.forged[fit.atoms], evidence.weights[fit.atoms]
    volume = float(np.log1p(n * sizes**2 / weights).sum())
    higher = found.model.score - n * fw.gibu(evidence).log_likelihood
    assert fit.atoms.size
    assert found.gain == pytest.approx(higher - (volume + math.log(n)) / 2, abs=0.05)


@pytest.mark.parametrize(("most", "tried"), [(28, False), (29, True)])
def test_all_values_are_singled_out_where_their_coefficients_are_few(monkeypatch, most, tried):
    monkeypatch.setattr(misfit, "_MOST_COEFFICIENTS", most)
    evidence = chosen(np.full(30, 0.5), 1, 600)
    cost, _ = next(misfit._single_values(evidence, [], (1e-6, 100)), (None, None))
    assert cost == (0.0 if tried else None)


def test_what_cannot_be_judged_is_left_out_with_its_reason():
    bits = fw.RAPPOR(LINE, 2.0)
    alone = fw.explain_misfit(
        fw.collect([(bits, bits.obfuscate(np.full(500, 3), np.random.default_rng(1)))])
    )
    assert set(alone.left_out) == {FORGED, CHOICE}
    assert "cannot defend itself" in alone.left_out[FORGED]
    assert "not judged" in str(alone)
    with pytest.raises(fw.EvidenceError, match="nothing can be judged"):
        fw.explain_misfit(fw.collect([(fw.Identity(LINE), [3, 4], [50, 60])]))
    with pytest.raises(fw.ParameterError, match="level"):
        fw.explain_misfit(honest(PAIR, 1, 500), 95)


@pytest.mark.later
def test_it_is_judged_once_and_shown_everywhere(tmp_path):
    evidence = chosen(0.1 + 0.8 * np.arange(30) / 29, 4)
    fit = fw.fit(evidence)
    misfit = fw.explain_misfit(fit)
    assert fw.explain_misfit(fit, 0.99).explanations is misfit.explanations
    assert "choice by value" in str(misfit)
    assert "choice by value" in misfit._repr_html_()
    assert str(pickle.loads(pickle.dumps(misfit))) == str(misfit)
    document = misfit.to_dict()
    assert document["schema"] == "freewill/misfit"
    assert [row["kind"] for row in document["explanations"] if row["plausible"]] == [CHOICE]
    path = tmp_path / "reports.parquet"
    save_evidence(evidence, path)
    said = " ".join(run("check", path, code=1).stderr.split())
    assert "explanation: choice by value" in said
    told = run_json("check", path, code=1)["misfit"]
    assert told["explanations"][0]["kind"] == CHOICE
    clean = tmp_path / "clean.parquet"
    save_evidence(honest(PAIR, 2, 3000), clean)
    assert "explanation" not in run("check", clean).stderr
