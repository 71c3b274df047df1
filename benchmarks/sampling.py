"""Sampling a million reports, beside multi-freq-ldpy and pure-ldp in their own environments."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import freewill as fw
from benchmarks.environments import NotInstalledError, Rival, rival
from benchmarks.harness import Clock, Figure, Row, best, clock, compared

_PEOPLE = 1_000_000
_SIZE = 100
_EPSILON = 1.0
_MEMORY = "rappor: memory a report"


@dataclass(frozen=True)
class Task:
    """A mechanism of ours, and what is asked of it against a rival's sampler."""

    mechanism: fw.Mechanism
    sampler: str
    at_least: float
    rival_people: int
    """How many values the rival samples; its time is scaled to all people."""


_LINE = fw.Linear(0, _SIZE - 1)
_KRR = Task(fw.KRR(_LINE, _EPSILON), "krr", 10, _PEOPLE)
# A million reports of theirs would take 800 MB, and most of a minute with pure-ldp.
_RAPPOR = Task(fw.RAPPOR(_LINE, _EPSILON), "rappor", 4, 50_000)


def rows(package: str, script: str, variants: tuple[str, ...] = ("",)) -> Iterator[Row]:
    """Yield the rows against one rival, or rows that say why there are none."""
    values = np.random.default_rng(0).integers(0, _SIZE, _PEOPLE)
    try:
        with rival(package, script) as other:
            for variant in variants:
                for task in (_KRR, _RAPPOR):
                    yield speed(package, other, task, values, variant)
            yield memory(package, other)
    except NotInstalledError as reason:
        missing = f"{package} not installed: {reason}"
        for task in (_KRR, _RAPPOR):
            (ours,) = best(ours_clock(task, values))
            yield Row(what(task), ours, missing, asked=f"ratio >= {task.at_least:g}")
        yield Row(_MEMORY, report_bytes(), missing, asked="ratio >= 30")


def speed(package: str, other: Rival, task: Task, values: np.ndarray, variant: str) -> Row:
    """Time ours and theirs in turns."""
    sampler = f"{task.sampler}{variant}"
    sample = values[: task.rival_people].tolist()

    def theirs_clock() -> float:
        answer = other.ask(sampler=sampler, values=sample, epsilon=_EPSILON, size=_SIZE)
        return float(answer["seconds"]) * _PEOPLE / task.rival_people

    other.ask(sampler=sampler, values=sample[:10], epsilon=_EPSILON, size=_SIZE)
    ours, theirs = best(ours_clock(task, values), theirs_clock)
    name = package + variant.replace("_", ", ")
    if task.rival_people < _PEOPLE:
        name += f" (scaled from {task.rival_people:,})"
    return compared(what(task), ours, name, theirs, task.at_least)


def ours_clock(task: Task, values: np.ndarray) -> Clock:
    """Return the clock of our sampler."""
    rng = np.random.default_rng(1)
    return clock(lambda: task.mechanism.obfuscate(values, rng))


def what(task: Task) -> str:
    """Say what is sampled."""
    return f"{task.mechanism.name}: sample {_PEOPLE:,} values, k={_SIZE}, epsilon={_EPSILON:g}"


def memory(package: str, other: Rival) -> Row:
    """Compare the bytes of one RAPPOR report; theirs without Python's own overhead."""
    answer = other.ask(sampler="rappor", values=[0], epsilon=_EPSILON, size=_SIZE)
    theirs = Figure(answer["report_bytes"], "B")
    return compared(_MEMORY, report_bytes(), package, theirs, at_least=30)


def report_bytes() -> Figure:
    """Return the bytes of one packed report of ours."""
    report = _RAPPOR.mechanism.obfuscate([0], np.random.default_rng(1))
    return Figure(report.nbytes, "B")


def multi_freq_ldpy() -> Iterator[Row]:
    """k-RR and RAPPOR beside multi-freq-ldpy, also in a compiled loop around its samplers."""
    return rows("multi-freq-ldpy", "sample_multi_freq_ldpy.py", ("", "_compiled"))


def pure_ldp() -> Iterator[Row]:
    """k-RR and RAPPOR beside pure-ldp."""
    return rows("pure-ldp", "sample_pure_ldp.py")


BENCHMARKS = (multi_freq_ldpy, pure_ldp)
