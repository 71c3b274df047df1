"""Commands on a pseudo-terminal: a bar on slow work, with the gap; nothing in a pipe."""

import json
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import freewill as fw

pty = pytest.importorskip("pty")

GRID = fw.Grid(20, 20, cell=0.5)
LINE = fw.Linear(0, 29)
IMPATIENT = """
import json, sys
from freewill.core import progress
progress._PATIENCE_SECONDS = 0.0
from freewill.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["freewill", *words]
    try:
        main()
    except SystemExit as end:
        print(f"[ended with {end.code}]", file=sys.stderr, flush=True)
"""
ENDED = "[ended with 0]"
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
    named = ("city", "line")
    return [str(folder / f"{word}.parquet") if word[:4] in named else word for word in words]


def impatient(folder, names):
    """Return the command that runs others, one after the other, which do not wait with a bar."""
    commands = [spelled(folder, SLOW[name][1:]) for name in names]
    return [sys.executable, "-c", IMPATIENT, json.dumps(commands)]


@pytest.fixture(scope="module")
def on_terminal(folder):
    """Run all commands where standard error is a terminal; return what came there of each."""
    terminal, end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    command = impatient(folder, SLOW)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end, env=environment) as process:
        os.close(end)
        # Read beside the terminal: tables are longer than what a pipe holds.
        tables, told = [], b""
        reading = threading.Thread(target=lambda: tables.append(process.stdout.read()))
        reading.start()
        while True:
            try:
                part = os.read(terminal, 1 << 16)
            except OSError:  # how Linux says that nobody writes any more
                break
            if not part:
                break
            told += part
        reading.join()
    os.close(terminal)
    assert process.returncode == 0, told
    assert tables[0]
    each = STEERING.sub("", told.decode()).split(ENDED)
    assert len(each) == len(SLOW) + 1, each
    return dict(zip(SLOW, each, strict=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_slow_work_has_a_bar(on_terminal, name):
    what, told = SLOW[name][0], on_terminal[name]
    shares = [int(share) for share in re.findall(rf"{what}[^%]*?(\d+)%", told)]
    assert shares, told
    assert shares == sorted(shares)
    if name not in ("intervals", "check"):  # these begin where gibu has been
        assert re.search(rf"{what}.*gap \d\.\de[-+]\d\d", told), told


@pytest.mark.slow
def test_nothing_is_shown_in_a_pipe(folder):
    names = ("compare", "gibu")
    done = subprocess.run(impatient(folder, names), capture_output=True, text=True, check=True)
    assert done.stderr.count(ENDED) == len(names)
    assert "━" not in done.stderr
    assert "gap" not in done.stderr
