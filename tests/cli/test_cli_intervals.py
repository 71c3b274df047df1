"""`freewill estimate` says how sure its shares are: in tables, CSV, JSON and pictures."""

import csv
import io
import json
import shlex
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from cli_cases import AGES, CITY, MENU, refused, run, run_json
from freewill.cli.analysis import AnyMethod, groups_of
from freewill.io.evidence_file import load_evidence, save_evidence
from freewill.present.shares import Shares, warning

BLIND = fw.Matrix(AGES, np.full((100, 2), 0.5))


def saved(folder, name, mechanism, values):
    """Save the evidence of people with these values, all of one mechanism, and return both."""
    reports = mechanism.obfuscate(np.asarray(values), np.random.default_rng(3))
    evidence = fw.collect([(mechanism, reports)])
    save_evidence(evidence, folder / f"{name}.parquet")
    return folder / f"{name}.parquet", evidence


@pytest.fixture(scope="module")
def monday(folder):
    return folder / "monday.parquet", load_evidence(folder / "monday.parquet")


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    places = np.random.default_rng(1).choice(24, 2000, p=np.arange(1, 25) / 300)
    return saved(tmp_path_factory.mktemp("city"), "city", fw.KRR(CITY, 3.0), places)


@pytest.fixture(scope="module")
def menu(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("menu"), "menu", fw.KRR(MENU, 1.0), [0, 1, 1, 2] * 100)


def same(shown, expected):
    """Compare intervals as JSON with the library's."""
    for name in ("point", "low", "high", "standard_error"):
        np.testing.assert_allclose(shown[name], getattr(expected, name), rtol=1e-9, atol=1e-12)
    assert (shown["level"], shown["joint"]) == (expected.level, expected.joint)
    assert shown["critical"] == pytest.approx(expected.critical)


def table_of(text):
    return list(csv.DictReader(io.StringIO(text)))


# What is printed is what the library says


@pytest.mark.parametrize(
    ("options", "level", "joint"),
    [((), 0.95, False), (("--level", 0.5), 0.5, False), (("--joint",), 0.95, True)],
)
def test_json_has_the_librarys_intervals(monday, options, level, joint):
    path, evidence = monday
    shown = run_json("estimate", path, "--intervals", *options)
    same(shown["intervals"], fw.intervals(evidence, level=level, joint=joint))
    assert len(shown["values"]) == len(shown["theta"]) == len(shown["intervals"]["low"]) == 100
    assert run_json("estimate", path)["intervals"] is None


def test_bands_of_a_line(monday):
    path, evidence = monday
    shown = run_json("estimate", path, "--intervals", "--bins", 30)
    assert shown["bins"][0] == {"from": 0, "to": 29}
    assert shown["bins"][-1] == {"from": 90, "to": 99}
    theta = fw.gibu(evidence).theta
    expected = [theta[start : start + 30].sum() for start in range(0, 100, 30)]
    np.testing.assert_allclose(shown["shares"], expected, atol=1e-12)
    same(shown["intervals"], fw.intervals(evidence, fw.functionals.bins(30)))
    np.testing.assert_allclose(shown["theta"], theta, atol=1e-12)
    alone = run_json("estimate", path, "--bins", 30)
    assert (alone["shares"], alone["intervals"]) == (shown["shares"], None)


def test_bands_of_a_grid_are_districts_in_the_units_of_its_points(city):
    path, evidence = city
    shown = run_json("estimate", path, "--intervals", "--bins", 4)
    same(shown["intervals"], fw.intervals(evidence, fw.functionals.districts(4)))
    west, east = shown["bins"]
    assert list(west) == ["lat_from", "lat_to", "lon_from", "lon_to"]
    assert (west["lat_from"], west["lat_to"]) == (37.7228, 37.7946)
    assert west["lon_from"] == -122.5153
    assert west["lon_to"] == east["lon_from"] == pytest.approx(-122.5153 + 4 / 6 * 0.1364)
    assert east["lon_to"] == -122.3789


@pytest.mark.parametrize("bins", [1, 2, 3, 5, 10**9])
@pytest.mark.parametrize("grid", [CITY, fw.Grid(5, 3, cell=0.5), fw.Grid(1, 4, cell=2.0)], ids=str)
def test_edges_of_districts_hold_their_cells(grid, bins):
    """The cells whose centres lie between a row's edges are those that its share is of."""
    groups = groups_of(bins, grid)
    centres = np.asarray(grid.decode(np.arange(grid.size)))
    rows = fw.functionals.districts(bins).on(grid).rows
    assert len(rows) == groups.count
    for edges, row in zip(groups.cells(np.arange(groups.count)), rows, strict=True):
        low, high = np.array(edges[::2]), np.array(edges[1::2])
        inside = np.all((centres > low) & (centres < high), axis=1)
        np.testing.assert_array_equal(inside, row == 1)


def test_csv_has_a_column_for_each(monday, city, menu):
    path, evidence = monday
    rows = table_of(run("estimate", path, "--intervals", "--csv").stdout)
    columns = ["point", "low", "high", "standard_error"]
    assert list(rows[0]) == ["value", "share", *columns]
    expected = fw.intervals(evidence)
    for name in columns:
        found = [float(row[name]) for row in rows]
        np.testing.assert_allclose(found, getattr(expected, name), rtol=1e-9, atol=1e-12)
    bins = table_of(run("estimate", path, "--bins", 50, "--csv").stdout)
    assert [(row["from"], row["to"]) for row in bins] == [("0", "49"), ("50", "99")]
    assert list(bins[0]) == ["from", "to", "share"]
    districts = table_of(run("estimate", city[0], "--bins", 4, "--csv", "--intervals").stdout)
    assert list(districts[0])[:5] == ["lat_from", "lat_to", "lon_from", "lon_to", "share"]
    labels = table_of(run("estimate", menu[0], "--csv", "--intervals").stdout)
    assert [row["value"] for row in labels] == list(MENU.labels)


def test_the_table_has_them_too(monday, city):
    shown = run("estimate", monday[0], "--intervals", "--bins", 25, "--joint").stdout
    assert "95 % intervals, all together" in shown
    lines = [line.split() for line in shown.splitlines() if ".." in line]
    found = fw.intervals(monday[1], fw.functionals.bins(25), joint=True)
    assert [line[0] for line in lines[1:]] == ["0..24", "25..49", "50..74", "75..99"]
    for line, low, high in zip(lines[1:], found.low, found.high, strict=True):
        assert line[3:5] == [f"{low:.4%}", f"{high:.4%}"]
    districts = run("estimate", city[0], "--intervals", "--bins", 4, "--rows", 1).stdout
    assert "37.7228..37.7946" in districts
    assert "1 district with" in districts


def test_a_band_that_holds_everyone_has_all_of_them(monday):
    (share,) = run_json("estimate", monday[0], "--intervals", "--bins", 2**62)["shares"]
    assert share == pytest.approx(1)


def test_the_page_shows_what_its_commands_print(tmp_path, monkeypatch):
    text = (Path(__file__).parents[2] / "docs" / "inference.md").read_text(encoding="utf-8")
    section = text.split("## On the command line")[1].split("\n## ")[0]
    survey, commands, printed = (block.strip("\n") for block in section.split("```")[1::2])
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(survey.removeprefix("toml\n"), encoding="utf-8")
    first, *others = commands.splitlines()
    ages = (20 + i * i % 60 for i in range(5000))
    assert "(20 + i * i % 60 for i in range(5000))" in first
    Path("ages.csv").write_text("age\n" + "".join(f"{age}\n" for age in ages))
    for command in others:
        shown = run(*shlex.split(command.removeprefix("freewill "))).stdout
    table = shown.split("\n\n", 1)[1]
    assert [line.rstrip() for line in table.splitlines()] == printed.splitlines()


# Methods


@pytest.mark.parametrize("name", ["smooth", "one-step", "one_step", "One-Step"])
def test_methods_beyond_the_paper(monday, name):
    path, evidence = monday
    line = evidence.only("open", "careful", "relaxed", "identity", "geometric", "k-rr")
    shown = run_json(
        "estimate", path, "--only", "geometric", "--only", "k-rr", "--only", "identity", "-m", name
    )
    expected = {"smooth": fw.smooth, "one-step": fw.one_step}[name.lower().replace("_", "-")](line)
    np.testing.assert_allclose(shown["theta"], expected.theta, atol=1e-9)
    assert shown["method"] == expected.method


def test_intervals_are_the_same_beside_every_method(monday):
    path, evidence = monday
    expected = fw.intervals(evidence)
    for method in ("one-step", "em"):
        same(run_json("estimate", path, "--intervals", "-m", method)["intervals"], expected)
    loose = run_json("estimate", path, "--intervals", "--tol", 0.1)
    same(loose["intervals"], expected)


def test_options_that_do_not_apply(monday, menu):
    path, _ = monday
    message = refused("estimate", path, "-m", "smooth", "--post", "none")
    assert "post says nothing to smooth: it is for inversion and debias" in message
    message = refused("estimate", path, "-m", "one-step", "--tol", 0.1)
    assert (
        "tol says nothing to one-step: it is for gibu, ibu, smooth, shrink, choice-aware and robust"
        in message
    )
    assert "delta says nothing to smooth" in refused(
        "estimate", path, "-m", "smooth", "--delta", 0.1
    )
    assert "one-step, choice-aware, robust, inversion" in refused("estimate", path, "-m", "smoth")
    assert "method smooth-m" in refused("estimate", path, "-m", "smooth-m")
    assert "no neighbours" in refused("estimate", menu[0], "-m", "smooth")


def test_smoothing_tells_how_far_it_is(monday, monkeypatch):
    told = []
    monkeypatch.setattr("freewill.cli.analysis.towards", lambda goal: told.append)
    evidence = monday[1].only("identity")
    AnyMethod.parse("smooth").run_shown(evidence)
    assert not told
    AnyMethod.parse("gibu").run_shown(monday[1])
    assert told


# Maps for other programs


def test_maps_carry_intervals_and_districts(city, tmp_path):
    path, evidence = city
    sure = fw.intervals(evidence, fw.functionals.districts(4))
    options = ("--intervals", "--bins", 4)
    run("estimate", path, *options, "--geojson", tmp_path / "map.geojson")
    written = json.loads((tmp_path / "map.geojson").read_text())
    assert json.loads(run("estimate", path, *options, "--geojson", "-").stdout) == written
    told = [feature["properties"] for feature in written["features"]]
    for name in ("point", "low", "high", "standard_error"):
        np.testing.assert_allclose([one[name] for one in told], getattr(sure, name), rtol=1e-9)
    assert [(one["column"], one["columns"], one["rows"]) for one in told] == [(0, 4, 4), (4, 2, 4)]
    shares = run_json("estimate", path, "--bins", 4)["shares"]
    assert [one["share"] for one in told] == shares
    single = json.loads(run("estimate", path, "--intervals", "--geojson", "-").stdout)
    assert len(single["features"]) == 24
    assert "standard_error" in single["features"][0]["properties"]


# Refusals


@pytest.mark.parametrize("level", ["0", "1", "95", "-0.5", "nan", "inf", "1e400", "x"])
def test_levels_that_are_none(monday, level):
    answer = run("estimate", monday[0], "--intervals", f"--level={level}", code=2)
    assert "--level" in answer.stderr
    assert not answer.stdout


def test_what_cannot_be_asked(monday, menu):
    path, _ = monday
    for bins in ("0", "-3", "2.5", "many", "1e30"):
        assert "--bins" in run("estimate", path, f"--bins={bins}", code=2).stderr
    assert "add --intervals" in refused("estimate", path, "--level", 0.9)
    assert "add --intervals" in refused("estimate", path, "--joint")
    assert "3 labels have none" in refused("estimate", menu[0], "--bins", 2)


def test_one_person_has_no_interval(tmp_path):
    path, _ = saved(tmp_path, "one", fw.KRR(AGES, 4.0), [41])
    assert "1 person" in refused("estimate", path, "--intervals")
    assert "1 person" in refused("estimate", path, "-m", "one-step")
    assert run("estimate", path).stdout.startswith("From 1 person: nothing tells")


def test_more_intervals_than_memory_should_hold_are_refused_before_the_work(tmp_path, monkeypatch):
    path, _ = saved(tmp_path, "wide", fw.KRR(fw.Linear(0, 19_999), 4.0), [41] * 400)
    monkeypatch.setattr(AnyMethod, "run_shown", lambda *given: pytest.fail("worked"))
    message = refused("estimate", path, "--intervals")
    assert "--intervals for 20,000 shares" in message
    assert "--bins 2 or larger" in message


# Few people, and what nobody can tell


def test_few_people_are_warned_of_first(tmp_path):
    path, _ = saved(tmp_path, "three", fw.KRR(AGES, 4.0), [41, 12, 41])
    shown = run("estimate", path).stdout
    assert shown.startswith("From 3 people, these shares are unsure")
    assert "--intervals tells more" in shown
    shown = run("estimate", path, "--intervals")
    assert "rough" in shown.stdout.splitlines()[0]
    assert "hardly" not in shown.stderr
    assert "--bins" in shown.stderr  # the library's advice, in the command line's words
    assert "functionals" not in shown.stderr
    quiet = run("estimate", path, "--csv")
    assert quiet.stdout.startswith("value,share\n")
    assert not quiet.stderr
    assert "rough" in run("estimate", path, "--csv", "--intervals").stderr


def test_many_people_are_not_warned(monday, tmp_path):
    assert run("estimate", monday[0]).stdout.startswith("4,000 people")
    alike, _ = saved(tmp_path, "enough", fw.KRR(AGES, 4.0), [41] * 300)
    assert run("estimate", alike).stdout.startswith("300 people")
    fewer, _ = saved(tmp_path, "fewer", fw.KRR(AGES, 4.0), [41] * 299)
    assert run("estimate", fewer).stdout.startswith("From 299 people")


@given(
    people=st.integers(2, 60),
    size=st.integers(2, 12),
    epsilon=st.sampled_from([1e-9, 0.1, 1.0, 8.0, 700.0]),
    bins=st.sampled_from([None, 1, 3, 100]),
)
def test_the_warning_is_never_less_than_counting_allows(people, size, epsilon, bins):
    """Whatever noise there is, shares are no surer than those of people who tell the truth."""
    line = fw.Linear(0, size - 1)
    mechanism = fw.KRR(line, epsilon)
    evidence = fw.collect([(mechanism, np.zeros(people, dtype=int))])
    said = warning(Shares(fw.gibu(evidence), groups_of(bins, line)), None)
    if (bins or 1) >= size:
        assert not said  # everyone is in the one band there is
        return
    points = float(said.split("off by ")[1].split(" points")[0])
    share = (people + 2) / (people + 4)
    least = 196 * np.sqrt(share * (1 - share) / (people + 4))
    assert 0.99 * least <= points <= 100


def test_one_value_is_sure(tmp_path):
    path, _ = saved(tmp_path, "sure", fw.Identity(fw.Linear(7, 7)), [0, 0])
    shown = run_json("estimate", path, "--intervals")["intervals"]
    assert (shown["low"], shown["high"]) == ([1.0], [1.0])
    assert run("estimate", path, "--intervals", "--joint").stdout.startswith("2 people")


@pytest.mark.slow
def test_what_nobody_can_tell_is_null_in_json(tmp_path):
    save_evidence(fw.collect([(BLIND, [0, 1, 1])]), tmp_path / "blind.parquet")
    path = tmp_path / "blind.parquet"
    shown = run_json("estimate", path, "--intervals")["intervals"]
    assert shown["standard_error"] == [None] * 100
    assert (shown["low"], shown["high"]) == ([0.0] * 100, [1.0] * 100)
    assert "unknown" in run("estimate", path, "--intervals").stdout
    assert "cannot be told at all" in run("estimate", path, "--intervals").stderr
    rows = table_of(run("estimate", path, "--intervals", "--csv").stdout)
    assert {row["standard_error"] for row in rows} == {"inf"}
    run("estimate", path, "--intervals", "--plot", tmp_path / "blind.png")


# Pictures


@pytest.mark.slow
def test_pictures_are_written(monday, city, menu, tmp_path):
    for number, (path, options) in enumerate(
        [(monday[0], ()), (monday[0], ("--bins", 5)), (city[0], ("--bins", 2)), (menu[0], ())]
    ):
        target = tmp_path / f"{number}.png"
        result = run("estimate", path, "--intervals", *options, "--plot", target)
        assert "picture written" in result.stderr
        width, height = struct.unpack(">II", target.read_bytes()[16:24])
        assert width > 600
        assert height > 200
