"""P(y | x) on observed outputs, as products: one structure a file."""

from freewill.operators.base import Operator, dot_test, probabilities
from freewill.operators.convolution import ConvolutionOperator, FoldedKernel
from freewill.operators.dense import DenseOperator
from freewill.operators.geometric import GeometricOperator
from freewill.operators.stack import StackOperator
from freewill.operators.support import BitOperator, SymbolOperator

__all__ = [
    "BitOperator",
    "ConvolutionOperator",
    "DenseOperator",
    "FoldedKernel",
    "GeometricOperator",
    "Operator",
    "StackOperator",
    "SymbolOperator",
    "dot_test",
    "probabilities",
]
