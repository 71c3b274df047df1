"""Reports that are sent one by one or in small batches: checked by the rules that files are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from freewill.core.types import BoolArray, IntArray, Reports
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.outputs.base import Reason
from freewill.domain.outputs.symbols import unmarked

_LARGEST = 1 << 63
"""Integers of 64 bits lie below."""


class SentReader:
    """Reads reports of one mechanism, again and again.

    `longest` is how many bytes a report that is right may have (`batches.longest_report`). The law
    of all outputs is asked once, here, which some have yet to work out.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> SentReader(coin, longest=64).read([1, "yes", 7, "maybe"])
    (array([1, 0]), array([0, 1]), {2: <Reason.OUT_OF_RANGE: 'report out of range'>,
    3: <Reason.NO_SYMBOL: 'neither an index nor a label'>})
    """

    def __init__(self, mechanism: Mechanism, longest: int) -> None:
        self.mechanism, self._longest = mechanism, longest
        self._space = mechanism.output_space
        self._listed: BoolArray | None = None
        if self._space.alphabet is not None and self._space.listable:
            self._listed = self._asked(self._space.all())

    def read(self, reports: Sequence[int | str]) -> tuple[Reports, IntArray, dict[int, Reason]]:
        """Return the outputs that are right, their places, and by place why others are not."""
        space = self._space
        wrong: dict[int, Reason] = {}
        columns: list[list[int]] = [[], []]
        for place, one in enumerate(reports):
            if isinstance(one, str):
                if len(one.encode("utf-8", "surrogatepass")) <= self._longest:
                    columns[1].append(place)
                else:
                    wrong[place] = Reason.NO_BITS if space.packed else Reason.NO_SYMBOL
            elif -_LARGEST <= one < _LARGEST:
                columns[0].append(place)
            else:
                wrong[place] = Reason.NO_BITS if space.packed else Reason.OUT_OF_RANGE
        outputs, right = [], []
        for places in filter(None, columns):
            column = pa.array([reports[place] for place in places])
            found = space.decode(unmarked(space, column))
            for reason, rows in found.bad.items():
                wrong.update({places[row]: reason for row in np.flatnonzero(rows)})
            outputs.append(found.outputs)
            right.append(np.array(places, dtype=np.int64)[found.good])
        if not outputs:
            return space.empty(), np.empty(0, dtype=np.int64), wrong
        both: Any = np.concatenate(outputs)
        where = np.concatenate(right)
        fine = self._possible(both)
        wrong.update({int(place): Reason.IMPOSSIBLE for place in where[~fine]})
        return both[fine], where[fine], dict(sorted(wrong.items()))

    def _possible(self, outputs: Any) -> BoolArray:
        """Say which outputs some value can lead to; wide ones are taken as they are, as files."""
        if self._listed is not None:
            return np.asarray(self._listed[outputs])
        if not len(outputs) or not self._space.repeats:
            return np.ones(len(outputs), dtype=np.bool_)
        return self._asked(outputs)

    def _asked(self, outputs: Reports) -> BoolArray:
        everyone = np.ones(self.mechanism.alphabet.size)
        return np.asarray(self.mechanism.operator(outputs).forward(everyone) > 0)
