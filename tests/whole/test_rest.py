"""A second run of the tests takes up what the first left: what it skipped, failed or left out."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import os
import pytest

def test_plain(): pass
@pytest.mark.skipif("TOOL" not in os.environ, reason="no tool")
def test_with_a_tool(): pass
@pytest.mark.later
def test_later(): pass
@pytest.mark.parametrize("number", [1, 2])
def test_numbers(number): assert number == 1 or "TOOL" in os.environ
"""


def ran(folder: Path, *options: str, **variables: str) -> set[str]:
    """Run pytest there and return the tests that passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-rpP", *options]
    # Plugins take longer to load than these tests to run.
    variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("PASSED ")]
    return {line.rpartition("::")[2] for line in lines}


@pytest.mark.later
def test_what_passed_is_not_run_again(tmp_path):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    later\n")
    (tmp_path / "test_some.py").write_text(TESTS)
    first = ran(tmp_path, "-m", "not later")
    assert first == {"test_plain", "test_numbers[1]"}
    rest = {"test_with_a_tool", "test_later", "test_numbers[2]"}
    assert ran(tmp_path, "--rest", TOOL="there") == rest
    # A run of the rest is not what the next one is the rest of.
    assert ran(tmp_path, "--rest", TOOL="there") == rest
