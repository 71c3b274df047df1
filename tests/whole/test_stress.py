"""The stress test itself: what it draws, what it calls a fault, and what it tells."""

import multiprocessing
import sys

import numpy as np
import pytest
from tools.stress import __main__ as command
from tools.stress import trials
from tools.stress.families import FAMILIES, mixture
from tools.stress.summary import faults, table
from tools.stress.trials import AUTOMATIC, SOLVERS, Run, tried

import freewill as fw
from freewill.stats.estimators.gibu import SolverName

SMALL = 40
"""Values of the alphabet, at most, so that hundreds take seconds."""
REAL = fw.gibu


def test_a_mixture_depends_on_its_seed_and_number_alone() -> None:
    one, again, other = mixture(3, 17, SMALL), mixture(3, 17, SMALL), mixture(4, 17, SMALL)
    assert str(one) == str(again) != str(other)
    for part, same in zip(one.parts, again.parts, strict=True):
        assert np.array_equal(part.outputs, same.outputs)
        assert np.array_equal(part.counts, same.counts)


@pytest.mark.later
def test_all_families_and_mechanisms_are_drawn() -> None:
    drawn = [mixture(1, number, SMALL) for number in range(150)]
    kinds = {mechanism.name for one in drawn for mechanism in one.mechanisms}
    wanted = "k-rr identity geometric planar-geometric rappor matrix shokri"
    assert kinds == set(wanted.split())
    assert min(one.alphabet.size for one in drawn) == 1
    assert {one.tol is None for one in drawn} == {True, False}
    assert max(one.people for one in drawn) > 10**8
    assert min(one.people for one in drawn) < 20


@pytest.mark.slow
def test_mixtures_keep_to_the_size_that_is_allowed() -> None:
    found = [mixture(2, number, 80) for number in range(200)]
    assert {one.family for one in found} == set(FAMILIES)
    assert max(one.alphabet.size for one in found) <= 80
    assert all(part.counts.min() > 0 for one in found for part in one.parts)


def test_every_solver_is_forced_on_small_mixtures_and_one_on_large_ones() -> None:
    names = list(SolverName.__args__)
    small, large = mixture(1, 0, SMALL), next(
        one for one in (mixture(1, n) for n in range(100)) if one.alphabet.size > 200
    )  # fmt: skip
    assert trials.solvers(small) == [AUTOMATIC, *names]
    assert trials.solvers(large) == [AUTOMATIC, names[large.number % len(names)]]


def broken(monkeypatch, how) -> list[Run]:
    """Try a mixture with the estimator replaced."""
    monkeypatch.setattr(trials.fw, "gibu", how)
    return [run for run in tried(mixture(7, 3, SMALL), seconds=0.2) if run.function in SOLVERS]


@pytest.mark.slow
def test_crashes_warnings_stalls_and_endless_runs_are_told_apart(monkeypatch) -> None:
    def crash(*_args, **_options):
        raise ZeroDivisionError("division by zero")

    def warn(*args, **options):
        np.log(np.zeros(1))
        return REAL(*args, **options)

    def endless(*_args, **_options):
        while True:
            pass

    def refuse(*_args, solver, **_options):
        raise fw.ParameterError(f'solver="{solver}" takes lines only.')

    assert {run.verdict for run in broken(monkeypatch, crash)} == {"crash"}
    assert {run.verdict for run in broken(monkeypatch, warn)} == {"warned"}
    assert {run.verdict for run in broken(monkeypatch, endless)} == {"slow"}
    assert [run.verdict for run in broken(monkeypatch, refuse)][:2] == ["crash", "refused"]


def test_the_default_must_be_certified_and_a_forced_solver_need_not(monkeypatch) -> None:
    drawn = next(
        one for one in (mixture(7, n, SMALL) for n in range(99))
        if one.tol is None and len(one.parts) > 2 and one.people > 1000
    )  # fmt: skip

    def short(*args, **options):
        return REAL(*args, **options, max_steps=1)

    monkeypatch.setattr(trials.fw, "gibu", short)
    verdicts = {run.function: run.verdict for run in tried(drawn)}
    assert verdicts[AUTOMATIC] == "uncertified"
    assert verdicts["passes"] == "stalled"


def test_evidence_that_cannot_be_collected_is_a_crash(monkeypatch) -> None:
    def refuse(_parts):
        raise fw.EvidenceError("no.")

    monkeypatch.setattr(fw, "collect", refuse)
    (run,) = tried(mixture(7, 3, SMALL))
    assert (run.function, run.verdict) == ("collect", "crash")
    assert "EvidenceError: no." in run.detail


def test_the_table_counts_and_the_list_names_what_broke() -> None:
    runs = [
        Run(0, "any", AUTOMATIC, "right", excess=1e-16, seconds=1.0),
        Run(0, "any", "passes", "wrong", "too good", excess=3e-9, seconds=2.0),
        Run(1, "any", "passes", "stalled"),
    ]
    head, *lines = table(runs).splitlines()
    assert head == "2 mixtures, 3 runs"
    columns = lines[0].split("  ")
    assert [line.split()[0] for line in lines[1:]] == [AUTOMATIC, "passes"]
    counts = ["2", "0", "0", "1", "0", "1", "0", "0", "0", "0", "0"]
    assert lines[2].split() == ["passes", *counts, "3e-09", "2"]
    assert [name.strip() for name in columns if name.strip()][:3] == ["function", "runs", "right"]
    assert faults(runs[::2], 5) == "Nothing broke."


def test_faults_that_differ_in_numbers_are_listed_together_the_worst_first() -> None:
    runs = [
        Run(3, "any", AUTOMATIC, "warned", "overflow (base.py:94)"),
        Run(4, "any", "passes", "crash", "KeyError: 7"),
        Run(5, "any", "passes", "wrong", "told 1.2e-09, true 3"),
        *(
            Run(number, "any", "passes", "wrong", f"told {number}, true -4e+3")
            for number in range(9)
        ),
        Run(6, "any", "columns", "right"),
    ]
    head, *lines = faults(runs, 5).splitlines()
    assert head.startswith("12 faults")
    assert "--seed 5" in head
    assert lines == [
        "  10 x passes wrong: told 1.2e-09, true 3 [5, 0, 1, 2, 3, 4]",
        "  1 x passes crash: KeyError: 7 [4]",
        "  1 x gibu warned: overflow (base.py:94) [3]",
    ]


class Here:
    """A pool that works in this process."""

    def __init__(self, jobs: int, context: object) -> None:
        assert jobs == 2
        assert context is multiprocessing.get_context("spawn")

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, work, jobs, chunksize):
        assert chunksize > 0
        return map(work, jobs)

    def shutdown(self, wait, cancel_futures):
        assert cancel_futures
        assert not wait


def run_command(monkeypatch, *words) -> int:
    monkeypatch.setattr(sys, "argv", ["stress", *map(str, words)])
    monkeypatch.setattr(command, "ProcessPoolExecutor", Here)
    for name in ("FREEWILL_CACHE", *command._ONE_THREAD):
        monkeypatch.setenv(name, "1")
    return command.main()


def test_the_command_prints_a_table_and_writes_all_runs(monkeypatch, capsys, tmp_path) -> None:
    file = tmp_path / "runs.json"
    words = ("--count", 4, "--first", 2, "--seed", 7, "--largest", 8, "--json", file)
    assert run_command(monkeypatch, *words) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("4 mixtures, ")
    assert "Nothing broke." in shown
    told = command.json.loads(file.read_text())
    assert {run["mixture"] for run in told["runs"]} == {2, 3, 4, 5}


@pytest.mark.slow
def test_the_command_fails_on_a_fault_and_shows_one_mixture_in_full(monkeypatch, capsys) -> None:
    assert run_command(monkeypatch, "--seed", 7, "--only", 3, "--largest", 8) == 0
    shown = capsys.readouterr().out
    assert str(mixture(7, 3, 8)) in shown
    assert "gibu (" in shown

    def crash(*_args, **_options):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(trials.fw, "gibu", crash)
    assert run_command(monkeypatch, "--seed", 7, "--only", 3, "--largest", 8) == 1
    assert run_command(monkeypatch, "--seed", 7, "--count", 1, "--largest", 8) == 1


def test_what_is_interrupted_tells_what_it_came_to(monkeypatch, capsys) -> None:
    def stopped(*_args, solver=None, **_options):
        raise KeyboardInterrupt

    class Halfway(Here):
        def map(self, work, jobs, chunksize):
            yield work(jobs[0])
            monkeypatch.setattr(trials.fw, "gibu", stopped)
            yield work(jobs[1])

    monkeypatch.setattr(sys.modules[__name__], "Here", Halfway)
    with pytest.raises(KeyboardInterrupt):
        run_command(monkeypatch, "--count", 9, "--seed", 7, "--largest", 8)
    assert capsys.readouterr().out.startswith("1 mixtures, ")
