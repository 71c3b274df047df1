"""The mechanism of Shokri et al.: our selections beside HiGHS on the whole program."""

import os
import tempfile
import time
from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

import freewill as fw
from benchmarks.harness import Figure, Row, isolated, limited
from freewill.paper.mixtures import SHOKRI_CITY, SHOKRI_LINE
from freewill.paper.places import CITY, LINE


def solve_all(where: str, selection: str) -> dict[str, float]:
    """Solve for all ten Q with an empty cache; return the seconds and the worst errors."""
    alphabet, levels = (LINE, SHOKRI_LINE) if where == "line" else (CITY, SHOKRI_CITY)
    worst = {"value": 0.0, "cost": -np.inf, "rows": 0.0}
    seconds = 0.0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FREEWILL_CACHE"] = folder
        for quality_loss in levels:
            mechanism = fw.Shokri(alphabet, quality_loss, selection=selection)
            started = time.process_time()
            law = mechanism.law()
            seconds += time.process_time() - started
            found = fw.audit(mechanism)
            short = (found.optimum - found.adversary_loss) / found.optimum
            worst["value"] = max(worst["value"], short)
            worst["cost"] = max(worst["cost"], found.user_loss - quality_loss)
            worst["rows"] = max(worst["rows"], float(np.abs(law.sum(axis=1) - 1).max()))
    return {"seconds": seconds, **worst}


def ten_on_the_line() -> Iterator[Row]:
    """All ten Q of the paper on the line 0..99."""
    for selection, limit in (("max-entropy", 0.5), ("vertex", None)):
        done = isolated(solve_all, "line", selection)
        name = f"line, ten Q, {selection}"
        yield limited(f"{name}: CPU time", Figure(done.result["seconds"], "s"), limit)
        yield limited(f"{name}: value short of the optimum", Figure(done.result["value"], ""), 1e-8)


def ten_on_the_grid() -> Iterator[Row]:
    """All ten Q of the paper on 24 x 16 cells."""
    done = isolated(solve_all, "grid", "max-entropy")
    name = "24 x 16, ten Q, max-entropy"
    yield limited(f"{name}: CPU time", Figure(done.result["seconds"], "s"), 5.0)
    yield limited(f"{name}: peak memory", done.memory, 300e6)
    yield limited(f"{name}: value short of the optimum", Figure(done.result["value"], ""), 1e-8)
    yield limited(f"{name}: E l beyond Q", Figure(done.result["cost"], ""), 1e-12)
    yield limited(f"{name}: rows off 1", Figure(done.result["rows"], ""), 1e-12)


def whole_program(
    prior: np.ndarray, report_loss: np.ndarray, guess_loss: np.ndarray, quality_loss: float
) -> tuple[float, float]:
    """Return the value of the paper's program, every guess written out, and HiGHS's seconds."""
    k = prior.size
    pair, value = np.arange(k * k), np.arange(k)
    output, guess = np.divmod(pair, k)
    guesses = csr_array(
        (
            np.concatenate([-(prior * guess_loss[:, guess].T).ravel(), np.ones(k * k)]),
            (
                np.concatenate([np.repeat(pair, k), pair]),
                np.concatenate([(value * k + output[:, None]).ravel(), k * k + output]),
            ),
        )
    )
    cost = csr_array(np.append((prior[:, None] * report_loss).ravel(), np.zeros(k))[None, :])
    rows = csr_array((np.ones(k * k), (pair // k, pair)), shape=(k, k * k + k))
    started = time.process_time()
    answer = linprog(
        np.append(np.zeros(k * k), -np.ones(k)),
        A_ub=vstack([guesses, cost]),
        b_ub=np.append(np.zeros(k * k), quality_loss),
        A_eq=rows,
        b_eq=np.ones(k),
        bounds=[(0, None)] * (k * k) + [(None, None)] * k,
        method="highs",
        options={"time_limit": 300.0},
    )
    if answer.status != 0:
        raise RuntimeError(f"HiGHS on {k} values: {answer.message}")
    return -float(answer.fun), time.process_time() - started


def grid_program(columns: int, rows: int) -> list[float]:
    """Run HiGHS on the whole program of a grid at Q = Qmax / 2."""
    distance = fw.distances(fw.Grid(columns, rows, 0.5))
    prior = np.full(len(distance), 1 / len(distance))
    return list(whole_program(prior, distance, distance, (prior @ distance).min() / 2))


def our_grid(columns: int, rows: int) -> list[float]:
    """Run the max-entropy selection on the same."""
    grid = fw.Grid(columns, rows, 0.5)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FREEWILL_CACHE"] = folder
        mechanism = fw.Shokri(grid, fw.Shokri(grid, 1.0).problem.largest_loss / 2)
        started = time.process_time()
        mechanism.law()
        seconds = time.process_time() - started
    return [mechanism.guarantee().adversary_loss, seconds]


def growth() -> Iterator[Row]:
    """HiGHS on the whole program, and how it grows."""
    last: tuple[int, float] | None = None
    for columns, rows in ((6, 4), (9, 6), (12, 8)):
        theirs = isolated(grid_program, columns, rows)
        ours = isolated(our_grid, columns, rows)
        (value, seconds), (own, own_seconds) = theirs.result, ours.result
        power = ""
        if last is not None:
            exponent = np.log(seconds / last[1]) / np.log(columns * rows / last[0])
            power = f", grows as k^{exponent:.1f}"
        last = (columns * rows, seconds)
        yield Row(
            f"{columns} x {rows}, Q = Qmax/2: CPU time",
            Figure(own_seconds, "s"),
            f"HiGHS, whole program ({theirs.memory}{power})",
            Figure(seconds, "s"),
            seconds / own_seconds,
        )
        yield limited(
            f"{columns} x {rows}: difference of the values", Figure(abs(own - value), ""), 1e-8
        )


def line_vertex() -> Iterator[Row]:
    """The vertex on the line against the whole program, at Q = 10."""
    distance = fw.distances(LINE)
    prior = np.full(100, 0.01)
    value, seconds = whole_program(prior, distance, distance, 10.0)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FREEWILL_CACHE"] = folder
        mechanism = fw.Shokri(LINE, 10.0, selection="vertex")
        started = time.process_time()
        mechanism.law()
        own = time.process_time() - started
    yield Row(
        "line, Q=10, vertex: CPU time",
        Figure(own, "s"),
        "HiGHS, whole program",
        Figure(seconds, "s"),
        seconds / own,
    )
    off = abs(mechanism.guarantee().adversary_loss - value)
    yield limited("line, Q=10, vertex: difference of the values", Figure(off, ""), 1e-8)


def different_losses() -> Iterator[Row]:
    """An adversary who counts only hits, a user who minds squared kilometres; k = 96."""
    grid = fw.Grid(12, 8, 0.5)
    report_loss, guess_loss = fw.distances(grid) ** 2, 1 - np.eye(96)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FREEWILL_CACHE"] = folder
        mechanism = fw.Shokri(grid, 1.0, report_loss=report_loss, guess_loss=guess_loss)
        started = time.process_time()
        mechanism.law()
        own = time.process_time() - started
    value, seconds = whole_program(np.full(96, 1 / 96), report_loss, guess_loss, 1.0)
    yield Row(
        "12 x 8, Hamming adversary, squared quality: CPU time",
        Figure(own, "s"),
        "HiGHS, whole program",
        Figure(seconds, "s"),
        seconds / own,
    )
    yield limited("12 x 8, Hamming, squared: own certified gap", Figure(mechanism.gap, ""), 1e-6)
    off = abs(mechanism.guarantee().adversary_loss - value)
    yield limited("12 x 8, Hamming, squared: difference to HiGHS", Figure(off, ""), 1e-6)


BENCHMARKS = (ten_on_the_line, ten_on_the_grid, growth, line_vertex, different_losses)
