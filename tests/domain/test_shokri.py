"""The mechanism of Shokri et al. against the whole linear program, and its own promises."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import freewill as fw
from freewill.domain.shokri import laws

LINE = fw.Linear(0, 11)
CITY = fw.Grid(4, 3, cell=0.5)
MENU = fw.Categorical(list("abcde"))
SELECTIONS = ["max-entropy", "vertex"]


def whole_program(prior, report_loss, guess_loss, quality_loss) -> float:
    """The value of the program of the paper, every guess written out, by HiGHS."""
    k = len(prior)
    guesses = np.zeros((k * k, k * k + k))
    for y in range(k):
        for z in range(k):
            guesses[y * k + z, y : k * k : k] = -prior * guess_loss[:, z]
            guesses[y * k + z, k * k + y] = 1
    cost = np.append((prior[:, None] * report_loss).ravel(), np.zeros(k))
    rows = np.hstack([np.kron(np.eye(k), np.ones((1, k))), np.zeros((k, k))])
    answer = linprog(
        np.append(np.zeros(k * k), -np.ones(k)),
        A_ub=np.vstack([guesses, cost]),
        b_ub=np.append(np.zeros(k * k), quality_loss),
        A_eq=rows,
        b_eq=np.ones(k),
        bounds=[(0, None)] * (k * k) + [(None, None)] * k,
        method="highs",
    )
    assert answer.status == 0
    return -answer.fun


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("alphabet", [LINE, CITY, MENU], ids=str)
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_every_selection_reaches_the_value_of_the_whole_program(selection, alphabet, share, seed):
    k = alphabet.size
    rng = np.random.default_rng(seed)
    prior = np.full(k, 1 / k) if seed is None else rng.dirichlet(np.full(k, 2.0))
    distance = fw.distances(alphabet)
    limit = share * (prior @ distance).min()
    mechanism = fw.Shokri(alphabet, limit, prior=prior, selection=selection)
    law = mechanism.law()
    assert np.all(law >= 0)
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=0, atol=1e-12)
    value = whole_program(prior, distance, distance, limit)
    assert mechanism.guarantee().adversary_loss == pytest.approx(value, rel=1e-8)
    assert value == pytest.approx(limit, rel=1e-8)
    assert mechanism.guarantee().user_loss <= limit * (1 + 1e-12)
    assert fw.audit(mechanism).tight


@pytest.mark.parametrize("alphabet", [LINE, CITY], ids=str)
def test_max_entropy_is_the_rate_distortion_law(alphabet):
    limit = 0.6 * (np.full(12, 1 / 12) @ fw.distances(alphabet)).min()
    law = fw.Shokri(alphabet, limit).law()
    output = law.mean(axis=0)
    used = output > 1e-8
    ratio = np.log(law[:, used] / output[used])
    # log(A_xy / q_y) = -beta l(x, y) - log Z_x: the same beta for all pairs of outputs.
    distance = fw.distances(alphabet)[:, used]
    slopes = np.diff(ratio, axis=1) / np.where(
        np.diff(distance, axis=1) == 0, np.nan, -np.diff(distance, axis=1)
    )
    np.testing.assert_allclose(slopes[np.isfinite(slopes)], np.nanmean(slopes), rtol=1e-6)


@pytest.mark.parametrize("alphabet", [LINE, CITY], ids=str)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_max_entropy_leaves_the_most_unknown(alphabet, share):
    limit = share * (np.full(12, 1 / 12) @ fw.distances(alphabet)).min()
    entropies = {
        selection: fw.Shokri(alphabet, limit, selection=selection).guarantee().entropy
        for selection in SELECTIONS
    }
    assert entropies["max-entropy"] == max(entropies.values())


def test_the_vertex_loses_directions():
    vertex = fw.Shokri(fw.Linear(0, 29), 4.0, selection="vertex").law()
    assert np.linalg.matrix_rank(vertex) < 30


def test_guesses_that_turn_out_better_are_added(monkeypatch):
    prior = np.arange(1.0, 13) / 78
    problem = replace(fw.Shokri(LINE, 0.8, prior=prior).problem, near=1)
    law = laws.vertex(problem, 0.8)
    assert problem.user_loss(law) == pytest.approx(0.8, rel=1e-9)
    assert problem.adversary_loss(law) == pytest.approx(0.8, rel=1e-8)
    monkeypatch.setattr(laws, "_VERTEX_ROUNDS", 1)
    with pytest.raises(fw.LawError, match="kept turning out better"):
        laws.vertex(problem, 0.8)


@pytest.mark.parametrize("selection", ["centre", "coin"])
def test_a_retired_selection_is_read_with_its_law_and_refused_without(selection):
    with pytest.raises(fw.ParameterError, match=r"selection of release 0\.1.* Use max-entropy"):
        fw.Shokri(MENU, 0.4, selection=selection)
    fields = {"mechanism": "shokri", "quality_loss": 0.4, "selection": selection}
    spec = {"freewill survey": 2, "alphabet": MENU.spec(), "mechanisms": {"shy": fields}}
    with pytest.raises(fw.SurveyError, match=r"mechanism 'shy': selection=.* Use max-entropy"):
        fw.Survey.from_spec(spec)
    law = np.full((5, 5), 0.1) + 0.5 * np.eye(5)
    survey = fw.Survey.from_spec({**spec, "tables": {"shy": law.tolist()}})
    np.testing.assert_array_equal(survey.find("shy").law(), law)
    again = fw.Survey.from_spec(json.loads(json.dumps(survey.for_devices())))
    assert again == survey
    assert again.find("shy").obfuscate([3], np.random.default_rng(1)).size == 1
    alone = fw.from_spec({**fields, "version": 1, "alphabet": MENU.spec()})
    with pytest.raises(fw.LawError, match="Use max-entropy"):
        alone.law()


def test_the_program_adds_guesses_until_its_bounds_meet(monkeypatch):
    monkeypatch.setattr(laws, "_ALL_AT_ONCE", 0)
    distance = fw.distances(CITY)
    problem = replace(fw.Shokri(CITY, 0.4, report_loss=distance**2).problem, near=1)
    gaps = []
    law, replies, price = laws.two_losses(problem, 0.4, on_step=gaps.append)
    bound = problem.upper_bound(replies, price, 0.4)
    value = whole_program(np.full(12, 1 / 12), distance**2, distance, 0.4)
    assert bound == pytest.approx(value, abs=1e-7)
    assert problem.adversary_loss(law) == pytest.approx(value, abs=1e-7)
    assert len(gaps) > 1
    assert gaps[-1] <= 1e-8 * bound < gaps[0]
    monkeypatch.setattr(laws, "_ROUNDS", 1)
    law, replies, price = laws.two_losses(problem, 0.4, gaps.append)
    bound = problem.upper_bound(replies, price, 0.4)
    assert problem.adversary_loss(law) < value - 1e-6 < value <= bound + 1e-9


def test_what_rounding_spent_beyond_the_limit_is_taken_back():
    mechanism = fw.Shokri(LINE, 1.0)
    law = 0.999 * mechanism.law() + 0.001 / 12
    problem = mechanism.problem
    assert problem.user_loss(law) > 1.001
    within = mechanism._within_limit(law)
    assert problem.user_loss(within) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(within.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert np.abs(within - law).max() < 0.01
    cheap = 0.5 * np.eye(12) + 0.5 * mechanism.law()
    assert mechanism._within_limit(cheap) is cheap
    with pytest.raises(fw.ParameterError, match="even the cheapest law costs 2"):
        fw.Shokri(LINE, 1.0, report_loss=fw.distances(LINE) + 2.0)._within_limit(np.eye(12))


@pytest.mark.parametrize(
    ("law", "holds"),
    [
        (np.full((12, 12), 1 / 12), False),  # more than the user allowed
        (np.eye(12), False),  # the adversary loses nothing
        (None, True),
    ],
)
def test_an_audit_of_losses_finds_laws_that_break_the_promise(law, holds):
    mechanism = fw.Shokri(LINE, 1.0)
    promised = mechanism.guarantee()
    if law is not None:
        mechanism.__dict__["matrix"] = law
    found = fw.audit(mechanism, promised)
    assert found.holds == holds
    assert found.tight == holds
    assert ("DOES NOT HOLD" in str(found)) == (not holds)
    assert found.describe()["quality_loss"] == 1.0
    assert found.user_loss == pytest.approx(
        (fw.distances(LINE) * mechanism.law()).sum() / 12, rel=1e-12
    )


def test_an_audit_of_losses_holds_a_claim_to_what_the_law_gives():
    mechanism = fw.Shokri(LINE, 1.0)
    more = fw.AdversaryLoss(1.0 + 1e-6, 1.0, 0.0)
    less = fw.AdversaryLoss(0.9, 1.0, 0.0)
    assert not fw.audit(mechanism, more).holds
    assert fw.audit(mechanism, less).holds
    # A law that makes the adversary lose half of what is possible keeps a modest promise.
    mechanism.__dict__["matrix"] = 0.5 * np.eye(12) + 0.5 * mechanism.law()
    modest = fw.audit(mechanism, fw.AdversaryLoss(0.4, 1.0, 0.0))
    assert (modest.holds, modest.tight) == (True, False)
    assert "of an optimum 1;" in str(modest)


def test_specs_of_the_first_release_are_read():
    """It called the losses of reports and guesses quality and privacy."""
    distance = fw.distances(LINE)
    mechanism = fw.Shokri(LINE, 0.4, report_loss=distance**2, guess_loss=distance)
    old = mechanism.spec()
    old["quality"], old["privacy"] = old.pop("report_loss"), old.pop("guess_loss")
    assert fw.from_spec(old) == mechanism


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("alphabet", [LINE, CITY, fw.Linear(0, 8), fw.Grid(5, 3, 1.0)], ids=str)
def test_symmetric_problems_have_symmetric_laws(selection, alphabet):
    mechanism = fw.Shokri(alphabet, 0.3, selection=selection)
    law = mechanism.law()
    assert len(mechanism.problem.images) == (2 if isinstance(alphabet, fw.Linear) else 4)
    for image in mechanism.problem.images:
        np.testing.assert_allclose(law, law[np.ix_(image, image)], atol=1e-12)


def test_a_lopsided_prior_breaks_the_symmetry():
    prior = np.arange(1.0, 13) / 78
    assert len(fw.Shokri(LINE, 1.0, prior=prior).problem.images) == 1
    assert len(fw.Shokri(MENU, 0.5).problem.images) == 1


@pytest.mark.parametrize(
    ("report", "guess"),
    [
        ("squared", "distance"),
        ("distance", "squared"),
        ("squared", "wrong or right"),
        ("distance", "random"),
    ],
)
@pytest.mark.parametrize("alphabet", [fw.Linear(0, 7), CITY], ids=str)
def test_different_losses_are_solved_to_a_certified_gap(report, guess, alphabet):
    k = alphabet.size
    distance = fw.distances(alphabet)
    losses = {
        "distance": distance,
        "squared": distance**2,
        "wrong or right": 1 - np.eye(k),
        "random": np.random.default_rng(1).random((k, k)),
    }
    mechanism = fw.Shokri(alphabet, 0.4, report_loss=losses[report], guess_loss=losses[guess])
    value = whole_program(np.full(k, 1 / k), losses[report], losses[guess], 0.4)
    assert 0 <= mechanism.gap <= 1e-7
    assert mechanism.guarantee().adversary_loss == pytest.approx(value, abs=1e-6)
    assert mechanism.guarantee().user_loss <= 0.4 * (1 + 1e-12)
    assert fw.audit(mechanism).holds


def test_a_generous_threshold_gives_a_constant_law():
    mechanism = fw.Shokri(LINE, 5.0)
    assert mechanism.constant
    assert "constant" in str(mechanism)
    assert np.ptp(mechanism.law(), axis=0).max() == 0
    assert mechanism.guarantee().adversary_loss == pytest.approx(3.0)
    assert not fw.Shokri(LINE, 2.9).constant


@pytest.mark.parametrize("selection", SELECTIONS)
def test_values_that_nobody_has_get_the_row_of_the_nearest(selection):
    prior = np.array([0.3, 0.0, 0.3, 0.4, 0.0])
    mechanism = fw.Shokri(fw.Linear(0, 4), 0.4, prior=prior, selection=selection)
    law = mechanism.law()
    np.testing.assert_array_equal(law[1], law[0])
    np.testing.assert_array_equal(law[4], law[3])
    assert fw.audit(mechanism).tight


def test_the_solved_law_travels_as_a_matrix():
    mechanism = fw.Shokri(LINE, 1.0)
    matrix = fw.from_spec(json.loads(json.dumps(mechanism.as_matrix().spec())))
    np.testing.assert_array_equal(matrix.law(), mechanism.law())
    assert matrix.id == mechanism.as_matrix().id


def test_selections_and_limits_have_ids_of_their_own():
    ids = {fw.Shokri(LINE, 1.0, selection=selection).id for selection in SELECTIONS}
    ids |= {fw.Shokri(LINE, 1.5).id, fw.Shokri(LINE, 1.0, prior=np.arange(1.0, 13) / 78).id}
    assert len(ids) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"quality_loss": -1.0}, "quality_loss=-1.0"),
        ({"quality_loss": 0}, "use Identity"),
        ({"quality_loss": "little"}, "quality_loss='little'"),
        ({"quality_loss": 1.0, "selection": "best"}, "selection='best'"),
        ({"quality_loss": 1.0, "prior": np.full(12, 0.1)}, "sums to 1.2"),
        ({"quality_loss": 1.0, "report_loss": np.ones((3, 3))}, "12 x 12"),
        (
            {
                "quality_loss": 1.0,
                **dict.fromkeys(("report_loss", "guess_loss"), np.ones((12, 12))),
            },
            "zero diagonal",
        ),
        ({"quality_loss": 1.0, "guess_loss": -np.ones((12, 12))}, "guess_loss"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(fw.ParameterError, match=words):
        fw.Shokri(LINE, **arguments)


def test_a_threshold_below_the_cheapest_law_is_refused():
    mechanism = fw.Shokri(LINE, 1.0, report_loss=fw.distances(LINE) + 2.0)
    with pytest.raises((fw.ParameterError, fw.LawError)):
        mechanism.law()


def test_alphabets_without_structure_have_a_limit():
    with pytest.raises(fw.LawError, match="coarser"):
        fw.Shokri(fw.Linear(0, 5000), 10.0)


@pytest.mark.parametrize("weight", [1e-9, 1e-15, 1e-100])
def test_a_value_that_hardly_anyone_has_does_no_harm(weight):
    prior = np.ones(10)
    prior[3] = weight
    mechanism = fw.Shokri(fw.Linear(0, 9), quality_loss=2.0, prior=prior / prior.sum())
    assert mechanism.gap < 1e-6


@pytest.mark.parametrize("quality_loss", [1e-3, 1e-15, 1e-280])
@pytest.mark.parametrize("prior", [None, [0.2, 0.3, 0.1, 0.4, 0], [0.5, 0.5 - 1e-12, 1e-12, 0, 0]])
def test_a_tiny_loss_has_a_law_that_reaches_it(quality_loss, prior):
    mechanism = fw.Shokri(fw.Linear(0, 4), quality_loss, prior=prior)
    law = mechanism._solve()["law"]
    assert mechanism._valid({"law": law})
    assert mechanism.problem.user_loss(law) == pytest.approx(quality_loss, rel=1e-7)
