"""Commands that are killed while they write leave no half file, no mixed file and no lost input."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 4 * int(os.environ.get("FREEWILL_FUZZ", "1"))
"""How often each command is killed: `FREEWILL_FUZZ=25` makes it 100."""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forked")
def test_kills_two_at_once_and_a_full_disk(tmp_path):
    script = Path(__file__).parents[1] / "kills.py"
    command = [sys.executable, str(script), str(tmp_path), str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [
        "obfuscate",
        "collect",
        "merge",
    ]
