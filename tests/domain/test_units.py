"""Units: a promise names its own, no description lies about it, and old ids stay."""

import json

import pytest

import freewill as fw
from cli_cases import refused, run, run_json
from freewill.core.texts import behind, checked_unit, per

AGES = fw.Linear(0, 99, unit="year")
CITY = fw.Grid(24, 16, cell=0.5)
BOX = {"south": 37.7228, "north": 37.7946, "west": -122.5153, "east": -122.3789}
BROAD = {"south": 50.0, "north": 51.0, "west": 4.0, "east": 5.0}


def test_a_line_without_a_unit_is_what_it_was():
    """Ids as the last release gave them: reports name mechanisms by these."""
    old = fw.Linear(0, 99)
    assert old.spec() == {"kind": "linear", "first": 0, "last": 99, "step": 1}
    assert (str(old), repr(old)) == ("0..99", "Linear(first=0, last=99, step=1)")
    assert fw.Geometric(old, 0.1).id == "668f2b222bc9de1a"
    assert fw.KRR(fw.Linear(1900, 2020, step=10), 1.0).id == "68e7f74ce8df5995"
    assert fw.PlanarGeometric(CITY, 0.8).id == "934498c8d86da987"


def test_a_unit_travels_with_the_alphabet(tmp_path):
    assert fw.alphabet_from_spec(AGES.spec()) == AGES
    assert (str(AGES), eval(repr(AGES), {"Linear": fw.Linear})) == ("0..99 [year]", AGES)
    survey = fw.Survey(AGES, {"g": fw.Geometric(AGES, 0.1)})
    survey.save(tmp_path / "s.json")
    again = fw.Survey.load(tmp_path / "s.json")
    assert again == survey
    assert again.mechanisms["g"].guarantee().unit == "year"


def test_alphabets_of_other_units_are_others():
    months = fw.Linear(0, 99, unit="month")
    assert months != AGES
    assert fw.KRR(months, 1.0).id != fw.KRR(AGES, 1.0).id
    with pytest.raises(fw.SurveyError, match=r"\[month\] and the survey over 0\.\.99 \[year"):
        fw.Survey(AGES, {"m": fw.KRR(months, 1.0)})


@pytest.mark.parametrize(
    "unit",
    [
        *(3, None, True, b"year", ["year"], " year", "year ", "10 years", "½ year", "a\nb"),
        *("\x1b[2J", "-", " ", "...", "y" * 31, "\ud800", "²"),
    ],
)
def test_what_names_no_unit_is_refused(unit):
    with pytest.raises(fw.AlphabetError, match="name what the values count"):
        fw.Linear(0, 9, unit=unit)
    with pytest.raises(fw.ParameterError, match="name what the values count"):
        fw.Guarantee("geo", 1.0, unit)


@pytest.mark.parametrize("unit", ["year", "km", "°C", "%", "€", "light year", "Jahr", "年", "m/s"])
def test_what_names_a_unit(unit):
    line = fw.Linear(0, 9, unit=unit)
    assert checked_unit(unit) == unit
    promise = fw.Geometric(line, 0.5).guarantee()
    assert str(promise) == f"0.5-geo-indistinguishability per {unit}"
    assert promise.short == f"0.5-geo per {unit}"
    assert promise.describe() == {"kind": "geo", "epsilon": 0.5, "unit": unit}


def test_every_promise_about_distance_names_its_unit():
    assert fw.PlanarGeometric(CITY, 0.8).guarantee().short == "0.8-geo per km"
    nameless = fw.Geometric(fw.Linear(0, 9), 0.5).guarantee()
    assert (nameless.short, nameless.describe()["unit"]) == ("0.5-geo per unit", "unit")
    assert fw.KRR(AGES, 1.0).guarantee().describe() == {"kind": "ldp", "epsilon": 1.0}
    loss = fw.Shokri(AGES, 10.0).guarantee()
    assert "loss 10 years (user's 10 years" in str(loss)
    assert loss.describe()["unit"] == "year"
    own = fw.Shokri(fw.Linear(0, 2, unit="year"), 0.3, guess_loss=[[0, 5, 1], [1, 0, 2], [3, 1, 0]])
    assert own.guarantee().unit == ""
    assert "per km" in str(fw.audit(fw.PlanarGeometric(fw.Grid(3, 3, cell=0.5), 0.8)))
    assert "levels are epsilon of geo-indistinguishability, per year" in str(
        fw.menu(fw.Linear(0, 9, unit="year"), [0.5], "geo", of="mean")
    )


def test_a_claim_is_in_the_unit_of_the_alphabet_or_refused():
    noisy = fw.Geometric(fw.Linear(0, 9, unit="year"), 0.5)
    found = fw.audit(noisy, fw.Guarantee("geo", 0.5))
    assert (found.holds, found.claim.unit, found.row()[0]) == (True, "year", "0.5-geo per year")
    assert fw.audit(noisy, fw.Guarantee("geo", 0.5, "year")).holds
    with pytest.raises(fw.ParameterError, match=r"per mile for 0\.\.9 \[year\], where"):
        fw.audit(noisy, fw.Guarantee("geo", 0.5, "mile"))
    with pytest.raises(fw.ParameterError, match="units without a name"):
        fw.audit(fw.Geometric(fw.Linear(0, 9), 0.5), fw.Guarantee("geo", 0.5, "year"))


def test_commands_name_units(tmp_path):
    path = tmp_path / "s.json"
    survey = fw.Survey(AGES, {"g": fw.Geometric(AGES, 0.1), "s": fw.Shokri(AGES, 10.0)})
    survey.save(path)
    shown = run("audit", path).stdout
    assert "0.1-geo per year" in shown
    assert "adversary loses 10 years" in shown
    assert run_json("audit", path)["audits"]["g"]["claim"]["unit"] == "year"
    run("audit", path, "--claim", "0.1-geo per year", code=1)  # which the other law does not keep
    assert "promise per km" in refused("audit", path, "--claim", "0.1-geo per km")
    assert "--claim" in refused("audit", path, "--claim", "1-ldp per year")
    (tmp_path / "ages.csv").write_text("age\n1\n2\n")
    out = ("-s", path, "-c", "age", "-o", tmp_path / "r.csv", "--share", "g=1")
    assert "0.1-geo per year" in run("obfuscate", tmp_path / "ages.csv", *out).stdout
    assert (
        "0.1-geo per year"
        in run("collect", tmp_path / "r.csv", "-s", path, "-o", tmp_path / "e.parquet").stdout
    )
    told = run("calibrate", "geometric", "-a", "0..90:10[year]", "-l", "5").stdout
    assert "loss (years)" in told
    assert "per year" in told
    assert "name what the values count" in refused(
        "calibrate", "geometric", "-a", "0..9[10 years]", "-l", "2"
    )
    told = run("calibrate", "planar-geometric", "-a", "6x4x0.5", "-l", "1").stdout
    assert "loss (km)" in told
    assert "per km" in told


@pytest.mark.parametrize(
    "cell",
    [
        *(0.31, 500.0, 0.0045, 0.25, 1.0, 0.6, 0.499396 * 1.02, (0.499396, 0.31)),
        *((0.31, 0.498073), (500.0, 0.498073), (0.499396, 498.0)),
    ],
)
def test_a_cell_in_miles_metres_degrees_or_half_right_is_refused(cell):
    with pytest.raises(fw.AlphabetError, match="contradicts the box"):
        fw.Grid.box(**BOX, columns=24, rows=16, cell=cell)


def test_swapped_sides_are_refused():
    width, height = fw.Grid.box(**BROAD, columns=10, rows=10).cell
    assert fw.Grid.box(**BROAD, columns=10, rows=10, cell=(width, height)).cell == (width, height)
    with pytest.raises(fw.AlphabetError, match=r"width x height"):
        fw.Grid.box(**BROAD, columns=10, rows=10, cell=(height, width))


def test_a_survey_cannot_slip_a_wrong_cell_by(tmp_path):
    spec = fw.Survey(CITY, {"p": fw.PlanarGeometric(CITY, 1.0)}).spec()
    spec["alphabet"] |= {"cell": [500.0, 500.0], "bounds": [*BOX.values()]}
    (tmp_path / "s.json").write_text(json.dumps(spec))
    assert "contradicts the box" in refused("audit", tmp_path / "s.json")
    assert "contradicts the box" in refused("explain", tmp_path / "s.json")


def test_units_behind_numbers():
    plural = [behind(unit) for unit in ("year", "day", "century", "box", "inch", "gross", "m/s")]
    assert plural == [" years", " days", " centuries", " boxes", " inches", " gross", " m/s"]
    assert per("") == "per unit"
