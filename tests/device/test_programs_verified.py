"""Programs are verified before they are used: none is taken that tells more than it promises."""

import copy
import json
import math
import random
import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from tools.fuzz.case import Case
from tools.fuzz.hostile import mutated
from tools.javascript import evaluated, in_node, node
from tools.javascript.verdicts import python_says

import freewill as fw
from device_cases import skipped
from freewill.domain.mechanisms import registry
from freewill.domain.programs import BY_NAME, undrawable
from program_cases import KINDS, Blocks, Few, Groups, HalfBits, Near, Signs, programmed

pytestmark = skipped(node(), "Node 18 or newer")
SMALL = fw.Linear(0, 4)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    for kind in KINDS:
        monkeypatch.setitem(registry.REGISTRY, kind.name, kind)


def lied(survey, change):
    """Return the survey for devices with its one program changed."""
    spec = copy.deepcopy(survey.for_devices())
    (program,) = spec["programs"].values()
    change(program, spec)
    return spec


def verdict(*specs):
    return in_node("verdicts", {"given": [json.dumps(spec) for spec in specs]})


def epsilon_of(program, size):
    """Return the ratio of probabilities that a program allows, as an exact fraction."""
    chances = {
        name: Fraction(int(program[name][0], 16), 1 << program[name][1])
        for name in ("own", "other", "replaced")
        if name in program
    }
    match program["draw"]:
        case "unary":
            own, other = chances["own"], chances["other"]
            ratio = own * (1 - other) / (other * (1 - own))
        case "subset":
            own, d = chances["own"], program["length"]
            ratio = own * (size - d) / ((1 - own) * d)
        case "hash":
            r, g = chances["replaced"], program["buckets"]
            ratio = (1 - r + r / g) / (r / g)
        case "hadamard":
            ratio = chances["own"] / (1 - chances["own"]) * (2 * program.get("blocks", 1) - 1)
    return max(ratio, 1 / ratio)


def log_of(ratio, digits=300):
    """Return the logarithm of a fraction, to so many digits of the fraction."""
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
    return context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)).ln(context)


SIZE = 6


def extreme_program(rng):
    """Draw a program whose chances may be as small as 2^-500, or as close to 1."""
    draw = rng.choice(["unary", "subset", "hash", "hadamard"])
    width, place = rng.randint(1, 250), rng.choice([1, 2, 9, rng.randint(1, 250)])
    few = rng.getrandbits(width) | 1, width + place
    often = (1 << few[1]) - few[0], few[1]
    one, other = (often, few) if rng.random() < 0.5 else (few, often)
    third = rng.getrandbits(width) | 1, width + rng.randint(1, 9)
    fields = {
        "unary": {"own": one, "other": rng.choice([third, few])},
        "subset": {"length": rng.randint(1, SIZE - 1), "own": one},
        "hash": {"buckets": rng.randint(2, 1000), "replaced": other, "hash": "fmix32"},
        "hadamard": {"order": 8, "own": one, "blocks": rng.randint(1, SIZE)},
    }[draw]
    chances = {key: [f"{one[0]:x}", one[1]] for key, one in fields.items() if type(one) is tuple}
    return {**fields, **chances, "draw": draw, "id": "0" * 16}


def test_no_program_is_taken_that_tells_more_than_it_promises():
    """A promise that is the next double above the true epsilon is kept, the next below is not."""
    rng, specs, kept = random.Random(26), [], []
    line = {"kind": "linear", "first": 0, "last": SIZE - 1}
    head = {"freewill survey": 2, "alphabet": line, "mechanisms": {"m": {"mechanism": "new"}}}
    for _ in range(300):
        program = extreme_program(rng)
        exact = log_of(epsilon_of(program, SIZE))
        for side in (-math.inf, 0.0, math.inf):
            claim = math.nextafter(float(exact), side) if side else float(exact)
            program = {**program, "promise": {"kind": "ldp", "epsilon": max(claim, 0.0)}}
            specs.append({**head, "programs": {"m": program}})
            kept.append(exact <= Decimal(max(claim, 0.0)))
    for said, wanted, spec in zip(verdict(*specs), kept, specs, strict=True):
        assert ("menu" in said) == wanted, (spec["programs"], said)
        assert wanted or "expected at most the promised" in said["error"]
    assert 300 < sum(kept) < 600


def _set(**fields):
    return lambda program, spec: program.update(fields)


def _drop(name):
    return lambda program, spec: program.pop(name)


def _claim(epsilon, kind="ldp"):
    return _set(promise={"kind": kind, "epsilon": epsilon})


def _named(name):
    return lambda program, spec: spec.update(programs={name: program})


WRONG = [
    (HalfBits(SMALL, 1.0), _claim(0.999999999), "has an epsilon of 1: expected at most the prom"),
    (HalfBits(SMALL, 1.0), _claim(1.1), "expected at most that of the description, 1"),
    (HalfBits(SMALL, 1.0), _claim(0), "has an epsilon of 1: expected at most the promised 0"),
    (HalfBits(SMALL, 1.0), _claim(-1), "promise=.*expected {"),
    (Near(SMALL, 1.0), _claim("1", "geo"), "promise=.*expected {"),
    (Near(SMALL, 1.0), _claim(0.2, "geo"), "times as likely from one of the values 0 and 1 as"),
    (Near(SMALL, 1.0), _claim(None), "promises an epsilon of 2.0.*of the description, 1"),
    (HalfBits(SMALL, 1.0), _claim("1"), "promise=.*expected {"),
    (HalfBits(SMALL, 1.0), _claim(None), "promise=.*expected {"),
    (HalfBits(SMALL, 1.0), _claim(1, "geo"), "promise=.*expected {"),
    (HalfBits(SMALL, 1.0), _drop("promise"), "promise=undefined: expected {"),
    (HalfBits(SMALL, 1.0), _drop("own"), "needs the field 'own'"),
    (HalfBits(SMALL, 1.0), _drop("id"), "expected an object with an id"),
    (
        HalfBits(SMALL, 1.0),
        _drop("draw"),
        "whose draw is one of unary, subset, hash, bloom, hadamard",
    ),
    (HalfBits(SMALL, 1.0), _set(draw="toString"), "whose draw is one of unary"),
    (HalfBits(SMALL, 1.0), _set(draw=["unary"]), "whose draw is one of unary"),
    (HalfBits(SMALL, 1.0), _set(id="x" * 16), "expected an object with an id"),
    (HalfBits(SMALL, 1.0), _set(more=1), "has no field 'more'"),
    (HalfBits(SMALL, 1.0), _set(own=["2", 1]), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=["0", 1]), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=["f", 1]), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=["-1", 1]), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=["0x1", 1]), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=[1, 1]), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=["1", -1]), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=["1", 1.5]), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=["1", 1, 1]), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=["1", 10**9]), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=["1", 8193]), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=["1", 8192]), "has an epsilon of"),
    (HalfBits(SMALL, 1.0), _set(own="1"), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=0.5), "own=.*above 0 and below 1"),
    (HalfBits(SMALL, 1.0), _set(own=["9", 4]), "has an epsilon of 1.25131442828"),
    (HalfBits(SMALL, 1.0), _set(own=["1", 9]), "has an epsilon of 5.2"),
    (Few(SMALL, 1.0), _set(length=1), "has an epsilon of 1.98"),
    (Few(SMALL, 1.0), _set(length=0), "length=0: must be an integer >= 1"),
    (Few(SMALL, 1.0), _set(length=5), "length=5: must be at most 4"),
    (Few(SMALL, 1.0), _set(length="2"), "length='2': must be an integer"),
    (Groups(SMALL, 1.0), _set(buckets=5), "has an epsilon of 1.14"),
    (Groups(SMALL, 1.0), _set(buckets=1), "buckets=1: must be an integer >= 2"),
    (Groups(SMALL, 1.0), _set(buckets=1 << 40), "buckets=.*must be at most 1048576"),
    (Groups(SMALL, 1.0), _set(hash="sha"), "hash='sha': expected"),
    (Signs(SMALL, 1.0), _set(order=4), "order=4: must be an integer >= 6"),
    (Signs(SMALL, 1.0), _set(order=12), "order=12: must be a power of two"),
    (Signs(SMALL, 1.0), _set(own=["7", 3]), "has an epsilon of 1.94591014906"),
    (Signs(SMALL, 1.0), _set(blocks=2), "has an epsilon of 2.09861228867"),
    (Blocks(SMALL, 1.0), _drop("blocks"), "order=4: must be an integer >= 6"),
    (Blocks(SMALL, 1.0), _set(blocks=3), "has an epsilon of 1.51"),
    (Blocks(SMALL, 1.0), _set(blocks=0), "blocks=0: must be an integer >= 1"),
    (Blocks(SMALL, 1.0), _set(blocks=6), "blocks=6: must be at most 5"),
    (Blocks(SMALL, 1.0), _set(blocks="2"), "blocks='2': must be an integer"),
    (Blocks(SMALL, 1.0), _set(order=2), "order=2: must be an integer >= 4"),
    (Blocks(SMALL, 1.0), _set(order=2**30), "order=.*must be at most 536870912"),
    (
        HalfBits(SMALL, 1.0),
        _named("other"),
        r"mechanism 'half-bits': expected one of .*under \"pro",
    ),
]


def test_wrong_and_lying_programs_are_refused():
    specs = [lied(fw.Survey(SMALL, {"m": mechanism}), change) for mechanism, change, _ in WRONG]
    for said, (mechanism, _, words) in zip(verdict(*specs), WRONG, strict=True):
        assert re.search(words, said.get("error", "")), (said, mechanism)


def test_a_survey_without_its_programs_says_what_to_do():
    spec = fw.Survey(SMALL, {"m": HalfBits(SMALL, 1.0)}).for_devices()
    stray = {**spec, "programs": {**spec["programs"], "n": spec["programs"]["m"]}}
    known = fw.Survey(SMALL, {"m": fw.KRR(SMALL, 1.0)}).for_devices()
    known = {**known, "freewill survey": 2, "programs": spec["programs"]}
    bare = {key: spec[key] for key in spec if key != "programs"}
    early = {**spec, "freewill survey": 1}
    found = verdict(bare, stray, known, early, {**spec, "programs": []})
    words = ["Survey.save of freewill for Python", "a program for 'n'", "drawn by its name"]
    words += ["'programs', a field of", "programs \\[\\]"]
    for said, wanted in zip(found, words, strict=True):
        assert wanted.replace("\\", "") in said["error"]


def test_a_survey_is_read_partly_where_that_is_asked_for():
    """What cannot be drawn is named, what is next to it keeps its place; alone it is an error."""
    menu = {"a": HalfBits(SMALL, 1.0), "k": fw.KRR(SMALL, 1.0), "b": Few(SMALL, 1.0)}
    spec = fw.Survey(SMALL, {**menu, "r": fw.RAPPOR(SMALL, 1.0)}).for_devices()
    bare = {key: spec[key] for key in spec if key != "programs"}
    lone = {**bare, "mechanisms": {name: bare["mechanisms"][name] for name in "ab"}}
    listed = {**bare, "mechanisms": [*bare["mechanisms"].values()]}
    body = """(specs) => specs.map((spec) => {
      try {
        const read = survey.Survey.parse(spec, { partly: true });
        return [read.undrawable, read.menu().map(({ place }) => place)];
      } catch (error) {
        return error.message;
      }
    })"""
    whole, partly, unnamed, refused = evaluated(body, [spec, bare, listed, lone])
    assert whole == [[], [0, 1, 2, 3]]
    assert partly == [["a", "b"], [1, 3]]
    assert unnamed == [["half-bits", "few"], [1, 3]]
    assert "mechanism 'few': expected one of" in refused
    lying = copy.deepcopy(spec)
    lying["programs"]["a"]["promise"]["epsilon"] = 0.5
    assert "expected at most the promised 0.5" in evaluated(body, [lying])[0]


def test_kinds_that_browsers_draw_by_name_are_those_that_python_says():
    spec = fw.Survey(SMALL, {"m": fw.KRR(SMALL, 1.0)}).spec()
    spec["mechanisms"]["m"]["mechanism"] = "?"
    (said,) = verdict(spec)
    assert f"expected one of {', '.join(BY_NAME)}, or a program" in said["error"]


def test_python_says_which_mechanisms_no_browser_can_draw(monkeypatch):
    menu = {"k": fw.KRR(SMALL, 1.0), "mine": HalfBits(SMALL, 1.0)}
    assert undrawable(menu) == ""
    monkeypatch.setattr(HalfBits, "program", lambda self: None)
    said = undrawable(menu)
    assert said.startswith("no browser can draw 'mine' (half-bits), for the class has no program()")
    assert "it offers the other 1;" in said
    assert "nobody can answer there" in undrawable({"mine": menu["mine"]})


@pytest.mark.later
def test_hostile_programs_break_nothing(tmp_path):
    """What Python takes is taken, but where a program is missing."""
    case, specs = Case(random.Random(26), tmp_path), []
    for _ in range(400):
        survey = programmed(fw.Categorical(list("abcde")), 5e-3)
        spec = copy.deepcopy(survey.for_devices())
        name = case.pick([*spec["programs"]])
        spec["mechanisms"] = {name: spec["mechanisms"][name]}
        spec["programs"] = mutated(case, {name: spec["programs"][name]})
        specs.append(json.dumps(spec).replace("Infinity", "1e400").replace("NaN", "null"))
    found, taken = in_node("verdicts", {"given": specs}), 0
    for said, spec in zip(found, specs, strict=True):
        ours = python_says(spec)
        assert "broke" not in said, said
        missing = 'or a program under "programs"' in said.get("error", "")
        assert "error" in ours or missing or said == ours, (ours, said, spec)
        taken += "menu" in said
    assert 50 < taken < 350


def test_an_id_cannot_lead_to_another_mechanism():
    """What is named by a forged id would be drawn in place of what was chosen."""
    weak = fw.KRR(SMALL, 50.0)
    survey = fw.Survey(SMALL, {"weak": weak, "m": HalfBits(SMALL, 0.1)})
    spec = survey.for_devices()
    spec["programs"]["m"]["id"] = weak.id
    (said,) = verdict(spec)
    assert "name the same mechanism" in said["error"]


TABLES = [
    (fw.Linear(0, 5), "geo"),
    (fw.Linear(0, 50, step=10), "geo"),
    (fw.Grid(3, 2, cell=(0.3, 0.7)), "geo"),
    (fw.Grid(3, 2, cell=(0.7, 0.3)), "geo"),
    (fw.Categorical(list("abc")), "geo"),
    (fw.Linear(0, 5), "ldp"),
]


@pytest.mark.later
@pytest.mark.parametrize(("alphabet", "kind"), TABLES, ids=str)
def test_tables_are_held_to_their_promise(alphabet, kind):
    """One that keeps it to the last digit is taken, and one that is beyond it by 1e-12 is not."""
    rng = np.random.default_rng(5)
    size = alphabet.size
    apart = fw.distances(alphabet) if kind == "geo" else 1.0 - np.eye(size)
    specs, kept = [], []
    for trial in range(40):
        law = rng.dirichlet(np.full(size + 1, 10.0 ** rng.uniform(-0.5, 2)), size=size)
        if trial % 4 == 0:
            law[:, 0] *= 1e-318 * rng.integers(1, 1000, size)
        if trial % 10 == 9:
            law[0, 1] = 0.0
        law /= law.sum(axis=1, keepdims=True)
        epsilon = largest(law, apart)
        for factor in (1 + 1e-12, 1.0, 1 - 1e-12, 0.9):
            claim = epsilon * factor if math.isfinite(epsilon) else 900.0
            specs.append(tabled(alphabet, law, kind, claim))
            kept.append(math.isfinite(epsilon) and factor >= 1)
    for said, wanted, spec in zip(verdict(*specs), kept, specs, strict=True):
        assert ("menu" in said) == wanted, (said, spec["programs"])
        assert wanted or "times as likely" in said["error"]


def largest(law, apart):
    """Return the least epsilon that a law keeps, in logarithms of exact fractions."""
    most = 0.0
    sums = [sum(map(Fraction, row)) for row in law.tolist()]
    for x, z in np.argwhere(np.asarray(apart) > 0).tolist():
        for own, other in zip(law[x].tolist(), law[z].tolist(), strict=True):
            if other == 0:
                most = math.inf if own > 0 else most
                continue
            ratio = Fraction(own) / sums[x] / (Fraction(other) / sums[z])
            if ratio > 1:
                most = max(most, float(log_of(ratio, 40)) / float(apart[x, z]))
    return most


def tabled(alphabet, law, kind, epsilon):
    program = {"draw": "table", "law": law.tolist(), "id": "1" * 16}
    return {
        "freewill survey": 2,
        "alphabet": alphabet.spec(),
        "mechanisms": {"m": {"mechanism": "new"}},
        "programs": {"m": {**program, "promise": {"kind": kind, "epsilon": epsilon}}},
    }


def test_a_table_without_a_promise_is_told_as_it_is():
    """As of one that promises an adversary's loss: the epsilon is that of the law."""
    spec = tabled(SMALL, np.full((5, 3), 1 / 3), "ldp", None)
    uneven = tabled(fw.Linear(0, 1), np.array([[0.75, 0.25], [0.25, 0.75]]), "ldp", None)
    body = "({specs}) => specs.map((spec) => survey.Survey.parse(spec).menu()[0].mechanism.epsilon)"
    even, found = evaluated(body, {"specs": [spec, uneven]})
    assert even == 0
    assert found == pytest.approx(math.log(3), rel=1e-11)
    assert found > math.log(3)


def test_every_pair_of_near_cells_is_held_to_its_distance():
    """Of all pairs one alone is too far apart for its distance, in either direction."""
    city, claim = fw.Grid(3, 2, cell=1.0), 0.4
    apart = fw.distances(city)
    pairs = [(z, x) for x in range(6) for z in range(x) if apart[x, z] < 1.5]
    specs, steps = [], []
    for place, pair in enumerate(pairs):
        steps.append(math.exp(0.6 * claim * apart[pair]))
        rare = np.full(6, 0.1)
        rare[list(pair)] *= (steps[-1], 1 / steps[-1])[:: 1 if place % 2 else -1]
        specs.append(tabled(city, np.column_stack([rare, 1 - rare]), "geo", claim))
    assert len(pairs) == 11
    for said, pair, step in zip(verdict(*specs), pairs, steps, strict=True):
        words = r"output 0 is ([0-9.]+) times as likely from one of the values (\d) and (\d) as"
        times, *values = re.search(words, said["error"]).groups()
        assert tuple(map(int, values)) == pair
        assert float(times) == pytest.approx(step**2, rel=1e-11)


def test_of_a_tiny_epsilon_no_more_than_a_share_is_rounding():
    law = np.array([[0.5, 0.5], [0.5 + 10 * 2.0**-53, 0.5 - 10 * 2.0**-53]])
    specs = [tabled(fw.Linear(0, 1), law, "ldp", claim) for claim in (1e-15, 4e-15)]
    refused, taken = verdict(*specs)
    assert "times as likely" in refused["error"]
    assert "menu" in taken


FAR, NEAR = {"kind": "ldp", "epsilon": 30.0}, {"kind": "geo", "epsilon": 1.0}
OTHERS = {
    "more of what has no epsilon": (
        fw.Unary(SMALL, 0.75, 0.25),
        {"own": ["ffff", 16], "other": ["1", 16], "promise": FAR},
        "expected at most that of the description",
    ),
    "more of bits in cohorts": (
        fw.BloomRAPPOR(SMALL, bits=8, cohorts=2),
        {"own": ["ffff", 16], "other": ["1", 16], "promise": FAR},
        "expected at most that of the description",
    ),
    "as much, by distances": (
        fw.Staircase(SMALL, 1.0),
        {"law": fw.Exponential(SMALL, 1.0).law().tolist(), "promise": NEAR},
        "it promises 'geo': expected 'ldp'",
    ),
    "a table in the place of parts": (
        fw.Perhaps(fw.KRR(SMALL, 1.0), 0.5),
        {"draw": "table", "law": np.eye(5).tolist(), "promise": {**FAR, "epsilon": None}},
        "it draws table: expected perhaps",
    ),
}


def test_a_program_is_held_to_the_description_which_alone_the_id_covers():
    given, words = [], []
    for mechanism, change, expected in OTHERS.values():
        survey = fw.Survey(SMALL, {"m": mechanism})
        spec = survey.for_devices()
        kept = {"id": spec["programs"]["m"]["id"]} if "draw" in change else spec["programs"]["m"]
        spec["programs"]["m"] = {**kept, **change}
        assert fw.Survey.from_spec(survey.for_devices()).id == survey.id
        given.append([json.dumps(spec), survey.id])
        words.append(expected)
    body = """(given) => given.map(([text, id]) => {
      try { return `${survey.Survey.parse(text, { id })}`; } catch (error) { return error.message; }
    })"""
    for found, expected in zip(evaluated(body, given), words, strict=True):
        assert expected in found
