"""The commands, from values to an estimate, held against the library's own answers."""

import csv
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import freewill as fw
from cli_cases import AGES, CITY, MENU, OFFERED, refused, run, run_json
from freewill.cli.questions import parse_shares
from freewill.domain.survey import Survey
from freewill.io.evidence_file import load_evidence, save_evidence
from freewill.io.reading import read
from freewill.stats.estimators.methods import Method


@pytest.fixture(scope="module")
def values(folder):
    table = np.genfromtxt(folder / "ages.csv", delimiter=",", dtype=None, names=True, encoding=None)
    return table["age"], table["choice"]


# Help, version, reference


def test_obfuscate_follows_the_choices_and_the_seed(folder, values):
    ages, chosen = values
    rng = np.random.default_rng(1)
    order = rng.permutation(len(ages))
    ages, chosen = ages[order], chosen[order]
    expected = fw.collect(
        [
            (mechanism, mechanism.obfuscate(AGES.encode(ages[chosen == name]), rng))
            for name, mechanism in OFFERED.items()
        ]
    )
    survey = Survey.load(folder / "survey.json")
    assert read(folder / "monday.reports.parquet", survey).evidence == expected
    assert load_evidence(folder / "monday.parquet") == expected


def test_merged_evidence_estimates_as_all_rows_do(folder):
    both = folder / "both.parquet"
    shown = run_json("merge", folder / "monday.parquet", folder / "tuesday.parquet", "-o", both)
    assert shown["people"] == 8000
    merged = run_json("estimate", both)
    direct = run_json("estimate", folder / "*.reports.parquet", "--survey", folder / "survey.json")
    library = fw.gibu(
        load_evidence(folder / "monday.parquet") + load_evidence(folder / "tuesday.parquet")
    )
    # Wide bits may stand in another order, in which sums round otherwise.
    np.testing.assert_allclose(merged["theta"], library.theta, rtol=0, atol=1e-9)
    np.testing.assert_allclose(direct["theta"], library.theta, rtol=0, atol=1e-9)
    assert merged["status"] == "certified"
    assert merged["people"] == direct["rows"] == 8000
    assert merged["values"] == list(range(100))
    assert fw.alphabet_from_spec(merged["alphabet"]) == AGES


@pytest.mark.parametrize("ending", ["csv", "ndjson", "parquet"])
def test_reports_travel_in_every_format(ending, folder, tmp_path):
    out = tmp_path / f"reports.{ending}"
    arguments = ("-s", folder / "survey.json", "-c", "age", "--choice", "choice", "--seed", 1)
    people = run_json("obfuscate", folder / "ages.csv", *arguments, "-o", out)["people"]
    assert sum(people.values()) == 4000
    evidence = tmp_path / "evidence.parquet"
    run("collect", out, "-s", folder / "survey.json", "--strict", "-o", evidence)
    assert load_evidence(evidence) == load_evidence(folder / "monday.parquet")


def test_shares_decide_where_no_column_does(folder, tmp_path):
    arguments = ("-s", folder / "survey.json", "-c", "age", "-o", tmp_path / "r.parquet")
    ages = folder / "ages.csv"
    people = run_json(
        "obfuscate", ages, *arguments, "--seed", 3, "--share", "careful=3", "--share", "open=1"
    )
    assert people["people"]["relaxed"] == people["people"]["bits"] == 0
    assert 2800 < people["people"]["careful"] < 3200
    equal = run_json("obfuscate", ages, *arguments, "--seed", 3)["people"]
    assert all(850 < count < 1150 for count in equal.values())
    survey = Survey.load(folder / "survey.json")
    by_id = parse_shares([f"{OFFERED['open'].id}=2"], survey)
    assert [*by_id[""].values()] == [0, 0, 0, 1]
    for text in ("careful", "careful=x", "careful=-1", "=1", "nobody=1"):
        assert text.split("=")[0] in refused("obfuscate", ages, *arguments, "--share", text)
    assert "weights are all 0" in refused("obfuscate", ages, *arguments, "--share", "careful=0")


def test_places_come_as_two_columns(tmp_path):
    Survey(CITY, {"near": fw.PlanarGeometric(CITY, 1.0)}).save(tmp_path / "s.json")
    points = pa.table({"lat": [37.73, 37.75, 37.70], "lon": [-122.5, -122.4, -122.4]})
    pq.write_table(points, tmp_path / "points.parquet")
    arguments = ("obfuscate", tmp_path / "points.parquet", "-s", tmp_path / "s.json")
    out = ("-o", tmp_path / "r.parquet")
    columns = ("-c", "lat", "-c", "lon")
    assert "--drop-outside" in refused(*arguments, *columns, *out)
    assert "lat and lon" in refused(*arguments, "-c", "lat", *out)
    shown = run_json(*arguments, *columns, *out, "--drop-outside")
    assert (shown["people"], shown["dropped"]) == ({"near": 2}, 1)
    assert (
        "left out: 1 person outside 6 x 4 cells"
        in run(*arguments, *columns, *out, "--drop-outside").stderr
    )


def test_values_outside_a_line_are_left_out_on_request(folder, tmp_path):
    ages = tmp_path / "ages.csv"
    ages.write_text("age\n7\n130\n8\n")
    arguments = ("obfuscate", ages, "-s", folder / "survey.json", "-c", "age")
    out = ("-o", tmp_path / "r.parquet")
    assert "130 is not in the alphabet" in refused(*arguments, *out)
    shown = run_json(*arguments, *out, "--share", "open=1", "--drop-outside")
    assert (shown["people"]["open"], shown["dropped"]) == (2, 1)
    read_back = read(tmp_path / "r.parquet", Survey.load(folder / "survey.json")).evidence
    assert read_back.groups[0].outputs.tolist() == [7, 8]


def test_labels_come_from_ndjson(tmp_path):
    Survey(MENU, {"honest": fw.Identity(MENU)}).save(tmp_path / "s.json")
    answers = tmp_path / "answers.ndjson"
    answers.write_text('{"said": "no"}\n{"said": "yes"}\n{"said": "no"}\n')
    reports, picture = tmp_path / "r.csv", tmp_path / "answers.png"
    run("obfuscate", answers, "-s", tmp_path / "s.json", "-c", "said", "-o", reports)
    result = run("estimate", reports, "-s", tmp_path / "s.json", "--csv", "--plot", picture)
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows[0] == ["value", "share"]
    assert [value for value, _ in rows[1:]] == list(MENU.labels)
    np.testing.assert_allclose(
        [float(share) for _, share in rows[1:]], [1 / 3, 2 / 3, 0], atol=1e-3
    )
    assert picture.stat().st_size > 5000


def test_invalid_rows_are_shown_by_reason(folder, tmp_path):
    reports, out = tmp_path / "r.csv", tmp_path / "e.parquet"
    reports.write_text("mechanism,report\nopen,3\nopen,300\nnobody,1\nopen,\n")
    arguments = ("collect", reports, "-s", folder / "survey.json", "-o", out)
    result = run(*arguments)
    assert "3 of 4 rows are invalid" in result.stderr
    assert "nobody" in result.stderr
    shown = run_json(*arguments)
    assert shown["people"] == 1
    assert sum(kind["count"] for kind in shown["invalid"]) == 3
    assert all(kind["reason"] and kind["examples"] for kind in shown["invalid"])
    assert "invalid" in refused(*arguments, "--strict")
    # Losses go to standard error, so that the JSON of an estimate stays JSON.
    assert (
        run_json("estimate", reports, "-s", folder / "survey.json")["invalid"] == shown["invalid"]
    )


# Methods


def test_methods_are_the_librarys(folder):
    survey, monday = folder / "survey.json", folder / "monday.parquet"
    evidence = load_evidence(monday)

    def only(*kinds):
        groups = [group for group in evidence.groups if group.mechanism.name in kinds]
        return fw.Evidence(AGES, tuple(groups))

    symbols, bits = only("geometric", "k-rr", "identity"), only("rappor")
    three = ("--only", "geometric", "--only", "k-rr", "--only", "identity")
    cases = [
        (("--method", "em", "--delta", 1e-5), fw.em(evidence, 1e-5)),
        (("--tol", 1e-3), fw.gibu(evidence, 1e-3)),
        (("-m", "ibu", "--only", "k-rr"), fw.ibu(only("k-rr"))),
        (("-m", "[IBU]M", *three), fw.combine_mechanisms(symbols, fw.ibu)),
        (("-m", "ibu-r", *three), fw.combine_results(symbols, fw.ibu)),
        (("-m", "inversion", "--only", "k-rr"), fw.inversion(only("k-rr"))),
        (("-m", "[INV]M", *three), fw.combine_mechanisms(symbols, fw.inversion)),
        (
            ("-m", "[INV]R", *three, "--post", "normalise"),
            fw.combine_results(symbols, fw.inversion, post="normalise"),
        ),
        (("-m", "RAP", "--only", "rappor", "--post", "none"), fw.debias(bits, post="none")),
        (("-m", "debias-m", "--only", OFFERED["bits"].id), fw.combine_mechanisms(bits, fw.debias)),
    ]
    for options, expected in cases:
        shown = run_json("estimate", monday, *options)
        assert shown["theta"] == expected.theta.tolist(), options
        assert shown["method"] == expected.method
        assert shown["status"] == str(expected.status)
    by_name = run_json(
        "estimate", folder / "monday.reports.parquet", "-s", survey, "--only", "open"
    )
    assert by_name["people"] == only("identity").people


@pytest.mark.parametrize("text", ["", "gibu-m", "[em]R", "average", "inversion-x"])
def test_methods_that_do_not_exist(text):
    with pytest.raises(fw.ParameterError, match="expected gibu, em"):
        Method.parse(text)


def test_options_that_do_not_fit_the_method(folder):
    monday = folder / "monday.parquet"
    assert "inversion and debias" in refused("estimate", monday, "--post", "none")
    takers = "gibu, ibu, smooth, shrink, choice-aware and robust"
    assert takers in refused("estimate", monday, "-m", "em", "--tol", "1e-3")
    assert "inversion-m" in refused("estimate", monday, "-m", "inversion")
    assert "which has" in refused("estimate", monday, "--only", "shokri")
    assert "take one" in refused("estimate", monday, "--json", "--csv")
    assert "must be a number > 0" in refused("estimate", monday, "--tol", "-1")


def test_what_did_not_arrive_exits_with_1(folder, tmp_path):
    exact = ("--tol", "1e-12")
    result = run("estimate", folder / "monday.parquet", "--max-steps", 1, *exact, code=1)
    assert "max_steps" in result.stderr
    shown = run_json("estimate", folder / "monday.parquet", "--max-steps", 1, *exact, code=1)
    assert shown["status"] == "max_steps"
    blind = fw.Matrix(AGES, np.full((100, 2), 0.5))
    save_evidence(fw.collect([(blind, [0, 1, 1])]), tmp_path / "blind.parquet")
    message = refused("estimate", tmp_path / "blind.parquet", "-m", "inversion", code=1)
    assert "cannot be inverted" in message
    assert "99 directions" in run("estimate", tmp_path / "blind.parquet").stderr


def test_the_table_shows_the_likeliest_values(folder):
    shown = run("estimate", folder / "monday.parquet", "--rows", 5).stdout
    assert "certified" in shown
    assert "95 more with --rows 0" in shown
    assert run("estimate", folder / "monday.parquet", "--rows", 0).stdout.count("%") == 100


# Calibrate and audit
