"""Whatever comes from outside, only errors of our own come out, short and safe to print."""

import math
import pickle
from fractions import Fraction
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import freewill as fw
from freewill.domain.mechanisms.matrix import average
from freewill.errors import FreewillError, closest, printable, shown

LINE = fw.Linear(0, 3)
CITY = fw.Grid(2, 2, cell=1.0)
BOX = fw.Grid.box(10.0, 11.0, 20.0, 21.0, columns=2, rows=2)
MENU = fw.Categorical(["yes", "no", "won't say"])
LONGEST = 2000


def deep(levels, inside=None):
    """A list in a list in a list."""
    for _ in range(levels):
        inside = [inside]
    return inside


def deep_spec(levels):
    spec: Any = None
    for _ in range(levels):
        spec = {"kind": "linear", "first": spec}
    return spec


class Silent:
    """An object that cannot even be shown."""

    def __repr__(self):
        raise ZeroDivisionError("no repr")


numbers = st.one_of(
    st.integers(),
    st.sampled_from([10**400, -(10**400), 2**63, -(2**63), 2**53, 2**53 + 1]),
    st.floats(),
    st.sampled_from([5e-324, 1e308, -1e308, 1e-300, Fraction(1, 3), 1j, True, np.True_]),
    st.sampled_from([np.int8(3), np.uint64(2**63), np.float32(0.5), np.array(2), np.array([2])]),
)
texts = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["1", "0.5", "nan", "\ud800", "\x1b[2J", "x" * 3000, "k-rr", "linear"]),
)
scalars = st.one_of(numbers, texts, st.none(), st.binary(max_size=3))
nested = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(texts, st.integers()), inner, max_size=3),
        st.sets(st.text(max_size=2), max_size=3),
    ),
    max_leaves=6,
)
anything = st.one_of(nested, st.sampled_from([[[1, 2], [3]], np.zeros((2, 2, 2)), CITY, BOX, MENU]))
alphabets = st.sampled_from([LINE, CITY, BOX, MENU])
# Eight times as many as other properties; a profile with more makes a longer search.
many = settings(
    max_examples=8 * settings.default.max_examples, suppress_health_check=[HealthCheck.too_slow]
)


def only_our_errors(call, *arguments, **named):
    """Call; what comes out is a result, or one of our errors that any terminal can show."""
    try:
        return call(*arguments, **named)
    except FreewillError as error:
        message = str(error)
        assert len(message) <= LONGEST
        assert printable(message, LONGEST) == message
        assert message.encode() != b""
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), message)  # noqa: PT017
    return None


MONSTERS = (deep(1000), deep(50_000), 10**5000, -(10**5000), Silent())
"""What not even Hypothesis can show."""


def build_alphabets(one, two, three, four):
    only_our_errors(fw.Categorical, one)
    only_our_errors(fw.Linear, one, two, three)
    only_our_errors(fw.Grid, one, two, three)
    only_our_errors(fw.Grid, 2, 2, one, two)
    only_our_errors(fw.Grid, one, two, None, (three, four, 0.0, 1.0))


def read_values(alphabet, given):
    for call in (alphabet.encode, alphabet.encode_inside, alphabet.decode):
        if call != alphabet.encode_inside or not alphabet.labels or isinstance(given, list):
            only_our_errors(call, given)
    mechanism = fw.KRR(alphabet, 1.0)
    rng = np.random.default_rng(0)
    only_our_errors(mechanism.obfuscate, given, rng)
    only_our_errors(mechanism.report, given, rng)
    only_our_errors(mechanism.received, given)
    only_our_errors(fw.RAPPOR(alphabet, 1.0).received, given)


def build_mechanisms(alphabet, one, two):
    for kind in (fw.KRR, fw.RAPPOR, fw.Geometric, fw.PlanarGeometric, fw.Matrix, fw.Shokri):
        only_our_errors(kind, alphabet, one)
    for kind in (fw.Exponential, fw.PlanarLaplace, fw.Staircase, fw.SquareWave, fw.OptimalGeo):
        only_our_errors(kind, alphabet, one)
    for kind in (fw.Staircase, fw.SquareWave, fw.OptimalGeo):
        only_our_errors(kind, alphabet, 1.0, one)
    only_our_errors(fw.BlahutArimoto, alphabet, one, two)
    only_our_errors(fw.BlahutArimoto, alphabet, quality_loss=one)
    only_our_errors(fw.BlahutArimoto, alphabet, 1.0, prior=one, marginal=two)
    only_our_errors(fw.OptimalGeo, alphabet, 1.0, dilation=one, law=two)
    only_our_errors(fw.Both, fw.KRR(LINE, 1.0), one)
    only_our_errors(fw.Perhaps, one, two)
    only_our_errors(fw.Perhaps, fw.KRR(LINE, 1.0), one)
    only_our_errors(fw.KRR(LINE, 1.0).then, one, two)
    only_our_errors(fw.KRR(LINE, 1.0).then, one)
    only_our_errors(fw.leakage, one)
    only_our_errors(fw.leakage, fw.KRR(LINE, 1.0), one, two)
    only_our_errors(fw.Identity, alphabet)
    only_our_errors(fw.Matrix, alphabet, one, two)
    only_our_errors(fw.Shokri, alphabet, 1.0, prior=one)
    only_our_errors(fw.Shokri, alphabet, 1.0, selection=one)
    only_our_errors(fw.Shokri, alphabet, 1.0, report_loss=one, guess_loss=two)


SPECS = [
    fw.KRR(LINE, 1.0).spec(),
    fw.RAPPOR(MENU, 1.0).spec(),
    fw.Geometric(LINE, 0.5).spec(),
    fw.PlanarGeometric(BOX, 0.5).spec(),
    fw.Matrix(fw.Linear(0, 1), [[0.5, 0.5], [0.25, 0.75]]).spec(),
    fw.Identity(CITY).spec(),
    fw.PlanarLaplace(CITY, 0.5).spec(),
    fw.Staircase(LINE, 0.5, gamma=0.5).spec(),
    fw.SquareWave(LINE, 0.5, reach=1).spec(),
    fw.BlahutArimoto(LINE, 0.5, prior=[0.25] * 4).spec(),
    fw.OptimalGeo(LINE, 0.5, prior=[0.25] * 4).spec(),
    fw.Both(fw.KRR(LINE, 1.0), fw.Perhaps(fw.Geometric(LINE, 0.5), 0.5)).spec(),
    fw.KRR(LINE, 1.0).then(np.eye(4)[::-1]).spec(),
    fw.Shokri(
        LINE, 1.0, prior=[0.25] * 4, report_loss=1 - np.eye(4), guess_loss=2 - 2 * np.eye(4)
    ).spec(),
]


def read_specs(spec, field, inner, value):
    only_our_errors(fw.from_spec, {**spec, field: value})
    only_our_errors(fw.from_spec, {**spec, "alphabet": {**spec["alphabet"], inner: value}})
    only_our_errors(fw.from_spec, {name: spec[name] for name in spec if name != field})
    only_our_errors(fw.alphabet_from_spec, value)
    only_our_errors(fw.from_spec, value)


def measure_distances(one, two):
    for call in (fw.kl, fw.l2, fw.total_variation):
        for first, second in ((one, two), (two, one), (one, one)):
            found = only_our_errors(call, first, second)
            assert found is None or not math.isnan(found)
    for alphabet in (LINE, CITY, MENU, one):
        only_our_errors(fw.emd, one, two, alphabet)
    for call in (fw.project, fw.normalise):
        found = only_our_errors(call, one)
        if found is not None:
            assert found.sum() == pytest.approx(1)
            assert np.all(found >= 0)


@many
@given(anything, anything, anything, anything)
def test_alphabets_of_anything(one, two, three, four):
    build_alphabets(one, two, three, four)


@many
@given(alphabets, anything)
def test_values_and_indices_that_are_anything(alphabet, values):
    read_values(alphabet, values)


@many
@given(st.one_of(alphabets, anything), anything, anything)
def test_mechanisms_of_anything(alphabet, one, two):
    build_mechanisms(alphabet, one, two)


@many
@given(st.data(), st.sampled_from(SPECS), anything)
def test_specs_with_a_field_of_anything(data, spec, value):
    field = data.draw(st.one_of(st.sampled_from(sorted(spec)), texts, st.integers()))
    inner = data.draw(st.one_of(st.sampled_from(sorted(spec["alphabet"])), texts))
    read_specs(spec, field, inner, value)


@many
@given(st.one_of(st.lists(numbers, max_size=5), anything), st.lists(numbers, max_size=5))
def test_distances_of_anything(one, two):
    measure_distances(one, two)


@pytest.mark.slow
@pytest.mark.parametrize("monster", MONSTERS, ids=["deep", "deeper", "long", "longer", "silent"])
def test_monsters(monster):
    build_alphabets(monster, monster, monster, monster)
    build_alphabets(2, 2, monster, 1.0)
    measure_distances(monster, [monster, 1])
    for alphabet in (LINE, CITY, BOX, MENU):
        for values in (monster, [monster], [monster, 1], (1, monster)):
            read_values(alphabet, values)
            build_mechanisms(alphabet, values, monster)
    for spec in SPECS:
        for field in spec:
            for inner in spec["alphabet"]:
                read_specs(spec, field, inner, monster)


@given(
    st.lists(st.floats(0, 1, width=32), min_size=3, max_size=3).filter(any),
    st.lists(st.floats(0, 1, width=32), min_size=3, max_size=3).filter(any),
)
def test_distances_agree_with_their_formulas(one, two):
    first, second = np.array(one), np.array(two)
    assert fw.l2(one, two) == pytest.approx(math.dist(one, two), rel=1e-12)
    assert fw.total_variation(one, two) == pytest.approx(np.abs(first - second).sum() / 2)
    told = sum(a * (math.log(a) - math.log(b)) for a, b in zip(one, two, strict=True) if a and b)
    missed = any(a and not b for a, b in zip(one, two, strict=True))
    assert fw.kl(one, two) == (math.inf if missed else pytest.approx(told, abs=1e-12))


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        ([math.nan, 1], [0.5, 0.5], "theta[0]=nan"),
        ([0.5, 0.5], [math.inf, 1], "other[0]=inf"),
        ([1.0], [0.5, 0.5], "(1,)"),
        (["0.5", "0.5"], [0.5, 0.5], "expected numbers"),
        ([[0.5, 0.5]], [[0.5, 0.5]], "(1, 2)"),
        ([], [], "(0,)"),
        (0.5, 0.5, "()"),
    ],
)
def test_every_distance_says_what_is_wrong(one, two, words):
    for call in (fw.kl, fw.l2, fw.total_variation):
        with pytest.raises(fw.ParameterError) as caught:
            call(one, two)
        assert words in str(caught.value)
    with pytest.raises(fw.ParameterError, match=r"theta\[1\]=-1"):
        fw.kl([2, -1], [1, 1])


def test_a_spec_nested_a_thousand_deep_is_one_short_message():
    for levels in (1000, 100_000):
        with pytest.raises(fw.SpecError) as caught:
            fw.alphabet_from_spec(deep_spec(levels))
        assert len(str(caught.value)) < 400


def test_a_label_that_stands_twice_is_found_at_once():
    labels = [f"label {number}" for number in range(200_000)]
    started = process_time()
    with pytest.raises(fw.AlphabetError, match="'label 7' stands twice"):
        fw.Categorical([*labels, "label 7"])
    # Comparing all pairs would take minutes.
    assert process_time() - started < 5
    with pytest.raises(fw.AlphabetError, match="in order"):
        fw.Categorical({"a", "b"})
    with pytest.raises(fw.AlphabetError, match="half of a character"):
        fw.Categorical(["fine", "\ud800"])


@given(st.text())
def test_printable_texts_are_safe_whole_and_stay_as_they_are(text):
    safe = printable(text, 50)
    assert len(safe) <= 50
    assert not any(ord(one) < 32 or 127 <= ord(one) < 160 for one in safe)
    assert safe.encode().decode() == safe
    assert printable(safe, 50) == safe
    assert shown(text).encode()
    if text.isprintable() and len(text) <= 50:
        assert safe == text


def test_what_is_shown_is_short_whatever_it_is():
    for value in ("x" * 10**7, list(range(10**6)), deep(10**5), {"a": "b" * 10**6}, Silent()):
        assert len(shown(value)) <= 240
    assert shown(10**5000)
    assert shown(Silent()).startswith("<Silent instance")
    for written in ("日本\u3000語", "من\u200cتو", "👩\u200d🚀"):  # an ideographic space, joiners
        assert printable(written) == written
    assert printable("abc\u202eexe.txt\x9b2J") == "abc\\u202eexe.txt\\x9b2J"
    assert printable("a\nb", lines=True) == "a\nb"
    assert closest("Linaer", ["linear", "grid"]) == " Did you mean 'linear'?"
    assert not closest("x" * 10**6, ["linear"])
    assert len(str(FreewillError("x" * 3_000_000))) <= LONGEST


@pytest.mark.parametrize(
    "call",
    [
        fw.audit,
        fw.distances,
        fw.project,
        lambda given: fw.audit(fw.KRR(LINE, 1.0), given or 0),
        lambda given: fw.calibrate(given, LINE, quality_loss=1.0),
        lambda given: fw.calibrate(fw.KRR, given, quality_loss=1.0),
        lambda given: fw.calibrate(fw.KRR, LINE, quality_loss=given),
        lambda given: fw.calibrate(fw.KRR, LINE, quality_loss=1.0, prior=given or 0),
        lambda given: fw.Guarantee("ldp", given),
        lambda given: fw.error_without_privacy(given, 100),
        lambda given: fw.error_without_privacy([0.5, 0.5], given),
        lambda given: fw.krr_error_bound(given, [1.0], [9]),
        lambda given: fw.krr_error_bound([0.5, 0.5], given, [9]),
        lambda given: fw.rappor_error_bound([0.5, 0.5], [1.0], given or 0),
        lambda given: fw.KRR(LINE, 1.0).operator(given or "x"),
        lambda given: fw.KRR(LINE, 1.0).obfuscate([1], given or 42),
        lambda given: fw.plots.picture(given, {"a": [1.0]}, path="x.png"),
        lambda given: fw.plots.picture(LINE, given, path="x.png"),
        lambda given: fw.plots.picture(LINE, {"a": given}, path="x.png"),
        lambda given: fw.plots.laws(given, titles=["a"], path="x.png"),
        lambda given: fw.plots.laws([np.eye(2)], titles=["a"], path="x.png", smallest=given),
        lambda given: average([fw.KRR(LINE, 1.0)], given),
    ],
)
def test_functions_refuse_what_they_cannot_use(call):
    for wrong in (None, "x", [1, [2]], math.nan, -1, -(10**400), {}, [], Silent(), ["1"], deep(99)):
        with pytest.raises(FreewillError) as caught:
            call(wrong)
        assert len(str(caught.value)) < 600
