"""What separates the columns of a CSV: a comma, a semicolon or a tab."""

import csv
import io
from collections.abc import Collection

from freewill.io.row_ends import unpacked

SEPARATORS = ",;\t"
_HEAD_BYTES = 1 << 16


def head_of(path: str) -> str:
    """Return the beginning of a text file, also of a compressed one."""
    with unpacked(path) as file:
        return str(file.read(_HEAD_BYTES).decode("utf-8-sig", "replace"))


def first_row(head: str, separator: str) -> list[str]:
    """Return the fields of the first row."""
    return next(csv.reader(io.StringIO(head, newline=""), delimiter=separator), [])


def separator_of(head: str, names: Collection[str]) -> str:
    r"""Return the separator by which the first row has most of the names; a comma if all are alike.

    >>> separator_of("mechanism;report\ncareful;34", ["mechanism", "report"])
    ';'
    """
    wanted = {*names}
    return max(SEPARATORS, key=lambda one: len(wanted.intersection(first_row(head, one))))
