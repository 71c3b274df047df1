"""Reports that are sent one by one or in small batches: checked by the rules that files are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from freewill.mechanisms import Mechanism
from freewill.outputs import Reason, unmarked
from freewill.types import BoolArray, IntArray, Reports

_LARGEST = 1 << 63
"""Integers of 64 bits lie below."""


def decode_sent(
    mechanism: Mechanism, reports: Sequence[int | str], longest: int
) -> tuple[Reports, IntArray, dict[int, Reason]]:
    """Return the outputs that are right, their places, and by place why others are not.

    `longest` is how many bytes a report that is right may have (`batches.longest_report`).

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> decode_sent(coin, [1, "yes", 7, "maybe"], 64)
    (array([1, 0]), array([0, 1]), {2: <Reason.OUT_OF_RANGE: 'report out of range'>,
    3: <Reason.NO_SYMBOL: 'neither an index nor a label'>})
    """
    space = mechanism.output_space
    wrong: dict[int, Reason] = {}
    columns: list[list[int]] = [[], []]
    for place, one in enumerate(reports):
        if isinstance(one, str):
            if len(one.encode("utf-8", "surrogatepass")) <= longest:
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
    fine = _possible(mechanism, both)
    wrong.update({int(place): Reason.IMPOSSIBLE for place in where[~fine]})
    return both[fine], where[fine], dict(sorted(wrong.items()))


def _possible(mechanism: Mechanism, outputs: Reports) -> BoolArray:
    """Say which outputs some value can lead to; wide ones are taken as they are, as from files."""
    if not len(outputs) or not mechanism.output_space.repeats:
        return np.ones(len(outputs), dtype=np.bool_)
    return np.asarray(mechanism.operator(outputs).forward(np.ones(mechanism.alphabet.size)) > 0)
