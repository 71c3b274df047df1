"""A trial: one mixture through the automatic choice and every solver, judged by the oracle."""

import signal
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np

import freewill as fw
from freewill.core.types import FloatArray
from freewill.errors import ParameterError
from freewill.stats.estimators.gibu import SolverName
from tools.stress.mixtures import Mixture, mixture
from tools.stress.oracle import Oracle

AUTOMATIC = "automatic"
BAD = ("wrong", "crash", "uncertified", "slow", "warned")
"""The worst first."""
_ALL_SOLVERS = 200
"""Size up to which every solver is forced; beyond, one of them a mixture, by its number."""
_ROUNDING = 2.0**-53


@dataclass(frozen=True)
class Run:
    """What came of one solver on one mixture.

    The verdict is certified, stalled (not within the tolerance, and it says so), refused (the
    solver does not take that structure), or one of `BAD`. `excess` is the true gap minus the one
    that was told.
    """

    mixture: int
    family: str
    solver: str
    verdict: str
    detail: str = ""
    chosen: str = ""
    excess: float = -np.inf
    seconds: float = 0.0

    def told(self) -> dict[str, Any]:
        """Return the run as it stands in a file of JSON."""
        return {**asdict(self), "excess": None if np.isinf(self.excess) else self.excess}


def solvers(drawn: Mixture) -> list[str]:
    """Name the runs of a mixture: the automatic choice, and the solvers that are forced on it."""
    names: list[str] = list(get_args(SolverName))
    if drawn.alphabet.size > _ALL_SOLVERS:
        names = [names[drawn.number % len(names)]]
    return [AUTOMATIC, *names]


def attempt(job: tuple[int, int, int, float]) -> list[Run]:
    """Draw a mixture and try it: (seed, number, largest size, seconds)."""
    seed, number, largest, seconds = job
    return tried(mixture(seed, number, largest), seconds)


def tried(drawn: Mixture, seconds: float = 60.0) -> list[Run]:
    """Run the automatic choice and every solver, each within so many seconds of processor time."""
    oracle = Oracle(drawn.parts)
    try:
        evidence = drawn.evidence()
    except Exception as error:  # any exception here is what is looked for
        return [Run(drawn.number, drawn.family, "collect", "crash", _named(error))]
    return [_tried(drawn, oracle, evidence, name, seconds) for name in solvers(drawn)]


def _tried(drawn: Mixture, oracle: Oracle, evidence: fw.Evidence, name: str, seconds: float) -> Run:
    who = (drawn.number, drawn.family, name)
    solver: Any = None if name == AUTOMATIC else name
    begun = time.process_time()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            with _limited(seconds):
                found = fw.gibu(evidence, tol=drawn.tol, solver=solver)
        except _OutOfTimeError:
            return Run(*who, "slow", f"more than {seconds:g} s", "", -np.inf, seconds)
        except ParameterError as error:
            verdict = "refused" if solver and f'solver="{solver}" takes' in str(error) else "crash"
            return Run(*who, verdict, _named(error))
        except Exception as error:  # any exception here is what is looked for
            return Run(*who, "crash", _named(error))
    took = time.process_time() - begun
    tol = 0.01 / drawn.people if drawn.tol is None else drawn.tol
    excess, fault = judged(oracle, found, tol)
    verdict, detail = str(found.status), fault
    if fault:
        verdict = "wrong"
    elif warned:
        verdict, detail = "warned", _warning(warned[0])
    elif found.status != fw.Status.CERTIFIED:
        default = drawn.tol is None and solver is None
        verdict = "uncertified" if default else "stalled"
        detail = f"{found.status}, gap {found.gap:.3g}, tol {tol:.3g}, {found.steps} steps"
    return Run(*who, verdict, detail, found.solver, excess, took)


def judged(oracle: Oracle, found: fw.Estimate, tol: float) -> tuple[float, str]:
    """Return the true gap minus the one told, and what is wrong with an estimate, if anything.

    Rounding is allowed for as much as `Truth` says, and nothing else: a certificate holds to
    tol + gap_error or is wrong, and no gap is understated by more than gap_error.
    """
    numbers = [found.gap, found.log_likelihood, *found.theta]
    if not np.all(np.isfinite(numbers)):
        return np.inf, f"not finite: gap {found.gap}, L {found.log_likelihood}"
    if fault := _off_the_simplex(found.theta):
        return np.inf, fault
    truth = oracle.truth(found.theta)
    excess = truth.gap - found.gap
    certified = found.status == fw.Status.CERTIFIED
    told = f"told gap {found.gap:.4g}, true {truth.gap:.4g} +- {truth.gap_error:.1g}, tol {tol:.4g}"
    off = abs(found.log_likelihood - truth.value)
    fault = ""
    if certified and truth.gap > tol + truth.gap_error:
        fault = f"certified what is not: {told}"
    elif excess > truth.gap_error:
        fault = f"the gap is understated: {told}"
    elif certified != (found.gap <= tol):
        fault = f"status {found.status}, but {told}"
    elif not off <= truth.value_error:
        fault = f"L is {found.log_likelihood!r}, true {truth.value!r} +- {truth.value_error:.1g}"
    return excess, fault


def _off_the_simplex(theta: FloatArray) -> str:
    """Say how theta fails to be a distribution, to the rounding of its sum."""
    if theta.min() < 0:
        return f"theta has {theta.min()}"
    off = abs(float(theta.astype(np.longdouble).sum() - 1))
    return f"theta sums to 1 +- {off:.3g}" if off > (theta.size + 4) * _ROUNDING else ""


class _OutOfTimeError(Exception):
    """The time is up."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise after so many seconds of this process's own time: a busy machine ends nothing."""

    def stop(*_: object) -> None:
        raise _OutOfTimeError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _named(error: BaseException) -> str:
    """Say what was raised, and the last place in the library on the way there."""
    ours = [f for f in traceback.extract_tb(error.__traceback__) if "freewill" in f.filename]
    where = f" ({_short(ours[-1].filename)}:{ours[-1].lineno})" if ours else ""
    return f"{type(error).__name__}: {error}{where}"


def _warning(message: warnings.WarningMessage) -> str:
    return f"{message.message} ({_short(message.filename)}:{message.lineno})"


def _short(path: str) -> str:
    """Leave out what is before the package: it differs from machine to machine."""
    return path[path.rfind("freewill") :]
