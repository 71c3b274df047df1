"""A trial: one mixture through every solver and every public number, judged by the oracle."""

import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

import numpy as np

import freewill as fw
from freewill.errors import FreewillError
from freewill.stats.estimators.gibu import SolverName
from tools.stress.families import mixture
from tools.stress.functions import DOCUMENTED, FUNCTIONS, tried_on
from tools.stress.judges import NOT_FINITE, WIDE, not_finite, off_the_simplex
from tools.stress.mixtures import Mixture
from tools.stress.oracle import Oracle
from tools.stress.subject import Subject

AUTOMATIC = "gibu"
BAD = ("wrong", "nan", "crash", "uncertified", "slow", "warned")
"""The worst first."""
SOLVERS: tuple[str, ...] = (AUTOMATIC, *get_args(SolverName))
_ALL_SOLVERS = 200
"""Size up to which every solver is forced; beyond, one of them a mixture, by its number."""


@dataclass(frozen=True)
class Run:
    """What came of one function on one mixture: of a solver of `gibu`, or of another number.

    The verdict is right, wide (infinite, where a number could be had), stalled (not within the
    tolerance, and it says so), refused (with a reason that is documented), or one of `BAD`.
    `excess` is the true gap minus the one that was told, `p_value` that of a test of what holds.
    """

    mixture: int
    family: str
    function: str
    verdict: str
    detail: str = ""
    chosen: str = ""
    excess: float = -np.inf
    seconds: float = 0.0
    p_value: float | None = None

    def told(self) -> dict[str, Any]:
        """Return the run as it stands in a file of JSON."""
        return {**asdict(self), "excess": None if np.isinf(self.excess) else self.excess}


def solvers(drawn: Mixture) -> list[str]:
    """Name the runs of `gibu`: the automatic choice, and the solvers that are forced."""
    names = list(SOLVERS[1:])
    if drawn.alphabet.size > _ALL_SOLVERS:
        names = [names[drawn.number % len(names)]]
    return [AUTOMATIC, *names]


def attempt(job: tuple[int, int, int, float]) -> list[Run]:
    """Draw a mixture and try it: (seed, number, largest size, seconds)."""
    seed, number, largest, seconds = job
    return tried(mixture(seed, number, largest), seconds)


def tried(drawn: Mixture, seconds: float = 60.0, everything: bool = False) -> list[Run]:
    """Try all solvers, and the functions whose turn it is or all, each within so many seconds."""
    subject = Subject(drawn)
    try:
        _ = subject.evidence
    except Exception as error:  # any exception here is what is looked for
        return [Run(drawn.number, drawn.family, "collect", "crash", _named(error))]
    runs = [_solved(subject, name, seconds) for name in solvers(drawn)]
    return runs + [_answered(subject, name, seconds) for name in tried_on(subject, everything)]


def _solved(subject: Subject, name: str, seconds: float) -> Run:
    """Try `gibu`, by itself or by a solver that is forced."""
    drawn = subject.mixture
    solver: Any = None if name == AUTOMATIC else name
    refusals = (f'solver="{solver}" takes',) if solver else ()
    run, estimate = _called(
        subject, name, seconds, refusals,
        lambda: fw.gibu(subject.evidence, tol=drawn.tol, solver=solver),
    )  # fmt: skip
    if estimate is None:
        return run
    tol = 0.01 / drawn.people if drawn.tol is None else drawn.tol
    excess, fault = judged(subject.oracle, estimate, tol)
    run = replace(run, chosen=estimate.solver, excess=excess)
    if not fault and not run.detail and estimate.status != fw.Status.CERTIFIED:
        default = drawn.tol is None and solver is None
        steps = f"{estimate.status}, gap {estimate.gap:.3g}, tol {tol:.3g}, {estimate.steps} steps"
        return replace(run, verdict="uncertified" if default else "stalled", detail=steps)
    return _with_verdict(run, fault)


def _answered(subject: Subject, name: str, seconds: float) -> Run:
    """Try another function."""
    function = FUNCTIONS[name]
    run, answer = _called(subject, name, seconds, function.refusals, lambda: function.call(subject))
    if answer is None:
        return run
    if function.p_value is not None:
        run = replace(run, p_value=function.p_value(answer))
    try:
        return _with_verdict(run, function.judge(subject, answer))
    except Exception as error:  # a judge that breaks must not end a run of half an hour
        return replace(run, verdict="crash", detail=f"its judge: {_named(error)}")


def _called(
    subject: Subject,
    name: str,
    seconds: float,
    refusals: tuple[str, ...],
    call: Callable[[], Any],
) -> tuple[Run, Any]:
    """Return what a call returned and the run so far; nothing where it returned nothing."""
    run = Run(subject.mixture.number, subject.mixture.family, name, "right")
    begun = time.process_time()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            with _limited(seconds):
                answer = call()
        except _OutOfTimeError:
            late = replace(run, verdict="slow", seconds=seconds)
            return replace(late, detail=f"more than {seconds:g} s"), None
        except Exception as error:  # any exception here is what is looked for
            expected = isinstance(error, FreewillError) and any(
                words in str(error) for words in refusals
            )
            verdict = "refused" if expected else "crash"
            return replace(run, verdict=verdict, detail=_named(error)), None
    run = replace(run, seconds=time.process_time() - begun)
    undocumented = [one for one in warned if not issubclass(one.category, DOCUMENTED)]
    if undocumented:
        run = replace(run, verdict="warned", detail=_warning(undocumented[0]))
    return run, answer


def _with_verdict(run: Run, fault: str) -> Run:
    """Return a run with what its judge said; nothing is worse than a warning that was not."""
    if not fault or (fault.startswith(WIDE) and run.verdict == "warned"):
        return run
    if fault.startswith(WIDE):
        return replace(run, verdict="wide", detail=fault)
    return replace(run, verdict="nan" if fault.startswith(NOT_FINITE) else "wrong", detail=fault)


def judged(oracle: Oracle, found: fw.Estimate, tol: float) -> tuple[float, str]:
    """Return the true gap minus the one told, and what is wrong with an estimate, if anything.

    Rounding is allowed for as much as `Truth` says, and nothing else: a certificate holds to
    tol + gap_error or is wrong, and no gap is understated by more than gap_error.
    """
    fault = not_finite(gap=found.gap, L=found.log_likelihood) or off_the_simplex(found.theta)
    if fault:
        return np.inf, fault
    truth = oracle.truth(found.theta)
    excess = truth.gap - found.gap
    certified = found.status == fw.Status.CERTIFIED
    told = f"told gap {found.gap:.4g}, true {truth.gap:.4g} +- {truth.gap_error:.1g}, tol {tol:.4g}"
    off = abs(found.log_likelihood - truth.value)
    if certified and truth.gap > tol + truth.gap_error:
        fault = f"certified what is not: {told}"
    elif excess > truth.gap_error:
        fault = f"the gap is understated: {told}"
    elif certified != (found.gap <= tol):
        fault = f"status {found.status}, but {told}"
    elif not off <= truth.value_error:
        fault = f"L is {found.log_likelihood!r}, true {truth.value!r} +- {truth.value_error:.1g}"
    return excess, fault


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
