"""Families of epsilons in freewill.js: the same levels, words and reports as in Python."""

from fractions import Fraction

import numpy as np
from tools.javascript import evaluated, node

import freewill as fw
from device_cases import skipped
from freewill.device.budget import cost
from freewill.domain.draws.sources import GivenBytes

pytestmark = skipped(node(), "Node 18 or newer")
AGES, CITY = fw.Linear(0, 99, unit="year"), fw.Grid(24, 16, cell=0.5)
MENU, MANY = fw.Categorical(["a", "b", "c"]), fw.Linear(0, 299)
FAMILIES = [
    fw.Family(fw.KRR, AGES, (0.1, 5)),
    fw.Family(fw.KRR, MANY, (0.3, 1.0), step=0.1),
    fw.Family(fw.KRR, MENU, (1.0, 1.0)),
    fw.Family(fw.Geometric, AGES, (0.005, 0.5), step=0.005),
    fw.Family(fw.RAPPOR, MANY, (0.5, 4), step=0.25),
    fw.Family(fw.RAPPOR, MENU, (1e-9, 4e-9), step=1e-15),
    fw.Family(fw.PlanarGeometric, CITY, (0.1, 4), step=1e-5),
]
ANSWER = """(cases) => cases.map(({spec, numbers, bytes, chosen}) => {
  const made = registry.mechanismFromSpec(spec), { id, last } = made;
  const source = new draws.GivenBytes(Uint8Array.from(bytes));
  const reports = chosen.map((epsilon, i) => {
    return made.text(made.draw(i % made.alphabet.size, source, epsilon));
  });
  const used = reports.map((text) => made.gives(text) && made.read(text).mechanism.epsilon);
  const levels = chosen.map((epsilon) => epsilon === null ? null : made.level(epsilon));
  return { id, last, text: String(made), reports, used, levels, ...explain.explain(made, numbers) };
})"""


def chosen_of(family, rng):
    """Both ends, anything between, levels to the last digit, and no choice at all."""
    low, high = family.epsilon
    levels = family.levels[rng.integers(0, family.last + 1, 20)]
    return [low, high, *rng.uniform(low, high, 60).tolist(), *levels.tolist(), *[None] * 20]


def test_browsers_draw_families_as_python_does():
    cases = []
    for place, family in enumerate(FAMILIES):
        rng = np.random.default_rng(place)
        given = {"spec": family.spec(), "numbers": fw.explain(family).for_devices()}
        cases.append({**given, "bytes": list(rng.bytes(60_000)), "chosen": chosen_of(family, rng)})
    for case, theirs, family in zip(cases, evaluated(ANSWER, cases), FAMILIES, strict=True):
        source, size = GivenBytes(bytes(case["bytes"])), family.alphabet.size
        reports = [
            family.draw(i % size, source, epsilon=one) for i, one in enumerate(case["chosen"])
        ]
        assert theirs["reports"] == family.written(reports)
        levels = family.output_space.split(np.array(reports))[0]
        assert theirs["used"] == family.levels[levels].tolist()
        own = [None if one is None else family.level(one) for one in case["chosen"]]
        assert theirs["levels"] == own
        assert levels[:82].tolist() == own[:82]
        named = (theirs["id"], theirs["last"], theirs["text"])
        assert named == (family.id, family.last, str(family))
        ours = fw.explain(family)
        assert theirs["warnings"] == []
        assert tuple(theirs["sentences"]) == ours.sentences


WRONG = {
    '{"kind": "oue"}': "expected one of geometric, k-rr, planar-geometric, rappor",
    '{"kind": 7}': "a family of 7",
    '{"epsilon": [0, 1]}': "expected [lowest, largest]",
    '{"epsilon": [2, 1]}': "expected [lowest, largest]",
    '{"epsilon": 1.0}': "expected [lowest, largest]",
    '{"epsilon": [0.1, 701]}': "must be <= 700",
    '{"step": 0}': "must be a number > 0",
    '{"step": 1e-9}': "more than 16,777,216 levels",
    '{"held": {}}': "its members share nothing but their kind",
    '{"kind": "local-hashing", "held": {"buckets": 4}}': "offer some of them one by one",
}


def test_what_is_no_family_is_refused():
    body = """({good, wrong}) => wrong.map((text) => {
      try {
        return String(registry.mechanismFromSpec({ ...good, ...JSON.parse(text) }));
      } catch (error) { return error.message; }
    })"""
    messages = evaluated(body, {"good": FAMILIES[0].spec(), "wrong": list(WRONG)})
    for message, expected in zip(messages, WRONG.values(), strict=True):
        assert expected in message


def test_reports_of_no_member_are_known():
    texts = ["", "0c", "0c3", "3236", "0c64", "0C36", "0c3600", "zz36"]
    body = """({spec, texts}) => {
      const made = registry.mechanismFromSpec(spec);
      return texts.map((text) => made.gives(text));
    }"""
    given = {"spec": FAMILIES[0].spec(), "texts": [*texts, "0c36", "3163"]}
    assert evaluated(body, given) == [False] * len(texts) + [True, True]


def test_a_device_asks_for_the_epsilon_and_counts_that_one():
    menu = {"own": FAMILIES[0], "fixed": fw.KRR(AGES, 1.0)}
    body = """({spec, asked}) => {
      const read = survey.Survey.parse(spec);
      const tried = ([choice, epsilon]) => {
        try {
          return memory.written(budget.cost(read.find(choice).at(epsilon)));
        } catch (error) { return error.message; }
      };
      return asked.map(tried);
    }"""
    asked = [["own", None], ["own", 9.0], ["fixed", 1.0], ["own", 1.37], ["fixed", None]]
    given = {"spec": fw.Survey(AGES, menu).for_devices(), "asked": asked}
    *refused, price, usual = evaluated(body, given)
    assert all("own choice, a number from 0.1 to 5" in message for message in refused[:2])
    assert "its epsilon is fixed" in refused[2]
    assert Fraction(price) == cost(FAMILIES[0].at(1.37))
    assert Fraction(usual) == cost(menu["fixed"])
