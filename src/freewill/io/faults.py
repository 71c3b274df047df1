"""Whose fault it is: what is said where not the reports but an engine or its machine gives out."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from freewill.errors import first_line


class Fault(NamedTuple):
    """Something that may happen to any reports, however good: how it is known, and what helps."""

    signs: str
    """A pattern of what is said when it happens."""
    advice: str


LONG_ID = Fault(
    r"a report_id of \d+ bytes",
    "Is something else in the column report_id? Rename the column, or leave it out.",
)
MACHINE = (
    Fault(
        r"(?i)no space left on device|disk quota exceeded|errno 28\b",
        "The disk is full: make room, or set TMPDIR to a folder on a larger one.",
    ),
    Fault(
        r"(?i)too many open files",
        "Raise the limit of open files (ulimit -n), or read fewer files at once and merge their "
        "evidence with +.",
    ),
    Fault(
        r"(?i)permission denied|access denied|accesscontrolexception|operation not permitted",
        "Whoever runs this may not read it: change its permissions, or read a copy.",
    ),
    Fault(
        r"(?i)cannot allocate memory|malloc of size|realloc of size|memoryerror|bad_alloc",
        "This machine's memory does not suffice: read fewer files at once and merge their "
        "evidence with +, or write Parquet in smaller row groups.",
    ),
)
"""What any engine may meet."""


def blamed(error: BaseException, lines: Sequence[str], faults: Iterable[Fault]) -> tuple[str, str]:
    """Return what happened and what helps, from all that an error says; no advice if unknown.

    >>> lines = ["Could not write", "No space left on device"]
    >>> blamed(OSError(), lines, MACHINE)[0]
    'No space left on device'
    >>> blamed(ValueError("strange"), ["strange"], MACHINE)
    ('strange', '')
    """
    for fault in faults:
        for line in lines:
            if re.search(fault.signs, line):
                return line, fault.advice
    return (lines[0] if lines else first_line(error)), ""
