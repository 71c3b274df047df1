"""Commands one behind the other: `-` in place of every file that is read or written."""

import errno
import io
import os
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli_cases import refused, run
from freewill.cli import app
from freewill.cli.standard import is_standard_output
from freewill.errors import ParameterError
from freewill.io.evidence_file import load_evidence


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


FAULTY = {
    "no reports": b"mechanism,value\nnobody,1\n",
    "no such columns": b"a,b\n1,2\n",
    "half a parquet": b"PAR1 and then nothing",
    "half an arrow": b"ARROW1 and then nothing",
    "other json": b'{"a": 1}\n',
    "broken json": b'{"a": 1}\n{"a": \n',
    "not even text": b"\x00\xff\xfe\n" * 9,
    "a null": b"age\n1\n\n,\n",
    "two of one name": b"age,age\n1,2\n",
    "only a header": b"age\n",
    "nothing": b"",
}


@pytest.mark.slow
@pytest.mark.parametrize("content", FAULTY.values(), ids=FAULTY)
@pytest.mark.parametrize(
    "command",
    [
        ("obfuscate", "-", "-s", "SURVEY", "-c", "age", "-o", "-"),
        ("collect", "-", "-s", "SURVEY", "-o", "-", "--strict"),
        ("merge", "-", "-o", "-"),
        ("estimate", "-", "-s", "SURVEY", "--strict"),
        ("estimate", "-"),
        ("audit", "-"),
        ("calibrate", "k-rr", "-a", "0..9", "-l", "1", "--prior", "-"),
    ],
    ids=" ".join,
)
def test_what_stands_behind_a_dash_is_called_by_its_name(folder, command, content):
    line = [str(folder / "survey.json") if part == "SURVEY" else part for part in command]
    result = CliRunner().invoke(app, line, input=content)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "freewill-" not in result.stderr
    assert "standard-" not in result.stderr
    assert not re.search(r"(?<!\S)-(?!\S)", result.stderr)


def test_a_file_named_twice_is_told_by_both_names(folder):
    content = (folder / "monday.parquet").read_bytes()
    line = ["merge", "-", str(folder / "monday.parquet"), "-o", "-"]
    result = CliRunner().invoke(app, line, input=content)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: standard input and ")


def test_an_error_of_the_system_names_standard_output(monkeypatch, folder, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    survey, ages = folder / "survey.json", folder / "ages.csv"
    common = ("-s", survey, "-c", "age", "-o")
    message = refused("obfuscate", ages, *common, "-")
    assert message == "error: standard output cannot be written: no space left on device."
    message = refused("obfuscate", ages, *common, tmp_path / "r.csv")
    assert message == f"error: {tmp_path}/r.csv cannot be written: no space left on device."


def test_a_survey_does_not_come_in_with_the_rows(folder):
    assert "--survey -: expected a file" in refused(
        "collect", folder / "monday.reports.parquet", "-s", "-", "-o", "-"
    )


def test_a_file_that_is_called_dash_is_not_standard_output(monkeypatch, folder, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("mine")
    piped((folder / "monday.parquet").read_bytes(), "merge", "-", "-o", "-")
    assert Path("-").read_text() == "mine"
