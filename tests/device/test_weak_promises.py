"""Promises that are empty are called so in both languages alike, whatever kind they are of."""

import numpy as np
import pytest
from tools.javascript import evaluated, node

import freewill as fw
from contract import ENTRIES
from device_cases import skipped
from freewill.domain.alphabets.base import attributes_of
from freewill.domain.mechanisms import registry
from freewill.domain.programs import drawable

YEARS = fw.Linear(0, 99, unit="year")
RARE = np.array([0.5, *[0.0] * 98, 0.5])
WARNED = """(given) => given.map(([spec, numbers]) => {
  const read = survey.Survey.parse(spec);
  return explain.explainSurvey(read, numbers).map(({ warnings }) => warnings);
})"""


def permuted():
    """A law of Shokri's for a prior that nobody has: it keeps its claim, and tells all the rest."""
    law = np.roll(np.eye(100), 41, axis=1)
    law[[0, 99]] = [0.8, *[0.0] * 98, 0.2], [0.2, *[0.0] * 98, 0.8]
    mechanism = fw.Shokri(YEARS, 19.8, prior=RARE)
    return mechanism.with_law(law)


def test_a_claim_that_holds_for_nobody_is_warned_of():
    mechanism = permuted()
    assert mechanism.guarantee().adversary_loss == pytest.approx(19.8)
    found = fw.audit(mechanism)
    assert found.holds
    assert found.warnings[0].startswith("the report gives away the true value with a chance of")
    (warning,) = fw.explain(mechanism).warnings
    assert "hides next to nothing" in warning


@pytest.mark.later
@skipped(node(), "Node 18 or newer")
def test_all_kinds_are_warned_of_alike(monkeypatch):
    made = [entry.build(size, epsilon) for entry in ENTRIES for size, epsilon in ((6, 9), (9, 0.7))]
    for one in made:
        monkeypatch.setitem(registry.REGISTRY, one.name, registry.REGISTRY.get(one.name, type(one)))
    offered = [one for one in made if not attributes_of(one.alphabet) and drawable(one)]
    offered += [permuted(), fw.Matrix(YEARS, np.roll(np.eye(100), 7, axis=1))]
    surveys = [fw.Survey(one.alphabet, {"one": one}) for one in offered]
    given = [[one.for_devices(), fw.explain(one).for_devices()] for one in surveys]
    ours = [[list(fw.explain(one).warnings)] for one in offered]
    assert evaluated(WARNED, given) == ours
    kinds = {one.name for one, ((*said,),) in zip(offered, ours, strict=True) if said}
    assert len(kinds) > 15, kinds


@pytest.mark.later
@skipped(node(), "Node 18 or newer")
def test_several_weak_promises_are_warned_of_together():
    votes = fw.Categorical(["yes", "no"])
    loud = fw.Survey(votes, {"loud": fw.KRR(votes, 2.6), "quiet": fw.KRR(votes, 0.5)})
    both = fw.Questionnaire({"first": loud, "second": loud})
    body = """(given) => {
      const read = survey.Survey.parse(given);
      const cost = (name) => ([key, one]) => [key, budget.cost(one.find(name))];
      const costs = (name) => new Map([...read.questions].map(cost(name)));
      return ["loud", "quiet"].map((name) => survey.explainSum(costs(name)));
    }"""
    found = evaluated(body, both.for_devices())
    for name, said in zip(("loud", "quiet"), found, strict=True):
        ours = fw.explain(both, {"first": name, "second": name}).sentences
        assert list(ours) == said
        assert ("together these promises are weak" in ours[-1]) == (name == "loud")
