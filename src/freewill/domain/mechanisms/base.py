"""What a mechanism is: sampler, exact law, guarantee and portable description in one object."""

import hashlib
import inspect
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

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
from freewill.domain.mechanisms.parameters import checked_alphabet, checked_epsilon
from freewill.domain.outputs import OutputSpace, Symbols, read_texts
from freewill.errors import AlphabetError, LawError, ParameterError, several, shown
from freewill.numeric.operators.around import ArrangedOperator
from freewill.numeric.operators.base import Operator, RowNumbers, StackOperator, probabilities
from freewill.numeric.operators.moments import ListedMoments, Moments, SetChances

if TYPE_CHECKING:
    from freewill.domain.mechanisms.factored import ByAttribute
    from freewill.domain.mechanisms.family import Family
    from freewill.numeric.operators.sampled import SampledLaw

SPEC_VERSION = 1
_FEW_ENTRIES = 1 << 20
"""Entries of a law up to which its logarithms are worth having beside it."""
_LAW_LIMIT = 1 << 28
_DRAWN = 1 << 17
"""Outputs that are drawn where not all are listed: standard errors are known to about 1 %."""
_ENTRIES = 1 << 24
"""Of their law, 128 MiB as an array: with more than 128 values there are fewer outputs."""
_BIT_ENTRIES, _MOST_BIT_VALUES = 1 << 26, 1 << 13
"""Of a law of packed bits, 8 MiB, while it has so many outputs of each value; and for how many
values it may have more: a product then takes a second, and intervals a minute or two."""
_FEWEST_EACH = 4
"""Drawn from each value; k values of N outputs lift variances by k / (N - k), a third here."""
LARGEST_EXPONENT = 1e290
"""Of e^(-epsilon d) at the largest distance d, where logarithms still leave room for sums."""
_COPIED_BYTES = 1 << 20
"""Reports of a mechanism up to which they are copied, to stand beside those of others."""
_MANY = 1000
"""Rows a mechanism from which on it is sooner to draw those of each by themselves."""


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

    def report(
        self, values: Any, rng: np.random.Generator | None = None, *choice: Any, **named: Any
    ) -> Any:
        """Draw a report of one value, or of each in a list, and return it in readable form.

        For people: a value is a label, an integer or a point, as the alphabet's `encode` takes
        it, and so is the report; where reports are no values, it is a text, as of bits their
        hexadecimal digits. `obfuscate` does the same with indices, for arrays, and takes the same
        `choice`: of a family an epsilon. `received` leads back.

        >>> import freewill as fw
        >>> fw.Identity(fw.Linear(1, 100)).report(41)
        41
        >>> fw.Identity(fw.Categorical(["yes", "no"])).report(["no", "yes"])
        ['no', 'yes']
        """
        indices, alone = encode_values(self.alphabet, values)
        reports = self.shown(self.obfuscate(np.atleast_1d(indices), rng, *choice, **named))
        return reports[0] if alone else reports

    def shown(self, reports: Reports) -> list[Any]:
        """Return reports as people read them."""
        reported = self.output_space.alphabet
        return self.written(reports) if reported is None else readable(reported, reports)

    def written(self, reports: Any) -> list[str]:
        """Return reports that are no values as texts, which `read` reads."""
        space, rows = self.output_space, np.asarray(reports)
        if space.packed:  # without Arrow, which a device need not have
            return [row.tobytes().hex() for row in rows]
        return [*space.texts(rows).to_pylist()]

    def read(self, texts: Sequence[str]) -> Any:
        """Return the reports that texts stand for."""
        return read_texts(self.output_space, texts, self.name)

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
        if rows and hasattr(space, "of_rows"):
            return space.of_rows(reports, self.name)  # type: ignore[no-any-return]
        return self.read([reports] if isinstance(reports, str) else reports)  # type: ignore[no-any-return]

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

    def public(self) -> "Family | None":
        """Return the family whose levels are a part of each report that the value does not move."""
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

    @cached_property
    def sampled(self) -> "tuple[Reports, SampledLaw]":
        """Outputs drawn evenly from all values, by a seed made of the id, and their law.

        min(2^17, 2^24 / k) of them, for alphabets of up to 2,048 values. Beyond, a law that is an
        array would take more than 128 MiB, and nothing less holds it. One of packed bits takes an
        eighth of a byte an entry: its products serve up to 8,192 values, with 2^26 / k outputs, at
        least 4 k.
        """
        from freewill.numeric.operators.sampled import SampledLaw  # noqa: PLC0415

        size, rng = self.alphabet.size, np.random.default_rng(int(self.id, 16))
        each, most = min(-(-_DRAWN // size), _ENTRIES // size**2), _ENTRIES // _FEWEST_EACH
        if each < _FEWEST_EACH:
            law = self.operator(self.obfuscate(np.zeros(1, dtype=np.int64), rng))
            if law.structure == "bits":
                each, most = max(_FEWEST_EACH, _BIT_ENTRIES // size**2), _MOST_BIT_VALUES**2
        if size**2 > most:
            raise LawError(
                f"what a report of {self} tells is found from drawn ones for at most "
                f"{several(math.isqrt(most), 'value')}, where not all can be listed. Write its "
                f"moments(theta): BitMoments has those of bits."
            )
        outputs = self.obfuscate(np.tile(np.arange(size), each), rng)
        return outputs, SampledLaw(self.operator(outputs))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is drawn or made again in a moment."""
        return {key: own for key, own in vars(self).items() if key not in ("sampled", "_members")}

    def witnesses(self) -> Reports:
        """Return outputs among which the least private one is sure to be: all, by default."""
        return self._all_for("witnesses")

    def pair_witnesses(self) -> Reports:
        """Return outputs that tell any two values apart as well as any does: all, by default.

        Renaming the values, by which one witness may stand for many, renames who chooses what.
        """
        return self._all_for("pair_witnesses")

    def _all_for(self, wanted: str) -> Reports:
        """Return all outputs for an audit, or say what is missing where they cannot be listed."""
        if not self.output_space.listable:
            raise LawError(
                f"the reports of {self} cannot be listed, so that no audit looks at all of them. "
                f"Write its {wanted}(), outputs among which the least private one is sure to be. "
                f"fw.check_mechanism tries the promise on reports that are drawn."
            )
        return self.outputs()

    def guarantee(self) -> Guarantee | AdversaryLoss:
        """Return what the mechanism promises, never understated."""

    def parameters(self) -> Spec:
        """Return everything but the alphabet that the constructor was given, ready for JSON."""
        own: Any = self
        values = ((field.name, getattr(self, field.name)) for field in fields(own)[1:])
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in values
            if value is not None
        }

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


def needed_beside_epsilon(kind: type[Any]) -> list[str] | None:
    """Return what the mechanisms of a kind need beside alphabet and epsilon; None without epsilon.

    >>> import freewill as fw
    >>> needed_beside_epsilon(fw.THE), needed_beside_epsilon(fw.Identity)
    ([], None)
    """
    taken = inspect.signature(kind).parameters
    if "epsilon" not in taken:
        return None
    always, empty = ("alphabet", "epsilon"), inspect.Parameter.empty
    return [name for name, one in taken.items() if name not in always and one.default is empty]


def canonical(spec: Spec, name: str) -> bytes:
    """Return a description as the bytes whose hash is the mechanism's id."""
    try:
        return json.dumps(spec, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        expected = "expected numbers, texts, lists and dicts alone, ready for JSON"
        raise LawError(
            f"the parameters of {name} cannot be written ({error}): {expected}. Convert them in "
            f"__post_init__, or write parameters() and from_parameters()."
        ) from None


def held_beside_epsilon(mechanism: Any) -> Spec:
    """Return all parameters of a mechanism but its epsilon, to be held while that is varied."""
    parameters = {**mechanism.parameters(), **mechanism.shape()}
    return {name: value for name, value in parameters.items() if name != "epsilon"}


def of_full_rank(mechanism: Any) -> bool:
    """Say whether a law is of full rank by its kind; a kind derived from it may have another."""
    for kind in type(mechanism).__mro__:
        if "full_rank" in vars(kind):
            return bool(mechanism.full_rank)
        if vars(kind).keys() & {"operator", "law", "output_space"}:
            return False
    return False


class Noisy(Mechanism, Protocol):
    """A mechanism that an epsilon makes, which it also promises.

    >>> import freewill as fw
    >>> noisy = fw.Geometric(fw.Linear(0, 4), epsilon=0.5)
    >>> fw.Noisy in type(noisy).__mro__, noisy.epsilon, noisy.guarantee().epsilon
    (True, 0.5, 0.5)
    """

    on: ClassVar[Any] = Alphabet
    """The kind of alphabet that it works on."""
    promise: ClassVar[Literal["ldp", "geo"]] = "ldp"
    """Of which kind the promise is."""
    alphabet: Any
    epsilon: float

    def __post_init__(self) -> None:
        checked_alphabet(self.alphabet, self.on, self.name)
        epsilon = checked_epsilon(self.epsilon, self.name, self._largest_epsilon())
        object.__setattr__(self, "epsilon", epsilon)

    def _largest_epsilon(self) -> float:
        """Return where e^-epsilon is still a double."""
        return 700.0

    @classmethod
    def stacked(cls, mechanisms: "Sequence[Self]", outputs: Sequence[Reports]) -> Operator:
        """Return the law of outputs, the epsilon of its mechanism a row."""
        law = cls.law_of_rows(*row_by_row(mechanisms, outputs))
        return super().stacked(mechanisms, outputs) if law is None else law

    def guarantee(self) -> Guarantee:
        """Return epsilon-LDP, or epsilon-geo-indistinguishability per unit of distance."""
        unit = self.alphabet.unit if self.promise == "geo" else ""
        return Guarantee(self.promise, self.epsilon, unit)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows, each of one of several mechanisms: their epsilons, and which a row has.

    `member` makes a mechanism when it is asked for, so that many epsilons are no more than numbers
    wherever these suffice. `log_share` is a factor that all rows of the law have.
    """

    alphabet: Any
    epsilons: FloatArray
    which: IntArray
    member: Callable[[int], Any]
    log_share: float = 0.0

    @property
    def epsilon(self) -> RowNumbers:
        """The epsilon of each row, one number where all have the same."""
        return float(self.epsilons[0]) if self.epsilons.size == 1 else self.each

    @property
    def each(self) -> FloatArray:
        """The epsilon of each row."""
        return np.asarray(self.epsilons[self.which])

    def of(self, row: int) -> Any:
        """Return the mechanism of a row."""
        return self.member(int(self.which[row]))

    def runs(self) -> Iterator[tuple[Any, IntArray]]:
        """Yield each mechanism that has rows, and their places."""
        order = np.argsort(self.which, kind="stable")
        there, firsts = np.unique(self.which[order], return_index=True)
        if not order.size:
            return
        for place, rows in zip(there.tolist(), np.split(order, firsts[1:]), strict=True):
            yield self.member(place), rows

    def reports(self, kind: type[Mechanism], truth: IntArray, rng: np.random.Generator) -> Reports:
        """Draw a report for each value by the mechanism of its row: at once, if the kind can."""
        if truth.size < _MANY * self.epsilons.size:
            at_once = kind.reports_of_rows(self, truth, rng)
            if at_once is not None:
                return at_once
        drawn: Any = self.member(0).obfuscate(truth[:0], rng)
        drawn = np.empty((truth.size, *drawn.shape[1:]), dtype=drawn.dtype)
        for mechanism, rows in self.runs():
            drawn[rows] = mechanism.obfuscate(truth[rows], rng)
        return drawn  # type: ignore[no-any-return]

    def law(self, kind: type[Mechanism], outputs: Reports) -> Operator:
        """Return the law of outputs, each of the mechanism of its row: by numbers, if it can be."""
        law = kind.law_of_rows(self, outputs)
        if law is not None:
            return law
        order = np.argsort(self.which, kind="stable")
        together = replace(self, which=self.which[order])
        law = kind.law_of_rows(together, outputs[order])
        if law is not None:
            return ArrangedOperator(law, order)
        runs = list(self.runs()) or [(self.member(0), self.which)]
        parts = stacked_operators([one for one, _ in runs], [outputs[rows] for _, rows in runs])
        inner = parts[0] if len(parts) == 1 else StackOperator(parts)
        return ArrangedOperator(inner, order, self.log_share)


def row_by_row(mechanisms: "Sequence[Noisy]", outputs: Sequence[Reports]) -> tuple[Rows, Any]:
    """Return rows of mechanisms of one kind, one below the other, and their outputs, checked."""
    first = mechanisms[0]
    together: Any = outputs[0] if len(mechanisms) == 1 else np.concatenate(outputs)
    checked = first.output_space.checked(together, first.name)
    epsilons = np.array([mechanism.epsilon for mechanism in mechanisms])
    which = np.repeat(np.arange(epsilons.size), list(map(len, outputs)))
    return Rows(first.alphabet, epsilons, which, mechanisms.__getitem__), checked


def stacked_operators(
    mechanisms: Sequence[Mechanism], outputs: Sequence[Reports]
) -> list[Operator]:
    """Return operators whose rows together are the laws of the outputs of each mechanism.

    Neighbours of one kind and `shape` share an operator where the kind has one for many, unless
    their reports are so large that a copy of them would be.
    """
    pairs = zip(mechanisms, outputs, strict=True)
    kinds = ((type(one), one.shape(), some.nbytes <= _COPIED_BYTES) for one, some in pairs)
    operators: list[Operator] = []
    last = 0
    for (kind, _, small), run in groupby(kinds):
        these = slice(last, last := last + sum(1 for _ in run))
        if small and kind.operator is Mechanism.operator:
            operators.append(kind.stacked(mechanisms[these], outputs[these]))
        else:
            operators += map(kind.operator, mechanisms[these], outputs[these])
    return operators
