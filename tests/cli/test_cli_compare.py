"""`freewill compare`: the library's comparison in tables, CSV, JSON and pictures."""

import csv
import io
import os
import shutil

import numpy as np
import pytest

import freewill as fw
from cli_cases import AGES, CITY, MENU, refused, run, run_json
from freewill.cli.compare import largest
from freewill.io.evidence_file import load_evidence, save_evidence
from freewill.present import comparison

COLUMNS = ("one", "other", "difference", "low", "high", "standard_error")


def saved(path, mechanism, values, seed):
    reports = mechanism.obfuscate(np.asarray(values), np.random.default_rng(seed))
    save_evidence(fw.collect([(mechanism, reports)]), path)


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """A folder of evidence: two days on a line, in a city and of a menu, and one person."""
    folder = tmp_path_factory.mktemp("days")
    rng = np.random.default_rng(5)
    for name, shift in (("monday", 0), ("tuesday", 6)):
        ages = np.clip(rng.normal(40 + shift, 12, 3000), 0, 99).astype(int)
        saved(folder / f"{name}.parquet", fw.KRR(AGES, 4.0), ages, 1 + shift)
        cells = rng.choice(24, 2000, p=np.roll(np.arange(1, 25) / 300, shift))
        saved(folder / f"{name}-city.parquet", fw.KRR(CITY, 3.0), cells, 1 + shift)
        dishes = rng.choice(3, 500, p=[0.5, 0.3, 0.2] if shift else [0.3, 0.5, 0.2])
        saved(folder / f"{name}-menu.parquet", fw.KRR(MENU, 2.0), dishes, 1 + shift)
    saved(folder / "alone.parquet", fw.KRR(AGES, 4.0), [7], 1)
    fw.Survey(AGES, {"open": fw.Identity(AGES)}).save(folder / "survey.json")
    return folder


def pair(days, kind=""):
    return [days / f"{day}{kind}.parquet" for day in ("monday", "tuesday")]


def bodies(days, kind=""):
    return [load_evidence(path) for path in pair(days, kind)]


def same(rows, expected):
    for name in COLUMNS:
        told = [row[name] for row in rows]
        np.testing.assert_allclose(np.asarray(told, dtype=float), getattr(expected, name))


# What is printed is what the library says


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "of", "level", "joint"),
    [
        ((), None, 0.95, False),
        (("--of", "shares", "--level", 0.5), None, 0.5, False),
        (("--bins", 30, "--joint"), fw.functionals.bins(30), 0.95, True),
        (("--of", "cdf", "--joint"), "cdf", 0.95, True),
        (("--of", "quartiles"), "quartiles", 0.95, False),
        (("--of", "mean"), "mean", 0.95, False),
        (("--of", "median"), "median", 0.95, False),
    ],
)
def test_json_has_the_librarys_comparison(days, options, of, level, joint):
    shown = run_json("compare", *pair(days), *options)
    expected = fw.compare(*bodies(days), of=of, level=level, joint=joint)
    same(shown["differences"], expected)
    assert (shown["differ"], shown["p_value"]) == (expected.differ, expected.p_value)
    assert (shown["level"], shown["joint"], shown["people"]) == (level, joint, [3000, 3000])
    assert shown["distance"] == {
        "name": "earth mover's distance",
        "unit": "value",
        "point": expected.emd,
        "low": expected.emd_low,
        "high": expected.emd_high,
    }
    assert shown["sources"] == [str(path) for path in pair(days)]


def test_bands_and_districts_say_where_they_are(days):
    shown = run_json("compare", *pair(days), "--bins", 30)["differences"]
    assert [(row["from"], row["to"]) for row in shown] == [(0, 29), (30, 59), (60, 89), (90, 99)]
    shown = run_json("compare", *pair(days, "-city"), "--bins", 4)
    same(shown["differences"], fw.compare(*bodies(days, "-city"), of=fw.functionals.districts(4)))
    assert list(shown["differences"][0])[:4] == ["lat_from", "lat_to", "lon_from", "lon_to"]
    assert shown["distance"]["unit"] == "km"


def test_csv_has_a_row_a_difference(days):
    text = run("compare", *pair(days, "-menu"), "--csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["value"] for row in rows] == list(MENU.labels)
    same(rows, fw.compare(*bodies(days, "-menu")))
    rows = list(csv.DictReader(io.StringIO(run("compare", *pair(days, "-city"), "--csv").stdout)))
    assert list(rows[0]) == ["lat", "lon", *COLUMNS]
    rows = list(csv.reader(io.StringIO(run("compare", *pair(days), "--of=mean", "--csv").stdout)))
    assert (rows[0][0], rows[1][0], len(rows)) == ("of", "mean", 2)


def test_the_verdict_comes_first_and_the_exit_code_is_0_both_ways(days, tmp_path):
    lines = run("compare", *pair(days)).stdout.splitlines()
    assert lines[0].startswith("they differ (p ")
    assert lines[1].startswith("earth mover's distance ")
    assert lines[1].endswith(", in the unit of the values")
    again = tmp_path / "again.parquet"
    saved(again, fw.KRR(AGES, 4.0), np.arange(3000) % 100, 1)
    saved(tmp_path / "more.parquet", fw.KRR(AGES, 4.0), np.arange(4000) % 100, 2)
    alike = run("compare", again, tmp_path / "more.parquet").stdout
    assert alike.startswith("no difference is shown (p = ")
    assert not run_json("compare", again, tmp_path / "more.parquet")["differ"]
    # A level decides what counts as a difference.
    p = run_json("compare", again, tmp_path / "more.parquet")["p_value"]
    assert run_json("compare", again, tmp_path / "more.parquet", f"--level={1 - 1.01 * p}")[
        "differ"
    ]


def test_units_of_a_city_and_of_labels(days):
    city = run("compare", *pair(days, "-city")).stdout.splitlines()[1]
    assert city.startswith("earth mover's distance ")
    assert city.endswith(" km)")
    menu = run("compare", *pair(days, "-menu")).stdout.splitlines()[1]
    assert menu.startswith("total variation ")
    assert menu.endswith(" %)")


@pytest.mark.later
def test_the_largest_differences_are_printed_in_order(days):
    found = fw.compare(*bodies(days))
    sure = (found.low > 0) | (found.high < 0)
    few, many = largest(found, 3), largest(found, 60)
    assert sure[few].all()
    assert few.tolist() == sorted(few)
    others = np.setdiff1d(np.flatnonzero(sure), few)
    assert np.abs(found.difference[few]).min() >= np.abs(found.difference[others]).max()
    # Where the sure ones are all there, the rest are the largest of the others.
    assert set(np.flatnonzero(sure)) <= set(many)
    rest, left = np.setdiff1d(many, np.flatnonzero(sure)), np.setdiff1d(np.arange(100), many)
    assert np.abs(found.difference[rest]).min() >= np.abs(found.difference[left]).max()
    assert largest(found, 0).tolist() == list(range(100))
    shown = run("compare", *pair(days), "--rows", 3).stdout
    values = [line.split()[0] for line in shown.splitlines() if "│" in line]
    assert values == [str(place) for place in few]
    assert "97 more with --rows 0" in shown
    assert "more with" not in run("compare", *pair(days), "--rows", 0).stdout


def test_bars_lie_on_the_side_of_the_difference(days):
    shown = run("compare", *pair(days), "--bins", 25).stdout
    found = fw.compare(*bodies(days), of=fw.functionals.bins(25))
    lines = [line for line in shown.splitlines() if "│" in line]
    for line, low, high in zip(lines, found.low, found.high, strict=True):
        left, right = line.split("│")
        assert ("░" not in left) or low < 0
        assert ("░" not in right) or high > 0
    assert any(("░" in line.split("│")[0]) != ("░" in line.split("│")[1]) for line in lines)


def test_reports_are_compared_by_their_survey(days, tmp_path):
    rng = np.random.default_rng(0)
    for name, high in (("a", 50), ("b", 80)):
        values = rng.integers(0, high, 300)
        rows = "".join(f"open,{value}\n" for value in values)
        (tmp_path / f"{name}.csv").write_text(f"mechanism,report\n{rows}nothing,3\n")
    both = [tmp_path / "a.csv", tmp_path / "b.csv", "-s", days / "survey.json"]
    shown = run_json("compare", *both)
    assert shown["people"] == [300, 300]
    assert [lost["invalid"][0]["count"] for lost in shown["losses"]] == [1, 1]
    assert "invalid" in refused("compare", *both, "--strict")
    assert "say by --survey" in refused("compare", *both[:2])
    assert run_json("compare", tmp_path / "a.csv", f"{tmp_path}/b*.csv", *both[2:])["differ"]


def test_bodies_in_a_picture_have_names_of_their_own(days, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(
        comparison, "comparison", lambda found, **given: told.append(given["names"])
    )
    for folder, day in (("a", "monday"), ("b", "tuesday")):
        (tmp_path / folder).mkdir()
        shutil.copy(days / f"{day}.parquet", tmp_path / folder / "day.parquet")
    same_name = [tmp_path / folder / "day.parquet" for folder in ("a", "b")]
    run("compare", *same_name, "--plot", tmp_path / "x.png")
    run("compare", *pair(days), "--plot", tmp_path / "x.png")
    assert told == [[str(path) for path in same_name], ["monday", "tuesday"]]


def test_one_side_may_come_in_on_standard_input(days):
    from typer.testing import CliRunner  # noqa: PLC0415

    from freewill.cli import app  # noqa: PLC0415

    monday, tuesday = pair(days)
    done = CliRunner().invoke(app, ["compare", "-", str(tuesday)], input=monday.read_bytes())
    assert done.exit_code == 0
    assert "standard input" in done.stdout
    assert "given twice" in refused("compare", "-", "-")


# People of the two must be different ones


def test_a_file_is_not_compared_with_itself(days, tmp_path):
    monday, _ = pair(days)
    link, hard = tmp_path / "link.parquet", tmp_path / "hard.parquet"
    link.symlink_to(monday)
    shutil.copy(monday, tmp_path / "copy.parquet")
    os.link(tmp_path / "copy.parquet", hard)
    other = monday.parent / "." / ".." / monday.parent.name / monday.name
    for first, second in ((monday, monday), (monday, link), (monday, other)):
        assert "different people" in refused("compare", first, second)
        assert "different people" in refused("compare", first, second, "--equal")
    assert "are one" in refused("compare", hard, tmp_path / "copy.parquet")
    assert "is on both sides" in refused("compare", monday, monday)


def test_equal_evidence_must_be_said_to_be_of_others(days, tmp_path):
    monday, _ = pair(days)
    copy = tmp_path / "copy.parquet"
    shutil.copy(monday, copy)
    message = refused("compare", monday, copy)
    assert "hold the same evidence of 3,000 people" in message
    assert "--equal" in message
    shown = run_json("compare", monday, copy, "--equal")
    assert (shown["differ"], shown["p_value"]) == (False, 1.0)
    assert all(row["difference"] == 0 for row in shown["differences"])


def test_files_on_both_sides_and_copies_of_reports_are_found(days, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    rows = "mechanism,report\n" + "".join(f"open,{value}\n" for value in range(80))
    (tmp_path / "a" / "one.csv").write_text(rows)
    (tmp_path / "a" / "two.csv").write_text(rows.replace("open,1\n", "open,2\n"))
    (tmp_path / "b" / "three.csv").write_text(rows.replace("open,5\n", "open,6\n"))
    (tmp_path / "b" / "four.csv").write_text(rows)
    survey = ("-s", days / "survey.json")
    assert "is on both sides" in refused(
        "compare", tmp_path / "a", tmp_path / "a" / "one.csv", *survey
    )
    assert "is on both sides" in refused(
        "compare", f"{tmp_path}/a/*.csv", f"{tmp_path}/a/t*.csv", *survey
    )
    message = refused("compare", tmp_path / "a", tmp_path / "b", *survey)
    assert "hold the same reports" in message
    assert "four.csv" in message
    assert not run_json("compare", tmp_path / "a", tmp_path / "b", *survey, "--equal")["differ"]
    # Files of names alone are no people.
    for folder in ("a", "b"):
        (tmp_path / folder / "none.csv").write_text("mechanism,report\n")
    (tmp_path / "b" / "four.csv").unlink()
    run("compare", tmp_path / "a", tmp_path / "b", *survey)


def test_reports_in_two_formats_may_be_compared(days, tmp_path):
    fw.write_reports(tmp_path / "a.parquet", [("open", [1, 2, 3, 3])])
    fw.write_reports(tmp_path / "b.csv", [("open", [1, 2, 3, 5])])
    run("compare", tmp_path / "a.parquet", tmp_path / "b.csv", "-s", days / "survey.json")


# Refusals


@pytest.mark.slow
def test_what_cannot_be_compared(days, tmp_path):
    monday, tuesday = pair(days)
    message = refused("compare", monday, days / "monday-menu.parquet")
    assert "alphabets must be the same" in message
    for first, second in ((monday, days / "alone.parquet"), (days / "alone.parquet", monday)):
        message = refused("compare", first, second)
        assert "of 1 person" in message
        assert "alone.parquet" in message
    assert "none.parquet" in refused("compare", monday, days / "none.parquet")
    assert "none.parquet" in refused("compare", days / "none.parquet", days / "none.parquet")
    assert "--bins 5 merges values" in refused("compare", monday, tuesday, "--bins=5", "--of=mean")
    assert "have none" in refused("compare", *pair(days, "-menu"), "--bins", 2)
    assert "no mean" in refused("compare", *pair(days, "-menu"), "--of", "mean")
    for of in ("median", "quartiles", "cdf"):
        for kind in ("-menu", "-city"):
            assert "numbers in a row" in refused("compare", *pair(days, kind), "--of", of)
    assert "together" in refused("compare", monday, tuesday, "--json", "--csv")
    for level in ("0", "1", "95", "nan", "-1", "inf"):
        assert "--level" in run("compare", monday, tuesday, f"--level={level}", code=2).stderr
    for wrong in (("--of", "all"), ("--bins", "0"), ("--rows", "-1"), ("--level", "x")):
        run("compare", monday, tuesday, *wrong, code=2)
    run("compare", monday, code=2)
    for plot in (monday, tmp_path / "x.txt", "-", tmp_path / "no" / "x.png"):
        refused("compare", monday, tuesday, "--plot", plot)


@pytest.mark.slow
def test_vast_alphabets_are_refused_before_the_work(tmp_path):
    grid = fw.Grid(240, 160, cell=0.1)
    for name, seed in (("a", 1), ("b", 2)):
        saved(tmp_path / f"{name}.parquet", fw.Identity(grid), np.arange(50) * seed, seed)
    message = refused("compare", tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert "38,400 differences" in message
    assert "--bins 2 or larger" in message
    shown = run_json("compare", tmp_path / "a.parquet", tmp_path / "b.parquet", "--of", "mean")
    assert shown["distance"]["point"] is None
    text = run("compare", tmp_path / "a.parquet", tmp_path / "b.parquet", "--bins", 80).stdout
    assert text.splitlines()[1] == "no earth mover's distance: it is for 1,024 values at most"


# Pictures


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("", ()),
        ("", ("--bins", 10)),
        ("", ("--of", "cdf")),
        ("", ("--of", "mean")),
        ("", ("--of", "quartiles")),
        ("-city", ()),
        ("-city", ("--bins", 2)),
        ("-city", ("--of", "mean")),
        ("-menu", ()),
    ],
)
def test_everything_has_a_picture(days, tmp_path, kind, options):
    target = tmp_path / "picture.png"
    done = run("compare", *pair(days, kind), *options, "--plot", target)
    assert target.stat().st_size > 10_000
    assert "picture written" in done.stderr
