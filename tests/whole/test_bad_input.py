"""Bad input gets a clear error: of the right type, saying what came and what was expected."""

import math

import numpy as np
import pytest

import freewill as fw
from freewill import AlphabetError, LawError, ParameterError, SpecError

RNG = np.random.default_rng(0)
LINE = fw.Linear(0, 9)
CITY = fw.Grid(columns=4, rows=3, cell=0.5)
MENU = fw.Categorical(["yes", "no", "maybe"])
PAIR = fw.Linear(0, 1)
MECHANISMS = (
    fw.KRR(LINE, 1.0),
    fw.Geometric(LINE, 1.0),
    fw.RAPPOR(LINE, 1.0),
    fw.Identity(LINE),
    fw.Matrix(LINE, np.full((10, 3), 1 / 3)),
    fw.PlanarGeometric(fw.Grid(5, 2, cell=1.0), 1.0),
)
KRR_SPEC = fw.KRR(LINE, 1.0).spec()
MATRIX_SPEC = fw.Matrix(PAIR, np.eye(2)).spec()
LINE_SPEC, CITY_SPEC, MENU_SPEC = LINE.spec(), CITY.spec(), MENU.spec()


def without(spec, field):
    return {name: value for name, value in spec.items() if name != field}


def bad(call, error, *words):
    return pytest.param(call, error, words, id=f"{error.__name__}: {' '.join(words)}")


EPSILONS = [
    bad(
        lambda kind=kind, alphabet=alphabet, epsilon=epsilon: kind(alphabet, epsilon=epsilon),
        ParameterError,
        f"epsilon={epsilon!r}",
        kind.name,
        "must be",
    )
    for kind, alphabet in (
        (fw.KRR, LINE),
        (fw.Geometric, LINE),
        (fw.PlanarGeometric, CITY),
        (fw.RAPPOR, LINE),
    )
    for epsilon in (0, 0.0, -1.0, -math.inf, math.inf, math.nan, "1.0", True, None, [1.0, 2.0], 1j)
] + [
    bad(lambda kind=kind: kind(LINE, epsilon=701.0), ParameterError, "epsilon=701.0", "<= 700")
    for kind in (fw.KRR, fw.RAPPOR)
]

ALPHABETS = [
    bad(lambda: fw.Categorical([]), AlphabetError, "at least one"),
    bad(lambda: fw.Categorical("yes"), AlphabetError, "'yes'", "list"),
    bad(lambda: fw.Categorical(["a", 1]), AlphabetError, "1", "Linear"),
    bad(lambda: fw.Categorical(["a", "b", "a"]), AlphabetError, "'a'", "twice"),
    bad(lambda: fw.Linear(0, -1), AlphabetError, "last=-1"),
    bad(lambda: fw.Linear(0, 10, step=3), AlphabetError, "step=3"),
    bad(lambda: fw.Linear(0, 10, step=0), AlphabetError, "step=0", "> 0"),
    bad(lambda: fw.Linear(0, 10, step=-1), AlphabetError, "step=-1", "> 0"),
    bad(lambda: fw.Linear(0.5, 10), AlphabetError, "first=0.5", "integer"),
    bad(lambda: fw.Linear(False, True), AlphabetError, "first=False", "integer"),
    bad(lambda: fw.Linear("a", 10), AlphabetError, "first='a'", "integer"),
    bad(lambda: fw.Linear(0, math.nan), AlphabetError, "last=nan", "integer"),
    bad(lambda: fw.Linear(0, math.inf), AlphabetError, "last=inf", "integer"),
    bad(lambda: fw.Grid(0, 2, cell=1), AlphabetError, "columns=0", ">= 1"),
    bad(lambda: fw.Grid(2, 0, cell=1), AlphabetError, "rows=0", ">= 1"),
    bad(lambda: fw.Grid(2, 1.5, cell=1), AlphabetError, "rows=1.5"),
    bad(lambda: fw.Grid("a", 2, cell=1), AlphabetError, "columns='a'"),
    bad(lambda: fw.Grid(2, 2, cell=0), AlphabetError, "cell=0", "> 0"),
    bad(lambda: fw.Grid(2, 2, cell=-1.0), AlphabetError, "cell=-1.0", "> 0"),
    bad(lambda: fw.Grid(2, 2, cell=math.nan), AlphabetError, "cell=nan"),
    bad(lambda: fw.Grid(2, 2, cell=(1, 2, 3)), AlphabetError, "(1, 2, 3)"),
    bad(lambda: fw.Grid(2, 2, cell=("a", "b")), AlphabetError, "cell=('a', 'b')"),
    bad(lambda: fw.Grid(2, 2, cell=None), AlphabetError, "cell=None"),
    bad(lambda: fw.Grid.box(1, 0, 0, 1, 2, 2), AlphabetError, "south=1", "north=0"),
    bad(lambda: fw.Grid.box(0, 1, 1, 0, 2, 2), AlphabetError, "west=1", "east=0"),
    bad(lambda: fw.Grid.box(0, 91, 0, 1, 2, 2), AlphabetError, "north=91", "90"),
    bad(lambda: fw.Grid.box(0, 1, 0, math.nan, 2, 2), AlphabetError, "east=nan"),
    bad(lambda: fw.Grid.box(0, 1, 0, 1, 0, 2), AlphabetError, "columns=0"),
    bad(lambda: fw.Grid(2, 2, 1.0, (0, 1, 2)), AlphabetError, "bounds"),
]

TOO_SMALL = [
    bad(
        lambda kind=kind, alphabet=alphabet: kind(alphabet, epsilon=1.0),
        AlphabetError,
        kind.name,
        "at least 2",
    )
    for kind, alphabet in (
        (fw.KRR, fw.Categorical(["only"])),
        (fw.KRR, fw.Linear(5, 5)),
        (fw.Geometric, fw.Linear(5, 5)),
        (fw.RAPPOR, fw.Linear(5, 5)),
        (fw.PlanarGeometric, fw.Grid(1, 1, cell=1)),
        (fw.PlanarGeometric, fw.Grid(5, 1, cell=1)),
        (fw.PlanarGeometric, fw.Grid(1, 5, cell=1)),
    )
]

WRONG_KIND = [
    bad(lambda: fw.Geometric(CITY, 1.0), AlphabetError, "geometric", "Linear"),
    bad(lambda: fw.Geometric(MENU, 1.0), AlphabetError, "geometric", "Linear"),
    bad(lambda: fw.PlanarGeometric(LINE, 1.0), AlphabetError, "planar", "Grid"),
    bad(lambda: fw.KRR([1, 2, 3], 1.0), AlphabetError, "k-rr", "[1, 2, 3]"),
    bad(lambda: fw.RAPPOR("abc", 1.0), AlphabetError, "rappor", "'abc'"),
    bad(lambda: fw.Identity(3), AlphabetError, "identity", "3"),
    bad(lambda: fw.Matrix(None, [[1.0]]), AlphabetError, "matrix", "None"),
    bad(lambda: fw.Matrix(PAIR, np.eye(2), outputs="ab"), AlphabetError, "'ab'"),
]

VALUES = [
    bad(lambda: LINE.encode([3, 10]), AlphabetError, "10", "0 to 9"),
    bad(lambda: LINE.encode([-1, 11]), AlphabetError, "-1", "2 such"),
    bad(lambda: LINE.encode([2.5]), AlphabetError, "2.5", "integers"),
    bad(lambda: LINE.encode([math.nan]), AlphabetError, "nan", "integers"),
    bad(lambda: LINE.encode(["3"]), AlphabetError, "expected integers"),
    bad(lambda: LINE.encode([True]), AlphabetError, "bool"),
    bad(lambda: fw.Linear(0, 9, 3).encode([4]), AlphabetError, "4", "steps of 3"),
    bad(lambda: MENU.encode(["si"]), AlphabetError, "'si'", "'yes'"),
    bad(lambda: MENU.encode([1]), AlphabetError, "1", "'yes'"),
    bad(lambda: CITY.encode([(9.0, 0.5)]), AlphabetError, "(9.0, 0.5)", "encode_inside"),
    bad(lambda: CITY.encode([1.0, 2.0, 3.0]), AlphabetError, "shape", "pairs"),
    bad(lambda: CITY.encode([("a", "b")]), AlphabetError, "pairs"),
    bad(lambda: LINE.decode([10]), AlphabetError, "10", "0 to 9"),
    bad(lambda: MENU.decode([1.0]), AlphabetError, "float64", "integers"),
    bad(lambda: CITY.decode([-1]), AlphabetError, "-1", "0 to 11"),
]

INDICES = [
    bad(
        lambda mechanism=mechanism, values=values: mechanism.obfuscate(values, RNG),
        AlphabetError,
        *words,
    )
    for mechanism in MECHANISMS
    for values, words in (
        ([10], ("value 10", "outside", "0 to 9")),
        ([3, -1], ("value -1", "outside", "0 to 9")),
        ([1.0], ("float64", "encode")),
        (["yes"], ("expected integers", "encode")),
    )
]

LAWS = [
    bad(lambda: fw.Matrix(PAIR, [[1.2, -0.2], [0, 1]]), LawError, "law[0, 1]", "-0.2"),
    bad(lambda: fw.Matrix(PAIR, [[1, 0], [0.5, 0.4]]), LawError, "row 1", "-0.1", "1"),
    bad(lambda: fw.Matrix(PAIR, [[1, 0.25], [0.5, 0.5]]), LawError, "row 0", "+0.25"),
    bad(lambda: fw.Matrix(PAIR, [[1, 1e-8], [0, 1]]), LawError, "row 0", "+1e-08"),
    bad(lambda: fw.Matrix(PAIR, [[0.5, 0.5], [1]]), LawError, "equal length"),
    bad(lambda: fw.Matrix(PAIR, [["a", "b"], ["c", "d"]]), LawError, "numbers"),
    bad(lambda: fw.Matrix(PAIR, np.eye(3)), LawError, "(3, 3)", "(2, outputs)"),
    bad(lambda: fw.Matrix(PAIR, [0.5, 0.5]), LawError, "(2,)", "(2, outputs)"),
    bad(lambda: fw.Matrix(PAIR, [[], []]), LawError, "(2, 0)"),
    bad(lambda: fw.Matrix(PAIR, [[math.nan, 1], [0, 1]]), LawError, "law[0, 0]=nan"),
    bad(lambda: fw.Matrix(PAIR, [[0, 1], [0, math.inf]]), LawError, "law[1, 1]=inf"),
    bad(lambda: fw.Matrix(PAIR, np.eye(2), outputs=MENU), LawError, "2", "3"),
    bad(lambda: fw.RAPPOR(fw.Linear(0, 16), 1.0).law(), LawError, "2^17", "operator"),
    bad(lambda: fw.KRR(fw.Linear(1, 10**5), 1.0).law(), LawError, "operator(outputs)"),
]

SPECS = [
    bad(lambda: fw.from_spec(None), SpecError, "NoneType", "dict"),
    bad(lambda: fw.from_spec("k-rr"), SpecError, "str", "dict"),
    bad(lambda: fw.from_spec({}), SpecError, "mechanism None", "k-rr"),
    bad(lambda: fw.from_spec(KRR_SPEC | {"mechanism": "krr"}), SpecError, "'krr'", "k-rr"),
    bad(lambda: fw.from_spec(KRR_SPEC | {"mechanism": []}), SpecError, "[]", "k-rr"),
    bad(lambda: fw.from_spec(KRR_SPEC | {"version": 2}), SpecError, "version 2", "1"),
    bad(lambda: fw.from_spec(without(KRR_SPEC, "version")), SpecError, "version None"),
    bad(lambda: fw.from_spec(without(KRR_SPEC, "epsilon")), SpecError, "k-rr", "epsilon"),
    bad(lambda: fw.from_spec(KRR_SPEC | {"delta": 1}), SpecError, "k-rr", "delta", "epsilon"),
    bad(lambda: fw.from_spec(KRR_SPEC | {"Epsilom": 1}), SpecError, "Did you mean 'epsilon'?"),
    bad(lambda: fw.from_spec(KRR_SPEC | {1: 1}), SpecError, "no field 1"),
    bad(lambda: fw.from_spec(KRR_SPEC | {"epsilon": -1}), SpecError, "k-rr", "-1", "> 0"),
    bad(lambda: fw.from_spec(KRR_SPEC | {"epsilon": None}), SpecError, "None"),
    bad(lambda: fw.from_spec(without(KRR_SPEC, "alphabet")), SpecError, "alphabet"),
    bad(lambda: fw.from_spec(KRR_SPEC | {"alphabet": "0..9"}), SpecError, "'0..9'"),
    bad(
        lambda: fw.from_spec(fw.Geometric(LINE, 1.0).spec() | {"alphabet": CITY_SPEC}),
        SpecError,
        "geometric",
        "Linear",
    ),
    bad(lambda: fw.from_spec(without(MATRIX_SPEC, "law")), SpecError, "matrix", "law"),
    bad(lambda: fw.from_spec(MATRIX_SPEC | {"law": [[1, 0]]}), SpecError, "(1, 2)"),
    bad(lambda: fw.from_spec(MATRIX_SPEC | {"outputs": {"kind": "ring"}}), SpecError, "ring"),
    bad(lambda: fw.alphabet_from_spec({"kind": "ring"}), SpecError, "'ring'", "linear"),
    bad(lambda: fw.alphabet_from_spec({"kind": ["linear"]}), SpecError, "['linear']"),
    bad(lambda: fw.alphabet_from_spec(without(LINE_SPEC, "last")), SpecError, "linear", "last"),
    bad(lambda: fw.alphabet_from_spec(LINE_SPEC | {"gap": 1}), SpecError, "linear", "gap"),
    bad(lambda: fw.alphabet_from_spec(LINE_SPEC | {"step": 4}), SpecError, "linear", "step=4"),
    bad(lambda: fw.alphabet_from_spec(LINE_SPEC | {"last": "9"}), SpecError, "linear", "'9'"),
    bad(lambda: fw.alphabet_from_spec(LINE_SPEC | {"last": math.inf}), SpecError, "linear", "inf"),
    bad(lambda: fw.alphabet_from_spec(CITY_SPEC | {"cell": None}), SpecError, "grid", "cell"),
    bad(lambda: fw.alphabet_from_spec(CITY_SPEC | {"bounds": [1, 2]}), SpecError, "grid", "[1, 2]"),
    bad(lambda: fw.alphabet_from_spec(MENU_SPEC | {"labels": []}), SpecError, "categorical"),
    bad(lambda: fw.alphabet_from_spec(MENU_SPEC | {"labels": None}), SpecError, "categorical"),
]

OUTPUTS = [
    bad(
        lambda mechanism=mechanism: mechanism.operator(np.array([0, 99])),
        AlphabetError,
        mechanism.name,
        *("99", "another alphabet") if mechanism.name != "rappor" else ("uint8",),
    )
    for mechanism in MECHANISMS
] + [
    bad(lambda: MECHANISMS[0].operator(np.array([1.0])), AlphabetError, "k-rr", "float64"),
    bad(lambda: MECHANISMS[0].operator(np.array([[1]])), AlphabetError, "(1, 1)", "one axis"),
    bad(lambda: MECHANISMS[0].operator(np.array(1)), AlphabetError, "()", "one axis"),
    bad(
        lambda: MECHANISMS[2].operator(np.zeros((1, 3), np.uint8)),
        AlphabetError,
        "(1, 3)",
        "(n, 2)",
        "10 bits",
    ),
    bad(
        lambda: MECHANISMS[2].operator(np.zeros(2, np.uint8)),
        AlphabetError,
        "(2,)",
        "(n, 2)",
    ),
    bad(
        lambda: MECHANISMS[2].operator(np.zeros((1, 2), np.int64)),
        AlphabetError,
        "int64",
        "uint8",
    ),
    bad(
        lambda: MECHANISMS[2].operator(np.array([[0, 3], [0, 4]], np.uint8)),
        AlphabetError,
        "report 1",
        "beyond the 10",
        "another alphabet",
    ),
]

PRIORS = [
    bad(
        lambda prior=prior: fw.KRR(fw.Linear(0, 2), 1.0).quality_loss(prior),
        ParameterError,
        "prior",
        *words,
    )
    for prior, words in (
        ([0.5, 0.5], ("(2,)", "3 values")),
        ([[0.5, 0.25, 0.25]], ("(1, 3)", "3 values")),
        ([0.5, 0.6, -0.1], ("prior[2]=-0.1", ">= 0")),
        ([0.5, math.nan, 0.5], ("prior[1]=nan", "finite")),
        ([0.5, 0.5, 0.5], ("1.5", "expected 1")),
        ([0, 0, 0], ("0.0", "expected 1")),
        ("abc", ()),
    )
]

OTHERS = [
    bad(lambda: fw.calibrate(fw.KRR, LINE, quality_loss="x"), ParameterError, "'x'"),
    bad(
        lambda: fw.calibrate(fw.KRR, LINE, quality_loss=1.0, prior=[1.0]),
        ParameterError,
        "prior",
        "10 values",
    ),
    bad(lambda: fw.calibrate(fw.Identity, LINE, quality_loss=1.0), ParameterError, "identity"),
    bad(
        lambda: fw.audit(MECHANISMS[0], fw.Guarantee("magic", 1.0)),
        ParameterError,
        "'magic'",
        "ldp",
        "geo",
    ),
    bad(
        lambda: fw.audit(fw.Geometric(fw.Linear(1, 200_000), 1.0)),
        LawError,
        "200,000 values",
        "smaller alphabet",
    ),
    bad(lambda: fw.project([1.0, math.nan]), ParameterError, "component 1", "nan"),
    bad(lambda: fw.project([]), ParameterError, "not empty"),
    bad(lambda: fw.project([[1.0]]), ParameterError, "(1, 1)", "one axis"),
    bad(lambda: fw.normalise([-1.0, 0.0]), ParameterError, "positive", "project"),
    bad(lambda: fw.normalise([math.inf]), ParameterError, "component 0", "inf"),
]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        *(EPSILONS + ALPHABETS + TOO_SMALL + WRONG_KIND + VALUES),
        *(INDICES + LAWS + SPECS + OUTPUTS + PRIORS + OTHERS),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    assert isinstance(caught.value, fw.FreewillError)
    assert isinstance(caught.value, ValueError)
    for word in words:
        assert word in str(caught.value)
