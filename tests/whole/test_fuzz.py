"""A bounded part of `make fuzz`: inputs of every kind, 0 faults; and the watcher sees what dies."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tools.fuzz import calls, crew, trials
from tools.fuzz.case import BrokenPromiseError
from tools.fuzz.summary import faults, table
from tools.fuzz.trials import BAD, KINDS, Outcome, kind_of, tried

import freewill as fw
from freewill.errors import FreewillError

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_no_hostile_input_ends_in_anything_but_a_result_or_an_error_of_ours(tmp_path):
    # In a process of its own: one that crashes fails this test and no other.
    told = tmp_path / "runs.json"
    command = [sys.executable, "-m", "tools.fuzz", "--count", "600", "--seed", "7", "--jobs", "1"]
    done = subprocess.run(
        [*command, "--json", str(told)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    runs = json.loads(told.read_text())
    assert len(runs) == 600
    for kind in KINDS:
        verdicts = {run["verdict"] for run in runs if run["kind"] == kind}
        assert verdicts == {"accepted", "refused"}, kind


def test_every_public_name_is_called_or_it_is_said_why_not():
    public = {name for name in fw.__all__ if not name.startswith("_")}
    called = {name.split()[0].split(".")[0] for name in calls.CALLS}
    assert public - called - {*calls.UNCALLED} == set()
    assert {*calls.UNCALLED} & called == set()


@pytest.fixture
def judge(monkeypatch, tmp_path):
    """Return what judges an attempt, as if it were the one of input 0."""

    def judged(attempt):
        monkeypatch.setitem(trials.KINDS, kind_of(0), (1, attempt))
        return tried(1, 0, tmp_path).verdict

    return judged


def _raise(error):
    raise error


@pytest.mark.parametrize(
    ("attempt", "verdict"),
    [
        (lambda case: "accepted", "accepted"),
        (lambda case: _raise(fw.ParameterError("no.")), "refused"),
        (lambda case: _raise(ValueError("no.")), "leak"),
        (lambda case: _raise(MemoryError()), "leak"),
        (lambda case: _raise(FreewillError("")), "wrong"),
        (lambda case: _raise(BrokenPromiseError("theta sums to 2")), "wrong"),
        (lambda case: _raise(trials.commands.Fault("exit", "3")), "exit"),
        (lambda case: __import__("warnings").warn("x", stacklevel=1) or "accepted", "warned"),
    ],
)
def test_what_must_not_be_is_seen(judge, attempt, verdict):
    assert judge(attempt) == verdict


@pytest.mark.later
def test_what_is_too_long_too_large_or_steers_the_screen_is_seen(judge, monkeypatch):
    assert trials.refusal("\x1b[2J") == ("screen", "'\\x1b[2J'")
    assert trials.refusal("x" * 5000)[0] == "long"
    monkeypatch.setattr(trials, "SECONDS", 0.05)

    def busy(case):
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
        return "accepted"

    assert judge(busy) == "slow"
    monkeypatch.setattr(trials, "SECONDS", 10.0)
    monkeypatch.setattr(trials, "MEGABYTES", trials.peak_megabytes() + 100)
    if trials.peak_megabytes():
        assert judge(lambda case: bytes(bytearray(300 << 20)) and "accepted") == "memory"


def _deadly(seed, numbers, folder, answers):
    """Try inputs of which one ends its process, and another never ends."""
    for number in numbers:
        if number == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == 4:
            time.sleep(600)
        answers.send(Outcome(number, kind_of(number), "accepted"))


@pytest.mark.slow
def test_a_crash_and_a_hang_are_named_and_the_rest_is_tried(monkeypatch):
    monkeypatch.setattr(crew, "_work", _deadly)
    found = {run.number: run for run in crew.outcomes(1, range(6), jobs=2, patience=2.0)}
    assert [found[number].verdict for number in range(6)] == [
        "accepted", "accepted", "crash", "accepted", "hang", "accepted",
    ]  # fmt: skip
    assert "-11" in found[2].detail
    runs = list(found.values())
    assert "| all | 6 | 4 | 0 | 2 |" in table(runs)
    assert "--only NUMBER" in faults(runs, 1)
    assert {run.verdict for run in runs} - {*BAD} == {"accepted"}


@pytest.mark.later
def test_an_input_is_always_the_same(tmp_path):
    first, again = [], []
    for number in range(40):
        one = tried(3, number, tmp_path, first)
        other = tried(3, number, tmp_path, again)
        assert (one.verdict, one.detail) == (other.verdict, other.detail)
    # The folders of pipes, which become files, and where objects lie in memory.
    chance = re.compile(r"freewill-\w+|0x[0-9a-fA-F]+")
    assert [chance.sub("", line) for line in first] == [chance.sub("", line) for line in again]
