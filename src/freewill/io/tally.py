"""The tally: batches of rows that repeat in, checked groups of evidence out."""

from collections.abc import Iterator
from typing import Any

from freewill.domain.outputs.base import Counter, Reason
from freewill.domain.survey import Survey
from freewill.io.batches import Decoder
from freewill.io.refusals import Refusals
from freewill.stats.evidence import Group, possible


class Tally:
    """Counts of each mechanism's outputs, taken from batches of (mechanism, report[, count])."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._decoder = Decoder.of(survey, repeats=True)
        self._counters: dict[str, Counter] = {}
        self.refusals = Refusals()

    def add(self, batch: Any) -> None:
        """Count a batch; without a column `count`, each row counts once."""
        for block in self._decoder.blocks([batch], self.refusals):
            if block.mechanism not in self._counters:
                space = self._survey.find(block.mechanism).output_space
                self._counters[block.mechanism] = space.counter()
            self._counters[block.mechanism].add(block.outputs, block.counts)

    def groups(self) -> Iterator[Group]:
        """Yield the groups, leaving out reports that no value can lead to."""
        for key, counter in self._counters.items():
            mechanism, name = self._survey.find(key), self._survey.names[key]
            group = Group(mechanism, counter.result(), name=name)
            fine = possible(group)
            if group.table is not None and not fine.all():
                outputs, counts = group.table
                column = mechanism.output_space.encode(outputs)
                self.refusals.add(Reason.IMPOSSIBLE, name, column, counts, ~fine)
                group = Group(mechanism, (outputs[fine], counts[fine]), name=name)
            yield group
