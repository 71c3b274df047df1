"""Estimates for people: shares with labels and intervals, as tables, texts and pages."""

from freewill.inference import Intervals
from freewill.inference.few import FEW
from freewill.readable.doubt import advice, heading, warning
from freewill.readable.shares import Shares, coarser_shares, intervals_of, shares_of

__all__ = [
    "FEW",
    "Intervals",
    "Shares",
    "advice",
    "coarser_shares",
    "heading",
    "intervals_of",
    "shares_of",
    "warning",
]
