"""Evidence that stays on a cluster: bit reports on Spark, and the solver's passes over them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from freewill.alphabets import Alphabet
from freewill.errors import EvidenceError, ParameterError
from freewill.mechanisms import Mechanism
from freewill.operators import BitOperator, Guess, Sums
from freewill.reports import rows
from freewill.reports.reading import Reading
from freewill.reports.spark import on_spark, quiet
from freewill.reports.survey import Survey
from freewill.reports.tally import Refusals, Tally
from freewill.reports.wire import Bits, Reason, codec_of
from freewill.reports.workers import SUMMARY, SUMS, Codecs, add_up, look, make_pass, total
from freewill.solvers.likelihood import Likelihood
from freewill.solvers.parts import Part
from freewill.solvers.passes import Passes, stride_for
from freewill.types import FloatArray

_MANY_PARTITIONS = 64


@dataclass(frozen=True, eq=False)
class ClusterEvidence:
    """Evidence whose bit reports stay on Spark, for `gibu`.

    `reading` tells of all rows; its evidence is that of the mechanisms without bits, which is
    small. Each pass of the solver is one Spark job that sends theta out and (L, g, H) back.
    """

    reading: Reading
    bits: "SparkBits | None"

    @property
    def people(self) -> int:
        """How many people reported, n."""
        return self.reading.evidence.people + (0 if self.bits is None else self.bits.rows)

    @property
    def alphabet(self) -> Alphabet:
        """The values."""
        return self.reading.evidence.alphabet

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """What the people chose from."""
        bits = () if self.bits is None else self.bits.summaries
        return (*self.reading.evidence.mechanisms, *(summary.mechanism for summary in bits))

    def passes(self) -> Passes:
        """Return what a pass goes over: the bits on Spark, and the rest in memory."""
        rest = self.reading.evidence
        if self.people == 0:
            raise EvidenceError("the evidence has no people: there is nothing to estimate from.")
        if self.bits is None:
            return Passes.over(Likelihood(rest.operator, rest.weights))
        parts: list[Part] = [self.bits]
        if rest.people:
            weights = rest.weights * (rest.people / self.people)
            parts.extend(Passes.over(Likelihood(rest.operator, weights)).parts)
        size = self.bits.size
        return Passes(parts, size, stride_for(sum(part.rows for part in parts), size))

    def close(self) -> None:
        """Let Spark forget the rows that it holds between passes."""
        if self.bits is not None:
            self.bits.frame.unpersist()

    def __enter__(self) -> "ClusterEvidence":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def cluster_evidence(source: Any, survey: Survey | str | Path) -> ClusterEvidence:
    """Count what is small, and leave bit reports on Spark, checked and ready for passes.

    Takes what `read` takes. The workers must have freewill installed. Use it where the bit
    reports do not fit one machine; otherwise `read` with engine="spark" gives plain evidence.
    """
    survey = survey if isinstance(survey, Survey) else Survey.load(survey)
    codecs: dict[str, Bits] = {}
    for name, mechanism in survey.mechanisms.items():
        codec = codec_of(mechanism)
        if isinstance(codec, Bits):
            codecs[name] = codecs[mechanism.id] = codec
    tally = Tally(survey)
    with on_spark(source) as table, quiet():
        frame = rows.checked_columns(table.frame, table.what)
        numbered = rows.REPORT_ID in frame.collect_schema()
        count = frame.to_native().count()
        if numbered:
            both = [rows.single(rows.unnumbered(frame)), rows.once(frame)]
            frame = nw.concat(both)
        for batch in table.batches(rows.counted(rows.not_of(frame, list(codecs)))):
            tally.add(batch)
        held = rows.single(rows.of(frame, list(codecs))).to_native().persist()
        # Evaluated here, while the files are watched for changes.
        summaries = _summaries(held, codecs, tally.refusals)
    evidence = tally.evidence()
    good = sum(summary.rows for summary in summaries)
    bits = SparkBits(held, codecs, tuple(summaries), evidence.people + good) if good else None
    invalid = tally.invalid()
    seen = evidence.people + good + sum(part.count for part in invalid)
    return ClusterEvidence(Reading(evidence, count, count - seen, invalid), bits)


@dataclass(frozen=True, eq=False)
class Summary:
    """What one look at all bit reports of a mechanism gives."""

    mechanism: Mechanism
    rows: int
    ones: FloatArray
    log_scale: float


@dataclass(frozen=True, eq=False)
class SparkBits:
    """Bit reports on Spark, all of one survey, with their sums: a `Part` of passes."""

    frame: Any
    codecs: Codecs
    summaries: tuple[Summary, ...]
    everyone: int
    """How many people reported, here and elsewhere: the weight of a report is 1 over that."""

    @property
    def size(self) -> int:
        """Size of the alphabet, k."""
        return int(self.summaries[0].mechanism.alphabet.size)

    @property
    def rows(self) -> int:
        """How many bit reports there are."""
        return sum(summary.rows for summary in self.summaries)

    @property
    def weight(self) -> float:
        """Share of all people."""
        return self.rows / self.everyone

    @property
    def log_scale(self) -> float:
        """Weighted sum of the rows' own factors."""
        return sum(summary.log_scale for summary in self.summaries) / self.everyone

    @cached_property
    def laws(self) -> dict[str, tuple[float, float]]:
        """(base, gain) of each mechanism, by name and id."""
        return {name: _law(codec) for name, codec in self.codecs.items()}

    def sums(self, theta: FloatArray, stride: int) -> Sums:
        """Make one pass: a Spark job."""
        with quiet():
            work = make_pass(self.codecs, self.laws, theta, stride, 1 / self.everyone)
            found = self.frame.mapInArrow(work, SUMS)
            if found.rdd.getNumPartitions() > _MANY_PARTITIONS:
                # The driver adds up a few sums of sums.
                found = found.repartition(8).mapInArrow(add_up(self.size), SUMS)
            return total(found.toArrow().to_batches(), self.size)

    def guesses(self) -> Iterator[Guess]:
        """Yield base, gain, weight and weight by set bit of each mechanism."""
        for summary in self.summaries:
            base, gain = self.laws[summary.mechanism.id]
            weight, ones = summary.rows / self.everyone, summary.ones / self.everyone
            yield Guess(base, gain, weight, ones)


def _law(codec: Bits) -> tuple[float, float]:
    operator = codec.mechanism.operator(np.zeros((0, codec.width), dtype=np.uint8))
    if not isinstance(operator, BitOperator):
        raise ParameterError(f"{codec.mechanism} has no kernel for bits: use read instead.")
    return operator.base, operator.gain


def _summaries(frame: Any, codecs: Codecs, refusals: Refusals) -> list[Summary]:
    """Look at all bit reports once: how many, their bit sums, their factors, what is invalid."""
    by_id: dict[str, Summary] = {}
    answer = frame.mapInArrow(look(codecs), SUMMARY).toArrow()
    for row in answer.to_pylist():
        for reason, count, examples in json.loads(row["refused"] or "[]"):
            noted = [(name, rank, text) for name, rank, text in examples]
            refusals.merge([(Reason(reason), count, noted)])
        if row["mechanism"] is None:
            continue
        mechanism = codecs[row["mechanism"]].mechanism
        ones = np.frombuffer(row["ones"])
        last = by_id.get(mechanism.id, Summary(mechanism, 0, np.zeros(ones.size), 0.0))
        by_id[mechanism.id] = Summary(
            mechanism,
            last.rows + row["rows"],
            last.ones + ones,
            last.log_scale + row["log_scale"],
        )
    return [by_id[name] for name in sorted(by_id)]
