"""Commands on a pseudo-terminal: a bar on slow work, with the gap; nothing in a pipe."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import freewill as fw

pty = pytest.importorskip("pty")

GRID = fw.Grid(20, 20, cell=0.5)
LINE = fw.Linear(0, 29)
IMPATIENT = """
import sys
from freewill.core import progress
progress._PATIENCE_SECONDS = 0.0
from freewill.cli import main
sys.argv = ["freewill", *sys.argv[1:]]
main()
"""
STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bars")
    for alphabet, name in ((GRID, "city"), (LINE, "line")):
        mechanism = (fw.PlanarGeometric if alphabet is GRID else fw.Geometric)(alphabet, 0.5)
        for number in (0, 1):
            rng = np.random.default_rng(number)
            values = rng.binomial(alphabet.size - 1, 0.5, 3000)
            evidence = fw.collect([(mechanism, mechanism.obfuscate(values, rng))])
            fw.save_evidence(evidence, folder / f"{name}{number}.parquet")
    other = fw.KRR(LINE, 3.0)
    both = evidence + fw.collect([(other, other.obfuscate(values, rng))])
    fw.save_evidence(both, folder / "line2.parquet")
    return folder


def on_terminal(*arguments):
    """Run a command whose standard error is a terminal, and return what came there."""
    terminal, end = pty.openpty()
    command = [sys.executable, "-c", IMPATIENT, *map(str, arguments)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end, env=environment) as process:
        os.close(end)
        told = b""
        while True:
            try:
                part = os.read(terminal, 1 << 16)
            except OSError:  # how Linux says that nobody writes any more
                break
            if not part:
                break
            told += part
        assert process.stdout.read()
    os.close(terminal)
    assert process.returncode == 0, told
    return STEERING.sub("", told.decode())


SLOW = {
    "intervals": ("intervals", "estimate", "city0", "--intervals", "--bins", "10", "--csv"),
    "gibu": ("estimating by gibu", "estimate", "city0", "--csv"),
    "smooth": ("estimating by smooth", "estimate", "line0", "-m", "smooth", "--csv"),
    "one-step": ("estimating by one-step", "estimate", "city0", "-m", "one-step", "--csv"),
    "em": ("estimating by em", "estimate", "city0", "-m", "em", "--delta", "1e-6", "--csv"),
    "choice-aware": ("estimating by choice-aware", "estimate", "line2", "-m", "choice-aware"),
    "check": ("checking", "check", "line2"),
    "compare": ("comparing", "compare", "city0", "city1", "--bins", "20", "--csv"),
}


def spelled(folder, words):
    return [folder / f"{word}.parquet" if word[:4] in ("city", "line") else word for word in words]


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_slow_work_has_a_bar(folder, name):
    what, *words = SLOW[name]
    told = on_terminal(*spelled(folder, words))
    shares = [int(share) for share in re.findall(rf"{what}[^%]*?(\d+)%", told)]
    assert shares, told
    assert shares == sorted(shares)
    if name not in ("intervals", "check"):  # these begin where gibu has been
        assert re.search(rf"{what}.*gap \d\.\de[-+]\d\d", told), told


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compare", "gibu"])
def test_nothing_is_shown_in_a_pipe(folder, name):
    _, *words = SLOW[name]
    command = [sys.executable, "-c", IMPATIENT, *map(str, spelled(folder, words))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "━" not in done.stderr
    assert "gap" not in done.stderr
