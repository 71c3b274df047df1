"""Output spaces: what a report of a mechanism may be, declared once, one kind a file."""

from freewill.outputs.base import LONGEST_NUMBER, VALUE, Counter, Decoded, OutputSpace, Reason
from freewill.outputs.bits import Bits
from freewill.outputs.counts import MOST_PEOPLE, checked_counts, checked_people, people_in
from freewill.outputs.symbols import Symbols
from freewill.outputs.values import unmarked, values

__all__ = [
    "LONGEST_NUMBER",
    "MOST_PEOPLE",
    "VALUE",
    "Bits",
    "Counter",
    "Decoded",
    "OutputSpace",
    "Reason",
    "Symbols",
    "checked_counts",
    "checked_people",
    "people_in",
    "unmarked",
    "values",
]
