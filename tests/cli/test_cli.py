"""The command line itself: help, calibrate, audit, and what becomes of errors."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tools.cli_reference import reference
from typer.testing import CliRunner

import freewill as fw
from cli_cases import AGES, MENU, OFFERED, refused, run, run_json
from freewill.cli import app
from freewill.cli.application import COMMANDS, command, main
from freewill.cli.options import parse_alphabet
from freewill.cli.standard import standard_input, standard_output


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


@pytest.mark.later
def test_garbage_is_collected_from_when_a_command_is_loaded():
    script = (
        "import gc, sys\n"
        "from freewill.cli.application import main\n"
        "sys.argv = ['freewill', 'merge', '--help']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    print(gc.isenabled(), gc.get_freeze_count() > 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("True True\n"), done.stdout


@pytest.mark.slow
def test_an_estimate_on_a_line_leaves_large_parts_of_scipy_alone(tmp_path):
    """Each of them takes a fraction of a second to import, which is all that a small file needs."""
    line = fw.Linear(0, 9)
    survey = fw.Survey(line, {"near": fw.Geometric(line, 1.0), "any": fw.KRR(line, 2.0)})
    survey.save(tmp_path / "survey.json")
    reports = [("near", [3, 4, 5, 5]), ("any", [4, 4, 9])]
    fw.write_reports(tmp_path / "reports.csv", reports, survey=survey)
    script = (
        "import sys\n"
        "from freewill.cli import app\n"
        "app(['estimate', 'reports.csv', '-s', 'survey.json'], standalone_mode=False)\n"
        "heavy = 'scipy.signal scipy.interpolate scipy.ndimage scipy.stats'\n"
        "print([name for name in heavy.split() if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.endswith("[]\n"), done.stdout


def test_the_reference_is_up_to_date():
    written = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert written == reference(), "run: python -m tools.cli_reference > docs/cli.md"


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


def test_what_cannot_be_calibrated_says_why():
    common = ("-a", "0..9", "-l", 1)
    assert "calibrate k-RR and take its epsilon" in refused("calibrate", "rappor", *common)
    assert "takes the loss itself" in refused("calibrate", "shokri", *common)
    for kind in ("identity", "matrix"):
        assert "no epsilon" in refused("calibrate", kind, *common)


def test_help_says_what_options_take_in_words():
    for name in COMMANDS:
        shown = run(name, "--help").stdout
        assert "<" not in shown.replace("<1", "")
        assert "bool" not in shown


@pytest.mark.slow
def test_standard_input_is_a_source(folder, monkeypatch):
    def given(path, *arguments, **options):
        content = Path(path).read_bytes()
        result = CliRunner().invoke(app, [*map(str, arguments), "--json"], input=content)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    expected = run_json("estimate", folder / "monday.parquet")["theta"]
    assert given(folder / "monday.parquet", "estimate", "-")["theta"] == expected
    survey = ("-s", folder / "survey.json")
    reports = folder / "monday.reports.parquet"
    assert given(reports, "estimate", "-", *survey)["theta"] == expected
    assert given(folder / "survey.json", "audit", "-")["holds"]
    prior = ("calibrate", "k-rr", "-a", "0..2", "-l", 0.5, "--prior", "-")
    (folder / "prior.json").write_text("[0.5, 0.25, 0.25]")
    assert given(folder / "prior.json", *prior)["mechanisms"]
    assert "nothing came" in refused("estimate", "-")
    assert "twice" in refused("estimate", "-", "-")


@pytest.mark.parametrize(
    ("content", "suffix"),
    [
        (b"PAR1....", ".parquet"),
        (b"ARROW1..", ".arrow"),
        (b'{"mechanism": "a", "report": 1}\n{}', ".ndjson"),
        (b'{"mechanism": "' + b"a" * 9000, ".ndjson"),
        (b"mechanism,report\na,1\n", ".csv"),
        (b"{not json\n", ".csv"),
        (b"\n", ".csv"),
    ],
)
def test_standard_input_is_told_by_its_first_bytes(content, suffix, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    with standard_input(["a.csv", "-"]) as (first, second):
        assert first == "a.csv"
        assert Path(second).suffix == suffix
        assert Path(second).read_bytes() == content
    assert not Path(second).exists()


def test_standard_output_is_a_target(tmp_path, capfdbinary):
    with standard_output(tmp_path / "a.csv", ".parquet") as path:
        assert path == tmp_path / "a.csv"
    with standard_output(Path("-"), ".parquet") as path:
        assert path.suffix == ".parquet"
        path.write_bytes(b"all of it")
    assert capfdbinary.readouterr().out == b"all of it"


def test_pictures_are_asked_for_before_the_work(tmp_path, monkeypatch):
    """Figures are drawn at the end: without matplotlib nothing is computed in vain."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    out = tmp_path / "reproduction"
    assert "pip install" in refused("reproduce", "7b", "--out", out)
    assert not out.exists()
    assert "7b" in run("reproduce", "--list").stdout


def test_json_that_cannot_be_read_is_one_message(tmp_path):
    path = tmp_path / "spec.json"
    for content in ("9" * 5000, "[" * 100_000, '{"a": "\ud800', "\x00", "nul"):
        path.write_text(content, errors="surrogatepass")
        assert ": not " in refused("audit", path)


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
    long = "9" * 5000
    for text in ("many", "24x16x..", "9..0", f"0..{long}", f"0..9:{long}", f"{long}x2x1", "٣..٩"):
        assert refused("calibrate", "k-rr", "-a", text, "-l", 1)


def test_audit_holds_surveys_to_their_promises(folder):
    shown = run_json("audit", folder / "survey.json")
    assert shown["holds"]
    assert set(shown["audits"]) == set(OFFERED)
    assert shown["audits"]["relaxed"]["epsilon"] == pytest.approx(4.0)
    assert shown["audits"]["open"]["epsilon"] is None  # infinite
    assert "holds, tight" in run("audit", folder / "survey.json").stdout


def test_audit_measures_leakage(folder):
    shown = run_json("audit", folder / "survey.json", "--leakage")["audits"]
    assert shown["open"]["leakage"]["success_rate"] == pytest.approx(1.0)
    assert (
        0 < shown["relaxed"]["leakage"]["mutual_information"] < shown["open"]["leakage"]["entropy"]
    )
    text = run("audit", folder / "survey.json", "--leakage").stdout
    assert "min-capacity" in text
    assert "min-capacity" not in run("audit", folder / "survey.json").stdout


def test_audit_exits_with_1_where_a_claim_does_not_hold(folder):
    shown = run_json("audit", folder / "survey.json", "--claim", "4.1-ldp", code=1)
    verdicts = {name: audit["holds"] for name, audit in shown["audits"].items()}
    assert verdicts == {"careful": False, "relaxed": True, "bits": True, "open": False}
    text = run("audit", folder / "survey.json", "--claim", "0.1-geo", code=1).stdout
    assert "DOES NOT HOLD" in text
    for claim in ("4", "1e999-ldp", "٣-ldp", "x-ldp", "-1-ldp", "1-dp", "1.2.3-geo"):
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


@pytest.mark.slow
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
    for arguments in (("estimate",), ("nothing",), ("calibrate", "rapor", "-a", "0..9", "-l", 1)):
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
    done = freewill("estimate", folder / "tuesday.parquet", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["status"] == "certified"
    failed = freewill("estimate", folder / "none.parquet")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("error: ")
    assert "Traceback" not in failed.stderr


@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_error(folder):
    command = f"{sys.executable} -m freewill estimate {folder / 'tuesday.parquet'} --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout == "{\n"
    assert done.stderr == ""


HOSTILE = ("\x1b[2J\x1b[31mred", "a\nerror: forged", "\u202eevil", "\x9b31m", "x" * 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE, ids=["escape", "line", "turned", "c1", "long"])
def test_names_and_labels_do_not_steer_the_terminal(name, tmp_path):
    menu = fw.Categorical([name, "no"])
    path = tmp_path / "survey.json"
    fw.Survey(menu, {name: fw.KRR(menu, 1.0)}).save(path)
    fw.write_reports(tmp_path / "r.parquet", [(name, [0, 0, 1])])
    into = (tmp_path / "r.parquet", "-s", path)
    audited = run("audit", path).output
    shown = [audited, run("collect", *into, "-o", tmp_path / "e.parquet").output]
    shown += [run("estimate", *into).output, run("estimate", *into, "--json").output]
    shown += [run("estimate", *into, "--only", f"{name}?", code=2).output]
    for text in shown:
        assert not any(ord(one) < 32 or 127 <= ord(one) < 160 for one in text.replace("\n", ""))
        assert "\u202e" not in text
        assert not any(line.startswith("error: forged") for line in text.splitlines())
    assert max(len(text) for text in (shown[0], shown[1], shown[2], shown[4])) < 20_000
    assert json.loads(shown[3])["values"] == [name, "no"]
    # What other programs read stays as it is.
    assert run("estimate", *into, "--csv").stdout.startswith("value,share\n")
