"""What freewill.js is given: values, surveys, names; read and refused as in Python."""

import copy
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.javascript import MODULE, in_node, node
from tools.javascript.cases import COAST
from tools.size import web_lines

import freewill as fw
from device_cases import skipped
from freewill.core.texts import parsed
from freewill.domain.alphabets.base import encode_values, texts
from freewill.errors import FreewillError
from profiles import examples

pytestmark = skipped(node(), "Node 18 or newer")

NEXT = math.nextafter
BOX = (37.7228, 37.7946, -122.5153, -122.3789)
ALPHABETS = [
    (fw.Categorical(["yes", "no", "won't say", "1", ""]), ["no", "1", "", "No", 1, None, True, []]),
    (fw.Linear(0, 99), [0, 99, 41.0, -0.0, 100, -1, 0.5, 1e300, "41", None, True, [], [3], {}]),
    (fw.Linear(-7, 23, step=10), [-7, 3, 23, 4, -6, 22.999999999999996, 1e16]),
    (fw.Linear(-(2**53), 2**53, step=2**53), [-(2**53), 0, 2**53, 1, 2.0**53 - 1]),
    (fw.Linear(5, 5), [5, 6]),
    (
        fw.Grid(24, 16, cell=0.5),
        [
            *[(0, 0), (12, 8), (0.5, 0.5), (NEXT(0.5, 0), 7.999), (12.0, NEXT(8, 9)), (-0.0, 8)],
            *[(-5e-324, 1), (1, 2, 3), 3, "1 2", None, ("1", 2), (9, 11), [[1, 2], [3, 4]]],
        ],
    ),
    (
        fw.Grid(3, 7, cell=(0.1, 0.3)),
        [(0.1 * i, 0.3 * j) for i in range(4) for j in range(8)]
        + [(NEXT(0.1 * i, 0), 0.3 * j) for i in range(4) for j in range(8)],
    ),
    (
        fw.Grid.box(*BOX, columns=24, rows=16),
        [
            *[(37.76, -122.42), (BOX[0], BOX[2]), (BOX[1], BOX[3]), (-122.42, 37.76), (37, -122)],
            *[(NEXT(BOX[0], 0), BOX[2]), (37.76, NEXT(BOX[3], 0))],
        ],
    ),
    (fw.Grid.box(-90, 90, -180, 180, columns=2, rows=2), [(-90, 180), (90, -180), (0, 0)]),
    (fw.Grid(2, 2, cell=1), [(1, 1), (2, 2)]),
    (fw.Grid(3, 3, cell=(0.01, 250.0)), [(0.01, 250)]),
    (fw.Grid(5, 4, cell=0.125), [(0.125, 0.25)]),
    (
        fw.Grid(6, 5, cell=0.5, mask=COAST),
        [(column / 2, row / 2) for column in range(7) for row in range(6)],
    ),
]


def ours(alphabet, value):
    """The index of one value, or the message with which it is refused."""
    try:
        indices, alone = encode_values(alphabet, value)
    except FreewillError as error:
        return {"error": str(error)}
    # Python takes many values at once, which a device does not.
    return int(indices.reshape(-1)[0]) if alone else {"error": "expected one"}


@pytest.mark.slow
@pytest.mark.parametrize(("alphabet", "values"), ALPHABETS, ids=lambda one: str(one)[:30])
def test_values_are_encoded_and_decoded_alike(alphabet, values):
    indices = list(range(alphabet.size)) if alphabet.size < 1000 else [0, alphabet.size - 1]
    asked = {"spec": alphabet.spec(), "values": values, "indices": indices}
    (told,) = in_node("alphabets", {"specs": [asked]})
    assert told["text"] == str(alphabet)
    assert told["spec"] == alphabet.spec()
    assert told["decoded"] == alphabet.decode(indices).tolist()
    assert told["texts"] == texts(alphabet, indices)
    for value, theirs in zip(values, told["encoded"], strict=True):
        mine = ours(alphabet, value)
        if isinstance(mine, int):
            assert theirs == mine, value
        else:
            assert set(theirs) == {"error"}, value
            assert re.search(r"expected|must be", theirs["error"])


def test_a_million_points_fall_into_the_same_cells():
    """Points on and next to the edges of cells, where a rounding would show."""
    rng = np.random.default_rng(3)
    specs, mine = [], []
    for alphabet, _ in ALPHABETS:
        if not isinstance(alphabet, fw.Grid):
            continue
        (low, high), (left, right) = alphabet.reach
        edges = [np.linspace(low, high, 97), np.linspace(left, right, 97)]
        points = np.stack([rng.choice(axis, 5000) for axis in edges], axis=1)
        points = np.nextafter(points, points + rng.integers(-1, 2, points.shape))
        points = np.clip(points, (low, left), (high, right))
        specs.append({"spec": alphabet.spec(), "values": points.tolist(), "indices": []})
        inside = alphabet.encode_inside(points)
        specs[-1]["values"] = points[inside.kept].tolist()
        mine.append(inside.indices.tolist())
    assert [told["encoded"] for told in in_node("alphabets", {"specs": specs})] == mine


def test_a_box_without_a_cell_gets_the_same_cell_but_for_the_last_digit():
    boxes = [
        (*BOX, 24, 16),
        (35, 71, -10, 40, 50, 36),
        (-1, 1, -179, 179, 9, 3),
        (88, 90, 0, 9, 3, 3),
    ]
    specs = [
        {"kind": "grid", "columns": columns, "rows": rows, "bounds": list(bounds)}
        for *bounds, columns, rows in boxes
    ]
    asked = [{"spec": spec, "values": [], "indices": []} for spec in specs]
    for spec, told in zip(specs, in_node("alphabets", {"specs": asked}), strict=True):
        wanted = fw.alphabet_from_spec(spec).cell
        assert told["spec"]["cell"] == pytest.approx(wanted, rel=1e-15)


@pytest.mark.later
@given(st.floats(1e-6, 1e6), st.integers(0, 8))
@examples(5)
def test_centres_are_told_alike(side, power):
    cells = [side, 10.0**-power, 10.0**power, 0.5**power, 25.0]
    grids = [fw.Grid(3, 2, cell=cell) for cell in cells]
    asked = [{"spec": one.spec(), "values": [], "indices": list(range(6))} for one in grids]
    told = in_node("alphabets", {"specs": asked})
    assert [one["texts"] for one in told] == [texts(grid, range(6)) for grid in grids]


LINE = {"kind": "linear", "first": 0, "last": 9}
GOOD = {
    "freewill survey": 2,
    "title": "Ages",
    "question_id": "our-town/age",
    "alphabet": LINE,
    "mechanisms": {"k": {"mechanism": "k-rr", "epsilon": 1, "description": "Near."}},
}


def changed(**fields):
    """A good survey with some fields changed, or left out where they are None."""
    given = {**copy.deepcopy(GOOD), **fields}
    return {key.replace("_", " ") if key == "freewill_survey" else key: value
            for key, value in given.items() if value is not None}  # fmt: skip


def with_mechanism(**fields):
    """A survey whose one mechanism is this."""
    return changed(
        mechanisms={"k": {key.replace("Matrix", "matrix"): v for key, v in fields.items()}}
    )


def on(alphabet, **mechanism):
    """A survey over this alphabet."""
    return changed(alphabet=alphabet, mechanisms={"k": mechanism or {"mechanism": "identity"}})


EVEN = [[0.5, 0.5]] * 10
PAIR = {"kind": "categorical", "labels": ["a", "b"]}
SHOKRI = {"mechanism": "shokri", "quality_loss": 0.25, "selection": "coin"}
TABLE = [[0.75, 0.25], [0.25, 0.75]]


def shy(table=TABLE, name="k", **fields):
    """A survey with a Shokri mechanism and its table."""
    return changed(alphabet=PAIR, mechanisms={"k": {**SHOKRI, **fields}}, tables={name: table})


TAKEN = [
    GOOD,
    changed(**{"freewill survey": 1, "title": None, "question_id": None, "mechanisms": [
        {"mechanism": "k-rr", "epsilon": 1}]}),
    with_mechanism(mechanism="k-rr", epsilon=1, version=1, alphabet={**LINE, "step": 1}),
    changed(mechanisms={"": GOOD["mechanisms"]["k"]}),
    with_mechanism(mechanism="matrix", law=EVEN),
    with_mechanism(mechanism="matrix", law=[[0.5, 0.5 + 9e-10]] * 10, outputs=PAIR),
    on({**LINE, "first": 9.0}),
    on({"kind": "grid", "columns": 2, "rows": 3, "cell": 1, "bounds": None}),
    on({"kind": "grid", "columns": 24, "rows": 16, "cell": 0.5, "bounds": list(BOX)}),
    shy(),
    shy(prior=[0.5, 0.5]),
    "\ufeff" + json.dumps(GOOD),
]  # fmt: skip
REFUSED = [
    None, 3, [], {}, "", "  ", "{", '{"freewill survey": 1, "freewill survey": 1}',
    json.dumps(GOOD).replace('"k-rr"', '"k-rr", "epsilon": 3, "\\u006dechanism": "rappor"'),
    changed(**{"freewill survey": 3}), changed(**{"freewill survey": "1"}),
    changed(**{"freewill survey": 1}), changed(**{"freewill survey": True}),
    changed(alphabet=None), changed(mechanisms=None), changed(zeta=1), changed(__proto__x=1),
    changed(mechanisms={}), changed(mechanisms=[]), changed(mechanisms=3),
    changed(mechanisms={"k": 3}),
    changed(mechanisms=[GOOD["mechanisms"]["k"]] * 2),
    changed(mechanisms=[{"mechanism": "k-rr", "epsilon": 1, "name": "a"},
                        {"mechanism": "k-rr", "epsilon": 2, "name": "a"}]),
    changed(mechanisms={"a": GOOD["mechanisms"]["k"], "b": {"mechanism": "k-rr", "epsilon": 1.0}}),
    changed(mechanisms={"a": {"mechanism": "k-rr", "epsilon": 1, "name": "b"}}),
    changed(mechanisms={fw.KRR(fw.Linear(0, 9), 1.0).id: {"mechanism": "identity"},
                        "b": {"mechanism": "k-rr", "epsilon": 1}}),
    changed(title=""), changed(title=7), changed(title="x" * 201), changed(question="a\nb"),
    changed(question_id="short"), with_mechanism(mechanism="k-rr", epsilon=1, description=" "),
    with_mechanism(mechanism="k-rr", epsilon=1, description=7),
    with_mechanism(mechanism="krr", epsilon=1), with_mechanism(epsilon=1),
    with_mechanism(mechanism="k-rr"), with_mechanism(mechanism="k-rr", epsilon=1, constructor=1),
    with_mechanism(mechanism="constructor"), with_mechanism(mechanism="k-rr", epsilon=1, version=2),
    *(with_mechanism(mechanism=kind, epsilon=epsilon)
      for kind in ("k-rr", "rappor", "geometric")
      for epsilon in (0, -1, 1e400, "1", True, None, [1], 1e291)),
    with_mechanism(mechanism="k-rr", epsilon=701),
    with_mechanism(mechanism="geometric", epsilon=1e290),
    with_mechanism(mechanism="planar-geometric", epsilon=1),
    with_mechanism(mechanism="k-rr", epsilon=1, alphabet={**LINE, "last": 8}),
    with_mechanism(mechanism="matrix", law=[[0.5, 0.5]]), with_mechanism(mechanism="matrix", law=3),
    with_mechanism(mechanism="matrix", law=[]), with_mechanism(mechanism="matrix", law=[[]] * 10),
    with_mechanism(mechanism="matrix", law=[[0.5, 0.5 + 2e-9]] * 10),
    with_mechanism(mechanism="matrix", law=[[-0.5, 1.5]] * 10),
    with_mechanism(mechanism="matrix", law=[["1", 0]] * 10),
    with_mechanism(mechanism="matrix", law=[*EVEN[1:], [1.0]]),
    with_mechanism(mechanism="matrix", law=[[1e400, 0]] * 10),
    with_mechanism(mechanism="matrix", law=EVEN, outputs=LINE),
    *(on(alphabet) for alphabet in (
        3, {}, {"kind": "line"}, {"kind": ["linear"]}, {"kind": "linear", "first": 0},
        {**LINE, "last": -1}, {**LINE, "step": 2}, {**LINE, "step": 0}, {**LINE, "first": 0.5},
        {**LINE, "first": "0"}, {**LINE, "first": True}, {**LINE, "last": 1e17}, {**LINE, "to": 1},
        {**LINE, "last": 2**24}, {**LINE, "last": 1e400}, {**LINE, "first": None},
        {"kind": "categorical", "labels": []}, {"kind": "categorical", "labels": "ab"},
        {"kind": "categorical", "labels": ["a", "a"]}, {"kind": "categorical", "labels": ["a", 1]},
        {"kind": "categorical", "labels": ["\ud83d"]}, {"kind": "categorical", "labels": {"a": 1}},
        {"kind": "grid", "columns": 2, "rows": 2},
        {"kind": "grid", "columns": 0, "rows": 2, "cell": 1},
        {"kind": "grid", "columns": 2, "rows": 2, "cell": 0},
        {"kind": "grid", "columns": 2, "rows": 2, "cell": [1, 2, 3]},
        {"kind": "grid", "columns": 2, "rows": 2, "cell": "1"},
        {"kind": "grid", "columns": 2, "rows": 2, "cell": 1e308},
        {"kind": "grid", "columns": 2, "rows": 2, "cell": True},
        {"kind": "grid", "columns": 2**30, "rows": 2**30, "cell": 1},
        {"kind": "grid", "columns": 24, "rows": 16, "cell": 500, "bounds": list(BOX)},
        {"kind": "grid", "columns": 24, "rows": 16, "cell": 0.0005, "bounds": list(BOX)},
        {"kind": "grid", "columns": 2, "rows": 2, "bounds": [1, 0, 0, 1]},
        {"kind": "grid", "columns": 2, "rows": 2, "bounds": [0, 1, 0, 181]},
        {"kind": "grid", "columns": 2, "rows": 2, "bounds": [0, 1, 0]},
    )),
    on({"kind": "grid", "columns": 1, "rows": 5, "cell": 1}, mechanism="planar-geometric",
       epsilon=1),
    on({"kind": "grid", "columns": 2, "rows": 2, "cell": 1}, mechanism="planar-geometric",
       epsilon=1e-291),
    on({"kind": "grid", "columns": 2, "rows": 2, "cell": 1}, mechanism="geometric", epsilon=1),
    on({**LINE, "last": 0}, mechanism="k-rr", epsilon=1),
    on({**LINE, "last": 0}, mechanism="geometric", epsilon=1),
    changed(tables=3), changed(tables={"k": TABLE}), shy(name="other"), shy(table=[[1, 0]]),
    shy(table=[[1, 0], [0, 0.9]]), shy(table=[[1, 0, 0], [0, 1, 0]]), shy(table=3),
    shy(selection="best"), shy(quality_loss=0), shy(prior=[1, 1]), shy(prior=[1]),
    shy(report_loss=[[0, 1]]), shy(guess_loss=[[0, -1], [1, 0]]), shy(quality=1, report_loss=1),
    shy(epsilon=1), shy(table=[[1, 0], [0, 1]]), shy(table=[[0, 1], [1, 0]]),
    shy(quality_loss=0.26), shy(quality_loss=0.24),
    shy(report_loss=[[1, 2], [2, 1]], guess_loss=[[1, 2], [2, 1]]),
]  # fmt: skip


def as_text(given_):
    """A survey as a file has it, with numbers that no double holds."""
    text = given_ if isinstance(given_, str) else json.dumps(given_)
    return text.replace("Infinity", "1e400")


def python_says(text):
    """What Python answers to a survey."""
    try:
        return len(fw.Survey.from_spec(parsed(text.encode(), ".json")).mechanisms)
    except FreewillError as error:
        return {"error": str(error)}


def test_surveys_are_taken_alike():
    asked = list(map(as_text, TAKEN))
    for text, theirs in zip(asked, in_node("surveys", {"given": asked}), strict=True):
        assert theirs == python_says(text), text


def test_surveys_are_refused_alike():
    asked, same = list(map(as_text, REFUSED)), 0
    for text, theirs in zip(asked, in_node("surveys", {"given": asked}), strict=True):
        mine = python_says(text)
        assert isinstance(mine, dict), text
        assert isinstance(theirs, dict), text
        assert len(theirs["error"]) > 20
        same += _plain(mine["error"]) == _plain(theirs["error"])
    # Word by word, but where literals are told as each language writes them.
    assert same > len(REFUSED) / 2, same


def _plain(message):
    """A message without what Python guesses was meant, in the literals of JavaScript."""
    for python, other in ((r"\bNone\b", "null"), (r"\bTrue\b", "true"), (r"\binf\b", "Infinity")):
        message = re.sub(python, other, message)
    return re.sub(r" Did you mean '[^']*'\?", "", message)


def test_rows_are_refused_with_reasons():
    survey = fw.Survey(fw.Linear(0, 9), {"careful": fw.KRR(fw.Linear(0, 9), 1.0)})
    asked = [["careful", 10], ["careful", "3"], ["relaxed", 3], [None, 3], ["careful", None]]
    told = in_node("rows", {"survey": survey.for_devices(), "asked": asked})
    assert told[0]["error"] == (
        "10 is not in the alphabet (1 such value): expected integers from 0 to 9."
    )
    assert told[1]["error"] == "got '3', texts; expected integers, from 0 to 9."
    wanted = "mechanism 'relaxed' is not on offer: expected one of 'careful' (or an id)."
    assert told[2]["error"] == wanted
    with pytest.raises(FreewillError, match=re.escape(wanted)):
        survey.find("relaxed")
    assert all(set(answer) == {"error"} for answer in told)


def test_nothing_is_drawn_without_a_generator():
    survey = fw.Survey(fw.Linear(0, 9), {"k": fw.KRR(fw.Linear(0, 9), 1.0)})
    given_ = {"survey": survey.for_devices(), "name": "k", "value": 3}
    assert "no crypto.getRandomValues" in in_node("withoutCrypto", given_)["error"]


def test_used_bytes_do_not_stay_in_memory():
    line = fw.Linear(0, 9)
    survey = fw.Survey(line, {"open": fw.Identity(line), "bits": fw.RAPPOR(line, 5e-324)})
    given_ = {"survey": survey.for_devices(), "name": "open", "value": 3}
    ((*left,),) = in_node("pool", given_)
    assert left == [False] * 16 + [True] * (len(left) - 16)
    # A stream of sevens reads one byte a coin: 7 is below the first digit of one half.
    ((*left,),) = in_node("pool", {**given_, "name": "bits"})
    assert left == [False] * 26 + [True] * (len(left) - 26)


@pytest.mark.parametrize("names", [["b", "10", "2", "a"], ["__proto__", "constructor", "toString"]])
def test_names_are_texts_in_their_order_and_nothing_else(names):
    line = fw.Linear(0, 9)
    survey = fw.Survey(line, {name: fw.KRR(line, 1.0 + i) for i, name in enumerate(names)})
    (told,) = in_node("ids", {"surveys": [json.dumps(survey.for_devices())]})
    assert [name for name, _, _ in told] == names
    asked = [[name, 3] for name in [*names, "valueOf"]]
    *rows, refused = in_node("rows", {"survey": json.dumps(survey.for_devices()), "asked": asked})
    assert [row["mechanism"] for row in rows] == names
    assert "'valueOf' is not on offer" in refused["error"]


def test_a_table_of_a_mechanism_without_a_name_stands_under_its_id():
    pair = fw.Categorical(["a", "b"])
    own = {"version": 1, "alphabet": pair.spec(), **SHOKRI}
    name = fw.from_spec(own).id
    spec = changed(alphabet=PAIR, mechanisms=[SHOKRI], tables={name: TABLE})
    assert list(fw.Survey.from_spec(spec).mechanisms) == [name]
    assert in_node("ids", {"surveys": [spec]})[0][0][:2] == [name, name]


@pytest.mark.later
def test_long_texts_and_deep_lists_are_read_or_refused():
    long = on({"kind": "categorical", "labels": ["x" * (1 << 24), 'a "b" \\' * 10_000]})
    deep = "[" * 100_000 + "]" * 100_000
    given_ = [json.dumps(long), deep, '{"a": ' * 5000 + "1" + "}" * 5000]
    taken, *refused = in_node("surveys", {"given": given_})
    assert taken == 1
    assert all("expected" in answer["error"] for answer in refused)


def test_given_bytes_run_out_with_an_error():
    survey = fw.Survey(fw.Linear(0, 9), {"k": fw.KRR(fw.Linear(0, 9), 1.0)})
    case = {"survey": 0, "name": "k", "index": 3, "bytes": ""}
    (told,) = in_node("streams", {"surveys": [survey.for_devices()], "cases": [case]})
    assert "used up" in told["error"]


def test_the_module_depends_on_nothing():
    package = json.loads((MODULE / "package.json").read_text())
    assert (package["name"], package["type"]) == ("freewill", "module")
    assert package["version"] == fw.__version__
    assert not any("ependencies" in key for key in package)
    for file in MODULE.glob("*.js"):
        source = file.read_text()
        assert "Math.random" not in source
        assert file.name.startswith("words-") or web_lines(source, ".js") <= 400
        if file.name.startswith("words-"):
            assert json.loads(source.removeprefix("export default "))
            continue
        for imported in re.findall(r'(?:from|import)\s*\(?"([^"]+)"', source):
            assert re.fullmatch(r"\./[a-z-]+\.js", imported), (file.name, imported)
            assert (MODULE / imported).is_file()
