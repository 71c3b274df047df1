"""What commands read stays as it was: no input is overwritten, nobody counts twice or is lost."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import freewill as fw
from cli_cases import CITY, MENU, refused, run, run_json
from freewill.cli.standard import refuse_overwriting
from freewill.collector.sqlite import Sqlite
from freewill.collector.store import Store, Upload
from freewill.collector.surveys import to_bytes
from freewill.domain.survey import Survey
from freewill.errors import ParameterError
from freewill.io import evidence_file
from freewill.io.reading import read

ALIASES = ["itself", "spelt otherwise", "symbolic link", "hard link", "link to its folder"]


def alias(path: Path, kind: str) -> Path:
    """Return another name of a file."""
    if kind == "itself":
        return path
    if kind == "spelt otherwise":
        return path.parent / ".." / path.parent.name / path.name
    if kind == "link to its folder":
        (path.parent.parent / "elsewhere").symlink_to(path.parent)
        return path.parent.parent / "elsewhere" / path.name
    other = path.with_name(f"other.{path.name}")
    (other.symlink_to if kind == "symbolic link" else other.hardlink_to)(path)
    return other


@pytest.fixture
def own(folder, tmp_path):
    """A folder of one's own with values, survey, reports and evidence."""
    own = tmp_path / "own"
    own.mkdir()
    for name in ("ages.csv", "survey.json", "monday.reports.parquet", "monday.parquet"):
        shutil.copy(folder / name, own / name)
    return own


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", ALIASES)
@pytest.mark.parametrize("command", ["obfuscate", "collect", "merge"])
def test_no_input_is_overwritten_by_any_name(own, command, kind):
    survey = ("--survey", own / "survey.json")
    given, options = {
        "obfuscate": ("ages.csv", [*survey, "-c", "age"]),
        "collect": ("monday.reports.parquet", survey),
        "merge": ("monday.parquet", []),
    }[command]
    out = alias(own / given, kind)
    before = contents(own)
    message = refused(command, own / given, *options, "-o", out)
    assert "which is read" in message
    assert "Choose another name" in message
    assert contents(own) == before
    # The other way round: the input by its other name.
    message = refused(command, out, *options, "-o", own / given)
    assert "which is read" in message
    assert contents(own) == before


def test_relative_names_are_known(own, monkeypatch):
    monkeypatch.chdir(own)
    before = contents(own)
    assert "which is read" in refused(
        "obfuscate", "ages.csv", "-s", "survey.json", "-c", "age", "-o", own / "ages.csv"
    )
    assert "which is read" in refused("merge", own / "monday.parquet", "-o", "monday.parquet")
    assert "which is read" in refused(
        "collect", "*.reports.parquet", "-s", "survey.json", "-o", "monday.reports.parquet"
    )
    address = (own / "monday.reports.parquet").as_uri()
    assert "which is read" in refused(
        "collect", address, "-s", "survey.json", "-o", "monday.reports.parquet"
    )
    assert contents(own) == before


def test_the_output_does_not_lie_in_a_folder_that_is_read(own):
    reports = own / "reports"
    (reports / "day=1").mkdir(parents=True)
    shutil.copy(own / "monday.reports.parquet", reports / "day=1" / "r.parquet")
    (own / "alias").symlink_to(reports)
    for given, out in (
        (reports, reports / "e.parquet"),
        (reports, reports / "day=1" / "e.parquet"),
        (reports, own / "alias" / "e.parquet"),
        (own / "alias", reports / "e.parquet"),
    ):
        message = refused("collect", given, "-s", own / "survey.json", "-o", out)
        assert "the folder that is read" in message
    run("collect", reports, "-s", own / "survey.json", "-o", own / "e.parquet")
    # A folder whose name begins like the other's is another one.
    (own / "reports2").mkdir()
    run("collect", reports, "-s", own / "survey.json", "-o", own / "reports2" / "e.parquet")


def test_files_that_are_not_there_are_no_inputs(tmp_path):
    refuse_overwriting(tmp_path / "a", [tmp_path / "b", tmp_path / "c*"])
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refuse_overwriting(tmp_path / "loop", [tmp_path / "other"])
    (tmp_path / "there").write_text("")
    with pytest.raises(ParameterError, match="which is read"):
        refuse_overwriting(tmp_path / "there", [str(tmp_path / "*")])


@pytest.mark.parametrize("kind", ALIASES)
def test_evidence_named_twice_is_refused(own, kind):
    path = own / "monday.parquet"
    message = refused("merge", path, alias(path, kind), "-o", own / "week.parquet")
    assert "are one file" in message
    assert not (own / "week.parquet").exists()


def test_a_copy_of_evidence_is_refused_unless_it_is_none(folder, own):
    monday, copy = own / "monday.parquet", own / "copy.parquet"
    # Written anew its bytes are others, its content is not.
    fw.save_evidence(fw.load_evidence(monday), copy)
    for command in (("merge", "-o", own / "week.parquet"), ("estimate",)):
        message = refused(command[0], monday, copy, *command[1:])
        assert "hold the same evidence of 4,000 people" in message
        assert "--equal" in message
    both = run_json("merge", monday, copy, "--equal", "-o", own / "week.parquet")
    assert both["people"] == 8000
    run("merge", monday, folder / "tuesday.parquet", "-o", own / "days.parquet")


def test_reports_named_twice_count_once(own):
    path = own / "monday.reports.parquet"
    for kind in ("symbolic link", "spelt otherwise"):
        reading = read([path, alias(path, kind)], own / "survey.json")
        assert reading.rows == 4000


def test_rows_of_which_none_is_right_are_refused(own):
    (own / "r.csv").write_text("mechanism,report\n" + "nobody,1\n" * 1500)
    message = refused("collect", own / "r.csv", "-s", own / "survey.json", "-o", own / "e.parquet")
    assert "none of 1,500 rows is a report of this survey" in message
    assert "unknown mechanism" in message
    assert not (own / "e.parquet").exists()
    (own / "empty.csv").write_text("mechanism,report\n")
    survey = ("-s", own / "survey.json")
    message = refused("collect", own / "empty.csv", *survey, "-o", own / "e.parquet")
    assert "there is no row of reports" in message
    assert not (own / "e.parquet").exists()
    for command in (("estimate",), ("check",), ("compare", own / "monday.reports.parquet")):
        assert "there is no row of reports" in refused(*command, own / "empty.csv", *survey)


def test_evidence_of_nobody_is_refused_by_every_command(own, monkeypatch):
    nobody = fw.collect([(fw.KRR(fw.Linear(0, 99), 1.0), [])])
    with pytest.raises(fw.EvidenceError, match="no people: a file of evidence needs one"):
        fw.save_evidence(nobody, own / "none.parquet")
    # Earlier releases wrote it.
    with monkeypatch.context() as patch:
        patch.setattr(evidence_file, "refuse_nobody", lambda *_: None)
        fw.save_evidence(nobody, own / "none.parquet")
    other = own / "other.parquet"
    shutil.copy(own / "none.parquet", other)
    for command in (
        ("estimate", own / "none.parquet"),
        ("check", own / "none.parquet"),
        ("compare", own / "none.parquet", other),
        ("merge", own / "none.parquet", other, "-o", own / "sum.parquet"),
    ):
        assert "the evidence has no people" in refused(*command)
    assert not (own / "sum.parquet").exists()
    # A day on which nobody answered adds nobody to the others.
    week = ("merge", own / "none.parquet", own / "monday.parquet", "-o", own / "week.parquet")
    assert run_json(*week)["people"] == 4000


@pytest.mark.parametrize("drop", [[], ["--drop-outside"]])
def test_swapped_columns_are_asked_about(tmp_path, drop):
    Survey(CITY, {"noise": fw.PlanarGeometric(CITY, 2.0)}).save(tmp_path / "s.json")
    points = CITY.decode(np.arange(CITY.size))
    rows = "".join(f"{lat},{lon}\n" for lat, lon in [*points, (0, 0)])
    (tmp_path / "v.csv").write_text("lat,lon\n" + rows)
    common = ("obfuscate", tmp_path / "v.csv", "-s", tmp_path / "s.json", "-o", tmp_path / "r.csv")
    message = refused(*common, "-c", "lon", "-c", "lat", *drop)
    assert "0.0% of 25 points as given" in message
    assert "96.0% with lat and lon exchanged" in message
    assert "--column lat --column lon" in message
    assert "drop" not in message
    assert not (tmp_path / "r.csv").exists()
    if drop:
        run(*common, "-c", "lat", "-c", "lon", *drop)
    else:
        assert "--drop-outside" in refused(*common, "-c", "lat", "-c", "lon")


def test_points_at_the_edge_of_a_square_are_no_swap(tmp_path):
    square = fw.Grid(4, 4, cell=1)
    Survey(square, {"noise": fw.PlanarGeometric(square, 2.0)}).save(tmp_path / "s.json")
    (tmp_path / "v.csv").write_text("x,y\n1,1\n2,2\n5,3\n3,5\n3,3\n")
    common = ("obfuscate", tmp_path / "v.csv", "-s", tmp_path / "s.json", "-o", tmp_path / "r.csv")
    shown = run_json(*common, "-c", "x", "-c", "y", "--drop-outside")
    assert shown["dropped"] == 2


def test_nobody_inside_is_refused(own):
    (own / "v.csv").write_text("age\n1000\n2000\n")
    common = ("obfuscate", own / "v.csv", "-s", own / "survey.json", "-c", "age")
    message = refused(*common, "--drop-outside", "-o", own / "r.csv")
    assert "2 values, and none in 0..99, such as 1000" in message
    assert not os.path.exists(own / "r.csv")
    Survey(MENU, {"k": fw.KRR(MENU, 1.0)}).save(own / "menu.json")
    (own / "v.csv").write_text("answer\nmaybe\n")
    common = ("obfuscate", own / "v.csv", "-s", own / "menu.json", "-c", "answer")
    assert "such as 'maybe'" in refused(*common, "--drop-outside", "-o", own / "r.csv")


LETTERS = ["01", "1", "1.0", "NA", "nan", "true", "False", "2020-01-01", "null", "x", "-"]


@pytest.mark.parametrize("header", [True, False])
def test_labels_and_names_in_a_csv_are_taken_to_the_letter(tmp_path, header):
    """Whatever they look like: a reader that guesses makes 1 of 01, and nothing of NA."""
    labels = fw.Categorical(LETTERS)
    Survey(labels, {"01": fw.Identity(labels), "1": fw.KRR(labels, 50.0)}).save(tmp_path / "s.json")
    rows = [(label, name) for label in LETTERS for name in ("01", "1")]
    for some in (rows, rows[:4], rows[6:8]):  # all kinds, numbers alone, nothing but NA
        text = "".join(f"{label},{name}\n" for label, name in some)
        (tmp_path / "v.csv").write_text("label,name\n" * header + text)
        columns = ("-c", "label", "--choice", "name") if header else ("-c", "1", "--choice", "2")
        common = ("-s", tmp_path / "s.json", *columns, "-o", tmp_path / "r.csv")
        shown = run_json("obfuscate", tmp_path / "v.csv", *common)
        assert shown["people"] == {"01": len(some) // 2, "1": len(some) // 2}
        sent = [line.split(",") for line in (tmp_path / "r.csv").read_text().split()[1:]]
        assert sorted((value.strip('"'), name.strip('"')) for name, value in sent) == sorted(some)


def test_outputs_that_cannot_be_are_refused_before_the_work(own, monkeypatch):
    for name in ("d.parquet", "d.csv", "d.png", "d.json"):
        (own / name).mkdir()
    (own / "v.csv").write_text("age\n41\n")
    run("obfuscate", own / "v.csv", "-s", own / "survey.json", "-c", "age", "-o", own / "r.csv")
    run("collect", own / "r.csv", "-s", own / "survey.json", "-o", own / "e.parquet")
    for module in ("obfuscate", "inputs"):
        monkeypatch.setattr(f"freewill.cli.{module}.load_survey", None)  # no work was begun
    survey = ("-s", own / "survey.json")
    commands = (
        ("obfuscate", own / "v.csv", *survey, "-c", "age", "-o", own / "d.csv"),
        ("collect", own / "r.csv", *survey, "-o", own / "d.parquet"),
        ("merge", own / "e.parquet", "-o", own / "d.parquet"),
        ("estimate", own / "r.csv", *survey, "--plot", own / "d.png"),
        ("estimate", own / "r.csv", *survey, "--geojson", own / "d.json"),
    )
    for command in commands:
        assert "is a folder" in refused(*command)
    monkeypatch.setattr(os, "access", lambda _, how: how == os.R_OK)
    for command in commands:
        elsewhere = Path(command[-1]).with_name(f"new{Path(command[-1]).suffix}")
        assert "nothing may be written to the folder" in refused(*command[:-1], elsewhere)


def test_no_map_and_no_picture_replaces_an_input(own):
    (own / "v.csv").write_text("age\n41\n")
    run("obfuscate", own / "v.csv", "-s", own / "survey.json", "-c", "age", "-o", own / "r.csv")
    before = (own / "survey.json").read_bytes()
    os.link(own / "survey.json", own / "hard.json")
    (own / "soft.png").symlink_to(own / "r.csv")
    for name in ("survey.json", "hard.json"):
        message = refused(
            "estimate", own / "r.csv", "-s", own / "survey.json", "--geojson", own / name
        )
        assert "--geojson" in message
        assert "would be replaced" in message
    message = refused(
        "estimate", own / "r.csv", "-s", own / "survey.json", "--plot", own / "soft.png"
    )
    assert "would be replaced" in message
    assert "--plot -" in refused(
        "estimate", own / "r.csv", "-s", own / "survey.json", "--plot", "-"
    )
    assert (own / "survey.json").read_bytes() == before


def test_values_that_are_no_file_are_told_by_what_they_are(own):
    common = ("-s", own / "survey.json", "-c", "age", "-o", own / "r.csv")
    assert "is not there: expected a file of values" in refused(
        "obfuscate", own / "no.csv", *common
    )
    assert "is a folder: expected a file of values" in refused("obfuscate", own, *common)
    (own / "v.csv").write_text("Age\n41\n")
    assert "Did you mean 'Age'?" in refused("obfuscate", own / "v.csv", *common)
    (own / "v.csv").write_text("age\nTrue\n")
    assert "such as True:" in refused("obfuscate", own / "v.csv", *common)
    (own / "v.csv").write_text("age,who\n41,nobody\n")
    assert "mechanism 'nobody' is" in refused(
        "obfuscate", own / "v.csv", *common, "--choice", "who"
    )
    message = refused("obfuscate", own / "v.csv", "-s", own, "-c", "age", "-o", own / "r.csv")
    assert "cannot be read: is a directory" in message
    assert "is a file: expected a folder" in refused("reproduce", "7b", "--out", own / "v.csv")


@pytest.mark.later
def test_every_command_reads_a_collectors_store_as_collect_does(own):
    store, survey = own / "people.db", own / "survey.json"
    offered = Survey.load(survey)
    made = Store(Sqlite(store))
    numbers, rng = made.add(offered), np.random.default_rng(0)
    for day in ("2026-01-01", "2026-01-02"):
        rows = [
            (numbers[mechanism.id], report, rng.bytes(16))
            for mechanism in offered.mechanisms.values()
            for report in to_bytes(mechanism.obfuscate(rng.integers(100, size=200), rng))
        ]
        made.write([Upload(offered.id, rows)], day)
    made.close()
    run("collect", store, "-s", survey, "-o", own / "e.parquet")
    for command in ("estimate", "check"):
        live = run_json(command, store, "-s", survey)
        collected = run_json(command, own / "e.parquet")
        same = {name for name in collected if live[name] == collected[name]}
        assert same >= {*collected} - {"seconds"}
        assert "which survey" in refused(command, store)
    found = run_json("compare", store, own / "monday.reports.parquet", "-s", survey)
    assert found == run_json("compare", own / "e.parquet", own / "monday.parquet") | {
        key: found[key] for key in ("losses", "sources")
    }
    assert "both sides" in refused("compare", store, store, "-s", survey)
    assert "read by itself" in refused(
        "estimate", store, own / "monday.reports.parquet", "-s", survey
    )
