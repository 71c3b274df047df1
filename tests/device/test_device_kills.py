"""Two reports for one question never leave a device: not when it is killed, nor beside another."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from freewill.core.files import LOCKS

pytestmark = pytest.mark.skipif(not LOCKS, reason="needs locks that end with their process")
MORE = int(os.environ.get("FREEWILL_FUZZ", "1"))


def run(*arguments: object) -> str:
    script = Path(__file__).parents[1].joinpath("sent_kills.py")
    done = subprocess.run(
        [sys.executable, str(script), *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_kill_at_any_step_leaves_one_report(tmp_path):
    # Every call into C would be 1,600 kills, a minute or two.
    steps = int(run(tmp_path, "step", 3 if MORE > 1 else 31))
    assert steps > 100


@pytest.mark.slow
def test_kills_at_random_moments_leave_one_report_a_question(tmp_path):
    questions, released = run(tmp_path, "random", 40 * MORE, 7).strip("()\n").split(",")
    assert int(questions) == 30 * MORE
    assert int(released) >= int(questions)


def test_processes_at_one_memory_agree(tmp_path):
    assert run(tmp_path, "together", 4, 15) == "15\n"
