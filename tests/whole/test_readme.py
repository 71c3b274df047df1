"""The README is a front page: one screen and a half, one picture, ways on."""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from service_cases import needs_serve

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_it_is_short_and_has_one_picture_with_a_description():
    assert README.count("\n") <= 120
    ((description, path),) = re.findall(r"!\[(.*?)\]\((.*?)\)", README)
    assert len(description) > 40
    assert (ROOT / path).exists()


def test_its_links_lead_somewhere():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert len(links) > 20
    assert not [link for link in links if not (ROOT / link).exists()]


def test_its_targets_are_those_of_the_makefile():
    targets = re.findall(r"^make (\w+)", README, re.MULTILINE)
    assert targets == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert all(re.search(rf"^{target}\b.*:", makefile, re.MULTILINE) for target in targets)


@pytest.mark.slow
@needs_serve
def test_its_commands_run_as_they_stand(tmp_path):
    pytest.importorskip("matplotlib")
    lines = re.findall(r"^freewill (.*?)(?: +#.*)?$", README, re.MULTILINE)
    estimate, init, serve = [[sys.executable, "-m", "freewill", *shlex.split(one)] for one in lines]

    def run(command, **options):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, **options)

    run(init, input="How old are you?\nAges\n0..99\n20, 5\n\n\n\n")
    ages = np.random.default_rng(1).integers(20, 60, 500)
    np.savetxt(tmp_path / "ages.csv", ages, fmt="%d", header="age", comments="")
    simulate = "obfuscate ages.csv -s survey.json -c age -o reports.csv --seed 1"
    run([sys.executable, "-m", "freewill", *simulate.split()])
    run(estimate)
    assert (tmp_path / "ages.png").stat().st_size > 5_000
    command = [*serve, "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        assert "http://127.0.0.1" in server.stdout.readline()
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
    assert server.returncode == 0
    assert (tmp_path / "collector.db").exists()
