"""Commands one behind the other: `-` in place of every file that is read or written."""

import io
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli_cases import refused, run
from freewill.cli import app
from freewill.cli.options import is_standard_output
from freewill.errors import ParameterError
from freewill.reports import load_evidence


def piped(content, *arguments):
    """Run a command on what comes in, and return what goes out and what is told."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=content)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes, result.stderr


def test_the_whole_way_through_pipes_gives_what_files_give(folder, tmp_path):
    survey, ages = folder / "survey.json", folder / "ages.csv"
    common = ("-s", survey, "-c", "age", "--seed", 3)
    run("obfuscate", ages, *common, "-o", tmp_path / "r.csv")
    run("collect", tmp_path / "r.csv", "-s", survey, "-o", tmp_path / "e.parquet")

    reports, told = piped(ages.read_bytes(), "obfuscate", "-", *common, "-o", "-")
    assert reports == (tmp_path / "r.csv").read_bytes()
    assert reports.startswith(b'"mechanism","value"\n')
    assert "promise" in told
    evidence, told = piped(reports, "collect", "-", "-s", survey, "-o", "-")
    assert "people" in told
    (tmp_path / "piped.parquet").write_bytes(evidence)
    assert load_evidence(tmp_path / "piped.parquet") == load_evidence(tmp_path / "e.parquet")
    both, told = piped(evidence, "merge", "-", folder / "monday.parquet", "-o", "-")
    assert "people" in told
    (tmp_path / "both.parquet").write_bytes(both)
    found = load_evidence(tmp_path / "both.parquet")
    whole = load_evidence(tmp_path / "e.parquet") + load_evidence(folder / "monday.parquet")
    assert found == whole


def test_standard_output_is_for_one_thing(folder):
    survey, ages = folder / "survey.json", folder / "ages.csv"
    commands = (
        ("obfuscate", ages, "-s", survey, "-c", "age", "-o", "-"),
        ("collect", folder / "monday.reports.parquet", "-s", survey, "-o", "-"),
        ("merge", folder / "monday.parquet", "-o", "-"),
    )
    for command in commands:
        assert "--json were both given" in refused(*command, "--json")


def test_no_evidence_goes_to_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    with pytest.raises(ParameterError, match="no terminal can show"):
        is_standard_output(Path("-"), as_json=False)
    assert is_standard_output(Path("-"), as_json=False, binary=False)
    assert not is_standard_output(Path("e.parquet"), as_json=True)


def test_what_fails_sends_nothing(folder):
    survey = folder / "survey.json"
    content = "mechanism,value\nnobody,1\n"
    command = ["collect", "-", "-s", str(survey), "-o", "-"]
    result = CliRunner().invoke(app, command, input=content)
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert "unknown mechanism" in result.stderr
