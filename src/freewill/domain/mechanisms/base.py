"""What a mechanism is: sampler, exact law, guarantee and portable description in one object."""

import hashlib
from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, IntArray, Reports, Spec, distribution, is_number
from freewill.domain.alphabets.base import (
    Alphabet,
    checked_indices,
    distances,
    encode_values,
    readable,
    refuse_vast,
)
from freewill.domain.draws.chance import Dyadic
from freewill.domain.draws.sources import Source, checked_source, generator
from freewill.domain.guarantees.promises import AdversaryLoss, Guarantee
from freewill.domain.mechanisms.parameters import canonical, no_witnesses
from freewill.domain.outputs import OutputSpace, Symbols, as_texts, from_rows, from_texts
from freewill.errors import AlphabetError, LawError, ParameterError, shown
from freewill.numeric.operators.base import Operator, probabilities
from freewill.numeric.operators.moments import ListedMoments, Moments, SetChances

if TYPE_CHECKING:
    from freewill.domain.mechanisms.factored import ByAttribute
    from freewill.domain.mechanisms.levels import Levels
    from freewill.domain.mechanisms.noisy import Rows
    from freewill.numeric.operators.sampled import SampledLaw

SPEC_VERSION = 1
_FEW_ENTRIES = 1 << 20
"""Entries of a law up to which its logarithms are worth having beside it."""
_LAW_LIMIT = 1 << 28
LARGEST_EXPONENT = 1e290
"""Of e^(-epsilon d) at the largest distance d, where logarithms still leave room for sums."""


class Mechanism(Protocol):
    """What a person applies to their value before anything leaves the device.

    A mechanism is a frozen dataclass. `obfuscate`, `operator` and `guarantee` speak of one and
    the same law; the contract suite holds them to it.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> coin.name, str(coin.guarantee()), coin.law().round(2).tolist()
    ('k-rr', '1-LDP', [[0.73, 0.27], [0.27, 0.73]])
    """

    name: ClassVar[str]
    full_rank: ClassVar[bool] = False
    """Whether every law of this kind is known to tell all distributions apart, given enough
    reports; where it is not known, estimators look at the law."""
    tabulated: ClassVar[bool] = False
    """Whether the law is a table of numbers, to the last digit, and not a formula."""
    chooses_epsilon: ClassVar[bool] = False
    """Whether people choose an epsilon of their own with it, as of a family."""
    alphabet: Any

    @property
    def output_space(self) -> OutputSpace:
        """What a report may be: a value of the alphabet, unless the mechanism says otherwise."""
        return Symbols(self.alphabet)

    def obfuscate(self, values: ArrayLike, rng: np.random.Generator | None = None) -> Any:
        """Draw one report for each index in `values`, in their order.

        From the operating system's generator unless one is given, as simulations do: whoever
        knows its seed, or works out its state, takes the noise off again.
        """
        return self._reports(checked_indices(values, self.alphabet.size, "value"), generator(rng))

    def draw(self, index: int, source: Source | None = None) -> Any:
        """Draw the report of one index from random bytes, as docs/reference/draws.md says.

        The bytes are the operating system's unless a source is given. The law is that of
        `obfuscate`, in the same exact numbers; a report of bits is a row of bytes.
        """
        whole = checked_indices(index, self.alphabet.size, "value")
        if whole.ndim:
            expected = (
                f"expected one index, 0 to {self.alphabet.size - 1}. For many, use obfuscate."
            )
            raise AlphabetError(f"index {shown(index)}: {expected}")
        return self._report(int(whole), checked_source(source))

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> Reports:
        """Draw the reports of indices that are checked, unless `obfuscate` is written anew."""
        raise LawError(f"{self.name} has no sampler: its class must have obfuscate or _reports.")

    def _report(self, value: int, source: Source) -> Any:
        """Draw the report of an index that is checked, unless `draw` is written anew."""
        raise LawError(f"{self.name} has no exact sampler: its class must have draw or _report.")

    def weights(self) -> "list[list[int]] | None":
        """Return the sampler's own numbers, [value][output of `outputs()`], for the exact audit.

        P(y | x) is exactly the weight divided by the sum of its row. None where the numbers cannot
        be listed.
        """
        return None

    def lattice(self, columns: int, rows: int) -> "list[list[Dyadic]] | None":
        """Return the sampler's own numbers on an infinite lattice, [row][column offset], if any.

        P(offset) is exactly proportional to them, whichever the signs; reports are clipped.
        """
        return None

    def program(self) -> Spec | None:
        """Return how a browser draws a report, in the steps of docs/reference/draws.md.

        None for a kind that freewill.js knows by its name, and for what no browser can draw.
        """
        return None

    def report(self, values: Any, rng: np.random.Generator | None = None) -> Any:
        """Draw a report of one value, or of each in a list, and return it in readable form.

        For people: a value is a label, an integer or a point, as the alphabet's `encode` takes
        it, and so is the report; where reports are no values, it is a text, as of bits their
        hexadecimal digits. `obfuscate` does the same with indices, for arrays. `received` leads
        back.

        >>> import freewill as fw
        >>> fw.Identity(fw.Linear(1, 100)).report(41)
        41
        >>> fw.Identity(fw.Categorical(["yes", "no"])).report(["no", "yes"])
        ['no', 'yes']
        """
        indices, alone = encode_values(self.alphabet, values)
        drawn, reported = self.obfuscate(np.atleast_1d(indices), rng), self.output_space.alphabet
        reports = self.written(drawn) if reported is None else readable(reported, drawn)
        return reports[0] if alone else reports

    def written(self, reports: Any) -> list[str]:
        """Return reports that are no values as texts, which `read` reads."""
        return as_texts(self.output_space, np.asarray(reports))

    def read(self, texts: Sequence[str]) -> Any:
        """Return the reports that texts stand for."""
        return from_texts(self.output_space, texts, self.name)

    def received(self, reports: Any) -> Reports:
        """Turn readable reports, as `report` gives them, into what `collect` takes.

        Bits may also come as rows of 0 and 1, or as rows of the values that are named, in an array.

        >>> import freewill as fw
        >>> fw.Geometric(fw.Linear(1, 100), 2.0).received([41, 42])
        array([40, 41])
        """
        reported, space = self.output_space.alphabet, self.output_space
        if reported is not None:
            return encode_values(reported, reports)[0]
        rows = isinstance(reports, np.ndarray) and reports.dtype.kind in "biuf"
        if rows and getattr(space, "by_value", False):
            return from_rows(space, reports, self.name)  # type: ignore[no-any-return]
        texts = [reports] if isinstance(reports, str) else reports
        return self.read(texts)  # type: ignore[no-any-return]

    def then(self, map: Any, outputs: Alphabet | None = None) -> "Mechanism":  # noqa: A002
        """Return the mechanism that maps each report of this one to another output.

        An index for each output, groups of values, a function of them, or a matrix of chances, one
        row an output: `fw.Then`. The promise stays.
        """
        from freewill.domain.mechanisms.then import Then  # noqa: PLC0415

        return Then(self, map, outputs)

    def operator(self, outputs: Reports) -> Operator:
        """Return the law of exactly these outputs."""
        return self.stacked([self], [outputs])

    @classmethod
    def stacked(cls, mechanisms: "Sequence[Self]", outputs: Sequence[Reports]) -> Operator:
        """Return the laws of outputs of several mechanisms, one below the other, as one operator.

        A kind has either this or `operator`. With this thousands of epsilons cost what one does.
        Those that come here have one `shape`.
        """
        raise LawError(f"{cls.name} has no law: its class must have operator or stacked.")

    @classmethod
    def law_of_rows(cls, rows: "Rows", outputs: Any) -> Operator | None:
        """Return the law of outputs, an epsilon a row, where it takes no object for each epsilon.

        None where the kind has no such law: it is then put together from its mechanisms.
        """
        return None

    @classmethod
    def reports_of_rows(
        cls, rows: "Rows", truth: IntArray, rng: np.random.Generator
    ) -> Reports | None:
        """Draw reports with an epsilon a row, all at once and exactly, where the kind can."""
        return None

    def log_ratios(self, outputs: Reports) -> FloatArray | None:
        """Return log P(y | x) up to a constant of each y, [output, value], where a formula can.

        For the audit: the logarithms of the law have absolute errors, in which a small epsilon, or
        a small distance, is lost. It takes these only if they agree with the operator.
        """
        return None

    def resolution(self) -> FloatArray | None:
        """Return a matrix, one row a value, whose null space is that of the law, d M = 0, if known.

        For laws whose outputs cannot be listed: what no number of reports tells apart.
        """
        return None

    def outputs(self) -> Reports:
        """Return all outputs, where they can be listed."""
        return self.output_space.all()

    def set_chances(self) -> SetChances | None:
        """Return how likely values are in the set that a report names, where it names one."""
        return None

    def by_attribute(self, outputs: Reports) -> "ByAttribute | None":
        """Return reports attribute by attribute, where the law is a product over attributes."""
        return None

    def unfolded(self, outputs: Reports) -> "Sequence[Any] | None":
        """Return reports by what was chosen for several questions; None where nothing was."""
        return None

    def public(self) -> "Levels | None":
        """Return the part of each report that the value does not move, where there is one."""
        return None

    def moments(self, theta: FloatArray) -> Moments:
        """Return what a report tells at theta: from the law of all outputs, where they are listed.

        Else from outputs that were drawn, the same ones whatever theta is (`SampledLaw`), for
        alphabets of up to 2,048 values, 8,192 where the law is one of bits. A kind that has a
        closed form writes this anew.
        """
        listed = self.output_space.listable
        outputs, drawn = (self.outputs(), None) if listed else self.sampled
        few = len(outputs) * self.alphabet.size <= _FEW_ENTRIES
        ratios = self.log_ratios(outputs) if few else None
        if drawn is not None:
            return drawn.moments(theta, ratios)
        return ListedMoments(self.operator(outputs), theta, ratios)

    @classmethod
    def moments_together(cls, mechanisms: "Sequence[Self]", theta: FloatArray) -> Sequence[Moments]:
        """Return the moments of several mechanisms, at once where the kind's laws share much."""
        return [mechanism.moments(theta) for mechanism in mechanisms]

    @cached_property
    def sampled(self) -> "tuple[Reports, SampledLaw]":
        """Outputs drawn evenly from all values, the same on every machine, and their law."""
        from freewill.domain.mechanisms.sampling import drawn_law  # noqa: PLC0415

        return drawn_law(self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is drawn again in a moment."""
        return {key: value for key, value in vars(self).items() if key != "sampled"}

    def witnesses(self) -> Reports:
        """Return outputs among which the least private one is sure to be: all, by default."""
        if not self.output_space.listable:
            raise LawError(no_witnesses(self))
        return self.outputs()

    def pair_witnesses(self) -> Reports:
        """Return outputs that tell any two values apart as well as any does: all, by default.

        Renaming the values, by which one witness may stand for many, renames who chooses what.
        """
        if not self.output_space.listable:
            raise LawError(no_witnesses(self, "pair_witnesses"))
        return self.outputs()

    def guarantee(self) -> Guarantee | AdversaryLoss:
        """Return what the mechanism promises, never understated."""
        ...

    def parameters(self) -> Spec:
        """Return everything but the alphabet that the constructor was given, ready for JSON."""
        own: Any = self
        values = {field.name: getattr(self, field.name) for field in fields(own)[1:]}
        return {name: value for name, value in values.items() if value is not None}

    def shape(self) -> Spec:
        """Return parameters that follow from epsilon in jumps, to be held while it is varied."""
        return {}

    def at(self, epsilon: Any) -> "Mechanism":
        """Return the mechanism that a person uses who chose an epsilon: only a family has many."""
        raise ParameterError(
            f"epsilon={shown(epsilon)} for {self}: its epsilon is fixed, and there is none to "
            f"choose. A family (fw.Family) has one for everybody."
        )

    def spec(self) -> Spec:
        """Return the portable description: `from_spec(m.spec()) == m`."""
        head = {"mechanism": self.name, "version": SPEC_VERSION}
        return {**head, "alphabet": self.alphabet.spec(), **self.parameters()}

    @classmethod
    def from_parameters(cls, alphabet: Alphabet, parameters: Spec) -> Self:
        """Rebuild a mechanism from its alphabet and `parameters()`."""
        build: Any = cls
        return build(alphabet, **parameters)  # type: ignore[no-any-return]

    @classmethod
    def current_names(cls, parameters: Spec) -> Spec:
        """Return a description's fields under the names that they have today."""
        return parameters

    @cached_property
    def id(self) -> str:
        """A short name, the same on every machine: a hash of the canonical spec."""
        return hashlib.sha256(canonical(self.spec(), self.name)).hexdigest()[:16]

    def law(self) -> FloatArray:
        """Return the dense law, rows: alphabet, columns: outputs (the paper's A)."""
        outputs = self.outputs()
        entries = len(outputs) * self.alphabet.size
        if entries > _LAW_LIMIT:
            advice = "Use operator(outputs), which never lists them."
            raise LawError(f"the law of {self} has {entries:.2g} entries. {advice}")
        return probabilities(self.operator(outputs)).T

    def losses(self) -> FloatArray:
        """Return the expected distance between value and report, for each value."""
        if self.output_space.alphabet != self.alphabet:
            raise LawError(
                f"the reports of {self.name} are {self.output_space}, not values of its alphabet: "
                f"there is no distance between them, hence no quality loss. Compare it with others "
                f"by its guarantee, or by the error of an estimate."
            )
        return np.asarray((self.law() * distances(self.alphabet)).sum(axis=1))

    def truths(self) -> FloatArray | None:
        """Return the chance that the report is the true value, for each; None if it cannot be."""
        if self.output_space.alphabet != self.alphabet:
            return None
        return self.law().diagonal()

    def average(self, others: "Sequence[Self]", shares: FloatArray) -> Self | None:
        """Return the mechanism of the same kind that people with these shares look like, if any.

        `others` are all of this kind, this one among them; the shares sum to 1.
        """
        return None

    def inverse(self, shares: FloatArray) -> FloatArray | None:
        """Return theta from the shares of the outputs in closed form, where there is one."""
        return None

    def debiased(self, shares: FloatArray) -> FloatArray | None:
        """Return theta from the share of reports that have each bit set, where reports are bits."""
        return None

    def quality_loss(self, prior: ArrayLike | None = None) -> float:
        """Return the expected distance E d(x, z) under a prior, uniform by default."""
        refuse_vast(self.alphabet)
        size = self.alphabet.size
        weights = np.full(size, 1 / size) if prior is None else distribution(prior, size, "prior")
        return float(weights @ self.losses())

    def __str__(self) -> str:
        parameters = (
            f", {key}={value:g}" if is_number(value) else f", {key}={shown(value)}"
            for key, value in self.parameters().items()
        )
        return f"{self.name}({self.alphabet}{''.join(parameters)})"


def is_mechanism(given: Any) -> bool:
    """Say whether something is a mechanism, of ours or of someone else's, and not its class."""
    return hasattr(given, "output_space") and not isinstance(given, type)


def brief(mechanism: Mechanism) -> str:
    """Return a mechanism in a few words: without its alphabet, which all of a survey share.

    >>> from freewill import KRR, Identity, Linear
    >>> brief(KRR(Linear(0, 9), epsilon=1.5)), brief(Identity(Linear(0, 9)))
    ('k-rr(epsilon=1.5)', 'identity')
    """
    alphabet = str(mechanism.alphabet)
    return str(mechanism).replace(f"({alphabet})", "").replace(f"({alphabet}, ", "(")
