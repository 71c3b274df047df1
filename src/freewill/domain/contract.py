"""What every mechanism is held to, tried on one: sampler, law, promise and description agree."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.alphabets.base import distances
from freewill.domain.draws.sources import GeneratorBytes
from freewill.domain.guarantees.audit import audit
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism, is_mechanism
from freewill.domain.mechanisms.registry import portable_spec
from freewill.errors import FreewillError, LawError, ParameterError, raised, several, shown
from freewill.numeric.operators.base import dot_test, probabilities

_DRAWS, _ONE_BY_ONE = 20_000, 2_000
"""Reports drawn at once, and from bytes one by one, which is slow."""
_ENTRIES = 1 << 22
"""Of a law that is looked at as a whole, or of that of drawn reports: 32 MiB."""
_CHANCE = 1e-7
"""Of a false alarm in each test of drawn reports."""
_LEAST = 10.0
"""Reports expected in a cell of a G-test; rarer outputs are merged."""
_SUM = 1e-9
"""By how much a value's probabilities may sum to another number than 1."""
_NEAR = 0.05
"""Share by which moments may differ from those of drawn reports."""


@dataclass(frozen=True)
class Finding:
    """What one trial found: passed, failed, or (None) not tried, and why."""

    what: str
    passed: bool | None
    text: str

    def __str__(self) -> str:
        mark = {True: "ok", False: "FAILED", None: "not tried"}[self.passed]
        return f"  {mark:<9}  {self.what}: {self.text}"


@dataclass(frozen=True)
class MechanismCheck:
    """What all trials of a mechanism found; `passed` where none failed.

    >>> import freewill as fw
    >>> fw.check_mechanism(fw.KRR(fw.Linear(0, 4), epsilon=1.0)).passed
    True
    """

    mechanism: Any
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether no trial failed."""
        return all(finding.passed is not False for finding in self.findings)

    def __str__(self) -> str:
        verdict = "keeps its contract" if self.passed else "does NOT keep its contract"
        return "\n".join([f"{_named(self.mechanism)} {verdict}", *map(str, self.findings)])


def check_mechanism(mechanism: Mechanism, rng: np.random.Generator | None = None) -> MechanismCheck:
    """Try a mechanism as the tests of this library try theirs, and tell what was found.

    That every value's probabilities sum to 1, where outputs can be listed; that forward and
    adjoint of its operator belong together; that `obfuscate` draws from the law and `draw` from the
    same, by G-tests or, of reports that cannot be listed, by what the law makes of values that were
    drawn evenly; that the law keeps the promise; that reports are written and read again; that own
    `moments` are those of the law; and that a description gives the mechanism back. The draws are
    the same each time unless a generator is given; one test in 10^7 is a false alarm.

    The cost is that of the law, O(outputs * k), and of its draws.

    >>> import freewill as fw
    >>> print(fw.check_mechanism(fw.KRR(fw.Linear(0, 9), epsilon=1.0)))
    k-rr(0..9, epsilon=1) keeps its contract
      ok         law: the probabilities of all 10 outputs sum to 1 for each value
      ok         operator: forward and adjoint belong together
      ok         obfuscate: 20,000 reports agree with the law (p = ...)
      ok         draw: 2,000 reports agree with the law (p = ...)
      ok         guarantee: claimed ldp epsilon 1: holds, and it is tight. The law gives 1, ...
      ok         reports: written as texts and as columns, and read again
      not tried  moments: made from the law, as they are for all
      ok         description: read again it is the same mechanism, ...
      not tried  program: none: browsers draw kinds that they know by name
    """
    if not is_mechanism(mechanism):
        raise ParameterError(f"{shown(mechanism)}: expected a mechanism, such as fw.KRR(...).")
    if not (rng is None or isinstance(rng, np.random.Generator)):
        raise ParameterError(f"rng={shown(rng)}: expected numpy.random.default_rng(seed).")
    trial = _Trial(mechanism, np.random.default_rng(0) if rng is None else rng)
    return MechanismCheck(mechanism, tuple(_tried(what, getattr(trial, what)) for what in _TRIALS))


class _NotTriedError(FreewillError):
    """There is nothing to try, and why."""


def _tried(what: str, trial: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, trial())
    except _NotTriedError as reason:
        return Finding(what, None, str(reason))
    except FreewillError as fault:
        return Finding(what, False, str(fault))
    except Exception as fault:  # whatever somebody else's class raises
        return Finding(what, False, raised(fault))


def _named(mechanism: Any) -> str:
    try:
        return str(mechanism)
    except Exception:  # whatever somebody else's class raises
        return type(mechanism).__name__


_TRIALS = [
    "law",
    "operator",
    "obfuscate",
    "draw",
    "guarantee",
    "reports",
    "moments",
    "description",
    "program",
]
"""Methods of a trial, in their order, by which findings are named."""


class _Trial:
    """One mechanism, and reports of it."""

    def __init__(self, mechanism: Any, rng: np.random.Generator) -> None:
        self.mechanism, self.rng = mechanism, rng
        self.size: int = mechanism.alphabet.size

    @cached_property
    def listed(self) -> Reports | None:
        """All outputs, where they can be listed and are not too many."""
        if not self.mechanism.output_space.listable:
            return None
        outputs = self.mechanism.outputs()
        return outputs if len(outputs) * self.size <= _ENTRIES else None

    @cached_property
    def drawn(self) -> tuple[IntArray, Reports]:
        """Values, each as often as any other, and a report of each."""
        values = np.arange(_bounded(_DRAWS, self.size)) % self.size
        return values, self.mechanism.obfuscate(values, self.rng)

    def obfuscate(self) -> str:
        """Compare reports that were drawn at once with the law."""
        return self.sampler(*self.drawn)

    def draw(self) -> str:
        """Compare reports with the law that were drawn one by one, as a device does."""
        source = GeneratorBytes(self.rng)
        values = np.arange(_bounded(_ONE_BY_ONE, self.size)) % self.size
        try:
            first = self.mechanism.draw(0, source)
        except LawError as fault:
            raise _NotTriedError(f"{fault} Without it no device reports.") from None
        rest = [self.mechanism.draw(int(value), source) for value in values[1:]]
        return self.sampler(values, np.array([first, *rest]))

    def law(self) -> str:
        """Add up the law of all outputs."""
        if self.listed is None:
            raise _NotTriedError(
                "not all outputs can be listed here; on an alphabet of a few values they may be"
            )
        table = probabilities(self.mechanism.operator(self.listed))
        if not np.all(table >= 0):
            raise LawError(f"a probability of {np.nanmin(table):.3g}: expected numbers >= 0.")
        sums = table.sum(axis=0)
        worst = int(np.argmax(np.abs(sums - 1)))
        if not np.all(np.abs(sums - 1) <= _SUM):
            raise LawError(
                f"the probabilities of value {worst} sum to {sums[worst]:.9g}, not to 1: has every "
                f"output its factor, log_scale, in operator(outputs)?"
            )
        every = several(len(self.listed), "output")
        return f"the probabilities of all {every} sum to 1 for each value"

    def operator(self) -> str:
        """Hold the two products against each other, and against the rows as an array."""
        operator = self.mechanism.operator(self.drawn[1])
        dot_test(operator, self.rng)
        theta = self.rng.random(self.size)
        rows = operator.dense()
        if not np.allclose(operator.forward(theta), rows @ theta, rtol=1e-9, atol=1e-12):
            raise LawError("forward(theta) is not dense() @ theta.")
        return "forward and adjoint belong together"

    def sampler(self, values: IntArray, reports: Reports) -> str:
        """Compare reports with the law."""
        reports = self.mechanism.output_space.checked(reports, self.mechanism.name)
        if len(reports) != len(values):
            raise LawError(
                f"{several(len(reports), 'report')} of {several(len(values), 'value')}: expected "
                f"one each."
            )
        rows = self.mechanism.operator(reports).dense()
        own = rows[np.arange(len(values)), values]
        if not np.all(own > 0):
            raise LawError(
                f"report {shown(reports[int(np.argmin(own))])} was drawn, and the law says that it "
                f"is impossible for its value."
            )
        chance = (
            self.counted(values, reports) if self.listed is not None else _calibration(rows, values)
        )
        if not chance > _CHANCE:
            raise LawError(
                f"{several(len(values), 'report')} do not agree with the law (p = {chance:.2g}): "
                f"sampler and operator speak of two laws."
            )
        return f"{several(len(values), 'report')} agree with the law (p = {chance:.2g})"

    def counted(self, values: IntArray, reports: Reports) -> float:
        """Return the least p-value of G-tests of some values, times their number."""
        from scipy.special import chdtrc  # noqa: PLC0415

        assert self.listed is not None
        place = {np.asarray(one).tobytes(): index for index, one in enumerate(self.listed)}
        law = probabilities(self.mechanism.operator(self.listed)).T
        joint = np.zeros(law.shape)
        for value, report in zip(values.tolist(), reports, strict=True):
            joint[value, place[np.asarray(report).tobytes()]] += 1
        # By value, and all values together: differences that each value has in common add up.
        tests = [(joint.ravel(), (joint.sum(axis=1)[:, None] * law).ravel())]
        tests += [(counts, counts.sum() * row) for counts, row in zip(joint, law, strict=True)]
        chances = []
        for position, (counts, expected) in enumerate(tests):
            statistic, cells = _deviance(counts, expected)
            fixed = len(law) if position == 0 else 1
            chances.append(float(chdtrc(cells - fixed, statistic)) if cells > fixed else 1.0)
        return min(1.0, len(chances) * min(chances))

    def guarantee(self) -> str:
        """Audit the promise, or try it on reports that were drawn."""
        promise = self.mechanism.guarantee()
        try:
            outcome = audit(self.mechanism)
        except LawError:
            if not isinstance(promise, Guarantee):
                raise
            return self.tried_promise(promise)
        if not outcome.holds:
            raise LawError(str(outcome))
        if isinstance(promise, Guarantee) and not math.isinf(promise.epsilon):
            # Whatever the witnesses are.
            self.tried_promise(promise)
        return str(outcome)

    def tried_promise(self, promise: Guarantee) -> str:
        """Look for a report that tells two values apart by more than is promised."""
        reports = self.drawn[1] if self.listed is None else self.listed
        logs = self.mechanism.operator(reports).log_dense()
        if promise.kind == "ldp":
            possible = logs[np.isfinite(logs.max(axis=1))]
            most = float((possible.max(axis=1) - possible.min(axis=1)).max(initial=0.0))
        else:
            apart = distances(self.mechanism.alphabet)
            np.fill_diagonal(apart, math.inf)
            some = logs[: max(1, _ENTRIES // self.size**2)]
            with np.errstate(invalid="ignore"):  # two values that exclude a report are alike
                ratios = np.abs(some[:, :, None] - some[:, None, :]) / apart
            most = float(np.nanmax(ratios))
        if not most <= promise.epsilon * (1 + 1e-6) + 1e-9:
            raise LawError(
                f"a report tells two values apart by epsilon {most:.6g}, and "
                f"{promise.epsilon:.6g} is promised."
            )
        return (
            f"{promise}: the largest epsilon of {several(len(reports), 'report')} that were drawn "
            f"is {most:.6g}. That proves nothing of the others: write witnesses() for an audit"
        )

    def reports(self) -> str:
        """Write reports and read them again."""
        space, name = self.mechanism.output_space, self.mechanism.name
        reports = space.checked(self.drawn[1][:100], name)
        for column in (space.encode(reports), space.texts(reports)):
            again = space.decode(column)
            if not again.good.all() or not np.array_equal(again.outputs, reports):
                raise LawError(
                    f"reports written as {column.type} are not read again as they are: `encode`, "
                    f"`texts` and `decode` of {type(space).__name__} must agree."
                )
        if space.alphabet is None:
            again = self.mechanism.received(self.mechanism.written(reports))
            if not np.array_equal(again, reports):
                raise LawError(f"texts of reports of {name} are not read again as they are.")
        return "written as texts and as columns, and read again"

    def moments(self) -> str:
        """Hold moments of its own to those of the law."""
        mechanism = self.mechanism
        if type(mechanism).moments is Mechanism.moments:
            how = "from the law" if mechanism.output_space.listable else "from drawn reports"
            raise _NotTriedError(f"made {how}, as they are for all")
        theta: FloatArray = np.arange(1.0, self.size + 1) / (self.size * (self.size + 1) / 2)
        own, usual = mechanism.moments(theta), Mechanism.moments(mechanism, theta)
        ours, theirs = own.diagonal(), usual.diagonal()
        near = 1e-6 if mechanism.output_space.listable else _NEAR
        if not np.allclose(ours, theirs, rtol=near, atol=1e-9 * float(np.abs(theirs).max())):
            worst = int(np.argmax(np.abs(ours - theirs)))
            raise LawError(
                f"moments(theta) says that a report tells {ours[worst]:.6g} of value {worst}, and "
                f"the law {theirs[worst]:.6g}."
            )
        return f"those of the law, to {near:g}"

    def description(self) -> str:
        """Read the description again."""
        portable_spec(self.mechanism)
        return f"read again it is the same mechanism, {self.mechanism.id}"

    def program(self) -> str:
        """See that the program for browsers can be written."""
        program = self.mechanism.program()
        if program is None:
            raise _NotTriedError("none: browsers draw kinds that they know by name")
        json.dumps(program, allow_nan=False)
        if not isinstance(program, dict) or not isinstance(program.get("draw"), str):
            raise LawError(
                f'program {shown(program)}: expected {{"draw": ...}} (docs/reference/draws.md).'
            )
        return f"a browser draws it by {program['draw']!r}"


def _bounded(many: int, size: int) -> int:
    """Return so many draws or, of large alphabets, fewer: whole rounds over all values."""
    return max(1, min(many, _ENTRIES // size) // size) * size


def _deviance(counts: FloatArray, expected: FloatArray) -> tuple[float, int]:
    """Return the G-statistic, rare cells merged, and how many cells there are."""
    order = np.argsort(expected)
    reached = np.cumsum(expected[order])
    # A new cell begins where the sum passes a multiple of the least expectation.
    cells = np.minimum((reached / _LEAST).astype(int), max(int(reached[-1] / _LEAST) - 1, 0))
    _, where = np.unique(cells, return_inverse=True)
    observed = np.bincount(where, counts[order])
    wanted = np.bincount(where, expected[order])
    seen = observed > 0
    with np.errstate(divide="ignore"):
        terms = observed[seen] * np.log(observed[seen] / wanted[seen])
    return max(0.0, 2 * float(terms.sum())), len(observed)


def _calibration(rows: FloatArray, values: IntArray) -> float:
    """Return the p-value of values that were drawn evenly, given what reports make of them.

    Were each value equally likely before, it is w_x = a(z|x) / sum a(z|.) after a report z. So
    that, z given, [x = own] - w_x has mean 0 for every x, and w_own - sum w^2 has: the first sees a
    report that favours some values, the second one that tells more, or less, than it seems to.
    """
    from scipy.special import ndtr  # noqa: PLC0415

    weights = rows / rows.sum(axis=1, keepdims=True)
    own = weights[np.arange(len(values)), values]
    square = np.einsum("zx,zx->z", weights, weights)
    cube = np.einsum("zx,zx,zx->z", weights, weights, weights)
    sums = np.bincount(values, minlength=weights.shape[1]) - weights.sum(axis=0)
    sums = np.append(sums, (own - square).sum())
    variance = (weights * (1 - weights)).sum(axis=0)
    variances = np.append(variance, np.maximum(cube - square * square, 0.0).sum())
    # What hardly varies is a count of rare events, no normal number: one more is no surprise.
    deviations = np.maximum(np.abs(sums) - 1, 0.0) / np.sqrt(np.maximum(variances, 1.0))
    return min(1.0, 2 * len(sums) * float(ndtr(-deviations.max())))
