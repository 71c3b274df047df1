"""Output spaces: what a report of a mechanism may be, declared once, one kind a file."""

from freewill.outputs.base import Counter, Decoded, OutputSpace, Reason
from freewill.outputs.bits import Bits
from freewill.outputs.symbols import Symbols

__all__ = ["Bits", "Counter", "Decoded", "OutputSpace", "Reason", "Symbols"]
