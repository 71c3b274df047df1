"""Draws that are exact: coins and tables in whole numbers, from random bytes or in bulk.

Everything that a device draws is made of these. `docs/devices.md` states the procedure.
"""

from freewill.draws.chance import HALF, Chance, share
from freewill.draws.exponential import Dyadic, Exponential, exponential, precision
from freewill.draws.geometric import TwoSided, drawn, shortened
from freewill.draws.planar import LatticeNoise
from freewill.draws.sources import (
    GeneratorBytes,
    GivenBytes,
    Source,
    SystemBytes,
    below,
    checked_source,
)
from freewill.draws.tables import Table, whole_weights

__all__ = [
    "HALF",
    "Chance",
    "Dyadic",
    "Exponential",
    "GeneratorBytes",
    "GivenBytes",
    "LatticeNoise",
    "Source",
    "SystemBytes",
    "Table",
    "TwoSided",
    "below",
    "checked_source",
    "drawn",
    "exponential",
    "precision",
    "share",
    "shortened",
    "whole_weights",
]
