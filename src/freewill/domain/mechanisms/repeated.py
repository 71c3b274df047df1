"""Several reports of one person as one report, by their joint law."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from freewill.core.types import FloatArray, IntArray, PackedBits, Reports, Spec, checked_whole
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.draws.sources import Source
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import SPEC_VERSION, Mechanism, brief, is_mechanism
from freewill.domain.mechanisms.both import OfSameValue
from freewill.domain.mechanisms.longitudinal import TwoStep
from freewill.errors import ParameterError, shown
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.moments import Moments

MOST_TIMES = 10_000


@dataclass(frozen=True)
class Repeated(OfSameValue):
    """A record of `times` reports that one person made with a mechanism, of the same value.

    Where a mechanism has two steps (`LongitudinalKRR`, `LongitudinalUnary`, `BloomRAPPOR`) the
    reports share the permanent answer y: P(z_1 .. z_T | x) = sum_y P1(y | x) prod_t P2(z_t | y),
    in closed form. Where it has none they are drawn anew: P(z_1 .. z_T | x) = prod_t P(z_t | x).
    People who reported more or less often are in groups of their own, each with its `times`.

    Promises what T reports of the two steps tell at most, which rises from epsilon to epsilon_inf,
    or T epsilon without a permanent answer; both tightly, where the mechanism's own promise is.

    Products cost O(records * k), made block by block.

    >>> import freewill as fw
    >>> once = fw.LongitudinalUnary(fw.Linear(0, 9), epsilon=1.0, epsilon_inf=3.0)
    >>> str(fw.Repeated(once, 3).guarantee())
    '2.481-LDP'
    >>> str(fw.Repeated(fw.KRR(once.alphabet, epsilon=1.0), 3).guarantee())
    '3-LDP'
    >>> week = [once.obfuscate([4, 7]) for day in range(3)]       # rows: people; three days
    >>> fw.Repeated(once, 3).output_space.joined(week).shape
    (2, 6)
    """

    mechanism: Mechanism
    times: int
    name: ClassVar[str] = "repeated"

    def __post_init__(self) -> None:
        inner: Any = self.mechanism
        if not is_mechanism(inner) or isinstance(inner, Repeated):
            raise ParameterError(
                f"{shown(inner)} cannot be repeated: expected a mechanism of single reports, such "
                f"as fw.LongitudinalUnary(...)."
            )
        why = "A person reported once at least."
        times = checked_whole(self.times, "times", self.name, 1, MOST_TIMES, why)
        object.__setattr__(self, "times", times)
        if not isinstance(inner.guarantee(), Guarantee):
            raise ParameterError(
                f"{inner} promises {inner.guarantee()}, which several reports do not add up to: "
                f"expected a mechanism that promises an epsilon."
            )
        vars(self)["parts"] = (inner,) * times
        self.output_space  # noqa: B018

    @property
    def alphabet(self) -> Alphabet:
        """That of the mechanism."""
        return self.mechanism.alphabet  # type: ignore[no-any-return]

    @property
    def full_rank(self) -> bool:  # type: ignore[override]
        """Whether a single report tells all distributions apart: then several do."""
        return bool(self.mechanism.full_rank)

    @property
    def _two_step(self) -> TwoStep | None:
        inner: Any = self.mechanism
        return inner if hasattr(inner, "record_operator") else None

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> PackedBits:
        """Draw the permanent answers, then a report of each as often as asked; or all anew."""
        two_step = self._two_step
        if two_step is None:
            return super()._reports(truth, rng)
        answers = two_step.answers(truth.ravel(), rng)
        return self.output_space.joined(
            [two_step.fresh_reports(answers, rng) for _ in range(self.times)]
        )

    def _report(self, value: int, source: Source) -> PackedBits:
        """Draw one record, in the same order."""
        two_step = self._two_step
        if two_step is None:
            return super()._report(value, source)
        answer = two_step.answer(value, source)
        drawn = (two_step.fresh_report(answer, source) for _ in range(self.times))
        return np.asarray(self.output_space.joined([np.asarray(one)[None] for one in drawn])[0])

    def _split(self, outputs: Reports) -> list[Reports]:
        return self.output_space.split(self.output_space.checked(outputs, self.name))

    def operator(self, outputs: Reports) -> Operator:
        """Return the law of these records: that of the two steps, or a product."""
        two_step = self._two_step
        if two_step is None:
            return super().operator(outputs)
        return two_step.record_operator(self._split(outputs))

    def log_ratios(self, outputs: Reports) -> FloatArray | None:
        """Return those of the two steps, or the sum of those of the reports."""
        two_step = self._two_step
        if two_step is None:
            return super().log_ratios(outputs)
        return two_step.record_log_ratios(self._split(outputs))

    def weights(self) -> list[list[int]] | None:
        """Return those of the two steps, or the products of those of single reports."""
        two_step = self._two_step
        if two_step is None:
            return super().weights()
        return two_step.record_weights(self._split(self.outputs()))

    def moments(self, theta: FloatArray) -> Moments:
        """Return what a record tells: by counts of bits, or from listed or drawn records."""
        two_step = self._two_step
        closed_form = None if two_step is None else two_step.record_moments(theta, self.times)
        return super().moments(theta) if closed_form is None else closed_form

    def witnesses(self) -> PackedBits:
        """Return the witnesses of a single report, each as often as it is made.

        What one report says, the next may say again: no record tells two values better apart.
        """
        return self.output_space.joined([self.mechanism.witnesses()] * self.times)

    def pair_witnesses(self) -> PackedBits:
        """Return those of a single report, each as often as it is made."""
        return self.output_space.joined([self.mechanism.pair_witnesses()] * self.times)

    def resolution(self) -> FloatArray | None:
        """Return that of a single report."""
        return self.mechanism.resolution()

    def guarantee(self) -> Guarantee:
        """Return what the record promises."""
        promise: Any = self.mechanism.guarantee()
        if self.times == 1:
            return promise  # type: ignore[no-any-return]
        two_step = self._two_step
        if two_step is None:
            return Guarantee(promise.kind, self.times * promise.epsilon, promise.unit)
        record = Guarantee.never_understated("ldp", two_step.epsilon_of(self.times))
        return min(record, two_step.lifetime(), key=lambda promised: promised.epsilon)

    def parameters(self) -> Spec:
        """Return the mechanism's name and parameters, and how often it is repeated."""
        return {**self.mechanism.parameters(), "of": self.mechanism.name, "times": self.times}

    def shape(self) -> Spec:
        """Return those of the mechanism."""
        return self.mechanism.shape()

    @classmethod
    def current_names(cls, parameters: Spec) -> Spec:
        """Return a description's fields as the constructor has them: the mechanism's together."""
        inner = {name: one for name, one in parameters.items() if name not in ("of", "times")}
        own = {name: parameters[name] for name in ("times",) if name in parameters}
        named = (
            {"mechanism": {**inner, "mechanism": parameters["of"]}} if "of" in parameters else {}
        )
        return {**named, **own}

    @classmethod
    def from_parameters(cls, alphabet: Alphabet, parameters: Spec) -> Self:
        """Rebuild the mechanism, then what repeats it."""
        from freewill.domain.mechanisms.registry import from_spec  # noqa: PLC0415

        fields = parameters if "mechanism" in parameters else cls.current_names(parameters)
        spec = {**fields["mechanism"], "version": SPEC_VERSION, "alphabet": alphabet.spec()}
        return cls(from_spec(spec), fields["times"])

    def __str__(self) -> str:
        return f"{self.name}({self.alphabet}, {brief(self.mechanism)}, times={self.times})"
