"""The commands, from values to an estimate, held against the library's own answers."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import freewill as fw
from freewill.cli import app
from freewill.cli.application import COMMANDS, command, main
from freewill.cli.obfuscate import parse_shares
from freewill.cli.options import parse_alphabet
from freewill.cli.reference import reference
from freewill.estimators.methods import Method
from freewill.reports import load_evidence, read, save_evidence
from freewill.survey import Survey

AGES = fw.Linear(0, 99)
CITY = fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=6, rows=4)
MENU = fw.Categorical(["yes", "no", "won't say"])
OFFERED = {
    "careful": fw.Geometric(AGES, epsilon=0.1),
    "relaxed": fw.KRR(AGES, epsilon=4.0),
    "bits": fw.RAPPOR(AGES, epsilon=4.0),
    "open": fw.Identity(AGES),
}


def run(*arguments, code=0):
    """Run a command; whatever happens, no traceback reaches the user."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def run_json(*arguments, code=0):
    return json.loads(run(*arguments, "--json", code=code).stdout)


def refused(*arguments, code=2):
    """Run a command that must fail and return its one message."""
    result = run(*arguments, code=code)
    message = " ".join(result.stderr.split())
    assert message.startswith("error: ")
    assert result.stderr.count("error: ") == 1
    return message


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A survey of ages, 4,000 people and what they chose, two days of reports and evidence."""
    folder = tmp_path_factory.mktemp("cli")
    Survey(AGES, OFFERED).save(folder / "survey.json")
    rng = np.random.default_rng(5)
    ages = np.clip(rng.normal(40, 12, 4000).round(), 0, 99).astype(int)
    chosen = rng.choice(list(OFFERED), 4000)
    rows = "".join(f"{age},{choice}\n" for age, choice in zip(ages, chosen, strict=True))
    (folder / "ages.csv").write_text("age,choice\n" + rows)
    for day, seed in (("monday", 1), ("tuesday", 2)):
        reports = folder / f"{day}.reports.parquet"
        common = ("--survey", folder / "survey.json")
        run("obfuscate", folder / "ages.csv", *common, "-c", "age", "--choice", "choice",
            "--seed", seed, "-o", reports)  # fmt: skip
        run("collect", reports, *common, "-o", folder / f"{day}.parquet")
    return folder


@pytest.fixture(scope="module")
def values(folder):
    table = np.genfromtxt(folder / "ages.csv", delimiter=",", dtype=None, names=True, encoding=None)
    return table["age"], table["choice"]


# Help, version, reference


def test_version_and_help():
    assert run("--version").stdout == f"freewill {fw.__version__}\n"
    listed = run("--help").stdout
    words = " ".join(listed.replace("│", "").split())
    for name in COMMANDS:
        line = (command(name).__doc__ or "").splitlines()[0]
        assert f"{name} {line[:40]}" in words
        shown = run(name, "--help").stdout
        assert "Example" in shown
        assert f"freewill {name} " in shown


def test_help_loads_nothing_heavy():
    """Help and version are there at once: a command's module is imported when it is run."""
    script = (
        "import sys, types, pathlib, importlib.util\n"
        # The package itself, without what its __init__ offers.
        "package = types.ModuleType('freewill')\n"
        "package.__path__ = list(importlib.util.find_spec('freewill').submodule_search_locations)\n"
        "sys.modules['freewill'] = package\n"
        "from freewill.cli import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "heavy = 'numpy scipy duckdb pyarrow pandas narwhals matplotlib'\n"
        "print([name for name in heavy.split() if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n"), done.stdout


def test_the_reference_is_up_to_date():
    written = (Path(__file__).parent.parent / "docs" / "cli.md").read_text(encoding="utf-8")
    assert written == reference(), "run: python -m freewill.cli.reference > docs/cli.md"


def test_the_reference_names_every_option():
    page = reference()
    for option in (
        "--survey",
        "--drop-outside",
        "--json",
        "--csv",
        "--claim",
        "--post",
        "--engine",
    ):
        assert f"`{option}`" in page


# The whole path


def test_obfuscate_follows_the_choices_and_the_seed(folder, values):
    ages, chosen = values
    rng = np.random.default_rng(1)
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
    assert merged["theta"] == direct["theta"] == library.theta.tolist()
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
    np.testing.assert_array_equal(by_id, [0, 0, 0, 1])
    for text in ("careful", "careful=x", "careful=-1", "=1", "nobody=1"):
        assert text.split("=")[0] in refused("obfuscate", ages, *arguments, "--share", text)
    assert "all weights are 0" in refused("obfuscate", ages, *arguments, "--share", "careful=0")


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
        "1 people are outside 6 x 4 cells"
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
    assert "gibu and ibu" in refused("estimate", monday, "-m", "em", "--tol", "1e-3")
    assert "inversion-m" in refused("estimate", monday, "-m", "inversion")
    assert "which has" in refused("estimate", monday, "--only", "shokri")
    assert "take one" in refused("estimate", monday, "--json", "--csv")
    assert "must be > 0" in refused("estimate", monday, "--tol", "-1")


def test_what_did_not_arrive_exits_with_1(folder, tmp_path):
    result = run("estimate", folder / "monday.parquet", "--max-steps", 1, code=1)
    assert "max_steps" in result.stderr
    shown = run_json("estimate", folder / "monday.parquet", "--max-steps", 1, code=1)
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


def test_calibrate(tmp_path):
    shown = run_json("calibrate", "geometric", "-a", "0..99", "-l", 28, "-l", 1)["mechanisms"]
    for row, target in zip(shown, (28.0, 1.0), strict=True):
        expected = fw.calibrate(fw.Geometric, AGES, quality_loss=target)
        assert row["epsilon"] == expected.epsilon
        assert fw.from_spec(row["spec"]) == expected
    assert "0.869" in run("calibrate", "geometric", "-a", "0..99", "-l", 1).stdout
    (tmp_path / "prior.json").write_text(json.dumps({"theta": [0.5, 0.25, 0.25]}))
    prior = ("--prior", tmp_path / "prior.json")
    shown = run_json("calibrate", "k-rr", "-a", "0..2", "-l", 0.5, *prior)["mechanisms"][0]
    assert fw.from_spec(shown["spec"]).quality_loss([0.5, 0.25, 0.25]) == pytest.approx(0.5)
    assert "out of reach" in refused("calibrate", "k-rr", "-a", "0..99", "-l", 99)
    assert "expected one weight" in refused("calibrate", "k-rr", "-a", "0..3", "-l", 1, *prior)
    assert "Linear" in refused("calibrate", "geometric", "-a", "2x2x1", "-l", 1)


@pytest.mark.parametrize(
    ("text", "alphabet"),
    [
        ("0..99", AGES),
        ("-5..5", fw.Linear(-5, 5)),
        ("1900..2020:10", fw.Linear(1900, 2020, step=10)),
        ("24x16x0.5", fw.Grid(24, 16, 0.5)),
        ("yes, no,won't say", MENU),
    ],
)
def test_alphabets_by_text(text, alphabet):
    assert parse_alphabet(text) == alphabet


def test_an_alphabet_by_survey(folder):
    assert parse_alphabet(str(folder / "survey.json")) == AGES
    for text in ("many", "24x16x..", "9..0"):
        assert refused("calibrate", "k-rr", "-a", text, "-l", 1)


def test_audit_holds_surveys_to_their_promises(folder):
    shown = run_json("audit", folder / "survey.json")
    assert shown["holds"]
    assert set(shown["audits"]) == set(OFFERED)
    assert shown["audits"]["relaxed"]["epsilon"] == pytest.approx(4.0)
    assert shown["audits"]["open"]["epsilon"] is None  # infinite
    assert "holds, tight" in run("audit", folder / "survey.json").stdout


def test_audit_exits_with_1_where_a_claim_does_not_hold(folder):
    shown = run_json("audit", folder / "survey.json", "--claim", "4.1-ldp", code=1)
    verdicts = {name: audit["holds"] for name, audit in shown["audits"].items()}
    assert verdicts == {"careful": False, "relaxed": True, "bits": True, "open": False}
    text = run("audit", folder / "survey.json", "--claim", "0.1-geo", code=1).stdout
    assert "DOES NOT HOLD" in text
    for claim in ("4", "x-ldp", "-1-ldp", "1-dp", "1.2.3-geo"):
        assert "--claim" in refused("audit", folder / "survey.json", f"--claim={claim}")


def test_audit_of_one_mechanism_by_its_spec(tmp_path):
    path = tmp_path / "shokri.json"
    path.write_text(json.dumps(fw.Shokri(fw.Linear(0, 9), quality_loss=1.5).spec()))
    shown = run_json("audit", path)["audits"]["shokri"]
    assert shown["holds"]
    assert shown["adversary_loss"] == pytest.approx(1.5)
    assert (shown["quality_loss"], shown["claim"]["kind"]) == (1.5, "adversary-loss")
    assert "user loses 1.5" in run("audit", path).stdout


# What goes wrong


def test_bad_files_are_one_message(folder, tmp_path):
    survey, ages = folder / "survey.json", folder / "ages.csv"
    into = ("-s", survey, "-o", tmp_path / "r.parquet")
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    holes = tmp_path / "holes.csv"
    holes.write_text("age,b\n1,2\n,3\n")
    headers = tmp_path / "headers.csv"
    headers.write_text("age\n")
    words = tmp_path / "words.csv"
    words.write_text("age\nold\n")
    cut = tmp_path / "cut.parquet"
    cut.write_bytes((folder / "monday.reports.parquet").read_bytes()[:200])
    cases = [
        ("obfuscate", tmp_path / "none.csv", *into, "-c", "age"),
        ("obfuscate", tmp_path, *into, "-c", "age"),
        ("obfuscate", empty, *into, "-c", "age"),
        ("obfuscate", headers, *into, "-c", "age"),
        ("obfuscate", holes, *into, "-c", "age"),
        ("obfuscate", words, *into, "-c", "age"),
        ("obfuscate", cut, *into, "-c", "age"),
        ("obfuscate", ages, *into, "-c", "years"),
        ("obfuscate", ages, *into, "-c", "age", "--choice", "age"),
        ("obfuscate", ages, *into, "-c", "age", "--choice", "choice", "--share", "open=1"),
        ("obfuscate", ages, "-s", survey, "-c", "age", "-o", tmp_path / "r.txt"),
        ("obfuscate", ages, "-s", survey, "-c", "age", "-o", tmp_path / "no" / "r.csv"),
        ("obfuscate", ages, "-s", broken, "-c", "age", "-o", tmp_path / "r.csv"),
        ("collect", tmp_path / "none.csv", "-s", survey, "-o", tmp_path / "e.parquet"),
        ("collect", cut, "-s", survey, "-o", tmp_path / "e.parquet"),
        ("collect", ages, "-s", survey, "-o", tmp_path / "e.parquet"),
        ("collect", ages, "-s", survey, "-o", tmp_path / "e.csv"),
        ("merge", tmp_path / "none.parquet", "-o", tmp_path / "e.parquet"),
        ("merge", cut, "-o", tmp_path / "e.parquet"),
        ("estimate", tmp_path / "none.parquet"),
        ("estimate", folder / "monday.reports.parquet"),
        ("estimate", folder / "monday.parquet", "--plot", tmp_path / "a.txt"),
        ("audit", broken),
        ("audit", tmp_path / "none.json"),
        ("audit", tmp_path),
        ("calibrate", "k-rr", "-a", "0..9", "-l", 1, "--prior", broken),
        ("calibrate", "k-rr", "-a", tmp_path / "none.json", "-l", 1),
    ]
    for case in cases:
        assert len(refused(*case)) > 25, case


def test_bad_usage_exits_with_2(folder):
    for arguments in (("estimate",), ("nothing",), ("calibrate", "rappor", "-a", "0..9", "-l", 1)):
        assert "Usage" in run(*arguments, code=2).stderr
    assert run("estimate", folder / "monday.parquet", "--max-steps", 0, code=2).stderr


def test_a_fault_of_our_own_is_a_message_too(monkeypatch, capsys):
    def broken(**_):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("freewill.cli.application.app", broken)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 3
    message = capsys.readouterr().err
    assert "ZeroDivisionError: by nothing" in message
    assert "Traceback" not in message
    monkeypatch.setenv("FREEWILL_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main()


# The true command, in a process of its own


def freewill(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "freewill", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_the_command_itself(folder):
    done = freewill("estimate", folder / "monday.parquet", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["status"] == "certified"
    failed = freewill("estimate", folder / "none.parquet")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("error: ")
    assert "Traceback" not in failed.stderr


def test_a_reader_that_stops_early_is_no_error(folder):
    command = f"{sys.executable} -m freewill estimate {folder / 'monday.parquet'} --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout == "{\n"
    assert done.stderr == ""
