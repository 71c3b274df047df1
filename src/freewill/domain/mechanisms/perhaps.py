"""Somebody who may say nothing, by a chance that does not depend on the value."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from freewill.core.types import FloatArray, IntArray, PackedBits, Reports, Spec, checked_number
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.draws.chance import Chance, Dyadic
from freewill.domain.draws.noise import drawn
from freewill.domain.draws.sources import Source
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism, brief, of_full_rank
from freewill.domain.mechanisms.composed import checked_inner, inner_spec, promised, read_inner
from freewill.domain.packed_outputs import Maybe
from freewill.numeric.operators.around import SilentOperator
from freewill.numeric.operators.moments import MixedMoments, Moments


@dataclass(frozen=True, init=False)
class Perhaps(Mechanism):
    """Send a report of another mechanism with a chance, and else nothing, whatever the value is.

    P(y | x) = chance P_inner(y | x), and P(nothing | x) = 1 - chance: what a report tells is
    `chance` times what one of the inner mechanism tells. The promise is the inner one's, for
    whoever does report; the epsilon that its law has where it promises an average. The chance is
    a double, taken literally; products cost the inner ones. A report has one byte more than an
    inner one as bytes has (`domain/packed_outputs.py`).

    >>> import freewill as fw, numpy as np
    >>> shy = fw.Perhaps(fw.KRR(fw.Categorical(["yes", "no"]), epsilon=np.log(3)), chance=0.5)
    >>> shy.law().round(12)
    array([[0.5  , 0.375, 0.125],
           [0.5  , 0.125, 0.375]])
    """

    alphabet: Alphabet
    inner: Mechanism
    chance: float
    name: ClassVar[str] = "perhaps"

    def __init__(self, inner: Mechanism, chance: float) -> None:
        mechanism = checked_inner(inner, self.name)
        wanted = (
            "a number > 0 and <= 1, how likely a report is. Who never reports needs no mechanism."
        )
        chance = checked_number(chance, "chance", self.name, lambda x: 0 < x <= 1, wanted)
        vars(self).update(alphabet=mechanism.alphabet, inner=mechanism, chance=chance)
        # Refused now rather than with the first report.
        self.output_space  # noqa: B018

    @cached_property
    def output_space(self) -> Maybe:
        """Nothing, or an inner output."""
        return Maybe(self.inner.output_space)

    @property
    def full_rank(self) -> bool:  # type: ignore[override]
        """Whether the inner law tells all distributions apart."""
        return of_full_rank(self.inner)

    @cached_property
    def reported(self) -> Chance:
        """The chance of a report."""
        return Chance(*Dyadic.of(self.chance))

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> PackedBits:
        """Toss the coins, and draw the reports of those who send one."""
        values = truth.ravel()
        sent = drawn(self.reported, values.size, rng)
        return self.output_space.scattered(sent, self.inner.obfuscate(values[sent], rng))

    def _report(self, value: int, source: Source) -> PackedBits:
        """Toss the coin, and draw the report if there is one."""
        sent = np.array([self.reported.coin(source)])
        reports = [self.inner.draw(value, source)] if sent[0] else self.inner.output_space.empty()
        return np.asarray(self.output_space.scattered(sent, np.asarray(reports))[0])

    def weights(self) -> list[list[int]] | None:
        """Return the inner numbers times the chance of a report, after that of none."""
        inner = self.inner.weights()
        if inner is None:
            return None
        yes, no = self.reported.weights
        return [[no * sum(row), *(yes * weight for weight in row)] for row in inner]

    def operator(self, outputs: Reports) -> SilentOperator:
        """Return the law of these outputs."""
        sent, reports = self.output_space.sent(self.output_space.checked(outputs, self.name))
        inner, sure = self.inner.operator(reports), self.chance == 1
        scale = np.full(sent.size, 0.0 if sure else np.log1p(-self.chance))
        scale[sent] = inner.log_scale + np.log(self.chance)
        return SilentOperator(inner, sent, scale, 0.0 if sure else 1.0)

    def log_ratios(self, outputs: Reports) -> FloatArray | None:
        """Return the inner ones, and 0 for nothing."""
        sent, reports = self.output_space.sent(outputs)
        inner = self.inner.log_ratios(reports)
        if inner is None or self.chance == 1:
            return None
        ratios = np.zeros((sent.size, self.alphabet.size))
        ratios[sent] = inner
        return ratios

    def moments(self, theta: FloatArray) -> Moments:
        """Return the chance of a report times what one tells."""
        return MixedMoments([self.inner.moments(theta)], np.array([self.chance]))

    def witnesses(self) -> PackedBits:
        """Return those of the inner mechanism: nothing tells nothing."""
        reports = self.inner.witnesses()
        return self.output_space.scattered(np.ones(len(reports), np.bool_), reports)

    def pair_witnesses(self) -> PackedBits:
        """Return those of the inner mechanism."""
        reports = self.inner.pair_witnesses()
        return self.output_space.scattered(np.ones(len(reports), np.bool_), reports)

    def guarantee(self) -> Guarantee:
        """Return the inner promise."""
        return promised(self.inner)

    def truths(self) -> FloatArray | None:
        """Return how likely a report, once there is one, is the true value."""
        return self.inner.truths()

    def program(self) -> Spec | None:
        """Return the chance of a report, and the program of one, where a browser can draw it."""
        from freewill.domain.programs import part_of  # noqa: PLC0415

        inner = None if self.chance == 1 else part_of(self.inner)
        if inner is None:
            return None
        return {"draw": "perhaps", "chance": self.reported.written, "inner": inner}

    def parameters(self) -> Spec:
        """Return the description of the inner mechanism, without its alphabet, and the chance."""
        return {"inner": inner_spec(self.inner), "chance": self.chance}

    @classmethod
    def from_parameters(cls, alphabet: Alphabet, parameters: Spec) -> Self:
        """Rebuild from the inner mechanism."""
        fields: dict[str, Any] = dict(parameters)
        return cls(read_inner(alphabet, fields.pop("inner"), cls.name), **fields)

    def __str__(self) -> str:
        return f"{self.name}({self.alphabet}, {brief(self.inner)}, chance={self.chance:g})"
