"""Evidence: which outputs were observed of each mechanism, how often, in which periods.

Evidence that is merged keeps the digest of each of its parts, evidence of files of reports those of
the files, and that of a store one of each period, which stays while it grows; in memory and in
files. A digest of evidence says nothing that its counts do not. Evidence that others could have by
chance, as that of a few people or of a coin, has none.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from freewill.core.presented import Presented
from freewill.core.types import VECTOR_BYTES, FloatArray, IntArray, checked_people
from freewill.domain.alphabets.base import Alphabet, attributes_of
from freewill.domain.mechanisms.base import Mechanism, stacked_operators
from freewill.errors import EvidenceError, closest, several, shown
from freewill.numeric.operators.base import StackOperator
from freewill.stats.groups import Block, Group, Source, Stream, grouped, joined, name_of, unchanged

if TYPE_CHECKING:
    from freewill.domain.mechanisms.factored import Factored

Parts = frozenset[str]
COINCIDENCE = math.log(1e-6)
"""Logarithm of the chance below which nobody takes evidence that is alike for that of others."""
MOST_PARTS = 4096
"""Digests that are kept; those of more parts, the largest, are lost."""
_LENGTH = 32
FEWEST = 30
"""People of a group below whom its sums are not normal enough for a test."""
_COMBINED = 1 << 14
"""Records times combinations of mechanisms up to which a choice among all of them is fitted."""
_NAMED = 8
"""Periods that an error names: the last of them."""
_DAY = timedelta(days=1)


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
    """Digests of what it was put together from."""
    periods: "tuple[Period, ...]" = field(default=(), compare=False, repr=False)
    """What it is the sum of, where counts are kept apart by day, week or month (`with_periods`)."""

    @cached_property
    def digests(self) -> Parts:
        """Digests of the evidence and of what it was put together from."""
        return self.parts | own_part(self)

    @cached_property
    def people(self) -> int:
        """How many people reported, n."""
        return sum(group.people for group in self.groups)

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
        wanted = [one for one, some in zip(self.groups, called, strict=True) if some & {*names}]
        ids = {group.mechanism.id for group in wanted}

        def of_these(part: Evidence) -> Evidence:
            groups = [group for group in part.groups if group.mechanism.id in ids]
            return Evidence(part.alphabet, tuple(groups), picked(part, groups))

        return changed(self, of_these)

    def between(self, first: Any = None, last: Any = None) -> "Evidence":
        """Return the evidence of whole periods, from the first day to the last, both included.

        Days are texts as "2026-11-02" or dates; without one, all from the beginning, or to the end.
        A span that cuts a period is refused with the periods there are (`fw.with_periods`).
        """
        if not self.periods:
            raise EvidenceError(
                "the evidence has no periods, of which some could be taken: a collector's store "
                "keeps them, fw.with_periods and `freewill collect --period` tell them of other "
                "evidence."
            )
        begin = self.periods[0].start if first is None else day(first, "first")
        end = date.max if last is None else day(last, "last")
        whole = f"from {begin} to {'the end' if last is None else end}"
        ends = [period.last or date.max for period in self.periods]
        some = [
            (one, over)
            for one, over in zip(self.periods, ends, strict=True)
            if one.start <= end and over >= begin
        ]
        for period, over in some:
            if period.start < begin or over > end:
                raise EvidenceError(
                    f"{whole} cuts the period {period}, whose reports are counted together. Take "
                    f"whole ones, of {_named(self.periods)}."
                )
        if not some:
            raise EvidenceError(f"no period {whole}: expected some of {_named(self.periods)}.")
        return _sum([period for period, _ in some], frozenset())

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

        of_nobody = bool(self.periods)
        some = changed(self, lambda part: marginal_evidence(part, names, of_nobody=of_nobody))
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
    return replace(total, periods=_united_periods(all_of_them))


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


def refuse_several(evidence: Evidence, what: str) -> None:
    """Refuse evidence of several questions, for what is about one."""
    if isinstance(evidence, Evidence) and by_attribute(evidence):
        first, second, *_ = attributes_of(evidence.alphabet)
        raise EvidenceError(
            f"{what} is about one question, and the evidence is about several, with a choice each: "
            f"ask it of evidence.marginal({first!r}), then of evidence.marginal({second!r})."
        )


def refuse_combinations(evidence: Evidence, what: str) -> None:
    """Refuse what fits a number for each record and combination of mechanisms, where it is slow."""
    names = list(attributes_of(evidence.alphabet))
    if names and evidence.alphabet.size * len(evidence.groups) > _COMBINED:
        pair = ", ".join(map(repr, names[:2]))
        raise EvidenceError(
            f"{what} over {several(evidence.alphabet.size, 'record')} and "
            f"{several(len(evidence.groups), 'combination')} of mechanisms would take very long: "
            f"at most {_COMBINED:,} of both are fitted. Ask it of two attributes, "
            f"evidence.marginal({pair}); fw.check_choice says which choice depends on which value."
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


def too_small(group: Group) -> str | None:
    """Say why a group is not tested, None where it is large enough.

    >>> import freewill as fw
    >>> too_small(fw.collect([(fw.KRR(fw.Linear(0, 9), 1.0), [3, 4])]).groups[0])
    'of 2 people, and 30 are needed'
    """
    people = several(group.people, "person")
    return None if group.people >= FEWEST else f"of {people}, and {FEWEST} are needed"


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


@dataclass(frozen=True)
class Period:
    """Days from `start` on, before `end` (None while it goes on), and what was reported then.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> week = fw.collect([(coin, [0, 1], [60, 40])])
    >>> (period,) = fw.with_periods([("2026-11-02", "2026-11-09", week)]).periods
    >>> print(period)
    2026-11-02..2026-11-08
    """

    start: date
    end: date | None
    evidence: Evidence = field(repr=False)

    @property
    def last(self) -> date | None:
        """The last day of it; None while it goes on."""
        return None if self.end is None else self.end - _DAY

    def __str__(self) -> str:
        return f"{self.start}..{self.last}" if self.last else f"since {self.start}"


def with_periods(parts: Iterable[Sequence[Any]], beside: Parts = frozenset()) -> Evidence:
    """Return the sum of evidence of some periods, which keeps them: [(start, end, evidence), ...].

    `start` is a day, a `datetime.date` or a text as "2026-11-02", `end` the first day that belongs
    to it no more; the last period may go on, and has None. Periods may leave days out, and may not
    overlap. `beside` are digests of more that the sum was put together from.

    O(outputs of all periods).

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> first, second = fw.collect([(coin, [0, 0, 1])]), fw.collect([(coin, [1])])
    >>> weeks = [("2026-11-02", "2026-11-09", first), ("2026-11-09", None, second)]
    >>> evidence = fw.with_periods(weeks)
    >>> evidence.people, [str(period) for period in evidence.periods]
    (4, ['2026-11-02..2026-11-08', 'since 2026-11-09'])
    >>> evidence.between(last="2026-11-08") == first
    True
    """
    wanted = "triples (start, end, evidence)"
    periods = sorted(
        (_checked(part) for part in listed(parts, "parts", wanted)), key=lambda period: period.start
    )
    if not periods:
        raise EvidenceError(f"no period: expected {wanted}.")
    for before, after in pairwise(periods):
        if before.end is None or before.end > after.start:
            raise EvidenceError(
                f"the periods {before} and {after} overlap: expected each to end where the next "
                f"begins, or before. Only the last may go on."
            )
    return _sum(periods, beside)


def _checked(part: Any) -> Period:
    given = tuple(part) if isinstance(part, tuple | list) else ()
    if len(given) != 3:
        raise EvidenceError(f"{shown(part)}: expected (start, end, evidence).")
    start = day(given[0], "start")
    end = None if given[1] is None else day(given[1], "end")
    if end is not None and end <= start:
        raise EvidenceError(
            f"a period from {start} to {end}: the end is the first day that belongs to it no more, "
            f"and must be later than the start."
        )
    evidence = checked_evidence(given[2], "a period")
    return Period(start, end, replace(evidence, periods=()) if evidence.periods else evidence)


def day(given: Any, name: str) -> date:
    """Return a day that was given as one, or as a text.

    >>> day("2026-11-02", "from")
    datetime.date(2026, 11, 2)
    """
    if isinstance(given, str):
        try:
            return date.fromisoformat(given)
        except ValueError:
            given = shown(given)
    elif isinstance(given, date) and not isinstance(given, datetime):
        return given
    raise EvidenceError(f"{name}={given}: expected a day, as 2026-11-02.")


def _sum(periods: Sequence[Period], beside: Parts) -> Evidence:
    total = merge([period.evidence for period in periods])
    return replace(total, periods=tuple(periods), parts=total.parts | beside)


def _named(periods: Sequence[Period]) -> str:
    more = f"{len(periods) - _NAMED} more, " if len(periods) > _NAMED else ""
    return more + ", ".join(map(str, periods[-_NAMED:]))


def changed(evidence: Evidence, change: Callable[[Evidence], Evidence]) -> Evidence:
    """Return what a change makes of evidence, made in each of its periods where it has some."""
    if not evidence.periods:
        return change(evidence)
    return _sum(
        [replace(period, evidence=change(period.evidence)) for period in evidence.periods],
        frozenset(),
    )


def _united_periods(bodies: Sequence[Evidence]) -> tuple[Period, ...]:
    """Return the periods of evidence that is merged; none where some of it is of no known time.

    Those of the same days are added. Those that overlap otherwise, as a week and its days, become
    one, from the first day of both to the last: what was counted together cannot be told apart.
    """
    if not all(body.periods for body in bodies if body.people):
        return ()
    every = sorted((p for body in bodies for p in body.periods), key=lambda period: period.start)
    together: list[list[Period]] = []
    for period in every:
        if together and _until(together[-1]) > period.start:
            together[-1].append(period)
        else:
            together.append([period])
    return tuple(
        Period(
            same[0].start,
            None if any(period.end is None for period in same) else _until(same),
            merge([period.evidence for period in same]),
        )
        for same in together
    )


def _until(periods: Sequence[Period]) -> date:
    """Return the first day after some periods, the last of all while one of them goes on."""
    return max(period.end or date.max for period in periods)


def checked_parts(given: Any) -> Parts:
    """Return what is a digest of what a file tells, of which nothing else depends."""
    some = given[:MOST_PARTS] if isinstance(given, list) else []
    return frozenset(one for one in some if isinstance(one, str) and len(one) == _LENGTH)


def digest(*contents: bytes) -> str:
    """Return the digest of some bytes."""
    total = hashlib.sha256()
    for content in contents:
        total.update(b"%d:" % len(content))
        total.update(content)
    return total.hexdigest()[:_LENGTH]


def united(bodies: Iterable[Evidence]) -> Parts:
    """Return the parts of evidence that is put together from some bodies."""
    parts = frozenset().union(*(body.parts or own_part(body) for body in bodies))
    return frozenset(sorted(parts)[:MOST_PARTS])


def picked(evidence: Evidence, groups: Iterable[Group]) -> Parts:
    """Return the parts of some groups of evidence: those of other groups are of other people."""
    ids = [group.mechanism.id.encode() for group in groups]
    parts = evidence.parts or own_part(evidence)
    return frozenset(digest(part.encode(), *ids) for part in parts)


def own_part(evidence: Evidence) -> Parts:
    """Return the digest of evidence; none where others could have the same by chance."""
    if log_repeated(evidence) >= COINCIDENCE:
        return frozenset()
    contents: list[bytes] = []
    for group in evidence.groups:
        contents.append(group.mechanism.id.encode())
        if group.table is None:
            contents.append(b"%d %d" % (group.seen.people, group.seen.checksum))
        else:
            outputs, counts = group.table
            kind = "<i8" if outputs.dtype.kind == "i" else outputs.dtype
            contents.append(np.ascontiguousarray(outputs, dtype=kind).tobytes())
            contents.append(np.ascontiguousarray(counts, dtype="<i8").tobytes())
    return frozenset([digest(*contents)])


def log_repeated(evidence: Evidence) -> float:
    """Bound the logarithm of the chance that others have the same evidence, whoever they are."""
    alone = sum(group.people for group in evidence.groups if group.table is None)
    return log_likeliest(evidence, evidence.people) - alone


def log_likeliest(evidence: Evidence, people: int) -> float:
    """Bound the logarithm of the chance of the counts of evidence among those of so many people.

    No distribution gives counts c of n people a larger chance than c / n does, which is
    n! / n^n prod c^c / c!.
    """
    from scipy.special import gammaln, xlogy  # noqa: PLC0415 (not loaded to write reports)

    tables = [group.table[1] for group in evidence.groups if group.table is not None]
    counts = np.concatenate([[people], *tables])
    logs = xlogy(counts, counts) - counts - gammaln(counts + 1.0)
    return float(logs[1:].sum() - logs[0])


def some_of(texts: Sequence[str], most: int = 5) -> str:
    """Return texts in a row, the first of them where they are many.

    >>> some_of(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
