"""P(y | x) on observed outputs, as products: one structure a file."""

from freewill.operators.base import (
    Guess,
    LineTerms,
    Operator,
    Products,
    Structure,
    dot_test,
    probabilities,
)
from freewill.operators.convolution import ConvolutionOperator
from freewill.operators.dense import DenseOperator
from freewill.operators.folded_kernel import FoldedKernel
from freewill.operators.geometric import GeometricOperator
from freewill.operators.kernel import Sums
from freewill.operators.stack import StackOperator, parts_of
from freewill.operators.support import BitOperator, SymbolOperator

__all__ = [
    "BitOperator",
    "ConvolutionOperator",
    "DenseOperator",
    "FoldedKernel",
    "GeometricOperator",
    "Guess",
    "LineTerms",
    "Operator",
    "Products",
    "StackOperator",
    "Structure",
    "Sums",
    "SymbolOperator",
    "dot_test",
    "parts_of",
    "probabilities",
]
