"""Output spaces: what a report of a mechanism may be, declared once, one kind a file."""

from freewill.outputs.base import Counter, Decoded, OutputSpace, Reason
from freewill.outputs.bits import Bits
from freewill.outputs.counts import MOST_PEOPLE, checked_counts, checked_people, people_in
from freewill.outputs.symbols import Symbols

__all__ = [
    "MOST_PEOPLE",
    "Bits",
    "Counter",
    "Decoded",
    "OutputSpace",
    "Reason",
    "Symbols",
    "checked_counts",
    "checked_people",
    "people_in",
]
