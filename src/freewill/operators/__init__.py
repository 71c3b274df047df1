"""P(y | x) on observed outputs, as products: one structure a file."""

from freewill.operators.atoms import AtomOperator
from freewill.operators.base import (
    Guess,
    LineTerms,
    Map,
    Operator,
    Products,
    Structure,
    dot_test,
    probabilities,
)
from freewill.operators.bit_moments import BitMoments
from freewill.operators.convolution import ConvolutionOperator
from freewill.operators.dense import DenseOperator
from freewill.operators.folded_kernel import FoldedKernel
from freewill.operators.geometric import GeometricOperator
from freewill.operators.kernel import Sums
from freewill.operators.moments import ListedMoments, Moments
from freewill.operators.scaled import ScaledOperator
from freewill.operators.stack import StackOperator, parts_of
from freewill.operators.support import BitOperator, SymbolOperator

__all__ = [
    "AtomOperator",
    "BitMoments",
    "BitOperator",
    "ConvolutionOperator",
    "DenseOperator",
    "FoldedKernel",
    "GeometricOperator",
    "Guess",
    "LineTerms",
    "ListedMoments",
    "Map",
    "Moments",
    "Operator",
    "Products",
    "ScaledOperator",
    "StackOperator",
    "Structure",
    "Sums",
    "SymbolOperator",
    "dot_test",
    "parts_of",
    "probabilities",
]
