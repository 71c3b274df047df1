"""Evidence: which outputs were observed of each mechanism, and how often."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from freewill.core.presented import Presented
from freewill.core.types import VECTOR_BYTES, FloatArray, IntArray, checked_people, people_in
from freewill.domain.alphabets.base import Alphabet, attributes_of
from freewill.domain.mechanisms.base import Mechanism, stacked_operators
from freewill.errors import EvidenceError, closest, several, shown
from freewill.numeric.operators.base import StackOperator
from freewill.stats.groups import Group, grouped, name_of
from freewill.stats.provenance import Parts, own_part, picked, united
from freewill.stats.streams import Block, Source, Stream, joined, unchanged

if TYPE_CHECKING:
    from freewill.domain.mechanisms.factored import Factored
    from freewill.stats.periods import Period


@dataclass(frozen=True)
class Evidence(Presented):
    """Groups of reports over one alphabet, in an order that does not depend on how they came.

    `+` merges: counts of equal outputs of equal mechanisms add up, so that merging in any order
    gives the same evidence.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> monday, tuesday = fw.collect([(coin, [0, 0, 1])]), fw.collect([(coin, [1])])
    >>> (monday + tuesday).groups[0].counts
    array([2, 2])
    """

    alphabet: Alphabet
    groups: tuple[Group, ...]
    parts: Parts = field(default=frozenset(), compare=False, repr=False)
    """Digests of what it was put together from (`freewill.stats.provenance`)."""
    periods: "tuple[Period, ...]" = field(default=(), compare=False, repr=False)
    """What it is the sum of, where counts are kept apart by day, week or month (`with_periods`)."""

    @cached_property
    def digests(self) -> Parts:
        """Digests of the evidence and of what it was put together from."""
        return self.parts | own_part(self)

    @cached_property
    def people(self) -> int:
        """How many people reported, n."""
        counted = [np.empty(0, dtype=np.int64), *(one.table[1] for one in self.groups if one.table)]
        streams = (stream.people for group in self.groups for stream in group.streams)
        return people_in(np.concatenate(counted)) + sum(streams)

    @property
    def held(self) -> bool:
        """Whether all reports lie in memory; others are read anew for each pass of a solver."""
        return all(group.held for group in self.groups)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanisms that people chose."""
        return tuple(group.mechanism for group in self.groups)

    @cached_property
    def operator(self) -> StackOperator:
        """The law of everything observed; mechanisms of one kind share their part."""
        outputs = [group.outputs for group in self.groups]
        return StackOperator(stacked_operators(self.mechanisms, outputs))

    @cached_property
    def split(self) -> "Evidence":
        """The same reports, where people chose an epsilon with groups of neighbouring ones.

        So that a test of each group is one of the effect of epsilon.

        >>> import numpy as np, freewill as fw
        >>> any_epsilon = fw.Family(fw.KRR, fw.Linear(0, 9), epsilon=(0.5, 4))
        >>> reports = any_epsilon.obfuscate(np.arange(1000) % 10, np.random.default_rng(1))
        >>> [group.name for group in fw.collect([(any_epsilon, reports)]).split.groups]
        ['0.5 to 1', '1.5 to 2', '2.5 to 3', '3.5 to 4']
        """
        pieces = [group.split(beside=len(self.groups) > 1) for group in self.groups]
        if all(len(some) == 1 for some in pieces):
            return self
        return assemble(self.alphabet, chain(*pieces), self.digests)

    @cached_property
    def light(self) -> "Evidence":
        """The groups that were counted, or have few reports, all in memory."""
        light = tuple(group for group in self.groups if group.light)
        return self if len(light) == len(self.groups) else Evidence(self.alphabet, light)

    @cached_property
    def weights(self) -> FloatArray:
        """Share of people behind each observed output, in the operator's order; sums to 1."""
        return np.asarray(self.counts / self.people)

    @cached_property
    def counts(self) -> IntArray:
        """How often each output was observed, in the operator's order."""
        return np.concatenate([each.counts for each in self.groups])

    def __add__(self, other: "Evidence") -> "Evidence":
        return merge([self, other])

    def only(self, *names: str) -> "Evidence":
        """Keep the mechanisms of these names in the survey, ids or kinds ("k-rr").

        >>> import freewill as fw
        >>> line = fw.Linear(0, 9)
        >>> both = fw.collect([(fw.KRR(line, 1.0), [3]), (fw.Geometric(line, 0.5), [2])])
        >>> both.only("k-rr").people
        1
        """
        for name in names:
            if not isinstance(name, str):
                raise EvidenceError(f"only({shown(name)}): expected names in the survey, as texts.")
        called = [{one.name, one.mechanism.id, one.mechanism.name} for one in self.groups]
        missing = [name for name in names if not any(name in some for some in called)]
        if missing or not names:
            there = sorted({group.name or group.mechanism.name for group in self.groups})
            raise EvidenceError(
                f"no mechanism {', '.join(map(repr, missing))} in the evidence, which has "
                f"{', '.join(there) or 'none'}: expected names in the survey, ids or kinds."
                f"{closest(missing[0] if missing else '', there)}"
            )
        groups = [one for one, some in zip(self.groups, called, strict=True) if some & {*names}]
        ids = {group.mechanism.id for group in groups}
        return self._in_periods(lambda evidence: _only(evidence, ids))

    def between(self, first: Any = None, last: Any = None) -> "Evidence":
        """Return the evidence of whole periods, from the first day to the last, both included.

        Days are texts as "2026-11-02" or dates; without one, all from the beginning, or to the end.
        A span that cuts a period is refused with the periods there are (`fw.with_periods`).
        """
        from freewill.stats.periods import between  # noqa: PLC0415

        return between(self, first, last)

    def _in_periods(self, change: "Callable[[Evidence], Evidence]") -> "Evidence":
        from freewill.stats.periods import changed  # noqa: PLC0415

        return changed(self, change)

    @cached_property
    def factored(self) -> "Factored":
        """The reports as a column an attribute, where they are about several."""
        from freewill.stats.marginals import factored_of  # noqa: PLC0415

        return factored_of(self)

    def marginal(self, *names: str) -> "Evidence":
        """Return the evidence about some attributes; of one, as if it were the only question.

        What reports say of other attributes is forgotten, which is exact: what is left has the law
        of what is left. Whoever is silent on all of these is left out. Ten questions of five
        answers have ten million records, and 45 tables of 25.

        >>> import freewill as fw
        >>> yes_no = fw.Categorical(["yes", "no"])
        >>> pair = fw.Each(vote=fw.KRR(yes_no, 1.0), member=fw.KRR(yes_no, 2.0))
        >>> reports = pair.received([{"vote": "yes", "member": "no"}] * 3)
        >>> print(fw.collect([(pair, reports)]).marginal("member"))
        3 people, 1 mechanism, alphabet 2 labels
                     3 people           1 distinct output   k-rr(2 labels, epsilon=2)
        """
        from freewill.stats.marginals import marginal_evidence  # noqa: PLC0415

        if not self.periods:
            return marginal_evidence(self, names)
        some = self._in_periods(lambda part: marginal_evidence(part, names, of_nobody=True))
        return some if some.people else marginal_evidence(self, names)

    def sources(self) -> list[tuple[Source, dict[str, Stream]]]:
        """Return sources of reports that do not repeat, with their streams; merged twice, twice."""
        sources: dict[tuple[int, int], tuple[Source, dict[str, Stream]]] = {}
        for group in self.groups:
            times: Counter[int] = Counter()
            for stream in group.streams:
                which = id(stream.source)
                times[which] += 1
                place = sources.setdefault((which, times[which]), (stream.source, {}))
                place[1][group.mechanism.id] = stream
        return list(sources.values())

    def blocks(self) -> Iterator[Block]:
        """Yield everything observed: what was counted, then what was not, as it comes."""
        for group in self.groups:
            if group.table is not None:
                yield Block(group.mechanism.id, *group.table)
        for source, streams in self.sources():
            yield from unchanged(source, streams)

    def close(self) -> None:
        """Let go of what an engine keeps of the reports between passes."""
        for group in self.groups:
            for stream in group.streams:
                stream.source.close()

    def __enter__(self) -> "Evidence":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        many = several(len(self.groups), "mechanism")
        head = f"{several(self.people, 'person')}, {many}, alphabet {self.alphabet}"
        if self.periods:
            head += f", {several(len(self.periods), 'period')} from {self.periods[0].start} on"
        return "\n".join([head, *(f"  {group}" for group in self.groups)])


def _only(evidence: Evidence, ids: set[str]) -> Evidence:
    groups = [group for group in evidence.groups if group.mechanism.id in ids]
    return Evidence(evidence.alphabet, tuple(groups), picked(evidence, groups))


def merge(several: Iterable[Evidence]) -> Evidence:
    """Add the evidence of days or regions together, in one go: linear in what there is.

    Where all of it has periods, the sum has them, too (`fw.with_periods`): those of the same days
    are added, and those that overlap otherwise become one.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fw.merge(fw.collect([(coin, [0, 1])]) for day in range(7)).people
    14
    """
    all_of_them = listed(several, "several", "a list of evidence")
    if not all_of_them:
        raise EvidenceError("nothing to merge: expected evidence.")
    for one in all_of_them:
        checked_evidence(one, "merge")
    alphabet = all_of_them[0].alphabet
    by_id: dict[str, list[Group]] = {}
    for evidence in all_of_them:
        if evidence.alphabet != alphabet:
            raise EvidenceError(
                f"evidence over {alphabet} cannot be merged with evidence over "
                f"{evidence.alphabet}: the alphabets must be the same."
            )
        for group in evidence.groups:
            by_id.setdefault(group.mechanism.id, []).append(group)
    total = assemble(alphabet, [_joined(same) for same in by_id.values()], united(all_of_them))
    if not any(one.periods for one in all_of_them):
        return total
    from freewill.stats.periods import united_periods  # noqa: PLC0415

    return replace(total, periods=united_periods(all_of_them))


def checked_evidence(evidence: Any, what: str) -> Evidence:
    """Return evidence after checking that it is."""
    if not isinstance(evidence, Evidence):
        raise EvidenceError(
            f"{what} takes evidence, and not {type(evidence).__name__}: fw.collect makes it from "
            f"reports in memory, fw.read_reports from files."
        )
    return evidence


def refuse_nobody(evidence: Any, what: str) -> None:
    """Refuse evidence of nobody, of which no answer and no file is made."""
    if not checked_evidence(evidence, what).people:
        raise EvidenceError(
            f"the evidence has no people: {what} needs one at least. Are these the right survey "
            f"and the right reports?"
        )


def refuse_vast_joint(alphabet: Alphabet) -> None:
    """Refuse the joint distribution of attributes with more records than a vector may have.

    >>> import freewill as fw
    >>> ten = fw.Linear(0, 9)
    >>> refuse_vast_joint(fw.Product({f"q{n}": ten for n in range(8)}))
    Traceback (most recent call last):
    freewill.errors.EvidenceError: the joint distribution of 8 attributes has 100,000,000 records,
    ...
    """
    attributes = list(attributes_of(alphabet))
    most = VECTOR_BYTES // 8
    if attributes and alphabet.size > most:
        some = ", ".join(map(repr, attributes[:2]))
        raise EvidenceError(
            f"the joint distribution of {several(len(attributes), 'attribute')} has "
            f"{several(alphabet.size, 'record')}, and at most {most:,} are estimated. Take "
            f"marginals, which need no joint distribution: evidence.marginal({some}), in "
            f"commands --of {','.join(attributes[:2])}."
        )


def refuse_unheld(evidence: Evidence, what: str) -> None:
    """Refuse reports that stay in files, for what reads them over and over."""
    if not evidence.held:
        raise EvidenceError(
            f"{what} reads the reports a hundred times, and some stay in files: read them with a "
            f"larger hold=, or take fw.gibu, which reads them a few times."
        )


def listed(given: Any, name: str, wanted: str) -> list[Any]:
    """Return what can be gone through as a list."""
    try:
        return list(given)
    except (TypeError, RecursionError):
        raise EvidenceError(f"{name}={shown(given)}: expected {wanted}.") from None


def assemble(alphabet: Alphabet, groups: Iterable[Group], parts: Parts = frozenset()) -> Evidence:
    """Return evidence of checked groups, one a mechanism, in a fixed order; empty ones are gone."""
    some = [group for group in groups if group.people]
    checked_people(sum(group.people for group in some), "the evidence")
    some.sort(key=lambda group: (group.mechanism.name, str(group.mechanism), group.mechanism.id))
    return Evidence(alphabet, tuple(some), parts)


def _joined(same: list[Group]) -> Group:
    """Return the groups of one mechanism as one."""
    if len(same) == 1:
        return same[0]
    name = min((group.name for group in same if group.name), default="")
    if same[0].table is None:
        streams = [stream for group in same for stream in group.streams]
        return replace(same[0], streams=joined(streams), name=name)
    tables = [group.table for group in same if group.table is not None]
    return grouped(same[0].mechanism, tables, name)


def names_of(evidence: Evidence, *, short: bool = False) -> list[str]:
    """Return what all groups are called."""
    return [name_of(group, short=short) for group in evidence.groups]


def by_attribute(evidence: Evidence) -> bool:
    """Say whether all reports are of several attributes, each told by itself.

    >>> import freewill as fw
    >>> yes_no = fw.Categorical(["yes", "no"])
    >>> pair = fw.Each(vote=fw.KRR(yes_no, 1.0), member=fw.KRR(yes_no, 2.0))
    >>> by_attribute(fw.collect([(pair, pair.received([{"vote": "yes", "member": "no"}]))]))
    True
    """
    if len(attributes_of(evidence.alphabet)) < 2:
        return False
    empty = ((one, one.output_space.empty()) for one in evidence.mechanisms)
    return all(one.by_attribute(nothing) is not None for one, nothing in empty)
