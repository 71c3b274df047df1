"""Marginals of evidence are exact: each report keeps what it says of the attributes asked for."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.stats.marginals import unfolded

AGES, MODES, VOTES = fw.Linear(0, 4), fw.Categorical(["car", "bus"]), fw.Linear(1, 3)
PEOPLE = fw.Product(age=AGES, commute=MODES, vote=VOTES)
NAMES = list(PEOPLE.attributes)
MENUS = [
    [fw.KRR(own, 1.0), kind, fw.Silent(own)]
    for own, kind in (
        (AGES, fw.RAPPOR(AGES, 2.0)),
        (MODES, fw.Matrix(MODES, [[0.9, 0.1], [0.3, 0.7]])),
        (VOTES, fw.Geometric(VOTES, 0.7)),
    )
]
EVERY = [
    fw.Each(PEOPLE, dict(zip(NAMES, parts, strict=True))) for parts in itertools.product(*MENUS)
]
ONE_OF = fw.OneOf(PEOPLE, age=MENUS[0][0], vote=MENUS[2][1])


def drawn(seed, people=40, mechanisms=(*EVERY, ONE_OF)):
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(PEOPLE.size, 0.5))
    values = [rng.choice(PEOPLE.size, size=people, p=theta) for _ in mechanisms]
    pairs = zip(mechanisms, values, strict=True)
    return fw.collect([(m, m.obfuscate(some, rng)) for m, some in pairs]), theta


def naive_counts(evidence, names):
    """Return how often each (mechanisms, reports) came, from reports one by one."""
    places = [NAMES.index(name) for name in names]
    counts = {}
    for group in evidence.groups:
        for row, count in zip(group.outputs, group.counts, strict=True):
            said = group.mechanism.by_attribute(np.asarray(row)[None]).said
            there = [next(one for one in said[place] if len(one.places)) for place in places]
            if all(one.mechanism.name == "silent" for one in there):
                continue
            key = tuple((one.mechanism.id, np.asarray(one.reports[0]).tobytes()) for one in there)
            counts[key] = counts.get(key, 0) + int(count)
    return counts


@given(
    seed=st.integers(0, 2**32 - 1),
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
)
def test_marginals_count_what_reports_say(seed, names):
    evidence, _ = drawn(seed, people=8)
    marginal = evidence.marginal(*names)
    ordered = [name for name in NAMES if name in names]
    assert marginal.alphabet == PEOPLE.only(*names)
    counts = {}
    for group in marginal.groups:
        for row, count in zip(group.outputs, group.counts, strict=True):
            rows = np.asarray(row)[None]
            parts, reports = [group.mechanism], [rows]
            if len(names) > 1:
                parts = group.mechanism.parts
                reports = group.mechanism.output_space.split(rows)
            said = zip(parts, reports, strict=True)
            key = tuple((one.id, np.asarray(own[0]).tobytes()) for one, own in said)
            counts[key] = counts.get(key, 0) + int(count)
    assert counts == naive_counts(evidence, ordered)


def test_the_marginal_of_two_has_the_law_of_two():
    """The likelihood of a marginal is that of theta summed over the rest."""
    evidence, theta = drawn(5, mechanisms=EVERY)
    marginal = evidence.marginal("age", "vote")
    summed = theta.reshape(PEOPLE.sizes).sum(axis=1).ravel()
    for group in marginal.groups:
        law = np.exp(group.operator.log_dense())
        parts = group.mechanism.parts
        whole = fw.Each(PEOPLE, age=parts[0], commute=fw.Silent(), vote=parts[1])
        said = group.mechanism.output_space.split(group.outputs)
        silent = np.zeros(len(group.outputs), dtype=np.int64)
        rows = whole.output_space.joined([said[0], silent, said[1]])
        joint = np.exp(whole.operator(rows).log_dense())
        assert np.allclose(law @ summed, joint @ theta, rtol=1e-12)


def test_all_attributes_are_the_evidence_itself():
    evidence, _ = drawn(1)
    assert evidence.marginal(*NAMES) is evidence


def test_names_of_parts_stay():
    question = fw.Survey(MODES, {"shy": fw.KRR(MODES, 1.0), "open": fw.KRR(MODES, 3.0)})
    survey = fw.Questionnaire({"a": question, "b": question})
    reports = survey.chosen(a="shy", b="open").obfuscate(np.zeros(5, np.int64))
    rows = survey.asked.joined({"a": "shy", "b": "open"}, reports)
    evidence = unfolded(fw.collect([(survey.asked, rows)]))
    assert [group.name for group in evidence.groups] == ["shy + open"]
    assert [group.name for group in evidence.marginal("b").groups] == ["open"]


def test_what_has_no_marginal_is_refused():
    whole = fw.collect([(fw.KRR(PEOPLE, 1.0), [0, 1])])
    with pytest.raises(fw.EvidenceError, match="its reports are of whole records"):
        whole.marginal("age")
    with pytest.raises(fw.EvidenceError, match="one question"):
        fw.collect([(fw.KRR(AGES, 1.0), [0])]).marginal("age")
    evidence, _ = drawn(1)
    with pytest.raises(fw.AlphabetError, match="no attribute 'income'"):
        evidence.marginal("income")
    shy = fw.Each(PEOPLE, age=fw.Silent(), commute=MENUS[1][0], vote=fw.Silent())
    with pytest.raises(fw.EvidenceError, match="nobody answered age or vote"):
        fw.collect([(shy, shy.obfuscate([0, 1]))]).marginal("age", "vote")


@pytest.mark.parametrize(
    ("answered", "lost"),
    [
        ([{"age", "commute", "vote"}], 0),
        ([{"age", "commute"}, {"vote"}], 30 - 10 - 2),
        ([{"age", "commute"}, {"commute", "vote"}], 30 - 10 - 6 + 2),
        ([{"age"}, {"commute"}, {"vote"}], 30 - 5 - 1 - 2),
    ],
)
def test_what_nobody_answers_together_is_not_told(answered, lost):
    """The closed form is the rank of the stacked laws."""
    mechanisms = [
        fw.Each(PEOPLE, {n: MENUS[i][0 if n in some else 2] for i, n in enumerate(NAMES)})
        for some in answered
    ]
    evidence, _ = drawn(2, mechanisms=mechanisms)
    assert fw.unresolved_directions(evidence) == lost
    laws = np.concatenate([mechanism.law().T for mechanism in mechanisms])
    assert PEOPLE.size - np.linalg.matrix_rank(laws) == lost
