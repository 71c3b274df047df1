"""A client in another language, written from the documentation: it reproduces the vectors."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from device_cases import VECTORS

CLIENT = Path(__file__).parents[2] / "examples" / "client.pl"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("perl") is None, reason="no Perl on this machine")
def test_perl_reproduces_the_vectors_of_the_kinds_that_it_knows(tmp_path):
    there = subprocess.run(
        ["perl", "-MMath::BigInt", "-MJSON::PP", "-e", "1"], capture_output=True, check=False
    )
    if there.returncode:
        pytest.skip("Perl has no Math::BigInt or JSON::PP here")
    # Whole numbers of Perl are slow: every second vector.
    vectors = json.loads(VECTORS.read_text())
    half = tmp_path / "vectors.json"
    half.write_text(json.dumps({**vectors, "cases": vectors["cases"][::2]}))
    done = subprocess.run(
        ["perl", CLIENT, half], capture_output=True, text=True, check=False, timeout=600
    )
    right, wrong = re.findall("([0-9]+) (?:reproduced|wrong)", done.stdout)
    assert (done.returncode, wrong) == (0, "0"), done.stdout
    assert int(right) >= 25
