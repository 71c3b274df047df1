"""Other ways to the most likely theta: EM, cvxpy with Clarabel, and R's mixsqp.

All run on one thread and are timed in CPU seconds, which are the seconds of a quiet machine.
"""

import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

import freewill as fw
from benchmarks.environments import NotInstalledError
from benchmarks.harness import ROOT
from freewill.numeric.operators.base import DenseOperator, probabilities

STOP = 60.0
_DENSE_ENTRIES = 5e7
_CHECK_SECONDS = 0.01
_DENORMAL = 1e-150
_MIXSQP = ROOT / "benchmarks" / "rivals" / "mixsqp.R"
# Of all settings tried, the fastest that gets below 1e-9: its default eps, added to every
# probability, keeps the gap above 1e-6, and its low-rank approximation costs more than it saves.
MIXSQP_FASTEST = {"eps": 0.0, "tol.svd": 0.0, "convtol.sqp": 1e-9}


@dataclass(frozen=True)
class Run:
    """How a solver fared: CPU seconds, steps and the all-coordinate gap of its theta."""

    seconds: float
    steps: int
    gap: float
    stopped: float | None = None
    """The limit of seconds that came before the gap."""


def cpu_seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the least CPU seconds of a call."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def em(evidence: fw.Evidence, tol: float, stop: float = STOP) -> Run:
    """Run EM from the uniform distribution to a certified gap, or until it is stopped.

    The slope that EM multiplies theta by is the one that certifies it, so that a check costs no
    product, and there is one every 10 ms only.
    """
    slope, step_seconds = _fastest_slope(evidence)
    every = max(1, int(_CHECK_SECONDS / step_seconds))
    theta = uniform(evidence)
    start = time.process_time()
    for step in count(1):
        growth = slope(theta)
        if step % every == 0:
            gap = _gap(evidence, theta, growth)
            seconds = time.process_time() - start
            if gap <= tol or seconds > stop:
                return Run(seconds, step, gap, None if gap <= tol else stop)
            theta[theta < _DENORMAL] = 0.0
        theta = theta * growth
    raise AssertionError("unreachable")


def uniform(evidence: fw.Evidence) -> np.ndarray:
    """Return the start of EM."""
    return np.full(evidence.alphabet.size, 1 / evidence.alphabet.size)


def _fastest_slope(evidence: fw.Evidence) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """Return theta -> P'(w / P theta) by whichever products are faster here, and its time."""
    operators: list[fw.Operator] = [evidence.operator]
    if np.prod(evidence.operator.shape) <= _DENSE_ENTRIES:
        operators.append(DenseOperator(evidence.operator.dense()))
    theta = uniform(evidence)
    timed = []
    for operator in operators:

        def slope(theta: np.ndarray, operator: fw.Operator = operator) -> np.ndarray:
            return operator.adjoint(evidence.weights / operator.forward(theta))

        timed.append((cpu_seconds(lambda slope=slope: slope(theta), 5), slope))
    seconds, fastest = min(timed, key=lambda pair: pair[0])
    return fastest, seconds


def _gap(evidence: fw.Evidence, theta: np.ndarray, slope: np.ndarray) -> float:
    """Return log max g, which bounds the likelihood still to be gained; over all values."""
    return float(np.log(slope.max() * theta.sum() / evidence.weights.sum()))


def _answer_gap(evidence: fw.Evidence, answer: np.ndarray) -> float:
    """Return the gap of an answer after what its solver left outside the simplex is cut off."""
    theta = fw.normalise(answer)
    operator = evidence.operator
    return _gap(evidence, theta, operator.adjoint(evidence.weights / operator.forward(theta)))


def clarabel(evidence: fw.Evidence) -> Run:
    """Solve with cvxpy and Clarabel as they come; nearly all of the time is Clarabel's."""
    try:
        import cvxpy as cp  # noqa: PLC0415
    except ImportError as missing:
        raise NotInstalledError(str(missing)) from None
    rows = probabilities(evidence.operator)
    theta = cp.Variable(evidence.alphabet.size, nonneg=True)
    value = evidence.weights @ cp.log(rows @ theta)
    problem = cp.Problem(cp.Maximize(value), [cp.sum(theta) == 1])
    start = time.process_time()
    problem.solve(solver=cp.CLARABEL, max_threads=1)
    seconds = time.process_time() - start
    return Run(seconds, problem.solver_stats.num_iters, _answer_gap(evidence, theta.value))


def mixsqp(evidence: fw.Evidence, **control: float) -> Run:
    """Solve with mixsqp in R; reading the problem is not timed."""
    rows = probabilities(evidence.operator)
    with tempfile.TemporaryDirectory() as folder:
        problem, answer = Path(folder, "problem"), Path(folder, "answer")
        with problem.open("wb") as file:
            np.array(rows.shape, np.int32).tofile(file)
            np.ascontiguousarray(rows.T).tofile(file)
            evidence.weights.tofile(file)
        # R's clock ticks in milliseconds: small problems are solved many times a reading.
        repeats = max(1, min(100, int(1e6 / rows.size)))
        settings = [f"{name}={value!r}" for name, value in control.items()]
        said = _rscript(str(_MIXSQP), str(problem), str(answer), str(repeats), *settings)
        seconds, steps = said.split()
        return Run(float(seconds), int(steps), _answer_gap(evidence, np.fromfile(answer)))


def _rscript(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["Rscript", "--vanilla", *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise NotInstalledError("Rscript with mixsqp") from None
    if done.returncode and "there is no package called" in done.stderr:
        raise NotInstalledError("Rscript with mixsqp")
    if done.returncode and "the reference BLAS" in done.stderr:
        raise NotInstalledError("OpenBLAS for R")
    if done.returncode:
        raise RuntimeError(f"mixsqp failed: {done.stderr.strip()}")
    return done.stdout
