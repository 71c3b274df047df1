"""A test of free choice for several questions: whose choice depends on which attribute's value.

With three mechanisms and silence for each of four questions there are 256 ways to answer, and a
test of each has no power. So people are put together by what they chose for *one* question, and
what they report of *one* attribute, the same or another, is held against what all others report of
it: the marginal reports, which have the laws of that attribute alone, exactly. A question's choice
that depends on the value of another attribute (the old protect their income) is found where it is,
and no joint distribution is estimated: ten questions cost a hundred tests of a few values each.

What cannot be found: a choice that depends on two attributes together and on neither alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.domain.mechanisms.base import Mechanism, brief
from freewill.domain.mechanisms.each import Silent
from freewill.domain.mechanisms.factored import Column
from freewill.domain.mechanisms.one_of import OneOf
from freewill.errors import EvidenceError, several
from freewill.stats.choice.check import GroupChoice, Sample, Scores, holm, preference
from freewill.stats.evidence import FEWEST, Evidence
from freewill.stats.information import OneStep, marginal_fits
from freewill.stats.marginals import part_names

_ALONE = "for its people's reports tell nothing of any attribute that others do not"


@dataclass(frozen=True)
class AttributeChoice(GroupChoice):
    """What reports say about who chose a mechanism for one question, by the values of attributes.

    `question` is the one that it was chosen for, `attribute` the one by whose value the choice
    deviates most; `p_value` is corrected for the number of attributes that were looked at.
    """

    question: str = ""
    attribute: str = ""

    @property
    def words(self) -> str:
        """Whom it is chosen by more than by others, in words."""
        return f"chosen {self.direction} ({self.attribute})"


class Chosen(NamedTuple):
    """What was chosen for one question: the mechanisms by name, and which each report is of."""

    question: str
    names: list[str]
    which: IntArray


def tested_by_attribute(fit: OneStep) -> tuple[tuple[GroupChoice, ...], dict[str, str]]:
    """Return the choices of every question that can be tested, and why the others cannot."""
    evidence = fit.evidence
    questions = [one for one in chosen_for(evidence) if len(one.names) > 1]
    if not questions:
        raise EvidenceError(
            f"all {several(evidence.people, 'person')} chose the same mechanism for each question: "
            f"there is no choice to test. Evidence of two for one of them at least is needed."
        )
    attributes, counts = list(told_of(fit)), evidence_counts(evidence)
    left_out: dict[str, str] = {}
    tested: list[AttributeChoice] = []
    tests: list[float] = []
    places: list[int] = []
    for question in questions:
        first = len(tests)
        for number in range(len(question.names)):
            outcome = _tested(question, number, attributes, counts)
            if isinstance(outcome, str):
                left_out[f"{question.question}: {question.names[number]}"] = outcome
                continue
            tested.append(outcome)
            # Of two choices S_1 = -S_2, and V_1 = V_2: one test, and nothing to correct for.
            if len(question.names) > 2 or len(tests) == first:
                tests.append(outcome.p_value)
            places.append(len(tests) - 1)
    if not tested:
        why = "; ".join(f"{name} is {reason}" for name, reason in left_out.items())
        raise EvidenceError(f"no choice can be tested: {why}.")
    fair = holm(tests)
    groups = (replace(one, adjusted=fair[n]) for one, n in zip(tested, places, strict=True))
    return tuple(groups), left_out


def _tested(
    question: Chosen, number: int, attributes: "list[ToldOf]", counts: IntArray
) -> AttributeChoice | str:
    """Test one choice against the values of all attributes; say why where it cannot be."""
    own = question.which == number
    samples = [(attribute, attribute.sample(own)) for attribute in attributes]
    results = []
    for attribute, sample in samples:
        result = None if sample.people < FEWEST else attribute.scores.test(sample)
        if result is not None:
            results.append((result[0], attribute.name, attribute.direction(result[1])))
    if not results:
        people = max((sample.people for _, sample in samples), default=0)
        few = f"of {several(people, 'person')}, and {FEWEST} are needed"
        return few if people < FEWEST else _ALONE
    p_value, attribute_name, direction = min(results)
    return AttributeChoice(
        name=f"{question.question}: {question.names[number]}",
        people=int(counts[own].sum()),
        p_value=min(1.0, p_value * len(results)),
        adjusted=1.0,
        direction=direction,
        question=question.question,
        attribute=attribute_name,
    )


def evidence_counts(evidence: Evidence) -> IntArray:
    """Return how many people sent each report, in the order of `evidence.factored`."""
    return np.concatenate([group.counts for group in evidence.groups])


def chosen_for(evidence: Evidence) -> Iterator[Chosen]:
    """Yield what was chosen for each question, by which report.

    Who draws one attribute and answers that (`fw.OneOf`) chose so for each: what was drawn is
    chance.
    """
    attributes: Any = evidence.alphabet
    parts = [_parts_of(group.mechanism, group.outputs) for group in evidence.groups]
    for place, question in enumerate(attributes.attributes):
        called, names = part_names(evidence, [place]), dict[tuple[str, bool], int]()
        texts: list[str] = []
        which = []
        for group, some in zip(evidence.groups, parts, strict=True):
            drawn = isinstance(group.mechanism, OneOf)
            own = np.empty(len(group.counts), dtype=np.int64)
            for rows, part in some[place]:
                key = part.id, drawn
                if key not in names:
                    names[key] = len(names)
                    text = called.get((place, part.id)) or brief(part)
                    texts.append(f"{text} (one of several)" if drawn else text)
                own[rows] = names[key]
            which.append(own)
        yield Chosen(question, texts, np.concatenate(which))


def _parts_of(mechanism: Any, outputs: Any) -> list[list[tuple[Any, Mechanism]]]:
    """Return the mechanisms that were chosen for each attribute, and by which reports."""
    if isinstance(mechanism, OneOf):
        return [[(slice(None), part)] for part in mechanism.parts]
    said = mechanism.by_attribute(outputs).said
    return [[(one.places, one.mechanism) for one in column] for column in said]


@dataclass(frozen=True, eq=False)
class ToldOf:
    """What all reports tell of one attribute: its scores, and the law of what they say of it."""

    name: str
    scores: Scores
    column: Column
    counts: IntArray
    """Of people who sent each report; 0 where it says nothing of the attribute."""

    @cached_property
    def _gains(self) -> tuple[Any, FloatArray]:
        """The law of the distinct outputs, and their probabilities in its units."""
        law = self.column.law()
        return law, law.forward_within(self.scores.fit.information.theta, 1e-9)

    @cached_property
    def _groups(self) -> IntArray:
        """The group of the marginal evidence that each distinct output is of, -1 for silence."""
        places = {one.id: n for n, one in enumerate(self.scores.fit.evidence.mechanisms)}
        each = zip(self.column.mechanisms, self.column.outputs, strict=True)
        return np.concatenate([np.full(len(out), places.get(one.id, -1)) for one, out in each])

    def sample(self, own: BoolArray) -> Sample:
        """Return some of the people who told of the attribute, by the reports that are theirs."""
        law, fitted = self._gains
        there = own & (self.counts > 0)
        times = np.bincount(self.column.which[there], self.counts[there], len(fitted))
        people = int(times.sum())
        if not people:
            return Sample(0, np.zeros(law.shape[1]), {})
        slope = law.adjoint(np.divide(times, fitted, out=np.zeros(len(times)), where=times > 0))
        groups, some = self._groups, times > 0
        shares = np.bincount(groups[some], times[some]) / people
        places = {int(n): float(share) for n, share in enumerate(shares) if share > 0}
        return Sample(people, slope / people - 1, places)

    def direction(self, tilt: FloatArray) -> str:
        """Say which values of the attribute choose something more often than others."""
        fit = self.scores.fit
        return preference(tilt, fit.mode, fit.evidence.alphabet)


def told_of(fit: OneStep) -> Iterator[ToldOf]:
    """Yield what reports tell of each attribute that anybody answered."""
    evidence, fits = fit.evidence, marginal_fits(fit)
    product: Any = evidence.alphabet
    counts = evidence_counts(evidence)
    for name, column in zip(product.attributes, evidence.factored.columns, strict=True):
        number, _ = column.split()
        silent = np.array([isinstance(one, Silent) for one in column.mechanisms])[number]
        if name not in fits:
            continue
        scores = fits[name].once(Scores.of)
        yield ToldOf(name, scores, column, np.where(silent, 0, counts))
